//! Turns call sites into keys: the calls that compilers recorded in code of one function, and in folded code, where each
//! member has a callee of its own. `CallKeyBuilder::needs_key` decides whether a call needs a key, and `callee_trust` whether its
//! record can be trusted. `pairs` makes the keys of calls whose addresses the linker erased.

use crate::keys::callee::Callee;
use crate::keys::calls::key_builder::CallKeyBuilder;
use crate::model::{CallHow, CallKey, FuncId, GroupId, How, ImageAddr};
use crate::util::hash::HashMap;

impl CallKeyBuilder<'_, '_, '_> {
    /// Calls in code that is not folded.
    pub(crate) fn of_single_functions(&mut self) {
        for id in (0..self.index.functions.program.functions.len() as u32).map(FuncId) {
            let Some((unit, _, listed)) = self.index.functions.calls(id) else { continue };
            for call in listed {
                let Some(return_addr) = call.return_addr() else { continue };
                let found = self.index.callee_at(unit, call.callee(), return_addr);
                let Some((callee, source)) = found.function() else { continue };
                // True for most callees, and cheap: the searches by address come after it.
                if !self.may_lead_into_group[callee.index()] {
                    continue;
                }
                let range = self.index.functions.ranges_of(id).last_below(return_addr);
                // A return address at the end of the range counts: the last call may never return.
                if range.is_none_or(|range| range.end < return_addr)
                    || self.index.functions.calling_group(return_addr).is_some()
                    || self.index.ambiguous_parts.at(&self.index.functions, id, return_addr)
                {
                    continue;
                }
                self.add_recorded(unit, return_addr, None, (callee, source));
            }
        }
    }

    /// Calls in folded code: each has one callee per member.
    pub(crate) fn of_groups(&mut self) {
        for (index, group) in self.index.functions.program.groups.iter().enumerate() {
            let id = GroupId(index as u32);
            let live = group.members.iter().filter(|member| member.how == How::LiveRange);
            // With gold several members keep their addresses. They have the same code, so any list of their calls serves.
            let remaining =
                live.map(|member| self.live_calls(id, member.function)).find(|calls| !calls.is_empty());
            let mut found: HashMap<ImageAddr, Vec<(FuncId, FuncId, CallHow)>> = HashMap::default();
            let mut order = Vec::new();
            for member in &group.members {
                // With relocations that the linker kept, a folded function may have its return addresses too.
                let own = self.live_calls(id, member.function);
                let calls = match (member.how, &remaining) {
                    (How::LiveRange, _) => own,
                    _ if !own.is_empty() => own,
                    (_, Some(remaining)) => self.paired(remaining, member.function),
                    (_, None) => Vec::new(),
                };
                let erased = self
                    .index
                    .functions
                    .calls(member.function)
                    .map_or((0, &[][..]), |(unit, _, listed)| (unit, listed));
                if calls.is_empty() {
                    // The calls are in code that has an address, but nothing shows which call is which.
                    self.counts.into_groups += erased
                        .1
                        .iter()
                        .filter(|call| !call.is_tail() && self.grouped(erased.0, call))
                        .count() as u64;
                }
                for (address, callee) in calls {
                    let Some((callee, source)) = callee.function() else { continue };
                    let how = self.index.how(Some(erased.0), callee, source);
                    if self.needs_key(address, callee, how)
                        && let Some(how) = how
                        && !self.index.ambiguous_parts.at(&self.index.functions, member.function, address)
                    {
                        let at = found.entry(address).or_default();
                        if at.is_empty() {
                            order.push(address);
                        }
                        at.push((member.function, callee, how));
                    }
                }
            }
            for address in order {
                let calls = &found[&address];
                let (_, callee, how) = calls[0];
                let key = |caller, callee, how| CallKey { return_addr: address, caller, callee, how };
                // If every member calls the same function, the reader need not know the caller, and the file needs one key.
                if calls.len() == group.members.len()
                    && calls.iter().all(|call| (call.1, call.2) == (callee, how))
                {
                    self.calls.push(key(None, callee, how));
                } else {
                    let of_callers =
                        calls.iter().map(|&(caller, callee, how)| key(Some(caller), callee, how));
                    self.calls.extend(of_callers);
                }
            }
        }
    }

    /// The calls of a function in the code of a group, in the order of their DIEs.
    fn live_calls(&self, group: GroupId, function: FuncId) -> Vec<(ImageAddr, Callee)> {
        let Some((unit, _, listed)) = self.index.functions.calls(function) else { return Vec::new() };
        if !self.steps.spend(listed.len()) {
            return Vec::new();
        }
        let here = listed
            .iter()
            .filter_map(|call| Some((call.return_addr()?, call.callee())))
            .map(|(address, callee)| (address, self.index.callee_at(unit, callee, address)));
        // Other parts of the function may be in other groups, or in none.
        here.filter(|&(address, _)| self.index.functions.calling_group(address) == Some(group)).collect()
    }
}
