//! The functions that a virtual call may call, where the compiler recorded the method of the static class (sections DISPATCHES and TARGETS).

use foldsym_format::{SectionId, Table, steps};

use crate::answer::{Certainty, Evidence};
use crate::entities::Group;
use crate::error::{Error, InSection, order, value};
use crate::file::SymbolFile;
use crate::ids::ImageAddr;
use crate::stack::{Resolved, StackAddr, charge, first};

const DISPATCHES: SectionId = SectionId::DISPATCHES;
const TARGETS: SectionId = SectionId::TARGETS;

/// Most steps of a search in TARGETS, which halves at most 2^32 records, and one for the member.
const SEARCH_STEPS: u32 = 33;

/// Records of TARGETS for any object have this point.
const ANY_OBJECT: i64 = 0;

impl SymbolFile<'_> {
    /// The set of functions that a call may call; `None` if `caller` is no return address, or one without a set.
    pub(crate) fn dispatch_set(&self, caller: Option<StackAddr>) -> Result<Option<i64>, Error> {
        let Some(StackAddr::Return(address)) = caller else { return Ok(None) };
        let Some(key) = self.key(ImageAddr(address.0)).map(u64::cast_signed) else { return Ok(None) };
        let record = first(&self.dispatches, DISPATCHES, (key, 0))?;
        if record >= self.dispatches.len() {
            return Ok(None);
        }
        let [address, set] = self.dispatches.record(record).within(DISPATCHES)?;
        Ok((address == key).then_some(set))
    }

    /// Names the members of a group that a set has for objects whose vtable pointer is `point` (minus the image base); without one, for any
    /// object. True if one of them is doubtful; `None` without members.
    ///
    /// Takes log2 of the records of TARGETS for each member, off `left`. If these steps do not suffice, it names none.
    fn name_targets(
        &self,
        group: Group,
        (set, point): (i64, Option<i64>),
        found: &mut Resolved,
        left: &mut u32,
    ) -> Result<Option<bool>, Error> {
        if !charge(left, group.len().saturating_mul(SEARCH_STEPS)) {
            return Ok(None);
        }
        let point = point.map_or(ANY_OBJECT, |point| point.saturating_add(1));
        let mut doubtful = None;
        for index in 0..group.len() {
            steps::step();
            let function = i64::from(self.member_function(group, index)?.0);
            let key = [set, point, function];
            let record = first_of(&self.targets, key)?;
            if record < self.targets.len() {
                let [of_set, of_point, here, doubt] = self.targets.record(record).within(TARGETS)?;
                if [of_set, of_point, here] == key {
                    found.name(index);
                    doubtful = Some(doubt != 0 || doubtful == Some(true));
                }
            }
        }
        Ok(doubtful)
    }

    /// The step of [`SymbolFile::resolve_slot`] for a call of a set; false if the file has no such set, or none for this group.
    pub(crate) fn resolve_dispatch(
        &self,
        resolved: &mut Resolved,
        group: Group,
        caller: Option<StackAddr>,
        left: &mut u32,
    ) -> Result<bool, Error> {
        let Some(set) = self.dispatch_set(caller)? else { return Ok(false) };
        let mut found = *resolved;
        let Some(doubtful) = self.name_targets(group, (set, None), &mut found, left)? else {
            return Ok(false);
        };
        // The compiler may have merged two virtual calls, and keeps one record: no member is ruled out.
        if found.named_len == 1 && !doubtful {
            (found.certainty, found.evidence) = (Some(Certainty::Likely), Some(Evidence::VirtualSlot));
        }
        *resolved = found;
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
        let Some(set) = self.dispatch_set(caller)? else { return Ok(()) };
        let doubtful = self.name_targets(group, (set, Some(point)), found, left)?;
        found.open |= doubtful == Some(true);
        Ok(())
    }

    /// Virtual calls and their sets: sorted, distinct, of functions that exist.
    pub(crate) fn verify_dispatches(&self) -> Result<(), Error> {
        let mut before = -1;
        for id in 0..self.dispatches.len() {
            let [address, set] = self.dispatches.record(id).within(DISPATCHES)?;
            if address <= before {
                return Err(order(DISPATCHES, id));
            }
            before = address;
            if set < 0 {
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

/// The first record of TARGETS whose first three columns are not below `key`. Takes log2 of the records.
fn first_of(table: &Table<'_>, key: [i64; 3]) -> Result<u32, Error> {
    let (mut low, mut high) = (0, table.len());
    while low < high {
        steps::step();
        let middle = low.midpoint(high);
        let [set, point, function, _] = table.record(middle).within(TARGETS)?;
        if [set, point, function] < key { low = middle.saturating_add(1) } else { high = middle }
    }
    Ok(low)
}
