//! Decides which FUNC or PUBLIC each range of code belongs to: the pieces, groups and functions of an imported program.
//!
//! A FUNC has the bytes that it says; of overlapping ones the first by address keeps its code, and the rest of the other is left to it. A
//! PUBLIC has no size: it reaches up to the next FUNC or PUBLIC. Inside of a FUNC it does not count, but it names the code that follows the
//! FUNC, as in minidump-stackwalk.
//!
//! Several names at one address are a group, of which nothing tells which one ran. Nothing in the format shows that a name is the only
//! one, so every other answer is `likely`: because there is no symbol table ([`Reason::Stripped`]), or because the mark `m` says that
//! there are more names ([`Reason::MergedWithoutTrace`]).

use std::ops::Range;

use super::functions::ImportedUnits;
use super::names::{ImportedNames, own_name};
use super::symbols::{FunctionRecord as FuncLine, Public, SymTables, at};
use crate::diagnostics::{Cap, Diagnostics, Kind};
use crate::model::{
    FuncId, Function, Group, GroupId, How, ImageAddr, MAX_PIECE, Member, Owner, Piece, Program, Reason, Rows,
};
use crate::util::hash::HashSet;
use foldsym_demangle::demangle;

/// The end of a PUBLIC with nothing behind it is the end of its page: nothing says how long it is.
const PAGE: u64 = 4096;

/// The program of these symbols, without rows of call frame information.
pub(super) fn program<'f>(
    symbols: &SymTables<'f>,
    remap_path: Vec<(Vec<u8>, Vec<u8>)>,
    diagnostics: &mut Diagnostics,
) -> Program<'f> {
    let mut placing = Placer {
        symbols,
        names: ImportedNames::new(symbols, remap_path),
        units: ImportedUnits::default(),
        program: Program::default(),
        publics: PublicRuns::new(symbols),
        covered: 0,
        diagnostics: Diagnostics::default(),
    };
    let mut order: Vec<&FuncLine<'f>> = symbols.functions.iter().collect();
    order.sort_by_key(|record| (record.address, record.len));
    // The start of the FUNC before the gap.
    let mut before = None;
    for records in order.chunk_by(|one, other| one.address == other.address) {
        let start = records[0].address;
        placing.gap(before, start);
        let covered = placing.covered;
        placing.functions(records);
        // One that is inside of another has no code of its own.
        if placing.covered > covered {
            before = Some(start);
        }
    }
    placing.gap(before, u64::MAX);
    let Placer { names, units, mut program, diagnostics: own, .. } = placing;
    for found in [own, units.finish(&mut program), names.finish(&mut program)] {
        diagnostics.merge(found);
    }
    program
}

struct Placer<'f, 's> {
    symbols: &'s SymTables<'f>,
    names: ImportedNames<'f, 's>,
    units: ImportedUnits<'f>,
    program: Program<'f>,
    publics: PublicRuns<'f>,
    /// The end of the code that has an owner.
    covered: u64,
    diagnostics: Diagnostics,
}

impl<'f> Placer<'f, '_> {
    /// Places the FUNC records of one address, the shortest first.
    fn functions(&mut self, records: &[&FuncLine<'f>]) {
        let start = records[0].address;
        let mut seen: HashSet<&[u8]> = HashSet::default();
        let mut members: Vec<&FuncLine<'f>> = Vec::with_capacity(records.len());
        for &record in records {
            let name = own_name(record.name);
            // Of several records one without a name says nothing.
            let is_new = (!name.is_empty() || records.len() == 1) && seen.insert(name);
            if is_new {
                members.push(record);
            } else {
                self.repeated(record.offset);
            }
        }
        if members.is_empty() {
            members.push(records[0]);
        }
        // A PUBLIC of the same address is another name, unless it is a spelling of one that is there.
        let publics: Vec<Public<'f>> = self.publics.take(start).to_vec();
        // A comparison with each of many names would be a product.
        let spellings: Vec<Spelling> =
            members.iter().take(MOST_COMPARED).map(|record| Spelling::of(record.name)).collect();
        let mut others: Vec<Public<'f>> = Vec::new();
        for public in publics.iter().filter(|public| !own_name(public.name).is_empty()) {
            let readable = demangle(public.name).map(|name| Spelling::of(name.as_bytes()));
            let is_same = |readable: Spelling| spellings.iter().any(|function| function.is_also(&readable));
            if seen.contains(public.name) || readable.is_some_and(is_same) {
                self.repeated(public.offset);
            } else {
                seen.insert(public.name);
                others.push(*public);
            }
        }
        // A FUNC without a name has that of a PUBLIC.
        let unnamed = members.iter().all(|record| own_name(record.name).is_empty());
        let named = (unnamed && !others.is_empty()).then(|| self.names.name(others.remove(0).name));
        let shared = members.iter().any(|record| record.shared) || others.iter().any(|public| public.shared);
        // All of them have the bytes of the shortest; the rest is that of the longest.
        let (shortest, longest) = (members[0].end(), members.iter().max_by_key(|record| record.len).copied());
        let first = start.max(self.covered);
        if first > start {
            self.overlapping(members[0].offset);
        }
        let common = first..shortest;
        let rest = first.max(shortest)..longest.map_or(shortest, FuncLine::end);
        let mut owners = Vec::new();
        let mut rest_of = None;
        for &record in &members {
            let is_longest = longest.is_some_and(|longest| std::ptr::eq(longest, record));
            let rest = if is_longest { rest.clone() } else { 0..0 };
            if common.is_empty() && rest.is_empty() {
                continue;
            }
            let added =
                self.units.add(record, &[common.clone(), rest.clone()], self.symbols, &mut self.names);
            let function = FuncId(self.program.functions.len() as u32);
            self.program.functions.push(Function {
                origin: added.origin,
                symbol: named,
                aliases: thin_vec::ThinVec::new(),
                primary: None,
                source: Some(added.source),
                how: How::LiveRange,
                partial: false,
                reason: Some(reason(shared)),
            });
            owners.push(Member { function, how: How::LiveRange, rows: added.rows[0], symbol: None });
            if !rest.is_empty() {
                rest_of = Some((function, added.rows[1]));
            }
        }
        if !common.is_empty() {
            for public in others {
                owners.push(self.symbol(&public, shared));
            }
            self.piece(common, start, owners);
        }
        if let Some((function, rows)) = rest_of {
            let member = Member { function, how: How::LiveRange, rows, symbol: None };
            self.piece(rest, start, vec![member]);
        }
    }

    /// Places the PUBLIC records of code without a FUNC, which begins where the code of the FUNC that starts at `before` ends.
    fn gap(&mut self, before: Option<u64>, end: u64) {
        let start = self.covered;
        if end <= start {
            return;
        }
        let first = self.publics.first_in(before, start);
        for run in first..self.publics.runs.len() {
            let (from, next) = (self.publics.address(run), self.publics.next_address(run));
            if from >= end {
                break;
            }
            let (from, until) = (from.max(start), next.unwrap_or(u64::MAX).min(end));
            let is_last = until == u64::MAX;
            let until = if is_last { self.end_of_last(from) } else { until };
            if from < until {
                self.publics.placed[run] = true;
                self.public(run, from..until);
            }
        }
        // Those inside of the FUNC before have no code.
        for run in self.publics.passed(end) {
            if !self.publics.placed[run] {
                let offset = self.publics.of(run)[0].offset;
                self.diagnostics.add(Kind::HiddenPublic, offset, || at(offset));
            }
        }
    }

    fn public(&mut self, run: usize, code: Range<u64>) {
        let publics: Vec<Public<'f>> = self.publics.of(run).to_vec();
        let shared = publics.iter().any(|public| public.shared);
        let mut members = Vec::new();
        for (number, public) in publics.iter().enumerate() {
            if own_name(public.name).is_empty() {
                continue;
            }
            // Sorted by name, so that equal names are neighbours.
            if number > 0 && publics[number - 1].name == public.name {
                self.repeated(public.offset);
            } else {
                members.push(self.symbol(public, shared));
            }
        }
        if members.is_empty() {
            // `<unknown in x.pdb>` ends the code of the symbol before.
            return;
        }
        let start = publics[0].address;
        let len = code.end - code.start;
        let code = if len > MAX_PIECE {
            let offset = publics[0].offset;
            self.diagnostics.add(Kind::Cap(Cap::SymbolBytes), offset, || {
                format!("{}: {len:#x} bytes up to the next symbol", at(offset))
            });
            code.start..code.start + MAX_PIECE
        } else {
            code
        };
        self.piece(code, start, members);
    }

    /// A function that is known by its name alone.
    fn symbol(&mut self, public: &Public<'f>, shared: bool) -> Member {
        let function = FuncId(self.program.functions.len() as u32);
        self.program.functions.push(Function {
            origin: self.names.origin(public.name, None),
            symbol: None,
            aliases: thin_vec::ThinVec::new(),
            primary: None,
            source: None,
            how: How::SymbolOnly,
            partial: false,
            reason: Some(reason(shared)),
        });
        Member { function, how: How::SymbolOnly, rows: None, symbol: None }
    }

    fn piece(&mut self, code: Range<u64>, function_start: u64, mut members: Vec<Member>) {
        let (owner, rows) = match members.as_slice() {
            [] => return,
            [only] => (Owner::Function(only.function), only.rows),
            _ => {
                let group = GroupId(self.program.groups.len() as u32);
                members.shrink_to_fit();
                self.program.groups.push(Group { members });
                (Owner::Group(group), None::<Rows>)
            }
        };
        self.program.pieces.push(Piece {
            start: ImageAddr(code.start),
            body: (code.end - code.start) as u32,
            pad: 0,
            owner,
            rows,
            skip: u32::try_from(code.start - function_start).unwrap_or(u32::MAX),
            symbol: None,
        });
        self.covered = code.end;
    }

    /// Where the last PUBLIC of the file ends: with the STACK CFI that covers its start, else with the page.
    fn end_of_last(&self, start: u64) -> u64 {
        let covers = |frame: &&super::symbols::FrameStart<'_>| frame.address <= start && start < frame.end;
        let by_frame = self.symbols.frames.iter().find(covers).map(|frame| frame.end);
        by_frame.unwrap_or((start | (PAGE - 1)).saturating_add(1))
    }

    fn repeated(&mut self, offset: u64) {
        self.diagnostics.add(Kind::RepeatedName, offset, || at(offset));
    }

    fn overlapping(&mut self, offset: u64) {
        self.diagnostics.add(Kind::OverlappingRecord, offset, || at(offset));
    }
}

/// The names at one address that a further one is compared with by their spelling.
const MOST_COMPARED: usize = 16;

fn reason(shared: bool) -> Reason {
    if shared { Reason::MergedWithoutTrace } else { Reason::Stripped }
}

/// A readable name without blanks.
struct Spelling {
    name: Vec<u8>,
    /// Bytes before the parameters.
    plain: usize,
}

impl Spelling {
    fn of(name: &[u8]) -> Spelling {
        let name: Vec<u8> = name.iter().copied().filter(|byte| *byte != b' ').collect();
        let begins_parameters = |at: &usize| {
            let (before, after) = name.split_at(*at);
            after.starts_with(b"(")
                && !before.is_empty()
                && !before.ends_with(b"operator")
                && !after.starts_with(b"(anonymousnamespace)")
        };
        let plain = (0..name.len()).find(begins_parameters).unwrap_or(name.len());
        Spelling { name, plain }
    }

    /// True if this is the name of a FUNC, and `symbol` that of the same function: writers may leave out parameters.
    fn is_also(&self, symbol: &Spelling) -> bool {
        let named = self.name.len() == self.plain && self.name == symbol.name[..symbol.plain];
        named || self.name == symbol.name
    }
}

/// The PUBLIC records by address; those of one address are a run.
struct PublicRuns<'f> {
    sorted: Vec<Public<'f>>,
    /// Index ranges into `sorted`.
    runs: Vec<Range<usize>>,
    /// The runs that got code, or whose names were joined with those of a FUNC.
    placed: Vec<bool>,
    /// The runs before it were looked at for code.
    passed: usize,
}

impl<'f> PublicRuns<'f> {
    fn new(symbols: &SymTables<'f>) -> Self {
        // No code is at address 0: Mach-O has the name of its header there.
        let mut sorted: Vec<Public<'f>> =
            symbols.publics.iter().copied().filter(|public| public.address != 0).collect();
        // The name that minidump-stackwalk shows comes first.
        sorted.sort_by(|one, other| one.address.cmp(&other.address).then_with(|| other.name.cmp(one.name)));
        let mut runs: Vec<Range<usize>> = Vec::new();
        for (at, public) in sorted.iter().enumerate() {
            match runs.last_mut() {
                Some(run) if sorted[run.start].address == public.address => run.end = at + 1,
                _ => runs.push(at..at + 1),
            }
        }
        let placed = vec![false; runs.len()];
        PublicRuns { sorted, runs, placed, passed: 0 }
    }

    fn of(&self, run: usize) -> &[Public<'f>] {
        &self.sorted[self.runs[run].clone()]
    }

    fn address(&self, run: usize) -> u64 {
        self.of(run)[0].address
    }

    fn next_address(&self, run: usize) -> Option<u64> {
        (run + 1 < self.runs.len()).then(|| self.address(run + 1))
    }

    /// The records of an address, at which a FUNC is.
    fn take(&mut self, address: u64) -> &[Public<'f>] {
        let run = self.runs.partition_point(|run| self.sorted[run.start].address < address);
        match self.runs.get(run) {
            Some(range) if self.sorted[range.start].address == address => {
                self.placed[run] = true;
                &self.sorted[range.clone()]
            }
            _ => &[],
        }
    }

    /// The first run that may have code from `start` on: the last one up to there, if it is behind the start of the FUNC before.
    fn first_in(&self, before: Option<u64>, start: u64) -> usize {
        let above = self.runs.partition_point(|run| self.sorted[run.start].address <= start);
        match above.checked_sub(1) {
            Some(run) if before.is_none_or(|before| self.address(run) > before) => run,
            _ => above,
        }
    }

    /// The runs below an address that were not passed yet.
    fn passed(&mut self, below: u64) -> Range<usize> {
        let from = self.passed;
        while self.passed < self.runs.len() && self.address(self.passed) < below {
            self.passed += 1;
        }
        from..self.passed
    }
}

#[cfg(test)]
mod tests {
    use super::Spelling;

    #[test]
    fn a_symbol_is_a_function_in_another_spelling_or_another_function() {
        let is_same = |function: &str, symbol: &str| {
            Spelling::of(function.as_bytes()).is_also(&Spelling::of(symbol.as_bytes()))
        };
        assert!(is_same("f(int)", "f(int)") && is_same("f", "f(char)") && is_same("a::f(b *)", "a::f(b*)"));
        assert!(
            is_same("C::operator()", "C::operator()(int)")
                && is_same("(anonymous namespace)::f", "(anonymous namespace)::f()")
        );
        assert!(!is_same("f(int)", "f(char)") && !is_same("C::operator()(int)", "C::operator()(char)"));
        assert!(!is_same("a::(anonymous namespace)::f()", "a::(anonymous namespace)::g()"));
    }
}
