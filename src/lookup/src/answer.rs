//! Looks an address up: which function it is in, and the frames of its inlined calls.
//!
//! A lookup has three steps. The piece of the address is found in its bucket of STARTS. The row of
//! the offset in the piece gives a node of the inline tree. The path from that node to the root gives the
//! frames, which are left in [`Frames`].

use foldsym_format::starts::Start;
use foldsym_format::{Reason, SectionId, What, bits};

use crate::entities::{Function, Group, How, Member, Owner, Piece};
use crate::error::{Error, InSection};
use crate::file::SymbolFile;
use crate::frames::{Frames, OriginParts};
use crate::ids::{FunctionId, GroupId, ImageAddr, NameId, PieceId, RowsOffset};
use crate::row::Spot;
use crate::rows::find_spot;

/// The result for an address. Exhaustive: an address has a function, or it has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// Nothing is known there, and why.
    NotFound(NotFoundReason),
    /// A function's code, or padding with a line. The frames are in the caller's [`Frames`].
    Found(Answer),
}

/// Why an address has no function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotFoundReason {
    /// It is below all known code or above it.
    OutsideCode,
    /// It is between known functions, and belongs to none.
    NoFunction,
}

/// How sure it is that the answer's function is the one that ran. The surest comes first, so `certainty <= Certainty::Exact` selects proven
/// answers, and `certainty <= Certainty::Likely` answers with one function to name.
///
/// Exhaustive: callers must handle each degree differently, so a new one must not fall into a wildcard arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Certainty {
    /// The code is one function's, which was checked.
    Unique,
    /// The code is folded, and the compiler recorded which function this call calls.
    Exact,
    /// No trace shows a second function, but the check for one was incomplete: there is a [`Reason`]. Or the code is folded, and exactly
    /// one function has [`Evidence`] that is not a proof: a record of the call, the word of a vtable that the call goes through, or the
    /// object. Then all functions that are not ruled out stay candidates, and that one comes first.
    Likely,
    /// The code is folded, and some of the functions are ruled out.
    Narrowed,
    /// The code is folded, and any of the functions may have run.
    Ambiguous,
}

impl Certainty {
    /// The word for it in text and JSON.
    ///
    /// ```
    /// assert_eq!(foldsym_lookup::Certainty::Narrowed.text(), "narrowed");
    /// ```
    pub const fn text(self) -> &'static str {
        match self {
            Self::Unique => "unique",
            Self::Exact => "exact",
            Self::Likely => "likely",
            Self::Narrowed => "narrowed",
            Self::Ambiguous => "ambiguous",
        }
    }
}

/// The evidence of an [`Certainty::Exact`] or [`Certainty::Narrowed`] answer, and of a [`Certainty::Likely`] one at folded code.
///
/// Exhaustive, so that the compiler finds each place that gives a kind of evidence a number or a name (C's interface, `foldsym-symbolize`).
/// `foldsym_symbolize::Evidence` is `non_exhaustive` instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Evidence {
    /// The compiler recorded the callee of the call.
    DirectCall,
    /// The linker kept the relocation of the call.
    Relocation,
    /// The caller is folded itself, and each of its functions calls another.
    MergedCaller,
    /// The call reaches the code by tail calls.
    TailCall,
    /// The call goes through this slot of a vtable.
    VirtualSlot,
    /// The object's vtable pointer was given.
    Vtable,
    /// The caller's calls through pointers are of functions of this type.
    CallType,
}

impl Evidence {
    /// The word for it in text and JSON.
    ///
    /// ```
    /// assert_eq!(foldsym_lookup::Evidence::DirectCall.text(), "direct_call");
    /// ```
    pub const fn text(self) -> &'static str {
        match self {
            Self::DirectCall => "direct_call",
            Self::Relocation => "relocation",
            Self::MergedCaller => "merged_caller",
            Self::TailCall => "tail_call",
            Self::VirtualSlot => "virtual_slot",
            Self::Vtable => "vtable",
            Self::CallType => "call_type",
        }
    }
}

/// Whose code is at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// How sure it is that [`Answer::function`] ran.
    pub certainty: Certainty,
    /// The evidence for that, if the code is folded and there is any.
    pub evidence: Option<Evidence>,
    /// Why a [`Certainty::Likely`] answer is not `Unique`.
    pub reason: Option<Reason>,
    /// The range of code.
    pub piece: PieceId,
    /// First address of the piece.
    pub piece_start: ImageAddr,
    /// Where the function's range truly starts: at or before the piece, where another was cut out of it.
    pub function_start: ImageAddr,
    /// Bytes from the start of the piece to the address.
    pub offset: u64,
    /// The address is in padding after the function: one frame, with file and line and without a name.
    pub padding: bool,
    /// The `.dwo` of [`Answer::function`] was missing: inlined frames are unknown. [`Frames::is_partial`] says it of
    /// another member.
    pub partial: bool,
    /// The function; at folded code the first of the group.
    pub function: FunctionId,
    /// The group, at folded code.
    pub group: Option<GroupId>,
    /// The group's members, at folded code.
    members: Option<Group>,
    /// Rows and symbol of [`Answer::function`] here.
    pub(crate) rows: Option<RowsOffset>,
    pub(crate) name: Option<NameId>,
}

impl Answer {
    /// How many functions share the code: 1 if it is not folded.
    pub const fn member_count(&self) -> u32 {
        match self.members {
            Some(group) => group.len(),
            None => 1,
        }
    }
}

impl Answer {
    /// Copies the certainty and the reason from its function's record.
    #[inline(always)]
    pub(crate) const fn settle(&mut self, function: &Function) {
        self.partial = function.partial;
        // A reason is about code that one function owns alone. It does not apply to the code of a group.
        if self.group.is_none() {
            (self.certainty, self.reason) = alone(function.reason);
        }
    }
}

/// The certainty of code that is not folded.
pub(crate) const fn alone(reason: Option<Reason>) -> (Certainty, Option<Reason>) {
    match reason {
        None => (Certainty::Unique, None),
        Some(_) => (Certainty::Likely, reason),
    }
}

/// An answer without its frames, and how far it holds.
pub(crate) struct Entered {
    pub(crate) answer: Answer,
    /// Bytes of the piece, and how many of them are no padding.
    pub(crate) len: u64,
    pub(crate) body: u64,
}

impl SymbolFile<'_> {
    /// Finds the function at an address and its inlined frames, which are left in `frames`; read them with
    /// [`SymbolFile::frames`]. At folded code the answer is the first member of the group, `Ambiguous`; the
    /// frames of the others come from [`SymbolFile::member_frames`].
    ///
    /// Allocates nothing. Steps: log2 of the pieces in a bucket of STARTS, four times log2 of its buckets, log2 of the
    /// row blocks of the piece plus 5, and the depth of the inline tree twice, at most
    /// [`foldsym_format::Header::max_depth`]; it does not depend on the size of the function otherwise.
    ///
    /// # Errors
    /// Damage at a place that the lookup reads; `frames` is then empty.
    pub fn lookup(&self, address: ImageAddr, frames: &mut Frames) -> Result<Lookup, Error> {
        // This comes first: after an error, the frames of the previous lookup must not pass for the frames of this one.
        frames.len = 0;
        let mut lookup = self.at_piece(address, self.find_piece(address)?)?;
        if let Lookup::Found(answer) = &mut lookup {
            let function = self.resolve(answer, answer.function, answer.rows, answer.name, frames)?;
            answer.settle(&function);
        }
        Ok(lookup)
    }

    /// The answer of the search for a piece, without its frames and the data of the function's record.
    #[inline(always)]
    pub(crate) fn at_piece(&self, address: ImageAddr, found: Option<Start>) -> Result<Lookup, Error> {
        Ok(match self.enter(address, found)? {
            Ok(entered) => Lookup::Found(entered.answer),
            Err(reason) => Lookup::NotFound(reason),
        })
    }

    /// As [`SymbolFile::at_piece`], with the bytes of the piece.
    #[inline(always)]
    pub(crate) fn enter(
        &self,
        address: ImageAddr,
        found: Option<Start>,
    ) -> Result<Result<Entered, NotFoundReason>, Error> {
        let Some(found) = found else {
            return Ok(Err(NotFoundReason::OutsideCode));
        };
        let piece = Piece::read(self, found)?;
        let offset = address.0.wrapping_sub(piece.start.0);
        if offset >= piece.len() {
            // After the last piece no known code follows.
            let last = found.piece == self.pieces.len().wrapping_sub(1);
            return Ok(Err(if last { NotFoundReason::OutsideCode } else { NotFoundReason::NoFunction }));
        }
        // Prefetched before the owner is read: the reads of the rows and of the function then wait for memory together.
        if let Some(rows) = piece.rows {
            bits::touch(self.rows, rows.0, 0..2);
        }
        let mut answer = Answer {
            // `settle` sets `partial` once the function's record is read, and for code without a group also `certainty` and `reason`.
            certainty: Certainty::Unique,
            evidence: None,
            reason: None,
            piece: PieceId(found.piece),
            piece_start: piece.start,
            function_start: piece.function_start(),
            offset,
            padding: offset >= piece.body,
            partial: false,
            function: FunctionId(0),
            group: None,
            members: None,
            rows: piece.rows,
            name: piece.name,
        };
        match piece.owner {
            Owner::Function(function) => answer.function = function,
            Owner::Group(group) => {
                let members = Group::read(self, group)?;
                // The group's first member is the live DIE with the lowest offset (schema, section 3). Without evidence it comes first.
                let first = Member::read(self, members, 0)?;
                answer.certainty = Certainty::Ambiguous;
                answer.group = Some(group);
                answer.members = Some(members);
                answer.function = first.function;
                answer.rows = first.rows;
                answer.name = first.name;
            }
        }
        Ok(Ok(Entered { answer, len: piece.len(), body: piece.body }))
    }

    /// Finds the last piece that starts at or before an address, and has memory bring its record meanwhile.
    #[cfg_attr(feature = "small", inline(never))]
    #[cfg_attr(not(feature = "small"), inline(always))]
    pub(crate) fn find_piece(&self, address: ImageAddr) -> Result<Option<Start>, Error> {
        match self.key(address) {
            Some(key) => {
                self.starts.find_near(key, |piece| self.pieces.touch(piece)).within(SectionId::STARTS)
            }
            None => Ok(None),
        }
    }

    /// The address as STARTS has it; `None` if that cannot be.
    #[inline(always)]
    pub(crate) fn key(&self, address: ImageAddr) -> Option<u64> {
        address.0.checked_sub(self.header().image_base)
    }

    /// Reads member `index` of the answer's functions, from 0 to [`Answer::member_count`], and leaves its
    /// frames at the answer's address in `frames`. Where the code is not folded, member 0 is the function
    /// itself, with [`How::LiveRange`].
    ///
    /// Takes the steps of a lookup without its search for the piece.
    ///
    /// # Errors
    /// An index past the last member, or damage; `frames` is then empty.
    pub fn member_frames(&self, answer: &Answer, index: u32, frames: &mut Frames) -> Result<Member, Error> {
        frames.len = 0;
        let member = match answer.members {
            Some(group) => Member::read(self, group, index)?,
            None if index == 0 => Member {
                function: answer.function,
                how: How::LiveRange,
                rows: answer.rows,
                name: answer.name,
            },
            None => return Err(Error::new(SectionId::MEMBERS, What::NoRecord, index.into())),
        };
        self.resolve(answer, member.function, member.rows, member.name, frames)?;
        Ok(member)
    }

    /// Leaves the frames of `function` at the answer's offset; gives its record.
    fn resolve(
        &self,
        answer: &Answer,
        function: FunctionId,
        rows: Option<RowsOffset>,
        name: Option<NameId>,
        frames: &mut Frames,
    ) -> Result<Function, Error> {
        // The function before its row: neither needs the other, and so their loads wait for memory together. The origin is
        // only needed for the frames.
        let function = self.entered_function(function)?;
        let spot = self.spot(rows, answer.offset)?;
        let root = self.root(&function)?;
        self.found_frames(answer, (&function, &root), &spot, name, frames)?;
        Ok(function)
    }

    /// Reads a function and prefetches its inline tree and its origin, which its frames need.
    #[inline(always)]
    pub(crate) fn entered_function(&self, id: FunctionId) -> Result<Function, Error> {
        // The function's record says where its tree and its origin are, so both are prefetched before the block of rows is read.
        let function = Function::entered(self, id)?;
        bits::touch(self.scopes, function.scopes, 0..2);
        self.origins.touch(function.origin.0);
        Ok(function)
    }

    /// Reads the origin of a function and prefetches its first edges, which its frames need.
    #[inline(always)]
    pub(crate) fn root(&self, function: &Function) -> Result<OriginParts, Error> {
        let origin = self.origin_parts(function.origin.0.into())?;
        self.edges.touch(origin.first_edge());
        Ok(origin)
    }

    /// The row that holds at `offset`.
    #[inline(always)]
    pub(crate) fn spot(&self, rows: Option<RowsOffset>, offset: u64) -> Result<Spot, Error> {
        match rows {
            None => Ok(Spot::NONE),
            Some(rows) => find_spot(self.rows, rows.0, self.header().unit_log2, offset),
        }
    }

    /// Leaves the frames of a row of a function with this origin, as the answer has them.
    #[inline(always)]
    pub(crate) fn found_frames(
        &self,
        answer: &Answer,
        (function, root): (&Function, &OriginParts),
        spot: &Spot,
        name: Option<NameId>,
        frames: &mut Frames,
    ) -> Result<(), Error> {
        self.spot_frames(function, root, spot, frames)?;
        // After `spot_frames`, which sets both fields as for the function's own code.
        frames.padding = answer.padding;
        if name.is_some() {
            frames.name = name;
        }
        Ok(())
    }
}
