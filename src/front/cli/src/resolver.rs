//! Turns addresses into neutral answers: the one place that knows what the reader gives.

use foldsym_lookup::{Answer as Found, Error, Frames, FunctionId, ImageAddr, Lookup, ReturnAddr, SymbolFile};

use crate::address::Address;
use crate::answer::{Answer, Candidate, Symbol};
use crate::stack::{Entry, Parsed};

/// Looks addresses up, with scratch memory that is used again.
pub(crate) struct Resolver<'f> {
    file: SymbolFile<'f>,
    /// Every function of a group is wanted, not only the first.
    candidates: bool,
    frames: Frames,
    answer: Answer,
}

impl<'f> Resolver<'f> {
    pub(crate) fn new(file: SymbolFile<'f>, candidates: bool) -> Self {
        Self { file, candidates, frames: Frames::new(), answer: Answer::default() }
    }

    /// Answers an exact address.
    ///
    /// # Errors
    /// The file is damaged where the answer should be.
    pub(crate) fn lookup(&mut self, address: Address) -> Result<&Answer, Error> {
        self.resolve(Some(address.given), address.image)?;
        Ok(&self.answer)
    }

    /// Answers each entry of a stack, in order. Each frame stands alone: no caller is asked which of the
    /// functions of a group it called, and the vtable pointer is not used.
    ///
    /// # Errors
    /// What `each` gives; or, through `damaged`, that the file is damaged where an answer should be.
    pub(crate) fn stack<E>(
        &mut self,
        stack: &Parsed,
        damaged: impl Fn(Error) -> E,
        mut each: impl FnMut(&Answer) -> Result<(), E>,
    ) -> Result<(), E> {
        for entry in &stack.entries {
            let (given, image) = match *entry {
                Entry::Exact(address) => (Some(address.given), address.image),
                Entry::Return(address) => (Some(address.given), address.image.and_then(call_of)),
                Entry::Foreign => (None, None),
            };
            self.resolve(given, image).map_err(&damaged)?;
            each(&self.answer)?;
        }
        Ok(())
    }

    /// Leaves the answer for an image address in `self.answer`.
    fn resolve(&mut self, given: Option<u64>, image: Option<ImageAddr>) -> Result<(), Error> {
        self.answer.clear();
        self.answer.address = given;
        let Some(image) = image else { return Ok(()) };
        let Lookup::Found(found) = self.file.lookup(image, &mut self.frames)? else { return Ok(()) };
        self.answer.certainty = Some(found.certainty);
        self.answer.evidence = found.evidence;
        self.answer.partial = found.partial;
        self.answer.start = (!found.padding).then_some(found.function_start.0);
        if found.group.is_some() {
            self.answer.candidate_count = Some(found.member_count());
        }
        let mut symbol = std::mem::take(&mut self.answer.symbol);
        let filled = self.fill(&mut symbol, &found, found.function);
        self.answer.symbol = symbol;
        filled?;
        if self.candidates && found.group.is_some() {
            self.all_members(&found)?;
        }
        Ok(())
    }

    /// Takes the frames of the last lookup, and the other names of their function.
    fn fill(&self, symbol: &mut Symbol, found: &Found, function: FunctionId) -> Result<(), Error> {
        for frame in self.file.frames(&self.frames) {
            symbol.frames.push(frame?);
        }
        if !found.padding {
            let function = self.file.function(function)?;
            for alias in self.file.aliases(&function) {
                symbol.aliases.push(alias?);
            }
        }
        Ok(())
    }

    fn all_members(&mut self, found: &Found) -> Result<(), Error> {
        for index in 0..found.member_count() {
            let member = self.file.member_frames(found, index, &mut self.frames)?;
            let mut symbol = Symbol::default();
            self.fill(&mut symbol, found, member.function)?;
            self.answer.candidates.push(Candidate { how: member.how.text(), symbol });
        }
        Ok(())
    }
}

/// The address of the call that returns here.
fn call_of(address: ImageAddr) -> Option<ImageAddr> {
    (address.0 != 0).then(|| ReturnAddr(address.0).lookup_address())
}
