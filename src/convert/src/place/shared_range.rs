//! Makes one claim of the subprograms that share a range: folded functions become members, and further descriptions of
//! one function are joined.

use crate::diagnostics::{Cap, Diagnostics, Kind};
use crate::merge::units::Definition;
use crate::model::{
    DieOffset, FuncId, Function, How, Instance, Member, NameId, OriginId, Reason, Source, UnitId,
};
use crate::place::claim::Claim;
use crate::place::inline_copies::InlineCopies;
use crate::place::limits::MAX_DEFINITIONS;
use crate::place::named_functions::NamedFunctions;
use crate::place::placing::Placing;
use crate::place::subprograms::DiePiece;
use crate::program::names::itanium::{is_mangled, is_program_wide};
use crate::program::names::relation::Relation;
use crate::program::names::variants::may_be_variant;
use crate::program::symbols::CodeSymbol;
use crate::util::hash::HashMap;

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

/// The functions that share a range.
pub(crate) struct SharedRange {
    pub(crate) claim: Claim,
    /// The names of these functions.
    pub(crate) known: NamedFunctions,
    same: Vec<SameAs>,
    /// Definitions that count as another of their name, beyond [`MAX_DEFINITIONS`].
    capped: u64,
}

/// A subprogram that is the same function as another subprogram there.
struct SameAs {
    function: FuncId,
    of: FuncId,
    name: NameId,
    /// The DIE that describes the function again; `None` if `name` is an alias of `of`.
    described_again: Option<DieOffset>,
    /// Both are labels of one piece of assembly code.
    is_label: bool,
}

impl SharedRange {
    /// Records the subprograms that are the same function as another one.
    pub(crate) fn apply(
        &mut self,
        placing: &Placing<'_, '_>,
        functions: &mut [Function],
        same: &mut HashMap<FuncId, FuncId>,
        diagnostics: &mut Diagnostics,
    ) {
        let start = self.claim.start;
        for _ in 0..self.capped {
            diagnostics.add(Kind::Cap(Cap::Definitions), start.0, || {
                format!("over {MAX_DEFINITIONS} definitions of one name at {start:#x}: the later ones have the lines of the first")
            });
        }
        for SameAs { function, of, mut name, described_again, is_label } in self.same.drain(..) {
            same.insert(function, of);
            if is_label {
                // The last label names the code, as `llvm-symbolizer` has it, and the ones before are aliases.
                let last = functions[function.index()].origin;
                let before = std::mem::replace(&mut functions[of.index()].origin, last);
                name = placing.names.origin(before).name;
            }
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

/// Makes one claim of the pieces that share a range.
pub(crate) fn share(
    placing: &Placing<'_, '_>,
    shared: &[DiePiece],
    functions: &[Function],
    at_start: &[CodeSymbol<'_>],
    may_fold: bool,
) -> SharedRange {
    let (start, end) = (shared[0].start, shared[0].end);
    let (mut known, mut same_as) = (NamedFunctions::default(), Vec::new());
    if let [piece] = shared {
        // No other piece has this range.
        known.add(&placing.names, piece.name, piece.function);
        let claim = Claim { start, end, members: vec![piece.member()], doubt: None };
        return SharedRange { claim, known, same: same_as, capped: 0 };
    }
    let mut members: Vec<Member> = Vec::with_capacity(1);
    // The functions seen so far, each with whether it has rows.
    let mut seen: HashMap<SameFunction, Vec<(FuncId, bool)>> = HashMap::default();
    let mut labels: HashMap<UnitId, FuncId> = HashMap::default();
    let mut places: HashMap<FuncId, usize> = HashMap::default();
    let mut doubt = None;
    let mut copies = InlineCopies::new(at_start);
    let mut capped = 0;
    // The most trusted address comes first: of two descriptions of one function the one with the better evidence is kept.
    for piece in shared {
        let (function, name) = (piece.function, piece.name);
        let same = SameFunction::of(placing, piece, functions, may_fold);
        let of_name = seen.get(&same).map_or(&[][..], |of_name| of_name);
        // Called for every piece, since it remembers the first description for the units that come later.
        let copy = copies.known(placing, piece, functions).map(|first| (first, false));
        if let Some((first, is_capped)) = known_definition(placing, piece, functions, of_name).or(copy) {
            // gold drops the local symbols of functions that it folds. So the one symbol of the name does not exclude another instance of
            // a template, with a class that is local to a file.
            doubt = doubt.or(copy.map(|_| Reason::Stripped));
            capped += u64::from(is_capped);
            // The linker also folds parts of one function into each other.
            if function == first {
                join_part(placing, piece, places.get(&first).map(|&place| &mut members[place]));
            } else {
                same_as.push(SameAs {
                    function,
                    of: first,
                    name,
                    described_again: Some(piece.die),
                    is_label: false,
                });
            }
            continue;
        }
        seen.entry(same).or_default().push((function, piece.rows().is_some()));
        let label_of = label(placing, &functions[function.index()]);
        let variant = variant_of(placing, name, &known);
        if let Some(of) = variant.or_else(|| labels.get(&label_of?).copied()) {
            if variant.is_none() {
                // The label's symbol is explained by the function that all labels are.
                known.add(&placing.names, name, of);
            }
            same_as.push(SameAs { function, of, name, described_again: None, is_label: variant.is_none() });
            continue;
        }
        known.add(&placing.names, name, function);
        if let Some(unit) = label_of {
            labels.insert(unit, function);
        }
        places.insert(function, members.len());
        members.push(Member { function, how: piece.how, rows: piece.rows(), symbol: None });
    }
    SharedRange { claim: Claim { start, end, members, doubt }, known, same: same_as, capped }
}

impl SameFunction {
    fn of(
        placing: &Placing<'_, '_>,
        piece: &DiePiece,
        functions: &[Function],
        may_fold: bool,
    ) -> SameFunction {
        let origin = functions[piece.function.index()].origin;
        match is_program_wide(placing.names.text(piece.name)) {
            true => SameFunction::Name(piece.name),
            false if !may_fold && piece.how == How::LiveRange => SameFunction::Copy(origin),
            false => SameFunction::Local(origin, piece.unit, piece.instance),
        }
    }
}

/// The function that a piece describes again, among the functions of its name. If there are too many, it is the first one, and true.
fn known_definition(
    placing: &Placing<'_, '_>,
    piece: &DiePiece,
    functions: &[Function],
    of_name: &[(FuncId, bool)],
) -> Option<(FuncId, bool)> {
    let origin = functions[piece.function.index()].origin;
    // A name may be defined twice, once weak and once strong. DWARF does not show which definition prevailed.
    let is_same = |(first, has_rows): &&(FuncId, bool)| {
        let other = &functions[first.index()];
        let there = |source: Source| {
            let own = Definition { unit: piece.unit, origin };
            let other = Definition { unit: source.unit, origin: other.origin };
            placing.recovered.units.are_apart_there(&placing.names, other, own)
        };
        // lld and mold erase the line sequence of a discarded COMDAT copy, so of two definitions both have lines here, and a
        // copy has none. gold leaves a copy of the same size its lines, at the address of the kept one: there only the paths of
        // the source files show two definitions.
        let both = *has_rows && piece.rows().is_some();
        let apart =
            placing.names.are_apart(other.origin, origin) || (both && other.source.is_some_and(there));
        !apart
    };
    if let Some(&(same, _)) = of_name.iter().find(is_same) {
        return Some((same, false));
    }
    of_name.first().filter(|_| of_name.len() >= MAX_DEFINITIONS).map(|&(first, _)| (first, true))
}

/// Joins a second part of a function with the member that the function has at this range.
fn join_part(placing: &Placing<'_, '_>, piece: &DiePiece, member: Option<&mut Member>) {
    // Nothing is joined if the first part is no member of its own, since the function counts as an alias of another.
    if let Some(member) = member
        && let (Some(own), Some(rows)) = (piece.rows(), member.rows)
        && !placing.have_same_lines(rows, own)
    {
        // The parts differ in lines, and nothing shows which part ran.
        member.rows = None;
    }
}

/// The function of which a name is another constructor variant.
fn variant_of(placing: &Placing<'_, '_>, name: NameId, known: &NamedFunctions) -> Option<FuncId> {
    let text = Some(placing.names.text(name)).filter(|name| may_be_variant(name))?;
    let variant = known.best(&placing.names, text, None, |relation| relation == Relation::Variant);
    variant.map(|(_, function)| function)
}

/// The unit of a subprogram that is a label of assembly code. An assembler describes each label by a DIE of its own
/// that has a name and no place of declaration. All labels with the same range are one function.
fn label(placing: &Placing<'_, '_>, function: &Function) -> Option<UnitId> {
    let origin = placing.names.origin(function.origin);
    let undeclared = origin.file.is_none() && origin.line == 0;
    let label = undeclared && !is_mangled(placing.names.text(origin.name));
    let unit = function.source.map(|source| source.unit).filter(|_| label)?;
    placing.recovered.unit(unit).head.assembly.then_some(unit)
}
