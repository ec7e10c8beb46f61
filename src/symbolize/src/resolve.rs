//! Turns an address of a file into an answer. Only this module turns the reader's results into frames, candidates and certainty.

use foldsym_lookup::{
    Answer as Found, Error, Frames, FunctionId, ImageAddr, Lookup, Resolved, ReturnAddr, SectionId,
    StackAddr, SymbolFile, What,
};
use foldsym_resolve::behind;
pub(crate) use foldsym_resolve::frame;

use crate::answer::{Answer, Member, Symbol};
use crate::trampoline::is_trampoline;

/// An answer may have this many frames and other names, and one more for each byte of its file: records with constant columns take no
/// bytes.
const MIN_ITEMS: usize = 1 << 16;

/// Looks addresses up, with memory that is used again.
pub(crate) struct Resolver {
    /// Answers list all candidates, not only the first.
    candidates: bool,
    frames: Frames,
    /// The number of frames and other names that the answer may still get.
    left: usize,
}

impl Resolver {
    pub(crate) fn new(candidates: bool) -> Self {
        Self { candidates, frames: Frames::new(), left: 0 }
    }

    /// Fills an empty answer for a link-time address. At folded code `resolved` has the candidates that the stack leaves, and the index of
    /// the one that comes first; without it all members are candidates. Returns true if the file has the address.
    ///
    /// # Errors
    /// The file is damaged in a place that this reads, or the answer would be larger than a file of this size allows.
    pub(crate) fn fill(
        &mut self,
        file: &SymbolFile<'_>,
        image: ImageAddr,
        resolved: Option<(Resolved, u32)>,
        answer: &mut Answer,
    ) -> Result<bool, Error> {
        // The bound applies to one answer, not to a stack, so it is set for each answer.
        self.left = file.records().bytes().len().saturating_add(MIN_ITEMS);
        // Also where the file has no function: that is why.
        answer.level = file.debug_info();
        let Lookup::Found(found) = file.lookup(image, &mut self.frames)? else { return Ok(false) };
        answer.certainty = Some(found.certainty.into());
        answer.reason = found.reason.map(Into::into);
        answer.start = (!found.padding).then_some(found.function_start.0);
        let mut function = found.function;
        // The stack and the lookup give the same group, unless the file is damaged.
        let resolved =
            resolved.filter(|(resolved, _)| found.group.is_some() && resolved.group == found.group);
        let front = resolved.map_or(0, |(_, front)| front);
        let resolved = resolved.map(|(resolved, _)| resolved);
        let count = resolved.map_or(found.member_count(), |resolved| resolved.candidate_count());
        let member =
            |index: u32| resolved.map_or(Some(index), |resolved| resolved.candidate(behind(front, index)));
        if let Some(resolved) = resolved {
            answer.certainty = resolved.certainty.map(Into::into);
            answer.evidence = resolved.evidence.map(Into::into);
            if let Some(first) = member(0) {
                function = file.member_frames(&found, first, &mut self.frames)?.function;
            }
        }
        answer.candidate_count = found.group.is_some().then_some(count);
        answer.partial = self.frames.is_partial();
        self.symbol(file, &mut answer.symbol, &found, function)?;
        if self.candidates && found.group.is_some() {
            // `left` bounds the frames of all members together.
            for index in (0..count).map_while(member) {
                let member = file.member_frames(&found, index, &mut self.frames)?;
                let mut symbol = Symbol::default();
                self.symbol(file, &mut symbol, &found, member.function)?;
                answer.candidates.push(Member { how: member.how.text(), symbol });
            }
        }
        Ok(true)
    }

    /// As [`Resolver::fill`], for the address of a frame.
    ///
    /// A signal handler returns to the start of a trampoline, in front of which is no call but bytes of no function. A report that does not
    /// tell this from a call gives it as a return address. There the trampoline itself is the answer.
    ///
    /// # Errors
    /// As [`Resolver::fill`].
    pub(crate) fn fill_frame(
        &mut self,
        file: &SymbolFile<'_>,
        address: StackAddr,
        resolved: Option<(Resolved, u32)>,
        answer: &mut Answer,
    ) -> Result<bool, Error> {
        let Some(image) = address.lookup_address() else { return Ok(false) };
        if self.fill(file, image, resolved, answer)? {
            return Ok(true);
        }
        let StackAddr::Return(ReturnAddr(behind)) = address else { return Ok(false) };
        match file.lookup(ImageAddr(behind), &mut self.frames)? {
            Lookup::Found(found)
                if found.function_start.0 == behind && is_trampoline(file, found.function) =>
            {
                answer.image_address = Some(behind);
                self.fill(file, ImageAddr(behind), None, answer)
            }
            _ => Ok(false),
        }
    }

    /// Fills an answer from a lookup that found code of one function, with the frames of that lookup.
    ///
    /// # Errors
    /// As [`Resolver::fill`].
    pub(crate) fn fill_alone(
        file: &SymbolFile<'_>,
        found: &Found,
        frames: &Frames,
        answer: &mut Answer,
    ) -> Result<(), Error> {
        answer.certainty = Some(found.certainty.into());
        answer.reason = found.reason.map(Into::into);
        answer.start = (!found.padding).then_some(found.function_start.0);
        (answer.partial, answer.level) = (frames.is_partial(), file.debug_info());
        let mut left = file.records().bytes().len().saturating_add(MIN_ITEMS);
        take(file, frames, &mut answer.symbol, found, found.function, &mut left)
    }

    /// Takes the frames of the last lookup, and the other names of their function.
    fn symbol(
        &mut self,
        file: &SymbolFile<'_>,
        symbol: &mut Symbol,
        found: &Found,
        function: FunctionId,
    ) -> Result<(), Error> {
        take(file, &self.frames, symbol, found, function, &mut self.left)
    }
}

fn take(
    file: &SymbolFile<'_>,
    frames: &Frames,
    symbol: &mut Symbol,
    found: &Found,
    function: FunctionId,
    left: &mut usize,
) -> Result<(), Error> {
    let mut take = |section| {
        *left = left.checked_sub(1).ok_or(Error { section, what: What::Length, offset: 0 })?;
        Ok(())
    };
    for frame in file.frames(frames) {
        take(SectionId::MEMBERS)?;
        symbol.frames.push(frame?);
    }
    if !found.padding {
        let function = file.records().function(function)?;
        for alias in file.records().aliases(&function) {
            take(SectionId::ALIASES)?;
            symbol.aliases.push(alias?);
        }
    }
    Ok(())
}
