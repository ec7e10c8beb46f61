//! The first word of an object, its pointer to a table of virtual functions, to the function that ran on it.

use foldsym_format::sections::slots;
use foldsym_format::{SectionId, steps};

use crate::answer::{Certainty, Evidence};
use crate::entities::Group;
use crate::error::{Error, InSection, large, small};
use crate::file::SymbolFile;
use crate::ids::{FunctionId, ImageAddr, ReturnAddr};
use crate::stack::{MAX_FRAME_STEPS, Resolved, StackAddr, first};

/// What a search in OVERRIDERS costs at most.
const SEARCH_STEPS: u32 = 32;

/// Records of VTABLES of one table; a writer makes no more.
pub(crate) const MAX_METHODS: usize = 1024;

/// A function that runs on the objects of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Method {
    /// What the object's pointer to its virtual functions holds.
    pub point: ImageAddr,
    /// The function, of a group.
    pub function: FunctionId,
    /// Only for calls through this word of the table; `None`: whoever calls.
    pub slot: Option<u32>,
    /// Other functions of the group may have run.
    pub doubtful: bool,
}

/// A function that stands at a word of tables of virtual functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overrider {
    /// Which word, from 0.
    pub slot: u32,
    /// The function, of a group.
    pub function: FunctionId,
    /// A table whose word leads to the group's code may mean another of its functions.
    pub doubtful: bool,
}

impl SymbolFile<'_> {
    /// Lists the functions of groups that run on the objects of the program's classes, by table. For those who list a file:
    /// a stack is resolved by [`SymbolFile::resolve_object`].
    ///
    /// # Errors
    /// Each record may be damaged.
    pub fn methods(&self) -> impl Iterator<Item = Result<Method, Error>> + '_ {
        const VTABLES: SectionId = SectionId::VTABLES;
        (0..self.vtables.len()).map(|id| {
            let [point, function, slot, doubtful] = self.vtables.record(id).within(VTABLES)?;
            Ok(Method {
                point: ImageAddr(self.header().image_base.wrapping_add(large(point, VTABLES, id)?)),
                function: FunctionId(small(function, VTABLES, id)?),
                slot: small(slot, VTABLES, id)?.checked_sub(1),
                doubtful: doubtful != 0,
            })
        })
    }

    /// Lists the calls through words of tables of functions: where they return to, and which word.
    ///
    /// # Errors
    /// Each record may be damaged.
    pub fn slot_calls(&self) -> impl Iterator<Item = Result<(ReturnAddr, u32), Error>> + '_ {
        const SLOTS: SectionId = SectionId::SLOTS;
        (0..self.slots.len()).map(|id| {
            let [address, slot] = self.slots.record(id).within(SLOTS)?;
            let address = self.header().image_base.wrapping_add(large(address, SLOTS, id)?);
            Ok((ReturnAddr(address), small(slot & slots::WORD, SLOTS, id)?))
        })
    }

    /// Lists the functions of groups that stand at words of the program's tables of virtual functions, by word. For those who list a
    /// file: a stack is resolved by [`SymbolFile::resolve_slot`].
    ///
    /// # Errors
    /// Each record may be damaged.
    pub fn overriders(&self) -> impl Iterator<Item = Result<Overrider, Error>> + '_ {
        const OVERRIDERS: SectionId = SectionId::OVERRIDERS;
        (0..self.overriders.len()).map(|id| {
            let [slot, function, doubtful] = self.overriders.record(id).within(OVERRIDERS)?;
            Ok(Overrider {
                slot: small(slot, OVERRIDERS, id)?,
                function: FunctionId(small(function, OVERRIDERS, id)?),
                doubtful: doubtful != 0,
            })
        })
    }

    /// Says of the frame that was resolved which function of its group ran, by what the pointer to its virtual functions
    /// of the object that it ran on holds: an image address, that of a table and not of the object. `caller` is the next
    /// frame out, where there is one. Changes nothing where that is no table that the file knows, where none of the
    /// table's functions is possible, and where the stack already shows which function ran.
    ///
    /// Takes log2 of the records of VTABLES and of SLOTS, and for each function of the table, at most 1024,
    /// [`foldsym_format::Header::max_group`] steps; together never more than [`MAX_FRAME_STEPS`].
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
        let from = first(&self.vtables, VTABLES, (point, 0))?;
        // What is known of the slot says more than what is known of any call.
        for wanted in [slot, Some(0)].into_iter().flatten() {
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
                }
            }
            if found.named_len != 0 {
                break;
            }
        }
        // The functions that the callers leave are the ones that can have run.
        let possible = resolved.open || found.named().iter().all(|member| resolved.named().contains(member));
        // One that the call's slot makes likely is not given up for several.
        if found.named_len != 1 && resolved.certainty == Some(Certainty::Likely) {
            return Ok(());
        }
        // Two that may have run, or others: they come first, and nothing is ruled out.
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
        let Some(StackAddr::Return(address)) = caller else { return Ok(None) };
        let Some(key) = self.key(ImageAddr(address.0)).map(u64::cast_signed) else { return Ok(None) };
        let record = first(&self.slots, SLOTS, (key, 0))?;
        if record >= self.slots.len() {
            return Ok(None);
        }
        let [address, slot] = self.slots.record(record).within(SLOTS)?;
        Ok((address == key).then_some(slot))
    }

    /// Says of a frame that [`SymbolFile::resolve_one`] resolved, and whose callers tell nothing, which functions of its group stand
    /// at the word of tables of virtual functions that the call goes through: they come first, and the answer is
    /// [`Certainty::Likely`] where that is one function and no table may lead to others. Nothing is ruled out. `caller` is the
    /// next frame out. Changes nothing elsewhere. Ask it before [`SymbolFile::resolve_object`], and before frames further in are
    /// resolved.
    ///
    /// Takes log2 of the records of SLOTS, and for each function of the group log2 of the records of OVERRIDERS; past
    /// [`MAX_FRAME_STEPS`] nothing is told.
    ///
    /// # Errors
    /// Damage at a place that it reads.
    pub fn resolve_slot(&self, resolved: &mut Resolved, caller: Option<StackAddr>) -> Result<(), Error> {
        const OVERRIDERS: SectionId = SectionId::OVERRIDERS;
        let untold = resolved.open && resolved.named_len == 0 && !resolved.full;
        let Some(id) = resolved.group.filter(|_| untold && !self.overriders.is_empty()) else {
            return Ok(());
        };
        let slot = self.slot(caller)?.filter(|slot| slot & slots::BY_OBJECT != 0);
        let Some(slot) = slot else { return Ok(()) };
        let group = Group::read(self, id)?;
        if group.len() > MAX_FRAME_STEPS / SEARCH_STEPS {
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
