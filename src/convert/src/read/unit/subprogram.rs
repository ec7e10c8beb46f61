//! Reads the subprograms of a unit that have an address attribute, and keeps each with its rows as it ends (DWARF 5 3.3.1).

use gimli::AttributeValue;

use crate::diagnostics::Kind;
use crate::model::{Calls, DieOffset, How, ImageAddr, Lost, RowRange, UnitFunction, UnitPiece};
use crate::read::sections::bytes::Endianity;
use crate::read::sections::entries::Entry;
use crate::read::unit::addresses::{Addresses, DeadRange};
use crate::read::unit::assign::{BySequence, RowOwner, SharedPiece};
use crate::read::unit::attributes as attribute;
use crate::read::unit::origins::SubprogramIdentity;
use crate::read::unit::roles::Role;
use crate::read::unit::walk::{OpenFunction, OpenKind, UnitEntries, Walk};

impl<'f, E: Endianity> Walk<'_, 'f, E> {
    /// Reads a `DW_TAG_subprogram` (DWARF 5 3.3.1) that has an address.
    // Long because all attributes together decide if the subprogram is live, folded or removed.
    pub(crate) fn subprogram(
        &mut self,
        entries: &mut UnitEntries<'_, 'f, E>,
        mut entry: Entry<Role>,
    ) -> gimli::Result<Option<OpenKind>> {
        let place = self.ids.origins.place(entry.offset);
        let mut identity = SubprogramIdentity::default();
        let mut addresses = Addresses::default();
        let mut stmt_sequence = None;
        let (mut all_tail_calls, mut all_calls) = (false, false);
        let mut located = self.options.locations;
        while let Some(attribute) = entries.attribute(&mut entry)? {
            match attribute.name {
                gimli::DW_AT_low_pc => addresses.low_pc = Some(attribute.value),
                gimli::DW_AT_high_pc => addresses.high_pc = Some(attribute.value),
                gimli::DW_AT_ranges => addresses.ranges = Some(attribute.value),
                gimli::DW_AT_entry_pc => addresses.entry_pc = Some(attribute.value),
                attribute::STMT_SEQUENCE => {
                    if let AttributeValue::SecOffset(offset) = attribute.value {
                        stmt_sequence = Some(offset as u64);
                    }
                }
                gimli::DW_AT_call_all_tail_calls | gimli::DW_AT_GNU_all_tail_call_sites => {
                    all_tail_calls |= attribute.is_set();
                }
                gimli::DW_AT_call_all_calls
                | gimli::DW_AT_call_all_source_calls
                | gimli::DW_AT_GNU_all_call_sites
                | gimli::DW_AT_GNU_all_source_call_sites => all_calls |= attribute.is_set(),
                attribute::ACTIVE_LANE
                | attribute::LANES
                | attribute::FIRST_LANES
                | attribute::LANE_PC
                | attribute::FIRST_LANE_PC => located = true,
                _ => self.ids.origins.take(place, &mut identity, &attribute, &mut self.ids.diagnostics),
            }
        }
        if located {
            self.with_locations.push(entry.offset);
        }
        let die = DieOffset(self.unit_offset + entry.offset.0 as u64);
        // Producers of `.dwo` files disagree if the offset counts from the unit's line program or from the section.
        let named = stmt_sequence.map(|value| [value.wrapping_add(self.sequence_base), value]);
        let own_sequence =
            named.and_then(|offsets| offsets.into_iter().find_map(|at| self.assign.lines.at_offset(at)));
        let mut ranges = Vec::new();
        let mut dead = self.live_ranges(die, &addresses, &mut ranges);
        let mut origin = None;
        if let Some(&(_, len)) = ranges.iter().find(|&&(start, _)| start == 0) {
            let found = self.ids.origins.finish(place, identity, &mut self.ids.diagnostics);
            if !self.code.believes_zero(self.ids.origins.tables.name_of(found.0), len) {
                ranges.retain(|&(start, _)| start != 0);
            }
            origin = Some(found);
        }
        let span = (die.0, self.unit_offset + entries.next_offset().0 as u64);
        let live = !ranges.is_empty();
        let how = if live && self.was_restored(&addresses, span) {
            self.ids
                .diagnostics
                .add(Kind::FoldedFunction, die.0, || format!("recovered at {:#x}", ranges[0].0));
            let own = own_sequence.map(|own| self.assign.lines.sequences[own].start);
            Some(if own == Some(ranges[0].0) { How::StmtSequence } else { How::Relocation })
        } else if live {
            Some(How::LiveRange)
        } else if let Some(range) = self.folded_range(&addresses, own_sequence) {
            ranges.push(range);
            // The sequence gives the address of the first range. The other ranges remain unknown.
            dead.retain(|dead| dead.part);
            Some(How::StmtSequence)
        } else {
            if dead.is_empty() {
                dead.push(DeadRange { len: 0, part: false });
            }
            None
        };
        let (origin, instance) = match origin {
            Some(found) => found,
            None => self.ids.origins.finish(place, identity, &mut self.ids.diagnostics),
        };
        // If its own sequence is dead too, the linker removed the function and did not fold it.
        if how.is_none()
            && named.is_some_and(|offsets| offsets.iter().any(|&at| self.assign.lines.is_dead(at)))
        {
            self.erased(die, (origin, instance), dead[0], true, Lost::default(), Calls::default());
            return Ok(Some(OpenKind::Without));
        }
        let lost = self.lost_tree(live, how, &addresses);
        let mut tree = self.spare.pop().unwrap_or_default();
        tree.nodes.push((origin, 0));
        self.building.push(OpenFunction {
            die,
            origin,
            instance,
            how,
            dead,
            ranges,
            own_sequence,
            tree,
            lost,
            calls: Vec::new(),
            all_tail_calls: all_tail_calls | all_calls,
            all_calls,
        });
        Ok(Some(OpenKind::Function))
    }

    /// Keeps a function at its end, with its rows, unless these are assigned after the walk.
    pub(crate) fn close_function(&mut self, mut function: OpenFunction) {
        if let Some(sequence) =
            function.own_sequence.filter(|_| function.how.is_some() && !function.lost.live)
        {
            self.assign.by_sequence.push(BySequence { function: self.assign.code.functions.len(), sequence });
        }
        self.assign.named.extend(function.own_sequence.filter(|_| function.lost.live));
        let first_call = self.out.records.calls.len() as u32;
        self.out.records.calls.append(&mut function.calls);
        let OpenFunction { all_tail_calls, all_calls, .. } = function;
        let calls =
            Calls { range: first_call..self.out.records.calls.len() as u32, all_tail_calls, all_calls };
        let lost = self.keep_lost(&mut function);
        for dead in std::mem::take(&mut function.dead) {
            let named = (function.origin, function.instance);
            self.erased(function.die, named, dead, false, lost.clone(), calls.clone());
        }
        let Some(how) = function.how else {
            self.keep_tree(function.tree);
            return;
        };
        let mut segments = std::mem::take(&mut self.assign.segments);
        self.assign.painter.paint(&mut function.tree.ranges, &mut segments);
        let first_piece = self.assign.code.pieces.len() as u32;
        let joined = lost.scopes.is_empty();
        for &(start, end) in &function.ranges {
            // A part at another address has another sequence.
            let covers = |own: &usize| {
                let sequence = &self.assign.lines.sequences[*own];
                sequence.start <= start && start < sequence.end
            };
            let own = function.own_sequence.filter(covers);
            let whole = own.is_none_or(|own| self.assign.lines.sequences[own].start == start);
            let rows = if whole && self.assign.is_shared(start) {
                // Each range gets a copy of the segments, and there may be any number of ranges.
                let fits = self.assign.joined.spend(segments.len());
                let segments = if fits { segments.clone() } else { Vec::new() };
                self.assign.shared.push(SharedPiece {
                    piece: self.assign.code.pieces.len(),
                    origin: function.origin,
                    named: own,
                    segments,
                    joined,
                });
                RowRange::default()
            } else {
                self.assign.rows(
                    &mut self.ids,
                    own.map_or(RowOwner::Any, RowOwner::Sequence),
                    &segments,
                    start,
                    end,
                    joined,
                )
            };
            self.assign.code.pieces.push(UnitPiece {
                start: ImageAddr(start),
                len: (end - start) as u32,
                how,
                rows,
            });
        }
        self.assign.segments = segments;
        let first_scope = self.assign.code.scopes.len() as u32;
        self.assign.code.scopes.own_mut().append(&mut function.tree.scopes);
        self.assign.code.functions.push(UnitFunction {
            die: function.die,
            origin: function.origin,
            instance: function.instance,
            how,
            external: self.ids.origins.tables.is_external(function.origin),
            pieces: first_piece..self.assign.code.pieces.len() as u32,
            scopes: first_scope..self.assign.code.scopes.len() as u32,
            lost,
            calls,
        });
        self.keep_tree(function.tree);
    }
}
