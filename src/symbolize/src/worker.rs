//! A stack to its frames. Each frame is placed in a module first; then folded functions are resolved from the outermost frame in, as a caller
//! must be known before it can tell whom it called; then the frames are answered, innermost first.

use std::sync::Arc;

use foldsym_lookup::{
    Answer, Error, Frames, FunctionId, ImageAddr, Lookup, Resolved, ReturnAddr, SectionId, StackAddr,
    SymbolFile, What,
};
use foldsym_store::SymbolMap;
use rustc_hash::FxHashMap;

use crate::certainty::reason;
use crate::frame::{Candidate, Frame, Location, Unknown};
use crate::names::Names;
use crate::stack::{Kind, Mapping, Module, Modules, Place, Stack, StackFrame};
use crate::symbolizer::Symbolizer;

/// Files whose names a worker keeps; then it begins anew.
const MAX_FILES: usize = 256;
/// Frames, other names and candidates that an answer may have, besides one for each byte of its file: records of constants take no
/// byte of it.
const MIN_ITEMS: usize = 1 << 16;

/// Answers stacks one after the other, with the memory of one thread. Made by [`Symbolizer::worker`].
pub struct Worker<'s> {
    symbolizer: &'s Symbolizer,
    files: Vec<Loaded>,
    /// Indices of `files`, by the address of what was mapped, which the entry keeps from being used again.
    by_map: FxHashMap<usize, usize>,
    /// The modules of the last stack, and what is known of each that was needed.
    modules: Option<Modules>,
    states: Vec<Option<State>>,
    placed: Vec<Placed>,
    resolved: Vec<Resolved>,
    frames: Frames,
}

/// A file and its names.
struct Loaded {
    map: Arc<SymbolMap>,
    names: Names,
}

/// The file of a module, as an index of [`Worker::files`].
type State = Result<usize, Unknown>;

/// Where a frame is.
#[derive(Clone)]
struct Placed {
    module: Option<usize>,
    file: Result<usize, Unknown>,
    /// What link-time addresses are less than runtime ones, where the frame was given by one of those.
    bias: Option<u64>,
    address: StackAddr,
}

impl Placed {
    fn unknown(module: Option<usize>, why: Unknown) -> Self {
        Self { module, file: Err(why), bias: None, address: StackAddr::Foreign }
    }

    /// Whether a call from the one to the other stays in one loaded file.
    fn shares_module(&self, other: &Self) -> bool {
        let same_file = self.file.is_ok() && self.file == other.file;
        same_file && (self.module == other.module || (self.bias.is_some() && self.bias == other.bias))
    }
}

impl<'s> Worker<'s> {
    pub(crate) fn new(symbolizer: &'s Symbolizer) -> Self {
        Self {
            symbolizer,
            files: Vec::new(),
            by_map: FxHashMap::default(),
            modules: None,
            states: Vec::new(),
            placed: Vec::new(),
            resolved: Vec::new(),
            frames: Frames::new(),
        }
    }

    /// Answers a stack: puts a frame for each of its frames into `out`, in order, in place of what is there.
    pub fn symbolize(&mut self, stack: &Stack, out: &mut Vec<Frame>) {
        self.enter(&stack.modules);
        let mut placed = std::mem::take(&mut self.placed);
        placed.clear();
        placed.extend(stack.frames.iter().map(|&frame| self.place(&stack.modules, frame)));
        self.resolve(&placed);
        out.clear();
        out.reserve(placed.len());
        for (index, (placed, given)) in placed.iter().zip(&stack.frames).enumerate() {
            let mut frame = Frame { address: given.place.given(), module: placed.module, ..Frame::default() };
            frame.module_name = match placed.module.and_then(|module| stack.modules.get(module)) {
                Some(module) => module.name.clone(),
                None => frame.module_name,
            };
            frame.image_address = placed.address.lookup_address().map(|address| address.0);
            match &placed.file {
                Err(why) => frame.unknown = Some(why.clone()),
                Ok(file) => self.answer(*file, placed.address, self.resolved[index], &mut frame),
            }
            out.push(frame);
        }
        self.placed = placed;
    }

    /// Forgets the modules of the last stack, if this one has others.
    fn enter(&mut self, modules: &Modules) {
        if self.files.len() > MAX_FILES {
            self.files.clear();
            self.by_map.clear();
            self.modules = None;
        }
        if !self.modules.as_ref().is_some_and(|known| known.is(modules)) {
            self.modules = Some(modules.clone());
            self.states.clear();
            self.states.resize(modules.len(), None);
        }
    }

    /// The file of a module.
    fn file(&mut self, index: usize, module: &Module) -> State {
        if let Some(Some(known)) = self.states.get(index) {
            return known.clone();
        }
        let state = self.symbolizer.open(module).map(|map| {
            let at = Arc::as_ptr(&map) as usize;
            *self.by_map.entry(at).or_insert_with(|| {
                self.files.push(Loaded { map, names: Names::default() });
                self.files.len() - 1
            })
        });
        if let Some(known) = self.states.get_mut(index) {
            // A failure is asked for again at the next stack: the engine remembers how old it is.
            *known = state.is_ok().then(|| state.clone());
        }
        state
    }

    fn place(&mut self, modules: &Modules, frame: StackFrame) -> Placed {
        // A call may be the last instruction of its module.
        let back = u64::from(frame.kind == Kind::Return);
        let index = match frame.place {
            Place::Unknown => return Placed::unknown(None, Unknown::NoAddress),
            Place::Memory(address) => modules.find(address.wrapping_sub(back)),
            Place::Offset { module, .. } | Place::Image { module, .. } => Some(module),
        };
        let Some((index, module)) = index.and_then(|index| Some((index, modules.get(index)?))) else {
            return Placed::unknown(None, Unknown::NoModule);
        };
        let file = match self.file(index, module) {
            Ok(file) => file,
            Err(why) => return Placed::unknown(Some(index), why),
        };
        let header = self.files[file].map.file().header();
        let (bias, image) = match (frame.place, module.mapping) {
            (Place::Image { address, .. }, _) => (None, address),
            (Place::Offset { offset, .. }, _) => (None, offset.wrapping_add(header.image_base)),
            (_, Mapping::LoadAddress { address, .. }) => {
                with_bias(frame.place, address.wrapping_sub(header.image_base))
            }
            (_, Mapping::Bias { bias, .. }) => with_bias(frame.place, bias),
            (_, Mapping::FilePart { .. } | Mapping::Unknown) => {
                let path = self.files[file].map.path().display();
                let why = format!(
                    "{}: mapped by file offset, and {path} has no segments to turn that into an address",
                    module.name
                );
                return Placed::unknown(Some(index), Unknown::NoMapping(why.into()));
            }
        };
        let address = match frame.kind {
            Kind::Exact => StackAddr::Exact(ImageAddr(image)),
            Kind::Return => returns_to(image),
            Kind::Adjusted => returns_to(behind_call(image, header.machine)),
        };
        Placed { module: Some(index), file: Ok(file), bias, address }
    }

    /// Says which functions of folded code each frame may be. The chain of callers breaks where the file changes.
    fn resolve(&mut self, placed: &[Placed]) {
        self.resolved.clear();
        self.resolved.resize(placed.len(), Resolved::NONE);
        for index in (0..placed.len()).rev() {
            let frame = &placed[index];
            let Ok(file) = frame.file else { continue };
            let caller = placed.get(index + 1).filter(|caller| frame.shares_module(caller));
            let caller = caller.map(|caller| (caller.address, &self.resolved[index + 1]));
            // Damage is told by the answer, which reads the same places.
            if let Ok(resolved) = self.files[file].map.file().resolve_one(frame.address, caller) {
                self.resolved[index] = resolved;
            }
        }
    }

    fn answer(&mut self, file: usize, address: StackAddr, resolved: Resolved, frame: &mut Frame) {
        let Loaded { map, names } = &mut self.files[file];
        let mut filler = Filler {
            file: map.file(),
            names,
            frames: &mut self.frames,
            left: map.bytes().len().saturating_add(MIN_ITEMS),
            candidates: self.symbolizer.candidates,
            demangle: self.symbolizer.demangle,
        };
        match filler.fill(address, resolved, frame) {
            Ok(()) if frame.functions.is_empty() => frame.unknown = Some(Unknown::NoFunction),
            Ok(()) => {}
            Err(error) => {
                let why = format!("{}: damaged: {error}", map.path().display());
                *frame = Frame {
                    address: frame.address,
                    module: frame.module,
                    module_name: frame.module_name.clone(),
                    image_address: frame.image_address,
                    unknown: Some(Unknown::Damaged(why.into())),
                    ..Frame::default()
                };
            }
        }
    }
}

/// Answers one address of one file.
struct Filler<'f, 'd> {
    file: &'f SymbolFile<'d>,
    names: &'f mut Names,
    frames: &'f mut Frames,
    /// Items that the answer may still have.
    left: usize,
    candidates: bool,
    demangle: bool,
}

impl Filler<'_, '_> {
    fn fill(&mut self, address: StackAddr, resolved: Resolved, frame: &mut Frame) -> Result<(), Error> {
        let Some(image) = address.lookup_address() else { return Ok(()) };
        let Lookup::Found(found) = self.file.lookup(image, self.frames)? else { return Ok(()) };
        frame.certainty = Some(found.certainty.into());
        frame.evidence = found.evidence.map(Into::into);
        frame.reason = reason(&found);
        frame.start = (!found.padding).then_some(found.function_start.0);
        let mut function = found.function;
        // The group of a stack's frame and that of its address are one, unless the file is damaged.
        let resolved =
            Some(resolved).filter(|resolved| found.group.is_some() && resolved.group == found.group);
        let count = resolved.map_or(found.member_count(), |resolved| resolved.candidate_count());
        let member = |index| resolved.map_or(Some(index), |resolved| resolved.candidate(index));
        if let Some(resolved) = resolved {
            frame.certainty = resolved.certainty.map(Into::into);
            frame.evidence = resolved.evidence.map(Into::into);
            if let Some(first) = member(0) {
                function = self.file.member_frames(&found, first, self.frames)?.function;
            }
        }
        frame.candidate_count = found.group.is_some().then_some(count);
        frame.partial = self.frames.is_partial();
        (frame.functions, frame.aliases) = self.symbol(&found, function)?;
        if self.candidates && found.group.is_some() {
            for index in (0..count).map_while(member) {
                let member = self.file.member_frames(&found, index, self.frames)?;
                let (functions, aliases) = self.symbol(&found, member.function)?;
                frame.candidates.push(Candidate { how: member.how.text(), functions, aliases });
            }
        }
        Ok(())
    }

    /// The frames that the last lookup left, and the other names of their function.
    fn symbol(
        &mut self,
        found: &Answer,
        function: FunctionId,
    ) -> Result<(Vec<Location>, Vec<Arc<str>>), Error> {
        let damaged = |section| Error { section, what: What::Name, offset: 0 };
        let mut locations = Vec::with_capacity(self.frames.len() as usize);
        for frame in self.file.frames(self.frames) {
            let frame = frame?;
            self.left = self.left.checked_sub(1).ok_or(too_many(SectionId::MEMBERS))?;
            let name = self.names.name(self.file, frame.name, self.demangle);
            let (linkage_name, function) = name.ok_or(damaged(SectionId::NAMES))?;
            let mut path = |id| self.names.path(self.file, id).ok_or(damaged(SectionId::FILES));
            locations.push(Location {
                function,
                linkage_name,
                file: path(frame.file)?,
                line: frame.line,
                column: frame.column,
                start_file: path(frame.start_file)?,
                start_line: frame.start_line,
                inlined: !frame.is_outermost,
            });
        }
        let mut aliases = Vec::new();
        if !found.padding {
            let function = self.file.function(function)?;
            for alias in self.file.aliases(&function) {
                self.left = self.left.checked_sub(1).ok_or(too_many(SectionId::ALIASES))?;
                let name = self.names.name(self.file, Some(alias?), false);
                aliases.push(name.ok_or(damaged(SectionId::NAMES))?.0);
            }
        }
        Ok((locations, aliases))
    }
}

fn too_many(section: SectionId) -> Error {
    Error { section, what: What::Length, offset: 0 }
}

fn with_bias(place: Place, bias: u64) -> (Option<u64>, u64) {
    (Some(bias), place.given().unwrap_or(0).wrapping_sub(bias))
}

/// Nothing returns to address 0: the byte before it is none of the module.
fn returns_to(image: u64) -> StackAddr {
    if image == 0 { StackAddr::Foreign } else { StackAddr::Return(ReturnAddr(image)) }
}

/// The return address of the call that an address is inside of: the next multiple of the smallest instruction above it.
fn behind_call(image: u64, machine: u16) -> u64 {
    let size = match machine {
        // AArch64, PowerPC, MIPS, SPARC, LoongArch
        183 | 20 | 21 | 8 | 2 | 18 | 43 | 258 => 4,
        // ARM (Thumb), RISC-V (compressed), s390
        40 | 243 | 22 => 2,
        _ => 1,
    };
    (image / size).wrapping_add(1).wrapping_mul(size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_adjusted_address_is_inside_its_call() {
        for (machine, adjusted, behind) in [
            (62, 0x1004, 0x1005),
            (183, 0x1003, 0x1004),
            (183, 0x1000, 0x1004),
            (40, 0x1001, 0x1002),
            (243, 0x1002, 0x1004),
        ] {
            assert_eq!(behind_call(adjusted, machine), behind, "{machine} {adjusted:#x}");
        }
        assert_eq!(behind_call(u64::MAX, 62), 0);
    }
}
