//! The callees of a unit's calls, each once.

use crate::model::{CalleePlace, DieOffset, LocalCallee, NONE16, UnitCallee, UnitOrigin};
use crate::read::sections::bytes::Endianity;
use crate::read::unit::numbering::Numbering;
use crate::read::unit::origins::{DiePlace, NameText};
use crate::util::hash::HashMap;

/// The callees found so far, by place. The memory of the map is used again for the next unit.
pub(crate) struct Callees {
    by_place: HashMap<DiePlace, LocalCallee>,
    unknown: Option<LocalCallee>,
    list: Vec<UnitCallee>,
}

impl Callees {
    /// `by_place` must be empty.
    pub(crate) fn new(by_place: HashMap<DiePlace, LocalCallee>) -> Callees {
        Callees { by_place, unknown: None, list: Vec::new() }
    }

    /// The local id of a callee. The unit has one record for each callee.
    pub(crate) fn at<E: Endianity>(
        &mut self,
        target: DiePlace,
        ids: &mut Numbering<'_, '_, E>,
    ) -> LocalCallee {
        if let Some(&id) = self.by_place.get(&target) {
            return id;
        }
        let origin = ids.origins.resolve(target, &mut ids.diagnostics);
        let id = self.push(UnitCallee {
            die: ids.origins.die(target),
            place: ids.origins.callee_place(target),
            origin,
            external: ids.origins.tables.is_external(origin),
        });
        self.by_place.insert(target, id);
        id
    }

    /// The local id of the unknown callee: the call site names a callee, but no DIE describes it. gcc may write the address of
    /// a symbol instead of a reference, and a reference may be damaged. Such a call is not a call through a pointer.
    pub(crate) fn unknown<E: Endianity>(&mut self, ids: &mut Numbering<'_, '_, E>) -> LocalCallee {
        if let Some(id) = self.unknown {
            return id;
        }
        let name = ids.origins.tables.name(NameText::Whole(&[]));
        let origin = ids.origins.tables.origin(UnitOrigin { name, file: NONE16, line: 0 });
        // With this place no step takes the offset 0 for that of a DIE of the program.
        let (die, place) = (DieOffset(0), CalleePlace::OtherDebugFile);
        let id = self.push(UnitCallee { die, place, origin, external: false });
        self.unknown = Some(id);
        id
    }

    fn push(&mut self, callee: UnitCallee) -> LocalCallee {
        self.list.push(callee);
        LocalCallee((self.list.len() - 1) as u32)
    }

    /// The bytes of memory of the list.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&self.list[..])
    }

    /// The callees by id, and the empty map.
    pub(crate) fn finish(self) -> (Vec<UnitCallee>, HashMap<DiePlace, LocalCallee>) {
        let mut by_place = self.by_place;
        crate::util::reuse::empty(&mut by_place);
        (self.list, by_place)
    }
}
