//! Checks the records of calls and of tables of virtual functions: sorted, distinct, of functions that exist.

use foldsym_format::SectionId;
use foldsym_format::sections::{calls, slots, vtables};

use crate::error::{Error, InSection, order, value};
use crate::file::SymbolFile;
use crate::object::MAX_METHODS;
use crate::stack::MAX_TAILS;

impl SymbolFile<'_> {
    /// Call keys and tail calls: sorted, distinct, of functions that exist.
    pub(crate) fn verify_calls(&self) -> Result<(), Error> {
        const CALLS: SectionId = SectionId::CALLS;
        const TAILS: SectionId = SectionId::TAILS;
        let functions = i64::from(self.functions.len());
        let mut before = None;
        for id in 0..self.calls.len() {
            let [address, caller, callee, how] = self.calls.record(id).within(CALLS)?;
            if before.is_some_and(|before| before >= (address, caller)) {
                return Err(order(CALLS, id));
            }
            before = Some((address, caller));
            // `caller` is 1 + function, so it may equal the number of functions.
            let known = (0..functions).contains(&callee) && (0..=functions).contains(&caller);
            if !known || address < 0 || !(0..=calls::NAME_ALONE.cast_signed()).contains(&how) {
                return Err(value(CALLS, id));
            }
        }
        let mut before = None;
        let mut listed = 0usize;
        for id in 0..self.tails.len() {
            let [function, target] = self.tails.record(id).within(TAILS)?;
            if before.is_some_and(|before| before >= (function, target)) {
                return Err(order(TAILS, id));
            }
            let same = before.is_some_and(|(before, _)| before == function);
            listed = if same { listed.saturating_add(1) } else { 1 };
            before = Some((function, target));
            let known = (0..functions).contains(&function) && (0..=functions).contains(&target);
            // A lookup reads no more of one function.
            if !known || target == function.saturating_add(1) || listed > MAX_TAILS {
                return Err(value(TAILS, id));
            }
        }
        Ok(())
    }

    /// Tables of virtual functions and the calls through them: sorted, distinct, of functions that exist.
    pub(crate) fn verify_vtables(&self) -> Result<(), Error> {
        const VTABLES: SectionId = SectionId::VTABLES;
        const SLOTS: SectionId = SectionId::SLOTS;
        const OVERRIDERS: SectionId = SectionId::OVERRIDERS;
        const MAX_SLOT: i64 = u16::MAX as i64;
        let functions = i64::from(self.functions.len());
        let mut before = None;
        let mut listed = 0usize;
        for id in 0..self.vtables.len() {
            let [point, function, slot, doubtful] = self.vtables.record(id).within(VTABLES)?;
            if before.is_some_and(|before: (i64, i64, i64)| before >= (point, function, slot)) {
                return Err(order(VTABLES, id));
            }
            let same = before.is_some_and(|(before, ..)| before == point);
            listed = if same { listed.saturating_add(1) } else { 1 };
            before = Some((point, function, slot));
            let known = (0..functions).contains(&function) && (0..=MAX_SLOT).contains(&slot);
            // A lookup reads no more of one table.
            if !known || point < 0 || !(0..=vtables::GUESSED).contains(&doubtful) || listed > MAX_METHODS {
                return Err(value(VTABLES, id));
            }
        }
        let mut before = -1;
        for id in 0..self.slots.len() {
            let [address, slot] = self.slots.record(id).within(SLOTS)?;
            if address <= before {
                return Err(order(SLOTS, id));
            }
            before = address;
            let marked = (0..2 * slots::BY_OBJECT).contains(&slot);
            if !marked || slot & slots::WORD == MAX_SLOT {
                return Err(value(SLOTS, id));
            }
        }
        let mut before = None;
        for id in 0..self.overriders.len() {
            let [slot, function, doubtful] = self.overriders.record(id).within(OVERRIDERS)?;
            if before.is_some_and(|before| before >= (slot, function)) {
                return Err(order(OVERRIDERS, id));
            }
            before = Some((slot, function));
            let known = (0..functions).contains(&function) && (0..MAX_SLOT).contains(&slot);
            if !known || !(0..=1).contains(&doubtful) {
                return Err(value(OVERRIDERS, id));
            }
        }
        Ok(())
    }
}
