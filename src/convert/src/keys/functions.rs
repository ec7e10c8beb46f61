//! The functions of a program by each way of referring to them: by DIE, by name, by address, by group.

use crate::merge::units::Records;
use crate::model::{
    Calls, DieOffset, FuncId, Function, GroupId, ImageAddr, NameId, Owner, Piece, Program, UnitCall,
};
use crate::place::Placed;
use crate::program::machine::Machine;
use crate::program::names::itanium::{is_mangled, is_program_wide};

pub(crate) struct Functions<'p, 'f> {
    pub(crate) program: &'p Program<'f>,
    pub(crate) placed: &'p Placed<'f>,
    pub(crate) records: &'p Records<'f>,
    pub(crate) machine: &'p Machine<'p, 'f>,
    /// Start and end of the ranges of all functions, sorted by function, then by address.
    ranges: Vec<(u64, u64)>,
    /// By function, with one more at the end: the index of its first range in `ranges`.
    first_ranges: Vec<u32>,
    /// By unit: functions by DIE.
    by_die: Vec<Vec<(DieOffset, FuncId)>>,
    /// By name: its function; `Some(None)` if several functions have it.
    by_name: Vec<Option<Option<FuncId>>>,
    /// Described functions that other units can call by name.
    pub(crate) shared: Vec<FuncId>,
    /// The group of each function. A function with several pieces may be in several groups: this is the first.
    groups: Vec<Option<GroupId>>,
    /// The entry of each function. It is not always the lowest address: a part may lie before the entry.
    pub(crate) starts: Vec<u64>,
}

impl<'p, 'f> Functions<'p, 'f> {
    pub(crate) fn new(
        placed: &'p Placed<'f>,
        records: &'p Records<'f>,
        machine: &'p Machine<'p, 'f>,
    ) -> Self {
        let program = &placed.program;
        let (by_name, shared) = by_name(program);
        let mut groups = vec![None; program.functions.len()];
        for (index, found) in program.groups.iter().enumerate() {
            for member in &found.members {
                groups[member.function.index()].get_or_insert(GroupId(index as u32));
            }
        }
        let (ranges, first_ranges) = ranges(program);
        let start = |(function, own): (&Function, &[u32])| match function.source {
            Some(source) => {
                let unit = &program.code[source.unit.index()];
                let entry = unit.functions[source.function.index()].pieces.start;
                unit.pieces[entry as usize].start.0
            }
            None => ranges[own[0] as usize..own[1] as usize].first().map_or(u64::MAX, |range| range.0),
        };
        let starts = program.functions.iter().zip(first_ranges.windows(2)).map(start).collect();
        let by_die = by_die(program, &placed.numbers);
        Functions {
            program,
            placed,
            records,
            machine,
            ranges,
            first_ranges,
            by_die,
            by_name,
            shared,
            groups,
            starts,
        }
    }

    /// The group that a function is in.
    pub(crate) fn group(&self, function: FuncId) -> Option<GroupId> {
        self.groups[function.index()]
    }

    /// The function that a unit describes by a DIE.
    pub(crate) fn described(&self, unit: usize, die: DieOffset) -> Option<FuncId> {
        let by_die = &self.by_die[unit];
        let before = by_die.partition_point(|known| known.0 <= die).checked_sub(1)?;
        (by_die[before].0 == die).then_some(by_die[before].1)
    }

    /// The function of a name; `Some(None)` if several have it.
    pub(crate) fn of_name(&self, name: NameId) -> Option<Option<FuncId>> {
        self.by_name[name.index()]
    }

    /// True if a function has an unmangled name besides its own: an alias, or a folded function that no DIE
    /// describes.
    pub(crate) fn is_plain_alias(&self, name: NameId, function: FuncId) -> bool {
        let function = &self.program.functions[function.index()];
        let own = self.program.origins[function.origin.index()].name == name || function.symbol == Some(name);
        !own && !is_mangled(&self.program.names[name.index()])
    }

    /// The unit and the calls of a function.
    pub(crate) fn calls(&self, function: FuncId) -> Option<(usize, &'p Calls, &'p [UnitCall])> {
        let source = self.program.functions[function.index()].source?;
        let unit = source.unit.index();
        let calls = &self.program.code[unit].functions[source.function.index()].calls;
        let listed = &self.records.units[unit].calls[calls.range.start as usize..calls.range.end as usize];
        Some((unit, calls, listed))
    }

    /// The owner of the code before a return address.
    pub(crate) fn owner_before(&self, return_addr: ImageAddr) -> Option<Owner> {
        let pieces = &self.program.pieces;
        let after = pieces.partition_point(|piece| piece.start.0 < return_addr.0);
        let piece = &pieces[after.checked_sub(1)?];
        (return_addr.0 <= piece.start.0 + u64::from(piece.body)).then_some(piece.owner)
    }

    /// The group that owns the code before a return address.
    pub(crate) fn calling_group(&self, return_addr: ImageAddr) -> Option<GroupId> {
        match self.owner_before(return_addr)? {
            Owner::Group(group) => Some(group),
            Owner::Function(_) => None,
        }
    }

    /// The ranges of a function, by address.
    pub(crate) fn ranges_of(&self, function: FuncId) -> &[(u64, u64)] {
        let at = function.index();
        &self.ranges[self.first_ranges[at] as usize..self.first_ranges[at + 1] as usize]
    }

    /// The piece that begins at an address, otherwise the index of the first piece behind it.
    pub(crate) fn entry(&self, address: u64) -> Result<usize, usize> {
        self.program.pieces.binary_search_by_key(&address, |piece| piece.start.0)
    }
}

/// By unit: the functions that it describes and that have code, by DIE.
fn by_die(program: &Program<'_>, numbers: &[Option<FuncId>]) -> Vec<Vec<(DieOffset, FuncId)>> {
    let mut rest = numbers;
    let of_unit = program.code.iter().map(|unit| {
        let (own, later) = rest.split_at(unit.functions.len());
        rest = later;
        let functions = unit.functions.iter().zip(own);
        let mut by_die: Vec<_> =
            functions.filter_map(|(function, id)| Some((function.die, (*id)?))).collect();
        by_die.sort_by_key(|(die, _)| *die);
        by_die
    });
    of_unit.collect()
}

/// By name: the function that every unit means by it, `Some(None)` if several have it. Also returns the described
/// functions among these.
fn by_name(program: &Program<'_>) -> (Vec<Option<Option<FuncId>>>, Vec<FuncId>) {
    let mut by_name: Vec<Option<Option<FuncId>>> = vec![None; program.names.len()];
    let mut shared = Vec::new();
    for (index, function) in program.functions.iter().enumerate() {
        let id = FuncId(index as u32);
        let own = program.origins[function.origin.index()].name;
        // Other units cannot refer to a local function by its name.
        let local = function.source.is_some_and(|source| {
            !program.code[source.unit.index()].functions[source.function.index()].external
        });
        if local && !is_program_wide(&program.names[own.index()]) {
            continue;
        }
        shared.extend(function.source.is_some().then_some(id));
        for name in [own].into_iter().chain(function.symbol).chain(function.aliases.iter().copied()) {
            let known = by_name[name.index()];
            by_name[name.index()] = Some(known.map_or(Some(id), |known| known.filter(|known| *known == id)));
        }
    }
    (by_name, shared)
}

/// The ranges of all functions, and by function, with one more at the end, the index of its first range.
fn ranges(program: &Program<'_>) -> (Vec<(u64, u64)>, Vec<u32>) {
    let owners = |piece: &Piece, add: &mut dyn FnMut(FuncId)| match piece.owner {
        Owner::Function(function) => add(function),
        Owner::Group(group) => {
            program.groups[group.index()].members.iter().for_each(|member| add(member.function));
        }
    };
    let mut next = vec![0; program.functions.len() + 1];
    for piece in &program.pieces {
        owners(piece, &mut |function| next[function.index() + 1] += 1);
    }
    let mut sum = 0;
    for next in &mut next {
        sum += *next;
        *next = sum;
    }
    let first = next.clone();
    let mut ranges = vec![(0, 0); sum as usize];
    // Pieces are sorted.
    for piece in &program.pieces {
        owners(piece, &mut |function| {
            let at = &mut next[function.index()];
            ranges[*at as usize] = (piece.start.0, piece.start.0 + u64::from(piece.body));
            *at += 1;
        });
    }
    (ranges, first)
}
