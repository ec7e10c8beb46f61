//! Turns subprograms and symbols into claims: ranges of code, each with the functions that have it.
//!
//! Subprograms with the same range and different origins share their code: the linker folded them. Subprograms with
//! the same range and the same origin are one function that two units describe (`shared_range`, `inline_copies`). A symbol at the start of a subprogram
//! is the symbol of the function itself (`foo.isra.0` of `foo`), an alias of it, or the name of a function that no
//! DIE describes. Code without a subprogram belongs to the symbol that starts it.

use std::ops::Range;

use rayon::prelude::*;

use crate::diagnostics::{Cap, Diagnostics, Kind};
use crate::model::{FuncId, Function, ImageAddr, Member, Reason, Rows, UnitId};
use crate::place::aliases::{
    EntryMembers, SymbolMatch, adopt_unclaimed_symbol, assign_clones, classify_symbols, fits,
    place_unexplained,
};
use crate::place::claim::{Claim, Claims, by_name_alone, order};
use crate::place::folding_evidence::{FoldingEvidence, SymbolEvidence};
use crate::place::limits::{part_comparisons, symbols_compared_again};
use crate::place::linkage_names::name_plain;
use crate::place::named_functions::NamedFunctions;
use crate::place::part_owners::{EntryFunctions, PartRange};
use crate::place::placing::{Placing, name_of};
use crate::place::shared_range::{SharedRange, share};
use crate::place::subprograms::{DiePiece, settled};
use crate::place::surplus::surplus;
use crate::place::symbol_ranges::{lines_by_symbols, padding, symbol_claim};
use crate::place::thunks;
use crate::place::unnamed_functions::add_nameless;
use crate::program::machine::Machine;
use crate::program::symbols::{CodeSymbol, Symbols, principal};
use crate::util::budget::Budget;
use crate::util::fit::fit;
use crate::util::hash::{HashMap, HashSet};

/// Joins subprograms and symbols. The order of the steps is the decision: later steps rely on the members that the
/// earlier ones found. Also returns the units whose compiler is taken to have merged functions ([`thunks::add`]).
pub(crate) fn build<'f>(
    placing: &mut Placing<'_, 'f>,
    (functions, pieces): (Vec<Function>, Vec<DiePiece>),
    symbols: &Symbols<'f>,
    folding: &FoldingEvidence,
    machine: &Machine<'_, 'f>,
    diagnostics: &mut Diagnostics,
) -> (Claims, Vec<UnitId>) {
    let mut claims = Claims { functions, ..Claims::default() };
    // Only folded functions share a claim, so this is hardly too much. A list that grows takes up to twice its memory.
    claims.dies.reserve(pieces.len());
    let evidence = SymbolEvidence { symbols, folding };
    let caps = ComparisonCaps::new(symbols);
    let parts = name_ranges(placing, &pieces, evidence, &caps, &mut claims, diagnostics);
    // The list is as long as the list of functions, and the memory at the peak is that of the next steps.
    drop(pieces);
    // After all ranges: a part adds its own names to the name that the symbol at the entry gave the function.
    name_parts(placing, parts, folding, &caps, &mut claims, diagnostics);
    add_symbol_claims(placing, evidence, machine, &mut claims, diagnostics);
    // A function that the compiler replaced by a jump mostly has no subprogram: the claims of symbols must be there.
    let merging = thunks::add(placing, machine, folding, symbols, &mut claims, diagnostics);
    let mut ordered = HashSet::default();
    for claim in &mut claims.dies {
        order(&placing.names, &mut claim.members, &mut claims.functions, &mut ordered);
    }
    (claims, merging)
}

/// A range with the functions that share it.
struct ComparedRange {
    /// Indexes of its pieces.
    pieces: Range<usize>,
    shared: SharedRange,
    /// The functions that the symbols at its start name; `None` if the serial loop compares these symbols.
    fits: Option<Vec<SymbolMatch>>,
}

/// Ranges that are compared before the first of them is named: of a large program the results for all ranges are as large as its
/// functions.
const RANGES_AT_ONCE: usize = 1 << 14;

/// Compares the pieces of each of some ranges with each other and with the symbols at its start. The ranges do not depend on each
/// other.
fn compare_ranges<'f>(
    placing: &Placing<'_, 'f>,
    pieces: &[DiePiece],
    (ranges, some): (&[Range<usize>], Range<usize>),
    functions: &[Function],
    SymbolEvidence { symbols, folding }: SymbolEvidence<'_, 'f>,
) -> Vec<ComparedRange> {
    let compare = |at: usize| {
        let here = &pieces[ranges[at].clone()];
        let at_start = symbols.at(here[0].start);
        let shared = share(placing, here, functions, at_start, folding.may_fold());
        // Any number of ranges may begin at an address with any number of symbols. The serial loop compares those, under
        // its budgets.
        let beside = [at.checked_sub(1), Some(at + 1)].into_iter().flatten().filter_map(|at| ranges.get(at));
        let is_alone = beside.into_iter().all(|other| pieces[other.start].start != here[0].start);
        let at_start = Some(at_start).filter(|at_start| is_alone && PartRange::are_none(at_start, here));
        let fits = at_start.map(|at_start| fits(placing, at_start, &shared.known));
        ComparedRange { pieces: ranges[at].clone(), shared, fits }
    };
    some.into_par_iter().map(compare).collect()
}

/// What is left of the limits on comparisons with symbols.
struct ComparisonCaps {
    max_names: u64,
    max_compared: u64,
    names: Budget,
    compared: Budget,
}

impl ComparisonCaps {
    fn new(symbols: &Symbols<'_>) -> ComparisonCaps {
        let count = symbols.iter().count();
        let (max_names, max_compared) = (symbols_compared_again(count), part_comparisons(count));
        ComparisonCaps {
            max_names,
            max_compared,
            names: Budget::new(max_names),
            compared: Budget::new(max_compared),
        }
    }
}

/// Makes a claim of each range and names its functions by the symbols at its start. Returns the parts, each with the index
/// of its claim.
fn name_ranges<'f>(
    placing: &mut Placing<'_, 'f>,
    pieces: &[DiePiece],
    evidence: SymbolEvidence<'_, 'f>,
    caps: &ComparisonCaps,
    claims: &mut Claims,
    diagnostics: &mut Diagnostics,
) -> Vec<(usize, PartRange<'f>)> {
    let SymbolEvidence { symbols, folding } = evidence;
    let mut short_at = None;
    let mut done = 0;
    let mut by_address = symbols.by_address().peekable();
    let mut parts = Vec::new();
    let settled = settled(placing, pieces, symbols, folding);
    let ranges = ranges(pieces, &settled);
    for first in (0..ranges.len()).step_by(RANGES_AT_ONCE) {
        let some = first..ranges.len().min(first + RANGES_AT_ONCE);
        let compared = compare_ranges(placing, pieces, (&ranges, some), &claims.functions, evidence);
        for ComparedRange { pieces: range, mut shared, fits: fits_at_start } in compared {
            push_settled(claims, &pieces[done..range.start]);
            done = range.end;
            let here = &pieces[range];
            let Claims { functions, same, dies, .. } = claims;
            shared.apply(placing, functions, same, diagnostics);
            let SharedRange { mut claim, mut known, .. } = shared;
            // Claims come by address. The symbols in between are at settled ranges, or at code that no subprogram covers.
            while by_address.next_if(|symbols| symbols[0].start < claim.start).is_some() {}
            let symbols_here = by_address.peek().filter(|symbols| symbols[0].start == claim.start);
            // The symbols at an address are compared with each range that begins there. The input chooses both counts.
            let again = dies.last().is_some_and(|before| before.start == claim.start);
            let within = |symbols: &&&[CodeSymbol<'f>]| {
                let is_part = || !PartRange::are_none(symbols, here);
                let comparisons = || PartRange::comparisons(symbols, &claim);
                !again
                    || (caps.names.spend(symbols.len()) && (!is_part() || caps.compared.spend(comparisons())))
            };
            let at_start = symbols_here.filter(within).map_or(&[][..], |symbols| symbols);
            let is_short = symbols_here.is_some() && at_start.is_empty();
            let part = PartRange::new(placing, at_start, here, &claim, functions);
            let of_entries = part.as_ref().map(|part| part.of_entries(at_start));
            // Where no function has its entry (`f.cold` alone), no symbol names one: `name_parts` names the members later.
            if let Some(entries) = of_entries.as_ref().map_or(Some(at_start), |entries| entries.as_deref()) {
                let fits = fits_at_start.unwrap_or_else(|| fits(placing, entries, &known));
                name_entry(
                    placing,
                    (entries, fits),
                    evidence,
                    &mut claim,
                    functions,
                    (&mut known, diagnostics),
                );
                known.report(claim.start, diagnostics);
                folding.report(&claim, placing, functions, diagnostics);
            }
            if is_short {
                short_at.get_or_insert(claim.start);
                add_unknown(placing, folding, &mut claim, functions);
            }
            fit(&mut claim.members);
            parts.extend(part.map(|part| (claims.dies.len(), part)));
            claims.dies.push(claim);
        }
    }
    push_settled(claims, &pieces[done..]);
    report_symbol_cap(caps, short_at, diagnostics);
    parts
}

/// Makes claims of settled pieces.
fn push_settled(claims: &mut Claims, pieces: &[DiePiece]) {
    let of_piece = |piece: &DiePiece| Claim {
        start: piece.start,
        end: piece.end,
        members: vec![piece.member()],
        doubt: None,
    };
    claims.dies.extend(pieces.iter().map(of_piece));
}

/// Reports the first range whose symbols were not compared because a cap was reached.
fn report_symbol_cap(caps: &ComparisonCaps, short_at: Option<ImageAddr>, diagnostics: &mut Diagnostics) {
    let ComparisonCaps { max_names, max_compared, names, .. } = caps;
    if let Some(address) = short_at {
        let (cap, what) = match names.is_short() {
            true => (Cap::PartSymbols, format!("{max_names} symbols where several ranges begin")),
            false => (
                Cap::PartComparisons,
                format!("{max_compared} comparisons of symbols with functions of parts"),
            ),
        };
        diagnostics.add(Kind::Cap(cap), address.0, || {
            format!(
                "over {what}, at {address:#x}: later symbols are compared only with the first range at their address"
            )
        });
    }
}

/// Names the members of parts, and adds the functions that share an entry with them.
fn name_parts<'f>(
    placing: &mut Placing<'_, 'f>,
    parts: Vec<(usize, PartRange<'f>)>,
    folding: &FoldingEvidence,
    &ComparisonCaps { max_compared, .. }: &ComparisonCaps,
    claims: &mut Claims,
    diagnostics: &mut Diagnostics,
) {
    // If gold hides functions, a folded part may have neither a DIE nor a symbol. Otherwise its symbol (`g.cold`) remains, and
    // `assign_names` adds its function.
    let entries = match folding.may_hide_functions() {
        true => EntryFunctions::new(&claims.dies, parts.iter().map(|(_, part)| part)),
        false => EntryFunctions::default(),
    };
    let of_entries = Budget::new(max_compared);
    let mut short_at = None;
    for (index, part) in parts {
        let Claims { dies, functions, .. } = claims;
        part.assign_names(placing, folding, &mut dies[index], functions, diagnostics);
        if !entries.add(placing, &part, &mut dies[index], functions, &of_entries) {
            short_at.get_or_insert(dies[index].start);
            add_unknown(placing, folding, &mut dies[index], functions);
        }
    }
    if let Some(address) = short_at {
        diagnostics.add(Kind::Cap(Cap::PartFunctions), address.0, || {
            format!(
                "over {max_compared} comparisons of functions that share an entry with those of parts: from {address:#x} on \
                 parts do not have them"
            )
        });
    }
}

/// Makes claims of symbols whose code no subprogram covers. Most symbols only repeat a subprogram and make none.
fn add_symbol_claims<'f>(
    placing: &mut Placing<'_, 'f>,
    evidence: SymbolEvidence<'_, 'f>,
    machine: &Machine<'_, 'f>,
    claims: &mut Claims,
    diagnostics: &mut Diagnostics,
) {
    let symbols = evidence.symbols;
    let mut before = 0;
    for at_address in symbols.by_address() {
        let first = at_address[0].start;
        // Both lists are sorted by address, so `before` only rises, and each claim is passed once.
        before += claims.dies[before..].iter().take_while(|die| die.start <= first).count();
        let end = at_address.iter().map(|symbol| symbol.end).max().unwrap_or(first);
        // Only the last subprogram before the symbol is compared. If a longer one before that covers the symbol, the
        // claim is made in vain: `pieces` gives code to subprograms before symbols.
        let last = before.checked_sub(1).map(|at| &claims.dies[at]);
        if last.is_some_and(|die| die.end >= end) {
            continue;
        }
        // Mach-O symbols have no size: code between the end of a subprogram and the next symbol is padding.
        match last.filter(|die| die.start == first && at_address.iter().all(|symbol| !symbol.sized)) {
            Some(die) => claims.symbols.extend(padding(die, end, symbols, machine)),
            None => {
                let Some(first) = principal(at_address) else { continue };
                let functions = &mut claims.functions;
                let found = symbol_claim(placing, at_address, first, evidence, functions, diagnostics);
                // `pieces` gives code to function symbols before labels: a label inside a function of assembly code must not
                // cut it.
                let list = if first.function { &mut claims.symbols } else { &mut claims.labels };
                list.extend(found);
            }
        }
    }
}

/// The indexes of the pieces of each range, except settled ranges.
fn ranges(pieces: &[DiePiece], settled: &[bool]) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut start = 0;
    for same in pieces.chunk_by(|a, b| a.range() == b.range()) {
        let range = start..start + same.len();
        start = range.end;
        // No other piece has the range of a settled one, so the first piece decides for all.
        if !settled[range.start] {
            ranges.push(range);
        }
    }
    ranges
}

/// Gives the symbols at the entry of functions to the members that they name, and adds the folded functions that they show.
fn name_entry<'f>(
    placing: &mut Placing<'_, 'f>,
    (at_start, fits): (&[CodeSymbol<'f>], Vec<SymbolMatch>),
    evidence: SymbolEvidence<'_, 'f>,
    claim: &mut Claim,
    functions: &mut Vec<Function>,
    (known, diagnostics): (&mut NamedFunctions, &mut Diagnostics),
) {
    let folding = evidence.folding;
    let len = u32::try_from(claim.range().len()).unwrap_or(u32::MAX);
    let members = &mut claim.members;
    // What names a function for certain comes first: a function that has a symbol takes no other as its own.
    let mut entry = classify_symbols(placing, at_start, fits, members, functions);
    assign_clones(placing, at_start, std::mem::take(&mut entry.clones), known, functions);
    let mangled = std::mem::take(&mut entry.mangled);
    let overloads = name_plain(placing, (mangled, len), members, functions, diagnostics);
    let folded = adopt_unclaimed_symbol(placing, evidence, &mut entry, members, functions, known);
    let described = members.len();
    // gcc describes both `_ZL1fi` and `_ZL1fl` as `f`. A name that fits no DIE here is of a function that was folded to this
    // address and whose own DIE lacks it.
    for names in overloads {
        let id = FuncId(functions.len() as u32);
        known.add(&placing.names, names[0], id);
        members.push(by_name_alone(&mut placing.names, functions, names[0]));
        functions[id.index()].aliases.extend_from_slice(&names[1..]);
    }
    let mut unexplained = entry.unexplained;
    // Assembly code may leave out types: a label is a function of its own or lies within one.
    let label = |symbol: &&CodeSymbol<'_>| !symbol.function && !symbol.of_linker;
    unexplained.extend(at_start.iter().filter(|symbol| label(symbol) && folding.may_fold()));
    let entry = EntryMembers { described, folded };
    place_unexplained(placing, folding, unexplained, claim, functions, known, entry);
    give_lines(placing, evidence, at_start, claim, functions);
    // After the rules that add members: it counts the symbols that the members found so far leave over.
    add_surplus(placing, folding, at_start, claim, functions);
    // A function that a symbol has just added may be the one that has the further line sequence.
    if claim.members.len() == described {
        add_nameless(placing, folding, claim, functions);
    }
}

/// Gives the members that only symbols name the line sequences of the range that no described function has.
fn give_lines(
    placing: &Placing<'_, '_>,
    evidence: SymbolEvidence<'_, '_>,
    at_start: &[CodeSymbol<'_>],
    claim: &mut Claim,
    functions: &[Function],
) {
    let range = claim.range();
    let sequences: Option<Vec<Rows>> = evidence.folding.sequences(range).iter().copied().collect();
    let (Some(sequences), false) = (sequences, evidence.folding.sequences(range).is_empty()) else { return };
    let by_name: HashMap<&[u8], &CodeSymbol<'_>> =
        at_start.iter().filter(|symbol| symbol.function).map(|symbol| (symbol.name, symbol)).collect();
    let symbol =
        |member: &Member| by_name.get(name_of(placing, &functions[member.function.index()])).copied();
    let mut open: Vec<&mut Member> =
        claim.members.iter_mut().filter(|member| member.how.is_undescribed()).collect();
    let Some(symbols) = open.iter().map(|member| symbol(member)).collect::<Option<Vec<_>>>() else { return };
    for (member, lines) in
        open.iter_mut().zip(lines_by_symbols(placing, evidence, (&sequences, range), &symbols))
    {
        if let Some((rows, how)) = lines {
            (member.rows, member.how) = (Some(rows), how);
        }
    }
}

/// Adds the functions of names that more symbols have than members.
fn add_surplus<'f>(
    placing: &mut Placing<'_, 'f>,
    folding: &FoldingEvidence,
    at_start: &[CodeSymbol<'f>],
    Claim { end, members, .. }: &mut Claim,
    functions: &mut Vec<Function>,
) {
    for (name, count) in surplus(placing, folding, at_start, *end, members, functions) {
        let name = placing.names.add(name);
        members.extend((0..count).map(|_| by_name_alone(&mut placing.names, functions, name)));
    }
}

/// Records that a cap left out functions that may be there: a single member may not be the only one, and a group may
/// lack members.
fn add_unknown(
    placing: &mut Placing<'_, '_>,
    folding: &FoldingEvidence,
    claim: &mut Claim,
    functions: &mut Vec<Function>,
) {
    match claim.members.len() {
        // A linker that cannot fold puts the code of one object at an address: a symbol that was not compared is an alias or a label.
        _ if !folding.may_fold() => {}
        1 => claim.doubt = Some(Reason::CapReached),
        _ => {
            // One member without a name represents the functions of the symbols that were not compared.
            let name = placing.names.add(b"");
            claim.members.push(by_name_alone(&mut placing.names, functions, name));
        }
    }
}
