//! Damaged expressions of lanes and of object pointers: in the program, and in the file.
//!
//! The tests of the command line check the answers of sound expressions: `src/front/cli/tests/command/wave.rs` and `objects.rs`.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use foldsym_convert::report::Kind;
use foldsym_convert::{NoProgress, Options, Report, convert};
use foldsym_format::checksum::crc32;
use foldsym_format::header::{ENTRY_LEN, HEADER_LEN, entry_field, field};
use foldsym_format::{SectionId, steps};
use foldsym_lookup::records::Owner;
use foldsym_lookup::{Error, ImageAddr, PieceId, Resolved, ReturnAddr, StackAddr, SymbolFile};
use foldsym_stopped::{LaneCount, Machine, Place, WaveAt, lane_count, object, wave};
use foldsym_testbins::root;
use object::{Object as _, ObjectSection as _};

const PROGRAMS: [&str; 2] = ["lanes.user", "lanes.first"];
/// All code of the programs.
const CODE: std::ops::Range<u64> = 0x12e0..0x135c;

/// Registers and memory full of one byte.
struct Full(u8);

impl Machine for Full {
    fn register(&self, _: u64, _: u64, bytes: &mut [u8]) -> Option<()> {
        bytes.fill(self.0);
        Some(())
    }
    fn memory(&self, _: u64, _: u64, bytes: &mut [u8]) -> Option<()> {
        bytes.fill(self.0);
        Some(())
    }
}

fn converted(input: &Path, folder: &Path) -> (Vec<u8>, Report) {
    let output = folder.join("fsym");
    let report = convert(
        input,
        &output,
        &Options::default().with(|options| {
            options.threads = 1;
            options.locations = true;
        }),
        &NoProgress,
    )
    .unwrap();
    (std::fs::read(&output).unwrap(), report)
}

/// Steps are counted for all threads together.
static ALONE: Mutex<()> = Mutex::new(());

/// Asks for the lanes at every instruction; how many lanes have a place of their own.
fn ask(file: &SymbolFile<'_>) -> Result<u32, Error> {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut waiting = 0;
    for pc in CODE.step_by(4) {
        let at = WaveAt { pc: ImageAddr(pc), bias: 0, exec: 0xff, lanes: None };
        steps::take();
        let found = wave(file, at, &Full(0x5a))?;
        // Each list and unit is a part of the file, and an evaluation has at most 10,000 operations.
        assert!(steps::take() <= 10_000 * file.records().bytes().len() as u64);
        waiting +=
            found.lanes().iter().filter(|lane| !lane.active && matches!(lane.place, Place::At(_))).count();
    }
    Ok(waiting as u32)
}

#[test]
fn damage_in_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("program");
    let mut counted = [0; 2];
    for name in PROGRAMS {
        let sound = std::fs::read(root().join("built").join(name)).unwrap();
        let elf = object::File::parse(&*sound).unwrap();
        let mut places = Vec::new();
        for section in [".debug_abbrev", ".debug_info", ".debug_loclists"] {
            let (start, len) = elf.section_by_name(section).unwrap().file_range().unwrap();
            places.extend(start as usize..(start + len) as usize);
        }
        for at in places {
            for value in [0, 0xff, sound[at].wrapping_add(1), sound[at] ^ 0x40] {
                let mut changed = sound.clone();
                changed[at] = value;
                std::fs::write(&input, &changed).unwrap();
                let (bytes, report) = converted(&input, folder.path());
                let file = SymbolFile::open(&bytes).unwrap();
                file.verify().unwrap_or_else(|error| panic!("{name} {at:#x} = {value:#x}: {error}"));
                ask(&file).unwrap_or_else(|error| panic!("{name} {at:#x} = {value:#x}: {error}"));
                counted[0] += u32::from(report.diagnostics.count(Kind::BadExpression) > 0);
                counted[1] += u32::from(report.diagnostics.count(Kind::OpaqueExpression) > 1);
            }
        }
    }
    // Damage is counted if it is visible.
    assert!(counted[0] > 100 && counted[1] > 20, "{counted:?}");
}

/// Where a section is in the file: its directory entry and its bytes.
fn section(bytes: &[u8], id: SectionId) -> (usize, std::ops::Range<usize>) {
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
    let entries = (HEADER_LEN..).step_by(ENTRY_LEN);
    let entry = entries.take(64).find(|&at| bytes[at..at + 4] == id.0.to_le_bytes()).unwrap();
    let start = word(entry + entry_field::OFFSET);
    (entry, start..start + word(entry + entry_field::LEN))
}

/// Asks for the object at every byte of folded code, called from there; how many there are.
fn ask_objects(file: &SymbolFile<'_>) -> Result<u32, Error> {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut found = 0;
    for piece in 0..file.records().piece_count() {
        let piece = file.records().piece(PieceId(piece))?;
        let Owner::Group(group) = piece.owner else { continue };
        let members = file.records().members(file.records().group(group)?).count() as u64;
        for offset in 0..piece.body {
            let pc = ImageAddr(piece.start.0 + offset);
            let stack = [StackAddr::Exact(pc), StackAddr::Return(ReturnAddr(pc.0 + 1))];
            let mut resolved = [Resolved::NONE; 2];
            file.resolve_stack(&stack, &mut resolved)?;
            steps::take();
            let object = object(file, (&stack, &resolved), 0, &Full(0x5a), &mut |_| Ok(false))?;
            assert!(steps::take() <= 10_000 * members * file.records().bytes().len() as u64);
            found += u32::from(object.is_ok());
        }
    }
    Ok(found)
}

#[test]
fn damage_in_the_file() {
    damaged(&PROGRAMS, ask);
}

#[test]
fn damage_of_object_pointers_in_the_file() {
    damaged(&["object.clang.set/program"], ask_objects);
}

/// Asks files of the programs in which one byte of the expressions is another.
fn damaged(programs: &[&str], ask: fn(&SymbolFile<'_>) -> Result<u32, Error>) {
    let folder = tempfile::tempdir().unwrap();
    let mut outcomes = [0; 2];
    for name in programs {
        let (sound, _) = converted(&root().join("built").join(name), folder.path());
        assert!(ask(&SymbolFile::open(&sound).unwrap()).unwrap() > 100);
        for id in [SectionId::LOCATIONS, SectionId::LOCATED] {
            let (entry, range) = section(&sound, id);
            for at in range.clone() {
                for value in [0, 0xff, sound[at].wrapping_add(1), sound[at] ^ 0x80] {
                    let mut changed = sound.clone();
                    changed[at] = value;
                    if value != sound[at] {
                        let unsealed = SymbolFile::open(&changed).map(|file| file.verify());
                        assert!(!matches!(unsealed, Ok(Ok(()))), "{name} {at:#x} = {value:#x}");
                    }
                    // With checksums that are right the readers get to see it.
                    let sum = crc32(&changed[range.clone()]);
                    changed[entry + entry_field::CHECKSUM..][..4].copy_from_slice(&sum.to_le_bytes());
                    let head = u32::from_le_bytes(changed[field::DIRECTORY_LEN..][..4].try_into().unwrap());
                    changed[field::CHECKSUM..][..4].fill(0);
                    let sum = crc32(&changed[..HEADER_LEN + head as usize]);
                    changed[field::CHECKSUM..][..4].copy_from_slice(&sum.to_le_bytes());
                    let file = SymbolFile::open(&changed).unwrap();
                    let (verified, asked) = (file.verify(), ask(&file));
                    outcomes[usize::from(verified.is_ok())] += 1;
                    if verified.is_ok() {
                        asked.unwrap_or_else(|error| panic!("{name} {at:#x} = {value:#x}: {error}"));
                    }
                }
            }
        }
    }
    assert!(outcomes.iter().all(|&count| count > 100), "{outcomes:?}");
}

/// The caller's number of lanes replaces the function's only if it fits itself.
#[test]
fn a_refused_number_of_lanes_is_named_whatever_the_caller_says() {
    let folder = tempfile::tempdir().unwrap();
    let (bytes, _) = converted(&root().join("built").join(PROGRAMS[0]), folder.path());
    let (_, located) = section(&bytes, SectionId::LOCATED);
    let asked = |bytes: &[u8], lanes| {
        let file = SymbolFile::open(bytes).ok()?;
        let at = WaveAt { pc: ImageAddr(CODE.start), bias: 0, exec: u64::MAX, lanes };
        lane_count(&file, at).ok()
    };
    let count = |refused| LaneCount { count: 64, refused };
    assert_eq!(asked(&bytes, None), Some(count(None)));
    // The table has the number of lanes; some byte of it makes that another number.
    let mut refused = 0;
    for at in located {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        let found = asked(&changed, None);
        if found.is_some_and(|found| found.refused.is_some()) {
            refused += 1;
            assert_eq!(asked(&changed, Some(16)), found);
            assert_eq!(asked(&changed, Some(64)), Some(count(None)));
        }
    }
    assert!(refused > 0);
}
