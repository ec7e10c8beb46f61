//! The functions that a call may call, where the compiler recorded the method of the static class of a virtual call, or the types of
//! calls through pointers (sections DISPATCHES and TARGETS).

use foldsym_format::sections::dispatches;
use foldsym_format::{SectionId, steps};

use crate::answer::{Certainty, Evidence};
use crate::entities::Group;
use crate::error::{Error, InSection, order, small, value};
use crate::file::SymbolFile;
use crate::ids::FunctionId;
use crate::stack::{Resolved, StackAddr, first};

const DISPATCHES: SectionId = SectionId::DISPATCHES;
const TARGETS: SectionId = SectionId::TARGETS;

/// Records of TARGETS for any object have this point.
const ANY_OBJECT: i64 = 0;

impl SymbolFile<'_> {
    /// Names the members of a group that the set of a call has for objects whose vtable pointer is `point` (minus the image base); without
    /// one, for any object. Returns whether one of them is doubtful, and what shows the set; `None` without members.
    ///
    /// Takes log2 of the records of TARGETS, and for each record of the set the members of the group, off `left`. If these steps do not
    /// suffice, others may have run, too (`found.open`).
    #[cfg_attr(not(feature = "small"), inline(never))]
    fn name_targets(
        &self,
        group: Group,
        (caller, point): (Option<StackAddr>, Option<i64>),
        found: &mut Resolved,
        left: &mut u32,
    ) -> Result<Option<(bool, Evidence)>, Error> {
        // The small reader does without: 700 bytes of code are too many for it.
        if cfg!(feature = "small") {
            return Ok(None);
        }
        let Some(call) = self.of_call(&self.dispatches, DISPATCHES, caller)? else { return Ok(None) };
        let [_, set, how] = self.dispatches.record(call).within(DISPATCHES)?;
        let evidence = match how.cast_unsigned() {
            dispatches::METHOD => Evidence::VirtualSlot,
            _ => Evidence::CallType,
        };
        let key = (set, point.map_or(ANY_OBJECT, |point| point.saturating_add(1)));
        let mut doubtful = None;
        for record in first(&self.targets, TARGETS, key)?..self.targets.len() {
            steps::step();
            let [set, point, function, doubt] = self.targets.record(record).within(TARGETS)?;
            // Without steps the rest of the set is not known.
            if (set, point) != key || *left == 0 {
                break;
            }
            let function = FunctionId(small(function, TARGETS, record)?);
            if self.name_member(group, function, found, left)? {
                doubtful = Some(doubt != 0 || doubtful == Some(true));
            }
        }
        Ok(doubtful.map(|doubtful| (doubtful, evidence)))
    }

    /// The step of [`SymbolFile::resolve_slot`] for a call of a set; false if the file has no such set, or none for this group.
    pub(crate) fn resolve_dispatch(
        &self,
        resolved: &mut Resolved,
        group: Group,
        caller: Option<StackAddr>,
        left: &mut u32,
    ) -> Result<bool, Error> {
        // It names none, or some members of a frame that had none.
        let Some((doubtful, evidence)) = self.name_targets(group, (caller, None), resolved, left)? else {
            return Ok(false);
        };
        // The compiler may have merged two virtual calls, and keeps one record. A pointer may be cast to another type. So no member is
        // ruled out.
        if resolved.named_len == 1 && !doubtful {
            (resolved.certainty, resolved.evidence) = (Some(Certainty::Likely), Some(evidence));
        }
        Ok(true)
    }

    /// Names the members of a group that a virtual call runs on objects with a vtable pointer (minus the image base). Marks the result as
    /// open if others may have run. Names none if the file does not know the call or the pointer.
    pub(crate) fn name_dispatched(
        &self,
        group: Group,
        point: i64,
        caller: Option<StackAddr>,
        found: &mut Resolved,
        left: &mut u32,
    ) -> Result<(), Error> {
        let doubtful = self.name_targets(group, (caller, Some(point)), found, left)?;
        found.open |= doubtful.is_some_and(|(doubtful, _)| doubtful);
        Ok(())
    }

    /// Calls and their sets: sorted, distinct, of functions that exist.
    pub(crate) fn verify_dispatches(&self) -> Result<(), Error> {
        let mut before = -1;
        for id in 0..self.dispatches.len() {
            let [address, set, how] = self.dispatches.record(id).within(DISPATCHES)?;
            if address <= before {
                return Err(order(DISPATCHES, id));
            }
            before = address;
            if set < 0 || !(dispatches::METHOD..=dispatches::TYPE).contains(&how.cast_unsigned()) {
                return Err(value(DISPATCHES, id));
            }
        }
        let functions = i64::from(self.functions.len());
        let mut before = [-1; 3];
        for id in 0..self.targets.len() {
            let [set, point, function, doubtful] = self.targets.record(id).within(TARGETS)?;
            let here = [set, point, function];
            if here <= before {
                return Err(order(TARGETS, id));
            }
            before = here;
            let known = set >= 0 && point >= ANY_OBJECT && (0..functions).contains(&function);
            if !known || !(0..=1).contains(&doubtful) {
                return Err(value(TARGETS, id));
            }
        }
        Ok(())
    }
}
