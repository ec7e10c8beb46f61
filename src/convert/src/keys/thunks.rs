//! Small code that no DIE describes and that passes its calls on to a described function. The compiler left it for a
//! function that it merged with the described one, or the linker put it in the place of a folded function whose
//! address is taken (lld for Mach-O with `--icf=safe_thunks`).

use crate::model::{FuncId, ImageAddr, NameId, Owner, Piece, Program};
use crate::place::limits::MAX_THUNK;
use crate::program::machine::Machine;
use crate::toolchain::functions::may_be_merged;
use crate::toolchain::suffixes::checked_name;
use crate::util::hash::{HashMap, HashSet};

/// Code that passes its calls on.
#[derive(Default)]
pub(crate) struct Passing {
    /// The targets of code that a compiler left for merged functions.
    merged: HashSet<ImageAddr>,
    /// By the address of code that a linker made: the function that it stands in for. Only in Mach-O programs.
    made: HashMap<ImageAddr, FuncId>,
}

impl Passing {
    pub(crate) fn new(program: &Program<'_>, machine: &Machine<'_, '_>) -> Passing {
        let has_described = |piece| owners(program, piece).any(|owner| is_described(program, owner));
        // Once for each piece, since any number of jumps may go to one target with any number of members.
        let described: Vec<bool> = program.pieces.iter().map(has_described).collect();
        let is_target = |target: ImageAddr| {
            let piece = program.pieces.binary_search_by_key(&target, |piece| piece.start);
            piece.is_ok_and(|piece| described[piece])
        };
        // The linker also folds this small code, even with described functions.
        let small = program.pieces.iter().filter(|piece| {
            u64::from(piece.body) <= MAX_THUNK
                && owners(program, piece).any(|owner| !is_described(program, owner))
        });
        let target = |piece: &Piece| machine.passes_on(piece.code(), is_target);
        let passing: Vec<(&Piece, ImageAddr)> =
            small.filter_map(|piece| Some((piece, target(piece)?))).collect();
        let targets: HashSet<ImageAddr> = passing.iter().map(|passing| passing.1).collect();
        // ELF linkers fold whole sections and leave no jump, so there a compiler made each of these.
        if !machine.has_linkers_jumps() {
            let bodies = checked_bodies(program, &targets);
            let is_other = |&(piece, target): &(&Piece, ImageAddr)| {
                owners(program, piece)
                    .filter(|&owner| !is_described(program, owner))
                    .map(|owner| &program.names[name(program, owner).index()][..])
                    .any(|name| may_be_merged(name) && !bodies.contains(&(target, name)))
            };
            let merged = passing.into_iter().filter(is_other).map(|passing| passing.1).collect();
            return Passing { merged, made: HashMap::default() };
        }
        let mut named: HashMap<(ImageAddr, NameId), Option<FuncId>> = HashMap::default();
        for piece in program.pieces.iter().filter(|piece| targets.contains(&piece.start)) {
            for function in owners(program, piece).filter(|&owner| is_external(program, owner)) {
                let several = |known: &mut Option<FuncId>| *known = None;
                named
                    .entry((piece.start, name(program, function)))
                    .and_modify(several)
                    .or_insert(Some(function));
            }
        }
        let mut found = Passing::default();
        for (piece, target) in passing {
            // lld for Mach-O gives the jump the name of the folded function, and a DIE of that name is at the target
            // (`--keep-icf-stabs`).
            match only(program, piece).and_then(|name| named.get(&(target, name)).copied().flatten()) {
                Some(function) => _ = found.made.insert(piece.start, function),
                None => _ = found.merged.insert(target),
            }
        }
        found
    }

    /// True if code of a merged function jumps to an address.
    pub(crate) fn leads_to(&self, address: ImageAddr) -> bool {
        self.merged.contains(&address)
    }

    /// The function for which a linker put the code at an address.
    pub(crate) fn made_for(&self, address: ImageAddr) -> Option<FuncId> {
        self.made.get(&address).copied()
    }
}

/// The function bodies at these addresses, each with the name that jumps to it have (`-fsanitize=cfi-icall`).
fn checked_bodies<'p>(
    program: &'p Program<'_>,
    targets: &HashSet<ImageAddr>,
) -> HashSet<(ImageAddr, &'p [u8])> {
    let pieces = program.pieces.iter().filter(|piece| targets.contains(&piece.start));
    pieces
        .flat_map(|piece| {
            owners(program, piece).filter_map(|owner| {
                let body = program.name_of(&program.functions[owner.index()]);
                Some((piece.start, checked_name(&program.names[body.index()])?))
            })
        })
        .collect()
}

fn is_described(program: &Program<'_>, function: FuncId) -> bool {
    program.functions[function.index()].source.is_some()
}

/// True for a described function that other units can name. Two functions local to their units may have one name, and
/// the compiler may have merged one of them.
fn is_external(program: &Program<'_>, function: FuncId) -> bool {
    let source = program.functions[function.index()].source;
    source.is_some_and(|at| program.code[at.unit.index()].functions[at.function.index()].external)
}

fn name(program: &Program<'_>, function: FuncId) -> NameId {
    program.origins[program.functions[function.index()].origin.index()].name
}

/// The name of code that has only one name.
fn only(program: &Program<'_>, piece: &Piece) -> Option<NameId> {
    match piece.owner {
        Owner::Function(function) if program.functions[function.index()].aliases.is_empty() => {
            Some(name(program, function))
        }
        _ => None,
    }
}

fn owners<'p>(program: &'p Program<'_>, piece: &Piece) -> impl Iterator<Item = FuncId> + use<'p> {
    let (one, members) = match piece.owner {
        Owner::Function(function) => (Some(function), &[][..]),
        Owner::Group(group) => (None, &program.groups[group.index()].members[..]),
    };
    one.into_iter().chain(members.iter().map(|member| member.function))
}
