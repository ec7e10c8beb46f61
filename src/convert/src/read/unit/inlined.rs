//! Reads the inlined subroutines of a function: their tree, and an edge for each distinct inlined call.

use crate::diagnostics::Kind;
use crate::model::{DieOffset, LocalEdge, LocalOrigin, NONE16, Scope, UnitEdge};
use crate::read::sections::bytes::Endianity;
use crate::read::sections::entries::Entry;
use crate::read::unit::addresses::Addresses;
use crate::read::unit::assign::NO_FILE;
use crate::read::unit::origins::{DiePlace, SubprogramIdentity};
use crate::read::unit::roles::Role;
use crate::read::unit::tree::{InlineTree, InlinedCall};
use crate::read::unit::walk::{OpenKind, UnitEntries, Walk};
use crate::util::paint::PaintRange;

/// The deepest inlining that is kept; the format's `max_depth` is at most this.
const MAX_DEPTH: u16 = 255;

impl<'f, E: Endianity> Walk<'_, 'f, E> {
    /// Reads a `DW_TAG_inlined_subroutine` (DWARF 5 3.3.8.2) below `parent`.
    pub(crate) fn inlined(
        &mut self,
        entries: &mut UnitEntries<'_, 'f, E>,
        mut entry: Entry<Role>,
        parent: u32,
    ) -> gimli::Result<Option<OpenKind>> {
        let offset = entry.offset;
        let place = self.ids.origins.place(offset);
        let mut addresses = Addresses::default();
        let (mut origin, mut file, mut line, mut column) = (None, None, 0, 0);
        while let Some(attribute) = entries.attribute(&mut entry)? {
            match attribute.name {
                gimli::DW_AT_low_pc => addresses.low_pc = Some(attribute.value),
                gimli::DW_AT_high_pc => addresses.high_pc = Some(attribute.value),
                gimli::DW_AT_ranges => addresses.ranges = Some(attribute.value),
                gimli::DW_AT_abstract_origin => {
                    origin = self.ids.origins.target(place, attribute.value, &mut self.ids.diagnostics);
                }
                gimli::DW_AT_call_file => {
                    file = attribute.number().or(file);
                }
                gimli::DW_AT_call_line => {
                    line = attribute.number().and_then(|line| u32::try_from(line).ok()).unwrap_or(0);
                }
                gimli::DW_AT_call_column if self.options.columns => {
                    column = attribute.number().and_then(|c| u16::try_from(c).ok()).unwrap_or(0);
                }
                _ => {}
            }
        }
        let Some(function) = self.building.last() else { return Ok(None) };
        let (caller, depth) = function.tree.nodes[parent as usize];
        if depth >= MAX_DEPTH {
            let die = self.unit_offset + offset.0 as u64;
            self.ids.diagnostics.add(Kind::TooDeep, die, || format!("inlined more than {MAX_DEPTH} deep"));
            return Ok(Some(OpenKind::Scope { node: parent }));
        }
        // If the function's address is a tombstone, the addresses of its inlined subroutines are too.
        let live = function.lost.live;
        if !live && !function.lost.kept {
            if let Some(function) = self.building.last_mut() {
                function.lost.lose();
            }
            return Ok(Some(OpenKind::Lost));
        }
        let edge = self.edge(place, (caller, origin), (file, line, column));
        let callee = self.out.tables.edges[edge.index()].callee;
        let Some(function) = self.building.last_mut() else { return Ok(None) };
        function.tree.nodes.push((callee, depth + 1));
        if !live {
            self.lost_scope(parent, edge, &addresses);
            return Ok(self
                .building
                .last()
                .map(|function| OpenKind::Scope { node: function.lost.last_node() }));
        }
        function.tree.scopes.push(Scope { parent, edge });
        let node = function.tree.scopes.len() as u32;
        let die = DieOffset(self.unit_offset + offset.0 as u64);
        let mut found = std::mem::take(&mut function.tree.ranges);
        self.ranges(die, &addresses, |start, end| {
            if start < end {
                found.push(PaintRange { start, node, end });
            }
        });
        if let Some(function) = self.building.last_mut() {
            function.tree.ranges = found;
        }
        Ok(Some(OpenKind::Scope { node }))
    }

    /// The edge of an inlined subroutine at `place`. For equal attributes, callee and file are looked up once.
    fn edge(
        &mut self,
        place: DiePlace,
        (caller, callee): (LocalOrigin, Option<DiePlace>),
        (file, line, column): (Option<u64>, u32, u16),
    ) -> LocalEdge {
        let index = |file: u64| u32::try_from(file).ok().filter(|&file| file != NO_FILE);
        let packed = callee.and_then(DiePlace::packed).zip(file.map_or(Some(NO_FILE), index));
        let call = packed.map(|(callee, file)| InlinedCall { caller, callee, file, line, column });
        if let Some(edge) = call.and_then(|call| self.edge_ids.get(&call)) {
            return edge;
        }
        let file =
            file.map_or(NONE16, |index| self.ids.origins.file(place, index, &mut self.ids.diagnostics));
        let callee = match callee {
            Some(origin) => self.ids.origins.resolve(origin, &mut self.ids.diagnostics),
            None => {
                self.ids.origins.finish(place, SubprogramIdentity::default(), &mut self.ids.diagnostics).0
            }
        };
        let edge = LocalEdge(self.out.tables.edges.len() as u32);
        self.out.tables.edges.push(UnitEdge { caller, callee, line, file, column });
        if let Some(call) = call {
            self.edge_ids.insert(call, edge);
        }
        edge
    }

    pub(crate) fn keep_tree(&mut self, mut tree: InlineTree) {
        tree.scopes.clear();
        tree.ranges.clear();
        tree.nodes.clear();
        self.spare.push(tree);
    }
}
