//! Keys of calls that only a call table (`.debug_dcall`) lists.

use crate::keys::calls::key_builder::CallKeyBuilder;
use crate::model::{How, ImageAddr, UnitCall};
use crate::util::hash::HashSet;

impl CallKeyBuilder<'_, '_, '_> {
    /// Adds keys of calls that only call tables record.
    pub(crate) fn of_tables(&mut self) {
        let index = self.index;
        let units = &index.functions.records.units;
        if units.iter().all(|unit| unit.listed.is_empty()) {
            return;
        }
        let calls = units.iter().flat_map(|unit| unit.calls.iter()).filter_map(UnitCall::return_addr);
        let recorded: HashSet<ImageAddr> = calls.collect();
        for (unit_index, unit) in units.iter().enumerate() {
            for call in &unit.listed {
                let Some(return_addr) = call.return_addr().filter(|at| !recorded.contains(at)) else {
                    continue;
                };
                let found = index.callee_at(unit_index, call.callee(), return_addr);
                let Some((callee, source)) = found.function() else { continue };
                let caller = match index.functions.calling_group(return_addr) {
                    None => None,
                    Some(group) => {
                        // The table lists no calls of functions whose addresses were erased.
                        let members = index.functions.program.groups[group.index()].members.iter();
                        let mut here = members.filter(|member| {
                            let source = index.functions.program.functions[member.function.index()].source;
                            let own = source.is_some_and(|source| source.unit.index() == unit_index);
                            own && member.how == How::LiveRange
                        });
                        match (here.next(), here.next()) {
                            (Some(only), None) => Some(only.function),
                            _ => {
                                self.counts.into_groups += u64::from(self.grouped(unit_index, call));
                                continue;
                            }
                        }
                    }
                };
                self.add_recorded(unit_index, return_addr, caller, (callee, source));
            }
        }
    }
}
