//! Symbolizes many addresses, and whole stacks over many modules. One owner holds the symbols and all their texts.

use core::ffi::{CStr, c_char};
use core::ops::Range;
use std::collections::TryReserveError;
use std::vec::Vec;

use foldsym_lookup::{
    Frames, FunctionId, How, ImageAddr, Lookup, NotFoundReason, Resolved, StackAddr, SymbolFile,
};
use foldsym_resolve::{Frame, Known, Ranker, behind};

use crate::texts::{Stop, Texts};
use crate::tier1::{self, Status};
use crate::types::{
    self, Addresses, Candidate, FOLDSYM_ALIASES, FOLDSYM_CANDIDATES, FOLDSYM_DEMANGLE, FOLDSYM_FOREIGN,
    FOLDSYM_NO_MODULE, FOLDSYM_NO_SYMBOLS, FOLDSYM_NONE, FOLDSYM_OK, FOLDSYM_RETURN, StackEntry, Symbol,
    TextFrame,
};

/// Symbols, and the data that they point to: none of these vectors grows once the pointers are made.
pub(crate) struct Table {
    pub(crate) symbols: Vec<Symbol>,
    /// Read by C through the symbols.
    _candidates: Vec<Candidate>,
    /// Read by C through the symbols and candidates.
    _frames: Vec<TextFrame>,
    _aliases: Vec<*const c_char>,
    /// Texts, each with a terminating zero.
    _texts: Vec<u8>,
}

/// There is no memory for an answer, or it would be larger than answers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoMemory;

impl From<TryReserveError> for NoMemory {
    fn from(_: TryReserveError) -> NoMemory {
        NoMemory
    }
}

/// Frames that an answer may have: a file of two kilobytes may have 457 at each address, and C asks for a million.
const MIN_FRAMES: usize = 1 << 20;
const FRAMES_EACH: usize = 16;

/// A program or library of the process.
#[derive(Clone, Copy)]
pub(crate) struct Module<'f> {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) load_bias: u64,
    /// `None` where `status` says why.
    pub(crate) file: Option<&'f SymbolFile<'static>>,
    pub(crate) name: *const c_char,
    pub(crate) status: Status,
}

/// Whether the flags are ones that this library knows.
pub(crate) const fn known_flags(flags: u32) -> bool {
    flags & !(FOLDSYM_DEMANGLE | FOLDSYM_CANDIDATES | FOLDSYM_ALIASES) == 0
}

/// Looks each address up. A damaged place gives its address the status, and no frames; so does an address whose texts are longer than a
/// file can have.
///
/// # Errors
/// There is no memory for the answer, or it has more frames than [`FRAMES_EACH`] for each address.
pub(crate) fn symbolize(
    file: &SymbolFile<'_>,
    wanted: &Addresses,
    addresses: &[u64],
) -> Result<Table, NoMemory> {
    let mut builder = Builder::new(addresses.len(), file.records().bytes().len(), wanted.flags)?;
    for &address in addresses {
        let mut symbol = nothing(address);
        // `foldsym_symbolize` has refused unknown kinds.
        let at = tier1::stack_addr(wanted.kind, address, wanted.load_bias).unwrap_or(StackAddr::Foreign);
        builder.answer(&Spot { file, number: 0, load_bias: wanted.load_bias, at }, None, &mut symbol)?;
    }
    Ok(builder.finish())
}

/// Answers a stack: folded functions are resolved from the outermost frame in, by the caller, as the engine does; then each frame is
/// answered.
///
/// # Errors
/// As for [`symbolize`].
pub(crate) fn symbolize_stack(
    modules: &[Module<'_>],
    entries: &[StackEntry],
    vptr: u64,
    flags: u32,
) -> Result<Table, NoMemory> {
    let bytes = modules.iter().filter_map(|module| module.file);
    let bytes = bytes.fold(0, |sum: usize, file| sum.saturating_add(file.records().bytes().len()));
    let mut builder = Builder::new(entries.len(), bytes, flags)?;
    let mut placed: Vec<Placed<'_>> = Vec::new();
    // The caller chooses the count. Without this reservation, a failed allocation would abort the caller's process.
    placed.try_reserve_exact(entries.len())?;
    placed.extend(entries.iter().map(|entry| Placed { module: find(modules, entry), known: None }));
    resolve(&mut placed, entries, vptr)?;
    for (entry, place) in entries.iter().zip(&placed) {
        let mut symbol = nothing(entry.address);
        symbol.status = FOLDSYM_NO_MODULE;
        let spot = place.module.and_then(|(index, module)| {
            let number = u32::try_from(index).unwrap_or(FOLDSYM_NONE);
            (symbol.module, symbol.module_index, symbol.status) = (module.name, number, module.status);
            let at = tier1::stack_addr(entry.kind, entry.address, module.load_bias)?;
            Some(Spot { file: module.file?, number, load_bias: module.load_bias, at })
        });
        match spot {
            Some(spot) => builder.answer(&spot, place.known, &mut symbol)?,
            None => builder.push(symbol, 0..0, 0..0),
        }
    }
    Ok(builder.finish())
}

/// A frame, with its module, and its members as its callers resolve them.
struct Placed<'f> {
    module: Option<(usize, Module<'f>)>,
    /// `None` if it has no caller.
    known: Option<Known>,
}

/// The module of a frame: of several at its address the last, since a library that is unloaded leaves its place to others.
fn find<'f>(modules: &[Module<'f>], entry: &StackEntry) -> Option<(usize, Module<'f>)> {
    // A call may be the last instruction of its module.
    let address = match entry.kind {
        FOLDSYM_FOREIGN => return None,
        FOLDSYM_RETURN => entry.address.wrapping_sub(1),
        _ => entry.address,
    };
    let index = modules.iter().rposition(|module| (module.start..module.end).contains(&address))?;
    let mut module = *modules.get(index)?;
    // The table is the caller's memory: its files must really be set up.
    if module.status == FOLDSYM_OK && module.file.is_none() {
        module.status = FOLDSYM_NO_SYMBOLS;
    }
    module.file = module.file.filter(|_| module.status == FOLDSYM_OK);
    Some((index, module))
}

/// Resolves the frames at folded code. A damaged place is reported by the answer, which reads the same places.
fn resolve(placed: &mut [Placed<'_>], entries: &[StackEntry], vptr: u64) -> Result<(), NoMemory> {
    let mut frames: Vec<Option<Frame<'_>>> = Vec::new();
    frames.try_reserve_exact(placed.len())?;
    frames.extend(placed.iter().zip(entries).map(|(placed, entry)| {
        let (_, module) = placed.module?;
        let file = module.file?;
        let address = tier1::stack_addr(entry.kind, entry.address, module.load_bias)?;
        // Several modules may share one opened file, so its address in memory identifies it.
        Some(Frame { file, number: core::ptr::from_ref(file).addr(), load: module.load_bias, address })
    }));
    let mut known: Vec<Known> = Vec::new();
    known.try_reserve_exact(placed.len())?;
    known.resize(placed.len(), (Resolved::NONE, 0));
    foldsym_resolve::stack(&frames, &mut Ranker::default(), &mut known);
    // A single frame has no caller, so the lookup's own certainty is its answer.
    if placed.len() > 1 {
        placed.iter_mut().zip(&known).for_each(|(placed, known)| placed.known = Some(*known));
    }
    if let (true, Some(Some(innermost)), Some(placed)) = (vptr != 0, frames.first(), placed.first_mut()) {
        // `by_object` looks up the caller in the innermost frame's file, so a caller in another module is left out.
        let caller = frames.get(1).copied().flatten();
        let caller =
            caller.filter(|caller| (caller.number, caller.load) == (innermost.number, innermost.load));
        // If the file is damaged at the object, the result of the callers stays.
        placed.known = by_object(innermost, caller, placed.known, vptr).or(placed.known);
    }
    Ok(())
}

/// Resolves the innermost function by its object. `None` if the file is damaged there.
fn by_object(
    innermost: &Frame<'_>,
    caller: Option<Frame<'_>>,
    known: Option<Known>,
    vptr: u64,
) -> Option<Known> {
    let file = innermost.file;
    let (before, first) = match known {
        Some(known) => known,
        None => (file.resolve_one(innermost.address, None).ok()?, 0),
    };
    // As the addresses: the bias may wrap.
    let table = ImageAddr(vptr.wrapping_sub(innermost.load));
    let mut resolved = before;
    file.resolve_object(&mut resolved, table, caller.map(|caller| caller.address)).ok()?;
    // The object is evidence; it comes before what names suggest.
    Some((resolved, if resolved == before { first } else { 0 }))
}

/// The subject of a lookup, and its file.
struct Spot<'a, 'd> {
    file: &'a SymbolFile<'d>,
    /// The number of the file: names of several files have the same ids.
    number: u32,
    load_bias: u64,
    at: StackAddr,
}

fn nothing(address: u64) -> Symbol {
    Symbol {
        address,
        function_start: 0,
        frames: core::ptr::null(),
        frame_count: 0,
        candidates: core::ptr::null(),
        listed_count: 0,
        module: core::ptr::null(),
        module_index: FOLDSYM_NONE,
        status: FOLDSYM_OK,
        certainty: types::FOLDSYM_UNKNOWN,
        evidence: types::FOLDSYM_BY_NOTHING,
        reason: types::FOLDSYM_FOR_NOTHING,
        candidate_count: 0,
        flags: 0,
        reserved0: 0,
        aliases: core::ptr::null(),
        alias_count: 0,
        reserved: 0,
    }
}

/// Collects symbols; ranges replace pointers as long as the vectors grow.
struct Builder {
    flags: u32,
    most: usize,
    scratch: Frames,
    texts: Texts,
    frames: Vec<TextFrame>,
    /// The address of their frames is an index until then.
    candidates: Vec<Candidate>,
    /// Offsets in the texts until then.
    aliases: Vec<*const c_char>,
    symbols: Vec<Symbol>,
    /// Of each symbol: its frames and its candidates.
    ranges: Vec<(Range<usize>, Range<usize>)>,
}

impl Builder {
    fn new(count: usize, file_bytes: usize, flags: u32) -> Result<Self, NoMemory> {
        let (mut symbols, mut ranges) = (Vec::new(), Vec::new());
        symbols.try_reserve_exact(count)?;
        ranges.try_reserve_exact(count)?;
        Ok(Builder {
            flags,
            most: count.saturating_mul(FRAMES_EACH).max(MIN_FRAMES),
            scratch: Frames::new(),
            texts: Texts::new(file_bytes, flags & FOLDSYM_DEMANGLE != 0),
            frames: Vec::new(),
            candidates: Vec::new(),
            aliases: Vec::new(),
            symbols,
            ranges,
        })
    }

    /// Adds a symbol; there is room for the number that [`Builder::new`] was given.
    fn push(&mut self, symbol: Symbol, frames: Range<usize>, candidates: Range<usize>) {
        self.symbols.push(symbol);
        self.ranges.push((frames, candidates));
    }

    /// Fills a symbol in and adds it.
    fn answer(
        &mut self,
        spot: &Spot<'_, '_>,
        known: Option<Known>,
        symbol: &mut Symbol,
    ) -> Result<(), NoMemory> {
        let (frames, candidates, aliases) = (self.frames.len(), self.candidates.len(), self.aliases.len());
        let empty = *symbol;
        match self.fill(spot, known, symbol) {
            Ok((status, own)) => {
                symbol.status = status;
                self.push(*symbol, own, candidates..self.candidates.len());
            }
            Err(Stop::Damaged) => {
                // An answer is whole or empty. Texts stay, since later answers may use them.
                self.frames.truncate(frames);
                self.candidates.truncate(candidates);
                self.aliases.truncate(aliases);
                *symbol = Symbol { status: types::FOLDSYM_E_DAMAGED, ..empty };
                self.push(*symbol, 0..0, 0..0);
            }
            Err(Stop::Memory) => return Err(NoMemory),
        }
        Ok(())
    }

    /// Looks a spot up; gives the frames of the answer.
    fn fill(
        &mut self,
        spot: &Spot<'_, '_>,
        known: Option<Known>,
        symbol: &mut Symbol,
    ) -> Result<(Status, Range<usize>), Stop> {
        let none = 0..0;
        let file = spot.file;
        let Some(address) = spot.at.lookup_address() else { return Ok((types::FOLDSYM_NO_FUNCTION, none)) };
        let found = match file.lookup(address, &mut self.scratch)? {
            Lookup::NotFound(NotFoundReason::OutsideCode) => return Ok((types::FOLDSYM_OUTSIDE_CODE, none)),
            Lookup::NotFound(_) => return Ok((types::FOLDSYM_NO_FUNCTION, none)),
            Lookup::Found(found) => found,
        };
        // That of a frame in padding says nothing.
        let known = known.filter(|(resolved, _)| {
            found.group.is_some() && resolved.group == found.group && resolved.certainty.is_some()
        });
        let front = known.map_or(0, |(_, front)| front);
        let resolved = known.map(|(resolved, _)| resolved);
        let count = resolved.map_or(found.member_count(), |resolved| resolved.candidate_count());
        let member =
            |index| resolved.map_or(Some(index), |resolved| resolved.candidate(behind(front, index)));
        (symbol.certainty, symbol.evidence) = match &resolved {
            Some(resolved) => (tier1::certainty(resolved.certainty), tier1::evidence(resolved.evidence)),
            None => (tier1::certainty(Some(found.certainty)), tier1::evidence(found.evidence)),
        };
        symbol.reason = tier1::reason(found.reason);
        symbol.candidate_count = count;
        let mut function = found.function;
        if resolved.is_some()
            && let Some(first) = member(0)
        {
            // The lookup left the frames of the first member; the first candidate may be another.
            function = file.member_frames(&found, first, &mut self.scratch)?.function;
        }
        symbol.flags = if found.padding { types::FOLDSYM_PADDING } else { 0 }
            | if self.scratch.is_partial() { types::FOLDSYM_PARTIAL } else { 0 };
        if !found.padding {
            symbol.function_start = found.function_start.0.wrapping_add(spot.load_bias);
        }
        let own = self.frames(spot)?;
        let named = Some(function).filter(|_| !found.padding);
        (symbol.aliases, symbol.alias_count) = self.aliases(spot, named)?;
        if self.flags & FOLDSYM_CANDIDATES != 0 && found.group.is_some() {
            for index in (0..count).map_while(member) {
                let member = file.member_frames(&found, index, &mut self.scratch)?;
                let frames = self.frames(spot)?;
                let named = Some(member.function).filter(|_| !found.padding);
                let (aliases, alias_count) = self.aliases(spot, named)?;
                // A group may have many members, and each answered address of the group lists them again.
                if self.candidates.len() >= self.most {
                    return Err(Stop::Memory);
                }
                self.candidates.try_reserve(1)?;
                self.candidates.push(Candidate {
                    frames: core::ptr::without_provenance(frames.start),
                    frame_count: frames.len(),
                    how: how(member.how).as_ptr(),
                    aliases,
                    alias_count,
                    reserved: 0,
                });
            }
        }
        Ok((FOLDSYM_OK, own))
    }

    /// Adds the frames that the last lookup left.
    fn frames(&mut self, spot: &Spot<'_, '_>) -> Result<Range<usize>, Stop> {
        let start = self.frames.len();
        for frame in spot.file.frames(&self.scratch) {
            let frame = self.texts.frame(spot.file, spot.number, &frame?)?;
            if self.frames.len() >= self.most {
                return Err(Stop::Memory);
            }
            self.frames.try_reserve(1)?;
            self.frames.push(frame);
        }
        Ok(start..self.frames.len())
    }

    /// Adds the aliases of a function, if they were requested; returns the index of the first, and how many.
    fn aliases(
        &mut self,
        spot: &Spot<'_, '_>,
        function: Option<FunctionId>,
    ) -> Result<(*const *const c_char, usize), Stop> {
        let start = self.aliases.len();
        let asked = self.flags & FOLDSYM_ALIASES != 0;
        if let Some(function) = function.filter(|_| asked) {
            let function = spot.file.records().function(function)?;
            for alias in spot.file.records().aliases(&function) {
                if self.aliases.len() >= self.most {
                    return Err(Stop::Memory);
                }
                self.aliases.try_reserve(1)?;
                self.aliases.push(self.texts.alias(spot.file, spot.number, alias?)?);
            }
        }
        Ok((core::ptr::without_provenance(start), self.aliases.len().saturating_sub(start)))
    }

    /// Makes pointers of ranges.
    fn finish(mut self) -> Table {
        // Pointers are made last: a vector that grows moves its values.
        let texts = self.texts.point(&mut self.frames, &mut self.aliases);
        let aliases = |start: *const *const c_char, count: usize| {
            let start = start.addr();
            self.aliases.get(start..start.saturating_add(count)).unwrap_or(&[]).as_ptr()
        };
        let frames = |range: Range<usize>| self.frames.get(range).unwrap_or(&[]);
        for candidate in &mut self.candidates {
            let start = candidate.frames.addr();
            candidate.frames = frames(start..start.saturating_add(candidate.frame_count)).as_ptr();
            candidate.aliases = aliases(candidate.aliases, candidate.alias_count);
        }
        for (symbol, (own, listed)) in self.symbols.iter_mut().zip(self.ranges) {
            let own = frames(own);
            (symbol.frames, symbol.frame_count) = (own.as_ptr(), own.len());
            symbol.aliases = aliases(symbol.aliases, symbol.alias_count);
            let listed = self.candidates.get(listed).unwrap_or(&[]);
            (symbol.candidates, symbol.listed_count) = (listed.as_ptr(), listed.len());
        }
        Table {
            symbols: self.symbols,
            _candidates: self.candidates,
            _frames: self.frames,
            _aliases: self.aliases,
            _texts: texts,
        }
    }
}

/// How a function was recovered, as the file format has it.
pub(crate) fn how(how: How) -> &'static CStr {
    match how {
        How::LiveRange => c"live_range",
        How::StmtSequence => c"stmt_sequence",
        How::Relocation => c"relocation",
        How::Symbol => c"symbol",
        How::LineSequence => c"line_sequence",
        How::CallSite => c"call_site",
        How::SymbolOnly => c"symbol_only",
        How::SymbolOrder => c"symbol_order",
        // A test shows that no other is left.
        _ => c"other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_the_readers() {
        for word in How::ALL {
            assert_eq!(how(word).to_str(), Ok(word.text()));
        }
    }
}
