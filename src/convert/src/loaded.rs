//! A program whose functions are placed: finds its keys beside encoding it.

use std::time::Instant;

use crate::diagnostics::Diagnostics;
use crate::encode::{self, EncodeError, EncodeOptions, Encoded, ImageInfo, readable};
use crate::keys;
use crate::merge::units::Records;
use crate::model::{CallTypes, Keys};
use crate::open::Image;
use crate::options::Options;
use crate::place::Placed;
use crate::read;
use crate::read::units::split_files::SplitFiles;
use crate::report::{Report, Step};

/// A program whose functions are placed.
pub(crate) struct Loaded<'a, 'f> {
    pub(crate) image: Image<'f>,
    pub(crate) placed: Placed<'f>,
    /// Only the search for keys needs them.
    pub(crate) records: Records<'f>,
    pub(crate) split: SplitFiles<'a, 'f>,
}

impl Loaded<'_, '_> {
    /// Encodes the program and finds its keys, in parallel if possible, otherwise one before the other. Also returns what is left of
    /// the program, for the caller to free.
    pub(crate) fn encoded(
        mut self,
        options: &Options,
        report: &mut Report,
    ) -> (Result<Encoded, EncodeError>, Self) {
        let info = ImageInfo { readable_names: options.readable_names, ..ImageInfo::of(&self.image) };
        // One after the other: with `readable_names`, which replaces the linkage names that the search for keys needs; with one
        // thread; and for a large program, of which either takes much memory.
        let is_large = self.split.files.scratch().is_used();
        let apart = options.readable_names || rayon::current_num_threads() == 1 || is_large;
        let (((keys, diagnostics), found), (body, encoded)) = if apart {
            let found = timed(|| self.keys());
            self = self.without_input_of_keys();
            if options.readable_names {
                self.placed.program = readable::renamed(self.placed.program);
            }
            (found, timed(|| self.body(&info, options)))
        } else {
            rayon::join(|| timed(|| self.keys()), || timed(|| self.body(&info, options)))
        };
        report.diagnostics.merge(diagnostics);
        (report.steps.keys, report.steps.encode) = (found, encoded);
        let program = &self.placed.program;
        report.decided(program, &keys);
        // Without times and the number of threads: the bytes depend only on the program and the options.
        let record = report.record().encode();
        let record = Some((report.debug_info(), &record[..]));
        let encoded = body.and_then(|body| body.finish(program, &keys, record));
        (encoded, self)
    }

    /// The keys of the program, with the diagnostics of finding them.
    fn keys(&self) -> (Keys, Diagnostics) {
        let mut diagnostics = Diagnostics::default();
        // Read only now: which classes can tell members apart depends on the groups, and most programs need few classes or
        // none.
        let wanted = keys::units_with_needed_classes(&self.placed, &self.records, &self.image);
        let classes =
            wanted.map(|units| read::read_classes(&self.image, &self.split, &units, &mut diagnostics));
        let graph = read::read_call_graph(&self.image, &mut diagnostics);
        let units = keys::units_with_needed_types(&self.placed, &graph);
        let units = read::read_types(&self.image, &self.split, &units, &mut diagnostics);
        let types = CallTypes { graph, units };
        let (placed, records) = (&self.placed, &self.records);
        let keys = keys::keys(placed, records, &self.image, classes.as_deref(), &types, &mut diagnostics);
        // Encoding may use the memory of code and data that are no longer needed.
        let code = self.image.code.iter().chain(&self.image.data);
        code.for_each(|(_, bytes)| self.split.files.release(bytes));
        (keys, diagnostics)
    }

    /// The program without the parts that only the search for keys needs. They are freed before encoding begins.
    fn without_input_of_keys(self) -> Self {
        let image = Image { symbols: Vec::new(), ..self.image };
        let placed = Placed { names: Default::default(), by_die: Vec::new(), ..self.placed };
        Loaded { image, placed, records: Records::default(), split: self.split }
    }

    /// The file without its keys.
    fn body(&self, info: &ImageInfo, options: &Options) -> Result<encode::Body, EncodeError> {
        let encode_options = EncodeOptions {
            columns: options.columns,
            name_index: options.name_index,
            demangle: options.demangle,
        };
        // Releases the pages with the names.
        let names_done = || self.split.files.release_all();
        encode::body(&self.placed.program, info, &encode_options, &names_done)
    }
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Step) {
    let began = Instant::now();
    let done = work();
    (done, Step::since(began))
}
