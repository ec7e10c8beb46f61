//! Turns addresses into neutral answers: the one place that knows what the reader gives.

use foldsym_lookup::{
    Answer as Found, BasicBlocks, Error, Frames, FunctionId, ImageAddr, Lookup, NameId, Resolved, ReturnAddr,
    SectionId, StackAddr, SymbolFile, What,
};

use rustc_hash::FxHashMap;

use crate::answer::address::Address;
use crate::answer::entry::{Entry, Parsed};
use crate::answer::object::Objects;
use crate::answer::{Answer, Block, Candidate, Symbol};

/// Looks addresses up, with scratch memory that is used again.
pub(crate) struct Resolver<'f> {
    file: SymbolFile<'f>,
    /// Every function of a group is wanted, not only the first.
    candidates: bool,
    frames: Frames,
    answer: Answer,
    stack: Vec<StackAddr>,
    resolved: Vec<Resolved>,
    /// Present where basic blocks are wanted; without a map, no address has one.
    blocks: Option<Option<BasicBlocks<'f>>>,
    /// Whose the blocks of a range are, of ranges that were asked for.
    block_functions: FxHashMap<u32, Option<NameId>>,
    objects: Objects,
    /// Where the program's sections are, ends excluded, by address.
    sections: Vec<(u64, u64)>,
    /// Frames, other names and candidates that an answer may still have.
    left: usize,
}

/// How many an answer may have besides one for each byte of the file: records of constants take no byte of it.
const MIN_ITEMS: usize = 1 << 16;

impl<'f> Resolver<'f> {
    pub(crate) fn new(file: SymbolFile<'f>, candidates: bool) -> Self {
        let range = |start: u64, len: u64| (start, start.saturating_add(len));
        let mut sections: Vec<(u64, u64)> =
            file.program_sections().map(|section| range(section.start.0, section.len)).collect();
        sections.sort_unstable();
        Self {
            sections,
            file,
            candidates,
            frames: Frames::new(),
            answer: Answer::default(),
            stack: Vec::new(),
            resolved: Vec::new(),
            blocks: None,
            block_functions: FxHashMap::default(),
            objects: Objects::default(),
            left: 0,
        }
    }

    /// The same with the basic block of each address.
    pub(crate) fn with_blocks(self, blocks: Option<BasicBlocks<'f>>) -> Self {
        Self { blocks: Some(blocks), ..self }
    }

    /// Answers an exact address.
    ///
    /// # Errors
    /// The file is damaged where the answer should be.
    pub(crate) fn lookup(&mut self, address: Address) -> Result<&Answer, Error> {
        self.resolve(Some(address.given), address.image, None)?;
        if self.blocks.is_some() {
            self.answer.block = Some(self.block(address.image)?);
        }
        Ok(&self.answer)
    }

    fn block(&mut self, image: Option<ImageAddr>) -> Result<Option<Block>, Error> {
        let (Some(Some(blocks)), Some(image)) = (&self.blocks, image) else { return Ok(None) };
        let Some(block) = blocks.at(image)? else { return Ok(None) };
        // A part of a function may not be shared where its beginning is.
        let folded = self.answer.candidate_count.is_some();
        if let Some(&function) = self.block_functions.get(&block.range) {
            return Ok(Some(Block { block, function, folded }));
        }
        let start = blocks.function_start(&block)?;
        let function = match self.file.lookup(start, &mut self.frames)? {
            Lookup::Found(found) if !found.padding => self.file.function_name(found.function)?,
            _ => None,
        };
        self.block_functions.insert(block.range, function);
        Ok(Some(Block { block, function, folded }))
    }

    /// Answers each entry of a stack, in order; at folded code the caller's return address tells which
    /// function ran, and at the innermost one the class of its object. `base` is the load bias.
    ///
    /// # Errors
    /// What `each` gives; or, through `damaged`, that the file is damaged where an answer should be.
    pub(crate) fn stack<E>(
        &mut self,
        stack: &Parsed,
        base: u64,
        damaged: impl Fn(Error) -> E,
        mut each: impl FnMut(&Answer) -> Result<(), E>,
    ) -> Result<(), E> {
        self.stack.clear();
        self.stack.extend(stack.entries.iter().map(|entry| {
            match *entry {
                Entry::Exact(address) => address.image.map_or(StackAddr::Foreign, StackAddr::Exact),
                Entry::Return(address) => address
                    .image
                    .filter(|image| image.0 != 0)
                    .map_or(StackAddr::Foreign, |image| StackAddr::Return(ReturnAddr(image.0))),
                Entry::Foreign => StackAddr::Foreign,
            }
        }));
        self.resolved.clear();
        self.resolved.resize(self.stack.len(), Resolved::NONE);
        self.file.resolve_stack(&self.stack, &mut self.resolved).map_err(&damaged)?;
        if let (Some(vptr), Some(first)) = (stack.vptr.and_then(|vptr| vptr.image), self.resolved.first_mut())
        {
            let caller = self.stack.get(1).copied();
            self.file.resolve_object(first, vptr, caller).map_err(&damaged)?;
        }
        let mut object = None;
        if let Some(stopped) = &stack.stopped {
            let found = self.objects.resolve(&self.file, &self.stack, &mut self.resolved, (stopped, base));
            object = found.map_err(&damaged)?;
        }
        for (index, entry) in stack.entries.iter().enumerate() {
            let given = match *entry {
                Entry::Exact(address) | Entry::Return(address) => Some(address.given),
                Entry::Foreign => None,
            };
            let (address, resolved) = (self.stack[index].lookup_address(), self.resolved[index]);
            self.resolve(given, address, Some(resolved)).map_err(&damaged)?;
            self.answer.object = object.take();
            each(&self.answer)?;
        }
        Ok(())
    }

    /// Leaves the answer for an image address in `self.answer`, at folded code that of the candidates which the stack
    /// leaves.
    fn resolve(
        &mut self,
        given: Option<u64>,
        image: Option<ImageAddr>,
        resolved: Option<Resolved>,
    ) -> Result<(), Error> {
        self.answer.clear();
        self.answer.address = given;
        self.left = self.file.bytes().len().saturating_add(MIN_ITEMS);
        let Some(image) = image else {
            // An offset past the end of a section that was named is given, and is nobody else's.
            self.answer.outside = given.is_none();
            return Ok(());
        };
        let Lookup::Found(found) = self.file.lookup(image, &mut self.frames)? else {
            self.answer.outside = self.is_outside(image);
            return Ok(());
        };
        (self.answer.certainty, self.answer.reason) = (Some(found.certainty), found.reason);
        self.answer.start = (!found.padding).then_some(found.function_start.0);
        let mut function = found.function;
        // The group of a stack's frame and that of its address are one, unless the file is damaged.
        let resolved = resolved.filter(|resolved| found.group.is_some() && resolved.group == found.group);
        let count = resolved.map_or(found.member_count(), |resolved| resolved.candidate_count());
        let member = |index| resolved.map_or(Some(index), |resolved| resolved.candidate(index));
        if let Some(resolved) = resolved {
            self.answer.certainty = resolved.certainty;
            self.answer.evidence = resolved.evidence;
            if let Some(first) = member(0) {
                function = self.file.member_frames(&found, first, &mut self.frames)?.function;
            }
        }
        if found.group.is_some() {
            self.answer.candidate_count = Some(count);
        }
        self.answer.partial = self.frames.is_partial();
        let mut symbol = std::mem::take(&mut self.answer.symbol);
        let filled = self.fill(&mut symbol, &found, function);
        self.answer.symbol = symbol;
        filled?;
        if self.candidates && found.group.is_some() {
            for index in (0..count).map_while(member) {
                let member = self.file.member_frames(&found, index, &mut self.frames)?;
                let mut symbol = Symbol::default();
                self.fill(&mut symbol, &found, member.function)?;
                self.answer.candidates.push(Candidate { how: member.how.text(), symbol });
            }
        }
        Ok(())
    }

    /// Whether an address is in no section of the program. Of a file without sections nobody knows.
    fn is_outside(&self, image: ImageAddr) -> bool {
        let before = &self.sections[..self.sections.partition_point(|&(start, _)| start <= image.0)];
        !self.sections.is_empty() && !before.iter().any(|&(_, end)| image.0 < end)
    }

    /// Takes the frames of the last lookup, and the other names of their function.
    ///
    /// # Errors
    /// The file is damaged, or the answer has more than its bytes can hold.
    fn fill(&mut self, symbol: &mut Symbol, found: &Found, function: FunctionId) -> Result<(), Error> {
        let mut left = self.left;
        let mut take = |section| {
            left = left.checked_sub(1).ok_or(Error { section, what: What::Length, offset: 0 })?;
            Ok(())
        };
        for frame in self.file.frames(&self.frames) {
            take(SectionId::MEMBERS)?;
            symbol.frames.push(frame?);
        }
        if !found.padding {
            let function = self.file.function(function)?;
            for alias in self.file.aliases(&function) {
                take(SectionId::ALIASES)?;
                symbol.aliases.push(alias?);
            }
        }
        self.left = left;
        Ok(())
    }
}
