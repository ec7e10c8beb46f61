//! The functions of a program by each way of referring to them: by DIE, by name, by address, by group.

use crate::merge::units::Records;
use crate::model::{
    AddressRange, Calls, DieOffset, FuncId, Function, GroupId, ImageAddr, NameId, Owner, Piece, Program,
    UnitCall,
};
use crate::place::Placed;
use crate::program::machine::Machine;
use crate::program::names::itanium::{is_mangled, is_program_wide};
use crate::util::hash::HashMap;
use crate::util::pages::{NAME_WINDOWS, ReadWindows};

pub(crate) struct Functions<'p, 'f> {
    pub(crate) program: &'p Program<'f>,
    pub(crate) placed: &'p Placed<'f>,
    pub(crate) records: &'p Records<'f>,
    pub(crate) machine: &'p Machine<'p, 'f>,
    /// The pieces of all functions, sorted by function, then by address: indexes into the program's pieces.
    ranges: Vec<u32>,
    /// By function, with one more at the end: the index of its first range in `ranges`.
    first_ranges: Vec<u32>,
    /// By name: its function.
    by_name: Vec<NameOwner>,
    /// Described functions that other units can call by name, each with that name; empty once an index is made of the functions.
    pub(crate) shared: Vec<(FuncId, NameId)>,
    /// The group of each function. A function with several pieces may be in several groups: this is the first.
    groups: Vec<FirstGroup>,
    /// The other groups of functions that are in several.
    more_groups: HashMap<FuncId, Vec<GroupId>>,
    /// The windows of mapped files that names were read from.
    names_read: ReadWindows,
    is_large: bool,
    /// The entry of each function. It is not always the lowest address: a part may lie before the entry.
    pub(crate) starts: Vec<ImageAddr>,
}

impl<'p, 'f> Functions<'p, 'f> {
    pub(crate) fn new(
        placed: &'p Placed<'f>,
        records: &'p Records<'f>,
        machine: &'p Machine<'p, 'f>,
    ) -> Self {
        let program = &placed.program;
        let (by_name, shared) = by_name(program);
        let mut groups = vec![FirstGroup::NONE; program.functions.len()];
        let mut more_groups: HashMap<FuncId, Vec<GroupId>> = HashMap::default();
        for (index, found) in program.groups.iter().enumerate() {
            let group = GroupId(index as u32);
            for member in &found.members {
                let first = &mut groups[member.function.index()];
                match first.get() {
                    None => *first = FirstGroup(group.0),
                    Some(first) if first == group => {}
                    Some(_) => more_groups.entry(member.function).or_default().push(group),
                }
            }
        }
        let (ranges, first_ranges) = ranges(program);
        let start = |(function, own): (&Function, &[u32])| match function.source {
            Some(source) => {
                let unit = &program.code[source.unit.index()];
                let entry = unit.functions[source.function.index()].pieces.start;
                unit.pieces[entry as usize].start
            }
            None => match ranges[own[0] as usize..own[1] as usize] {
                [first, ..] => program.pieces[first as usize].start,
                [] => ImageAddr(u64::MAX),
            },
        };
        let starts = program.functions.iter().zip(first_ranges.windows(2)).map(start).collect();
        Functions {
            program,
            placed,
            records,
            machine,
            ranges,
            first_ranges,
            by_name,
            shared,
            groups,
            more_groups,
            names_read: ReadWindows::default(),
            is_large: program.scratch().is_some(),
            starts,
        }
    }

    /// All names of a function.
    pub(crate) fn names(&self, function: FuncId) -> impl Iterator<Item = &'p [u8]> + use<'_, 'p, 'f> {
        let function = &self.program.functions[function.index()];
        let own = self.program.origins[function.origin.index()].name;
        let names = [own].into_iter().chain(function.symbol).chain(function.aliases.iter().copied());
        names.map(|name| self.text(name))
    }

    /// The text of a name. Those of a large program are anywhere in its files, so their pages are counted, and released when they are
    /// many.
    pub(crate) fn text(&self, name: NameId) -> &'p [u8] {
        let text = &*self.program.names[name.index()];
        if self.is_large && self.names_read.is_over(text, NAME_WINDOWS) {
            self.names_read.clear();
            self.machine.release_pages();
        }
        text
    }

    /// All groups that a function is in: its parts may be folded with those of different functions.
    pub(crate) fn groups(&self, function: FuncId) -> impl Iterator<Item = GroupId> {
        let more = self.more_groups.get(&function).into_iter().flatten().copied();
        self.group(function).into_iter().chain(more)
    }

    /// The group that a function is in, the first of several.
    pub(crate) fn group(&self, function: FuncId) -> Option<GroupId> {
        self.groups[function.index()].get()
    }

    /// The function that a unit describes by a DIE.
    pub(crate) fn described(&self, unit: usize, die: DieOffset) -> Option<FuncId> {
        let by_die = &self.placed.by_die[unit];
        let before = by_die.partition_point(|known| known.0 <= die).checked_sub(1)?;
        (by_die[before].0 == die).then_some(by_die[before].1)
    }

    /// The function of a name; `Some(None)` if several have it.
    pub(crate) fn of_name(&self, name: NameId) -> Option<Option<FuncId>> {
        match self.by_name[name.index()] {
            NameOwner::NOBODY => None,
            NameOwner::SEVERAL => Some(None),
            NameOwner(function) => Some(Some(FuncId(function))),
        }
    }

    /// True if a function has an unmangled name besides its own: an alias, or a folded function that no DIE
    /// describes.
    pub(crate) fn is_plain_alias(&self, name: NameId, function: FuncId) -> bool {
        let function = &self.program.functions[function.index()];
        let own = self.program.origins[function.origin.index()].name == name || function.symbol == Some(name);
        !own && !is_mangled(self.text(name))
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
        let after = pieces.partition_point(|piece| piece.start < return_addr);
        let piece = &pieces[after.checked_sub(1)?];
        // The end belongs to it, too: a call of a function that never returns may be the last instruction, with the
        // return address behind it.
        (return_addr <= piece.code().end).then_some(piece.owner)
    }

    /// The group that owns the code before a return address.
    pub(crate) fn calling_group(&self, return_addr: ImageAddr) -> Option<GroupId> {
        match self.owner_before(return_addr)? {
            Owner::Group(group) => Some(group),
            Owner::Function(_) => None,
        }
    }

    /// The ranges of a function, by address.
    pub(crate) fn ranges_of(&self, function: FuncId) -> FunctionRanges<'_> {
        let at = function.index();
        let own = &self.ranges[self.first_ranges[at] as usize..self.first_ranges[at + 1] as usize];
        FunctionRanges { pieces: &self.program.pieces, own }
    }

    /// The entries of all functions, sorted, each once.
    pub(crate) fn distinct_starts(&self) -> Vec<ImageAddr> {
        // Functions are numbered by their pieces: those with one entry mostly follow each other.
        let runs = self.starts.chunk_by(|a, b| a == b).map(|same| same[0]);
        let mut starts = Vec::with_capacity(self.starts.chunk_by(|a, b| a == b).count());
        starts.extend(runs);
        starts.sort_unstable();
        starts.dedup();
        starts
    }

    /// The piece that begins at an address, otherwise the index of the first piece behind it.
    pub(crate) fn entry(&self, address: ImageAddr) -> Result<usize, usize> {
        self.program.pieces.binary_search_by_key(&address, |piece| piece.start)
    }
}

/// The ranges of a function, by address.
#[derive(Clone, Copy)]
pub(crate) struct FunctionRanges<'p> {
    /// Those of the program.
    pieces: &'p [Piece],
    /// Indexes into `pieces`, ascending.
    own: &'p [u32],
}

impl<'p> FunctionRanges<'p> {
    pub(crate) fn len(self) -> usize {
        self.own.len()
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = AddressRange> + use<'p> {
        self.own.iter().map(move |at| self.pieces[*at as usize].code())
    }

    /// The last range that begins below an address.
    pub(crate) fn last_below(self, address: ImageAddr) -> Option<AddressRange> {
        let after = self.own.partition_point(|at| self.pieces[*at as usize].start < address);
        Some(self.pieces[self.own[after.checked_sub(1)?] as usize].code())
    }

    /// True if one of the ranges begins at an address.
    pub(crate) fn begin_at(self, address: ImageAddr) -> bool {
        self.own.binary_search_by_key(&address, |at| self.pieces[*at as usize].start).is_ok()
    }
}

/// The group of a function, or none, in the bytes of an id: a large program has millions of functions.
#[derive(Clone, Copy)]
struct FirstGroup(u32);

impl FirstGroup {
    const NONE: FirstGroup = FirstGroup(u32::MAX);

    fn get(self) -> Option<GroupId> {
        (self.0 != FirstGroup::NONE.0).then_some(GroupId(self.0))
    }
}

/// The function that every unit means by a name: its id, unless nobody or several have the name.
#[derive(Clone, Copy, PartialEq, Eq)]
struct NameOwner(u32);

impl NameOwner {
    const NOBODY: NameOwner = NameOwner(u32::MAX);
    const SEVERAL: NameOwner = NameOwner(u32::MAX - 1);

    /// With a further function of the name.
    fn and(self, function: FuncId) -> NameOwner {
        let owner = NameOwner(function.0);
        // A function may have one name twice, as its own and as an alias: that is still one owner.
        if self == NameOwner::NOBODY || self == owner { owner } else { NameOwner::SEVERAL }
    }
}

/// By name: the function that every unit means by it. Also returns the described functions among these, as [`Functions::shared`].
fn by_name(program: &Program<'_>) -> (Vec<NameOwner>, Vec<(FuncId, NameId)>) {
    let mut by_name = vec![NameOwner::NOBODY; program.names.len()];
    let mut shared = Vec::new();
    for (index, function) in program.functions.iter().enumerate() {
        let id = FuncId(index as u32);
        let own = program.origins[function.origin.index()].name;
        // Other units cannot refer to a local function by its name. clang at `-g1` does not say which functions are
        // local: there the symbol shows it.
        let local = function.source.is_some_and(|source| {
            !program.code[source.unit.index()].functions[source.function.index()].external
        });
        let is_known = |name: NameId| !local || is_program_wide(&program.names[name.index()]);
        let known = [Some(own), function.symbol].into_iter().flatten().find(|name| is_known(*name));
        shared.extend(known.filter(|_| function.source.is_some()).map(|name| (id, name)));
        let names = [own].into_iter().chain(function.symbol).chain(function.aliases.iter().copied());
        for name in names.filter(|name| is_known(*name)) {
            let owner = &mut by_name[name.index()];
            *owner = owner.and(id);
        }
    }
    (by_name, shared)
}

/// The pieces of all functions, and by function, with one more at the end, the index of its first.
fn ranges(program: &Program<'_>) -> (Vec<u32>, Vec<u32>) {
    let owners = |piece: &Piece, add: &mut dyn FnMut(FuncId)| match piece.owner {
        Owner::Function(function) => add(function),
        Owner::Group(group) => {
            program.groups[group.index()].members.iter().for_each(|member| add(member.function));
        }
    };
    // Counted first and filled in a second pass: one list for all functions instead of a list for each.
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
    let mut ranges = vec![0; sum as usize];
    // Pieces are sorted.
    for (number, piece) in (0..).zip(&program.pieces) {
        owners(piece, &mut |function| {
            let at = &mut next[function.index()];
            ranges[*at as usize] = number;
            *at += 1;
        });
    }
    (ranges, first)
}
