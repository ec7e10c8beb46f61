//! The shapes: what each repeats.

use super::made::{
    C, CALL, CODE, CODE_LEN, DECLARED, EMPTY, IMPORT, INLINED, INSTANCE, Made, NAMED, OPEN_FUNCTION,
    PLACED_ROOT, RANGED, RUST, SKELETON, entry, function, number, sequence, set_address, uleb,
};
use super::shape::Shape;

/// All shapes.
pub const ALL: &[Shape] = &[
    Shape {
        name: "units",
        repeats: "compile units of 12 bytes that hold nothing",
        bound: "an empty unit is not kept",
        count: 20_000,
        add: |made, count| (0..count).for_each(|_| made.unit(&[EMPTY as u8])),
    },
    Shape {
        name: "named-units",
        repeats: "compile units of 14 bytes that have a name",
        bound: "the memory of units is charged",
        count: 10_000,
        add: |made, count| (0..count).for_each(|_| made.unit(&[NAMED as u8, b'u', 0])),
    },
    Shape {
        name: "functions",
        repeats: "functions with names, addresses and lines of their own",
        bound: "the memory of functions, rows and names is charged",
        count: 2_000,
        add: functions,
    },
    Shape {
        name: "same-function",
        repeats: "functions of one name and one address",
        bound: "the memory of functions is charged, by the compressed bytes where they are compressed",
        count: 4_000,
        add: |made, count| {
            made.code_unit(C, &[], |out| (0..count).for_each(|_| function(out, b"same", CODE, 8)));
        },
    },
    Shape {
        name: "names",
        repeats: "functions whose names share one hash where hashes have no key",
        bound: "hashes are keyed",
        count: 4_000,
        add: |made, count| {
            made.code_unit(C, &[], |out| (0..count).for_each(|at| function(out, &colliding(at), CODE, 8)));
        },
    },
    Shape {
        name: "symbols",
        repeats: "symbols without debug information, each at its address",
        bound: "none is needed",
        count: 4_000,
        add: |made, count| (0..count).for_each(|at| made.symbol(&named("s", at), place(at, 16), 8)),
    },
    Shape {
        name: "symbols-at-one-address",
        repeats: "symbols of one address, and parts of the functions there",
        bound: "names at an address are compared within a cap",
        count: 2_000,
        add: |made, count| {
            made.code_unit(C, &[], |out| function(out, b"here", CODE, 16));
            (0..count).for_each(|at| made.symbol(&named("s", at), CODE, 16));
        },
    },
    Shape {
        name: "symbols-by-ranges",
        repeats: "symbols of one address, and functions of many lengths there, by a linker that folds",
        bound: "comparing a name with a symbol of its address is a step",
        count: 1_000,
        add: |made, count| {
            made.sections.push((".comment", b"\0Linker: LLD 22\0".to_vec()));
            made.code_unit(C, &[], |out| {
                (0..count).for_each(|at| function(out, &named("f", at), CODE, 8 + at));
            });
            (0..count).for_each(|at| made.symbol(&named("_Z7another", at), CODE, 8));
        },
    },
    Shape {
        name: "parts",
        repeats: "symbols of parts (`.cold`) at one address, and functions that they may be parts of",
        bound: "names at an address are compared within a cap",
        count: 1_000,
        add: |made, count| {
            made.code_unit(C, &[], |out| {
                (0..count).for_each(|at| function(out, &named("f", at), place(at, 16), 8));
            });
            (0..count).for_each(|at| made.symbol(&[named("f", at), b".cold".to_vec()].concat(), CODE + 8, 8));
        },
    },
    Shape {
        name: "rows",
        repeats: "rows of one line program, of a byte each",
        bound: "none is needed up to 16 million",
        count: 50_000,
        add: |made, count| {
            made.code_unit(C, &rows(count), |out| function(out, b"f", CODE, CODE_LEN));
        },
    },
    Shape {
        name: "rows-by-functions",
        repeats: "rows, and functions that all have all of them",
        bound: "joining a row with a function is a step",
        count: 2_000,
        add: |made, count| {
            made.code_unit(C, &rows(count), |out| {
                (0..count).for_each(|at| function(out, b"f", CODE, CODE_LEN - at % 16));
            });
        },
    },
    Shape {
        name: "sequences",
        repeats: "line sequences that overlap, and functions that begin in the midst of all of them",
        bound: "looking at a sequence for a function is a step",
        count: 1_000,
        add: |made, count| {
            let mut opcodes = Vec::new();
            for at in 0..count {
                set_address(&mut opcodes, place(at, 4));
                opcodes.push(1);
                set_address(&mut opcodes, CODE + CODE_LEN / 2);
                opcodes.push(1);
                set_address(&mut opcodes, CODE + CODE_LEN);
                opcodes.extend([0, 1, 1]);
            }
            made.code_unit(C, &opcodes, |out| {
                (0..count).for_each(|at| function(out, &named("f", at), CODE + CODE_LEN / 2 + at % 64, 32));
            });
        },
    },
    Shape {
        name: "sequences-at-one-address",
        repeats: "line sequences of one address, and folded functions that may be compiled to any of them",
        bound: "comparing a row with a function is a step",
        count: 1_000,
        add: |made, count| {
            let mut opcodes = Vec::new();
            (0..count).for_each(|at| sequence(&mut opcodes, CODE, CODE + 8, at));
            made.code_unit(C, &opcodes, |out| {
                for at in 0..count {
                    let start = if at % 2 == 0 { CODE } else { 0 };
                    let declared = [number(1), number(1 + at % 64)].concat();
                    let name = [named("f", at), vec![0]].concat();
                    entry(out, DECLARED, &[&name, &declared, &start.to_le_bytes(), &number(8)]);
                }
            });
        },
    },
    Shape {
        name: "symbols-by-sequences",
        repeats: "Rust's symbols of one address, and line sequences there that no function has",
        bound: "how many symbols an address has is found by bisection",
        count: 1_000,
        add: |made, count| {
            let mut opcodes = Vec::new();
            (0..count).for_each(|at| sequence(&mut opcodes, CODE, CODE + 8, at));
            made.code_unit(RUST, &opcodes, |out| function(out, b"f", CODE + 64, 8));
            (0..count).for_each(|at| made.symbol(&named("_ZN1a", at), CODE, 8));
        },
    },
    Shape {
        name: "ranges",
        repeats: "ranges of one list, and functions that all name it",
        bound: "an entry of a list is a step, and units share as many as the lists hold four times",
        count: 1_000,
        add: |made, count| {
            let list = made.ranges.len() as u32;
            for at in 0..count {
                let pair = [place(at, 4), place(at, 4) + 2];
                made.ranges.extend(pair.map(u64::to_le_bytes).concat());
            }
            made.ranges.extend([0; 16]);
            made.code_unit(C, &[], |out| {
                (0..count).for_each(|at| {
                    let name = [named("f", at), vec![0]].concat();
                    entry(out, RANGED, &[&name, &list.to_le_bytes()]);
                });
            });
        },
    },
    Shape {
        name: "inlines",
        repeats: "inlined subroutines, each inside the one before it",
        bound: "inlining is kept 255 levels deep",
        count: 2_000,
        add: |made, count| inlined(made, count, true),
    },
    Shape {
        name: "inlines-side-by-side",
        repeats: "inlined subroutines of one function that overlap",
        bound: "ranges are painted by a heap",
        count: 2_000,
        add: |made, count| inlined(made, count, false),
    },
    Shape {
        name: "calls",
        repeats: "call sites, of functions that share one address",
        bound: "resolving a call to a group is a step",
        count: 500,
        add: calls,
    },
    Shape {
        name: "members",
        repeats: "functions of one address, each with a symbol, and functions that call one of them",
        bound: "members are found by a table",
        count: 1_000,
        add: |made, count| {
            made.code_unit(C, &[], |out| {
                (0..count).for_each(|at| function(out, &named("_Z4memb", at), CODE, 8));
            });
            (0..count).for_each(|at| made.symbol(&named("_Z4memb", at), CODE, 8));
        },
    },
    Shape {
        name: "erased",
        repeats: "functions whose addresses are gone, and functions of their length that remain",
        bound: "comparing two functions is a step",
        count: 1_000,
        add: |made, count| {
            made.code_unit(C, &[], |out| {
                for at in 0..count {
                    function(out, &named("_Z4gone", at), 0, 8);
                    function(out, &named("_Z4kept", at), place(at, 16), 8);
                }
            });
            (0..count).for_each(|at| made.symbol(&named("_Z4gone", at), place(at, 16), 8));
        },
    },
    Shape {
        name: "relocations",
        repeats: "relocations of the code, all at one place",
        bound: "none is needed: they are sorted",
        count: 10_000,
        add: |made, count| {
            made.symbol(b"target", CODE, 8);
            for _ in 0..count {
                // R_X86_64_PLT32 of symbol 1.
                made.relocations
                    .extend([CODE + 32, 1 << 32 | 4, u64::MAX - 3].map(u64::to_le_bytes).concat());
            }
        },
    },
    Shape {
        name: "sections",
        repeats: "sections of one name",
        bound: "none is needed",
        count: 4_000,
        add: |made, count| made.sections.extend((0..count).map(|_| (".note", vec![0]))),
    },
    Shape {
        name: "skeletons",
        repeats: "skeletons of one `.dwo` file, with one id",
        bound: "each byte that is read again is a step",
        count: 200,
        add: skeletons,
    },
    Shape {
        name: "imports",
        repeats: "units that import all units before them, and functions whose origins are there",
        bound: "imports are not followed; origins are, each once",
        count: 1_000,
        add: |made, count| {
            let mut last: u32 = 0;
            for at in 0..count {
                let begin = made.info.len() as u32;
                let entries_at = begin + 11;
                let mut first = 0;
                made.code_unit(C, &[], |out| {
                    entry(out, IMPORT, &[&last.to_le_bytes()]);
                    first = entries_at + out.len() as u32;
                    match last {
                        0 => function(out, b"origin", CODE, 8),
                        _ => entry(
                            out,
                            INSTANCE,
                            &[&last.to_le_bytes(), &place(at, 8).to_le_bytes(), &number(8)],
                        ),
                    }
                });
                last = first;
            }
        },
    },
    Shape {
        name: "files",
        repeats: "directories and files of one line table, and functions that are declared in each",
        bound: "paths have room in proportion to the line tables",
        count: 2_000,
        add: files,
    },
    Shape {
        name: "shared-lines",
        repeats: "units of one line program, each with a function, and rows",
        bound: "the program is decoded once, and each unit gets its own rows",
        count: 2_000,
        add: |made, count| shared_lines(made, count, true),
    },
    Shape {
        name: "shared-lines-without-ranges",
        repeats: "the same, of units that do not say which code they have",
        bound: "so many of them get all rows as the bytes of line programs allow",
        count: 1_000,
        add: |made, count| shared_lines(made, count, false),
    },
    Shape {
        name: "type-units",
        repeats: "type units that name the line program of one unit",
        bound: "type units need no rows",
        count: 4_000,
        add: |made, count| {
            let program = made.line_program(&[b"\0unit.c\0\0\0\0\0"], &rows(50_000));
            (0..count).for_each(|at| made.type_unit(program, at));
            made.unit_of_program(C, program, |out| function(out, b"f", CODE, CODE_LEN));
        },
    },
];

fn shared_lines(made: &mut Made, count: u64, placed: bool) {
    let mut opcodes = Vec::new();
    (0..count).for_each(|at| sequence(&mut opcodes, place(at, 16), place(at, 16) + 8, at));
    let program = made.line_program(&[b"\0unit.c\0\0\0\0\0"], &opcodes);
    for at in 0..count {
        let start = place(at, 16);
        if placed {
            let mut entries = Vec::new();
            let root = [&program.to_le_bytes()[..], &start.to_le_bytes(), &number(8)];
            entry(&mut entries, PLACED_ROOT, &root);
            function(&mut entries, &named("f", at), start, 8);
            entries.push(0);
            made.unit(&entries);
        } else {
            made.unit_of_program(C, program, |out| function(out, &named("f", at), start, 8));
        }
    }
}

/// An address of the code for the thing of an index.
fn place(at: u64, step: u64) -> u64 {
    CODE + at * step % (CODE_LEN - 64)
}

fn named(prefix: &str, at: u64) -> Vec<u8> {
    format!("{prefix}{at:06}").into_bytes()
}

/// A name for which FxHash is 0 whatever its second half is: it starts with this number and multiplies the halves.
fn colliding(at: u64) -> Vec<u8> {
    let rest = (0..8).map(|digit| (at >> (3 * digit)) as u8 & 7 | 0x30);
    0x243f_6a88_85a3_08d3_u64.to_le_bytes().into_iter().chain(rest).collect()
}

/// One sequence of rows that all differ from their neighbours, one byte each: the address advances by one, the line goes up and down.
fn rows(count: u64) -> Vec<u8> {
    let mut opcodes = Vec::new();
    set_address(&mut opcodes, CODE);
    opcodes.extend([3, 20, 1]);
    opcodes.extend((0..count.min(CODE_LEN - 8)).map(|at| 13 + 14 + 5 + if at % 2 == 0 { 1 } else { 0 }));
    set_address(&mut opcodes, CODE + CODE_LEN);
    opcodes.extend([0, 1, 1]);
    opcodes
}

fn functions(made: &mut Made, count: u64) {
    let mut opcodes = Vec::new();
    (0..count).for_each(|at| sequence(&mut opcodes, place(at, 16), place(at, 16) + 8, at));
    made.code_unit(C, &opcodes, |out| {
        (0..count).for_each(|at| function(out, &named("f", at), place(at, 16), 8));
    });
    (0..count).for_each(|at| made.symbol(&named("f", at), place(at, 16), 8));
}

fn inlined(made: &mut Made, count: u64, nested: bool) {
    made.code_unit(C, &rows(1_000), |out| {
        let origin = out.len() as u32 + 11;
        function(out, b"callee", 0, 0);
        let head = [b"outer\0", &CODE.to_le_bytes()[..], &number(CODE_LEN)].concat();
        entry(out, OPEN_FUNCTION, &[&head]);
        for at in 0..count {
            let (start, len) = if nested { (CODE, CODE_LEN) } else { (place(at, 4), 100) };
            let values =
                [&origin.to_le_bytes()[..], &start.to_le_bytes(), &number(len), &number(at % 99 + 1)];
            entry(out, INLINED, &values);
            if !nested {
                out.push(0);
            }
        }
        if nested {
            out.resize(out.len() + count as usize, 0);
        }
        out.push(0);
    });
}

fn calls(made: &mut Made, count: u64) {
    made.code_unit(C, &[], |out| {
        let mut callees = Vec::new();
        for at in 0..count {
            callees.push(out.len() as u32 + 11);
            function(out, &named("_Z4call", at), CODE, 8);
        }
        let head = [b"caller\0", &(CODE + 64).to_le_bytes()[..], &number(CODE_LEN / 2)].concat();
        entry(out, OPEN_FUNCTION, &[&head]);
        for (at, callee) in (0..).zip(&callees) {
            entry(out, CALL, &[&callee.to_le_bytes(), &(CODE + 70 + at * 5).to_le_bytes()]);
        }
        out.push(0);
    });
    (0..count).for_each(|at| made.symbol(&named("_Z4call", at), CODE, 8));
}

fn skeletons(made: &mut Made, count: u64) {
    const ID: [u8; 8] = [7; 8];
    for at in 0..count {
        let mut entries = Vec::new();
        entry(&mut entries, SKELETON, &[b"one.dwo\0.\0", &ID, &place(at, 16).to_le_bytes()]);
        made.unit(&entries);
    }
    // DW_TAG_compile_unit: DW_AT_GNU_dwo_id; DW_TAG_subprogram: DW_AT_name, DW_AT_high_pc.
    let abbreviations = [1, 0x11, 1, 0xb1, 0x42, 0x07, 0, 0, 2, 0x2e, 0, 0x03, 0x08, 0x12, 0x0f, 0, 0, 0];
    let mut entries = vec![1];
    entries.extend(ID);
    for at in 0..1_000 {
        entries.push(2);
        entries.extend([named("f", at), vec![0]].concat());
        uleb(&mut entries, 8);
    }
    entries.push(0);
    let mut inner = Made::default();
    inner.unit(&entries);
    let sections = [(".debug_info.dwo", &inner.info[..]), (".debug_abbrev.dwo", &abbreviations)];
    made.beside.push(("one.dwo", Made::object(&sections)));
}

fn files(made: &mut Made, count: u64) {
    let mut tables = Vec::new();
    (0..count).for_each(|at| tables.extend([named("/made/dir", at), vec![0]].concat()));
    tables.push(0);
    for at in 0..count {
        tables.extend([named("file", at), vec![0]].concat());
        uleb(&mut tables, at + 1);
        tables.extend([0, 0]);
    }
    tables.push(0);
    let program = made.line_program(&[&tables], &[]);
    made.unit_of_program(C, program, |out| {
        for at in 0..count {
            let declared = [number(at + 1), number(7)].concat();
            let name = [named("f", at), vec![0]].concat();
            entry(out, DECLARED, &[&name, &declared, &place(at, 16).to_le_bytes(), &number(8)]);
        }
    });
}
