//! Finds the method that each virtual call names: that of the static class of the object, which the callee is or overrides. clang 23 records
//! it (`DW_AT_LLVM_virtual_call_origin`).
//!
//! A call in folded code has one return address but may name a method for each function of the group. The linker erased the addresses of
//! all but the survivor's calls. clang writes the calls of a function in the order of its code, so two lists of the same calls belong
//! together one by one. If the lists differ, nothing is known of these calls.
//!
//! LLVM may merge two calls into one and keep one record. If they are on different lines, the merged call has line 0, and its record does not count.
//! Nor do the records of units whose functions LLVM merged: the code of one function may run for the other.

use crate::keys::callee::Callee;
use crate::keys::index::Index;
use crate::keys::objects::hierarchy::{Classes, Method};
use crate::keys::objects::slot_names::is_method;
use crate::model::{
    FuncId, Group, GroupId, How, ImageAddr, LocalCallee, Member, NONE16, NameId, Owner, UnitCall,
};
use crate::program::names::itanium::nested;
use crate::util::hash::HashMap;

/// A method as a virtual call names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct StaticMethod {
    /// Index into [`Classes::list`].
    pub(crate) class: usize,
    /// Its linkage name; `None` for the destructor of the class.
    pub(crate) name: Option<NameId>,
    /// The word of the class's vtable, as the call shows it; [`NONE16`] if it does not.
    pub(crate) slot: u16,
}

/// A virtual call and the methods that it may name: several only in folded code.
pub(crate) struct VirtualCall {
    pub(crate) return_addr: ImageAddr,
    /// Sorted, distinct.
    pub(crate) methods: Vec<StaticMethod>,
}

/// The virtual calls of the program whose methods are known, by return address.
pub(crate) fn virtual_calls(index: &Index<'_, '_>, classes: &Classes<'_>) -> Vec<VirtualCall> {
    let mut reader = CallReader { index, classes, known: HashMap::default(), found: Vec::new() };
    let all = index.functions.records.units.iter().flat_map(|unit| unit.calls.iter());
    if !all.into_iter().any(|call| call.method().is_some()) {
        return reader.found;
    }
    reader.of_single_functions();
    for (number, group) in (0..).zip(&index.functions.program.groups) {
        reader.of_group(GroupId(number), group);
    }
    let mut found = reader.found;
    found.sort_unstable_by_key(|call| call.return_addr);
    // Two functions that are no group have no call in common. If a damaged file says so, neither record counts.
    let alone = |same: &[VirtualCall]| same.len() == 1;
    let several = found.chunk_by(|a, b| a.return_addr == b.return_addr).filter(|same| !alone(same));
    let several: Vec<ImageAddr> = several.map(|same| same[0].return_addr).collect();
    found.retain(|call| several.binary_search(&call.return_addr).is_err());
    found
}

struct CallReader<'r, 'p, 'f> {
    index: &'r Index<'p, 'f>,
    classes: &'r Classes<'r>,
    /// By unit and the declaration that calls name.
    known: HashMap<(usize, LocalCallee), Option<StaticMethod>>,
    found: Vec<VirtualCall>,
}

impl<'p> CallReader<'_, 'p, '_> {
    /// Calls in code that is not folded.
    fn of_single_functions(&mut self) {
        let functions = &self.index.functions;
        for id in (0..functions.program.functions.len() as u32).map(FuncId) {
            let Some((unit, _, listed)) = functions.calls(id) else { continue };
            for call in listed.iter().filter(|call| !call.is_tail() && call.method().is_some()) {
                let Some(return_addr) = call.return_addr() else { continue };
                let range = functions.ranges_of(id).last_below(return_addr);
                if range.is_none_or(|range| range.end < return_addr)
                    || functions.calling_group(return_addr).is_some()
                    || self.index.ambiguous_parts.at(functions, id, return_addr)
                {
                    continue;
                }
                if let Some(method) = self.method(unit, call)
                    && !self.lacks_line(return_addr)
                {
                    self.found.push(VirtualCall { return_addr, methods: vec![method] });
                }
            }
        }
    }

    /// Calls in folded code: for each, the methods that the calls of all members name.
    fn of_group(&mut self, id: GroupId, group: &Group) {
        let live = group.members.iter().filter(|member| member.how == How::LiveRange);
        let remaining = live.map(|member| self.live_calls(id, member)).find(|calls| !calls.is_empty());
        let Some(remaining) = remaining else { return };
        let is_ordered = remaining.windows(2).all(|pair| pair[0].1.return_addr() < pair[1].1.return_addr());
        if !is_ordered || remaining.iter().all(|(_, call)| call.method().is_none()) {
            return;
        }
        let mut methods: Vec<Option<Vec<StaticMethod>>> = vec![Some(Vec::new()); remaining.len()];
        for member in &group.members {
            let Some(own) = self.calls_beside(id, member, &remaining) else { return };
            for (&(unit, call), of) in own.iter().zip(&mut methods) {
                let method = self.method(unit, call);
                *of = of.take().zip(method).map(|(mut all, method)| {
                    all.push(method);
                    all
                });
            }
        }
        for ((_, call), methods) in remaining.iter().zip(methods) {
            let (Some(mut methods), Some(return_addr)) = (methods, call.return_addr()) else { continue };
            if self.lacks_line(return_addr) {
                continue;
            }
            methods.sort_unstable();
            methods.dedup();
            self.found.push(VirtualCall { return_addr, methods });
        }
    }

    /// The calls of a member with addresses in the code of its group, in the order of the DIEs, each with the unit.
    fn live_calls(&self, group: GroupId, member: &Member) -> Vec<(usize, &'p UnitCall)> {
        let functions = &self.index.functions;
        let Some((unit, _, listed)) = functions.calls(member.function) else { return Vec::new() };
        let is_here = |call: &&UnitCall| {
            let address = call.return_addr().filter(|_| !call.is_tail());
            address.is_some_and(|address| functions.calling_group(address) == Some(group))
        };
        listed.iter().filter(is_here).map(|call| (unit, call)).collect()
    }

    /// The calls of a member in the order of the survivor's; `None` if they do not belong together one by one.
    fn calls_beside(
        &self,
        group: GroupId,
        member: &Member,
        remaining: &[(usize, &'p UnitCall)],
    ) -> Option<Vec<(usize, &'p UnitCall)>> {
        let own = self.live_calls(group, member);
        let (own, has_addresses) = match own.is_empty() {
            false => (own, true),
            true => {
                let (unit, _, listed) = self.index.functions.calls(member.function)?;
                let erased = listed.iter().filter(|call| !call.is_tail() && call.return_addr().is_none());
                (erased.map(|call| (unit, call)).collect(), false)
            }
        };
        let is_same = |(a, b): (&(usize, &UnitCall), &(usize, &UnitCall))| {
            let same_place = !has_addresses || a.1.return_addr() == b.1.return_addr();
            same_place && a.1.slot == b.1.slot && self.is_same_call(*a, *b)
        };
        let is_all = own.len() == remaining.len() && own.iter().zip(remaining).all(is_same);
        is_all.then_some(own)
    }

    /// True if two calls may be one call of folded code.
    fn is_same_call(&self, a: (usize, &UnitCall), b: (usize, &UnitCall)) -> bool {
        if a.1.method().is_some() != b.1.method().is_some() {
            return false;
        }
        let callee = |(unit, call): (usize, &UnitCall)| self.index.callee(unit, call.callee());
        let starts = &self.index.functions.starts;
        match (callee(a), callee(b)) {
            (Callee::Function(a), Callee::Function(b)) => starts[a.index()] == starts[b.index()],
            (Callee::OtherModule(a), Callee::OtherModule(b)) => a == b,
            (Callee::Indirect, Callee::Indirect) => true,
            _ => false,
        }
    }

    /// True if the line table gives a call no line, or does not have it.
    fn lacks_line(&self, return_addr: ImageAddr) -> bool {
        let program = self.index.functions.program;
        let after = program.pieces.partition_point(|piece| piece.start < return_addr);
        let Some(piece) = after.checked_sub(1).and_then(|at| program.pieces.get(at)) else { return true };
        let rows = match piece.owner {
            Owner::Function(_) => piece.rows,
            Owner::Group(group) => {
                let live = |member: &&Member| member.how == How::LiveRange && member.rows.is_some();
                program.groups[group.index()].members.iter().find(live).and_then(|member| member.rows)
            }
        };
        let Some(rows) = rows else { return true };
        // The last byte of the call; rows count from the start of the whole range.
        let offset = (return_addr - piece.start).saturating_sub(1).saturating_add(u64::from(rows.skip));
        let listed = program.code[rows.unit.index()].rows_of(rows.range);
        let before = listed.partition_point(|row| u64::from(row.offset) <= offset);
        before.checked_sub(1).is_none_or(|at| listed[at].line == 0)
    }

    /// The method that a call names, if a class of the program declares it at the slot of the call.
    fn method(&mut self, unit: usize, call: &UnitCall) -> Option<StaticMethod> {
        let named = call.method()?;
        let (index, classes) = (self.index, self.classes);
        if index.merged_units.within[unit].is_some() {
            return None;
        }
        let of = *self.known.entry((unit, named)).or_insert_with(|| {
            let callee = &index.functions.records.units[unit].callees[named.index()];
            let program = index.functions.program;
            let origin = program.origin_of(unit, callee.origin);
            let name = program.origins[origin.index()].name;
            declared(classes, unit, name, index.functions.text(name))
        });
        let of = of?;
        let Some(method) = of.name.and_then(|name| described(classes, of.class, index.functions.text(name)))
        else {
            // A destructor has two words, of which DWARF has neither. Of a class that no unit describes only the call shows the word.
            return Some(StaticMethod { slot: call.slot, ..of });
        };
        let fits = call.slot == NONE16 || call.slot == method.slot;
        fits.then_some(StaticMethod { slot: method.slot, ..of })
    }
}

/// The method of this linkage name, without its slot. A unit may only declare the class, or refer to a type unit: then another unit describes
/// it, or type information names it.
fn declared(classes: &Classes<'_>, unit: usize, name: NameId, text: &[u8]) -> Option<StaticMethod> {
    nested(text)?;
    classes.named(text, unit as u32).into_iter().find_map(|class| {
        let within = classes.list[class].within(text)?;
        // The destructor of this name (`D4`) is none of the functions that a compiler makes of it (Itanium C++ ABI 5.1.4).
        let is_destructor = within.rest == b"D4Ev";
        let is_own = is_destructor || is_method(within.rest);
        is_own.then_some(StaticMethod { class, name: (!is_destructor).then_some(name), slot: NONE16 })
    })
}

/// The virtual method of this linkage name that a class declares, if a unit describes the class.
fn described<'c>(classes: &'c Classes<'_>, class: usize, name: &[u8]) -> Option<&'c Method<'c>> {
    classes.list[class].methods.iter().find(|method| method.is_virtual && method.linkage_name == name)
}
