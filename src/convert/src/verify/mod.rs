//! Compares the answers of a `.fsym` at every address with those of the program that it was made from.
//!
//! It opens, reads and places the program again, and looks up the file through the reader. So it checks the encoder and the
//! format, which are between the two. Both sides are turned into the same plain [`Answer`](words::Answer). An answer changes only
//! where a piece or a row of one of the sides begins or ends. So the address space is cut at all these addresses, of both sides,
//! and each interval is looked up at its first and its last address. The intervals include the gaps between pieces, and
//! the addresses before the first piece and after the last. Basic blocks are compared one by one.

mod blocks;
mod by_addr2line;
mod expected;
mod found;
mod mismatches;
mod sequences;
#[cfg(test)]
mod tests;
mod words;

pub use by_addr2line::verify_by_addr2line;

use std::path::Path;

use foldsym_lookup::{Frames, SymbolFile, features, flags};

use crate::encode::readable::renamed;
use crate::error::ConvertError;
use crate::model::Program;
use crate::open::{Files, Format, Image, ImageKind, ProgramSource};
use crate::options::{NoProgress, Options};
use crate::pipeline::load;
use expected::Expected;
use found::Answers;
pub use mismatches::Mismatches;
pub use sequences::{SequenceCheck, SequenceCounts, SequenceUnit, verify_sequences};
use words::difference;

/// Compares the file with the program: at every address every function with its names, how it was recovered, and its frames; then the
/// facts about the whole program. Columns are compared if the file has them, whatever `options` says.
///
/// ```
/// use std::path::Path;
///
/// use foldsym_convert::{NoProgress, Options, convert, verify_against};
///
/// let folder = tempfile::tempdir()?;
/// let symbols = folder.path().join("demo.fsym");
/// let (program, options) = (Path::new("../../testbins/built/demo.elf"), Options::default());
/// convert(program, &symbols, &options, &NoProgress)?;
///
/// let mismatches = verify_against(&symbols, program, &options)?;
/// assert!(mismatches.asked > 0);
/// assert_eq!(mismatches.count, 0, "{:?}", mismatches.examples);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The file or the program cannot be read.
pub fn verify_against(fsym: &Path, program: &Path, options: &Options) -> Result<Mismatches, ConvertError> {
    options.on_threads(|| {
        let files = Files::default();
        let damaged = |problem: String| ConvertError::Fsym { path: fsym.to_owned(), problem };
        let bytes = files.map(fsym)?;
        let file = SymbolFile::open(bytes).map_err(|error| damaged(error.to_string()))?;
        // Before anything is compared: damage would appear as thousands of wrong answers.
        file.verify().map_err(|error| damaged(error.to_string()))?;
        let options = Options {
            columns: file.header().features & features::COLUMNS != 0,
            readable_names: file.header().flags & flags::READABLE_NAMES != 0,
            ..options.clone()
        };
        let open_options = options.open();
        let (loaded, _) = load(&files, ProgramSource::Path(program), &options, &open_options, &NoProgress)?;
        let program = loaded.placed.program;
        // The encoder stored these names, so the model must have them too.
        let program = if options.readable_names { renamed(program) } else { program };
        compare(fsym, &file, &loaded.image, &program).map_err(|error| damaged(error.to_string()))
    })?
}

/// Compares a file that [`SymbolFile::verify`] finds sound.
///
/// # Errors
/// The file is damaged nevertheless.
fn compare(
    fsym: &Path,
    file: &SymbolFile<'_>,
    image: &Image<'_>,
    program: &Program<'_>,
) -> Result<Mismatches, foldsym_lookup::Error> {
    let mut mismatches = Mismatches::default();
    let path = fsym.display();
    for (what, expected, found) in whole(file, image) {
        if expected != found {
            mismatches.add(|| format!("{path}: {what}: expected {expected}, found {found}"));
        }
    }
    blocks::compare(&path, file, &program.blocks, &mut mismatches)?;
    let mut expected = Expected::new(program, file.header().features & features::COLUMNS != 0);
    let found = Answers::new(file)?;
    let mut frames = Frames::new();
    let mut cuts = vec![0];
    expected.cuts(&mut cuts);
    found.cuts(&mut cuts)?;
    cuts.sort_unstable();
    cuts.dedup();
    for (at, &first) in cuts.iter().enumerate() {
        let last = cuts.get(at + 1).map_or(u64::MAX, |next| next - 1);
        // The cuts of the program are among these, so the answer of the model is the same at `first` and at `last`.
        let ours = expected.at(first);
        for address in [first, last].into_iter().take(1 + usize::from(first != last)) {
            mismatches.asked += 1;
            if let Some(difference) = difference(ours.as_ref(), found.at(address, &mut frames)) {
                mismatches.add(|| format!("{path}: {address:#x}: {difference}"));
            }
        }
    }
    Ok(mismatches)
}

/// The facts about the whole program: for each its name, what the image says, and what the file says.
fn whole(file: &SymbolFile<'_>, image: &Image<'_>) -> Vec<(String, String, String)> {
    let header = file.header();
    let flag = |flag: u8| (header.flags & flag != 0).to_string();
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let relocatable = image.kind == ImageKind::Relocatable;
    let mut whole = vec![
        ("build id", hex(image.build_id), hex(file.build_id())),
        ("machine", image.arch.machine.to_string(), header.machine.to_string()),
        ("bytes of an address", image.arch.address_size.to_string(), header.address_size.to_string()),
        ("big-endian", image.arch.big_endian.to_string(), flag(flags::BIG_ENDIAN)),
        ("relocatable", relocatable.to_string(), flag(flags::RELOCATABLE)),
        ("Mach-O", (image.format == Format::MachO).to_string(), flag(flags::MACH_O)),
    ]
    .into_iter()
    .map(|(what, expected, found)| (what.to_owned(), expected, found))
    .collect::<Vec<_>>();
    let section = |name: &[u8], start: u64, size: u64, executable: bool| {
        let kind = if executable { "code" } else { "data" };
        format!("{} at {start:#x}, {size:#x} bytes of {kind}", name.escape_ascii())
    };
    let mut expected = image.sections.iter().map(|ours| {
        let size = ours.range.end.0.saturating_sub(ours.range.start.0);
        section(ours.name.as_bytes(), ours.range.start.0, size, ours.executable)
    });
    let mut found = file
        .records()
        .program_sections()
        .map(|theirs| section(theirs.name, theirs.start.0, theirs.len, theirs.executable));
    for index in 0.. {
        let (expected, found) = (expected.next(), found.next());
        if expected.is_none() && found.is_none() {
            break;
        }
        let or_none = |section: Option<String>| section.unwrap_or_else(|| "none".to_owned());
        whole.push((format!("section {index}"), or_none(expected), or_none(found)));
    }
    whole
}
