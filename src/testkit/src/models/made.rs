//! Makes programs from a list of numbers, so that a failing program shrinks as the list does.

use foldsym_convert::internal::encode::{ImageInfo, LoadedSection};
use foldsym_convert::internal::model::*;

/// Numbers that decide what a program has; 0 for ever once they are used up.
pub struct Choices<'c>(std::slice::Iter<'c, u32>);

impl<'c> Choices<'c> {
    pub fn new(numbers: &'c [u32]) -> Self {
        Choices(numbers.iter())
    }

    fn below(&mut self, limit: usize) -> usize {
        self.0.next().map_or(0, |&number| number as usize % limit)
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == n - 1
    }

    /// Below one of some limits.
    fn up_to(&mut self, limits: &[usize]) -> usize {
        let limit = limits[self.below(limits.len())];
        self.below(limit)
    }

    /// Mostly small, at times large.
    fn line(&mut self) -> u32 {
        match self.below(40) {
            39 => self.below(1 << 32) as u32,
            38 => 0,
            _ => 1 + self.below(500) as u32,
        }
    }
}

pub fn image() -> ImageInfo {
    let text = LoadedSection { name: b".text".to_vec(), start: 0x1000, size: 0x1_0000, executable: true };
    ImageInfo {
        build_id: b"\x12\x34".to_vec(),
        machine: 62,
        address_size: 8,
        image_base: 0x400,
        sections: vec![text],
        ..ImageInfo::default()
    }
}

/// Chooses a program: some units, functions with inline trees and rows, pieces and groups.
pub fn program(choices: &mut Choices<'_>) -> (Program<'static>, Keys) {
    let mut program = Program::default();
    for i in 0..3 + choices.below(40) {
        let stem = ["_ZN7storage6folder", "_ZN7storage", "main", "x", ""][choices.below(5)];
        program.names.push(format!("{stem}{i}").into_bytes().into());
    }
    for i in 0..1 + choices.below(6) {
        program.files.push(format!("/src/{}/file{i}.cc", choices.below(2)).into_bytes());
    }
    for i in 0..3 + choices.below(12) {
        let name = NameId::new(((i + choices.below(2)) % program.names.len()) as u32);
        let file = (!choices.one_in(4)).then(|| FileId::new(choices.below(program.files.len()) as u32));
        program.origins.push(Origin { name, file, line: choices.line() });
    }
    for _ in 0..choices.below(40) {
        let mut origin = || OriginId(choices.below(program.origins.len()) as u32);
        let (caller, callee) = (origin(), origin());
        let file = (!choices.one_in(4)).then(|| FileId::new(choices.below(program.files.len()) as u32));
        let (line, column) = (choices.line(), choices.below(3) as u16);
        program.edges.push(Edge { caller, callee, file, line, column });
    }
    // 1, 2 or 4 bytes: what instructions are made of.
    let unit_bytes = 1 << choices.below(3);
    let mut place = FreeAddress { next: 0x1000, unit_bytes };
    for unit in 0..1 + choices.below(3) {
        add_unit(&mut program, UnitId::new(unit as u32), &mut place, choices);
    }
    program.pieces.sort_by_key(|piece| piece.start);
    let keys = keys(&program, choices);
    (program, keys)
}

/// Any keys between functions that have code.
fn keys(program: &Program<'static>, choices: &mut Choices<'_>) -> Keys {
    let (mut known, mut keys) = (Vec::new(), Keys::default());
    for piece in &program.pieces {
        match piece.owner {
            Owner::Function(function) => known.push(function),
            Owner::Group(group) => {
                known.extend(program.groups[group.index()].members.iter().map(|member| member.function));
            }
        }
    }
    if known.is_empty() {
        return keys;
    }
    for _ in 0..choices.below(80) {
        let mut some = || known[choices.below(known.len())];
        let (caller, callee, other) = (some(), some(), some());
        let caller = choices.one_in(2).then_some(caller);
        let return_addr = ImageAddr(0x1000 + choices.below(400) as u64);
        let how = [
            CallHow::CallSite,
            CallHow::Relocation,
            CallHow::Doubtful,
            CallHow::DoubtfulRelocation,
            CallHow::Unproven,
            CallHow::Merged,
            CallHow::NameAlone,
        ][choices.below(7)];
        keys.calls.push(CallKey { return_addr, caller, callee, how });
        let target = choices.one_in(2).then_some(other);
        if target != Some(callee) {
            keys.tails.push(TailKey { function: callee, target });
        }
    }
    keys.calls.sort_unstable();
    keys.calls.dedup_by_key(|key| (key.return_addr, key.caller));
    keys.tails.sort_unstable();
    keys.tails.dedup();
    keys
}

/// Where the next piece goes.
struct FreeAddress {
    next: u64,
    unit_bytes: u32,
}

fn add_unit(program: &mut Program<'static>, id: UnitId, place: &mut FreeAddress, choices: &mut Choices<'_>) {
    let mut unit = UnitCode::default();
    let map = UnitMap {
        files: (0..program.files.len() as u32).rev().map(FileId::new).collect(),
        origins: (0..program.origins.len() as u32).map(OriginId).collect(),
        edges: (0..program.edges.len() as u32).map(EdgeId).collect(),
    };
    for _ in 0..choices.below(8) {
        let function = add_function(program, &mut unit, id, choices);
        // A group has its members from this unit, one after another.
        let members = if choices.one_in(4) { 2 + choices.below(3) } else { 1 };
        for _piece in 0..1 + choices.below(2) {
            let body = (1 + choices.below(300)) as u32 * place.unit_bytes;
            let pad = choices.below(3) as u32 * place.unit_bytes;
            let start = ImageAddr(place.next);
            place.next += u64::from(body + pad) + choices.below(2) as u64 * 64;
            let symbol = choices.one_in(5).then(|| some_name(program, choices));
            let skip = if choices.one_in(4) { choices.below(50) as u32 * place.unit_bytes } else { 0 };
            let mut piece =
                Piece { start, body, pad, owner: Owner::Function(function), rows: None, skip, symbol };
            if members == 1 {
                piece.rows = add_rows(program, &mut unit, id, (function, skip), place, choices);
            } else {
                piece.symbol = None;
                piece.owner = Owner::Group(GroupId(program.groups.len() as u32));
                let mut group = Group::default();
                for member in 0..members {
                    let function =
                        if member == 0 { function } else { add_function(program, &mut unit, id, choices) };
                    let rows = match group.members.first() {
                        Some(Member { rows: Some(rows), .. }) if !choices.one_in(3) => {
                            Some(other_lines(program, &mut unit, *rows, function, choices))
                        }
                        _ => add_rows(program, &mut unit, id, (function, skip), place, choices),
                    };
                    let symbol = choices.one_in(4).then(|| some_name(program, choices));
                    group.members.push(Member { function, how: How::Symbol, rows, symbol });
                }
                program.groups.push(group);
            }
            program.pieces.push(piece);
        }
    }
    program.code.push(unit);
    program.maps.push(map);
}

fn some_name(program: &Program<'_>, choices: &mut Choices<'_>) -> NameId {
    NameId::new(choices.below(program.names.len()) as u32)
}

fn add_function(
    program: &mut Program<'static>,
    unit: &mut UnitCode,
    id: UnitId,
    choices: &mut Choices<'_>,
) -> FuncId {
    let origin = choices.below(program.origins.len()) as u32;
    let start = unit.scopes.len() as u32;
    let mut origins = vec![origin];
    // Now and then deeper than a file holds.
    let chain = choices.one_in(60);
    let wanted = if chain { 300 } else { choices.up_to(&[1, 5, 40, 200]) };
    for _ in 0..wanted {
        let parent = if chain { origins.len() - 1 } else { choices.below(origins.len()) };
        let first = choices.below(program.edges.len().max(1));
        let calls = (first..program.edges.len()).chain(0..first);
        let mut calls = calls.filter(|&edge| program.edges[edge].caller.0 == origins[parent]);
        if let Some(edge) = calls.next() {
            unit.scopes.own_mut().push(Scope { parent: parent as u32, edge: LocalEdge(edge as u32) });
            origins.push(program.edges[edge].callee.0);
        }
    }
    let function = LocalFunc(unit.functions.len() as u32);
    unit.functions.push(UnitFunction {
        die: DieOffset(0),
        origin: LocalOrigin(origin),
        instance: Instance::NAMED,
        how: How::LiveRange,
        external: true,
        pieces: 0..0,
        scopes: start..unit.scopes.len() as u32,
        lost: Lost::default(),
        calls: Calls::default(),
    });
    let aliases = 0..if choices.one_in(4) { 1 + choices.below(3) } else { 0 };
    program.functions.push(Function {
        origin: OriginId(origin),
        symbol: choices.one_in(5).then(|| some_name(program, choices)),
        primary: None,
        aliases: aliases.map(|_| some_name(program, choices)).collect(),
        source: Some(Source { unit: id, function }),
        how: How::LiveRange,
        partial: choices.one_in(9),
        // Mostly none: there are fewer.
        reason: Reason::from_code(choices.below(16) as u64),
    });
    FuncId(program.functions.len() as u32 - 1)
}

fn scopes_of(program: &Program<'_>, unit: &UnitCode, function: FuncId) -> usize {
    let source = program.functions[function.index()].source.unwrap();
    unit.functions[source.function.index()].scopes.len() + 1
}

fn add_rows(
    program: &Program<'_>,
    unit: &mut UnitCode,
    id: UnitId,
    (function, skip): (FuncId, u32),
    place: &FreeAddress,
    choices: &mut Choices<'_>,
) -> Option<Rows> {
    if choices.one_in(8) {
        return None;
    }
    let scopes = scopes_of(program, unit, function);
    let start = unit.rows.len() as u32;
    let (mut offset, mut scope, mut line) = (0, 0, choices.line());
    for _ in 0..1 + choices.up_to(&[3, 10, 100, 300]) {
        if !choices.one_in(3) {
            scope = choices.below(scopes) as u32;
        }
        if !choices.one_in(3) {
            line = choices.line();
        }
        let file = if choices.one_in(9) { NONE16 } else { choices.below(program.files.len()) as u16 };
        unit.rows.own_mut().push(Row { offset, scope, line, file, column: choices.below(4) as u16 });
        offset += (1 + choices.below(4)) as u32 * place.unit_bytes;
    }
    Some(Rows { unit: id, range: RowRange { start, len: unit.rows.len() as u32 - start }, skip })
}

/// Rows as `rows` for a function that was folded with another: the same offsets, lines of its own.
fn other_lines(
    program: &Program<'_>,
    unit: &mut UnitCode,
    rows: Rows,
    function: FuncId,
    choices: &mut Choices<'_>,
) -> Rows {
    let scopes = scopes_of(program, unit, function) as u32;
    let start = unit.rows.len() as u32;
    for i in rows.range.start..rows.range.start + rows.range.len {
        let row = unit.rows.own()[i as usize];
        let line = if choices.one_in(2) { row.line } else { choices.line() };
        unit.rows.own_mut().push(Row { scope: row.scope % scopes, line, ..row });
    }
    Rows { range: RowRange { start, ..rows.range }, ..rows }
}
