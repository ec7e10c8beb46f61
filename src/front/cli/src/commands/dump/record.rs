//! Prints the records of one function.

use std::io;

use foldsym_lookup::records::{
    Call, Edge, EdgeId, FileCode, Function, Method, Overrider, Owner, Piece, RowsOffset, Target,
};
use foldsym_lookup::{
    FileId, Frames, FunctionId, Lookup, NameId, OriginId, PieceId, ReturnAddr, SectionId, SymbolFile,
};
use rustc_hash::{FxHashMap, FxHashSet};

use super::place;
use crate::io::escape::push_escaped;
use crate::io::failure::Failure;
use crate::io::mapped::Mapped;
use crate::io::output::Output;
use foldsym_symbolize::Names;
use foldsym_symbolize::places::Visits;

/// Why printing stopped.
pub(crate) enum Stop {
    Damaged(foldsym_lookup::Error),
    Output(io::Error),
}

impl From<foldsym_lookup::Error> for Stop {
    fn from(error: foldsym_lookup::Error) -> Self {
        Self::Damaged(error)
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

impl Stop {
    pub(crate) fn failure(self, mapped: &Mapped) -> Failure {
        match self {
            Self::Damaged(error) => crate::answer::open::damaged(mapped, error),
            Self::Output(error) => error.into(),
        }
    }
}

/// A piece of a function: its own, or as a member of a group.
struct PieceOf {
    piece: PieceId,
    /// Number of the member, and how it was recovered.
    member: Option<(u32, &'static str)>,
    rows: Option<RowsOffset>,
}

/// The calls that lead to a function or come from it.
#[derive(Default)]
struct Calls {
    to: Vec<Call>,
    from: Vec<Call>,
    /// Return addresses of unrecorded calls that probably call it.
    /// With the caller, if it is one of several functions of one code.
    guessed: Vec<(ReturnAddr, Option<FunctionId>)>,
    /// The names that its calls of other modules' functions were linked to.
    imports: Vec<(ReturnAddr, NameId)>,
    /// The functions that it reaches by tail calls.
    reached: Vec<Option<FunctionId>>,
    /// On whose objects it runs.
    objects: Vec<Method>,
    /// The words of vtables that lead to it.
    slots: Vec<Overrider>,
    /// The sets of virtual calls that it is in.
    targets: Vec<Target>,
}

/// Prints functions of one file.
pub(crate) struct RecordPrinter<'f> {
    file: SymbolFile<'f>,
    names: Names<'f>,
    places: FxHashMap<FunctionId, Vec<PieceOf>>,
    calls: FxHashMap<FunctionId, Calls>,
    rows_at: u64,
    scopes_at: u64,
}

impl<'f> RecordPrinter<'f> {
    /// Collects the pieces of the functions and the calls between them, in one pass over all pieces and all calls.
    pub(crate) fn new(
        file: SymbolFile<'f>,
        names: Names<'f>,
        functions: &[FunctionId],
    ) -> Result<Self, foldsym_lookup::Error> {
        // Pieces and calls refer to functions, and functions do not refer back, so all pieces and calls are read.
        let wanted: FxHashSet<FunctionId> = functions.iter().copied().collect();
        let mut places: FxHashMap<FunctionId, Vec<PieceOf>> = FxHashMap::default();
        let mut add = |function, place| {
            if wanted.contains(&function) {
                places.entry(function).or_default().push(place);
            }
        };
        let mut visits = Visits::of(&file);
        for id in (0..file.records().piece_count()).map(PieceId) {
            let piece = file.records().piece(id)?;
            match piece.owner {
                Owner::Function(function) => {
                    // The piece's rows belong to its single owner. In a group, each member has its own rows.
                    add(function, PieceOf { piece: id, member: None, rows: piece.rows })
                }
                Owner::Group(group) => {
                    let group = file.records().group(group)?;
                    visits.take(group.len(), SectionId::PIECES, id.0)?;
                    for (index, member) in (0..).zip(file.records().members(group)) {
                        let member = member?;
                        let place = PieceOf {
                            piece: id,
                            member: Some((index, member.how.text())),
                            rows: member.rows,
                        };
                        add(member.function, place);
                    }
                }
            }
        }
        let mut calls: FxHashMap<FunctionId, Calls> = FxHashMap::default();
        for call in file.records().calls() {
            let call = call?;
            if wanted.contains(&call.callee) {
                calls.entry(call.callee).or_default().to.push(call);
            }
            if let Some(caller) = call.caller.filter(|caller| wanted.contains(caller)) {
                calls.entry(caller).or_default().from.push(call);
            }
        }
        for guess in file.records().guesses()?.iter() {
            let guess = guess?;
            if wanted.contains(&guess.callee) {
                calls.entry(guess.callee).or_default().guessed.push((guess.address, guess.caller));
            }
        }
        let mut frames = Frames::new();
        for (record, import) in (0..).zip(file.records().imports()?.iter()) {
            let import = import?;
            // An import records the address of its call, not the calling function.
            let Lookup::Found(found) = file.lookup(import.0.lookup_address(), &mut frames)? else { continue };
            visits.take(found.member_count(), SectionId::IMPORTS, record)?;
            for member in 0..found.member_count() {
                let function = file.member_frames(&found, member, &mut frames)?.function;
                if wanted.contains(&function) {
                    calls.entry(function).or_default().imports.push(import);
                }
            }
        }
        for reached in file.records().tail_calls() {
            let (function, target) = reached?;
            if wanted.contains(&function) {
                calls.entry(function).or_default().reached.push(target);
            }
        }
        for method in file.records().methods() {
            let method = method?;
            if wanted.contains(&method.function) {
                calls.entry(method.function).or_default().objects.push(method);
            }
        }
        for overrider in file.records().overriders() {
            let overrider = overrider?;
            if wanted.contains(&overrider.function) {
                calls.entry(overrider.function).or_default().slots.push(overrider);
            }
        }
        for target in file.records().targets() {
            let target = target?;
            if wanted.contains(&target.function) {
                calls.entry(target.function).or_default().targets.push(target);
            }
        }
        let offset = |section| place::of_section(&file, section).unwrap_or(0);
        let (rows_at, scopes_at) = (offset(SectionId::ROWS), offset(SectionId::SCOPES));
        Ok(Self { file, names, places, calls, rows_at, scopes_at })
    }

    /// Prints one function.
    pub(crate) fn function(&mut self, out: &mut Output, id: FunctionId) -> Result<(), Stop> {
        let file = self.file;
        let function = file.records().function(id)?;
        let name = file.records().function_name(id)?;
        put(out, &format!("function {} ", id.0));
        push_escaped(&mut out.text, self.names.function(name));
        put(out, "\n  linkage   ");
        push_escaped(&mut out.text, self.names.linkage(name));
        for (at, alias) in file.records().aliases(&function).enumerate() {
            put(out, if at == 0 { "\n  aliases   " } else { ", " });
            push_escaped(&mut out.text, self.names.linkage(Some(alias?)));
            out.give()?;
        }
        put(out, &format!("\n  record    {}\n", self.record(SectionId::FUNCTIONS, id.0)));
        if function.partial {
            put(out, "  partial   its .dwo was missing: inlined frames are unknown\n");
        }
        if let Some(reason) = function.reason {
            put(out, &format!("  certainty likely where it is not folded: {}\n", reason.text()));
        }
        self.origin(out, function.origin)?;
        let origins = self.tree(out, &function)?;
        for place in self.places.remove(&id).unwrap_or_default() {
            self.piece(out, &place, &origins)?;
        }
        self.calls(out, id)?;
        put(out, "\n");
        self.sound()
    }

    /// Prints the calls to and from a function that are evidence for folded code.
    fn calls(&mut self, out: &mut Output, id: FunctionId) -> Result<(), Stop> {
        let Calls { to, from, guessed, imports, reached, objects, slots, targets } =
            self.calls.remove(&id).unwrap_or_default();
        for (word, other, calls) in [
            ("called", (|call: &Call| call.caller) as fn(&Call) -> Option<FunctionId>, to),
            ("calls", |call| Some(call.callee), from),
        ] {
            for call in calls {
                put(out, &format!("  {word:<9} "));
                if let Some(other) = other(&call) {
                    put(out, if word == "calls" { "" } else { "by " });
                    self.name(out, other)?;
                    put(out, ", ");
                }
                put(out, &format!("returns to {:#x}, by {}\n", call.address.0, call.how.text()));
                out.give()?;
            }
        }
        for (address, caller) in guessed {
            put(out, "  called    perhaps, ");
            if let Some(caller) = caller {
                put(out, "by ");
                self.name(out, caller)?;
                put(out, ", ");
            }
            put(out, &format!("returns to {:#x}, by the order of calls\n", address.0));
            out.give()?;
        }
        for (address, name) in imports {
            put(out, "  imports   ");
            push_escaped(&mut out.text, self.names.linkage(Some(name)));
            put(out, &format!(", returns to {:#x}\n", address.0));
            out.give()?;
        }
        for target in reached {
            put(out, "  reaches   ");
            match target {
                Some(target) => self.name(out, target)?,
                None => put(out, "unknown functions"),
            }
            put(out, " by tail calls\n");
            out.give()?;
        }
        for overrider in slots {
            put(out, &format!("  is in     slot {} of vtables", overrider.slot));
            put(out, if overrider.doubtful { "; other members may be in that slot too\n" } else { "\n" });
            out.give()?;
        }
        for target in targets {
            put(out, &format!("  runs      after the virtual calls of set {}", target.set));
            if let Some(point) = target.point {
                put(out, &format!(", on objects with vptr {:#x}", point.0));
            }
            put(out, if target.doubtful { "; another member may have run\n" } else { "\n" });
            out.give()?;
        }
        for method in objects {
            put(out, &format!("  runs on   objects with vptr {:#x}", method.point.0));
            if let Some(slot) = method.slot {
                put(out, &format!(", by calls through slot {slot}"));
            }
            if method.doubtful {
                put(out, "; another member may have run");
            }
            put(out, if method.guessed { ", but this one comes first by a guess\n" } else { "\n" });
            out.give()?;
        }
        Ok(())
    }

    fn name(&mut self, out: &mut Output, function: FunctionId) -> Result<(), Stop> {
        let name = self.file.records().function_name(function)?;
        push_escaped(&mut out.text, self.names.linkage(name));
        put(out, &format!(" (function {})", function.0));
        Ok(())
    }

    /// A damaged name is read as an empty one; the damage is reported here, once per function.
    fn sound(&mut self) -> Result<(), Stop> {
        self.names.take_error().map_or(Ok(()), |error| Err(error.into()))
    }

    fn record(&self, section: SectionId, record: u32) -> String {
        let name = section.name();
        match place::of_record(&self.file, section, record) {
            Some((byte, bit)) => format!("{name}[{record}] at byte {byte:#x} bit {bit}"),
            None => format!("{name}[{record}]"),
        }
    }

    fn origin(&mut self, out: &mut Output, id: OriginId) -> Result<(), Stop> {
        let origin = self.file.records().origin(id)?;
        put(out, &format!("  origin    {}, declared at ", self.record(SectionId::ORIGINS, id.0)));
        self.path(out, origin.file);
        put(out, &format!(":{}", origin.line));
        if let (first, end) = origin.edges
            && first < end
        {
            put(out, &format!(", EDGES[{first}..{end}]"));
        }
        put(out, "\n");
        Ok(())
    }

    fn path(&mut self, out: &mut Output, file: Option<FileId>) {
        match self.names.path(file) {
            b"" => put(out, "??"),
            path => push_escaped(&mut out.text, path),
        }
    }

    /// Prints the inline tree; gives the origin of each node, which rows are relative to.
    fn tree(&mut self, out: &mut Output, function: &Function) -> Result<Vec<OriginId>, Stop> {
        let mut origins = vec![function.origin];
        let Some(scopes) = self.file.records().scopes(function)? else { return Ok(origins) };
        let at = self.scopes_at.saturating_add(function.scopes_offset());
        put(out, &format!("  inlined   {} calls, SCOPES at byte {at:#x}\n", scopes.len()));
        let mut depths = vec![0usize];
        for (node, scope) in (1u32..).zip(scopes.iter()) {
            let scope = scope?;
            // Nodes are in preorder, so the parent is already in the list. Any other parent is damage.
            let caller = lookup(&origins, scope.parent)?;
            // `depths` is as long as `origins`, in which the parent was found.
            let depth = depths.get(scope.parent as usize).map_or(1, |depth| depth + 1);
            let caller = self.file.records().origin(caller)?;
            // The file stores an edge as its index among the edges of the caller's origin.
            let id = EdgeId(caller.edges.0.saturating_add(scope.edge));
            let edge = self.file.records().edge(id)?;
            // Trees can be deep, and a line is for reading.
            let indent = " ".repeat(2 * depth.min(40));
            put(out, &format!("    {node:>5} {indent}"));
            let callee = self.file.records().origin(edge.callee)?;
            push_escaped(&mut out.text, self.names.function(callee.name));
            put(out, " called at ");
            self.call_place(out, &edge, caller.file, caller.line);
            put(out, &format!("  (in {}, edge {}, origin {})\n", scope.parent, id.0, edge.callee.0));
            origins.push(edge.callee);
            depths.push(depth);
            out.give()?;
        }
        Ok(origins)
    }

    fn call_place(&mut self, out: &mut Output, edge: &Edge, caller_file: Option<FileId>, caller_line: u32) {
        self.path(out, file_of(edge.file, caller_file));
        put(out, &format!(":{}", i64::from(caller_line).saturating_add(edge.line)));
        if edge.column > 0 {
            put(out, &format!(":{}", edge.column));
        }
    }

    fn piece(&mut self, out: &mut Output, place: &PieceOf, origins: &[OriginId]) -> Result<(), Stop> {
        let piece: Piece = self.file.records().piece(place.piece)?;
        let end = piece.start.0.saturating_add(piece.body);
        put(out, &format!("  piece     {:#x}-{end:#x}", piece.start.0));
        if piece.pad > 0 {
            put(out, &format!(", padding to {:#x}", end.saturating_add(piece.pad)));
        }
        if piece.skip > 0 {
            put(out, &format!(", of a range that starts at {:#x}", piece.function_start().0));
        }
        put(out, &format!(", {}", self.record(SectionId::PIECES, place.piece.0)));
        if let (Some((index, how)), Owner::Group(group)) = (place.member, piece.owner) {
            let of = self.file.records().group(group)?.len();
            put(out, &format!(", GROUPS[{}] member {index} of {of}, by {how}", group.0));
        }
        if let Some(symbol) = piece.name {
            put(out, ", symbol ");
            push_escaped(&mut out.text, self.names.linkage(Some(symbol)));
        }
        put(out, "\n");
        // Code without lines, such as code that only a symbol names, has no rows.
        let Some(at) = place.rows else { return Ok(()) };
        let rows = self.file.records().rows(at)?;
        put(
            out,
            &format!("  rows      {}, ROWS at byte {:#x}\n", rows.len(), self.rows_at.saturating_add(at.0)),
        );
        for row in rows.iter() {
            let row = row?;
            // Rows are stored once for equal code, so a shorter piece may share a longer one's.
            if row.offset >= piece.len() {
                put(out, "    (the rest belongs to a longer piece)\n");
                break;
            }
            let origin = self.file.records().origin(lookup(origins, row.scope)?)?;
            put(
                out,
                &format!(
                    "    {:#x} +{:#x} scope {:<4} ",
                    piece.start.0.saturating_add(row.offset),
                    row.offset,
                    row.scope
                ),
            );
            self.path(out, file_of(row.file, origin.file));
            // The file stores lines relative to the line of the origin's declaration.
            let line = row.line.map_or(0, |line| i64::from(origin.line).saturating_add(line));
            put(out, &format!(":{line}"));
            if row.column > 0 {
                put(out, &format!(":{}", row.column));
            }
            put(out, "\n");
            out.give()?;
        }
        Ok(())
    }
}

fn file_of(code: FileCode, of_origin: Option<FileId>) -> Option<FileId> {
    match code {
        FileCode::Origin => of_origin,
        FileCode::Unknown => None,
        FileCode::File(file) => Some(file),
    }
}

/// The origin of a node.
fn lookup(origins: &[OriginId], node: u32) -> Result<OriginId, foldsym_lookup::Error> {
    let damage = foldsym_lookup::Error {
        section: SectionId::SCOPES,
        what: foldsym_lookup::What::Depth,
        offset: node.into(),
    };
    origins.get(node as usize).copied().ok_or(damage)
}

fn put(out: &mut Output, text: &str) {
    out.text.extend_from_slice(text.as_bytes());
}
