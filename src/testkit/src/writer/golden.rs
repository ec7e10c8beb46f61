//! The small program of the tests: every kind of record once, all numbers by hand.
//!
//! ```text
//!   image base 0x400000, unit 1 byte
//!   0x401000..0x401010  alpha  (16 bytes), then 8 bytes of padding (to 0x401018)
//!   0x401020..0x401040  beta, in it gamma inlined, in gamma delta inlined
//!   0x401040..0x401050  folded: eps, zeta, and a symbol `omega` without lines
//!   0x401100..0x401108  cold part of beta, symbol `beta.cold`; 0x20 bytes of it were cut out before
//!   0x401200..0x401204  no rows, and an origin without a name
//!   calls that return to 0x401008 (eps), 0x401028 (zeta, or omega), 0x401048 (eps or zeta, itself), 0x401108 (alpha,
//!   which ends in zeta)
//! ```

use super::{Contents, RawRow, rows_record, scopes_record};

pub const NAMES: [&str; 9] = ["", "alpha", "alpha2", "beta", "beta.cold", "delta", "eps", "gamma", "zeta"];
pub const FILES: [&str; 3] = ["/src/a.c", "/src/a.h", "/src/b.c"];

const fn row(offset: u64, scope: u64, line: Option<i64>, file: u64) -> RawRow {
    RawRow { offset, scope, line, file, column: 0 }
}

pub fn contents() -> Contents {
    let mut rows = vec![0];
    let mut scopes = vec![0];
    // alpha is declared in line 10: lines 10, 12, 11 of the padding.
    let alpha = rows_record(
        &mut rows,
        &[row(0, 0, Some(0), 0), row(4, 0, Some(2), 0), row(16, 0, Some(1), 0)],
        false,
    );
    // beta is declared in /src/b.c:20; gamma in /src/a.h:5; delta in /src/a.h:1.
    let beta = rows_record(
        &mut rows,
        &[
            row(0, 0, Some(0), 0),
            row(8, 1, Some(1), 0),  // gamma: 6
            row(12, 2, Some(0), 0), // delta in gamma: 1
            row(16, 2, None, 0),    // delta, line 0
            row(20, 0, Some(3), 2), // beta, 23, in /src/a.c
            row(28, 0, Some(4), 1), // beta, 24, no file
        ],
        false,
    );
    let tree = scopes_record(&mut scopes, &[(0, 1), (1, 0)]);
    let cold = rows_record(&mut rows, &[row(0, 0, Some(9), 0)], false);
    let eps = rows_record(&mut rows, &[row(0, 0, Some(1), 0)], false);
    let zeta = rows_record(&mut rows, &[row(0, 0, Some(2), 0), row(8, 0, Some(3), 0)], false);
    let [alpha, beta, cold, eps, zeta, tree] = [alpha, beta, cold, eps, zeta, tree].map(|at| at as i64);
    Contents {
        image_base: 0x40_0000,
        unit_log2: 0,
        columns: false,
        max_depth: 2,
        max_group: 3,
        block_log2: 2,
        build_id: vec![0xb1, 0x1d],
        //        start   body pad skip owner rows name
        pieces: vec![
            [0x1000, 16, 8, 0, 0, alpha, 0],
            [0x1020, 32, 0, 0, 2, beta, 0],
            [0x1040, 16, 0, 0, 1, 0, 0],          // group 0
            [0x1100, 8, 0, 0x20, 2, cold, 1 + 4], // beta.cold
            [0x1200, 4, 0, 0, 2 * 2, 0, 0],       // function 2
        ],
        //  origin scopes name aliases flags
        functions: vec![
            [1, 0, 0, 1, 0],     // alpha, also called alpha2
            [2, tree, 0, 0, 4],  // beta; likely: plain_names
            [0, 0, 0, 0, 1],     // no name; partial
            [4, 0, 0, 0, 0],     // eps
            [6, 0, 0, 0, 0],     // zeta
            [0, 0, 1 + 1, 0, 0], // a symbol alone; named like alpha
        ],
        //   name file line edges: sorted by name
        origins: vec![
            [0, 0, 0, 0],
            [1, 1, 10, 0], // alpha
            [3, 3, 20, 0], // beta, in /src/b.c: edges 0, 1
            [5, 2, 1, 2],  // delta
            [6, 1, 30, 2], // eps
            [7, 2, 5, 2],  // gamma: edge 2
            [8, 3, 40, 3], // zeta
        ],
        //   callee line file column
        edges: vec![
            [3, 1, 0, 0],  // beta calls delta in line 21 (never inlined)
            [5, 2, 0, 0],  // beta calls gamma in line 22
            [3, -4, 4, 7], // gamma calls delta, as /src/b.c:1 has it (a macro)
        ],
        rows,
        scopes,
        names: NAMES.map(|name| name.as_bytes().to_vec()).to_vec(),
        files: FILES.map(|name| name.as_bytes().to_vec()).to_vec(),
        groups: vec![[0]],
        //   function rows how name
        members: vec![[3, eps, 0, 0], [4, zeta, 1, 0], [5, 0, 6, 0]],
        aliases: vec![[2, 1]],
        //   address caller callee how
        calls: vec![
            [0x1008, 0, 3, 0],     // alpha calls eps
            [0x1028, 0, 4, 2],     // beta calls zeta, or what was merged with it
            [0x1048, 1 + 3, 3, 0], // eps calls itself
            [0x1048, 1 + 4, 4, 0], // zeta calls itself
            [0x1108, 0, 0, 1],     // the last instruction of beta.cold calls alpha
        ],
        //   function target
        tails: vec![[0, 1 + 4]], // alpha ends in a call of zeta
        vtables: Vec::new(),
        slots: Vec::new(),
        overriders: Vec::new(),
        //   address caller callee
        guesses: vec![[0x1018, 0, 3], [0x1030, 0, 4], [0x1048, 1 + 4, 3]],
        dispatches: Vec::new(),
        targets: Vec::new(),
        //   address name
        imports: vec![[0x1018, 6], [0x1028, 8], [0x1104, 1]],
        variables: Vec::new(),
        sections: vec![(0x1000, 0x300, 1, ".text"), (0x2000, 0x10, 0, ".data")],
    }
}
