//! The functions that have their addresses: what erased ones are compared with.

use rustc_hash::FxHashMap;

use super::merge::Merged;
use super::names::is_program_wide;
use crate::model::{DieOffset, Instance, NameId, OriginId, UnitFunction};

/// Functions that have their addresses.
pub(super) struct Known {
    /// Ranges of functions that remain, with the unit and the origin of each that stands there.
    pub(super) remaining: FxHashMap<(u64, u64), Vec<Remaining>>,
    /// Names that one function of the program has, of functions that are known, with some of their definitions.
    pub(super) named: FxHashMap<NameId, Vec<Definition>>,
}

/// A function that has its address.
pub(super) struct Remaining {
    pub(super) unit: usize,
    pub(super) die: DieOffset,
    pub(super) origin: OriginId,
    pub(super) instance: Instance,
    /// Other units mean the same function by its name.
    pub(super) shared: bool,
    /// The range is not that of its entry.
    pub(super) part: bool,
}

/// Definitions of one name that are told apart; of more none is a copy for certain, and none is found.
pub(super) const MAX_DEFINITIONS: usize = 8;

/// A definition: the unit that has it, and its origin.
pub(super) type Definition = (usize, OriginId);

pub(super) fn add_definition(of: &mut Vec<Definition>, unit: usize, origin: OriginId) {
    if of.len() < MAX_DEFINITIONS && of.iter().all(|known| known.1 != origin) {
        of.push((unit, origin));
    }
}

impl Known {
    pub(super) fn new(merged: &Merged<'_>) -> Known {
        let mut remaining: FxHashMap<(u64, u64), Vec<Remaining>> = FxHashMap::default();
        let mut named: FxHashMap<NameId, Vec<Definition>> = FxHashMap::default();
        for (index, (unit, map)) in merged.program.units.iter().zip(&merged.program.maps).enumerate() {
            for function in &unit.functions {
                let origin = map.origins[function.origin.index()];
                let name = merged.program.origins[origin.index()].name;
                let shared = function.external || is_program_wide(merged.name_bytes(name));
                if shared {
                    add_definition(named.entry(name).or_default(), index, origin);
                }
                let pieces = function.pieces.start as usize..function.pieces.end as usize;
                for (at, piece) in unit.pieces[pieces].iter().enumerate() {
                    let range = (piece.start.0, piece.start.0 + u64::from(piece.len));
                    let UnitFunction { die, instance, .. } = *function;
                    let remains = Remaining { unit: index, die, origin, instance, shared, part: at > 0 };
                    remaining.entry(range).or_default().push(remains);
                }
            }
        }
        Known { remaining, named }
    }
}
