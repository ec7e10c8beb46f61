//! The types of the functions of a program, as the call graph hashes them: from the record of a function, or from its DIE.
//!
//! Example: the linker folded `int get(B *)` into `int get(A *)`. lld kept the record of the second alone: the hash of `_ZTSFiP1AE`. The
//! type of the first comes from its DIE. mold and gold keep both records, each with the address of the survivor, in the order of the
//! objects and of the functions in them. clang writes DIEs in the same order.
//!
//! **The types of DIEs are proven on this program first.** Every function that has a DIE and the only record at its address must have the
//! same type in both. If one differs, the compiler is one that hashes otherwise, and no type of the program is used.

use crate::diagnostics::{Diagnostics, Kind};
use crate::keys::index::Index;
use crate::model::{
    CallGraph, CallGraphRecord, CallTypes, FuncId, FunctionType, Group, GroupId, How, ImageAddr, Member,
    Owner, TypeHash,
};
use crate::util::hash::HashMap;

/// The type of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KnownType {
    /// `None`: no call through a pointer calls the function.
    pub(crate) id: Option<TypeHash>,
    /// It may override a method of another type: see [`FunctionType::returns_pointer`]. True if that is not known.
    pub(crate) returns_pointer: bool,
}

/// The types of functions, by their records and DIEs.
pub(crate) struct FunctionTypes<'t> {
    graph: &'t CallGraph,
    /// Indexes of the records, by their addresses, then in their order.
    by_entry: Vec<u32>,
    /// By function.
    known: HashMap<FuncId, KnownType>,
}

impl<'t> FunctionTypes<'t> {
    /// The types of the functions of a program, if those of its DIEs are proven.
    pub(crate) fn proven(
        index: &Index<'_, '_>,
        types: &'t CallTypes,
        diagnostics: &mut Diagnostics,
    ) -> Option<FunctionTypes<'t>> {
        let graph = &types.graph;
        let mut by_entry: Vec<u32> = (0..graph.records.len() as u32).collect();
        by_entry.sort_by_key(|at| graph.records[*at as usize].entry);
        let mut found = FunctionTypes { graph, by_entry, known: HashMap::default() };
        let described = described(index, types);
        let form = found.form(index, &described, diagnostics)?;
        for id in (0..index.functions.program.functions.len() as u32).map(FuncId) {
            if index.functions.group(id).is_none()
                && let Some(record) = found.only_at(index.functions.starts[id.index()])
            {
                let returns_pointer = described.get(&id).is_none_or(|of| of.returns_pointer);
                found.known.insert(id, KnownType { id: record.type_id, returns_pointer });
            }
        }
        for (number, group) in (0..).zip(&index.functions.program.groups) {
            found.add_group(index, (GroupId(number), group), (&described, form));
        }
        Some(found)
    }

    /// The form of hashes that fits all functions with a record and a DIE; `None` if none fits, or if there is no such function.
    fn form(
        &self,
        index: &Index<'_, '_>,
        described: &HashMap<FuncId, FunctionType>,
        diagnostics: &mut Diagnostics,
    ) -> Option<usize> {
        let mut fits = [true; 2];
        let mut first = None;
        for same in self.by_entry.chunk_by(|a, b| self.record(*a).entry == self.record(*b).entry) {
            let [at] = *same else { continue };
            let record = self.record(at);
            let function = match index.owner_at(record.entry) {
                Some(Owner::Function(function)) => Some(function),
                Some(Owner::Group(group)) => self.survivor(index, group),
                None => None,
            };
            let function = function.filter(|of| index.functions.starts[of.index()] == record.entry);
            let of = function.and_then(|function| described.get(&function));
            let Some((of, id)) = of.zip(record.type_id) else { continue };
            for (fits, known) in fits.iter_mut().zip(of.ids) {
                *fits &= known == id;
            }
            if first.is_none() || fits == [false; 2] {
                first = Some((of.die, record.entry, id));
            }
            if fits == [false; 2] {
                break;
            }
        }
        let (die, entry, id) = first?;
        let form = fits.iter().position(|fits| *fits);
        if form.is_none() {
            diagnostics.add(Kind::CallGraphTypes, die.0, || {
                let (entry, id) = (entry.0, id.0);
                format!("the call graph gives the function at {entry:#x} the type {id:#x}, and its DIE at {:#x} another", die.0)
            });
        }
        form
    }

    /// The only member of a group that kept its address: its record is that of the group.
    fn survivor(&self, index: &Index<'_, '_>, group: GroupId) -> Option<FuncId> {
        let members = &index.functions.program.groups[group.index()].members;
        let mut live = members.iter().filter(|member| member.how == How::LiveRange);
        live.next().filter(|_| live.next().is_none()).map(|member| member.function)
    }

    /// The types of the members of a group.
    fn add_group(
        &mut self,
        index: &Index<'_, '_>,
        (id, group): (GroupId, &Group),
        (described, form): (&HashMap<FuncId, FunctionType>, usize),
    ) {
        let Some(start) = start_of(index, group) else { return };
        // More records than members are of functions that the group does not have.
        let records = self.at(start, group.members.len()).unwrap_or_default();
        let survivor = self.survivor(index, id);
        let by_die = |member: &Member| {
            let of = described.get(&member.function)?;
            Some(KnownType { id: Some(of.ids[form]), returns_pointer: of.returns_pointer })
        };
        let by_record = |function: FuncId, record: &CallGraphRecord| {
            let returns_pointer = described.get(&function).is_none_or(|of| of.returns_pointer);
            KnownType { id: record.type_id, returns_pointer }
        };
        let mut found: Vec<(FuncId, KnownType)> = Vec::new();
        match (&records[..], survivor) {
            ([record], Some(survivor)) => found.push((survivor, by_record(survivor, record))),
            (several, _) => {
                // By the order of DIEs, which is that of the records.
                let mut members: Vec<(u32, u64, &Member)> = Vec::new();
                for member in &group.members {
                    let function = &index.functions.program.functions[member.function.index()];
                    let Some(source) = function.source else { break };
                    let unit = source.unit.index();
                    let die = index.functions.program.code[unit].functions[source.function.index()].die;
                    members.push((unit as u32, die.0, member));
                }
                members.sort_unstable_by_key(|(unit, die, _)| (*unit, *die));
                let fits = |(record, (_, _, member)): (&&CallGraphRecord, &(u32, u64, &Member))| {
                    let known = by_die(member).and_then(|of| of.id);
                    known.zip(record.type_id).is_none_or(|(known, id)| known == id)
                };
                // A discarded copy would have a DIE and no record: then the numbers differ.
                let is_all = several.len() == group.members.len() && several.len() == members.len();
                if is_all && several.iter().zip(&members).all(fits) {
                    let pairs = several.iter().zip(&members);
                    let pairs = pairs.map(|(record, (_, _, member))| {
                        (member.function, by_record(member.function, record))
                    });
                    found.extend(pairs);
                }
            }
        }
        let own = group.members.iter().filter_map(|member| Some((member.function, by_die(member)?)));
        self.known.extend(own);
        // What a record says comes before what the DIE does.
        self.known.extend(found);
    }

    fn record(&self, at: u32) -> &'t CallGraphRecord {
        &self.graph.records[at as usize]
    }

    /// The records at an address, in their order, if there are at most so many.
    fn at(&self, entry: ImageAddr, most: usize) -> Option<Vec<&'t CallGraphRecord>> {
        let first = self.by_entry.partition_point(|at| self.record(*at).entry < entry);
        let end = self.by_entry.partition_point(|at| self.record(*at).entry <= entry);
        let here = Some(&self.by_entry[first..end]).filter(|here| here.len() <= most)?;
        Some(here.iter().map(|at| self.record(*at)).collect())
    }

    /// The only record at an address.
    fn only_at(&self, entry: ImageAddr) -> Option<&'t CallGraphRecord> {
        self.at(entry, 1)?.pop()
    }

    /// The type of a function; `None` if it is not known.
    pub(crate) fn of(&self, function: FuncId) -> Option<KnownType> {
        self.known.get(&function).copied()
    }

    /// All functions with a type that calls through pointers may call.
    pub(crate) fn targets(&self) -> impl Iterator<Item = (TypeHash, FuncId)> {
        self.known.iter().filter_map(|(function, known)| Some((known.id?, *function)))
    }

    /// The types of the indirect calls in a function that shares its code with no other.
    pub(crate) fn called(&self, index: &Index<'_, '_>, function: FuncId) -> &'t [TypeHash] {
        let record = self.only_at(index.functions.starts[function.index()]);
        record.map_or(&[], |record| self.graph.called(record))
    }

    /// The types of the indirect calls in the code of a group, whichever member runs. Empty if some member has no record: it may call
    /// functions of other types.
    pub(crate) fn called_in(&self, index: &Index<'_, '_>, group: &Group) -> Vec<TypeHash> {
        let Some(start) = start_of(index, group) else { return Vec::new() };
        let records = self.at(start, group.members.len()).unwrap_or_default();
        if records.len() < group.members.len() {
            return Vec::new();
        }
        let mut all: Vec<TypeHash> =
            records.iter().flat_map(|record| self.graph.called(record)).copied().collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// True if there are as many records at the code of a group as members, so that no function of this code is missing.
    pub(crate) fn lists_all(&self, index: &Index<'_, '_>, group: &Group) -> bool {
        let count = group.members.len();
        start_of(index, group)
            .is_some_and(|start| self.at(start, count).is_some_and(|all| all.len() == count))
    }
}

/// Where the members of a group begin; `None` if their parts are folded and not their entries.
fn start_of(index: &Index<'_, '_>, group: &Group) -> Option<ImageAddr> {
    let mut starts = group.members.iter().map(|member| index.functions.starts[member.function.index()]);
    let first = starts.next()?;
    (starts.all(|start| start == first) && index.owner_at(first).is_some()).then_some(first)
}

/// The types that DIEs give to functions.
fn described(index: &Index<'_, '_>, types: &CallTypes) -> HashMap<FuncId, FunctionType> {
    let program = index.functions.program;
    let mut found = HashMap::default();
    for (number, function) in (0..).zip(&program.functions) {
        let Some(source) = function.source else { continue };
        let (unit, offset) = (source.unit.index(), program.heads[source.unit.index()].offset);
        let Ok(at) = types.units.binary_search_by_key(&offset, |unit| unit.offset) else { continue };
        let die = program.code[unit].functions[source.function.index()].die;
        let listed = &types.units[at].functions;
        if let Ok(at) = listed.binary_search_by_key(&die, |of| of.die) {
            found.insert(FuncId(number), listed[at]);
        }
    }
    found
}
