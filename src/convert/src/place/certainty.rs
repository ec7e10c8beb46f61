//! Decides for each function that shares its code with no other whether that is certain, and if not, why.
//!
//! `unique` claims that no other function has this code. A function that was folded or merged may leave nothing at
//! its address, so the absence of a trace proves nothing. `unique` therefore rests on a check in two parts.
//!
//! **The linker.** Either the linker cannot fold (GNU ld, or no linker was used), or everything it folds would be
//! visible. lld keeps the symbol of a folded function, and all linkers keep the line sequence of a folded function
//! that has one. So the symbol table must be present with its local symbols, otherwise the reason is `stripped`.
//! Every object with code must have debug information, otherwise the reason is `undescribed_object`: gold drops the
//! local symbols of folded functions, and objects are often
//! stripped before they are linked. Start-up code (`crt1.o`, `crtbegin.o`) does not count: every program has it and
//! nothing in it folds. If the address has several unmangled names, the further names may be of folded functions:
//! `plain_names`. That holds even if all objects have debug information, since a compiler may be told not to describe
//! a function (`nodebug`), and its symbol is then its only trace. gold drops that symbol too if the function is
//! local. So if gold folded something else in the program, and the compiler of some unit supports `nodebug`, the
//! reason is `stripped`. mold drops the symbols of all functions that it folds ([`drops_symbols`]), and a line sequence does not
//! always show them: gcc puts a method and its thunk into one section, which is folded as a whole, and a `nodebug`
//! function has no lines. So in a program of such a linker the reason is `stripped` for every function.
//!
//! A symbol table has its local symbols if at least one of them is not hidden. (Linkers make hidden symbols local,
//! and keep them when they drop the local symbols of objects. mold does so with other global symbols too, so its table
//! also needs a file symbol, `STT_FILE`.) A program may have no local symbol at all. Then its table must have file
//! symbols: linkers drop them together with local symbols, and each names an object, described or not.
//!
//! Every function that its DIE calls local must also have a symbol of its name. If one has none, its object was
//! stripped before it was linked, or the table was stripped after it.
//!
//! An object without debug information shows by its file symbol, or by code that has neither a DIE nor lines. Nothing
//! shows an object whose local symbols were stripped before the link if all its functions were folded into described
//! ones.
//!
//! **The compiler.** rustc and Swift always run LLVM's MergeFunctions, clang only with an option. It removes
//! functions that no other unit can call, with their symbols and DIEs. gcc does so with link-time optimization. They
//! leave no trace: `merged_without_trace`. clang does not record the option in DWARF. But if it merges functions that
//! other units can call, it leaves a jump, which [`crate::place::thunks`] looks for. If a unit of LLVM shows such a
//! jump, all units of LLVM in the program are taken to merge functions, since a program is mostly built with the same
//! options throughout. If the code is missing or not read, a small function without a DIE may be such a jump:
//! `no_code`. gcc without link-time optimization describes what it merged by a DIE without an address, which
//! [`crate::recover::gcc_icf`] places. If it cannot place one, and every symbol of its name is the symbol of a
//! described function ([`crate::recover::described_symbols`]), any function of the unit may be it:
//! `merged_without_trace`. Code that no unit describes may come from any compiler: `undescribed_object`, or
//! `merged_without_trace` if its name shows the compiler.
//!
//! The check reads units, symbols and code, but not the members that rules add to groups. If a rule drops a
//! possible second member and no reason above applies, it must set [`Claim::doubt`]. These rules set it: copies of an inline function without
//! linkage names, which are joined by their lines (`stripped`); caps on
//! comparisons (`cap_reached`); a function whose address the linker
//! erased and that is the only function where it was found, since it was folded into a function without a description
//! (`undescribed_object`); a line sequence that no function has, since it belongs to another function
//! (`unclaimed_lines`).
//!
//! **The reader.** A unit whose entries end in damage may describe more functions than are known, which may have been folded into
//! functions of any unit: `undescribed_object`. If a unit reached a limit, its functions may lack lines or code: `cap_reached`.
//!
//! Members of groups get no reason: their answers list the other members.

use crate::model::{DieOffset, Function, How, ImageAddr, Member, NameId, Reason, UnitId};
use crate::open::{Image, ImageKind};
use crate::place::bare_lines::{BareLinesOfAll, lines};
use crate::place::claim::{Claim, Claims};
use crate::place::folding_evidence::FoldingEvidence;
use crate::place::limits::{MAX_THUNK, certainty_comparisons};
use crate::place::placing::Placing;
use crate::policy::linker::FoldedSymbols;
use crate::program::machine::Machine;
use crate::program::names::itanium::is_mangled;
use crate::program::names::relation::{Relation, relation, spellings};
use crate::program::symbols::{CodeSymbol, Symbols};
use crate::recover::described_symbols::{CodelessNames, DescribedSymbols};
use crate::recover::recovered::UnitView;
use crate::toolchain::functions::{START_UP_FILES, is_of_start, is_rust, may_be_merged};
use crate::toolchain::itanium_abi::is_special;
use crate::toolchain::linkers::has_elf_stubs;
use crate::util::budget::Budget;
use crate::util::hash::{HashMap, HashSet};
use crate::util::text::base_name;

/// Gives each function of one-member claims its reason. `merging`: the units that may have merged functions. Also
/// returns why code that has lines and no name is not certain to belong to one function only. `drops_symbols`: of
/// [`drops_symbols()`].
pub(crate) fn decide<'f>(
    image: &Image<'f>,
    placing: &Placing<'_, 'f>,
    symbols: &Symbols<'f>,
    folding: &FoldingEvidence,
    machine: &Machine<'_, 'f>,
    mut claims: Claims,
    (merging, drops_symbols): (&[UnitId], bool),
) -> (Claims, Option<Reason>) {
    // No linker folds functions in an object file (`ET_REL`): lld and gold refuse `--icf` with `-r`.
    let can_fold = folding.linker.may_fold() && image.kind != ImageKind::Relocatable;
    let items = symbols.iter().count() + claims.dies.len() + claims.symbols.len();
    let max_compared = certainty_comparisons(items);
    let is_whole = !can_fold
        || (is_whole(placing, symbols, &claims, max_compared)
            && !(drops_symbols || forgets(folding, placing, &claims)));
    let lines = lines(placing);
    let check = Check {
        placing,
        symbols,
        folding,
        has_objects: folding.has_undescribed_objects()
            || placing.recovered.all().any(|unit| unit.head.cut_short)
            || has_mangled(image, placing, &lines, &claims),
        image,
        can_fold,
        is_whole,
        units: units(placing, symbols, machine, &claims, merging),
        lines,
        compared: Budget::new(max_compared),
    };
    let (mut found, mut here) = (Vec::new(), SymbolsHere::new(symbols));
    let Claims { dies, symbols: by_symbol, labels, functions, .. } = &mut claims;
    for claim in dies.iter().chain(&*by_symbol).chain(&*labels) {
        if let [member] = &claim.members[..]
            && let Some(reason) =
                check.reason(claim, member, &functions[member.function.index()], here.at(claim.start))
        {
            found.push((member.function, reason));
        }
    }
    for (function, reason) in found {
        // A function has a claim for each of its ranges, and one reason.
        let own = &mut functions[function.index()].reason;
        *own = Some(own.map_or(reason, |other| other.min(reason)));
    }
    let nameless = check.of_linker();
    (claims, nameless)
}

/// Looks up the symbols at an address. Callers ask in mostly ascending order, and several claims may begin at one address.
struct SymbolsHere<'a, 'f> {
    symbols: &'a Symbols<'f>,
    address: Option<ImageAddr>,
    here: &'a [CodeSymbol<'f>],
}

impl<'a, 'f> SymbolsHere<'a, 'f> {
    fn new(symbols: &'a Symbols<'f>) -> SymbolsHere<'a, 'f> {
        SymbolsHere { symbols, address: None, here: &[] }
    }

    fn at(&mut self, address: ImageAddr) -> &'a [CodeSymbol<'f>] {
        if self.address.replace(address) != Some(address) {
            self.here = self.symbols.at(address);
        }
        self.here
    }
}

struct Check<'a, 'f> {
    placing: &'a Placing<'a, 'f>,
    symbols: &'a Symbols<'f>,
    folding: &'a FoldingEvidence,
    image: &'a Image<'f>,
    /// Some object with code has no debug information.
    has_objects: bool,
    can_fold: bool,
    /// The symbol table is present, with its local symbols.
    is_whole: bool,
    /// By unit: what its compiler may have done to functions.
    units: Vec<Option<Reason>>,
    /// Code that has lines and no DIE.
    lines: BareLinesOfAll,
    compared: Budget,
}

impl Check<'_, '_> {
    /// The first reason that holds for the only function of a claim.
    fn reason(
        &self,
        claim: &Claim,
        member: &Member,
        function: &Function,
        here: &[CodeSymbol<'_>],
    ) -> Option<Reason> {
        // There may be any number of functions and of symbols at one address.
        if !self.compared.spend(here.len()) {
            return Some(Reason::CapReached);
        }
        let all = [
            self.of_linker(),
            self.of_names(here, function),
            self.of_unit(claim, function, here),
            self.of_what_remains(claim, member),
            claim.doubt,
        ];
        // The format stores one reason: the first in the order of [`Reason`].
        all.into_iter().flatten().min()
    }

    /// The reason that the linker gives, for the whole program.
    fn of_linker(&self) -> Option<Reason> {
        match (self.can_fold, self.is_whole, self.has_objects) {
            (false, ..) | (_, true, false) => None,
            (_, false, _) => Some(Reason::Stripped),
            (_, _, true) => Some(Reason::UndescribedObject),
        }
    }

    /// Further unmangled names may be of folded functions, unless each of them has a DIE or lines.
    fn of_names(&self, here: &[CodeSymbol<'_>], function: &Function) -> Option<Reason> {
        if !self.can_fold {
            return None;
        }
        let own = self.placing.names.text(self.placing.names.of_function(function));
        let described = self.placing.names.text(self.placing.names.of_origin(function.origin));
        let is_further = |symbol: &CodeSymbol<'_>| {
            let explained = |name| relation(name, symbol.name) != Relation::Other;
            // If the linker folds, `is_possible_symbol` of `aliases/entry_symbols` required proof before a symbol
            // became the function's name.
            let is_own = explained(described) || (self.folding.linker.is_folding() && explained(own));
            // A global name without a type may be a function written in assembly.
            let may_be_function = symbol.function || !(symbol.local || symbol.of_linker);
            // A resolver of an indirect function has no code of its own.
            may_be_function && !symbol.indirect && !is_mangled(symbol.name) && !is_own
        };
        here.iter().any(is_further).then_some(Reason::PlainNames)
    }

    /// The reason that the compiler of the function gives.
    fn of_unit(&self, claim: &Claim, function: &Function, here: &[CodeSymbol<'_>]) -> Option<Reason> {
        if let Some(unit) = self.unit(claim, function) {
            return self.units[unit.index()];
        }
        let name = self.placing.names.text(self.placing.names.of_function(function));
        if is_rust(name) {
            return Some(Reason::MergedWithoutTrace);
        }
        let of_start = is_of_start(name)
            || here.iter().any(|symbol| symbol.of_linker || START_UP_FILES.contains(&base_name(symbol.file)))
            || is_of_linker(self.image, claim.start);
        match (of_start, self.symbols.has_table()) {
            (true, _) => None,
            (_, true) => Some(Reason::UndescribedObject),
            (_, false) => Some(Reason::Stripped),
        }
    }

    /// The unit of a function: the unit of its DIE, otherwise the unit with lines for its first byte.
    fn unit(&self, claim: &Claim, function: &Function) -> Option<UnitId> {
        if let Some(source) = function.source {
            return Some(source.unit);
        }
        self.lines.unit_at(claim.start)
    }

    /// The reason that follows if an unnamed second function has the same code.
    fn of_what_remains(&self, claim: &Claim, member: &Member) -> Option<Reason> {
        if !self.can_fold {
            return None;
        }
        // An erased function has the code of another one, which is not among the members: no DIE or symbol shows that one.
        let was_erased = !(member.how == How::LiveRange || member.how.is_undescribed());
        if was_erased {
            return Some(Reason::UndescribedObject);
        }
        let others = self.folding.has_other_lines(claim.range());
        others.then_some(Reason::UnclaimedLines)
    }
}

/// True for a stub that calls another module: the linker made it.
fn is_of_linker(image: &Image<'_>, start: ImageAddr) -> bool {
    let section = image.section_at(start).map(|at| image.sections[at].name.as_bytes());
    section.is_some_and(has_elf_stubs)
}

/// True if the program has its symbol table with the local symbols.
fn is_whole(placing: &Placing<'_, '_>, symbols: &Symbols<'_>, claims: &Claims, max_compared: u64) -> bool {
    let recovered = placing.recovered;
    // Functions that may have had a local symbol but prove nothing: they are erased, or have no DIE.
    let has_local = |unit: UnitView<'_, '_>| {
        unit.records.erased.iter().any(|erased| !erased.external && !erased.removed)
            || (unit.code.functions.is_empty() && !unit.traces.bare.is_empty())
    };
    // Without a local symbol, only a file symbol for each object shows that none is missing.
    let may_have_none =
        || symbols.has_files() && !recovered.code.is_empty() && !recovered.all().any(has_local);
    if !symbols.has_table() || !(symbols.has_locals() || may_have_none()) {
        return false;
    }
    let (mut here, compared) = (SymbolsHere::new(symbols), Budget::new(max_compared));
    let mut lacks_symbol = |claim: &Claim| {
        let [member] = claim.members[..] else { return false };
        let function = &claims.functions[member.function.index()];
        let Some(source) = function.source.filter(|_| member.how == How::LiveRange) else { return false };
        let unit = recovered.unit(source.unit);
        let own = &unit.code.functions[source.function.index()];
        // Tools strip the symbols of local functions, and a function has its symbol at its entry.
        if own.external
            || function.symbol.is_some()
            || unit.code.pieces[own.pieces.start as usize].start != claim.start
        {
            return false;
        }
        let name = placing.names.of_origin(function.origin);
        let is_own = |symbol: &CodeSymbol<'_>| {
            symbol.is_named(name, || placing.names.text(name))
                || relation(placing.names.text(name), symbol.name) != Relation::Other
        };
        let here = here.at(claim.start);
        // Without steps left the symbol counts as missing, which only adds doubt.
        !compared.spend(here.len()) || !here.iter().any(is_own)
    };
    !claims.dies.iter().any(&mut lacks_symbol)
}

/// True if the linker may have dropped the symbols of all functions that it folded. mold does so from version 2.2 on, and
/// before that with `--gc-sections`. Nothing in the file shows that option, but a folded function with a symbol shows that
/// it was not given.
pub(crate) fn drops_symbols(
    folding: &FoldingEvidence,
    placing: &Placing<'_, '_>,
    symbols: &Symbols<'_>,
    claims: &Claims,
) -> bool {
    match folding.linker.policy().folded_symbols {
        FoldedSymbols::Dropped => true,
        FoldedSymbols::AllOrNone => {
            let has_symbol =
                |claim: &&Claim| claim.members.len() > 1 && are_named(placing, symbols, claims, claim);
            !claims.dies.iter().chain(&claims.symbols).any(|claim| has_symbol(&claim))
        }
        _ => false,
    }
}

/// True if two members of a claim each have a symbol of their own at its start, and the linker erased one of them. (gcc leaves the symbols
/// of functions that it merges itself.)
fn are_named(placing: &Placing<'_, '_>, symbols: &Symbols<'_>, claims: &Claims, claim: &Claim) -> bool {
    let by_linker = |member: &Member| {
        !(matches!(member.how, How::LiveRange | How::CallSite) || member.how.is_undescribed())
    };
    if !claim.members.iter().any(by_linker) {
        return false;
    }
    let here = symbols.at(claim.start);
    let names: HashSet<NameId> = claim
        .members
        .iter()
        .map(|member| placing.names.of_function(&claims.functions[member.function.index()]))
        .collect();
    // Each symbol is looked up once, and there may be any number of members.
    let named =
        here.iter().filter_map(|symbol| placing.names.find(symbol.name)).filter(|name| names.contains(name));
    named.collect::<HashSet<_>>().len() > 1
}

/// True if a folded function may leave no trace: gold folded something in this program and drops the symbols of local
/// functions that it folds, and clang may have been told not to describe some (`nodebug`).
fn forgets(folding: &FoldingEvidence, placing: &Placing<'_, '_>, claims: &Claims) -> bool {
    folding.drops_local_symbols()
        && claims.dies.iter().chain(&claims.symbols).any(|claim| claim.members.len() > 1)
        && placing.recovered.all().any(|unit| unit.head.may_merge())
}

/// What the compiler of each unit may have done to functions without leaving a trace.
fn units(
    placing: &Placing<'_, '_>,
    symbols: &Symbols<'_>,
    machine: &Machine<'_, '_>,
    claims: &Claims,
    merging: &[UnitId],
) -> Vec<Option<Reason>> {
    let (unread, lost) = (UnreadCode::new(symbols, machine, claims), with_lost(placing, symbols));
    let of_unit = |(id, unit): (UnitId, UnitView<'_, '_>)| {
        if unit.head.rewrites.is_some() || lost.contains(&id) {
            Some(Reason::MergedWithoutTrace)
        } else if unread.may_be_of(placing, id, symbols) {
            // Where code is not read, `thunks` may have missed a jump, so a unit that is not in `merging` may have merged
            // functions too.
            Some(Reason::NoCode)
        } else if unit.head.may_merge() && merging.binary_search(&id).is_ok() {
            Some(Reason::MergedWithoutTrace)
        } else {
            // The missing `.dwo`, or the part of the unit that was not read, has the DIEs of functions that the compiler
            // merged, and of calls that it inlined.
            let is_whole = !unit.head.partial && !unit.head.cut_short;
            let capped = unit.head.capped.then_some(Reason::CapReached);
            if is_whole { capped } else { Some(Reason::UndescribedObject) }
        }
    };
    placing.recovered.numbered().map(of_unit).collect()
}

/// Units of gcc with a local function that has a DIE without an address, no symbol that may be its own, and no call
/// that shows where it is. gcc may have merged it with any function of the unit. (gcc leaves a symbol for a merged function, but tools
/// may drop it. A function that other units may call has its symbol, or is a function of another unit.)
fn with_lost(placing: &Placing<'_, '_>, symbols: &Symbols<'_>) -> HashSet<UnitId> {
    let mut by_name: HashMap<NameId, Vec<UnitId>> = HashMap::default();
    let mut declared = CodelessNames::default();
    for (id, unit) in placing.recovered.numbered() {
        let mut local = unit.records.codeless.iter().filter(|codeless| !codeless.external).peekable();
        if local.peek().is_none() {
            continue;
        }
        let placed = unit.code.functions.iter().filter(|function| function.how == How::CallSite);
        let placed: HashSet<DieOffset> = placed.map(|function| function.die).collect();
        for codeless in local.filter(|codeless| !placed.contains(&codeless.die)) {
            let origin = unit.origin_of(codeless.origin);
            let name = placing.names.of_origin(origin);
            by_name.entry(name).or_default().push(id);
            declared.entry(name).or_default().insert(origin);
        }
    }
    if !by_name.is_empty() {
        let described = DescribedSymbols::new(&placing.names, placing.recovered, symbols, &declared);
        for symbol in symbols.iter().filter(|symbol| symbol.function) {
            for name in spellings(symbol.name) {
                if let Some(name) =
                    placing.names.find(name).filter(|name| described.is_spare(*name, symbol.start))
                {
                    // A merged function that kept its symbol is a member at that address (`aliases/decision`), so it is not
                    // lost.
                    by_name.remove(&name);
                }
            }
        }
    }
    by_name.into_values().flatten().collect()
}

/// Small functions without a DIE whose code is missing or not read. Each may be a jump that a compiler put in the
/// place of a function that it merged with another function of its unit.
struct UnreadCode<'f> {
    names: HashSet<&'f [u8]>,
    /// The base names of the files whose small functions are known to be theirs.
    files: HashSet<&'f [u8]>,
    /// The file of some small function is not known.
    of_any_file: bool,
}

impl<'f> UnreadCode<'f> {
    fn new(symbols: &'f Symbols<'_>, machine: &Machine<'_, '_>, claims: &Claims) -> UnreadCode<'f> {
        let mut unread =
            UnreadCode { names: HashSet::default(), files: HashSet::default(), of_any_file: false };
        for claim in &claims.symbols {
            let is_described = |member: &Member| claims.functions[member.function.index()].source.is_some();
            if claim.end - claim.start > MAX_THUNK
                || machine.can_read(claim.range())
                || claim.members.iter().any(is_described)
            {
                continue;
            }
            for symbol in symbols.at(claim.start).iter().filter(|symbol| symbol.function) {
                if !may_be_merged(symbol.name) || is_of_start(symbol.name) {
                    continue;
                }
                unread.names.insert(symbol.name);
                match symbols.sure_file(symbol) {
                    Some(file) => _ = unread.files.insert(file),
                    None => unread.of_any_file = true,
                }
            }
        }
        unread
    }

    /// True if one of the functions may be of a unit.
    fn may_be_of(&self, placing: &Placing<'_, '_>, id: UnitId, symbols: &Symbols<'_>) -> bool {
        if self.names.is_empty() {
            return false;
        }
        let unit = placing.recovered.unit(id);
        if unit.head.assembly || unit.head.merges_nothing {
            return false;
        }
        if unit.head.keeps_callees {
            // gcc describes a function that it replaced by a jump, without an address.
            let name = |origin| placing.names.text(placing.names.of_origin(unit.origin_of(origin)));
            return unit.records.codeless.iter().any(|codeless| self.names.contains(name(codeless.origin)));
        }
        let file = &*unit.head.file_name;
        // Local symbols of an object without a file symbol follow those of another file. So a unit whose file has no symbol may
        // have the small function.
        self.of_any_file || self.files.contains(file) || (!self.files.is_empty() && !symbols.has_file(file))
    }
}

/// True if a function of C++ or Rust has neither a DIE nor lines: no linker and no C library uses such a name, but for
/// mold's stubs. (gcc gives none to the thunks of virtual calls, `_ZThn`.)
fn has_mangled(
    image: &Image<'_>,
    placing: &Placing<'_, '_>,
    lines: &BareLinesOfAll,
    claims: &Claims,
) -> bool {
    let is_mangled = |member: &Member| {
        let function = &claims.functions[member.function.index()];
        let name = placing.names.text(placing.names.of_function(function));
        function.source.is_none() && is_mangled(name) && !is_special(name)
    };
    let undescribed = |claim: &Claim| {
        claim.members.iter().any(is_mangled)
            && lines.unit_at(claim.start).is_none()
            && !is_of_linker(image, claim.start)
    };
    !placing.recovered.code.is_empty() && claims.symbols.iter().any(undescribed)
}
