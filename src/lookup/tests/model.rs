//! Random programs, written by the tests' own writer, answer as a plain walk over their parts does.

use foldsym_lookup::{BatchSlot, FileId, Frames, ImageAddr, Lookup, NameId, SymbolFile};
use foldsym_testkit::writer::{Random, model};

fn check(seed: u64, shape: model::Shape) {
    let program = model::Program::random(&mut Random(seed), &shape);
    let bytes = program.contents().file();
    let file = SymbolFile::open(&bytes).unwrap();
    file.verify().unwrap();
    let mut frames = Frames::new();
    let mut random = Random(seed);
    for function in &program.functions {
        for (index, row) in function.rows.iter().enumerate() {
            let unit = 1 << shape.unit_log2;
            let end = function.rows.get(index + 1).map_or(function.len, |next| next.offset * unit);
            let start = row.offset * unit;
            for offset in [start, end - 1, start + random.below(end - start)] {
                let address = ImageAddr(program.image_base + function.start + offset);
                let Lookup::Found(answer) = file.lookup(address, &mut frames).unwrap() else {
                    panic!("nothing at {address:?}");
                };
                assert_eq!(answer.offset, offset);
                let expected = program.frames(function, row);
                let found: Vec<model::ExpectedFrame> = file
                    .frames(&frames)
                    .map(|frame| {
                        let frame = frame.unwrap();
                        model::ExpectedFrame {
                            name: frame.name.map(|id| id.0),
                            file: frame.file.map(|id| id.0),
                            line: frame.line,
                            column: frame.column,
                        }
                    })
                    .collect();
                assert_eq!(found, expected, "seed {seed}, offset {offset}, row {index}");
            }
        }
    }
}

#[test]
fn texts_are_written_as_without_memory() {
    let shape = model::Shape {
        functions: 700,
        max_rows: 4,
        max_nodes: 4,
        origins: 900,
        deep: false,
        unit_log2: 0,
        block_log2: 3,
        columns: false,
    };
    let program = model::Program::random(&mut Random(9), &shape);
    let bytes = program.contents().file();
    let file = SymbolFile::open(&bytes).unwrap();
    let (names, paths) = (u64::from(file.records().names().len()), u64::from(file.records().files().len()));
    assert!(names > 512, "several names share a place");
    let mut texts = file.texts();
    let mut random = Random(10);
    let (mut expected, mut found) = ([0; 300], [0; 300]);
    for turn in 0..20_000 {
        // Few ids often, all of them now and then, and some that do not exist.
        let below = if turn % 3 == 0 { names + 2 } else { 9 };
        let name = NameId(random.below(below) as u32);
        let path = FileId(random.below(paths + 1) as u32);
        let room = [0, 3, 127, 128, 300][random.below(5) as usize];
        let as_before = |expected: Option<usize>, found: Option<usize>, texts: [&[u8]; 2]| {
            assert_eq!(found, expected);
            let len = found.unwrap_or(0).min(room);
            assert_eq!(texts[0][..len], texts[1][..len]);
        };
        let lens = (file.write_name(name, &mut expected[..room]), texts.write_name(name, &mut found[..room]));
        as_before(lens.0, lens.1, [&expected, &found]);
        let lens = (file.write_path(path, &mut expected[..room]), texts.write_path(path, &mut found[..room]));
        as_before(lens.0, lens.1, [&expected, &found]);
    }
    assert_eq!(texts.write_name(NameId(u32::MAX), &mut found), None);
}

#[test]
fn a_batch_answers_as_single_lookups_do() {
    let shape = model::Shape {
        functions: 300,
        max_rows: 100,
        max_nodes: 30,
        origins: 100,
        deep: false,
        unit_log2: 0,
        block_log2: 3,
        columns: true,
    };
    let program = model::Program::random(&mut Random(5), &shape);
    let bytes = program.contents().file();
    let file = SymbolFile::open(&bytes).unwrap();
    file.verify().unwrap();
    let end = program.functions.last().map(|last| last.start + last.len).unwrap();
    let mut random = Random(6);
    // Also below all pieces, between them, above them, and at addresses that no program can have.
    let addresses: Vec<ImageAddr> = (0..1000)
        .map(|_| ImageAddr(program.image_base + 0x800 + random.below(end)))
        .chain([ImageAddr(0), ImageAddr(u64::MAX), ImageAddr(program.image_base + 0x1000)])
        .collect();
    // Some of them again.
    let addresses: Vec<ImageAddr> = addresses.iter().chain(&addresses[..300]).copied().collect();
    for count in [0, 1, 16, 17, addresses.len()] {
        for room in [0, 1, 16, 17, 500, addresses.len(), 5000] {
            let mut single = Frames::new();
            let mut visited = Vec::new();
            let mut slots = vec![BatchSlot::EMPTY; room];
            file.lookup_batch(&addresses[..count], &mut slots, |index, lookup, frames| {
                visited.push(index);
                assert_eq!(lookup, file.lookup(addresses[index], &mut single));
                assert!(file.frames(frames).eq(file.frames(&single)));
            });
            // Each once; those that were sorted together in ascending order.
            assert_eq!(visited.len(), count);
            for (part, visited) in visited.chunks_mut(room.max(1)).enumerate() {
                assert!(visited.is_sorted_by_key(|&index| addresses[index]));
                visited.sort_unstable();
                assert!((part * room.max(1)..).zip(visited).all(|(expected, &mut index)| expected == index));
            }
        }
    }
}

#[test]
fn a_cursor_answers_as_single_lookups_do_in_any_order() {
    // Few long functions, whose trees are deeper than the frames that are kept ready; and many short ones.
    for (functions, max_rows, max_nodes) in [(3, 900, 500), (200, 12, 6)] {
        let shape = model::Shape {
            functions,
            max_rows,
            max_nodes,
            origins: 60,
            deep: functions == 3,
            unit_log2: functions as u8 % 2,
            block_log2: 3,
            columns: functions == 3,
        };
        let program = model::Program::random(&mut Random(9), &shape);
        let bytes = program.contents().file();
        let file = SymbolFile::open(&bytes).unwrap();
        file.verify().unwrap();
        let end = program.functions.last().map(|last| last.start + last.len).unwrap();
        let mut random = Random(10);
        let any: Vec<u64> = (0..3000).map(|_| program.image_base + 0x800 + random.below(end)).collect();
        let mut sorted = any.clone();
        sorted.sort_unstable();
        let backwards: Vec<u64> = sorted.iter().rev().copied().collect();
        let mut single = Frames::new();
        let mut deepest = 0;
        for addresses in [any, sorted, backwards, vec![0, u64::MAX, program.image_base + 0x1000]] {
            let mut cursor = file.cursor();
            for address in addresses.into_iter().map(ImageAddr) {
                assert_eq!(cursor.lookup(address), file.lookup(address, &mut single));
                assert!(cursor.frames().eq(file.frames(&single)), "{address:?}");
                deepest = deepest.max(single.len());
            }
        }
        assert!(functions > 3 || deepest > 17, "{deepest}");
    }
}

#[test]
fn small_functions() {
    for seed in 0..40 {
        let shape = model::Shape {
            functions: 1 + seed % 50,
            max_rows: 1 + seed % 20,
            max_nodes: seed % 12,
            origins: 1 + seed % 30,
            deep: false,
            unit_log2: (seed % 5) as u8,
            block_log2: (seed % 8) as u8,
            columns: seed % 2 == 0,
        };
        check(seed, shape);
    }
}

#[test]
fn long_functions() {
    for seed in 0..12 {
        let shape = model::Shape {
            functions: 4,
            max_rows: 1500,
            max_nodes: 700,
            origins: 50,
            deep: seed % 2 == 0,
            unit_log2: (seed % 3) as u8,
            block_log2: 4,
            columns: seed % 3 == 0,
        };
        check(1000 + seed, shape);
    }
}

#[test]
fn one_block_of_rows_or_two_or_three() {
    for seed in 0..20 {
        let shape = model::Shape {
            functions: 20,
            max_rows: 70,
            max_nodes: 10,
            origins: 30,
            deep: false,
            unit_log2: 0,
            block_log2: 3,
            columns: seed % 2 == 0,
        };
        check(seed, shape);
    }
}

#[test]
fn many_functions() {
    let shape = model::Shape {
        functions: 5000,
        max_rows: 8,
        max_nodes: 4,
        origins: 3000,
        deep: false,
        unit_log2: 0,
        block_log2: 6,
        columns: false,
    };
    check(7, shape);
}
