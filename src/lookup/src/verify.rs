//! Checks a whole file, every checksum, record and order, and returns its first fault.
//!
//! In a file that [`SymbolFile::verify`] accepts, a lookup returns no error at any address. The check visits each row and scope of the
//! file, and needs 4 KiB of stack.

use core::cell::Cell;
use core::cmp::Ordering;

use foldsym_format::bits::TAIL;
use foldsym_format::checksum::crc32;
use foldsym_format::header::{HEADER_LEN, field, flags};
use foldsym_format::names::Names;
use foldsym_format::sections::{aliases, functions, groups, members, pieces};
use foldsym_format::{SectionId, What};

use crate::entities::{Function, Owner, Piece};
use crate::error::{Error, InSection, optional, order, small, value};
use crate::file::{SymbolFile, directory_end, slice};
use crate::frames::Frames;
use crate::guesses::Guesses;
use crate::ids::{EdgeId, FileId, FunctionId, GroupId, NameId, OriginId, PieceId, RowsOffset};
use crate::imports::Imports;
use crate::program::{ProgramSections, Segments};
use crate::repeated::repeated;
use crate::row::FileCode;
use crate::variables::Variables;

/// The deepest inline tree, and the function itself.
const PATH: usize = foldsym_format::header::MAX_DEPTH as usize + 1;

impl SymbolFile<'_> {
    /// Checks the whole file: the checksum of each section and the zero bytes between them; that pieces
    /// are sorted, disjoint and not empty, names, origins and edges sorted and distinct, every id in range, every record, row and
    /// scope decodable, each group of one piece, each list of aliases of one function, and the deepest scope and the
    /// largest group as the header says. After a change of any single byte it reports a fault. It does not check the order of members, or
    /// that a function has code.
    ///
    /// The work is bounded: at most 2^22 rows, levels of rows in their inline tree, nodes, members, records that are compared for repeated
    /// numbers, and bytes of names, and 256 for each byte of the file. For the section NAME_INDEX, which this crate does not read, only the checksum is checked.
    ///
    /// # Errors
    /// The first fault, or records that are shared so often that checking each use exceeds that.
    pub fn verify(&self) -> Result<(), Error> {
        self.verify_checksums()?;
        if self.header().flags & !flags::KNOWN != 0 {
            return Err(Error::new(Error::FILE, What::Reserved, field::FLAGS as u64));
        }
        // Opening a file trusts the flag, so that it need not read the section.
        if (self.names.write(0, &mut []) == Some(0)) != self.first_name_is_empty() {
            return Err(Error::new(Error::FILE, What::Value, field::FLAGS as u64));
        }
        let work = &Work::of(self.bytes.len());
        let tables = [
            (SectionId::PIECES, &self.pieces),
            (SectionId::FUNCTIONS, &self.functions),
            (SectionId::ORIGINS, &self.origins),
            (SectionId::EDGES, &self.edges),
            (SectionId::GROUPS, &self.groups),
            (SectionId::MEMBERS, &self.members),
            (SectionId::ALIASES, &self.aliases),
            (SectionId::CALLS, &self.calls),
            (SectionId::TAILS, &self.tails),
            (SectionId::VTABLES, &self.vtables),
            (SectionId::SLOTS, &self.slots),
            (SectionId::OVERRIDERS, &self.overriders),
            (SectionId::DISPATCHES, &self.dispatches),
            (SectionId::TARGETS, &self.targets),
        ];
        // Headers first: the checks of records trust the places and widths in them.
        for (section, table) in tables {
            table.verify().within(section)?;
        }
        self.starts.verify().within(SectionId::STARTS)?;
        verify_records(SectionId::ROWS, self.rows)?;
        verify_records(SectionId::SCOPES, self.scopes)?;
        verify_names(SectionId::NAMES, &self.names, work)?;
        verify_names(SectionId::FILES, &self.files, work)?;
        self.verify_origins()?;
        self.verify_functions(work)?;
        self.verify_groups(work)?;
        self.verify_pieces(work)?;
        self.verify_calls()?;
        if let Some(blocks) = self.basic_blocks()? {
            // Widths of 0 let a short section have many blocks.
            work.take(SectionId::BLOCKS, u64::from(blocks.len()).saturating_mul(Work::A_BLOCK))?;
            blocks.verify()?;
        }
        self.verify_vtables()?;
        self.verify_dispatches()?;
        Guesses::open(self)?.verify()?;
        Imports::open(self)?.verify()?;
        Variables::open(self)?.verify()?;
        if let Some(locations) = self.locations()? {
            locations.verify(self.functions.len(), &mut || work.spend(SectionId::LOCATIONS))?;
        }
        if let Some(unwind) = self.unwind()? {
            unwind.verify().within(SectionId::UNWIND)?;
        }
        self.verify_program()
    }

    /// Checks that the bytes are those that were written: the checksum of each section, the copies of their heads, and the zero bytes
    /// between them. Reads the whole file once, decodes nothing, and needs 100 bytes of stack. [`SymbolFile::open`] checks header and directory
    /// alone, so that it takes constant time.
    ///
    /// # Errors
    /// The first fault.
    pub fn verify_checksums(&self) -> Result<(), Error> {
        let mut end = directory_end(self.header());
        let mut head_at = (HEADER_LEN as u64).saturating_add(self.header().entries_len() as u64);
        for entry in self.directory() {
            let gap = usize::try_from(end)
                .ok()
                .zip(usize::try_from(entry.offset).ok())
                .and_then(|(end, offset)| self.bytes.get(end..offset));
            if gap.is_none_or(|gap| gap.iter().any(|&byte| byte != 0)) {
                return Err(Error::new(Error::FILE, What::Reserved, end));
            }
            let section = slice(self.bytes, entry.offset, entry.len).unwrap_or(&[]);
            let head = slice(self.bytes, head_at, entry.head_len.into());
            // Opening a file reads only the heads. A lookup would use a head that differs from the first bytes of its section.
            if head.is_none_or(|head| !section.starts_with(head)) {
                return Err(Error::new(entry.id, What::Value, 0));
            }
            head_at = head_at.saturating_add(entry.head_len.into());
            if crc32(section) != entry.checksum {
                return Err(Error::new(entry.id, What::Checksum, 0));
            }
            end = entry.offset.saturating_add(entry.len);
        }
        Ok(())
    }

    fn verify_name(&self, name: Option<NameId>, section: SectionId, record: u32) -> Result<(), Error> {
        match name {
            Some(name) if name.0 >= self.names.len() => Err(value(section, record)),
            _ => Ok(()),
        }
    }

    fn verify_file(&self, file: Option<FileId>, section: SectionId, record: u32) -> Result<(), Error> {
        match file {
            Some(file) if file.0 >= self.files.len() => Err(value(section, record)),
            _ => Ok(()),
        }
    }

    /// Origins and their edges.
    fn verify_origins(&self) -> Result<(), Error> {
        const ORIGINS: SectionId = SectionId::ORIGINS;
        const EDGES: SectionId = SectionId::EDGES;
        let mut before = None;
        let mut edges_end = 0;
        for id in 0..self.origins.len() {
            let [name, path, line] = self.origins.record(id).within(ORIGINS)?;
            let key = (name.wrapping_add(id.into()), path, line);
            if before.is_some_and(|before| before >= key) {
                return Err(order(ORIGINS, id));
            }
            before = Some(key);
            let origin = self.records().origin(OriginId(id))?;
            self.verify_name(origin.name, ORIGINS, id)?;
            self.verify_file(origin.file, ORIGINS, id)?;
            let (first, end) = origin.edges;
            if first != edges_end || end < first || end > self.edges.len() {
                return Err(order(ORIGINS, id));
            }
            edges_end = end;
            let mut before = None;
            for edge_id in first..end {
                let [callee, line, file] = self.edges.record(edge_id).within(EDGES)?;
                let edge = self.records().edge(EdgeId(edge_id))?;
                let key = (line, file, edge.column, callee);
                if before.is_some_and(|before| before >= key) {
                    return Err(order(EDGES, edge_id));
                }
                before = Some(key);
                // A lookup adds the edge's line to the origin's. The sum must be a `u32`.
                let at = i64::from(origin.line).wrapping_add(line);
                if edge.callee.0 >= self.origins.len() || u32::try_from(at).is_err() {
                    return Err(value(EDGES, edge_id));
                }
                if let FileCode::File(file) = edge.file {
                    self.verify_file(Some(file), EDGES, edge_id)?;
                }
            }
        }
        if edges_end != self.edges.len() {
            return Err(Error::new(EDGES, What::Length, edges_end.into()));
        }
        Ok(())
    }

    /// Functions, their aliases and inline trees.
    fn verify_functions(&self, work: &Work) -> Result<(), Error> {
        const FUNCTIONS: SectionId = SectionId::FUNCTIONS;
        let mut deepest = 0;
        for id in 0..self.functions.len() {
            let function = self.records().function(FunctionId(id))?;
            self.verify_name(function.name, FUNCTIONS, id)?;
            let flags = self.functions.value(id, functions::FLAGS).within(FUNCTIONS)?;
            if function.origin.0 >= self.origins.len() || flags.cast_unsigned() & !functions::KNOWN != 0 {
                return Err(value(FUNCTIONS, id));
            }
            deepest = deepest.max(self.verify_scopes(&function, work)?);
        }
        if deepest != self.header().max_depth as usize {
            return Err(Error::new(Error::FILE, What::Value, field::MAX_DEPTH as u64));
        }
        self.verify_aliases(work)
    }

    /// The lists of aliases: each is of one function, and sorted by name.
    fn verify_aliases(&self, work: &Work) -> Result<(), Error> {
        const FUNCTIONS: SectionId = SectionId::FUNCTIONS;
        const ALIASES: SectionId = SectionId::ALIASES;
        // The last record must end a list: then each list ends inside the table.
        let (mut lists, mut ended, mut before) = (0u32, true, 0);
        for id in 0..self.aliases.len() {
            let [name, last] = self.aliases.record(id).within(ALIASES)?;
            let named = u32::try_from(name).is_ok_and(|name| name < self.names.len());
            if !named || !matches!(last, 0 | 1) || (last == 0 && id == self.aliases.len().wrapping_sub(1)) {
                return Err(value(ALIASES, id));
            }
            if !ended && name <= before {
                return Err(order(ALIASES, id));
            }
            (ended, before) = (last == 1, name);
            lists = lists.saturating_add(u32::from(ended));
        }
        for id in 0..self.functions.len() {
            let Some(first) = self.records().function(FunctionId(id))?.aliases else { continue };
            let begins = match first.checked_sub(1) {
                Some(before) if first < self.aliases.len() => {
                    self.aliases.value(before, aliases::LAST).within(ALIASES)? == 1
                }
                _ => first < self.aliases.len(),
            };
            // With as many functions as lists, and no two functions of one list, each list has a function.
            if !begins || lists == 0 {
                return Err(value(FUNCTIONS, id));
            }
            lists = lists.saturating_sub(1);
        }
        if lists != 0 {
            return Err(Error::new(ALIASES, What::Length, lists.into()));
        }
        let shared = repeated(0..self.functions.len(), &|id| {
            work.spend(FUNCTIONS)?;
            let first = self.functions.value(id, functions::ALIASES).within(FUNCTIONS)?;
            optional(first, FUNCTIONS, id)
        })?;
        shared.map_or(Ok(()), |id| Err(value(FUNCTIONS, id)))
    }

    /// The inline tree of a function: nodes in preorder, each an edge of its parent's origin. Gives its depth.
    fn verify_scopes(&self, function: &Function, work: &Work) -> Result<usize, Error> {
        let Some(scopes) = self.records().scopes(function)? else { return Ok(0) };
        let wrong = |what| Error::new(SectionId::SCOPES, what, function.scopes_offset());
        // The nodes from the root to the one before, with their origins: in preorder the next one's parent
        // is among them.
        let mut path = [(0u32, OriginId(0)); PATH];
        if let Some(root) = path.first_mut() {
            root.1 = function.origin;
        }
        let (mut depth, mut deepest) = (0usize, 0);
        for (node, scope) in (1u32..).zip(scopes.iter()) {
            work.spend(SectionId::SCOPES)?;
            let scope = scope?;
            // In preorder a node's parent is the node before it or an ancestor of that one: the path loses all nodes with higher numbers.
            while path.get(depth).is_some_and(|&(on_path, _)| on_path > scope.parent) {
                depth = depth.saturating_sub(1);
            }
            let Some(&(on_path, origin)) = path.get(depth) else { return Err(wrong(What::Depth)) };
            if on_path != scope.parent {
                return Err(wrong(What::Order));
            }
            let (first, end) = self.records().origin(origin)?.edges;
            // A lookup does not compare an edge with the end of its origin's edges (`spot_frames`): this check does.
            let edge = first.saturating_add(scope.edge);
            if edge >= end {
                return Err(wrong(What::Value));
            }
            depth = depth.saturating_add(1);
            if depth > self.header().max_depth as usize {
                return Err(wrong(What::Depth));
            }
            deepest = deepest.max(depth);
            if let Some(slot) = path.get_mut(depth) {
                *slot = (node, self.records().edge(EdgeId(edge))?.callee);
            }
        }
        Ok(deepest)
    }

    /// Checks that the groups cover all members one after another, and that each function is one member of a group.
    fn verify_groups(&self, work: &Work) -> Result<(), Error> {
        const GROUPS: SectionId = SectionId::GROUPS;
        const MEMBERS: SectionId = SectionId::MEMBERS;
        let mut end = 0u32;
        let mut largest = 0;
        for id in 0..self.groups.len() {
            if self.groups.value(id, groups::FIRST).within(GROUPS)? != i64::from(end) {
                return Err(order(GROUPS, id));
            }
            let group = self.records().group(GroupId(id))?;
            largest = largest.max(group.len());
            for (record, member) in (end..).zip(self.records().members(group)) {
                let member = member?;
                if member.function.0 >= self.functions.len() {
                    return Err(value(MEMBERS, record));
                }
                self.verify_name(member.name, MEMBERS, record)?;
            }
            // Members are not sorted by function, so equal ones need not be adjacent.
            let twice = repeated(end..end.saturating_add(group.len()), &|record| {
                work.spend(MEMBERS)?;
                let function = self.members.value(record, members::FUNCTION).within(MEMBERS)?;
                small(function, MEMBERS, record).map(Some)
            })?;
            if let Some(record) = twice {
                return Err(value(MEMBERS, record));
            }
            end = end.saturating_add(group.len());
        }
        if end != self.members.len() || largest != self.header().max_group {
            return Err(Error::new(MEMBERS, What::Length, end.into()));
        }
        Ok(())
    }

    /// Pieces in order, and the rows of their owners.
    fn verify_pieces(&self, work: &Work) -> Result<(), Error> {
        const PIECES: SectionId = SectionId::PIECES;
        let mut end = self.image_base().0;
        let (mut functions, mut groups) = (0u32, 0u32);
        for id in 0..self.pieces.len() {
            let piece = self.records().piece(PieceId(id))?;
            if piece.is_empty() {
                return Err(value(PIECES, id));
            }
            // A lookup computes addresses modulo 2^64: a piece that wraps would hold low addresses.
            let piece_end = piece.start.0.checked_add(piece.len()).ok_or(value(PIECES, id))?;
            if piece.start.0 < end {
                return Err(order(PIECES, id));
            }
            end = piece_end;
            self.verify_name(piece.name, PIECES, id)?;
            match piece.owner {
                Owner::Function(function) => {
                    // Functions are sorted by their first piece, and those without one come last: the first pieces are of function 0, 1, ...
                    if function.0 > functions {
                        return Err(order(PIECES, id));
                    }
                    functions = functions.max(function.0.saturating_add(1));
                    self.verify_rows(function, piece.rows, &piece, work)?;
                }
                Owner::Group(group) => {
                    // The members have the rows (schema, section 3).
                    if piece.rows.is_some() {
                        return Err(value(PIECES, id));
                    }
                    groups = groups.saturating_add(1);
                    for member in self.records().members(self.records().group(group)?) {
                        let member = member?;
                        work.spend(SectionId::MEMBERS)?;
                        self.verify_rows(member.function, member.rows, &piece, work)?;
                    }
                }
            }
        }
        // With as many pieces as groups, and no two of one group, each group has one.
        let twice = repeated(0..self.pieces.len(), &|id| {
            work.spend(PIECES)?;
            let owner = self.pieces.value(id, pieces::OWNER).within(PIECES)?;
            if owner & 1 == 0 { Ok(None) } else { small(owner >> 1, PIECES, id).map(Some) }
        })?;
        if let Some(id) = twice {
            return Err(value(PIECES, id));
        }
        if groups != self.groups.len() {
            return Err(Error::new(SectionId::GROUPS, What::Length, groups.into()));
        }
        Ok(())
    }

    /// The rows of a function's piece: they rise, and each gives frames whose ids are in range.
    fn verify_rows(
        &self,
        id: FunctionId,
        rows: Option<RowsOffset>,
        piece: &Piece,
        work: &Work,
    ) -> Result<(), Error> {
        const ROWS: SectionId = SectionId::ROWS;
        let function = self.records().function(id)?;
        let Some(at) = rows else { return Ok(()) };
        let rows = self.records().rows(at)?;
        // The check of the padding parses each block before any row is counted, so each block counts too.
        work.take(ROWS, rows.block_count().into())?;
        rows.verify_padding()?;
        let mut frames = Frames::new();
        let mut before = None;
        for row in rows.iter() {
            work.spend(ROWS)?;
            let row = row?;
            let rises = match before {
                None => row.offset == 0,
                Some(before) => row.offset > before,
            };
            if !rises {
                return Err(Error::new(ROWS, What::Order, at.0));
            }
            before = Some(row.offset);
            // Rows that no address reaches must be ascending too: the search for others compares with them.
            if row.offset >= piece.len() {
                continue;
            }
            self.row_frames(&function, &row, &mut frames)?;
            // Each level was gone up and down.
            work.take(ROWS, frames.len().into())?;
            // The frames further out are the edges of the scopes, which were checked once for all rows.
            if let Some(frame) = self.frames(&frames).next() {
                self.verify_file(frame?.file, ROWS, 0)?;
            }
        }
        Ok(())
    }

    /// The program's sections and segments.
    fn verify_program(&self) -> Result<(), Error> {
        if let Some(data) = self.section_bytes(SectionId::SECTIONS) {
            let mut sections = ProgramSections::new(data, self.header().image_base);
            // The list ends at the first record that it cannot read. `rest` then has the number of records that were not read.
            sections.by_ref().for_each(drop);
            // Without a count nothing is read, and nothing is left of no bytes.
            if data.is_empty() {
                return Err(Error::new(SectionId::SECTIONS, What::Truncated, 0));
            }
            ends(SectionId::SECTIONS, sections.rest(), data)?;
        }
        let Some(data) = self.section_bytes(SectionId::SEGMENTS) else { return Ok(()) };
        let Some(mut segments) = Segments::new(data, self.header().image_base) else {
            // The count comes after the flags.
            return Err(Error::new(SectionId::SEGMENTS, What::Length, data.len().min(1) as u64));
        };
        segments.by_ref().for_each(drop);
        ends(SectionId::SEGMENTS, segments.rest(), data)
    }
}

/// Whether all of a list was read, and is as the format has it.
fn ends(section: SectionId, (at, left, known): (usize, u64, bool), data: &[u8]) -> Result<(), Error> {
    if !known {
        return Err(Error::new(section, What::Reserved, 0));
    }
    if left != 0 || at != data.len() {
        return Err(Error::new(section, What::Length, at as u64));
    }
    Ok(())
}

/// The work that is left for a file. Records may be shared by any number of functions, and are checked for each: without a bound, a file
/// could take the square of its size in time.
struct Work {
    left: Cell<u64>,
}

impl Work {
    /// Rows and their levels, nodes and members for each byte of a file: the largest known programs have one in two bytes.
    const A_BYTE: u64 = 256;
    /// And as many for any file.
    const FLOOR: u64 = 1 << 22;

    fn of(file_len: usize) -> Self {
        Self { left: Cell::new((file_len as u64).saturating_mul(Self::A_BYTE).saturating_add(Self::FLOOR)) }
    }

    /// The work of finding a basic block again by its address.
    const A_BLOCK: u64 = 16;

    /// Takes one from the work that is left; an error if none is left.
    fn spend(&self, section: SectionId) -> Result<(), Error> {
        self.take(section, 1)
    }

    fn take(&self, section: SectionId, count: u64) -> Result<(), Error> {
        // This fails if the file shares its records far more often than the largest known programs do.
        let left = self.left.get().checked_sub(count).ok_or(Error::new(section, What::Length, 0))?;
        self.left.set(left);
        Ok(())
    }
}

/// ROWS and SCOPES: a zero byte that no record has, and the zero tail.
fn verify_records(section: SectionId, data: &[u8]) -> Result<(), Error> {
    let tail = data.len().saturating_sub(TAIL);
    let first = data.first().copied();
    if data.len() <= TAIL {
        return Err(Error::new(section, What::Truncated, data.len() as u64));
    }
    if first != Some(0) || data.get(tail..).is_none_or(|tail| tail.iter().any(|&byte| byte != 0)) {
        return Err(Error::new(section, What::Reserved, tail as u64));
    }
    Ok(())
}

/// Bytes of a name that `verify_names` compares with the one before at once.
const WINDOW: usize = 1024;

/// Every name can be decoded and is greater than the one before.
///
/// Names that share a prefix longer than the window are not compared further: there is no room to hold them.
fn verify_names(section: SectionId, names: &Names<'_>, work: &Work) -> Result<(), Error> {
    let mut buffers = [[0u8; WINDOW]; 2];
    let [before, this] = &mut buffers;
    let mut before_len = 0usize;
    for id in 0..names.len() {
        // Each name is decoded whole, though only the window is kept: a name is sound only if all of its codes are.
        let len = names.write(id, this).ok_or(Error::new(section, What::Name, id.into()))?;
        work.take(section, (len as u64).saturating_add(1))?;
        if id > 0 {
            let old = before.get(..before_len.min(WINDOW)).unwrap_or(&[]);
            let new = this.get(..len.min(WINDOW)).unwrap_or(&[]);
            // Equal windows are sound only if a name goes on after its window.
            let fits = before_len.max(len) <= WINDOW;
            match old.cmp(new) {
                Ordering::Less => {}
                Ordering::Equal if !fits => {}
                _ => return Err(order(section, id)),
            }
        }
        core::mem::swap(before, this);
        before_len = len;
    }
    Ok(())
}
