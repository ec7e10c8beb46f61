//! Finds the function that ran on an object, from the object's vtable pointer (its first word).

use foldsym_format::sections::{slots, vtables};
use foldsym_format::{SectionId, steps};

use crate::answer::{Certainty, Evidence};
use crate::entities::Group;
use crate::error::{Error, InSection, small};
use crate::file::SymbolFile;
use crate::ids::{FunctionId, ImageAddr};
use crate::stack::{MAX_FRAME_STEPS, Resolved, StackAddr, first};

/// Most steps of a search in OVERRIDERS.
const SEARCH_STEPS: u32 = 32;

/// Most records of VTABLES for one vtable; a writer makes no more.
pub(crate) const MAX_METHODS: usize = 1024;

impl SymbolFile<'_> {
    /// Resolves a frame further by an object: decides which member of its group ran, from the vtable pointer of the object that it ran on
    /// (an image address: the value of the object's first word, not the address of the object). `caller` is the next outer frame, if there
    /// is one. Changes nothing if the file does not know the vtable, if none of the vtable's functions is possible, or if the stack already
    /// shows which function ran.
    ///
    /// Takes log2 of the records of VTABLES, SLOTS, DISPATCHES and TARGETS, and for each function of the set and of the table, at most 1024, [`foldsym_format::Header::max_group`] steps; together never more than [`MAX_FRAME_STEPS`].
    ///
    /// # Errors
    /// Damage at a place that it reads.
    pub fn resolve_object(
        &self,
        resolved: &mut Resolved,
        vptr: ImageAddr,
        caller: Option<StackAddr>,
    ) -> Result<(), Error> {
        const VTABLES: SectionId = SectionId::VTABLES;
        let Some(id) = resolved.group.filter(|_| resolved.certainty != Some(Certainty::Exact)) else {
            return Ok(());
        };
        let Some(point) = self.key(vptr).map(u64::cast_signed) else { return Ok(()) };
        let slot = self.slot(caller)?.map(|slot| (slot & slots::WORD).wrapping_add(1));
        let group = Group::read(self, id)?;
        let mut found = Resolved { group: Some(id), group_len: group.len(), ..Resolved::NONE };
        let mut left = MAX_FRAME_STEPS;
        // A call whose static class is known says more than its slot alone.
        self.name_dispatched(group, point, caller, &mut found, &mut left)?;
        let from = first(&self.vtables, VTABLES, (point, 0))?;
        // Methods known for the slot are better evidence than methods known for any call.
        for wanted in [slot, Some(0)].into_iter().flatten() {
            if found.named_len != 0 {
                break;
            }
            // `verify` refuses a point with more records: the bound is for damaged files.
            for record in (from..self.vtables.len()).take(MAX_METHODS) {
                steps::step();
                let [here, function, of_slot, doubtful] = self.vtables.record(record).within(VTABLES)?;
                if here != point {
                    break;
                }
                if of_slot == wanted {
                    let function = FunctionId(small(function, VTABLES, record)?);
                    let named = self.name_member(group, function, &mut found, &mut left)?;
                    found.open |= named && doubtful != 0;
                    if named && doubtful == vtables::GUESSED {
                        found.guess_last();
                    }
                }
            }
        }
        // The functions that the callers leave are the ones that can have run.
        let possible = resolved.open || found.named().iter().all(|member| resolved.named().contains(member));
        // A member that the call's slot or type made likely gives way to a single member that the object names. One that a record of the call
        // made likely gives way only to a single member that the object proves.
        let by_call = matches!(resolved.evidence, Some(Evidence::VirtualSlot | Evidence::CallType));
        let weaker = found.named_len != 1 || (found.open && !by_call);
        if weaker && resolved.certainty == Some(Certainty::Likely) {
            return Ok(());
        }
        // If two or more may have run, or others as well: they come first, and nothing is ruled out.
        found.open |= found.named_len != 1;
        if found.named_len == 0 || !possible || (found.open && !resolved.open) {
            return Ok(());
        }
        let likely = found.open && found.named_len == 1;
        found.conclude(false);
        found.evidence =
            Some(Evidence::Vtable).filter(|_| likely || found.certainty != Some(Certainty::Ambiguous));
        if likely {
            found.certainty = Some(Certainty::Likely);
        }
        *resolved = found;
        Ok(())
    }

    /// The word of a table that a call goes through, with its mark.
    fn slot(&self, caller: Option<StackAddr>) -> Result<Option<i64>, Error> {
        const SLOTS: SectionId = SectionId::SLOTS;
        let Some(record) = self.of_call(&self.slots, SLOTS, caller)? else { return Ok(None) };
        self.slots.value(record, slots::SLOT).within(SLOTS).map(Some)
    }

    /// For a frame whose callers gave [`SymbolFile::resolve_one`] no member: puts those members of the group first that the program's
    /// vtables have in the slot of this call. If that is one member, and no vtable may lead to others, the answer is
    /// [`Certainty::Likely`]. Where the file has the set of functions that this call may call, these come first in the same way. No
    /// member is ruled out. `caller` is the next frame out. Other frames stay as they are. Call it before
    /// [`SymbolFile::resolve_object`], and before frames further in are resolved.
    ///
    /// Takes log2 of the records of SLOTS and of DISPATCHES, and for each function of the group log2 of the records of OVERRIDERS and of
    /// TARGETS. After [`MAX_FRAME_STEPS`]
    /// the frame stays unresolved.
    ///
    /// # Errors
    /// Damage at a place that it reads.
    pub fn resolve_slot(&self, resolved: &mut Resolved, caller: Option<StackAddr>) -> Result<(), Error> {
        const OVERRIDERS: SectionId = SectionId::OVERRIDERS;
        let untold = resolved.open && resolved.named_len == 0 && !resolved.full;
        let has_slots = !(self.overriders.is_empty() && self.dispatches.is_empty());
        let Some(id) = resolved.group.filter(|_| untold && has_slots) else { return Ok(()) };
        let group = Group::read(self, id)?;
        let mut left = MAX_FRAME_STEPS;
        if self.resolve_dispatch(resolved, group, caller, &mut left)? {
            return Ok(());
        }
        let slot = self.slot(caller)?.filter(|slot| slot & slots::BY_OBJECT != 0);
        let Some(slot) = slot else { return Ok(()) };
        // A search halves at most 2^32 records: 32 steps for each member.
        if group.len() > left / SEARCH_STEPS {
            return Ok(());
        }
        let (slot, mut sure) = (slot & slots::WORD, true);
        let mut found = *resolved;
        for index in 0..group.len() {
            steps::step();
            let function = i64::from(self.member_function(group, index)?.0);
            let record = first(&self.overriders, OVERRIDERS, (slot, function))?;
            if record < self.overriders.len() {
                let [of_slot, here, doubtful] = self.overriders.record(record).within(OVERRIDERS)?;
                if (of_slot, here) == (slot, function) {
                    found.name(index);
                    sure &= doubtful == 0;
                }
            }
        }
        if sure && found.named_len == 1 {
            (found.certainty, found.evidence) = (Some(Certainty::Likely), Some(Evidence::VirtualSlot));
        }
        *resolved = found;
        Ok(())
    }
}
