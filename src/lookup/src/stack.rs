//! Resolves a whole stack: at folded code, the caller's return address shows which function ran.
//!
//! Frames are resolved from the outermost inwards, since a folded caller must be resolved before its callee. The set of functions that a
//! frame may be is either at most [`MAX_NAMED`] members of its group, or the whole group. Each function that the caller may be adds two
//! things to the set: the callee that the compiler recorded for its call, and the members that this callee reaches by tail calls. No member
//! is ruled out if one of the callers has no record, if its record leads to no member, or if a callee may reach unknown code.

use foldsym_format::sections::{calls, members};
use foldsym_format::{Reason, SectionId, Table, What, steps};

use crate::answer::{Certainty, Evidence, alone};
use crate::entities::{Function, Group, Member, Owner, Piece};
use crate::error::{Error, InSection, small};
use crate::file::SymbolFile;
use crate::ids::{FunctionId, GroupId, ImageAddr, ReturnAddr};

/// Most members that a [`Resolved`] names one by one; if more are possible, it refers to the whole group.
pub const MAX_NAMED: usize = 16;

/// Steps that a frame may take once its code is found, whatever the file says: a member that is compared is one, a
/// caller is `CALLER_STEPS`. Past it the frame is ambiguous. The largest groups known need a hundredth.
pub const MAX_FRAME_STEPS: u32 = 1 << 22;

/// Most steps of a caller without its members: the searches in CALLS and TAILS, and [`Resolved::candidate`].
const CALLER_STEPS: u32 = 256;

/// One frame of a stack, innermost first. Exhaustive: callers make these values, and a frame has no other kind of address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StackAddr {
    /// The instruction that is executed, or was when a signal came.
    Exact(ImageAddr),
    /// Where a call returns to.
    Return(ReturnAddr),
    /// A frame of another module, about which nothing is known.
    Foreign,
}

impl StackAddr {
    /// The address to look up; `None` for a frame of another module.
    pub const fn lookup_address(self) -> Option<ImageAddr> {
        match self {
            Self::Exact(address) => Some(address),
            Self::Return(address) => Some(address.lookup_address()),
            Self::Foreign => None,
        }
    }
}

/// Which functions of a group a frame may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// How sure it is which function ran; `None` if no function is known.
    pub certainty: Option<Certainty>,
    /// The evidence for that.
    pub evidence: Option<Evidence>,
    /// Why a [`Certainty::Likely`] answer is not `Unique`.
    pub reason: Option<Reason>,
    /// The group, at folded code.
    pub group: Option<GroupId>,
    /// Members that were named, by their index in the group.
    pub(crate) named: [u32; MAX_NAMED],
    pub(crate) named_len: u8,
    /// Members of the group.
    pub(crate) group_len: u32,
    /// The first of several that were named comes first by a guess.
    pub(crate) guessed: bool,
    /// Members that were not named are possible too.
    pub(crate) open: bool,
    /// More were found than can be named; none is likelier than another.
    pub(crate) full: bool,
}

impl Resolved {
    /// Nothing is known.
    pub const NONE: Self = Self {
        certainty: None,
        evidence: None,
        reason: None,
        group: None,
        named: [0; MAX_NAMED],
        named_len: 0,
        group_len: 0,
        guessed: false,
        open: false,
        full: false,
    };

    pub(crate) fn named(&self) -> &[u32] {
        self.named.get(..usize::from(self.named_len)).unwrap_or(&[])
    }

    /// How many functions it may be: 0 if the code is not folded.
    pub const fn candidate_count(&self) -> u32 {
        if self.open { self.group_len } else { self.named_len as u32 }
    }

    /// Candidate `index`, the likeliest first, as a member of the group: for
    /// [`SymbolFile::member_frames`]. `None` past the last. Takes at most [`MAX_NAMED`] steps squared.
    pub fn candidate(&self, index: u32) -> Option<u32> {
        if let Some(&member) = self.named().get(index as usize) {
            return Some(member);
        }
        if !self.open || index >= self.group_len {
            return None;
        }
        // The members that were not named, in their order.
        let mut member = index.wrapping_sub(u32::from(self.named_len));
        loop {
            steps::step();
            // `member` only rises, and each turn but the last passes at least one more named member.
            let before = self.named().iter().filter(|&&named| named <= member).count() as u32;
            let shifted = index.wrapping_sub(u32::from(self.named_len)).wrapping_add(before);
            if shifted == member {
                break;
            }
            member = shifted;
        }
        Some(member)
    }

    /// The number of candidates that evidence puts first; 0 if no evidence distinguishes them. The others keep the order of the file.
    pub const fn named_count(&self) -> u32 {
        self.named_len as u32
    }

    /// True if the file says which of the candidates that evidence puts first comes before the others. It is a guess, and it leaves the
    /// certainty as it is.
    pub const fn has_guess(&self) -> bool {
        self.guessed
    }

    /// The state in which candidate `index` is the function that ran; it serves to find its callee. Without such a candidate, nothing is
    /// known.
    pub fn only(&self, index: u32) -> Self {
        let mut only = Self { group: self.group, group_len: self.group_len, ..Self::NONE };
        if let Some(member) = self.candidate(index) {
            only.name(member);
        }
        only
    }

    pub(crate) fn name(&mut self, member: u32) {
        if self.full || self.named().contains(&member) {
            return;
        }
        match self.named.get_mut(usize::from(self.named_len)) {
            Some(slot) => {
                *slot = member;
                self.named_len = self.named_len.saturating_add(1);
            }
            None => {
                self.named_len = 0;
                (self.open, self.full) = (true, true);
            }
        }
    }

    /// Puts the member that was named last before the others.
    pub(crate) fn guess_last(&mut self) {
        let named = self.named.get_mut(..usize::from(self.named_len)).unwrap_or(&mut []);
        if let [first, .., last] = named {
            core::mem::swap(first, last);
        }
        self.guessed = self.named_len != 0;
    }

    /// Makes the member that was named first likely: the record of the call gives it, and the others are possible because the record is
    /// doubtful or because the callee may reach them. If they are too many to be named, all members are possible.
    fn prefer(&mut self, member: u32) {
        if self.full {
            (self.full, self.open) = (false, true);
            self.name(member);
        }
        self.certainty = Some(Certainty::Likely);
    }

    /// Combines the named members into the result: certainty and members.
    pub(crate) fn conclude(&mut self, doubtful: bool) {
        if self.named_len == 0 {
            self.open = true;
        }
        let certainty = match (self.open, self.named_len) {
            (true, _) => Certainty::Ambiguous,
            (false, 1) if !doubtful => Certainty::Exact,
            (false, len) if u32::from(len) < self.group_len => Certainty::Narrowed,
            // All members are named: nothing is ruled out.
            (false, _) => Certainty::Ambiguous,
        };
        self.certainty = Some(certainty);
        if certainty == Certainty::Ambiguous {
            self.evidence = None;
        }
    }
}

/// What the call records of the functions that a frame's caller may be show.
struct CallerEvidence {
    /// For some record the compiler may have replaced the function that the source calls by the recorded callee (`how` 2, 3 or 5).
    doubtful: bool,
    /// Some possible caller has no record, or its record gives no member, or its `how` is 4.
    lost: bool,
    /// A record gives members only by tail calls.
    by_tail: bool,
    /// The compiler merged functions of some caller's unit (`how` 5).
    merged: bool,
    /// The group has members that only a symbol names; sought once a doubtful record gives no member.
    undescribed: bool,
    /// The callee that was added last: folded functions mostly have the same callee.
    last: Option<FunctionId>,
    /// The steps that are left.
    left: u32,
}

/// The callee of a call.
struct Key {
    callee: FunctionId,
    how: u64,
    /// The callee depends on which of the functions of folded code calls.
    of_caller: bool,
}

impl<'d> SymbolFile<'d> {
    /// Finds for each frame of a stack which of the functions that share its code ran. Both slices have the innermost frame first; if their
    /// lengths differ, the shorter one counts.
    ///
    /// The evidence for a frame is its caller, the next frame, if that is a [`StackAddr::Return`]. Allocates nothing and needs no scratch
    /// but `resolved`. Steps for a frame: the steps of the search for its piece; for each function that its caller may be (at most
    /// [`foldsym_format::Header::max_group`]) log2 of the records of CALLS and of TAILS; and [`foldsym_format::Header::max_group`] for each
    /// callee. Together never more than [`MAX_FRAME_STEPS`].
    ///
    /// # Errors
    /// Damage at a place that it reads; the frames further in are then unspecified in `resolved`.
    pub fn resolve_stack(&self, stack: &[StackAddr], resolved: &mut [Resolved]) -> Result<(), Error> {
        // `resolved` may be longer than the stack: no older result stays in the rest.
        resolved.fill(Resolved::NONE);
        let mut caller: Option<(StackAddr, &Resolved)> = None;
        for (&address, out) in stack.iter().zip(resolved.iter_mut()).rev() {
            *out = self.resolve_one(address, caller)?;
            caller = Some((address, out));
        }
        Ok(())
    }

    /// Finds which function ran in one frame, given its caller's frame and the result for that frame: the step of
    /// [`SymbolFile::resolve_stack`], for callers whose stack has another layout. Go from the outermost frame in; `caller` is `None` for
    /// the outermost.
    ///
    /// # Errors
    /// Damage at a place that it reads.
    pub fn resolve_one(
        &self,
        address: StackAddr,
        caller: Option<(StackAddr, &Resolved)>,
    ) -> Result<Resolved, Error> {
        match self.owner_at(address)? {
            None => Ok(Resolved::NONE),
            Some(Owner::Function(function)) => {
                // No caller changes this answer: code that is not folded has one known function.
                let (certainty, reason) = alone(Function::read_reason(self, function)?);
                Ok(Resolved { certainty: Some(certainty), reason, ..Resolved::NONE })
            }
            Some(Owner::Group(group)) => self.resolve_frame(group, caller),
        }
    }

    /// The owner of the code at a frame; `None` in padding and outside of known code.
    fn owner_at(&self, address: StackAddr) -> Result<Option<Owner>, Error> {
        let Some(address) = address.lookup_address() else { return Ok(None) };
        let Some(found) = self.find_piece(address)? else { return Ok(None) };
        let piece = Piece::read(self, found)?;
        // Padding after the body is of no function, so no member of a group runs there.
        let offset = address.0.wrapping_sub(piece.start.0);
        Ok((offset < piece.body).then_some(piece.owner))
    }

    fn resolve_frame(&self, id: GroupId, caller: Option<(StackAddr, &Resolved)>) -> Result<Resolved, Error> {
        let group = Group::read(self, id)?;
        let mut resolved = Resolved { group: Some(id), group_len: group.len(), ..Resolved::NONE };
        let mut evidence = CallerEvidence {
            doubtful: false,
            // Without a caller in this file there is no record.
            lost: true,
            by_tail: false,
            merged: false,
            undescribed: false,
            last: None,
            left: MAX_FRAME_STEPS,
        };
        if let Some((StackAddr::Return(address), caller)) = caller
            && let Some(key) = self.key(ImageAddr(address.0))
        {
            // The caller's result is of this file too, and so is the id of its group.
            let calling = match caller.group {
                None => None,
                Some(calling) => Some(Group::read(self, calling)?),
            };
            // A caller that is not folded is one function: its records are for any caller.
            let callers = calling.map_or(1, |calling| caller.candidate_count().min(calling.len()));
            evidence.lost = callers == 0;
            for index in 0..callers {
                let function = match calling {
                    None => None,
                    Some(calling) => {
                        steps::step();
                        let Some(member) = caller.candidate(index) else { break };
                        Some(Member::read(self, calling, member)?.function)
                    }
                };
                // An open set does not stop the search: the members that later records give come before the others.
                // Once there are more of them than the answer can name, none is named and no record changes the answer.
                if !self.called(group, key, function, &mut evidence, &mut resolved)? || resolved.full {
                    break;
                }
            }
        }
        // Before `name_undescribed`, which adds members that no record names.
        let recorded = match resolved.named() {
            [member] if !evidence.lost && !evidence.merged => Some(*member),
            _ => None,
        };
        // The recorded callee may have replaced a function that only a symbol names, or may reach unknown code by tail calls.
        let likely = if resolved.open { !evidence.by_tail } else { evidence.doubtful };
        if evidence.doubtful && !resolved.open {
            self.name_undescribed(group, &mut resolved, &mut evidence.left)?;
        }
        match recorded.filter(|_| likely) {
            Some(member) => resolved.prefer(member),
            None => resolved.conclude(evidence.doubtful),
        }
        Ok(resolved)
    }

    /// Adds the callee of the call of `caller` that returns to `key`; false if the specification says to stop there (schema, section 3).
    fn called(
        &self,
        group: Group,
        key: u64,
        caller: Option<FunctionId>,
        evidence: &mut CallerEvidence,
        resolved: &mut Resolved,
    ) -> Result<bool, Error> {
        // Past the bound a caller counts as one without a record, which makes the answer less sure and never wrong.
        let found = if charge(&mut evidence.left, CALLER_STEPS) { self.call(key, caller)? } else { None };
        let Some(found) = found else {
            (resolved.open, evidence.lost) = (true, true);
            return Ok(false);
        };
        let merged = found.how == calls::MERGED;
        let doubtful = merged || matches!(found.how, calls::DOUBTFUL | calls::DOUBTFUL_RELOCATION);
        evidence.merged |= merged;
        evidence.doubtful |= doubtful;
        if found.how == calls::UNPROVEN {
            evidence.lost = true;
        }
        resolved.open |= matches!(found.how, calls::UNPROVEN | calls::NAME_ALONE);
        if evidence.last.replace(found.callee) == Some(found.callee) {
            return Ok(true);
        }
        let direct = self.name_member(group, found.callee, resolved, &mut evidence.left)?;
        let reached = self.reached(group, found.callee, resolved, &mut evidence.left)?;
        resolved.evidence.get_or_insert(match (found.of_caller, direct, found.how) {
            (true, ..) => Evidence::MergedCaller,
            (_, false, _) if reached => Evidence::TailCall,
            (_, _, calls::RELOCATION | calls::DOUBTFUL_RELOCATION) => Evidence::Relocation,
            _ => Evidence::DirectCall,
        });
        evidence.by_tail |= !direct;
        // The callee is code of this address: it is a function that the group does not list, or the record is wrong.
        if !(direct || reached) {
            // `last` is cleared: the next caller's record may have this callee without doubt, and then every member is possible.
            (evidence.lost, evidence.last) = (true, None);
            // A doubtful record gives the members that only a symbol names.
            if doubtful && !evidence.undescribed {
                let mut symbols = *resolved;
                evidence.undescribed = self.name_undescribed(group, &mut symbols, &mut evidence.left)?;
            }
            resolved.open |= !(doubtful && evidence.undescribed);
            return Ok(doubtful && evidence.undescribed);
        }
        Ok(true)
    }

    /// The record of a call: the one for any caller, else the one for this caller.
    fn call(&self, key: u64, caller: Option<FunctionId>) -> Result<Option<Key>, Error> {
        const CALLS: SectionId = SectionId::CALLS;
        let key = key.cast_signed();
        let wanted = caller.map_or(0, |caller| i64::from(caller.0).wrapping_add(1));
        // The record for any caller comes first (schema, section 3).
        for wanted in [Some(0), Some(wanted).filter(|&wanted| wanted != 0)].into_iter().flatten() {
            let low = first(&self.calls, CALLS, (key, wanted))?;
            if low < self.calls.len() {
                let [address, found, callee, how] = self.calls.record(low).within(CALLS)?;
                if (address, found) == (key, wanted) {
                    let callee = FunctionId(small(callee, CALLS, low)?);
                    return Ok(Some(Key { callee, how: how.cast_unsigned(), of_caller: wanted != 0 }));
                }
            }
        }
        Ok(None)
    }

    /// Names the member that is this function; false if none is.
    pub(crate) fn name_member(
        &self,
        group: Group,
        function: FunctionId,
        resolved: &mut Resolved,
        left: &mut u32,
    ) -> Result<bool, Error> {
        if !charge(left, group.len()) {
            resolved.open = true;
            return Ok(false);
        }
        for index in 0..group.len() {
            steps::step();
            if self.member_function(group, index)? == function {
                resolved.name(index);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The number of the record that a table has for a call, by its return address; `None` if `caller` is no return address, or one without
    /// a record. Takes log2 of the records.
    #[inline(never)]
    pub(crate) fn of_call(
        &self,
        table: &Table<'_>,
        section: SectionId,
        caller: Option<StackAddr>,
    ) -> Result<Option<u32>, Error> {
        let Some(StackAddr::Return(address)) = caller else { return Ok(None) };
        let Some(key) = self.key(ImageAddr(address.0)).map(u64::cast_signed) else { return Ok(None) };
        let record = first(table, section, (key, 0))?;
        if record >= table.len() || table.value(record, 0).within(section)? != key {
            return Ok(None);
        }
        Ok(Some(record))
    }

    pub(crate) fn member_function(&self, group: Group, index: u32) -> Result<FunctionId, Error> {
        const MEMBERS: SectionId = SectionId::MEMBERS;
        let record = group.record(index).ok_or(Error::new(MEMBERS, What::NoRecord, index.into()))?;
        let function = self.members.value(record, members::FUNCTION).within(MEMBERS)?;
        Ok(FunctionId(small(function, MEMBERS, record)?))
    }

    /// Names the members that a function reaches by tail calls; false if it reaches none.
    fn reached(
        &self,
        group: Group,
        function: FunctionId,
        resolved: &mut Resolved,
        left: &mut u32,
    ) -> Result<bool, Error> {
        const TAILS: SectionId = SectionId::TAILS;
        let wanted = i64::from(function.0);
        let low = first(&self.tails, TAILS, (wanted, 0))?;
        let mut any = false;
        // More than a frame can name make no difference.
        for record in (low..self.tails.len()).take(MAX_TAILS) {
            steps::step();
            let [here, target] = self.tails.record(record).within(TAILS)?;
            match target.checked_sub(1) {
                _ if here != wanted => break,
                Some(target) if target >= 0 => {
                    let target = FunctionId(small(target, TAILS, record)?);
                    any |= self.name_member(group, target, resolved, left)?;
                }
                // 0, or a negative number in a damaged file.
                _ => resolved.open = true,
            }
        }
        Ok(any)
    }

    /// Names the members that are known only by a symbol's name: a function that a compiler merged may be one of them. False if there are
    /// none.
    fn name_undescribed(&self, group: Group, resolved: &mut Resolved, left: &mut u32) -> Result<bool, Error> {
        if !charge(left, group.len()) {
            resolved.open = true;
            return Ok(false);
        }
        let mut any = false;
        for index in 0..group.len() {
            steps::step();
            if Member::read(self, group, index)?.how.is_undescribed() {
                resolved.name(index);
                any = true;
            }
        }
        Ok(any)
    }
}

/// Takes steps off those that are left; false if they do not suffice.
fn charge(left: &mut u32, steps: u32) -> bool {
    let rest = left.checked_sub(steps);
    *left = rest.unwrap_or(0);
    rest.is_some()
}

/// Records of TAILS of one function; a writer makes no more.
pub(crate) const MAX_TAILS: usize = 65;

/// The first record whose first two columns are not below `key`. Takes log2 of the records.
pub(crate) fn first(table: &Table<'_>, section: SectionId, key: (i64, i64)) -> Result<u32, Error> {
    let (mut low, mut high) = (0, table.len());
    while low < high {
        steps::step();
        let middle = low.midpoint(high);
        // No second column is negative: a key with 0 there is at or before all records of its first number.
        let here = (table.value(middle, 0).within(section)?, table.value(middle, 1).within(section)?);
        if here < key { low = middle.saturating_add(1) } else { high = middle }
    }
    Ok(low)
}
