//! The inlined calls of a unit, each once.

use std::hash::{Hash, Hasher};

use crate::model::{LocalEdge, LocalOrigin, NONE16, UnitEdge};
use crate::read::sections::bytes::Endianity;
use crate::read::unit::assign::NO_FILE;
use crate::read::unit::inlined_subroutine::InlinedEntry;
use crate::read::unit::numbering::Numbering;
use crate::read::unit::origins::{DiePlace, PackedPlace, SubprogramIdentity};
use crate::util::numbers::NumberedMap;

/// The attributes of an inlined subroutine that determine its [`UnitEdge`]. Different DIEs of the callee may lead to the same
/// origin; then the unit has an edge for each.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct InlinedCall {
    caller: LocalOrigin,
    callee: PackedPlace,
    /// The index in the unit's file table.
    file: u32,
    line: u32,
    column: u16,
}

/// Hashes two words. It runs for each inlined subroutine of a program.
impl Hash for InlinedCall {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let &InlinedCall { caller, callee, file, line, column } = self;
        state.write_u64(u64::from(caller.0) | u64::from(line) << 32);
        state.write_u64(u64::from(callee.offset) ^ u64::from(file) << 32 ^ u64::from(column) << 48);
    }
}

/// The edges found so far, by the attributes of their calls. The memory of the map is used again for the next unit.
pub(crate) struct Edges {
    by_call: NumberedMap<InlinedCall, LocalEdge>,
    list: Vec<UnitEdge>,
}

impl Edges {
    /// `by_call` must be empty.
    pub(crate) fn new(by_call: NumberedMap<InlinedCall, LocalEdge>) -> Edges {
        Edges { by_call, list: Vec::new() }
    }

    /// The edge of an inlined subroutine in `caller`. For equal attributes, callee and file are looked up once.
    pub(crate) fn of<E: Endianity>(
        &mut self,
        caller: LocalOrigin,
        entry: &InlinedEntry<'_, E>,
        ids: &mut Numbering<'_, '_, E>,
    ) -> LocalEdge {
        let &InlinedEntry { place, callee, file, line, column, .. } = entry;
        // `NO_FILE` in the key stands for a missing `DW_AT_call_file`. A call that has no key gets an edge of its own,
        // which `merge` joins with its equals.
        let index = |file: u64| u32::try_from(file).ok().filter(|&file| file != NO_FILE);
        let packed = callee.and_then(DiePlace::packed).zip(file.map_or(Some(NO_FILE), index));
        let call = packed.map(|(callee, file)| InlinedCall { caller, callee, file, line, column });
        if let Some(edge) = call.and_then(|call| self.by_call.get(&call)) {
            return edge;
        }
        let file = file.map_or(NONE16, |index| ids.origins.file(place, index, &mut ids.diagnostics));
        let callee = match callee {
            Some(origin) => ids.origins.resolve(origin, &mut ids.diagnostics),
            // A missing or damaged reference loses only the name: the inlined code still has its place in the tree.
            None => ids.origins.finish(place, SubprogramIdentity::default(), &mut ids.diagnostics).0,
        };
        let edge = LocalEdge(self.list.len() as u32);
        self.list.push(UnitEdge { caller, callee, line, file, column });
        if let Some(call) = call {
            self.by_call.insert(call, edge);
        }
        edge
    }

    /// The edge with this id.
    pub(crate) fn get(&self, edge: LocalEdge) -> &UnitEdge {
        &self.list[edge.index()]
    }

    /// The bytes of memory of the list.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&self.list[..])
    }

    /// Moves the edges, by id, out of the table. It must get no more of them.
    pub(crate) fn take(&mut self) -> Vec<UnitEdge> {
        std::mem::take(&mut self.list)
    }

    /// The empty map.
    pub(crate) fn into_memory(self) -> NumberedMap<InlinedCall, LocalEdge> {
        let mut by_call = self.by_call;
        by_call.empty();
        by_call
    }
}
