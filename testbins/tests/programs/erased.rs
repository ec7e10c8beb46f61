//! Erases addresses from programs as a folding linker does, and compares the recovered functions with the original.
//!
//! Every word of `.debug_addr` becomes a tombstone. Then each function is known only by its line sequence, and its inlined code by lengths
//! and lines. The original gives the right frames of each address. Frames may be missing if nothing proves them; none may be wrong. With
//! the relocations of `--emit-relocs` nothing is missing.

use foldsym_convert::report::Kind;
use foldsym_convert::{NoProgress, Options, Report, convert};
use foldsym_lookup::{Frames, ImageAddr, Lookup, SymbolFile};
use foldsym_testbins::root;
use object::{Object as _, ObjectSection as _};

/// One frame: function, file, line.
type Frame = (String, String, u32);

/// The program with a tombstone in place of each address in `.debug_addr`, which is at the end of the file now, without compression.
fn erased(program: &[u8], tombstone: i64) -> Vec<u8> {
    let file = object::File::parse(program).unwrap();
    let section = file.section_by_name(".debug_addr").unwrap();
    let mut words = section.uncompressed_data().unwrap().into_owned();
    words.as_chunks_mut::<8>().0.fill(tombstone.to_le_bytes());
    // The fields of an ELF64 header: where the section headers are, and in one of them the flags, the offset and the size.
    let mut bytes = program.to_vec();
    let headers = u64::from_le_bytes(bytes[0x28..0x30].try_into().unwrap()) as usize;
    let header = headers + 64 * section.index().0;
    let flags = u64::from_le_bytes(bytes[header + 8..header + 16].try_into().unwrap());
    let offset = bytes.len() as u64;
    for (field, value) in
        [(8, flags & !object::elf::SHF_COMPRESSED.0), (24, offset), (32, words.len() as u64)]
    {
        bytes[header + field..header + field + 8].copy_from_slice(&value.to_le_bytes());
    }
    bytes.extend_from_slice(&words);
    bytes
}

fn converted(bytes: &[u8], folder: &std::path::Path, name: &str) -> (Vec<u8>, Report) {
    let (program, output) = (folder.join(name), folder.join(name).with_extension("fsym"));
    std::fs::write(&program, bytes).unwrap();
    let report = convert(&program, &output, &Options::default(), &NoProgress).unwrap();
    (std::fs::read(output).unwrap(), report)
}

/// The members at each address of code that begins a row of the original, each with its frames, innermost first.
fn answers(fsym: &[u8], addresses: &[u64]) -> Vec<Vec<Vec<Frame>>> {
    let file = SymbolFile::open(fsym).unwrap();
    let mut frames = Frames::new();
    let mut buffer = vec![0; 1 << 16];
    let mut text = |write: &dyn Fn(&mut [u8]) -> Option<usize>| {
        let len = write(&mut buffer).unwrap_or(0);
        String::from_utf8(buffer[..len].to_vec()).unwrap()
    };
    let mut all = Vec::with_capacity(addresses.len());
    for &address in addresses {
        let mut members = Vec::new();
        if let Lookup::Found(found) = file.lookup(ImageAddr(address), &mut frames).unwrap() {
            for index in 0.. {
                if file.member_frames(&found, index, &mut frames).is_err() {
                    break;
                }
                let mut listed = Vec::new();
                for frame in file.frames(&frames) {
                    let frame = frame.unwrap();
                    listed.push((
                        text(&|buffer| file.write_name(frame.name?, buffer)),
                        text(&|buffer| file.write_path(frame.file?, buffer)),
                        frame.line,
                    ));
                }
                members.push(listed);
            }
        }
        all.push(members);
    }
    all
}

fn code(bytes: &[u8]) -> Vec<u64> {
    let file = object::File::parse(bytes).unwrap();
    let text = file.section_by_name(".text").unwrap();
    (text.address()..text.address() + text.size()).collect()
}

/// Addresses by what became of their members: all frames right, and lines right with frames missing.
fn compare(name: &str, before: &[Vec<Vec<Frame>>], after: &[Vec<Vec<Frame>>]) -> [usize; 2] {
    let mut counts = [0; 2];
    for (members, found) in before.iter().zip(after) {
        // Members of a group are in another order: each is known by its outermost name.
        for member in members {
            let Some(outermost) = member.last() else { continue };
            let mut same = found
                .iter()
                .filter(|other| other.last().is_some_and(|last| last.0 == outermost.0))
                .peekable();
            if same.peek().is_none() || outermost.0.is_empty() {
                continue;
            }
            let equal = |other: &Vec<Frame>| other == member;
            let lines = |other: &Vec<Frame>| {
                member.len() > 1
                    && matches!(&other[..], [only] if (&only.1, only.2) == (&member[0].1, member[0].2))
            };
            let all: Vec<&Vec<Frame>> = same.collect();
            let right = all.iter().any(|other| equal(other));
            assert!(right || all.iter().any(|other| lines(other)), "{name}: {member:?} became {all:?}");
            counts[usize::from(!right)] += usize::from(member.len() > 1);
        }
    }
    counts
}

#[test]
fn what_is_inlined_is_found_again_by_lines_and_lengths() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = std::fs::read(root().join("built/fold.clang-lld.set/program")).unwrap();
    let (original, _) = converted(&bytes, folder.path(), "original");
    let (found, report) = converted(&erased(&bytes, 0), folder.path(), "erased");
    let addresses = code(&bytes);
    let [right, missing] = compare("erased", &answers(&original, &addresses), &answers(&found, &addresses));
    println!("inlined: {right} addresses right, {missing} with lines alone; {:?}", report.decided.inlines);
    assert!(right > 0 && report.decided.inlines.by_rows > 0);
    assert_eq!(report.decided.by_evidence[0], 0, "no live address is left");
}

/// lld writes -1 or -2 as the tombstone if `-z dead-reloc-in-nonalloc` asks for it. The lengths beside it are evidence, as beside 0.
#[test]
fn every_tombstone_leaves_the_same_evidence() {
    let folder = tempfile::tempdir().unwrap();
    // In the second program nothing but name, length and lines shows which sequence is whose.
    for name in ["fold.clang-lld.set", "fold.clang-mold.set"] {
        let bytes = std::fs::read(root().join("built").join(name).join("program")).unwrap();
        let [zero, minus_one, minus_two] = [0, -1, -2].map(|tombstone| {
            let (fsym, report) = converted(&erased(&bytes, tombstone), folder.path(), "erased");
            assert_eq!(report.diagnostics.count(Kind::EmptyRange), 0, "{name}: {tombstone}");
            (answers(&fsym, &code(&bytes)), report.decided.by_evidence)
        });
        assert!(zero.1.iter().sum::<u64>() > 80, "{name}: {:?}", zero.1);
        assert_eq!((minus_one.1, minus_two.1), (zero.1, zero.1), "{name}");
        assert!(minus_one.0 == zero.0 && minus_two.0 == zero.0, "{name}");
    }
}

/// gcc writes a list of ranges for a function with a cold part: each entry is an address and a length.
#[test]
fn a_tombstone_in_a_list_leaves_the_length() {
    let folder = tempfile::tempdir().unwrap();
    let [zero, minus_one, minus_two] = ["zero", "minus-one", "minus-two"].map(|variant| {
        let path = root().join("built").join(format!("cold_parts.{variant}.set/program"));
        let bytes = std::fs::read(path).unwrap();
        let (fsym, report) = converted(&bytes, folder.path(), "parts");
        (answers(&fsym, &code(&bytes)), report.decided.by_evidence)
    });
    let both = zero.0.iter().filter(|members| members.len() == 2).count();
    assert!(both > 40, "{both} addresses of two functions");
    assert!(minus_one == zero && minus_two == zero, "{:?} {:?} {:?}", zero.1, minus_one.1, minus_two.1);
}

#[test]
fn kept_relocations_hold_what_was_erased() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = std::fs::read(root().join("built/fold.clang-relocs.set/program")).unwrap();
    let (_, report) = converted(&bytes, folder.path(), "relocations");
    let relocated = report.decided.by_evidence[foldsym_convert::internal::model::How::Relocation as usize];
    assert!(relocated > 20, "{:?}", report.decided);
    assert_eq!(report.decided.inlines.lost, 0);
}

/// Two functions have two sequences that differ only in columns: nothing shows which belongs to which. Without columns both have the same
/// lines.
#[test]
fn sequences_that_differ_in_columns_alone_give_lines() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = std::fs::read(root().join("built/columns.relocs.set/program")).unwrap();
    let (fsym, _) = converted(&bytes, folder.path(), "columns");
    let mut folded = 0;
    for members in answers(&fsym, &code(&bytes)) {
        for frames in &members {
            assert!(
                frames.iter().all(|(_, file, line)| file == "/src/columns.c" && *line > 0),
                "{members:?}"
            );
        }
        folded += usize::from(members.len() == 2);
    }
    assert!(folded > 20, "{folded}");
}

/// Two methods and their two thunks have one code. clang gives the DIE of a thunk the line of its method, and the thunk's rows line 0: so
/// rows that fit both are the method's. lld erases three of the four addresses, gold none.
#[test]
fn rows_that_fit_a_method_are_not_those_of_its_thunk() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["twice.lld", "twice.gold.set/program"] {
        let bytes = std::fs::read(root().join("built").join(name)).unwrap();
        let (fsym, _) = converted(&bytes, folder.path(), "thunks");
        let answers = answers(&fsym, &code(&bytes));
        let of = |name: &str| -> Vec<u32> {
            let members =
                answers.iter().flatten().filter(|frames| frames.iter().any(|frame| frame.0 == name));
            members.map(|frames| frames[0].2).collect()
        };
        // `mov` has five bytes, `ret` has one.
        assert_eq!((of("_ZN3One3getEv"), of("_ZN3Two3getEv")), (vec![50; 6], vec![51; 6]), "{name}");
        assert_eq!((of("_ZThn8_N3One3getEv"), of("_ZThn8_N3Two3getEv")), (vec![0; 6], vec![0; 6]), "{name}");
    }
}

/// gcc writes rows with lines for thunks: each has its own, and a function of the same size that the linker removed has none of them.
#[test]
fn rows_of_a_thunk_are_not_those_of_a_removed_function() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = std::fs::read(root().join("built/covariant.gcc.set/program")).unwrap();
    let (fsym, _) = converted(&bytes, folder.path(), "covariant");
    let lines = [("_ZTch0_h16_N6Parcel4copyEv", 17), ("_ZTch0_h16_N6Letter4copyEv", 20)];
    let members = lines.map(|(name, line)| vec![(name.to_owned(), "/src/covariant.cpp".to_owned(), line)]);
    let found = answers(&fsym, &code(&bytes));
    assert_eq!(found.iter().filter(|found| **found == members).count(), 42);
    assert!(!found.iter().flatten().flatten().any(|frame| frame.0 == "_Z6unusedv"));
}

/// The numbers of `padded.s` have up to twelve bytes each. llvm-symbolizer and binutils' addr2line say the same.
#[test]
fn padded_numbers_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = std::fs::read(root().join("built/padded.lld.set/program")).unwrap();
    let (fsym, _) = converted(&bytes, folder.path(), "padded");
    let at = |line| vec![vec![("first".to_owned(), "/src/padded.c".to_owned(), line)]];
    let code = code(&bytes);
    assert_eq!(code.len(), 7);
    // `mov` has five bytes.
    assert_eq!(answers(&fsym, &code), [vec![at(42); 5], vec![at(40); 2]].concat());
}
