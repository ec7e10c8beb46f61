//! Makes keys from the relocations of calls that the linker kept (`--emit-relocs`), where no DIE records the call, or where the DIE has
//! only the callee's plain name.

use crate::keys::callee::CalleeSource;
use crate::keys::calls::key_builder::CallKeyBuilder;
use crate::model::{CallKey, How, ImageAddr, Owner, UnitCall, UnitCode, UnitFunction, UnitRecords};
use crate::util::hash::{HashMap, HashSet};

impl CallKeyBuilder<'_, '_, '_> {
    /// Adds a key for each call whose kept relocation names the callee, unless a DIE or a call table records the call with a linkage name.
    /// The key takes the place of one that the plain name gave.
    pub(crate) fn of_relocations(&mut self) {
        let index = self.index;
        // Only calls of these functions need keys.
        let callees =
            index.functions.starts.iter().zip(self.may_lead_into_group).filter(|(_, leads)| **leads);
        let callees: HashSet<ImageAddr> = callees.map(|(start, _)| *start).collect();
        let named = index.functions.machine.named_calls(|address| callees.contains(&address));
        let mut open: HashSet<ImageAddr> = named.iter().map(|call| call.return_addr).collect();
        if open.is_empty() {
            return;
        }
        let units = index.functions.records.units.iter().zip(&index.functions.program.code);
        let mut plain: HashMap<ImageAddr, &[u8]> = HashMap::default();
        for (number, (unit, code)) in units.enumerate() {
            for call in recorded(unit, code) {
                let Some(address) = call.return_addr().filter(|address| open.contains(address)) else {
                    continue;
                };
                // A call that is recorded by a plain name stays open: its relocation names the symbol of the callee.
                match index.callee(number, call.callee()).plain_name(&index.functions) {
                    Some(name) => _ = plain.insert(address, name),
                    None => _ = open.remove(&address),
                }
            }
        }
        let of_record: HashSet<ImageAddr> = self.calls.iter().map(|key| key.return_addr).collect();
        let mut found = Vec::new();
        for call in named.into_iter().filter(|call| open.contains(&call.return_addr)) {
            let Some(name_id) = index.functions.placed.name_of(call.name) else { continue };
            let Some(Some(callee)) = index.functions.of_name(name_id) else { continue };
            if index.functions.is_plain_alias(name_id, callee)
                // The symbol of the relocation may be another definition of the name, at another address.
                || index.functions.starts[callee.index()] != call.callee
                || plain
                    .get(&call.return_addr)
                    .is_some_and(|name| !index.functions.has_plain_name(callee, name))
            {
                continue;
            }
            let return_addr = call.return_addr;
            // The relocations in folded code are the survivor's.
            let caller = match index.functions.calling_group(return_addr) {
                None => None,
                Some(group) => {
                    let members = &index.functions.program.groups[group.index()].members;
                    // If several members kept their addresses, nothing shows which is the survivor.
                    let mut live = members.iter().filter(|member| member.how == How::LiveRange);
                    let (Some(only), None) = (live.next(), live.next()) else { continue };
                    Some(only.function)
                }
            };
            let owner = caller.or(match index.functions.owner_before(return_addr) {
                Some(Owner::Function(function)) => Some(function),
                _ => None,
            });
            if owner.is_some_and(|owner| self.index.ambiguous_parts.at(&index.functions, owner, return_addr))
            {
                continue;
            }
            let unit = owner.and_then(|owner| index.functions.calls(owner)).map(|(unit, ..)| unit);
            let how = index.how(unit, callee, CalleeSource::Relocation);
            // A call with a key from its record is counted already.
            let counts = self.counts;
            if self.needs_key(return_addr, callee, how) {
                found.extend(how.map(|how| CallKey { return_addr, caller, callee, how }));
            }
            if of_record.contains(&return_addr) {
                self.counts = counts;
            }
        }
        // Where several members have the recorded plain name, the relocation shows which one is called.
        let decided: HashSet<_> = found.iter().map(|key| (key.return_addr, key.caller)).collect();
        self.calls.retain(|key| !decided.contains(&(key.return_addr, key.caller)));
        self.calls.extend(found);
    }
}

/// The calls that a unit records: those of its functions, and those of tables. A function whose calls were dropped has none, since
/// their return addresses may be those of other calls.
fn recorded<'u>(unit: &'u UnitRecords<'_>, code: &'u UnitCode<'_>) -> impl Iterator<Item = &'u UnitCall> {
    let of_function = |function: &UnitFunction| {
        let range = &function.calls.range;
        &unit.calls[range.start as usize..range.end as usize]
    };
    code.functions.iter().flat_map(of_function).chain(&unit.listed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Calls, DieOffset, Instance, LocalOrigin, Lost, NONE16};

    #[test]
    fn calls_that_were_dropped_are_not_recorded() {
        let call = |address| UnitCall::new(Some(ImageAddr(address)), None, false, NONE16);
        let function = |range| UnitFunction {
            die: DieOffset(0),
            origin: LocalOrigin(0),
            instance: Instance::default(),
            how: How::LiveRange,
            external: true,
            pieces: 0..0,
            scopes: 0..0,
            lost: Lost::default(),
            calls: Calls { range, all_tail_calls: false, all_calls: false },
        };
        let unit = UnitRecords {
            calls: [1, 2, 3].map(call).to_vec().into(),
            listed: vec![call(4)],
            ..UnitRecords::default()
        };
        let code = UnitCode {
            functions: vec![function(0..1), function(1..1), function(2..3)].into(),
            ..UnitCode::default()
        };
        let addresses: Vec<u64> =
            recorded(&unit, &code).filter_map(UnitCall::return_addr).map(|address| address.0).collect();
        assert_eq!(addresses, [1, 3, 4]);
    }
}
