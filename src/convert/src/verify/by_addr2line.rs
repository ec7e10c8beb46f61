//! Compares a `.fsym` with the answers of the `addr2line` crate for the same program, which shares no DWARF code with the converter.
//!
//! `addr2line` returns one function for an address, and knows neither symbols nor folding. So at the address of a folded or
//! partial function the comparison requires only that a member has lines if `addr2line` has a line. At padding it requires
//! nothing. At all other addresses the frames must be the same: the same number, the same names of inlined functions, the
//! same lines, and files of the same name. (Readers differ in how they join directories.) The name of the function itself is
//! not compared: the file has that of the symbol, `addr2line` that of the DIE.
//!
//! At `-g1` clang describes few functions, and the linker folds some: then several line sequences have one range, and nothing shows which is
//! whose. `addr2line` answers with one of them, and with no function. Where the file lists several functions there, nothing is compared.
//!
//! `addr2line` takes the address of a removed function for code: a function at 0 that is longer than the code is far from 0
//! seems to be there. No address that such a function or line sequence seems to cover is compared.

use addr2line::gimli;
use foldsym_lookup::{Frames, SymbolFile, flags};

use super::found::Answers;
use super::mismatches::Mismatches;
use super::words::{Answer, FrameWords, MemberWords};
use crate::error::ConvertError;
use crate::model::{AddressRange, ImageAddr};
use crate::open::{self, DebugSection, Files, Image};
use crate::options::Options;
use crate::read::code::CodeSections;
use crate::read::dwarf_6::{is_refused, lower_all};
use crate::read::line_headers::make_plain;
use crate::read::sections::bytes::Bytes;
use crate::util::hash::HashSet;
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
        let (context, ranges) =
            match sections(&files, &image).and_then(|debug| context(&files, &image, &debug)) {
                Ok(context) => context,
                Err(reason) => return Ok(Err(reason)),
            };
        compare(fsym, &file, &image, &context, &ranges).map(Ok).map_err(|error| damaged(error.to_string()))
    })?
}

/// The debug sections. Those of an ELF object file are relocated by the `object` crate, not by `open`.
fn sections<'f>(files: &'f Files, image: &Image<'f>) -> Result<open::DebugSections<'f>, String> {
    match open::needs_relocation(image) {
        true => open::relocated_by_object(files, image),
        false => Ok(image.debug.clone()),
    }
}

fn context<'f>(
    files: &'f Files,
    image: &Image<'f>,
    debug: &open::DebugSections<'f>,
) -> Result<(Context<'f>, NotAsked), String> {
    let endian = if image.arch.big_endian { gimli::RunTimeEndian::Big } else { gimli::RunTimeEndian::Little };
    let load = |debug: &open::DebugSections<'f>, id: gimli::SectionId| {
        let section = id.name().strip_prefix(".debug_").and_then(DebugSection::of_name);
        Ok::<_, gimli::Error>(Bytes::new(section.map_or(&[][..], |section| debug.get(section)), endian))
    };
    let mut dwarf = gimli::Dwarf::load(|id| load(debug, id)).map_err(|error| error.to_string())?;
    // gimli refuses DWARF 6, and line programs with segment selectors.
    let mut units = dwarf.units();
    let refused = loop {
        match units.next() {
            Ok(Some(_)) => {}
            Ok(None) => break false,
            Err(error) => break is_refused(error),
        }
    };
    if refused {
        let mut units = debug.get(DebugSection::Info).to_vec();
        lower_all(&mut units, endian, |_, _| {});
        dwarf.debug_info = gimli::DebugInfo::from(Bytes::new(files.keep(units), endian));
    }
    let mut lines = debug.get(DebugSection::Line).to_vec();
    make_plain(&mut lines, endian);
    dwarf.debug_line = gimli::DebugLine::from(Bytes::new(files.keep(lines), endian));
    // The ranges in `.debug_aranges` may not be relocated, and `addr2line` finds the units without them.
    dwarf.debug_aranges = gimli::DebugAranges::from(Bytes::new(&[], endian));
    if let Some(other) = &image.supplementary {
        dwarf.load_sup(|id| load(other, id)).map_err(|error| error.to_string())?;
    }
    let mut removed = Removed {
        code: CodeSections::new(image),
        ranges: Vec::new(),
        lines: Vec::new(),
        programs: HashSet::default(),
    };
    let mut units = dwarf.units();
    while let Ok(Some(header)) = units.next() {
        // `addr2line` decides by itself what it makes of damage: only the depth must be known before it runs.
        let Ok(unit) = dwarf.unit(header) else { continue };
        let Ok(mut entries) = unit.entries_raw(None) else { continue };
        removed.sequences(&unit);
        while !entries.is_empty() {
            if entries.next_depth() > MAX_DEPTH {
                return Err(format!("entries are nested deeper than {MAX_DEPTH}"));
            }
            let read = match entries.read_abbreviation() {
                Ok(Some(abbreviation)) if abbreviation.tag() == gimli::DW_TAG_subprogram => {
                    removed.function(&dwarf, &unit, &mut entries, abbreviation)
                }
                Ok(Some(abbreviation)) => entries.skip_attributes(abbreviation.attributes()),
                Ok(None) => Ok(()),
                Err(error) => Err(error),
            };
            if read.is_err() {
                break;
            }
        }
    }
    removed.ranges.sort_unstable();
    removed.ranges.dedup();
    removed.lines.sort_unstable();
    let shared = removed.lines.chunk_by(|one, other| one == other).filter(|same| same.len() > 1);
    let left_out = NotAsked { removed: removed.ranges, shared: shared.map(|same| same[0]).collect() };
    Ok((Context::from_dwarf(dwarf).map_err(|error| error.to_string())?, left_out))
}

/// Ranges of which `addr2line` knows less than it seems, by start.
struct NotAsked {
    /// Functions and line sequences outside of the code.
    removed: Vec<AddressRange>,
    /// Code with several line sequences.
    shared: Vec<AddressRange>,
}

/// Collects the code that functions and line sequences outside of the code seem to have.
struct Removed {
    code: CodeSections,
    ranges: Vec<AddressRange>,
    /// All line sequences.
    lines: Vec<AddressRange>,
    /// The offsets of the line programs that were read.
    programs: HashSet<usize>,
}

impl Removed {
    fn add(&mut self, start: u64, end: u64) {
        // A tombstone near 2^64 wraps, and covers no code.
        if start < end && !self.code.contains(start) {
            self.ranges.push(AddressRange::new(ImageAddr(start), ImageAddr(end)));
        }
    }

    /// The sequences of a unit's line program.
    fn sequences(&mut self, unit: &gimli::Unit<DwarfBytes<'_>>) {
        let Some(program) = unit.line_program.clone() else { return };
        if !self.programs.insert(program.header().offset().0) {
            return;
        }
        if let Ok((_, sequences)) = program.sequences() {
            sequences.iter().for_each(|sequence| self.add(sequence.start, sequence.end));
            let range = |start, end| AddressRange::new(ImageAddr(start), ImageAddr(end));
            self.lines.extend(sequences.iter().map(|sequence| range(sequence.start, sequence.end)));
        }
    }

    /// The ranges of a subprogram.
    ///
    /// # Errors
    /// An attribute cannot be read.
    fn function<'f>(
        &mut self,
        dwarf: &gimli::Dwarf<DwarfBytes<'f>>,
        unit: &gimli::Unit<DwarfBytes<'f>>,
        entries: &mut gimli::EntriesRaw<'_, DwarfBytes<'f>>,
        abbreviation: &gimli::Abbreviation,
    ) -> gimli::Result<()> {
        let (mut low, mut high, mut list) = (None, None, None);
        for spec in abbreviation.attributes() {
            let attribute = entries.read_attribute(*spec)?;
            match attribute.name() {
                gimli::DW_AT_low_pc => low = dwarf.attr_address(unit, attribute.value()).ok().flatten(),
                gimli::DW_AT_high_pc => high = Some(attribute.value()),
                gimli::DW_AT_ranges => list = Some(attribute.value()),
                _ => {}
            }
        }
        let end = match (low, high) {
            (Some(start), Some(high)) => match high.udata_value() {
                Some(len) => start.checked_add(len),
                None => dwarf.attr_address(unit, high).ok().flatten(),
            },
            _ => None,
        };
        if let (Some(start), Some(end)) = (low, end) {
            self.add(start, end);
        }
        let list = list.and_then(|value| dwarf.attr_ranges(unit, value).ok().flatten());
        if let Some(mut list) = list {
            // A list that is damaged is read up to the damage, as by `addr2line`.
            while let Ok(Some(range)) = list.next() {
                self.add(range.begin, range.end);
            }
        }
        Ok(())
    }
}

fn compare(
    fsym: &std::path::Path,
    file: &SymbolFile<'_>,
    image: &Image<'_>,
    context: &Context<'_>,
    NotAsked { removed, shared }: &NotAsked,
) -> Result<Mismatches, foldsym_lookup::Error> {
    let mut mismatches = Mismatches::default();
    let found = Answers::new(file)?;
    let renamed = file.header().flags & flags::READABLE_NAMES != 0;
    let mut frames = Frames::new();
    let mut cuts = Vec::new();
    found.cuts(&mut cuts)?;
    cuts.sort_unstable();
    cuts.dedup();
    // Of the ranges up to an address, those that begin there are not enough: an earlier one may be longer.
    let mut end = ImageAddr(0);
    let ends: Vec<ImageAddr> = removed
        .iter()
        .map(|range| {
            end = end.max(range.end);
            end
        })
        .collect();
    let seems_removed = |address: u64| {
        let after = removed.partition_point(|range| range.start.0 <= address);
        after.checked_sub(1).is_some_and(|last| address < ends[last].0)
    };
    // Sequences of one range: those of other ranges that overlap them are of other functions.
    let is_shared = |address: u64| {
        let after = shared.partition_point(|range| range.start.0 <= address);
        after.checked_sub(1).is_some_and(|last| shared[last].contains(ImageAddr(address)))
    };
    let last = |at: usize| cuts.get(at + 1).map_or(cuts[at], |next| next - 1);
    // An interval is asked for twice, at its first and its last address.
    for at in (0..cuts.len()).step_by(1 + 2 * cuts.len() / MAX_ASKED) {
        for address in [cuts[at], last(at)].into_iter().take(1 + usize::from(last(at) != cuts[at])) {
            // In a linked program the addresses of removed functions are 0, too.
            if address < 16 && !image.zero_is_code {
                continue;
            }
            if seems_removed(address) {
                mismatches.left_out += 1;
                continue;
            }
            // `addr2line` refuses a whole unit with a damaged entry, of which the converter keeps what comes before the
            // damage.
            let Ok(expected) = ask(context, address) else { continue };
            mismatches.asked += 1;
            let found = found.at(address, &mut frames)?;
            let is_described = expected.last().is_none_or(|outermost| !outermost.name.is_empty());
            if !is_described
                && is_shared(address)
                && found.as_ref().is_some_and(|found| found.members.len() > 1)
            {
                mismatches.left_out += 1;
                continue;
            }
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
    /// Empty if no function is known. Not `str`: a name need not be UTF-8.
    name: Vec<u8>,
    file: String,
    line: u32,
}

/// The frames of an address, innermost first.
fn ask(context: &Context<'_>, address: u64) -> Result<Vec<Asked>, gimli::Error> {
    let mut frames = context.find_frames(address).skip_all_loads()?;
    let mut all = Vec::new();
    while let Some(frame) = frames.next()? {
        let name = frame.function.as_ref().map_or(Vec::new(), |function| function.name.slice().to_vec());
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
    let same_name = |(ours, theirs): (&Asked, &FrameWords<'_>)| renamed || ours.name == theirs.name;
    expected.len() == member.frames.len()
        && same_line
        && expected[..inner].iter().zip(&member.frames).all(same_name)
}

/// Line 0 means that no line is known; files are not compared then. `addr2line` gives paths as text only.
fn is_same_line(ours: &Asked, theirs: &FrameWords<'_>) -> bool {
    let same_file =
        || *base_name(ours.file.as_bytes()) == *String::from_utf8_lossy(base_name(theirs.file)).as_bytes();
    ours.line == theirs.line && (ours.line == 0 || same_file())
}

fn text(frames: &[Asked]) -> String {
    let one = |frame: &Asked| {
        let name = if frame.name.is_empty() { "??".into() } else { String::from_utf8_lossy(&frame.name) };
        format!("{name} at {}:{}", frame.file, frame.line)
    };
    frames.iter().map(one).collect::<Vec<_>>().join(" <- ")
}
