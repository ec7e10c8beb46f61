//! Code that only symbols name: ranges without a subprogram, and the gaps after subprograms.

use crate::diagnostics::{Cap, Diagnostics, Kind};
use crate::members::sequences::{FreeSequence, NamedFunction, owners};
use crate::members::ties::TiedSymbol;
use crate::model::{AddressRange, BareLines, FuncId, Function, How, ImageAddr, Member, Reason, Rows, UnitId};
use crate::place::aliases::is_own_function_without_die;
use crate::place::claim::{Claim, by_name_alone, order, rows_from};
use crate::place::folding_evidence::{FoldingEvidence, SymbolEvidence};
use crate::place::limits::MAX_LINE_OWNERS;
use crate::place::named_functions::NamedFunctions;
use crate::place::placing::Placing;
use crate::policy::order::symbols_follow_dies;
use crate::program::machine::Machine;
use crate::program::names::itanium::{is_mangled, is_program_wide};
use crate::program::names::relation::Relation;
use crate::program::symbols::{CodeSymbol, Symbols, principal};
use crate::util::hash::HashSet;
use crate::util::text::base_name;

/// The bytes between the end of a subprogram and the next symbol, under the subprogram's name, as `llvm-symbolizer`
/// answers. Folded functions get no such range. If the local symbols were removed, these bytes may be functions of
/// their own: then only padding counts, and nothing does if the code is missing.
pub(crate) fn padding(
    die: &Claim,
    end: ImageAddr,
    symbols: &Symbols<'_>,
    machine: &Machine<'_, '_>,
) -> Option<Claim> {
    let [member] = die.members[..] else { return None };
    if !symbols.has_locals() && !machine.is_padding(AddressRange::new(die.end, end)) {
        return None;
    }
    Some(Claim { start: die.start, end, members: vec![Member { rows: None, ..member }], doubt: None })
}

/// Makes a claim of the symbols at one address, for code that no subprogram covers, and adds its functions to
/// `functions`. `None` if the symbols have no code. `first` is the [`principal`] of the symbols.
pub(crate) fn symbol_claim<'f>(
    placing: &mut Placing<'_, 'f>,
    at_address: &[CodeSymbol<'f>],
    first: &CodeSymbol<'f>,
    SymbolEvidence { symbols, folding }: SymbolEvidence<'_, 'f>,
    functions: &mut Vec<Function>,
    diagnostics: &mut Diagnostics,
) -> Option<Claim> {
    if first.end <= first.start {
        return None;
    }
    let name = placing.names.add(first.name);
    let mut members = vec![by_name_alone(&mut placing.names, functions, name)];
    // By member: the symbol that names it.
    let mut named_by = vec![Some(first)];
    let function = members[0].function;
    let mut known = NamedFunctions::default();
    known.add(&placing.names, name, function);
    // The code of an indirect function is that of its resolver.
    let chooser = at_address.iter().filter(|symbol| first.indirect && symbol.function && !symbol.indirect);
    let base = principal(&chooser.copied().collect::<Vec<_>>()).copied();
    if let Some(base) = base {
        let name = placing.names.add(base.name);
        known.add(&placing.names, name, function);
        functions[function.index()].aliases.push(name);
    }
    let base = base.unwrap_or(*first);
    for symbol in at_address {
        let name = placing.names.add(symbol.name);
        // A clone is not explained: gcc gives `f.isra.0` code of its own, so it may have been folded with `f`.
        let same = |relation| matches!(relation, Relation::Same | Relation::Variant);
        let explained = known.best(&placing.names, symbol.name, None, same);
        if is_own_function_without_die(folding, placing, symbol, first, &base, explained.is_some()) {
            known.add(&placing.names, name, FuncId(functions.len() as u32));
            members.push(by_name_alone(&mut placing.names, functions, name));
            named_by.push(Some(symbol));
        } else if !matches!(explained, Some((Relation::Same, _))) {
            let of = explained.map_or(function, |(_, function)| function);
            functions[of.index()].aliases.push(name);
        }
    }
    let unnamed = match first.function {
        true if folding.has_lines_of_another(placing, at_address) => 1,
        true => folding.unnamed_functions(first.range(), members.len()),
        false => 0,
    };
    for _ in 0..unnamed {
        let name = placing.names.add(b"");
        members.push(by_name_alone(&mut placing.names, functions, name));
        named_by.push(None);
    }
    known.report(first.start, diagnostics);
    let mut doubt = None;
    // The lines of a single name need no owner: `pieces` gives it the lines that cover the code.
    if members.len() > 1 {
        let owners = LineOwners { placing, symbols, folding, named_by: &named_by };
        let lines = owners.lines(first);
        for (cap, of) in lines.iter().flat_map(|_| owners.exceeded_limits(first.start)) {
            let start = first.start;
            diagnostics.add(Kind::Cap(cap), start.0, || {
                format!("over {MAX_LINE_OWNERS} {of} at {start:#x}, where no DIE describes the code: the functions there have no lines")
            });
        }
        doubt = lines.as_ref().map(|_| Reason::UnclaimedLines);
        for (member, lines) in members.iter_mut().zip(lines.unwrap_or_default()) {
            if let Some((rows, how)) = lines {
                (member.rows, member.how) = (Some(rows), how);
            }
        }
    }
    order(&placing.names, &mut members, functions, &mut HashSet::default());
    Some(Claim { start: first.start, end: first.end, members, doubt })
}

/// The rows of a function that a symbol names, and how they are known to be its own.
type MemberRows = (Rows, How);

/// The rows of a range, if the lines cover all of it.
fn whole_rows((unit, lines): (UnitId, BareLines), range: AddressRange) -> Option<Rows> {
    (range.end <= lines.range().end).then(|| rows_from(unit, lines.rows, 0))
}

/// The rows of functions that only symbols name, out of the sequences of their range that no described function has. None without the
/// symbols of all functions.
pub(crate) fn lines_by_symbols(
    placing: &Placing<'_, '_>,
    SymbolEvidence { symbols, folding }: SymbolEvidence<'_, '_>,
    (sequences, range): (&[Rows], AddressRange),
    named_by: &[&CodeSymbol<'_>],
) -> Vec<Option<MemberRows>> {
    let is_short = sequences.len().max(named_by.len()) > MAX_LINE_OWNERS;
    let is_whole = folding.keeps_symbols() && symbols.has_locals() && folding.all_of_clang;
    if is_short || !is_whole || sequences.is_empty() {
        return vec![None; named_by.len()];
    }
    let len = u32::try_from(range.len()).unwrap_or(u32::MAX);
    let equal = sequences.iter().all(|other| placing.have_same_lines_and_files(sequences[0], *other, len));
    // A linker that makes symbols local lists them behind those that were local, and a name of C does not show which it was.
    let in_order =
        placing.keeps_order && !(placing.localizes && named_by.iter().any(|symbol| !is_mangled(symbol.name)));
    let open = |rows: &Rows| {
        let head = placing.recovered.unit(rows.unit).head;
        let in_order = in_order && symbols_follow_dies(head, true);
        FreeSequence { unit: rows.unit, file: &head.file_name, in_order }
    };
    let open: Vec<FreeSequence<'_>> = sequences.iter().map(open).collect();
    let named: Vec<NamedFunction<'_>> = named_by.iter().map(|symbol| named(placing, symbol)).collect();
    let owners = owners(&open, &named, equal);
    owners.into_iter().map(|owner| owner.map(|(at, how)| (sequences[at], how))).collect()
}

fn named<'s>(placing: &Placing<'_, '_>, symbol: &CodeSymbol<'s>) -> NamedFunction<'s> {
    let file = placing.is_of_file(symbol).then(|| base_name(symbol.file));
    NamedFunction { symbol: TiedSymbol { file, order: symbol.order }, weak: symbol.weak }
}

/// Which of several names at one address has which of the line sequences there.
struct LineOwners<'p, 's, 'f> {
    placing: &'p Placing<'p, 'f>,
    symbols: &'p Symbols<'f>,
    folding: &'p FoldingEvidence,
    /// By function: the symbol that names it; `None` for a function that only its lines prove.
    named_by: &'p [Option<&'s CodeSymbol<'f>>],
}

impl LineOwners<'_, '_, '_> {
    /// The limits that the names and the line sequences at an address exceed. If there is one, names and sequences are not compared.
    fn exceeded_limits(&self, start: ImageAddr) -> impl Iterator<Item = (Cap, &'static str)> + use<> {
        let names = (Cap::UndescribedNames, "names", self.named_by.len());
        let lines = (Cap::UndescribedLines, "line sequences", self.folding.bare_lines(start).len());
        let exceeded = [names, lines].into_iter().filter(|(.., count)| *count > MAX_LINE_OWNERS);
        exceeded.map(|(cap, of, _)| (cap, of))
    }

    /// By function: the rows of a symbol's code that are certainly its own. `None` if the lines of the code are those of all
    /// the names.
    fn lines(&self, code: &CodeSymbol<'_>) -> Option<Vec<Option<MemberRows>>> {
        let range = code.range();
        let sequences = self.folding.bare_lines(code.start);
        let alone = !self.folding.has_other_lines(range);
        let of_all = match sequences {
            [] => self.folding.unit_of_lines_over(code.start).is_none_or(|unit| self.are_of_all(unit)),
            [(unit, _)] => self.are_of_all(*unit),
            _ => false,
        };
        if alone && of_all {
            return None;
        }
        if self.exceeded_limits(code.start).next().is_some() {
            return Some(vec![None; self.named_by.len()]);
        }
        let whole = |lines: (UnitId, BareLines)| whole_rows(lines, range);
        if let Some(owners) = self.by_lines_and_order(range) {
            return Some(owners);
        }
        let mut rows = vec![None; self.named_by.len()];
        let files = self.files();
        // The file of a local symbol identifies its unit, and each unit with lines has a sequence for each of its functions here.
        let mut open = Vec::new();
        let mut twice = vec![false; rows.len()];
        for (unit, lines) in sequences {
            let told = self.told(*unit, &files);
            // gcc and clang write no directory into `STT_FILE`, so two units `a/util.c` and `b/util.c` cannot be distinguished.
            let of_file = sequences.iter().filter(|other| self.file(other.0) == self.file(*unit)).count();
            let mut own = (0..told.len()).filter(|&index| told[index] == Some(true));
            match (own.next(), own.next()) {
                (Some(index), None) if of_file == 1 => {
                    twice[index] |= rows[index].is_some();
                    rows[index] = Some((*unit, *lines));
                }
                (own, _) => open.push((*unit, *lines, own.is_some())),
            }
        }
        // These linkers keep the names of folded functions. So the function of the last sequence has one of the names.
        let all_named = self.folding.keeps_symbols() && self.symbols.has_locals();
        if let ([(unit, lines, false)], true) = (&open[..], all_named) {
            let told = self.told(*unit, &files);
            let mut possible =
                (0..told.len()).filter(|&index| told[index].is_none() && rows[index].is_none());
            if let (Some(index), None) = (possible.next(), possible.next()) {
                rows[index] = Some((*unit, *lines));
            }
        }
        // A name that two sequences would have has none of them for certain.
        let sure = rows.into_iter().zip(twice).map(|(rows, twice)| rows.filter(|_| !twice));
        Some(sure.map(|rows| rows.and_then(&whole).map(|rows| (rows, How::SymbolOnly))).collect())
    }

    /// By function: its rows, if all functions here have the same lines, or by the order of symbols and sequences. `None` if neither
    /// decides.
    fn by_lines_and_order(&self, range: AddressRange) -> Option<Vec<Option<MemberRows>>> {
        let sequences: Option<Vec<Rows>> =
            self.folding.bare_lines(range.start).iter().map(|lines| whole_rows(*lines, range)).collect();
        let symbols: Option<Vec<&CodeSymbol<'_>>> = self.named_by.iter().copied().collect();
        let evidence = SymbolEvidence { symbols: self.symbols, folding: self.folding };
        let owners = lines_by_symbols(self.placing, evidence, (&sequences?, range), &symbols?);
        owners.iter().any(Option::is_some).then_some(owners)
    }

    /// True if all names are names of the code that has the one line sequence of this unit. Otherwise one of them may be that
    /// of an object without debug information, whose function was folded with the one that has lines.
    fn are_of_all(&self, unit: UnitId) -> bool {
        // An assembler gives one piece of code several names.
        let assembly = || {
            self.placing.recovered.unit(unit).head.assembly
                && self.named_by.iter().flatten().all(|symbol| !is_mangled(symbol.name))
        };
        !self.folding.may_fold() || !self.folding.has_undescribed_objects() || assembly()
    }

    fn file(&self, unit: UnitId) -> &[u8] {
        &self.placing.recovered.unit(unit).head.file_name
    }

    /// By function: the base name of the file that the symbol table gives for its name; `None` if it gives none for certain.
    fn files(&self) -> Vec<Option<&[u8]>> {
        let mut files = Vec::with_capacity(self.named_by.len());
        for symbol in self.named_by {
            let local = symbol.filter(|symbol| symbol.local && !is_program_wide(symbol.name));
            files.push(local.and_then(|symbol| self.symbols.sure_file(symbol)));
        }
        files
    }

    /// By function: whether it is of this unit; `None` if unknown. A function known only from its lines belongs to the unit
    /// that no symbol matches.
    fn told(&self, unit: UnitId, files: &[Option<&[u8]>]) -> Vec<Option<bool>> {
        let of_unit = |file: &Option<&[u8]>| match (*file)? {
            file if file != self.file(unit) => Some(false),
            file => self.folding.has_one_file(file).then_some(true),
        };
        let mut told: Vec<Option<bool>> = files.iter().map(of_unit).collect();
        let no_name =
            self.named_by.iter().zip(&told).all(|(symbol, told)| symbol.is_none() || *told == Some(false));
        for (told, symbol) in told.iter_mut().zip(self.named_by) {
            if symbol.is_none() {
                *told = Some(no_name);
            }
        }
        told
    }
}
