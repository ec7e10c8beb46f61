//! Changes a converted file so that it stays valid, and shows that the comparison finds each change.

use std::ops::Range;
use std::path::{Path, PathBuf};

use foldsym_lookup::records::Names;
use foldsym_lookup::{Frames, ImageAddr, Lookup, SymbolFile};
use foldsym_testkit::writer;

use super::{Mismatches, compare};
use crate::encode::ImageInfo;
use crate::encode::{self, EncodeOptions};
use crate::loaded::Loaded;
use crate::model::{GroupId, How, Keys, NameId, Owner, Piece, Program, Row};
use crate::open::{Files, Image, ProgramSource};
use crate::options::{NoProgress, Options};
use crate::pipeline::load;

fn built(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testbins/built").join(name)
}

/// Reads and places a test program, and calls `test` with its image and the result.
fn with_program(name: &str, columns: bool, test: impl FnOnce(&Image<'_>, &mut Program<'_>)) {
    let (path, files) = (built(name), Files::default());
    let options = Options { columns, ..Options::default() };
    let open_options = options.open();
    let (loaded, _) = load(&files, ProgramSource::Path(&path), &options, &open_options, &NoProgress).unwrap();
    let Loaded { image, mut placed, .. } = loaded;
    test(&image, &mut placed.program);
}

fn encoded(image: &Image<'_>, program: &Program<'_>, columns: bool) -> Vec<u8> {
    let options = EncodeOptions { columns, ..EncodeOptions::default() };
    // Keys, record and name index have no answers at an address, so the file has none of them.
    let body = encode::body(program, &ImageInfo::of(image), &options, &|| ()).unwrap();
    body.finish(program, &Keys::default(), None).unwrap().to_bytes()
}

/// The result of the comparison; `None` if `verify` finds damage.
fn compared(bytes: &[u8], image: &Image<'_>, program: &Program<'_>) -> Option<Mismatches> {
    let file = SymbolFile::open(bytes).ok()?;
    file.verify().ok()?;
    Some(compare(Path::new("dir/app.fsym"), &file, image, program).unwrap_or_else(|error| panic!("{error}")))
}

/// All answers of the reader, one for every address.
fn all_answers(bytes: &[u8], addresses: Range<u64>) -> Vec<String> {
    let file = SymbolFile::open(bytes).unwrap();
    let text = |names: &Names<'_>, id: Option<u32>| {
        let mut text = Vec::new();
        if let Some(id) = id {
            names.visit(id, |piece| text.extend_from_slice(piece)).unwrap();
        }
        text.escape_ascii().to_string()
    };
    let header = file.header();
    let about = (header.machine, header.address_size, header.flags & 7, file.build_id());
    let mut answers = vec![format!("{about:?} {:?}", file.records().program_sections().collect::<Vec<_>>())];
    let mut frames = Frames::new();
    for address in addresses {
        let Lookup::Found(found) = file.lookup(ImageAddr(address), &mut frames).unwrap() else {
            answers.push(String::new());
            continue;
        };
        let mut line = format!("{:?} {} {:?}", found.function_start, found.padding, found.certainty);
        for index in 0..found.member_count() {
            let member = file.member_frames(&found, index, &mut frames).unwrap();
            let function = file.records().function(member.function).unwrap();
            line += &format!(" | {:?} {}", member.how, function.partial);
            for alias in file.records().aliases(&function) {
                line += &format!(" aka {}", text(file.records().names(), Some(alias.unwrap().0)));
            }
            for frame in file.frames(&frames) {
                let frame = frame.unwrap();
                let name = text(file.records().names(), frame.name.map(|id| id.0));
                let [path, start] =
                    [frame.file, frame.start_file].map(|id| text(file.records().files(), id.map(|id| id.0)));
                line +=
                    &format!(" {name} {path}:{}:{} {start}:{}", frame.line, frame.column, frame.start_line);
            }
        }
        answers.push(line);
    }
    answers
}

/// Inverts bits of the file, one at a time, and makes the checksums anew. If `verify` accepts the file, the comparison must find the
/// change, unless it changes no answer (padding bits, tokens that no name uses). Returns how many changes the comparison found.
fn change_bits(name: &str, columns: bool, bits: impl Fn(usize) -> Range<u32>) -> usize {
    let mut found = 0;
    with_program(name, columns, |image, program| {
        let bytes = encoded(image, program, columns);
        assert_eq!(compared(&bytes, image, program).unwrap().count, 0, "{name}");
        let end = |piece: &Piece| piece.start.0 + u64::from(piece.body) + u64::from(piece.pad);
        let (first, last) = (program.pieces.first().unwrap(), program.pieces.last().unwrap());
        let addresses = first.start.0.saturating_sub(16)..end(last) + 16;
        let before = all_answers(&bytes, addresses.clone());
        for (at, bit) in (0..bytes.len()).flat_map(|at| bits(at).map(move |bit| (at, bit))) {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << bit;
            // Making a checksum anew undoes a change of the checksum itself.
            if !writer::reseal(&mut changed) || changed == bytes {
                continue;
            }
            match compared(&changed, image, program) {
                None => {}
                Some(mismatches) if mismatches.count > 0 => found += 1,
                Some(_) => {
                    assert!(
                        all_answers(&changed, addresses.clone()) == before,
                        "{name}: byte {at}, bit {bit}"
                    )
                }
            }
        }
    });
    found
}

#[test]
fn every_changed_bit_is_found() {
    // A group, inlined calls, columns; aliases; sections with synthetic addresses.
    // In the largest of the three programs each bit takes a moment, so only every fifth byte is changed.
    let one_of = |at: usize| if at.is_multiple_of(5) { at as u32 % 8..at as u32 % 8 + 1 } else { 0..0 };
    let found = change_bits("core.dwarf4", true, one_of);
    assert!(found > 600, "{found}");
    let found = change_bits("symbols.clang", false, |_| 0..8);
    assert!(found > 2000, "{found}");
    let found = change_bits("inline.clang-sections.o", false, |at| at as u32 % 2 * 4..at as u32 % 2 * 4 + 4);
    assert!(found > 1000, "{found}");
}

/// The group of `core.dwarf4`, and its address.
fn group(program: &Program<'_>) -> (GroupId, u64) {
    let group = program.pieces.iter().find_map(|piece| match piece.owner {
        Owner::Group(group) => Some((group, piece.start.0)),
        Owner::Function(_) => None,
    });
    group.expect("core.dwarf4 has folded functions")
}

/// The mismatches if the program is changed after its file was made.
fn after(change: impl FnOnce(&mut Program<'_>)) -> Mismatches {
    let mut found = None;
    with_program("core.dwarf4", false, |image, program| {
        let bytes = encoded(image, program, false);
        change(program);
        found = compared(&bytes, image, program);
    });
    found.unwrap()
}

#[test]
fn the_second_member_of_a_group_is_compared() {
    let mut place = 0;
    let how = after(|program| {
        let (group, address) = group(program);
        place = address;
        program.groups[group.index()].members[1].how = How::Relocation;
    });
    let line = &how.examples[0];
    assert!(line.starts_with(&format!("dir/app.fsym: {place:#x}: member 2 of 2, _R")), "{line}");
    assert!(line.contains("expected recovery by relocation, found "), "{line}");

    let name = after(|program| {
        let (group, _) = group(program);
        let function = program.groups[group.index()].members[1].function;
        program.names.push(b"another".into());
        program.functions[function.index()].symbol = Some(NameId::new(program.names.len() as u32 - 1));
    });
    let line = &name.examples[0];
    assert!(
        line.contains("member 2 of 2, another: expected another at ") && line.contains(", found _R"),
        "{line}"
    );

    let alias = after(|program| {
        let (group, _) = group(program);
        let function = program.groups[group.index()].members[1].function;
        program.names.push(b"another".into());
        program.functions[function.index()].aliases = [NameId::new(program.names.len() as u32 - 1)].into();
    });
    assert!(alias.examples[0].ends_with(": expected the other names another, found none"), "{alias:?}");

    // The member with rows as the second.
    with_program("core.dwarf4", false, |image, program| {
        let (group, _) = group(program);
        program.groups[group.index()].members.swap(0, 1);
        let bytes = encoded(image, program, false);
        assert_eq!(compared(&bytes, image, program).unwrap().count, 0);
        let rows = program.groups[group.index()].members[1].rows.unwrap();
        program.code[rows.unit.index()].rows.to_mut()[rows.range.start as usize].line += 1;
        let line = compared(&bytes, image, program).unwrap();
        assert!(line.count > 0 && line.examples[0].contains("member 2 of 2"), "{line:?}");
    });

    let fewer = after(|program| {
        let (group, _) = group(program);
        program.groups[group.index()].members.pop();
    });
    let line = &fewer.examples[0];
    assert!(
        line.contains(": expected 1 folded functions: _R") && line.contains(", found 2 folded "),
        "{line}"
    );
}

#[test]
fn what_only_the_file_has_is_found() {
    // The file has a piece that the program lacks.
    let more = after(|program| {
        program.pieces.remove(1);
    });
    assert!(more.count > 0, "{more:?}");
    assert!(more.examples.iter().all(|line| line.contains(": expected no function, found ")), "{more:?}");
    // The program has a piece that the file lacks.
    let mut fewer = None;
    with_program("core.dwarf4", false, |image, program| {
        let piece = program.pieces.remove(1);
        let bytes = encoded(image, program, false);
        program.pieces.insert(1, piece);
        fewer = compared(&bytes, image, program);
    });
    let fewer = fewer.unwrap();
    assert!(fewer.count > 0, "{fewer:?}");
    assert!(fewer.examples.iter().all(|line| line.ends_with(", found no function")), "{fewer:?}");
    // A shorter piece leaves a gap before the next.
    let shorter = after(|program| program.pieces[1].body -= 1);
    assert_eq!(shorter.count, 1, "{shorter:?}");
}

#[test]
fn a_row_that_only_the_file_has_is_found() {
    // The rows around it are the same on both sides.
    let merged = after(|program| {
        let rows =
            program.pieces.iter().find_map(|piece| piece.rows.filter(|rows| rows.range.len > 2)).unwrap();
        let at = rows.range.start as usize;
        let rows = program.code[rows.unit.index()].rows.to_mut();
        let offset = rows[at + 1].offset;
        rows[at + 1] = Row { offset, ..rows[at] };
    });
    assert!(merged.count > 0 && merged.examples[0].contains(": expected "), "{merged:?}");
}

#[test]
fn names_are_compared_to_their_end() {
    const LONG: usize = 70_000;
    with_program("core.dwarf4", false, |image, program| {
        for name in &mut program.names {
            let mut long = name.to_vec();
            long.resize(LONG, b'x');
            *name = long.into();
        }
        let bytes = encoded(image, program, false);
        // A file holds the first 65,535 bytes of a name.
        let same = compared(&bytes, image, program).unwrap();
        assert_eq!(
            (same.count, same.examples.len()),
            (0, 0),
            "{:?}",
            same.examples.first().map(|line| line.len())
        );
        for name in &mut program.names {
            name.to_mut()[65_534] = b'y';
        }
        assert!(compared(&bytes, image, program).unwrap().count > 0);
    });
}

#[test]
fn other_basic_blocks_are_found() {
    with_program("blocks.sections.set/program", false, |image, program| {
        let bytes = encoded(image, program, false);
        let compare = |program: &Program<'_>| compared(&bytes, image, program).unwrap();
        assert_eq!(compare(program).count, 0);
        let (blocks, ranges) = (program.blocks.blocks.len(), program.blocks.ranges.len());
        assert!(blocks > 20 && ranges > 5, "{blocks} {ranges}");
        for at in [0, blocks / 2, blocks - 1] {
            program.blocks.blocks[at].id += 100;
            assert_eq!(compare(program).count, 1, "{at}");
            program.blocks.blocks[at].id -= 100;
            program.blocks.blocks[at].flags ^= 1;
            assert_eq!(compare(program).count, 1, "{at}");
            program.blocks.blocks[at].flags ^= 1;
        }
        program.blocks.ranges[ranges - 1].next = Some(0);
        assert!(compare(program).examples[0].contains("range"), "{:?}", compare(program));
        program.blocks = crate::model::BlockMap::default();
        assert!(compare(program).examples[0].contains("basic blocks"), "{:?}", compare(program));
    });
}
