//! Compares a `.fsym` with the program that it was made from: every row of every function, read again.
//!
//! The program is opened, read and resolved anew; the file is asked through the reader. What is between
//! the two, the encoder and the format, is what this checks.

use std::path::Path;

use foldsym_lookup::{Frame, Frames, ImageAddr, Lookup, SymbolFile};

use crate::model::{FileId, Function, NONE16, Origin, OriginId, Owner, Piece, Program, Rows};
use crate::open::Files;
use crate::pipeline::{ConvertError, NoProgress, Options, in_pool, load};

/// Mismatches that are spelled out; more are counted.
const SHOWN: usize = 20;

/// What a comparison found.
#[derive(Clone, Debug, Default)]
pub struct Mismatches {
    /// Addresses that were asked.
    pub asked: u64,
    /// Addresses whose answer is another.
    pub count: u64,
    /// The first of them, a line each.
    pub examples: Vec<String>,
}

/// A frame in words, to be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Words {
    name: Vec<u8>,
    file: Vec<u8>,
    line: u32,
}

/// Compares the file with the program, at the first and last byte of every row of every piece.
///
/// # Errors
/// Either cannot be read.
pub fn verify_against(fsym: &Path, program: &Path, options: &Options) -> Result<Mismatches, ConvertError> {
    in_pool(options.threads, || {
        let files = Files::default();
        let damaged = |problem: String| ConvertError::Fsym { path: fsym.to_owned(), problem };
        let bytes = files.map(fsym)?;
        let file = SymbolFile::open(bytes).map_err(|error| damaged(error.to_string()))?;
        file.verify().map_err(|error| damaged(error.to_string()))?;
        let (image, program, _) = load(&files, program, options, &NoProgress)?;
        let mut found = Mismatches::default();
        if file.build_id() != image.build_id {
            found.count += 1;
            found.examples.push("the build ids differ".to_owned());
        }
        let mut against = Against { program: &program, file: &file, frames: Frames::new(), found };
        for piece in &program.pieces {
            against.piece(piece);
        }
        Ok(against.found)
    })?
}

struct Against<'a, 'f> {
    program: &'a Program<'f>,
    file: &'a SymbolFile<'a>,
    frames: Frames,
    found: Mismatches,
}

impl Against<'_, '_> {
    fn piece(&mut self, piece: &Piece) {
        let (function, rows, symbol) = match piece.owner {
            Owner::Function(function) => (function, piece.rows, piece.symbol),
            Owner::Group(group) => {
                let first = self.program.groups[group.index()].members[0];
                (first.function, first.rows, first.symbol)
            }
        };
        let function = &self.program.functions[function.index()];
        let name = symbol.or(function.symbol).unwrap_or(self.program.origins[function.origin.index()].name);
        let len = u64::from(piece.body) + u64::from(piece.pad);
        for (start, end) in spans(self.program, rows, len) {
            for offset in [start, end - 1] {
                let padding = offset >= u64::from(piece.body);
                let mut expected = self.expected(function, rows, offset);
                if let Some(outermost) = expected.last_mut() {
                    outermost.name = self.program.names[name.index()].to_vec();
                }
                if padding {
                    expected.truncate(1);
                    expected[0].name.clear();
                }
                self.compare(piece.start.0.wrapping_add(offset), &expected);
            }
        }
    }

    /// The frames that the model gives at an offset of a piece, innermost first.
    fn expected(&self, function: &Function, rows: Option<Rows>, offset: u64) -> Vec<Words> {
        let outermost = self.program.origins[function.origin.index()];
        let Some(rows) = rows else { return vec![self.words(outermost, None, 0)] };
        let unit = &self.program.units[rows.unit.index()];
        let map = &self.program.maps[rows.unit.index()];
        let at = offset + u64::from(rows.skip);
        let range = rows.range.start as usize..(rows.range.start + rows.range.len) as usize;
        let all = &unit.rows[range];
        let row = all[all.partition_point(|row| u64::from(row.offset) <= at) - 1];
        let mut file = (row.file != NONE16).then(|| map.files[usize::from(row.file)]);
        let mut line = row.line;
        let mut frames = Vec::new();
        let scopes = match function.source {
            Some(source) => {
                let own = &unit.functions[source.function.index()];
                &unit.scopes[own.scopes.start as usize..own.scopes.end as usize]
            }
            None => &[],
        };
        let mut node = row.scope;
        while node > 0 {
            let scope = scopes[node as usize - 1];
            let edge = self.program.edges[map.edges[scope.edge.index()].index()];
            frames.push(self.words(self.origin(edge.callee), file, line));
            (file, line, node) = (edge.file, edge.line, scope.parent);
        }
        frames.push(self.words(outermost, file, line));
        frames
    }

    fn origin(&self, id: OriginId) -> Origin {
        self.program.origins[id.index()]
    }

    fn words(&self, origin: Origin, file: Option<FileId>, line: u32) -> Words {
        Words {
            name: self.program.names[origin.name.index()].to_vec(),
            file: file.map(|file| self.program.files[file.index()].clone()).unwrap_or_default(),
            line,
        }
    }

    fn compare(&mut self, address: u64, expected: &[Words]) {
        self.found.asked += 1;
        let found = match self.file.lookup(ImageAddr(address), &mut self.frames) {
            Ok(Lookup::Found(_)) => self.file.frames(&self.frames).map(|frame| self.stored(frame)).collect(),
            Ok(Lookup::NotFound(_)) => Ok(Vec::new()),
            Err(error) => Err(error.to_string()),
        };
        if found.as_deref() != Ok(expected) {
            self.found.count += 1;
            if self.found.examples.len() < SHOWN {
                self.found.examples.push(format!(
                    "{address:#x}: the program has {}, the file {}",
                    show(expected),
                    found.map_or_else(|error| error, |found| show(&found))
                ));
            }
        }
    }

    fn stored(&self, frame: Result<Frame, foldsym_lookup::Error>) -> Result<Words, String> {
        let frame = frame.map_err(|error| error.to_string())?;
        let text = |write: &dyn Fn(&mut [u8]) -> Option<usize>| {
            let mut buffer = vec![0; 1 << 16];
            let len = write(&mut buffer).unwrap_or(0).min(buffer.len());
            buffer.truncate(len);
            buffer
        };
        Ok(Words {
            name: frame.name.map(|id| text(&|out| self.file.write_name(id, out))).unwrap_or_default(),
            file: frame.file.map(|id| text(&|out| self.file.write_path(id, out))).unwrap_or_default(),
            line: frame.line,
        })
    }
}

/// The offsets from the start of a piece at which rows begin and end.
fn spans(program: &Program<'_>, rows: Option<Rows>, len: u64) -> Vec<(u64, u64)> {
    let Some(rows) = rows else { return vec![(0, len)] };
    let unit = &program.units[rows.unit.index()];
    let range = rows.range.start as usize..(rows.range.start + rows.range.len) as usize;
    let skip = u64::from(rows.skip);
    let mut starts: Vec<u64> = unit.rows[range]
        .iter()
        .map(|row| u64::from(row.offset).saturating_sub(skip))
        .filter(|&start| start < len)
        .collect();
    starts.dedup();
    let ends = starts.iter().skip(1).copied().chain([len]).collect::<Vec<_>>();
    starts.into_iter().zip(ends).filter(|(start, end)| start < end).collect()
}

fn show(frames: &[Words]) -> String {
    let one =
        |words: &Words| format!("{} {}:{}", words.name.escape_ascii(), words.file.escape_ascii(), words.line);
    if frames.is_empty() {
        "nothing".to_owned()
    } else {
        frames.iter().map(one).collect::<Vec<_>>().join(" <- ")
    }
}
