//! Turns subprograms and symbols into candidates: ranges of code, each with the functions that have it.
//!
//! Subprograms with the same range and different origins share their code: the linker folded them. Subprograms with
//! the same range and the same origin are one function that two units describe. A symbol at the start of a subprogram
//! is the symbol of the function itself (`foo.isra.0` of `foo`), an alias of it, or the name of a function that no
//! DIE describes. Code without a subprogram belongs to the symbol that starts it.

use std::cell::OnceCell;
use std::ops::Range;

use rayon::prelude::*;

use crate::diagnostics::{Cap, Diagnostics, Kind};
use crate::model::{
    DieOffset, FuncId, Function, How, Instance, Member, NameId, OriginId, Reason, Rows, Source, UnitId,
};
use crate::place::alias_owner::NamedFunctions;
use crate::place::aliases::{AliasRules, DescribedFunctions, add_nameless, surplus};
use crate::place::candidate::{Candidate, Candidates, by_name_alone, order};
use crate::place::cold_parts::{EntryFunctions, Parts};
use crate::place::linkage_names::{name_plain, sole};
use crate::place::namesakes::Namesakes;
use crate::place::placing::Placing;
use crate::place::subprograms::{DiePiece, plain};
use crate::place::symbol_ranges::{padding, symbol_candidates};
use crate::place::thunks;
use crate::program::machine::Machine;
use crate::program::names::itanium::{is_mangled, is_program_wide};
use crate::program::names::relation::Relation;
use crate::program::names::toolchain::numbered;
use crate::program::names::variants::may_be_variant;
use crate::program::symbols::{CodeSymbol, Symbols};
use crate::util::budget::Budget;
use crate::util::hash::{HashMap, HashSet};

// Long because the order in which subprograms, parts, names and symbols are looked at is the decision.
pub(crate) fn candidates<'f>(
    placing: &mut Placing<'_, 'f>,
    (functions, pieces): (Vec<Function>, Vec<DiePiece>),
    symbols: &Symbols<'f>,
    undescribed: &AliasRules,
    machine: &Machine<'_, 'f>,
    diagnostics: &mut Diagnostics,
) -> Candidates {
    let mut candidates = Candidates { functions, ..Candidates::default() };
    candidates.dies.reserve(pieces.len());
    let plain = plain(placing, &pieces, symbols, undescribed);
    let ranges = ranges(&pieces, &plain);
    // Nothing of this depends on what another range has.
    let share = |at: usize| {
        let shared = &pieces[ranges[at].clone()];
        let one = share(placing, shared, &candidates.functions, undescribed.may_fold());
        // Any number of ranges may begin at an address with any number of symbols. The serial loop compares those,
        // under its budgets.
        let beside = [at.checked_sub(1), Some(at + 1)].into_iter().flatten().filter_map(|at| ranges.get(at));
        let is_alone = beside.into_iter().all(|other| pieces[other.start].start != shared[0].start);
        let here = is_alone.then(|| symbols.at(one.candidate.start));
        let here = here.filter(|here| Parts::are_none(here, shared));
        let fits = here.map(|here| fits(placing, here, &one.known));
        (one, fits)
    };
    let shared: Vec<(Common, Option<Vec<SymbolMatch>>)> =
        (0..ranges.len()).into_par_iter().map(share).collect();
    // A large program has more ranges and more symbols.
    let count = symbols.iter().count() as u64;
    let max_names = MAX_NAMES.max(NAMES_A_SYMBOL * count);
    let max_compared = MAX_COMPARED.max(COMPARED_A_SYMBOL * count);
    let (names, compared) = (Budget::new(max_names), Budget::new(max_compared));
    let mut short_at = None;
    let mut done = 0;
    let push_plain = |candidates: &mut Candidates, pieces: &[DiePiece]| {
        let plain = |piece: &DiePiece| Candidate {
            start: piece.start,
            end: piece.end,
            members: vec![piece.member()],
            doubt: None,
        };
        candidates.dies.extend(pieces.iter().map(plain));
    };
    let mut by_address = symbols.by_address().peekable();
    let mut parts = Vec::new();
    for (range, (mut one, fits_at_start)) in ranges.into_iter().zip(shared) {
        push_plain(&mut candidates, &pieces[done..range.start]);
        done = range.end;
        let shared = &pieces[range];
        let Candidates { functions, same, dies, .. } = &mut candidates;
        one.apply(placing, functions, same, diagnostics);
        let Common { mut candidate, mut known, .. } = one;
        while by_address.next_if(|here| here[0].start < candidate.start).is_some() {}
        let here = by_address.peek().filter(|here| here[0].start == candidate.start);
        let again = dies.last().is_some_and(|before| before.start == candidate.start);
        let within = |here: &&&[CodeSymbol<'f>]| {
            let is_part = || !Parts::are_none(here, shared);
            let comparisons = || Parts::comparisons(here, &candidate);
            !again || (names.spend(here.len()) && (!is_part() || compared.spend(comparisons())))
        };
        let at_start = here.filter(within).map_or(&[][..], |here| here);
        let is_short = here.is_some() && at_start.is_empty();
        let part = Parts::new(placing, at_start, shared, &candidate, functions);
        let of_entries = part.as_ref().map(|part| part.of_entries(at_start));
        if let Some(entries) = of_entries.as_ref().map_or(Some(at_start), |entries| entries.as_deref()) {
            let fits = fits_at_start.unwrap_or_else(|| fits(placing, entries, &known));
            name_entry(
                placing,
                (entries, fits),
                (undescribed, symbols),
                &mut candidate,
                functions,
                &mut known,
            );
            known.report(candidate.start, diagnostics);
            undescribed.report(&candidate, placing, functions, diagnostics);
        }
        if is_short {
            short_at.get_or_insert(candidate.start);
            add_unknown(placing, undescribed, &mut candidate, functions);
        }
        parts.extend(part.map(|part| (candidates.dies.len(), part)));
        candidates.dies.push(candidate);
    }
    push_plain(&mut candidates, &pieces[done..]);
    if let Some(address) = short_at {
        diagnostics.add(Kind::Cap(Cap::PartSymbols), address, || {
            let what = match names.is_short() {
                true => format!("{max_names} symbols where several ranges begin"),
                false => format!("{max_compared} comparisons of symbols with functions of parts"),
            };
            format!(
                "over {what}: from {address:#x} on they are compared with the first range at an address alone"
            )
        });
    }
    // After the loop over all ranges, since a part adds its own names to the name that the symbol at the entry gave
    // the function.
    let entries = match undescribed.may_be_forgotten() {
        true => EntryFunctions::new(&candidates.dies, parts.iter().map(|(_, part)| part)),
        false => EntryFunctions::default(),
    };
    let of_entries = Budget::new(max_compared);
    let mut short_at = None;
    for (index, part) in parts {
        let Candidates { dies, functions, .. } = &mut candidates;
        part.name(placing, undescribed, &mut dies[index], functions, diagnostics);
        if !entries.add(placing, &part, &mut dies[index], functions, &of_entries) {
            short_at.get_or_insert(dies[index].start);
            add_unknown(placing, undescribed, &mut dies[index], functions);
        }
    }
    if let Some(address) = short_at {
        diagnostics.add(Kind::Cap(Cap::PartFunctions), address, || {
            format!(
                "over {max_compared} comparisons of functions that share an entry with those of parts: from {address:#x} on \
                 parts do not have them"
            )
        });
    }
    let mut before = 0;
    for at_address in symbols.by_address() {
        // Most symbols only repeat a subprogram and make no candidate.
        let first = at_address[0].start;
        before += candidates.dies[before..].iter().take_while(|die| die.start <= first).count();
        let end = at_address.iter().map(|symbol| symbol.end).max().unwrap_or(first);
        let last = before.checked_sub(1).map(|at| &candidates.dies[at]);
        if last.is_some_and(|die| die.end >= end) {
            continue;
        }
        // Mach-O symbols have no size: code between the end of a subprogram and the next symbol is padding.
        match last.filter(|die| die.start == first && at_address.iter().all(|symbol| !symbol.sized)) {
            Some(die) => candidates.symbols.extend(padding(die, end)),
            None => symbol_candidates(placing, at_address, undescribed, &mut candidates, diagnostics),
        }
    }
    candidates.merging = thunks::add(placing, machine, undescribed, symbols, &mut candidates, diagnostics);
    for candidate in &mut candidates.dies {
        order(&placing.names, &mut candidate.members, &mut candidates.functions);
    }
    candidates
}

/// What two subprograms with the same range must have in common to be one function.
#[derive(PartialEq, Eq, Hash)]
enum SameFunction {
    /// A name that only one function of the program can have. Units may spell the file of its declaration
    /// differently.
    Name(NameId),
    /// A name that several units may have for functions of their own, even with the same declaration: a static
    /// function of a header. One unit may have several functions of that name if it writes no linkage names.
    Local(OriginId, UnitId, Instance),
    /// If the linker cannot fold, code that several units describe alike is one function: the linker gives the
    /// entries of a discarded COMDAT section the addresses of the kept section.
    Copy(OriginId),
}

/// Symbols that are compared with a second and further range at their address (each may be an alias of a function
/// there, or a function of its own). The limit is the larger of this number and `NAMES_A_SYMBOL` for each symbol of
/// the program.
const MAX_NAMES: u64 = 1 << 18;
const NAMES_A_SYMBOL: u64 = 4;

/// Comparisons of such symbols, and of functions that share an entry, with the functions of parts; the limit grows in
/// the same way. One comparison may take microseconds for names that are local to functions.
const MAX_COMPARED: u64 = 1 << 20;
const COMPARED_A_SYMBOL: u64 = 16;

/// Definitions of one name at one range that are kept apart.
const MAX_DEFINITIONS: usize = 16;

/// The indexes of the pieces of each range, except plain ranges.
fn ranges(pieces: &[DiePiece], plain: &[bool]) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut start = 0;
    for same in pieces.chunk_by(|a, b| (a.start, a.end) == (b.start, b.end)) {
        let range = start..start + same.len();
        start = range.end;
        if !plain[range.start] {
            ranges.push(range);
        }
    }
    ranges
}

/// The functions that share a range.
struct Common {
    candidate: Candidate,
    /// The names of these functions.
    known: NamedFunctions,
    same: Vec<SameAs>,
}

/// A subprogram that is the same function as another subprogram there.
struct SameAs {
    function: FuncId,
    of: FuncId,
    name: NameId,
    /// The DIE that describes the function again; `None` if `name` is an alias of `of`.
    described_again: Option<DieOffset>,
}

impl Common {
    /// Records the subprograms that are the same function as another one.
    fn apply(
        &mut self,
        placing: &Placing<'_, '_>,
        functions: &mut [Function],
        same: &mut HashMap<FuncId, FuncId>,
        diagnostics: &mut Diagnostics,
    ) {
        let start = self.candidate.start;
        for SameAs { function, of, name, described_again } in self.same.drain(..) {
            same.insert(function, of);
            match described_again {
                Some(die) => diagnostics.add(Kind::DuplicateFunction, die.0, || {
                    let name = String::from_utf8_lossy(placing.names.text(name)).into_owned();
                    format!("{name} at {start:#x} is described by two units")
                }),
                None => functions[of.index()].aliases.push(name),
            }
        }
    }
}

/// Makes one candidate of the pieces that share a range.
fn share(placing: &Placing<'_, '_>, shared: &[DiePiece], functions: &[Function], may_fold: bool) -> Common {
    let (start, end) = (shared[0].start, shared[0].end);
    let (mut known, mut same_as) = (NamedFunctions::default(), Vec::new());
    if let [piece] = shared {
        // No other piece has this range.
        known.add(&placing.names, piece.name, piece.function);
        let candidate = Candidate { start, end, members: vec![piece.member()], doubt: None };
        return Common { candidate, known, same: same_as };
    }
    let mut members: Vec<Member> = Vec::with_capacity(1);
    // The functions seen so far, each with whether it has rows.
    let mut seen: HashMap<SameFunction, Vec<(FuncId, bool)>> = HashMap::default();
    let mut labels: HashMap<UnitId, FuncId> = HashMap::default();
    let mut places: HashMap<FuncId, usize> = HashMap::default();
    for piece in shared {
        let (origin, name) = (functions[piece.function.index()].origin, piece.name);
        let same = match is_program_wide(placing.names.text(name)) {
            true => SameFunction::Name(name),
            false if !may_fold && piece.how == How::LiveRange => SameFunction::Copy(origin),
            false => SameFunction::Local(origin, piece.unit, piece.instance),
        };
        // A name may be defined twice, once weak and once strong. DWARF does not show which definition prevailed.
        let is_same = |(first, has_rows): &&(FuncId, bool)| {
            let other = &functions[first.index()];
            let there = |source: Source| {
                let own = (piece.unit.index(), origin);
                placing.recovered.units.are_apart_there(
                    &placing.names,
                    (source.unit.index(), other.origin),
                    own,
                )
            };
            let both = *has_rows && piece.rows.is_some();
            let apart =
                placing.names.are_apart(other.origin, origin) || (both && other.source.is_some_and(there));
            !apart
        };
        let of_name = seen.get(&same).map_or(&[][..], |of_name| of_name);
        let capped = of_name.first().filter(|_| of_name.len() >= MAX_DEFINITIONS);
        if let Some(&(first, _)) = of_name.iter().find(is_same).or(capped) {
            // The linker also folds parts of one function into each other.
            if piece.function == first {
                let member = places.get(&first).map(|&place| &mut members[place]);
                if let Some(member) = member
                    && let (Some(own), Some(rows)) = (piece.rows, member.rows)
                    && !have_same_lines(placing, rows, own)
                {
                    // The parts differ in lines, and nothing shows which part ran.
                    member.rows = None;
                }
                continue;
            }
            let described_again = Some(piece.die);
            same_as.push(SameAs { function: piece.function, of: first, name, described_again });
            continue;
        }
        seen.entry(same).or_default().push((piece.function, piece.rows.is_some()));
        let label_of = label(placing, &functions[piece.function.index()]);
        let variant = Some(placing.names.text(name)).filter(|name| may_be_variant(name));
        let variant = variant.and_then(|text| {
            known.best(&placing.names, text, None, |relation| relation == Relation::Variant)
        });
        let explained = variant.map(|(_, function)| function).or_else(|| labels.get(&label_of?).copied());
        if let Some(function) = explained {
            same_as.push(SameAs { function: piece.function, of: function, name, described_again: None });
            continue;
        }
        known.add(&placing.names, name, piece.function);
        if let Some(unit) = label_of {
            labels.insert(unit, piece.function);
        }
        places.insert(piece.function, members.len());
        members.push(Member { function: piece.function, how: piece.how, rows: piece.rows, symbol: None });
    }
    Common { candidate: Candidate { start, end, members, doubt: None }, known, same: same_as }
}

/// True if two parts of one function have the same rows, apart from columns.
fn have_same_lines(placing: &Placing<'_, '_>, one: Rows, other: Rows) -> bool {
    let of = |rows: Rows| {
        let start = rows.range.start as usize;
        let rows = &placing.recovered.code[rows.unit.index()].rows[start..start + rows.range.len as usize];
        rows.iter().map(|row| (row.offset, row.scope, row.line, row.file))
    };
    one == other || (one.skip == other.skip && of(one).eq(of(other)))
}

/// The unit of a subprogram that is a label of assembly code. An assembler describes each label by a DIE of its own
/// that has a name and no place of declaration. All labels with the same range are one function.
fn label(placing: &Placing<'_, '_>, function: &Function) -> Option<UnitId> {
    let origin = placing.names.origin(function.origin);
    let undeclared = origin.file.is_none() && origin.line == 0;
    let label = undeclared && !is_mangled(placing.names.text(origin.name));
    let unit = function.source.map(|source| source.unit).filter(|_| label)?;
    placing.recovered.unit(unit.index()).head.assembly.then_some(unit)
}

/// The function that a symbol names, and how; `None` for labels, and for symbols that name no function there.
type SymbolMatch = Option<(Relation, FuncId)>;

/// Matches the symbols at an address with the functions known there.
fn fits(placing: &Placing<'_, '_>, symbols: &[CodeSymbol<'_>], known: &NamedFunctions) -> Vec<SymbolMatch> {
    symbols.iter().map(|symbol| if symbol.function { best(known, placing, symbol) } else { None }).collect()
}

fn best(known: &NamedFunctions, placing: &Placing<'_, '_>, symbol: &CodeSymbol<'_>) -> SymbolMatch {
    known.best(&placing.names, symbol.name, symbol.name_id, |relation| relation != Relation::Other)
}

/// Gives the symbols at the entry of functions to the members that they name.
// Long because what one symbol is to one entry is a list of cases, and later ones rely on the earlier.
fn name_entry<'f>(
    placing: &mut Placing<'_, 'f>,
    (at_start, fits): (&[CodeSymbol<'f>], Vec<SymbolMatch>),
    (undescribed, symbols): (&AliasRules, &Symbols<'f>),
    candidate: &mut Candidate,
    functions: &mut Vec<Function>,
    known: &mut NamedFunctions,
) {
    let Candidate { end, ref mut members, .. } = *candidate;
    let mut unexplained: Vec<&CodeSymbol<'f>> = Vec::new();
    // Symbols of clones (`f.isra.0`), with the function that each was cloned from.
    let mut clones: Vec<(FuncId, NameId)> = Vec::new();
    let namesakes = OnceCell::new();
    let mut mangled: Vec<&CodeSymbol<'f>> = Vec::new();
    let mut claimed = false;
    for (symbol, best) in at_start.iter().zip(fits).filter(|(symbol, _)| symbol.function) {
        claimed |= best.is_some();
        match best {
            Some((Relation::Same, _)) => {}
            Some((Relation::Clone, function)) => {
                let namesakes = namesakes.get_or_init(|| Namesakes::new(placing, members, functions));
                let function = namesakes.owner(placing, symbol, function, functions);
                clones.push((function, placing.names.add(symbol.name)));
            }
            Some((Relation::Mangled, _)) => mangled.push(symbol),
            Some((Relation::Variant, function)) => {
                let name = placing.names.add(symbol.name);
                functions[function.index()].aliases.push(name);
            }
            _ => unexplained.push(symbol),
        }
    }
    // Functions that have a symbol of exactly their name, and how many numbered symbols each name has (`f.1` and
    // `f.2`: two of `f`).
    let mut exact: HashSet<FuncId> = HashSet::default();
    let mut bases: HashMap<&[u8], usize> = HashMap::default();
    // Only clones need these.
    for symbol in at_start.iter().filter(|symbol| symbol.function && !clones.is_empty()) {
        exact.extend(best(known, placing, symbol).filter(|best| best.0 == Relation::Same).map(|best| best.1));
        let (base, number) = numbered(symbol.name);
        if !number.is_empty() {
            *bases.entry(base).or_default() += 1;
        }
    }
    for (function, name) in clones {
        let function_data = &mut functions[function.index()];
        // Several files have a local function of this name: the numbers do not show which symbol belongs to which
        // function.
        let base = numbered(placing.names.text(name));
        let several = !base.1.is_empty() && bases.get(base.0).is_some_and(|count| *count > 1);
        if several || exact.contains(&function) || function_data.symbol.is_some() {
            function_data.aliases.push(name);
        } else {
            function_data.symbol = Some(name);
        }
    }
    let overloads = name_plain(placing, mangled, members, functions);
    // The function's own name is no symbol here (a C++ function without a linkage name). Either the unexplained
    // symbol is its symbol, or the function was folded into the function of that symbol.
    let mut folded = false;
    if let [Member { function, .. }] = members[..]
        && !claimed
    {
        let origin = functions[function.index()].origin;
        let own = placing.names.text(placing.names.of_origin(origin));
        let own = (own, functions[function.index()].source.map(|source| source.unit));
        let indirect = unexplained.iter().all(|symbol| symbol.indirect);
        let may_name = |symbol: &CodeSymbol<'_>| {
            symbol.indirect == indirect && undescribed.may_name(placing, symbols, symbol, own)
        };
        folded = !unexplained.iter().any(|symbol| undescribed.may_name(placing, symbols, symbol, own));
        if let Some(at) = sole(&unexplained, may_name) {
            let name = placing.names.add(unexplained.remove(at).name);
            functions[function.index()].symbol = Some(name);
            // Constructor variants of that symbol are aliases of this function.
            known.add(&placing.names, name, function);
        }
    }
    let described = members.len();
    let first = members[0].function;
    for names in overloads {
        let id = FuncId(functions.len() as u32);
        known.add(&placing.names, names[0], id);
        members.push(by_name_alone(&mut placing.names, functions, names[0]));
        functions[id.index()].aliases.extend(&names[1..]);
    }
    let here = OnceCell::new();
    // Assembly code may leave out types: a label is a function of its own or lies within one.
    let label = |symbol: &&CodeSymbol<'_>| !symbol.function && !symbol.of_linker;
    unexplained.extend(at_start.iter().filter(|symbol| label(symbol) && undescribed.may_fold()));
    for symbol in unexplained {
        let whole = !symbol.sized || symbol.end == end;
        let explained = best(known, placing, symbol);
        let own = || {
            let here =
                here.get_or_init(|| DescribedFunctions::new(placing, &members[..described], functions));
            match is_mangled(symbol.name) && !symbol.indirect {
                true => !undescribed.is_mangled_alias(placing, symbol, here),
                false => {
                    (folded && symbol.function && !symbol.indirect)
                        || undescribed.is_function(placing, symbol, end, here)
                }
            }
        };
        if whole && explained.is_none() && own() {
            let name = placing.names.add(symbol.name);
            known.add(&placing.names, name, FuncId(functions.len() as u32));
            members.push(by_name_alone(&mut placing.names, functions, name));
        } else if symbol.function && !matches!(explained, Some((Relation::Same, _))) {
            let of = explained.map_or(first, |(_, function)| function);
            functions[of.index()].aliases.push(placing.names.add(symbol.name));
        }
    }
    for (name, count) in surplus(placing, undescribed, at_start, end, members, functions) {
        let name = placing.names.add(name);
        members.extend((0..count).map(|_| by_name_alone(&mut placing.names, functions, name)));
    }
    if members.len() == described {
        add_nameless(placing, undescribed, candidate, functions);
    }
}

/// Records that a cap left out functions that may be there: a single member may not be the only one, and a group may
/// lack members.
fn add_unknown(
    placing: &mut Placing<'_, '_>,
    undescribed: &AliasRules,
    candidate: &mut Candidate,
    functions: &mut Vec<Function>,
) {
    match candidate.members.len() {
        _ if !undescribed.may_fold() => {}
        1 => candidate.doubt = Some(Reason::CapReached),
        _ => {
            let name = placing.names.add(b"");
            candidate.members.push(by_name_alone(&mut placing.names, functions, name));
        }
    }
}
