//! Random programs, written by the tests' own writer, answer as a plain walk over their parts does.

mod writer;

use foldsym_lookup::{Frames, ImageAddr, Lookup, SymbolFile};
use writer::{Random, model};

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
                let found: Vec<model::Frame> = file
                    .frames(&frames)
                    .map(|frame| {
                        let frame = frame.unwrap();
                        model::Frame {
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
fn small_functions() {
    for seed in 0..40 {
        let shape = model::Shape {
            functions: 1 + seed % 50,
            max_rows: 1 + seed % 20,
            max_nodes: seed % 12,
            origins: 1 + seed % 30,
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
            unit_log2: (seed % 3) as u8,
            block_log2: 4,
            columns: seed % 3 == 0,
        };
        check(1000 + seed, shape);
    }
}

#[test]
fn many_functions() {
    let shape = model::Shape {
        functions: 5000,
        max_rows: 8,
        max_nodes: 4,
        origins: 3000,
        unit_log2: 0,
        block_log2: 6,
        columns: false,
    };
    check(7, shape);
}
