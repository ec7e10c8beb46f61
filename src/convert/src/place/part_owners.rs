//! Finds the functions that a part (`f.cold`, `f.__part.1`) belongs to.
//!
//! DWARF links a part to the entry of its function by the list of ranges (`DW_AT_ranges`): [`DiePiece::entry`] has that. Symbols
//! give parts their names, and add folded functions of which only the symbol of a part is left.
//!
//! A symbol names a part if its suffix is that of a part, or if it is at the start of a part and is the name of
//! another function with a suffix. Each part has a symbol of its own. So if a range has the symbols `f.cold` and
//! `g.cold` and DWARF describes only `f` there, `g` was folded into `f`.

use std::cell::OnceCell;

use crate::diagnostics::{Cap, Diagnostics, Kind};
use crate::model::{FuncId, Function, Member, NameId};
use crate::place::aliases::{DescribedFunctions, is_own_function_of_part};
use crate::place::claim::{Claim, by_name_alone};
use crate::place::folding_evidence::FoldingEvidence;
use crate::place::limits::{MAX_PARTS, MAX_PARTS_NAMED};
use crate::place::placing::Placing;
use crate::place::subprograms::DiePiece;
use crate::place::unnamed_functions::add_nameless;
use crate::program::names::relation::{Relation, relation};
use crate::program::symbols::{CodeSymbol, principal};
use crate::toolchain::suffixes::{has_suffix, names_part};
use crate::util::budget::Budget;
use crate::util::hash::{HashMap, HashSet};

/// True if the name of a symbol is that of a part.
fn names_a_part(symbol: &CodeSymbol<'_>) -> bool {
    symbol.function && names_part(symbol.name)
}

/// A range that is a part of at least one function.
pub(crate) struct PartRange<'f> {
    /// The functions whose entry is at another range, sorted.
    of: Vec<FuncId>,
    /// No function has its entry at this range.
    no_entry: bool,
    /// The symbols at the start of the range that are not names of entries.
    symbols: Vec<CodeSymbol<'f>>,
}

impl<'f> PartRange<'f> {
    /// `None` if the range holds only entries. `shared`: the pieces that have the range of the claim.
    pub(crate) fn new(
        placing: &Placing<'_, 'f>,
        at_start: &[CodeSymbol<'f>],
        shared: &[DiePiece],
        claim: &Claim,
        functions: &[Function],
    ) -> Option<PartRange<'f>> {
        if Self::are_none(at_start, shared) {
            return None;
        }
        let mut entries: Vec<FuncId> =
            shared.iter().filter(|piece| piece.entry).map(|piece| piece.function).collect();
        entries.sort_unstable();
        let no_entry = entries.is_empty();
        let here = claim.members.iter().map(|member| member.function);
        let mut of: Vec<FuncId> = here.filter(|function| entries.binary_search(function).is_err()).collect();
        of.sort_unstable();
        let of_part = |symbol: &&CodeSymbol<'f>| {
            let of_one_here = || {
                claim.members.iter().take(MAX_PARTS_NAMED).any(|member| {
                    of.binary_search(&member.function).is_ok()
                        && is_named(placing, &functions[member.function.index()], symbol)
                })
            };
            // If a function begins here too, a suffix alone proves nothing: `g.isra.0` may be that function.
            no_entry || names_a_part(symbol) || (has_suffix(symbol.name) && of_one_here())
        };
        let symbols = at_start.iter().take(MAX_PARTS).filter(|symbol| symbol.function).filter(of_part);
        Some(PartRange { symbols: symbols.copied().collect(), of, no_entry })
    }

    /// An upper bound of the comparisons between the symbols at one start and the functions of a part.
    pub(crate) fn comparisons(at_start: &[CodeSymbol<'f>], claim: &Claim) -> usize {
        at_start.len().min(MAX_PARTS) * claim.members.len().min(MAX_PARTS_NAMED)
    }

    /// True if the range holds only entries.
    pub(crate) fn are_none(at_start: &[CodeSymbol<'f>], shared: &[DiePiece]) -> bool {
        shared.iter().all(|piece| piece.entry) && !at_start.iter().any(names_a_part)
    }

    /// True for a function whose entry is at another range.
    fn has(&self, function: FuncId) -> bool {
        self.of.binary_search(&function).is_ok()
    }

    /// The symbols that name entries; `None` if no entry begins here.
    pub(crate) fn of_entries(&self, at_start: &[CodeSymbol<'f>]) -> Option<Vec<CodeSymbol<'f>>> {
        let parts: HashSet<&[u8]> = self.symbols.iter().map(|symbol| symbol.name).collect();
        let entries = || at_start.iter().filter(|symbol| !parts.contains(symbol.name)).copied().collect();
        (!self.no_entry).then(entries)
    }

    /// Names the members of a part, and adds the functions that only a symbol shows.
    pub(crate) fn assign_names(
        &self,
        placing: &mut Placing<'_, 'f>,
        folding: &FoldingEvidence,
        part: &mut Claim,
        functions: &mut Vec<Function>,
        diagnostics: &mut Diagnostics,
    ) {
        let start = part.start;
        if self.symbols.len() >= MAX_PARTS {
            diagnostics.add(Kind::Cap(Cap::PartOwnerSymbols), start.0, || {
                format!("{MAX_PARTS} or more symbols of a part at {start:#x}: further ones may be names of it that it lacks")
            });
        }
        if part.members.len() > MAX_PARTS_NAMED {
            diagnostics.add(Kind::Cap(Cap::PartOwners), start.0, || {
                format!("over {MAX_PARTS_NAMED} functions of a part at {start:#x}: further ones were not compared with its symbols")
            });
        }
        let mut unexplained = self.unexplained(placing, folding, part, functions);
        self.adopt_only_symbol(placing, folding, part, &mut unexplained);
        let before = part.members.len();
        self.add_folded(placing, folding, part, &unexplained, functions);
        if part.members.len() == before && self.no_entry {
            add_nameless(placing, folding, part, functions);
        }
        self.assign_clone_symbols(placing, part, functions);
    }

    /// The symbols of the part that are no member's.
    fn unexplained(
        &self,
        placing: &Placing<'_, 'f>,
        folding: &FoldingEvidence,
        part: &Claim,
        functions: &[Function],
    ) -> Vec<CodeSymbol<'f>> {
        let mut unexplained: Vec<CodeSymbol<'f>> = Vec::new();
        // If a name is local to several files, it means as many functions.
        let mut of_name: HashMap<&[u8], usize> = HashMap::default();
        for symbol in &self.symbols {
            let before = of_name.entry(symbol.name).or_default();
            let explains = |member: &&Member| is_named(placing, &functions[member.function.index()], symbol);
            // The n-th symbol of a name needs an n-th member of it.
            if part.members.iter().take(MAX_PARTS_NAMED).filter(explains).nth(*before).is_none() {
                unexplained.push(*symbol);
            }
            // A linker that cannot fold puts the code of one object here, so a repeated name adds no function.
            *before += usize::from(folding.may_fold());
        }
        unexplained
    }

    /// Gives a single member whose name no symbol repeats the symbol at the start of the part.
    fn adopt_only_symbol(
        &self,
        placing: &mut Placing<'_, 'f>,
        folding: &FoldingEvidence,
        part: &mut Claim,
        unexplained: &mut Vec<CodeSymbol<'f>>,
    ) {
        // A linker that drops symbols may have dropped the member's own: then a symbol of the whole part may be that of another function.
        if let [member] = &mut part.members[..]
            && unexplained.len() == self.symbols.len()
            && self.has(member.function)
            && let Some(own) = principal(unexplained).copied()
            && (own.end != part.end || !folding.may_hide_functions())
        {
            member.symbol = own.typed.then(|| placing.names.add(own.name));
            // A symbol of this name from another file is that of another function.
            unexplained.retain(|symbol| symbol.name != own.name || symbol.of_another_file(&own));
        }
    }

    /// Adds the functions of symbols that are no member's and that cover the whole part.
    fn add_folded(
        &self,
        placing: &mut Placing<'_, 'f>,
        folding: &FoldingEvidence,
        part: &mut Claim,
        unexplained: &[CodeSymbol<'f>],
        functions: &mut Vec<Function>,
    ) {
        let (described, before) = (OnceCell::new(), part.members.len());
        let whole =
            |symbol: &&CodeSymbol<'_>| symbol.end == part.end || (!symbol.sized && folding.may_fold());
        for symbol in unexplained.iter().filter(whole) {
            let here = || {
                described.get_or_init(|| DescribedFunctions::new(placing, &part.members[..before], functions))
            };
            if is_own_function_of_part(folding, placing, symbol, part.end, self.no_entry, here) {
                let name = placing.names.add(symbol.name);
                part.members.push(by_name_alone(&mut placing.names, functions, name));
            }
        }
    }

    /// Gives each member the symbol of its clone. A clone has parts of its own (`f.isra.0.cold`).
    fn assign_clone_symbols(&self, placing: &mut Placing<'_, 'f>, part: &mut Claim, functions: &[Function]) {
        for member in part.members.iter_mut().filter(|member| self.has(member.function)).take(MAX_PARTS_NAMED)
        {
            let function = &functions[member.function.index()];
            let origin = placing.names.of_origin(function.origin);
            let of = |name: NameId| {
                let clone = |symbol: &&CodeSymbol<'f>| {
                    relation(placing.names.text(name), symbol.name) == Relation::Clone
                };
                self.symbols.iter().find(clone)
            };
            // The part of the clone (`f.isra.0.cold`) comes before a part of the plain function (`f.cold`).
            let own = of(placing.names.of_function(function)).or_else(|| of(origin));
            // clang's label of a part (`f.__part.1`) has no type and is no name of a function.
            if let Some(symbol) = own.filter(|symbol| symbol.typed) {
                member.symbol = Some(placing.names.add(symbol.name));
            }
        }
    }
}

/// By function with a part away from its entry: the functions known only by a symbol that share its entry. Their code
/// jumps to the same part, even if the linker left no symbol for their own part: such symbols are local, and gold
/// drops the local symbols of what it folds.
#[derive(Default)]
pub(crate) struct EntryFunctions {
    /// By entry: the functions that share it and are known only by a symbol.
    by_name_alone: Vec<Vec<Member>>,
    /// The index of the list in `by_name_alone` for the entry of a function.
    of: HashMap<FuncId, u32>,
}

impl EntryFunctions {
    pub(crate) fn new<'p, 'f: 'p>(
        dies: &[Claim],
        parts: impl Iterator<Item = &'p PartRange<'f>>,
    ) -> EntryFunctions {
        let of: HashSet<FuncId> = parts.flat_map(|part| &part.of).copied().collect();
        let mut entries = EntryFunctions::default();
        for claim in dies {
            let alone = claim.members.iter().filter(|member| member.how.is_undescribed());
            let alone: Vec<Member> = alone.take(MAX_PARTS_NAMED).copied().collect();
            if alone.is_empty() {
                continue;
            }
            let list = entries.by_name_alone.len() as u32;
            for member in claim.members.iter().filter(|member| of.contains(&member.function)) {
                // A function may have several claims at its entry if other ranges cut it: the first one counts.
                entries.of.entry(member.function).or_insert(list);
            }
            entries.by_name_alone.push(alone);
        }
        entries
    }

    /// Adds the functions that share the entry of a function with this part. False if the budget `left` for
    /// comparisons of names ran out first.
    pub(crate) fn add(
        &self,
        placing: &Placing<'_, '_>,
        parts: &PartRange<'_>,
        part: &mut Claim,
        functions: &[Function],
        left: &Budget,
    ) -> bool {
        let here: Vec<FuncId> = part.members.iter().map(|member| member.function).collect();
        let of_part = here.iter().filter(|function| parts.has(**function));
        // Several functions of the part may share an entry, and one function may have several entries.
        let (mut entries, mut seen): (HashSet<u32>, HashSet<FuncId>) =
            (HashSet::default(), here.iter().copied().collect());
        let lists =
            of_part.filter_map(|function| self.of.get(function)).filter(|&&list| entries.insert(list));
        let of_entries = lists.flat_map(|&list| &self.by_name_alone[list as usize]);
        for &member in of_entries.filter(|member| seen.insert(member.function)) {
            // The input chooses both the members at an entry and the members of the part, and each pair is compared.
            if !left.spend(part.members.len().min(MAX_PARTS_NAMED)) {
                return false;
            }
            let name = |function: FuncId| {
                placing.names.text(placing.names.of_function(&functions[function.index()]))
            };
            let known =
                |other: &Member| relation(name(member.function), name(other.function)) != Relation::Other;
            if !part.members.iter().take(MAX_PARTS_NAMED).any(known) {
                part.members.push(Member { symbol: None, ..member });
            }
        }
        true
    }
}

/// True if a symbol has the name of a function, with or without a suffix.
fn is_named(placing: &Placing<'_, '_>, function: &Function, symbol: &CodeSymbol<'_>) -> bool {
    let own = placing.names.of_origin(function.origin);
    let is = |name| relation(placing.names.text(name), symbol.name) != Relation::Other;
    is(own) || function.symbol.is_some_and(is)
}
