//! Compares a `.fsym` with the answers of the `addr2line` crate for the same program, which shares no DWARF code with the converter.
//!
//! `addr2line` returns one function for an address, and knows neither symbols nor folding. So at the address of a folded or
//! partial function the comparison requires only that a member has lines if `addr2line` has a line. At padding it requires
//! nothing. At all other addresses the frames must be the same: the same number, the same names of inlined functions, the
//! same lines, and files of the same name. (Readers differ in how they join directories.) The name of the function itself is
//! not compared: the file has that of the symbol, `addr2line` that of the DIE.

use addr2line::gimli;
use foldsym_lookup::{Frames, SymbolFile, flags};

use super::found::Answers;
use super::mismatches::Mismatches;
use super::words::{Answer, FrameWords, MemberWords};
use crate::error::ConvertError;
use crate::open::{self, DebugSection, Files, Image};
use crate::options::Options;
use crate::read::sections::bytes::Bytes;
use crate::util::text::base_name;

/// The most addresses that are looked up. In a larger program only every second, third, ... interval is.
const MAX_ASKED: usize = 1 << 21;

/// The deepest nesting of entries that `addr2line` gets: it is recursive in the levels of inlined code.
const MAX_DEPTH: isize = 512;

type DwarfBytes<'f> = Bytes<'f, gimli::RunTimeEndian>;
type Context<'f> = addr2line::Context<DwarfBytes<'f>>;

/// Compares the file with `addr2line`'s answers. The inner `Err` has the reason why `addr2line` cannot read the program.
///
/// # Errors
/// The file or the program cannot be read.
pub fn verify_by_addr2line(
    fsym: &std::path::Path,
    program: &std::path::Path,
    options: &Options,
) -> Result<Result<Mismatches, String>, ConvertError> {
    options.on_threads(|| {
        let files = Files::default();
        let damaged = |problem: String| ConvertError::Fsym { path: fsym.to_owned(), problem };
        let file = SymbolFile::open(files.map(fsym)?).map_err(|error| damaged(error.to_string()))?;
        let image = open::open_image(&files, program, &options.open())?;
        let context = match sections(&files, &image).and_then(|debug| context(&image, &debug)) {
            Ok(context) => context,
            Err(reason) => return Ok(Err(reason)),
        };
        compare(fsym, &file, &image, &context).map(Ok).map_err(|error| damaged(error.to_string()))
    })?
}

/// The debug sections. Those of an ELF object file are relocated by the `object` crate, not by `open`.
fn sections<'f>(files: &'f Files, image: &Image<'f>) -> Result<open::DebugSections<'f>, String> {
    match open::needs_relocation(image) {
        true => open::relocated_by_object(files, image),
        false => Ok(image.debug.clone()),
    }
}

fn context<'f>(image: &Image<'f>, debug: &open::DebugSections<'f>) -> Result<Context<'f>, String> {
    let endian = if image.arch.big_endian { gimli::RunTimeEndian::Big } else { gimli::RunTimeEndian::Little };
    let load = |debug: &open::DebugSections<'f>, id: gimli::SectionId| {
        let section = id.name().strip_prefix(".debug_").and_then(DebugSection::of_name);
        Ok::<_, gimli::Error>(Bytes::new(section.map_or(&[][..], |section| debug.get(section)), endian))
    };
    let mut dwarf = gimli::Dwarf::load(|id| load(debug, id)).map_err(|error| error.to_string())?;
    // The ranges in `.debug_aranges` may not be relocated, and `addr2line` finds the units without them.
    dwarf.debug_aranges = gimli::DebugAranges::from(Bytes::new(&[], endian));
    if let Some(other) = &image.supplementary {
        dwarf.load_sup(|id| load(other, id)).map_err(|error| error.to_string())?;
    }
    let mut units = dwarf.units();
    while let Ok(Some(header)) = units.next() {
        // `addr2line` decides by itself what it makes of damage: only the depth must be known before it runs.
        let Ok(unit) = dwarf.unit(header) else { continue };
        let Ok(mut entries) = unit.entries_raw(None) else { continue };
        while !entries.is_empty() {
            if entries.next_depth() > MAX_DEPTH {
                return Err(format!("entries are nested deeper than {MAX_DEPTH}"));
            }
            match entries.read_abbreviation() {
                Ok(Some(abbreviation)) if entries.skip_attributes(abbreviation.attributes()).is_err() => {
                    break;
                }
                Err(_) => break,
                _ => {}
            }
        }
    }
    Context::from_dwarf(dwarf).map_err(|error| error.to_string())
}

fn compare(
    fsym: &std::path::Path,
    file: &SymbolFile<'_>,
    image: &Image<'_>,
    context: &Context<'_>,
) -> Result<Mismatches, foldsym_lookup::Error> {
    let mut mismatches = Mismatches::default();
    let found = Answers::new(file)?;
    let renamed = file.header().flags & flags::READABLE_NAMES != 0;
    let mut frames = Frames::new();
    let mut cuts = Vec::new();
    found.cuts(&mut cuts)?;
    cuts.sort_unstable();
    cuts.dedup();
    let last = |at: usize| cuts.get(at + 1).map_or(cuts[at], |next| next - 1);
    // An interval is asked for twice, at its first and its last address.
    for at in (0..cuts.len()).step_by(1 + 2 * cuts.len() / MAX_ASKED) {
        for address in [cuts[at], last(at)].into_iter().take(1 + usize::from(last(at) != cuts[at])) {
            // In a linked program the addresses of removed functions are 0, too.
            if address < 16 && !image.zero_is_code {
                continue;
            }
            // `addr2line` refuses a whole unit with a damaged entry, of which the converter keeps what comes before the
            // damage.
            let Ok(expected) = ask(context, address) else { continue };
            mismatches.asked += 1;
            let found = found.at(address, &mut frames)?;
            if let Some(difference) = difference(&expected, found.as_ref(), renamed) {
                let path = fsym.display();
                mismatches.add(|| format!("{path}: {address:#x}: addr2line: {difference}"));
            }
        }
    }
    Ok(mismatches)
}

/// A frame of `addr2line`.
struct Asked {
    /// Empty if no function is known.
    name: String,
    file: String,
    line: u32,
}

/// The frames of an address, innermost first.
fn ask(context: &Context<'_>, address: u64) -> Result<Vec<Asked>, gimli::Error> {
    let mut frames = context.find_frames(address).skip_all_loads()?;
    let mut all = Vec::new();
    while let Some(frame) = frames.next()? {
        let name =
            frame.function.as_ref().map_or(Ok(String::new()), |f| f.raw_name().map(|n| n.into_owned()))?;
        let (file, line) = frame.location.map_or((None, None), |location| (location.file, location.line));
        all.push(Asked { name, file: file.unwrap_or_default().to_owned(), line: line.unwrap_or(0) });
    }
    Ok(all)
}

fn difference(expected: &[Asked], found: Option<&Answer<'_>>, renamed: bool) -> Option<String> {
    let (innermost, outermost) = (expected.first()?, expected.last()?);
    let Some(found) = found else {
        return (!outermost.name.is_empty())
            .then(|| format!("expected {}, found no function", text(expected)));
    };
    let lost_lines = || {
        let has_lines = |member: &MemberWords<'_>| member.frames.iter().any(|frame| !frame.file.is_empty());
        (innermost.line > 0 && !found.members.iter().any(has_lines))
            .then(|| format!("expected {}, found no lines", text(expected)))
    };
    match &found.members[..] {
        _ if found.padding => None,
        [member] if member.how.is_none() && !member.partial => {
            // `addr2line` finds no inlined frames in some code that gcc describes for DWARF 2.
            let innermost_alone = outermost.name.is_empty() || expected.len() < member.frames.len();
            let same = if innermost_alone {
                member.frames.first().is_some_and(|frame| is_same_line(innermost, frame))
            } else {
                is_same(expected, member, renamed)
            };
            (!same).then(|| format!("expected {}, found {}", text(expected), super::words::frames_of(member)))
        }
        _ => lost_lines(),
    }
}

fn is_same(expected: &[Asked], member: &MemberWords<'_>, renamed: bool) -> bool {
    let same_line = expected.iter().zip(&member.frames).all(|(ours, theirs)| is_same_line(ours, theirs));
    let inner = expected.len() - 1;
    let same_name =
        |(ours, theirs): (&Asked, &FrameWords<'_>)| renamed || ours.name.as_bytes() == theirs.name;
    expected.len() == member.frames.len()
        && same_line
        && expected[..inner].iter().zip(&member.frames).all(same_name)
}

/// Line 0 means that no line is known; files are not compared then.
fn is_same_line(ours: &Asked, theirs: &FrameWords<'_>) -> bool {
    ours.line == theirs.line && (ours.line == 0 || base_name(ours.file.as_bytes()) == base_name(theirs.file))
}

fn text(frames: &[Asked]) -> String {
    let one = |frame: &Asked| {
        let name = if frame.name.is_empty() { "??" } else { &frame.name };
        format!("{name} at {}:{}", frame.file, frame.line)
    };
    frames.iter().map(one).collect::<Vec<_>>().join(" <- ")
}
