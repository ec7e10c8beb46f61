//! Makes the units of an imported program: for each FUNC its inline tree and its rows.

use std::ops::Range;

use super::flatten::{FlattenLosses, flatten};
use super::names::{ImportedNames, Numbered, own_name};
use super::symbols::{FunctionRecord as FuncLine, SymTables, at, quoted};
use crate::diagnostics::{Cap, Diagnostics, Kind};
use crate::model::{
    Calls, DieOffset, Edge, EdgeId, FileId, How, Instance, LocalFunc, LocalOrigin, Lost, NONE16, OriginId,
    Program, Row, RowRange, Rows, Scope, Source, UnitCode, UnitFunction, UnitHead, UnitId, UnitMap,
};
use crate::util::hash::HashMap;

/// A function begins a new unit after so many files: rows have 16 bits for a file.
const FILES: usize = 1 << 15;
/// And after so many rows or scopes.
const ROWS: usize = 1 << 22;

/// The units so far.
#[derive(Default)]
pub(super) struct ImportedUnits<'f> {
    maps: Vec<UnitMap<'f>>,
    code: Vec<UnitCode<'f>>,
    unit: OpenUnit,
    pub(super) diagnostics: Diagnostics,
}

/// The unit that functions are added to.
#[derive(Default)]
struct OpenUnit {
    files: Numbered<FileId>,
    origins: Numbered<OriginId>,
    edges: Numbered<EdgeId>,
    scopes: Vec<Scope>,
    rows: Vec<Row>,
    functions: Vec<UnitFunction>,
}

/// A FUNC in its unit.
pub(super) struct AddedFunction {
    pub(super) origin: OriginId,
    pub(super) source: Source,
    /// For each of the ranges that were asked for.
    pub(super) rows: Vec<Option<Rows>>,
}

/// A node of the inline tree that is made.
#[derive(Clone, Copy)]
struct CallNode {
    number: u32,
    origin: OriginId,
}

impl<'f> ImportedUnits<'f> {
    /// Adds a function with the rows of some ranges of its code.
    pub(super) fn add(
        &mut self,
        record: &FuncLine<'f>,
        ranges: &[Range<u64>],
        symbols: &SymTables<'f>,
        names: &mut ImportedNames<'f, '_>,
    ) -> AddedFunction {
        let unit = &self.unit;
        if unit.files.all.len() >= FILES || unit.rows.len() >= ROWS || unit.scopes.len() >= ROWS {
            self.end_unit();
        }
        let name = own_name(record.name);
        if name.is_empty() {
            self.diagnostics.add(Kind::Nameless, record.offset, || at(record.offset));
        }
        let origin = names.origin(name, None);
        let unit_id = UnitId::new(self.code.len() as u32);
        let first_scope = self.unit.scopes.len() as u32;
        let mut tree =
            CallTree { nodes: HashMap::default(), count: 1, chain: vec![CallNode { number: 0, origin }] };
        let rows = ranges
            .iter()
            .map(|range| {
                tree.chain.truncate(1);
                let range = self.rows(record, range, symbols, names, &mut tree)?;
                Some(Rows { unit: unit_id, range, skip: 0 })
            })
            .collect();
        let unit = &mut self.unit;
        let function = LocalFunc(unit.functions.len() as u32);
        unit.functions.push(UnitFunction {
            die: DieOffset(record.offset),
            origin: LocalOrigin(unit.origins.number(origin)),
            instance: Instance::NAMED,
            how: How::LiveRange,
            external: true,
            pieces: 0..0,
            scopes: first_scope..unit.scopes.len() as u32,
            lost: Lost::default(),
            calls: Calls::default(),
        });
        AddedFunction { origin, source: Source { unit: unit_id, function }, rows }
    }

    /// The rows of a range of a function; `None` if it has neither lines nor inlined calls.
    fn rows(
        &mut self,
        record: &FuncLine<'f>,
        code: &Range<u64>,
        symbols: &SymTables<'f>,
        names: &mut ImportedNames<'f, '_>,
        tree: &mut CallTree,
    ) -> Option<RowRange> {
        let (lines, inlines) =
            (&symbols.lines[record.lines.clone()], &symbols.inlines[record.inlines.clone()]);
        if lines.is_empty() && inlines.is_empty() {
            return None;
        }
        let OpenUnit { files, edges, scopes, rows, .. } = &mut self.unit;
        let (start, mut capped) = (rows.len(), false);
        // The old form of INLINE has no file: a call is where its caller is.
        let own_file = lines.first().map(|line| line.file);
        let left_out = flatten(code, lines, inlines, |interval| {
            tree.chain.truncate(interval.kept + 1);
            for &inline in &interval.chain[interval.kept..] {
                let inline = &inlines[inline];
                let caller = tree.chain[tree.chain.len() - 1];
                let file = match inline.call_file {
                    Some(number) => names.file(number),
                    None => {
                        names.file_of(caller.origin).or_else(|| own_file.and_then(|file| names.file(file)))
                    }
                };
                let callee = names.inline_origin(inline.origin);
                let edge = Edge { caller: caller.origin, callee, file, line: inline.call_line, column: 0 };
                let edge = names.edge(edge);
                let number = *tree.nodes.entry((caller.number, edge)).or_insert_with(|| {
                    scopes.push(Scope { parent: caller.number, edge: edges.local(edge) });
                    tree.count += 1;
                    tree.count - 1
                });
                tree.chain.push(CallNode { number, origin: names.callee(edge) });
            }
            let mut row = Row {
                offset: (interval.start - code.start) as u32,
                scope: tree.chain[tree.chain.len() - 1].number,
                line: 0,
                file: NONE16,
                column: 0,
            };
            if let Some(line) = interval.line.map(|line| &lines[line])
                && let Some(file) = names.file(line.file)
            {
                match files.number_below(file, usize::from(NONE16)) {
                    Some(file) => (row.line, row.file) = (line.line, file as u16),
                    None => capped = true,
                }
            }
            let same = |last: &Row| Row { offset: row.offset, ..*last } == row;
            if rows.len() == start || !rows.last().is_some_and(same) {
                rows.push(row);
            }
        });
        let len = rows.len() - start;
        self.count(record, left_out, capped);
        Some(RowRange { start: start as u32, len: len as u32 })
    }

    fn count(&mut self, record: &FuncLine<'_>, left_out: FlattenLosses, capped: bool) {
        let FlattenLosses { lines, stray, too_deep, short } = left_out;
        let mut add = |kind, count: u64| {
            for _ in 0..count {
                self.diagnostics.add(kind, record.offset, || {
                    format!("in the FUNC {} {}", quoted(record.name), at(record.offset))
                });
            }
        };
        add(Kind::OverlappingRecord, lines);
        add(Kind::StrayInline, stray);
        add(Kind::TooDeep, too_deep);
        add(Kind::Cap(Cap::InlinedSearch), short.into());
        add(Kind::Cap(Cap::Files), capped.into());
    }

    fn end_unit(&mut self) {
        let unit = std::mem::take(&mut self.unit);
        self.maps.push(UnitMap {
            files: unit.files.all,
            origins: unit.origins.all.into(),
            edges: unit.edges.all.into(),
        });
        self.code.push(UnitCode {
            scopes: unit.scopes.into(),
            rows: unit.rows.into(),
            functions: unit.functions.into(),
            ..UnitCode::default()
        });
    }

    /// Moves the units to the program.
    pub(super) fn finish(mut self, program: &mut Program<'f>) -> Diagnostics {
        if !self.unit.functions.is_empty() {
            self.end_unit();
        }
        program.heads = self.code.iter().map(|_| UnitHead::default()).collect();
        (program.maps, program.code) = (self.maps, self.code);
        self.diagnostics
    }
}

/// The inline tree of a function.
struct CallTree {
    /// By the number of the parent. Calls of one callee at one line are one node.
    nodes: HashMap<(u32, EdgeId), u32>,
    count: u32,
    /// The function, and the inlined calls at the current address.
    chain: Vec<CallNode>,
}
