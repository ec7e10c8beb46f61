//! Walks the entries of a unit, hands each to the reader of its role, and adds what it found to the walk: functions, inlined
//! subroutines, calls, functions without code, and vtables. It also notes the places of classes.

use crate::diagnostics::{Cap, Kind};
use crate::model::{AddressRange, Calls, Lost, Scope, SequenceUses, UnitErased};
use crate::read::limits::{MAX_ATTRIBUTES, MAX_INLINED_DEPTH, MAX_PRODUCER};
use crate::read::sections::bytes::Endianity;
use crate::read::sections::entries::{Entries, Entry};
use crate::read::unit::addresses::DeadRange;
use crate::read::unit::calls::call_site;
use crate::read::unit::class_places::Noted;
use crate::read::unit::classes::vtable_definition;
use crate::read::unit::codeless::codeless;
use crate::read::unit::functions::EndedFunction;
use crate::read::unit::inline_lengths::surviving;
use crate::read::unit::inlined_subroutine::inlined;
use crate::read::unit::open_function::OpenFunction;
use crate::read::unit::ranges::visit_ranges;
use crate::read::unit::roles::{Role, wanted};
use crate::read::unit::root::{Compiler, compiler};
use crate::read::unit::subprogram::{Subprogram, subprogram};
use crate::read::unit::tree::TreeNode;
use crate::read::unit::variables::variable;
use crate::read::unit::walk::Walk;
use crate::read::unit::walked_unit::UnitEntries;
use crate::util::paint::PaintRange;

/// The memory of a unit is checked after this many entries.
const ENTRIES_BETWEEN: u32 = 1 << 10;

#[derive(Clone, Copy, PartialEq, Eq)]
enum OpenKind {
    /// A function with code: the last of `Walk::building`.
    Function,
    /// An inlined subroutine of this function. Its children belong to `node`.
    Scope { node: u32 },
    /// An inlined subroutine of this function, of which nothing is kept.
    Lost,
    /// A subprogram without code. Its children are not kept.
    Without,
}

/// An entry that encloses the current one.
struct OpenEntry {
    /// Its depth. It ends before the next entry that is not deeper.
    depth: isize,
    kind: OpenKind,
}

/// Walks all entries.
///
/// # Errors
/// An entry cannot be read. The entries after it are not read.
pub(crate) fn all_entries<E: Endianity>(walk: &mut Walk<'_, '_, E>) -> gimli::Result<()> {
    let (wanted, plans) =
        (wanted(walk.fixed.options.columns, walk.fixed.options.data), std::mem::take(&mut walk.plans));
    let mut entries = Entries::new(walk.fixed.unit, walk.fixed.abbreviations, wanted, plans);
    let mut open: Vec<OpenEntry> = Vec::new();
    let mut noted = Noted::default();
    let mut until_looked = ENTRIES_BETWEEN;
    let result = loop {
        until_looked -= 1;
        if until_looked == 0 {
            until_looked = ENTRIES_BETWEEN;
            let kept = walk.kept();
            if kept > walk.fixed.max_kept {
                walk.out.stopped_at = Some(kept);
                break Ok(());
            }
        }
        // Once the outermost open entry has ended, inlined subroutines and calls are of no function, and are skipped by their abbreviation.
        let outer = open.first().map_or(isize::MAX, |open| open.depth);
        let entry = match entries.next(outer) {
            Ok(Some(entry)) => entry,
            Ok(None) => break Ok(()),
            Err(_) if entries.is_refused() => {
                let offset = walk.fixed.unit_offset;
                walk.ids.diagnostics.add(Kind::Cap(Cap::Attributes), offset, || {
                    format!("an entry has over {MAX_ATTRIBUTES} attributes; the rest of the unit is not read")
                });
                walk.out.head.cut_short = true;
                break Ok(());
            }
            Err(error) => break Err(error),
        };
        while open.last().is_some_and(|o| o.depth >= entry.closes) {
            close(walk, open.pop());
        }
        noted.leave(entry.closes);
        // The entries that ended are closed first, so the innermost open one encloses this entry.
        let inside = open.last().map(|open| open.kind);
        match read(walk, &mut noted, &mut entries, entry, inside) {
            Ok(Some(kind)) => open.push(OpenEntry { depth: entry.depth, kind }),
            Ok(None) => {}
            Err(error) => break Err(error),
        }
    };
    // After damage too: the functions that were open keep what was read of their children.
    while let Some(last) = open.pop() {
        close(walk, Some(last));
    }
    walk.plans = entries.into_plans();
    walk.out.tables.edges = walk.edges.take();
    walk.out.records.class_places = noted.places(walk.out.head.keeps_callees);
    result
}

/// Reads one entry. Returns its kind if its children belong to it.
#[inline]
fn read<'f, E: Endianity>(
    walk: &mut Walk<'_, 'f, E>,
    noted: &mut Noted,
    entries: &mut UnitEntries<'_, 'f, E>,
    entry: Entry<Role>,
    inside: Option<OpenKind>,
) -> gimli::Result<Option<OpenKind>> {
    match (entry.role, inside) {
        // A function may be in another: gcc nests the DIE of a nested function (GNU C, Ada, Fortran) in that of the outer
        // one.
        (Role::Function, _) => return add_subprogram(walk, entries, entry).map(Some),
        // Only gcc names a function that it merged away in the call sites, from which `recover` finds its code.
        (Role::Codeless, _) if walk.out.head.keeps_callees => {
            let found = codeless(&walk.fixed, &mut walk.ids, entries, entry)?;
            walk.out.records.codeless.push(found);
            return Ok(Some(OpenKind::Without));
        }
        (Role::Codeless | Role::Declared, _) => {
            entries.skip(&entry)?;
            return Ok(Some(OpenKind::Without));
        }
        (Role::Inlined, Some(OpenKind::Function)) => return add_inlined(walk, entries, entry, 0),
        (Role::Inlined, Some(OpenKind::Scope { node })) => return add_inlined(walk, entries, entry, node),
        (Role::Inlined, Some(OpenKind::Lost)) => {
            entries.skip(&entry)?;
            return Ok(Some(OpenKind::Lost));
        }
        // gcc nests call sites in inlined subroutines and in lexical blocks. The latter have no role, so they open
        // nothing, and their calls come here as well.
        (Role::Call, Some(OpenKind::Function | OpenKind::Scope { .. } | OpenKind::Lost)) => {
            let call = call_site(&walk.fixed, &mut walk.ids, &mut walk.callees, entries, entry)?;
            if let Some(function) = walk.building.last_mut() {
                function.calls.push(call);
            }
        }
        // Inlined subroutines and calls below a subprogram without code describe no code.
        (Role::Inlined | Role::Call, _) => entries.skip(&entry)?,
        (Role::Root, _) => {
            let Compiler { assembly, c, keeps_callees, merges_nothing, rewrites, is_cut, producer } =
                compiler(&walk.fixed, entries, entry)?;
            let uses = SequenceUses { producer, ..SequenceUses::default() };
            walk.out.records.sequences = walk.fixed.options.sequences.then(|| Box::new(uses));
            let head = &mut walk.out.head;
            (head.assembly, head.c, head.rewrites) = (assembly, c, rewrites);
            (head.keeps_callees, head.merges_nothing) = (keeps_callees, merges_nothing);
            if is_cut {
                let offset = walk.fixed.unit_offset;
                walk.ids.diagnostics.add(Kind::Cap(Cap::ProducerBytes), offset, || {
                    format!(
                        "DW_AT_producer of the unit at {offset:#x} has {MAX_PRODUCER} bytes or more, and is cut: the compiler counts as \
                         one that merges functions"
                    )
                });
            }
        }
        (Role::PartialRoot, _) => {
            walk.owns_lines = false;
            entries.skip(&entry)?;
        }
        (Role::Class | Role::TableDeclaration | Role::Unnamed, _) => {
            noted.note(&entry);
            entries.skip(&entry)?;
        }
        (Role::Variable, _) => {
            let (found, table) = variable(&walk.fixed, &mut walk.ids, entries, entry)?;
            walk.out.records.variables.extend(found);
            noted.defined.extend(table);
        }
        (Role::TableDefinition, _) => {
            noted.defined.extend(vtable_definition(&walk.fixed, &mut walk.ids, entries, entry)?);
        }
    }
    Ok(None)
}

/// Opens a function, or keeps it as erased.
fn add_subprogram<'f, E: Endianity>(
    walk: &mut Walk<'_, 'f, E>,
    entries: &mut UnitEntries<'_, 'f, E>,
    entry: Entry<Role>,
) -> gimli::Result<OpenKind> {
    let found = subprogram(&walk.fixed, &mut walk.ids, entries, entry)?;
    if found.located {
        walk.with_locations.push(entry.offset);
    }
    if walk.fixed.options.sequences {
        walk.named_sequences.extend(found.stmt_sequence());
    }
    match found.finish(&walk.fixed, &mut walk.ids, &mut walk.list_entries, &walk.assign.lines) {
        Subprogram::Function(mut function) => {
            function.tree = walk.spare.pop().unwrap_or_default();
            // Node 0 is the function itself, so that `add_inlined` finds the caller of each call by its node.
            function.tree.nodes.push(TreeNode { origin: function.origin, depth: 0 });
            walk.building.push(function);
            Ok(OpenKind::Function)
        }
        Subprogram::Removed(erased) => {
            walk.out.records.erased.push(erased);
            Ok(OpenKind::Without)
        }
    }
}

/// Adds an inlined subroutine below the node `parent` to the function that is being read.
fn add_inlined<'f, E: Endianity>(
    walk: &mut Walk<'_, 'f, E>,
    entries: &mut UnitEntries<'_, 'f, E>,
    entry: Entry<Role>,
    parent: u32,
) -> gimli::Result<Option<OpenKind>> {
    let Walk { fixed, ids, edges, out, building, list_entries, .. } = walk;
    let found = inlined(fixed, ids, entries, entry)?;
    let Some(function) = building.last_mut() else { return Ok(None) };
    let TreeNode { origin: caller, depth } = function.tree.nodes[parent as usize];
    if depth >= MAX_INLINED_DEPTH {
        ids.diagnostics.add(Kind::TooDeep, found.die.0, || {
            format!(
                "the inlined subroutine at .debug_info+{:#x} is more than {MAX_INLINED_DEPTH} calls deep: its code counts as its \
                 caller's",
                found.die.0
            )
        });
        // Its code counts as its caller's, and so does everything inlined into it.
        return Ok(Some(OpenKind::Scope { node: parent }));
    }
    // If the function's address is a tombstone, the addresses of its inlined subroutines are too.
    let live = function.lost.live;
    if !live && !function.lost.kept {
        function.lost.lose();
        return Ok(Some(OpenKind::Lost));
    }
    let edge = edges.of(caller, &found, ids);
    function.tree.nodes.push(TreeNode { origin: edges.get(edge).callee, depth: depth + 1 });
    if !live {
        let ranges = &mut out.traces.lost_ranges;
        let left = surviving(fixed, list_entries, &function.lost, &found.addresses, ranges);
        return Ok(Some(OpenKind::Scope { node: function.lost.push(parent, edge, left) }));
    }
    function.tree.scopes.push(Scope { parent, edge });
    let node = function.tree.scopes.len() as u32;
    let ranges = &mut function.tree.ranges;
    let keep = |AddressRange { start, end }| {
        // `visit_ranges` gives the tombstone `1..1` as well, which is no code of a live function.
        if start < end {
            ranges.push(PaintRange { start: start.0, node, end: end.0 });
        }
    };
    visit_ranges(fixed, list_entries, &mut ids.diagnostics, found.die, &found.addresses, keep);
    Ok(Some(OpenKind::Scope { node }))
}

/// Ends an entry. A function is kept at its end.
fn close<E: Endianity>(walk: &mut Walk<'_, '_, E>, open: Option<OpenEntry>) {
    if open.is_some_and(|open| open.kind == OpenKind::Function)
        && let Some(function) = walk.building.pop()
    {
        keep_function(walk, function);
    }
}

/// Keeps a function that has ended, and its ranges whose address was erased.
fn keep_function<E: Endianity>(walk: &mut Walk<'_, '_, E>, mut function: OpenFunction) {
    let Walk { ids, assign, edges, out, spare, .. } = walk;
    let first_call = out.records.calls.len() as u32;
    out.records.calls.own_mut().append(&mut function.calls);
    let OpenFunction { all_tail_calls, all_calls, .. } = function;
    let calls = Calls { range: first_call..out.records.calls.len() as u32, all_tail_calls, all_calls };
    let first_lost = out.traces.lost.len() as u32;
    let (scopes, beyond) = (std::mem::take(&mut function.lost.scopes), function.lost.beyond);
    // A tree with a gap is of no use: any row may be of the missing code.
    if !beyond {
        out.traces.lost.extend(scopes);
    }
    let lost = Lost { scopes: first_lost..out.traces.lost.len() as u32, beyond };
    // Which range had which calls and inlined code is erased too, so each range refers to all of them.
    for DeadRange { len: size, part } in std::mem::take(&mut function.dead) {
        out.records.erased.push(UnitErased {
            die: function.die,
            origin: function.origin,
            instance: function.instance,
            size,
            part,
            external: ids.origins.tables.is_external(function.origin),
            removed: false,
            lost: lost.clone(),
            calls: calls.clone(),
        });
    }
    if let Some(how) = function.how {
        let inlined = function.tree.scopes.first().map(|scope| edges.get(scope.edge));
        assign.function(ids, EndedFunction { function: &mut function, how, inlined, lost, calls });
    }
    function.tree.empty();
    spare.push(function.tree);
}
