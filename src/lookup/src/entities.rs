//! Gives the records of the tables named fields, for callers that list a file rather than look up an address.

use foldsym_format::sections::{edges, functions, groups, members, origins};
use foldsym_format::starts::Start;
use foldsym_format::{FormatError, Reason, SectionId, Table, What};

use crate::error::{Error, InSection, large, optional, small};
use crate::file::SymbolFile;
use crate::ids::{EdgeId, FileId, FunctionId, GroupId, ImageAddr, NameId, OriginId, ReturnAddr, RowsOffset};
use crate::row::FileCode;

/// Whose code a piece is. Exhaustive: the format has no third kind of owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// One function's.
    Function(FunctionId),
    /// Several functions', folded into one.
    Group(GroupId),
}

/// A range of code, `start .. start + body + pad`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// First address.
    pub start: ImageAddr,
    /// Bytes that belong to the owner.
    pub body: u64,
    /// Bytes after the body that have a file and line and no function: alignment padding.
    pub pad: u64,
    /// Bytes from the true start of the function's range to this piece, where another was cut out.
    pub skip: u64,
    /// Whose it is.
    pub owner: Owner,
    /// Its rows; `None` if no line is known, or for a group, whose members have them.
    pub rows: Option<RowsOffset>,
    /// The symbol at the start of this piece, if it differs from the function's own name (`foo.cold`).
    pub name: Option<NameId>,
}

impl Piece {
    #[inline(always)]
    pub(crate) fn read(file: &SymbolFile<'_>, place: Start) -> Result<Self, Error> {
        const PIECES: SectionId = SectionId::PIECES;
        let id = place.piece;
        let Some([gap, pad, skip, owner, rows, name]) = file.pieces.columns_of(id) else {
            return Err(refused(&file.pieces, PIECES, id));
        };
        // Checks all of them at once: none may be negative.
        if gap | pad | skip | owner | rows < 0 {
            return Err(Error::new(PIECES, What::Value, id.into()));
        }
        let [gap, pad, skip, owner, rows] = [gap, pad, skip, owner, rows].map(i64::cast_unsigned);
        let len = place.next.wrapping_sub(place.start);
        // Both are below 2^63, so the sum does not wrap.
        let Some(body) = len.checked_sub(gap.wrapping_add(pad)) else {
            return Err(Error::new(PIECES, What::Value, id.into()));
        };
        // The lowest bit is the kind of owner, so that one column serves for both (schema, section 3).
        let index = small((owner >> 1).cast_signed(), PIECES, id)?;
        Ok(Self {
            start: ImageAddr(file.header().image_base.wrapping_add(place.start)),
            body,
            pad,
            skip,
            owner: match owner & 1 {
                0 => Owner::Function(FunctionId(index)),
                _ => Owner::Group(GroupId(index)),
            },
            rows: if rows == 0 { None } else { Some(RowsOffset(rows)) },
            name: optional(name, PIECES, id)?.map(NameId),
        })
    }

    /// Bytes that the piece covers, padding included.
    #[inline(always)]
    pub const fn len(&self) -> u64 {
        self.body.saturating_add(self.pad)
    }

    /// True if it covers no byte.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where the function's range truly starts.
    #[inline(always)]
    pub const fn function_start(&self) -> ImageAddr {
        ImageAddr(self.start.0.wrapping_sub(self.skip))
    }
}

/// Why a record of PIECES or FUNCTIONS cannot be read.
#[cold]
#[inline(never)]
fn refused(table: &Table<'_>, section: SectionId, record: u32) -> Error {
    let FormatError { what, offset } = table.refused(record.into(), table.columns().into());
    Error { section, what, offset }
}

#[inline(always)]
fn rows_offset(value: i64, section: SectionId, record: u32) -> Result<Option<RowsOffset>, Error> {
    let value = large(value, section, record)?;
    Ok(if value == 0 { None } else { Some(RowsOffset(value)) })
}

/// Why a function with these flags is not certain to be the only one of its code.
#[inline(always)]
fn reason(flags: i64, id: FunctionId) -> Result<Option<Reason>, Error> {
    // The code includes all higher bits: a flag that this reader does not know must not pass for reason 0, which means `unique`.
    let code = flags.cast_unsigned().wrapping_shr(functions::REASON);
    if code == 0 {
        return Ok(None);
    }
    Reason::from_code(code).map(Some).ok_or(Error::new(SectionId::FUNCTIONS, What::Value, id.0.into()))
}

/// A function of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its identity in the source.
    pub origin: OriginId,
    /// The symbol at its start, if that differs from the origin's name.
    pub name: Option<NameId>,
    /// True if the unit's `.dwo` was missing: inlined frames are unknown.
    pub partial: bool,
    /// Where its code is not folded: why it is not certain that it is the only function there; `None`: it is certain.
    pub reason: Option<Reason>,
    /// Offset in SCOPES, 0: nothing is inlined.
    pub(crate) scopes: u64,
    /// Index of its first alias.
    pub(crate) aliases: Option<u32>,
}

impl Function {
    #[inline(always)]
    pub(crate) fn read(file: &SymbolFile<'_>, id: FunctionId) -> Result<Self, Error> {
        const FUNCTIONS: SectionId = SectionId::FUNCTIONS;
        let [origin, scopes, flags, name, aliases] = file.functions.record(id.0).within(FUNCTIONS)?;
        Self::of(file, id, [origin, scopes, flags, name], aliases)
    }

    /// As [`Function::read`], for a lookup of frames: without the aliases.
    #[inline(always)]
    pub(crate) fn entered(file: &SymbolFile<'_>, id: FunctionId) -> Result<Self, Error> {
        // A second reader of the record would be more code than tier 1 of the C interface may have.
        if cfg!(feature = "small") {
            return Self::read(file, id);
        }
        let Some(record) = file.functions.columns_of(id.0) else {
            return Err(refused(&file.functions, SectionId::FUNCTIONS, id.0));
        };
        Self::of(file, id, record, 0)
    }

    #[inline(always)]
    fn of(file: &SymbolFile<'_>, id: FunctionId, record: [i64; 4], aliases: i64) -> Result<Self, Error> {
        const FUNCTIONS: SectionId = SectionId::FUNCTIONS;
        let [origin, scopes, flags, name] = record;
        Ok(Self {
            origin: OriginId(small(origin, FUNCTIONS, id.0)?),
            name: if name == 0 { None } else { Some(Self::own_name(file, id, origin, name)?) },
            partial: flags.cast_unsigned() & functions::PARTIAL != 0,
            reason: reason(flags, id)?,
            scopes: large(scopes, FUNCTIONS, id.0)?,
            aliases: optional(aliases, FUNCTIONS, id.0)?,
        })
    }

    /// Why it is not certain that a function is the only one with its code. Reads only its flags.
    pub(crate) fn read_reason(file: &SymbolFile<'_>, id: FunctionId) -> Result<Option<Reason>, Error> {
        // One column is enough: a frame of a stack needs no more of a function whose code is not folded.
        let flags = file.functions.value(id.0, functions::FLAGS).within(SectionId::FUNCTIONS)?;
        reason(flags, id)
    }

    /// The name `distance` entries after the name of the origin.
    #[cold]
    fn own_name(file: &SymbolFile<'_>, id: FunctionId, origin: i64, distance: i64) -> Result<NameId, Error> {
        let origin = small(origin, SectionId::FUNCTIONS, id.0)?;
        let name = file.origins.value(origin, origins::NAME).within(SectionId::ORIGINS)?;
        let name = name.wrapping_add(origin.into());
        small(name.wrapping_add(distance), SectionId::FUNCTIONS, id.0).map(NameId)
    }

    /// Its symbol's name, else its origin's; `None` if that is empty.
    pub(crate) fn shown_name(&self, file: &SymbolFile<'_>) -> Result<Option<NameId>, Error> {
        match self.name {
            Some(name) => Ok(file.non_empty(name)),
            None => Ok(Origin::read(file, self.origin)?.name),
        }
    }

    /// Offset of its inline tree in SCOPES, 0 if nothing is inlined: functions with equal trees share
    /// one.
    pub const fn scopes_offset(&self) -> u64 {
        self.scopes
    }
}

/// A subprogram as the source has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Its name; `None` if it is empty.
    pub name: Option<NameId>,
    /// Where it is declared.
    pub file: Option<FileId>,
    /// Line of the declaration, 0: unknown.
    pub line: u32,
    /// The calls in it that were inlined somewhere: `edges.0 .. edges.1`, as [`EdgeId`]s.
    pub edges: (u32, u32),
}

/// What is added to the column `edges` of an origin.
#[inline(always)]
fn edges_line(origin: u32) -> i64 {
    i64::from(origin).wrapping_mul(origins::EDGES_EACH)
}

impl Origin {
    pub(crate) fn read(file: &SymbolFile<'_>, id: OriginId) -> Result<Self, Error> {
        const ORIGINS: SectionId = SectionId::ORIGINS;
        let [name, path, line, first] = file.origins.record(id.0).within(ORIGINS)?;
        let (name, first) = (name.wrapping_add(id.0.into()), first.wrapping_add(edges_line(id.0)));
        let end = match id.0.checked_add(1) {
            // An origin stores only where its edges begin: the next origin's record says where they end.
            Some(next) if next < file.origins.len() => {
                let first = file.origins.value(next, foldsym_format::sections::origins::EDGES);
                small(first.within(ORIGINS)?.wrapping_add(edges_line(next)), ORIGINS, next)?
            }
            _ => file.edges.len(),
        };
        Ok(Self {
            name: file.non_empty(NameId(small(name, ORIGINS, id.0)?)),
            file: optional(path, ORIGINS, id.0)?.map(FileId),
            line: small(line, ORIGINS, id.0)?,
            edges: (small(first, ORIGINS, id.0)?, end),
        })
    }
}

/// An inlined call as the source has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The callee.
    pub callee: OriginId,
    /// Line of the call minus the line of the caller's declaration.
    pub line: i64,
    /// File of the call.
    pub file: FileCode,
    /// Column of the call, 0: unknown or not kept.
    pub column: u32,
}

impl Edge {
    #[inline(always)]
    pub(crate) fn read(file: &SymbolFile<'_>, id: EdgeId) -> Result<Self, Error> {
        const EDGES: SectionId = SectionId::EDGES;
        // Every file has these three columns. Only a file with the feature COLUMNS has the fourth.
        let [callee, line, path] = file.edges.record(id.0).within(EDGES)?;
        let column = if file.edges.columns() == edges::COLUMNS {
            0
        } else {
            small(file.edges.value(id.0, edges::COLUMN).within(EDGES)?, EDGES, id.0)?
        };
        Ok(Self {
            callee: OriginId(small(callee, EDGES, id.0)?),
            line,
            file: FileCode::new(small(path, EDGES, id.0)?),
            column,
        })
    }
}

/// The functions that share one range of code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    first: u32,
    len: u32,
}

impl Group {
    pub(crate) fn read(file: &SymbolFile<'_>, id: GroupId) -> Result<Self, Error> {
        const GROUPS: SectionId = SectionId::GROUPS;
        let first_of = |group| small(file.groups.value(group, groups::FIRST).within(GROUPS)?, GROUPS, group);
        let first = first_of(id.0)?;
        let end = match id.0.checked_add(1) {
            Some(next) if next < file.groups.len() => first_of(next)?,
            _ => file.members.len(),
        };
        match end.checked_sub(first) {
            // Callers bound steps and memory by `max_group`, so a larger group is damage even if MEMBERS has all its records.
            Some(len) if len > 0 && len <= file.header().max_group => Ok(Self { first, len }),
            _ => Err(Error::new(GROUPS, What::Length, id.0.into())),
        }
    }

    /// The record of member `index` in MEMBERS; `None` past the last.
    pub(crate) fn record(&self, index: u32) -> Option<u32> {
        if index < self.len { self.first.checked_add(index) } else { None }
    }

    /// How many functions share the code; at least 1.
    #[allow(clippy::len_without_is_empty)] // never empty
    pub const fn len(&self) -> u32 {
        self.len
    }
}

/// How the address of a function became known; what comes first is trusted first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum How {
    /// Its DIE has a live address.
    LiveRange,
    /// Its `DW_AT_LLVM_stmt_sequence` starts at a live address.
    StmtSequence,
    /// A relocation kept by the linker holds the address.
    Relocation,
    /// The symbol table has its linkage name there.
    Symbol,
    /// An unclaimed line sequence of its unit fits it, and fits no other function.
    LineSequence,
    /// Merged by the compiler; a call site names it.
    CallSite,
    /// A symbol without a DIE.
    SymbolOnly,
    /// The same, and the order of symbols and line sequences shows which of the sequences there is probably its own: its lines may be those
    /// of another function of the group.
    SymbolOrder,
}

impl How {
    /// All of them, in their order.
    pub const ALL: [Self; 8] = [
        Self::LiveRange,
        Self::StmtSequence,
        Self::Relocation,
        Self::Symbol,
        Self::LineSequence,
        Self::CallSite,
        Self::SymbolOnly,
        Self::SymbolOrder,
    ];

    /// True if no DIE describes the function: a symbol alone names it.
    pub const fn is_undescribed(self) -> bool {
        matches!(self, Self::SymbolOnly | Self::SymbolOrder)
    }

    /// The word for it in `dump` and JSON.
    ///
    /// ```
    /// assert_eq!(foldsym_lookup::How::StmtSequence.text(), "stmt_sequence");
    /// ```
    pub const fn text(self) -> &'static str {
        match self {
            Self::LiveRange => "live_range",
            Self::StmtSequence => "stmt_sequence",
            Self::Relocation => "relocation",
            Self::Symbol => "symbol",
            Self::LineSequence => "line_sequence",
            Self::CallSite => "call_site",
            Self::SymbolOnly => "symbol_only",
            Self::SymbolOrder => "symbol_order",
        }
    }
}

/// One of the functions of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// Which function.
    pub function: FunctionId,
    /// How it was recovered.
    pub how: How,
    /// Its rows; `None` if no line is known.
    pub rows: Option<RowsOffset>,
    /// The symbol at the start of the piece, if it differs from the function's own name.
    pub name: Option<NameId>,
}

impl Member {
    pub(crate) fn read(file: &SymbolFile<'_>, group: Group, index: u32) -> Result<Self, Error> {
        const MEMBERS: SectionId = SectionId::MEMBERS;
        let record = group.first.saturating_add(index);
        // The record may exist: it is then a member of the next group.
        if index >= group.len {
            return Err(Error::new(MEMBERS, What::NoRecord, record.into()));
        }
        let [function, rows, how, name] =
            file.members.record::<{ members::COLUMNS as usize }>(record).within(MEMBERS)?;
        // The order of `How::ALL` is that of the numbers in the schema (section 3).
        let how = usize::try_from(how).ok().and_then(|how| How::ALL.get(how).copied());
        Ok(Self {
            function: FunctionId(small(function, MEMBERS, record)?),
            how: how.ok_or(Error::new(MEMBERS, What::Value, record.into()))?,
            rows: rows_offset(rows, MEMBERS, record)?,
            name: optional(name, MEMBERS, record)?.map(NameId),
        })
    }
}

/// The callee of a call into folded code, or of a call to a function that reaches folded code by tail calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// Where it returns to.
    pub address: ReturnAddr,
    /// In folded code, which of its functions calls; `None`: whichever.
    pub caller: Option<FunctionId>,
    /// The callee.
    pub callee: FunctionId,
    /// The record that names the callee.
    pub how: CallHow,
}

/// The record that names a call's callee.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallHow {
    /// The compiler recorded the call.
    CallSite,
    /// The linker kept the relocation of the call.
    Relocation,
    /// The compiler recorded the call, but the recorded callee may have replaced one that the compiler merged with it.
    Doubtful,
    /// The linker kept the relocation of a call of such a callee.
    DoubtfulRelocation,
    /// The compiler recorded the call, or the linker kept its relocation, but that rules no function out: a function that nothing names may
    /// have made the call, or the callee jumps to unknown code.
    Unproven,
    /// The compiler recorded the call, or the linker kept its relocation, in a unit of which gcc is known to have merged functions.
    Merged,
    /// The compiler recorded the call by the callee's name alone, without its linkage name. That makes the callee likely, and rules no
    /// function out.
    NameAlone,
}

impl CallHow {
    /// The word for it in `dump`.
    ///
    /// ```
    /// assert_eq!(foldsym_lookup::records::CallHow::CallSite.text(), "call_site");
    /// ```
    pub const fn text(self) -> &'static str {
        match self {
            Self::CallSite => "call_site",
            Self::Relocation => "relocation",
            Self::Doubtful => "doubtful",
            Self::DoubtfulRelocation => "doubtful_relocation",
            Self::Unproven => "unproven",
            Self::Merged => "merged",
            Self::NameAlone => "name_alone",
        }
    }
}

/// A function that runs on the objects of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Method {
    /// The vtable pointer of these objects (their first word).
    pub point: ImageAddr,
    /// The function, of a group.
    pub function: FunctionId,
    /// Only for calls through this word of the vtable; `None`: for any call.
    pub slot: Option<u32>,
    /// Other functions of the group may have run.
    pub doubtful: bool,
    /// Of several doubtful functions this one comes first: a guess, by the order of the methods' declarations or symbols.
    pub guessed: bool,
}

/// A member of a group to which a word of vtables leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overrider {
    /// Which word, from 0.
    pub slot: u32,
    /// The function, of a group.
    pub function: FunctionId,
    /// A vtable whose word leads to the group's code may mean another of its functions.
    pub doubtful: bool,
}

/// A function that a virtual call may call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// The number of the set: [`Records::dispatches`](crate::records::Records::dispatches) has the calls.
    pub set: u32,
    /// Only on objects with this vtable pointer (their first word); `None`: on any object.
    pub point: Option<ImageAddr>,
    /// The function, of a group.
    pub function: FunctionId,
    /// Other functions of its group may run.
    pub doubtful: bool,
}

/// The other names of one function; see [`Records::aliases`](crate::records::Records::aliases).
#[derive(Clone)]
pub struct Aliases<'f, 'd> {
    file: &'f SymbolFile<'d>,
    next: Option<u32>,
}

impl<'f, 'd> Aliases<'f, 'd> {
    pub(crate) const fn new(file: &'f SymbolFile<'d>, next: Option<u32>) -> Self {
        Self { file, next }
    }
}

impl Iterator for Aliases<'_, '_> {
    type Item = Result<NameId, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        // `take` ends the list after an error: only a record that was read gives the next one.
        let record = self.next.take()?;
        let read = || {
            let [name, last] = self.file.aliases.record(record).within(SectionId::ALIASES)?;
            Ok((NameId(small(name, SectionId::ALIASES, record)?), last))
        };
        Some(read().map(|(name, last)| {
            // In a damaged file perhaps no record is marked as the last. Then the read past the end of the table fails and ends the list.
            self.next = if last == 0 { record.checked_add(1) } else { None };
            name
        }))
    }
}
