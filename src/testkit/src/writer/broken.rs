//! Files that break one sentence of the specification about row records, groups or calls, with checksums that fit.

use super::folded::{BASE, Folded, Place};
use super::{Contents, RawRow, reseal, rows_record};

/// The number of the section ROWS.
const ROWS: u32 = 6;

/// A file with one function of 128 units in one piece, and these rows. `change` gets the bytes of their record.
fn with_rows(rows: &[RawRow], share: bool, change: impl FnOnce(&mut [u8])) -> Vec<u8> {
    let mut section = vec![0];
    let at = rows_record(&mut section, rows, share);
    let contents = Contents {
        block_log2: 2,
        names: vec![b"f".to_vec()],
        files: vec![b"/a.c".to_vec(), b"/b.c".to_vec()],
        origins: vec![[0, 1, 10, 0]],
        functions: vec![[0, 0, 0, 0, 0]],
        pieces: vec![[0x1000, 128, 0, 0, 0, at as i64, 0]],
        rows: section,
        scopes: vec![0],
        ..Contents::default()
    };
    let mut sections = contents.sections();
    let (_, bytes) = sections.iter_mut().find(|(id, _)| *id == ROWS).unwrap();
    // After the byte that no record has, before the tail.
    let end = bytes.len() - 8;
    change(&mut bytes[1..end]);
    let mut file = contents.assemble(&sections);
    assert!(reseal(&mut file));
    file
}

fn row(offset: u64, line: i64, file: u64) -> RawRow {
    RawRow { offset, scope: 0, line: Some(line), file, column: 0 }
}

/// What is broken, the file, and the same file unbroken.
pub fn row_records() -> Vec<(&'static str, Vec<u8>, Vec<u8>)> {
    let last_bit = |bytes: &mut [u8]| *bytes.last_mut().unwrap() ^= 0x80;
    let one = [row(0, 1, 0)];
    let three = [row(0, 1, 0), row(2, 3, 0), row(5, 2, 0)];
    // Four blocks with the same offsets from their first row on; the codes of two files end the last.
    let file_at = |at| if at > 125 { at - 124 } else { 0 };
    let twice: Vec<RawRow> = (0..128).map(|at| row(at, 1 + (at % 3) as i64, file_at(at))).collect();
    // The base of the file codes is their only value: 3, a path.
    let other_file = [row(0, 1, 3)];
    let no_file = |bytes: &mut [u8]| {
        // After the head, the widths, the flags, the bases of scopes and lines, and the width of the codes.
        assert_eq!(bytes[7], 3);
        bytes[7] = 0;
    };
    let files = |rows: &[RawRow], share: bool, change: &dyn Fn(&mut [u8])| {
        (with_rows(rows, share, change), with_rows(rows, share, |_| {}))
    };
    let mut broken = Vec::new();
    for (what, (bad, good)) in [
        ("a bit after the columns of a block of one row", files(&one, false, &last_bit)),
        ("a bit after `high`", files(&three, false, &last_bit)),
        ("a bit after a block that shares its offsets", files(&twice, true, &last_bit)),
        ("a `differs` bit with file code 0", files(&other_file, false, &no_file)),
    ] {
        broken.push((what, bad, good));
    }
    broken
}

/// What is broken, the number of the section, and the file. The last is of [`sound_calls`].
// Long because each rule of these sections has its case.
pub fn calls() -> Vec<(&'static str, u32, Vec<u8>)> {
    const GROUPS: u32 = 10;
    const MEMBERS: u32 = 11;
    const CALLS: u32 = 16;
    const TAILS: u32 = 19;
    const VTABLES: u32 = 21;
    const SLOTS: u32 = 22;
    const OVERRIDERS: u32 = 36;
    const GUESSES: u32 = 40;
    const DISPATCHES: u32 = 41;
    const TARGETS: u32 = 42;
    const IMPORTS: u32 = 38;
    const DATA: u32 = 39;
    let sound = sound_calls();
    let mut out = Vec::new();
    let mut add = |what, section, change: &dyn Fn(&mut Contents)| {
        let mut contents = sound.clone();
        change(&mut contents);
        out.push((what, section, contents.file()));
    };
    add("a call before the one before it", CALLS, &|c| c.calls.swap(0, 1));
    add("a caller before the one before it", CALLS, &|c| c.calls.swap(2, 3));
    add("two records of one call", CALLS, &|c| c.calls.insert(1, c.calls[0]));
    add("two callees of one call", CALLS, &|c| c.calls.insert(1, [c.calls[0][0], 0, 3, 0]));
    add("an address below the program", CALLS, &|c| c.calls[0][0] = -1);
    add("a caller that is not there", CALLS, &|c| c.calls[4][1] = 1 + c.functions.len() as i64);
    add("a negative caller", CALLS, &|c| c.calls[0][1] = -1);
    add("a callee that is not there", CALLS, &|c| c.calls[0][2] = c.functions.len() as i64);
    add("a negative callee", CALLS, &|c| c.calls[0][2] = -1);
    add("a callee of many bits", CALLS, &|c| c.calls[0][2] = 1 << 40);
    add("an unknown `how` of a call", CALLS, &|c| c.calls[0][3] = 7);
    add("a negative `how` of a call", CALLS, &|c| c.calls[0][3] = -1);
    add("a tail call before the one before it", TAILS, &|c| c.tails.swap(0, 1));
    add("two records of one tail call", TAILS, &|c| c.tails.insert(0, c.tails[0]));
    add("a function that is not there", TAILS, &|c| c.tails.push([c.functions.len() as i64, 0]));
    add("a negative function", TAILS, &|c| c.tails[0][0] = -1);
    add("a target that is not there", TAILS, &|c| c.tails[1][1] = 1 + c.functions.len() as i64);
    add("a negative target", TAILS, &|c| c.tails[0][1] = -1);
    add("a function that reaches itself", TAILS, &|c| c.tails.push([2, 1 + 2]));
    add("66 records of one function", TAILS, &|c| {
        c.tails = (0..66).map(|target| [1, target + i64::from(target > 1)]).collect();
    });
    add("a method before the one before it", VTABLES, &|c| c.vtables.swap(0, 1));
    add("two records of one method", VTABLES, &|c| c.vtables.insert(1, c.vtables[0]));
    add("a table below the program", VTABLES, &|c| c.vtables[0][0] = -1);
    add("a method that is not there", VTABLES, &|c| c.vtables[2][1] = c.functions.len() as i64);
    add("a negative method", VTABLES, &|c| c.vtables[0][1] = -1);
    add("a negative slot of a method", VTABLES, &|c| c.vtables[0][2] = -1);
    add("a slot of a method that is too large", VTABLES, &|c| c.vtables[2][2] = 1 << 16);
    add("a method with an unknown mark", VTABLES, &|c| c.vtables[0][3] = 3);
    add("1025 methods of one table", VTABLES, &|c| {
        c.vtables = (0..1025).map(|slot| [0x8000, 2, slot, 0]).collect();
    });
    add("a slot before the one before it", SLOTS, &|c| c.slots.swap(0, 1));
    add("two slots of one call", SLOTS, &|c| c.slots.insert(1, [c.slots[0][0], 9]));
    add("a call below the program", SLOTS, &|c| c.slots[0][0] = -1);
    add("a negative slot", SLOTS, &|c| c.slots[0][1] = -1);
    add("a slot that is too large", SLOTS, &|c| c.slots[0][1] = 65535);
    add("a marked slot that is too large", SLOTS, &|c| c.slots[1][1] = 2 * 65536);
    add("a function at a slot before the one before it", OVERRIDERS, &|c| c.overriders.swap(0, 1));
    add("two records of one function at a slot", OVERRIDERS, &|c| c.overriders.insert(1, c.overriders[0]));
    add("a function at a slot that is not there", OVERRIDERS, &|c| {
        c.overriders[1][1] = c.functions.len() as i64;
    });
    add("a negative slot of a function", OVERRIDERS, &|c| c.overriders[0][0] = -1);
    add("a slot of a function that is too large", OVERRIDERS, &|c| c.overriders[1][0] = 65535);
    add("a function that neither stands there nor may", OVERRIDERS, &|c| c.overriders[0][2] = 2);
    add("a virtual call before the one before it", DISPATCHES, &|c| c.dispatches.swap(0, 1));
    add("two sets of one call", DISPATCHES, &|c| c.dispatches.insert(1, [c.dispatches[0][0], 1, 0]));
    add("a virtual call below the program", DISPATCHES, &|c| c.dispatches[0][0] = -1);
    add("a negative set of a call", DISPATCHES, &|c| c.dispatches[1][1] = -1);
    add("a set of a call that is known in no way", DISPATCHES, &|c| c.dispatches[1][2] = 2);
    add("a function of a set before the one before it", TARGETS, &|c| c.targets.swap(0, 1));
    add("two records of one function of a set", TARGETS, &|c| c.targets.insert(1, c.targets[0]));
    add("a negative set", TARGETS, &|c| c.targets[0][0] = -1);
    add("a negative point of a set", TARGETS, &|c| c.targets[0][1] = -1);
    add("a function of a set that is not there", TARGETS, &|c| c.targets[2][2] = c.functions.len() as i64);
    add("a function of a set with an unknown mark", TARGETS, &|c| c.targets[0][3] = 2);
    add("a guess before the one before it", GUESSES, &|c| c.guesses.swap(0, 1));
    add("two guesses of one call", GUESSES, &|c| c.guesses.insert(1, [c.guesses[0][0], 0, 3]));
    add("a guessed call below the program", GUESSES, &|c| c.guesses[0][0] = -1);
    add("a guessed function that is not there", GUESSES, &|c| c.guesses[1][2] = c.functions.len() as i64);
    add("a caller that is not there", GUESSES, &|c| c.guesses[1][1] = 1 + c.functions.len() as i64);
    add("an import before the one before it", IMPORTS, &|c| c.imports.swap(0, 1));
    add("two names of one import", IMPORTS, &|c| c.imports.insert(1, [c.imports[0][0], 1]));
    add("an import below the program", IMPORTS, &|c| c.imports[0][0] = -1);
    add("an imported name that is not there", IMPORTS, &|c| c.imports[1][1] = c.names.len() as i64);
    add("a variable before the one before it", DATA, &|c| c.variables.swap(0, 1));
    add("two variables at one address", DATA, &|c| c.variables.insert(1, c.variables[0]));
    add("a variable below the program", DATA, &|c| c.variables[0][0] = -1);
    add("a variable of a negative size", DATA, &|c| c.variables[0][1] = -1);
    add("a variable whose name is not there", DATA, &|c| c.variables[1][2] = c.names.len() as i64);
    add("a variable whose file is not there", DATA, &|c| c.variables[0][3] = 1 + c.files.len() as i64);
    add("a variable whose line is too large", DATA, &|c| c.variables[0][4] = 1 << 32);
    add("a group that begins in another", GROUPS, &|c| c.groups[1][0] -= 1);
    add("a group that begins behind its members", GROUPS, &|c| c.groups[1][0] = 1 << 20);
    add("a negative group", GROUPS, &|c| c.groups[1][0] = -1);
    add("a group without members", GROUPS, &|c| c.groups[1][0] = 0);
    add("a group that is larger than the largest", GROUPS, &|c| c.max_group = 2);
    add("a member that is not there", MEMBERS, &|c| c.members[1][0] = c.functions.len() as i64);
    add("an unknown `how` of a member", MEMBERS, &|c| c.members[1][2] = 8);
    out
}

/// Two functions, a group of three and one of 70; calls of every kind.
pub fn sound_calls() -> Contents {
    let mut program = Folded::new(2, &[3, 70]);
    let (first, last) = (program.inside(Place::Single(0)), program.inside(Place::Group(0)));
    program.call(first, None, 2, 0).call(first + 1, None, 3, 1).call(last, Some(2), 2, 0);
    program.call(last, Some(3), 1, 2).call(last, Some(4), 4, 0);
    program.tail(1, None).tail(1, Some(3));
    assert!(first > BASE);
    let mut contents = program.contents();
    contents.vtables = vec![[0x8000, 2, 0, 0], [0x8000, 3, 1 + 4, 1], [0x8040, 3, 1 + 4, 0]];
    contents.slots = vec![[0x1004, 4], [0x1010, 65536]];
    contents.overriders = vec![[0, 2, 0], [0, 3, 1]];
    contents.guesses = vec![[0x1010, 0, 2], [0x1020, 0, 3]];
    contents.dispatches = vec![[0x1004, 0, 0], [0x1010, 1, 1]];
    contents.targets = vec![[0, 0, 2, 0], [0, 1 + 0x8000, 2, 1], [1, 0, 3, 1]];
    contents.imports = vec![[0x1010, 0], [0x1024, 1]];
    contents.variables = vec![[0x8000, 4, 0, 0, 0], [0x8008, 0, 1, 0, 7]];
    contents
}
