//! Reads what is inlined into a function: the tree of its inlined subroutines, and the edges that they are of.

use super::super::Endianity;
use super::ranges::Addresses;
use super::roles::Role;
use super::{Entry, Identity, MAX_DEPTH, OpenKind, UnitEntries, UnitReader};
use crate::model::{DieOffset, LocalEdge, LocalOrigin, NONE16, Scope, UnitEdge};
use crate::paint::PaintRange;
use crate::report::Kind;

/// The inlined subroutines of a function; its memory is that of a function before.
#[derive(Default)]
pub(super) struct Tree {
    pub(super) scopes: Vec<Scope>,
    pub(super) ranges: Vec<PaintRange>,
    /// By node, from 0: the origin and the depth.
    pub(super) nodes: Vec<(LocalOrigin, u16)>,
}

impl<'f, E: Endianity> UnitReader<'_, 'f, E> {
    /// Reads a `DW_TAG_inlined_subroutine` (DWARF 5 3.3.8.2) below `parent`.
    pub(super) fn inlined(
        &mut self,
        entries: &mut UnitEntries<'_, 'f, E>,
        mut entry: Entry<Role>,
        parent: u32,
    ) -> gimli::Result<Option<OpenKind>> {
        let offset = entry.offset;
        let place = self.origins.place(offset);
        let mut addresses = Addresses::default();
        let (mut origin, mut file, mut line, mut column) = (None, NONE16, 0, 0);
        while let Some(attribute) = entries.attribute(&mut entry)? {
            match attribute.name {
                gimli::DW_AT_low_pc => addresses.low_pc = Some(attribute.value),
                gimli::DW_AT_high_pc => addresses.high_pc = Some(attribute.value),
                gimli::DW_AT_ranges => addresses.ranges = Some(attribute.value),
                gimli::DW_AT_abstract_origin => {
                    origin = self.origins.target(place, attribute.value, &mut self.diagnostics);
                }
                gimli::DW_AT_call_file => {
                    if let Some(index) = attribute.number() {
                        file = self.origins.file(place, index, &mut self.diagnostics);
                    }
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
            self.diagnostics.add(Kind::TooDeep, die, || format!("inlined more than {MAX_DEPTH} deep"));
            return Ok(Some(OpenKind::Scope { node: parent }));
        }
        // The addresses of what is inlined are tombstones too.
        let live = function.lost.live;
        if !live && !function.lost.kept {
            if let Some(function) = self.building.last_mut() {
                function.lost.lose();
            }
            return Ok(Some(OpenKind::Lost));
        }
        let callee = match origin {
            Some(origin) => self.origins.resolve(origin, &mut self.diagnostics),
            None => self.origins.finish(place, Identity::default(), &mut self.diagnostics).0,
        };
        let edge = self.edge(UnitEdge { caller, callee, line, file, column });
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

    fn edge(&mut self, edge: UnitEdge) -> LocalEdge {
        *self.edge_ids.entry(edge).or_insert_with(|| {
            self.out.edges.push(edge);
            LocalEdge((self.out.edges.len() - 1) as u32)
        })
    }

    pub(super) fn keep_tree(&mut self, mut tree: Tree) {
        tree.scopes.clear();
        tree.ranges.clear();
        tree.nodes.clear();
        self.spare.push(tree);
    }
}
