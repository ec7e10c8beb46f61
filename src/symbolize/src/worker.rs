//! Answers a stack in three steps. It places each frame in a module and its file. It resolves folded functions from the outermost frame
//! inward, since a caller must be known before its callee can be. It then answers the frames, innermost first.
//!
//! Long because the three steps share what a worker keeps from one stack to the next.

use std::sync::Arc;
use std::time::Instant;

use foldsym_lookup::{Error, Resolved, StackAddr};
use foldsym_store::SymbolMap;
use rustc_hash::FxHashMap;

use crate::address::{AARCH64, as_given, of_kind, untagged};
use crate::answer::Answer;
use crate::fill::{KEPT_ROOM, fill, number, shrink};
use crate::frame::Frame;
use crate::json;
use crate::loaded::{Loaded, NamesOfFile};
use crate::names::{Form, Names, damage};
use crate::query::{Import, Innermost, Placed, Query};
use crate::rank::{Caller, Ranker};
use crate::resolve::{self, Resolver};
use crate::signature::Signing;
use crate::stack::{AddressKind, Mapping, Module, Modules, ReportedAddress, Stack, StackFrame, in_file_part};
use crate::symbolizer::Symbolizer;
use crate::texts::Texts;
use crate::unknown::Unknown;

/// The most files whose names a worker keeps. A worker with more files drops all of them before the next stack.
pub(crate) const MAX_FILES: usize = 256;

/// Answers stacks one after another in one thread, with buffers and names that it reuses. [`Symbolizer::worker`] makes one.
pub struct Worker<'s> {
    symbolizer: &'s Symbolizer,
    pub(crate) files: Vec<Loaded>,
    /// How many files were forgotten: the number of a file is this plus its index, and no other file ever has it.
    pub(crate) forgotten: usize,
    /// The bytes of those added since [`Worker::make_room`], and how many there were before.
    added: (u64, usize),
    /// Indices of `files`, by the address of the mapping. The entry keeps the mapping, so that the address is not used again.
    by_map: FxHashMap<usize, usize>,
    /// The modules of the last stack ([`Modules::serial`]).
    modules: Option<u64>,
    /// For each of these modules its file, if it was needed.
    states: Vec<Option<State>>,
    /// The indices of the modules whose failure is in `states`, which holds for one stack.
    failed: Vec<usize>,
    /// The earliest time at which a file that lacks something is to be searched again.
    again: Option<Instant>,
    placed: Vec<Placed>,
    /// The index of each frame without a file, and the reason; by index.
    pub(crate) unknown: Vec<(usize, Unknown)>,
    addresses: Vec<StackAddr>,
    resolved: Vec<Resolved>,
    /// For each frame the candidate that comes first.
    firsts: Vec<u32>,
    pub(crate) ranker: Ranker,
    pub(crate) resolver: Resolver,
    answer: Answer,
    /// The names for answers without a file.
    pub(crate) none: NamesOfFile,
    /// Earlier answers.
    texts: Texts,
}

/// Bytes of JSON of earlier answers that a worker keeps.
const KEPT_TEXTS: usize = 16 << 20;

/// The file of a module, as an index of [`Worker::files`].
type State = Result<usize, Unknown>;

impl<'s> Worker<'s> {
    pub(crate) fn new(symbolizer: &'s Symbolizer) -> Self {
        Self {
            symbolizer,
            files: Vec::new(),
            forgotten: 0,
            added: (0, 0),
            by_map: FxHashMap::default(),
            modules: None,
            states: Vec::new(),
            failed: Vec::new(),
            again: None,
            placed: Vec::new(),
            unknown: Vec::new(),
            addresses: Vec::new(),
            resolved: Vec::new(),
            firsts: Vec::new(),
            ranker: Ranker::default(),
            resolver: Resolver::new(symbolizer.candidates),
            answer: Answer::default(),
            none: NamesOfFile::new(symbolizer.demangle),
            texts: Texts::new(KEPT_TEXTS),
        }
    }

    /// Sets how many bytes of JSON of earlier answers are kept: at first 16 MiB. Stacks that repeat addresses are answered several times
    /// as fast if the texts of most of them are kept, about 1 KiB each.
    pub fn keep_texts(&mut self, most: usize) {
        self.texts = Texts::new(most);
    }

    /// Answers a stack: replaces the contents of `out` with an answer for each of the stack's frames, in order.
    pub fn symbolize(&mut self, stack: &Stack, out: &mut Vec<Frame>) {
        out.clear();
        out.reserve(stack.frames.len());
        let query = Query { modules: &stack.modules, frames: &stack.frames, innermost: Innermost::Nothing };
        let each = |answer: &Answer, file: Option<&SymbolMap>, names: &mut NamesOfFile| {
            let mut names = match file {
                Some(map) => names.shared.of(map.file(), map.path()),
                None => names.shared.none(),
            };
            let mut frame = Frame::of(answer, &mut names);
            if let Some(module) = answer.module.and_then(|module| stack.modules.get(module)) {
                frame.module_name = module.name.clone();
            }
            out.push(frame);
            Ok::<(), std::convert::Infallible>(())
        };
        let Ok(()) = self.run(query, each);
    }

    /// Appends the JSON object of a stack, as `foldsym stack --json` prints it, without a line end.
    pub fn write_json(&mut self, stack: &Stack, out: &mut Vec<u8>) {
        self.write_stack(stack, None, out);
    }

    /// The same with the key `Signature`. The engine must list candidates.
    pub fn write_signed_json(&mut self, stack: &Stack, signing: &mut Signing, out: &mut Vec<u8>) {
        self.write_stack(stack, Some(signing), out);
    }

    fn write_stack(&mut self, stack: &Stack, mut signing: Option<&mut Signing>, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"Frames\":[");
        let query = Query { modules: &stack.modules, frames: &stack.frames, innermost: Innermost::Nothing };
        let (mut first, is_signed) = (true, signing.is_some());
        let each = |answer: &Answer, names: &mut Names<'_>| {
            if !std::mem::take(&mut first) {
                out.push(b',');
            }
            if let Some(signing) = &mut signing {
                signing.add(answer, names, &stack.modules, []);
                // It is found again when the names are written.
                _ = names.take_damage();
            }
            let module = answer.module.and_then(|module| stack.modules.get(module));
            let start = out.len();
            names.begin(start);
            json::object(out, answer, names, module.map_or("", |module| &module.name));
            if let Some(why) = names.take_damage() {
                out.truncate(start);
                json::object(out, &answer.without(why), names, module.map_or("", |module| &module.name));
            }
            out.push(b'}');
            Ok::<(), std::convert::Infallible>(())
        };
        // The text of an earlier answer has no names for a signature.
        let Ok(()) =
            if is_signed { self.answer(query, Form::Json, each) } else { self.answer_json(query, each) };
        out.push(b']');
        if let Some(signing) = signing {
            out.push(b',');
            json::signature(out, &signing.finish());
        }
        out.push(b'}');
    }

    /// Answers a stack without copying names: calls `each` for each of its frames, in order. Finds and opens files as they are needed.
    ///
    /// A caller that reads names must call [`Names::take_damage`] after each answer.
    ///
    /// # Errors
    /// The errors of `each`.
    pub fn answer<E>(
        &mut self,
        query: Query<'_>,
        form: Form,
        mut each: impl FnMut(&Answer, &mut Names<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.run(query, |answer, file, names| {
            let kept = names.of(form);
            match file {
                Some(map) => each(answer, &mut kept.of(map.file(), map.path())),
                None => each(answer, &mut kept.none()),
            }
        })
    }

    /// As [`Worker::answer`], for a caller that only writes the answer by [`json::object`]. For an address that was answered before, the
    /// answer has its text and its certainty, and no frames. That takes a fraction of the time.
    ///
    /// # Errors
    /// The errors of `each`.
    pub fn answer_json<E>(
        &mut self,
        query: Query<'_>,
        mut each: impl FnMut(&Answer, &mut Names<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        // Called before the texts are taken out: `make_room` drops the texts with their files. A file's number is an address, which
        // another file may have later.
        self.make_room();
        let mut texts = std::mem::take(&mut self.texts);
        let result =
            self.answer_with(query, Some(&mut texts), |answer, file, names, texts| match (file, texts) {
                (Some(map), Some(texts)) => {
                    each(answer, &mut names.json.of(map.file(), map.path()).with_texts(texts, number(map)))
                }
                (Some(map), None) => each(answer, &mut names.json.of(map.file(), map.path())),
                (None, _) => each(answer, &mut names.json.none()),
            });
        self.texts = texts;
        result
    }

    fn run<E>(
        &mut self,
        query: Query<'_>,
        each: impl FnMut(&Answer, Option<&SymbolMap>, &mut NamesOfFile) -> Result<(), E>,
    ) -> Result<(), E> {
        self.make_room();
        self.answer_stack(query, each)
    }

    /// Answers a stack and forgets no file: a batch holds indices of files.
    pub(crate) fn answer_stack<E>(
        &mut self,
        query: Query<'_>,
        mut each: impl FnMut(&Answer, Option<&SymbolMap>, &mut NamesOfFile) -> Result<(), E>,
    ) -> Result<(), E> {
        self.answer_with(query, None, |answer, file, names, _| each(answer, file, names))
    }

    /// The same with earlier answers, which `each` may add to.
    fn answer_with<E>(
        &mut self,
        query: Query<'_>,
        mut texts: Option<&mut Texts>,
        mut each: impl FnMut(&Answer, Option<&SymbolMap>, &mut NamesOfFile, Option<&mut Texts>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.enter(query.modules);
        let mut placed = std::mem::take(&mut self.placed);
        placed.clear();
        if !self.unknown.is_empty() {
            self.unknown.clear();
        }
        for (index, &frame) in query.frames.iter().enumerate() {
            match self.place(query.modules, frame) {
                Ok(found) => placed.push(found),
                Err((module, why)) => {
                    placed.push(Placed::without_file(query.modules, module, frame.place));
                    self.unknown.push((index, why));
                }
            }
        }
        self.resolve(&mut placed, texts.as_deref_mut());
        let mut object = match query.innermost {
            Innermost::Nothing => None,
            _ => self.object(&mut placed, query),
        };
        // `resolve` and `object` add frames whose files are damaged, out of order.
        if self.unknown.len() > 1 {
            self.unknown.sort_by_key(|(index, _)| *index);
        }
        let mut result = Ok(());
        for (index, placed) in placed.iter().enumerate() {
            let answer = &mut self.answer;
            placed.begin(answer);
            match placed.file {
                None => {
                    let why = self.unknown.binary_search_by_key(&index, |(index, _)| *index);
                    answer.unknown = why.ok().map(|at| self.unknown[at].1.clone());
                    result = each(answer, None, &mut self.none, None);
                }
                Some(file) => {
                    let loaded = &mut self.files[file];
                    // The object belongs to this frame, so a text that frames share cannot include it.
                    let earlier = texts.as_deref_mut().zip(answer.image_address);
                    if let Some((texts, image)) = earlier
                        && object.is_none()
                        && let Some(sure) = texts.sure(number(&loaded.map), image)
                    {
                        (answer.certainty, answer.reason) = sure;
                        result = each(answer, Some(&loaded.map), &mut loaded.names, Some(texts));
                        if result.is_err() {
                            break;
                        }
                        continue;
                    }
                    let everywhere = matches!(
                        placed.module.and_then(|module| query.modules.get(module)),
                        Some(Module { mapping: Mapping::Everywhere { .. }, .. })
                    );
                    let resolved = self.resolved.get(index).copied();
                    let resolved = resolved.map(|all| (all, self.firsts.get(index).copied().unwrap_or(0)));
                    fill(&mut self.resolver, loaded, placed.address, resolved, everywhere, answer);
                    answer.object = object.take();
                    result = each(answer, Some(&loaded.map), &mut loaded.names, texts.as_deref_mut());
                }
            }
            if result.is_err() {
                break;
            }
        }
        self.placed = placed;
        result
    }

    /// Forgets all files if there are too many: half of the bytes may stay, for two stacks in turn. Indices of files become invalid.
    pub(crate) fn make_room(&mut self) {
        self.rest(self.symbolizer.files.most_bytes / 2);
        self.added = (0, self.files.len());
    }

    /// Forgets all files if they are too many, or if their names and texts, and those that nobody else has open, have more than `most_bytes`.
    /// Gives back the memory of a large stack. [`Worker::answer`] does so before each; a thread that waits for its next stack calls this.
    pub fn rest(&mut self, most_bytes: u64) {
        shrink(&mut self.placed);
        shrink(&mut self.unknown);
        shrink(&mut self.addresses);
        shrink(&mut self.resolved);
        shrink(&mut self.firsts);
        if self.states.capacity() > KEPT_ROOM {
            (self.states, self.failed, self.modules) = (Vec::new(), Vec::new(), None);
        }
        let names = self.texts.size() + self.none.size();
        let kept = || names as u64 + self.files.iter().map(Loaded::kept_bytes).sum::<u64>();
        let is_bounded = most_bytes < u64::MAX / 2;
        if self.files.len() > MAX_FILES || is_bounded && kept() > most_bytes {
            self.forgotten += self.files.len();
            (self.files, self.added, self.modules) = (Vec::new(), (0, 0), None);
            self.by_map.clear();
            self.texts.clear();
            self.none.clear();
            self.ranker.clear();
        }
    }

    /// The index of a file, which is used from now on, unless the files of this stack have too many bytes.
    fn admit(&mut self, map: Arc<SymbolMap>) -> State {
        let at = Arc::as_ptr(&map) as usize;
        if let Some(known) = self.by_map.get(&at) {
            return Ok(*known);
        }
        let (bytes, most) = (map.bytes().len() as u64, self.symbolizer.files.most_bytes);
        // The file that a stack needs first is used whatever its size, and files of earlier stacks do not count.
        if self.added.0.saturating_add(bytes) > most && self.files.len() > self.added.1 {
            let why = "not opened: the files of the stack have more than";
            return Err(Unknown::Failed(format!("{why} {most} bytes").into()));
        }
        self.added.0 += bytes;
        self.files.push(Loaded::new(map, self.symbolizer.demangle));
        self.by_map.insert(at, self.files.len() - 1);
        Ok(self.files.len() - 1)
    }

    /// Forgets the modules of the last stack, if this one has others.
    pub(crate) fn enter(&mut self, modules: &Modules) {
        let is_due = self.again.is_some_and(|again| Instant::now() >= again);
        if is_due || self.modules != Some(modules.serial()) {
            self.modules = Some(modules.serial());
            self.states.clear();
            self.again = None;
        }
        // Modules may have been added since.
        self.states.resize(modules.len(), None);
        self.failed.drain(..).for_each(|at| _ = self.states.get_mut(at).and_then(Option::take));
    }

    /// The file of a module.
    fn file(&mut self, index: usize, module: &Module) -> State {
        if let Some(Some(known)) = self.states.get(index) {
            return known.clone();
        }
        let (opened, again) = self.symbolizer.open(module);
        let state = opened.and_then(|map| self.admit(map));
        if let Some(known) = self.states.get_mut(index) {
            // A failure is kept for one stack: the engine knows when to search again.
            self.failed.extend(state.is_err().then_some(index));
            *known = Some(state.clone());
        }
        if let Some(again) = again.filter(|_| state.is_ok()) {
            self.again = Some(self.again.map_or(again, |before| before.min(again)));
        }
        state
    }

    /// The module that contains an address, and the address without a tag, which AArch64 allows in the highest byte.
    fn find(&mut self, modules: &Modules, address: u64, back: u64) -> (Option<usize>, u64) {
        let found = modules.find(address.wrapping_sub(back));
        let untagged = untagged(address);
        if untagged == address {
            return (found, address);
        }
        // Only a file knows its machine. The file of the module at the untagged address decides.
        let other = modules.find(untagged.wrapping_sub(back));
        let file = other.and_then(|index| self.file(index, modules.get(index)?).ok());
        match file.is_some_and(|file| self.files[file].map.file().header().machine == AARCH64) {
            true => (other, untagged),
            false => (found, address),
        }
    }

    pub(crate) fn place(
        &mut self,
        modules: &Modules,
        frame: StackFrame,
    ) -> Result<Placed, (Option<usize>, Unknown)> {
        // A call may be the last instruction of its module, so that it returns to an address after the module.
        let back = u64::from(frame.kind == AddressKind::Return);
        let given = frame.place.given();
        let mut place = frame.place;
        let index = match place {
            ReportedAddress::Unknown => return Err((None, Unknown::NoAddress)),
            ReportedAddress::Memory(address) => {
                let (found, address) = self.find(modules, address, back);
                place = ReportedAddress::Memory(address);
                found
            }
            ReportedAddress::Mapped { module, address } => {
                place = ReportedAddress::Memory(address);
                Some(module).filter(|&module| modules.has(module, address.wrapping_sub(back)))
            }
            ReportedAddress::Offset { module, .. }
            | ReportedAddress::Image { module, .. }
            | ReportedAddress::Section { module, .. } => Some(module),
        };
        let Some((index, module)) = index.and_then(|index| Some((index, modules.get(index)?))) else {
            let is_address = matches!(place, ReportedAddress::Memory(_));
            return Err((None, if is_address { modules.why_none() } else { Unknown::NoModule }));
        };
        let file = match self.file(index, module) {
            Ok(file) => file,
            Err(why) => return Err((Some(index), why)),
        };
        let map = &self.files[file].map;
        let header = map.file().header();
        let bias = match module.mapping {
            Mapping::Everywhere { bias } | Mapping::Bias { bias, .. } => Some(bias),
            Mapping::LoadAddress { address, .. } => Some(address.wrapping_sub(header.image_base)),
            Mapping::FilePart { .. } | Mapping::Unknown => None,
        };
        let placed = |given, address| {
            let offset = as_given(address).map(|image| image.wrapping_sub(header.image_base));
            Ok(Placed { module: Some(index), file: Some(file), bias, given, offset, address })
        };
        let image = match place {
            ReportedAddress::Image { address, .. } => address,
            ReportedAddress::Offset { offset, .. } => offset.wrapping_add(header.image_base),
            ReportedAddress::Section { section, offset, .. } => {
                let Some(section) = map.file().records().program_sections().nth(section) else {
                    return placed(given, StackAddr::Foreign);
                };
                // Section addresses are those of the file, without a load bias.
                let address = section.start.0.wrapping_add(offset);
                // A call may be the last instruction of its section.
                if offset >= section.len.saturating_add(back) {
                    return placed(Some(address), StackAddr::Foreign);
                }
                return placed(Some(address), of_kind(address, frame.kind, header.machine));
            }
            ReportedAddress::Memory(address) if module.sections.is_some() => {
                let found = module.section_of(address.wrapping_sub(back));
                let found = found.and_then(|(name, offset)| {
                    let mut sections = map.file().records().program_sections();
                    Some((sections.find(|section| section.name == name.as_bytes())?, offset))
                });
                match found {
                    Some((section, offset)) if offset < section.len => {
                        section.start.0.wrapping_add(offset).wrapping_add(back)
                    }
                    _ => return placed(given, StackAddr::Foreign),
                }
            }
            ReportedAddress::Memory(address) => match bias {
                Some(bias) => address.wrapping_sub(bias),
                None => match in_file_part(address, back, module, map) {
                    Ok(address) => address,
                    Err(why) => return Err((Some(index), Unknown::NoMapping(why.into()))),
                },
            },
            ReportedAddress::Mapped { .. } | ReportedAddress::Unknown => {
                return Err((Some(index), Unknown::NoAddress));
            }
        };
        placed(given, of_kind(image, frame.kind, header.machine))
    }

    /// Determines which functions of folded code each frame may be. The chain of callers breaks between frames of different modules.
    fn resolve(&mut self, placed: &mut [Placed], mut texts: Option<&mut Texts>) {
        self.resolved.clear();
        self.firsts.clear();
        // A frame without a caller may be any function of its group, and the plain lookup returns just that.
        if placed.len() < 2 {
            return;
        }
        self.resolved.resize(placed.len(), Resolved::NONE);
        self.firsts.resize(placed.len(), 0);
        for index in (0..placed.len()).rev() {
            let frame = &placed[index];
            let Some(file) = frame.file else { continue };
            let caller = placed.get(index + 1).filter(|caller| frame.shares_module(caller));
            let caller = caller.map(|caller| (caller.address, &self.resolved[index + 1]));
            let map = &self.files[file].map;
            let key = frame.address.lookup_address().map(|image| (number(map), image.0));
            // The answer at code of one function does not depend on the caller.
            if let (Some(texts), Some((number, image))) = (&texts, key)
                && let Some(resolved) = texts.resolved(number, image)
            {
                self.resolved[index] = resolved;
                continue;
            }
            match resolve::frame(map.file(), frame.address, caller) {
                Ok(resolved) if resolved.group.is_none() => {
                    if let (Some(texts), Some((number, image))) = (&mut texts, key) {
                        texts.resolve(number, image, resolved);
                    }
                    self.resolved[index] = resolved;
                }
                Ok(mut resolved) => {
                    let import = self.import(placed[index], placed.get(index + 1));
                    let told = import.map_or(Ok(()), |import| self.by_import(file, import, &mut resolved));
                    if let Err(error) = told {
                        self.unknown.push((index, damage(map.path(), error)));
                        placed[index].file = None;
                        continue;
                    }
                    let map = &self.files[file].map;
                    let first = self.firsts.get(index + 1).copied().unwrap_or(0);
                    let caller = caller.map(|(address, resolved)| Caller { address, resolved, first });
                    self.firsts[index] =
                        self.ranker.first((file, map.file()), frame.address, &resolved, caller);
                    self.resolved[index] = resolved;
                }
                Err(error) => {
                    self.unknown.push((index, damage(map.path(), error)));
                    placed[index].file = None;
                }
            }
        }
    }

    /// The name that the caller's call was linked to, if the caller is in another module. `None` also if that part of the caller's file is
    /// damaged, since both frames can be answered without it.
    pub(crate) fn import(&self, frame: Placed, caller: Option<&Placed>) -> Option<Import> {
        let caller = caller.filter(|caller| !frame.shares_module(caller))?;
        let (Some(file), StackAddr::Return(returns_to)) = (caller.file, caller.address) else { return None };
        let name = self.files[file].map.file().imported_callee(returns_to).ok().flatten()?;
        Some(Import { file, name })
    }

    /// Narrows the functions of folded code that a frame may be by the name that the call was linked to.
    ///
    /// # Errors
    /// The frame's file is damaged in a place that this reads.
    pub(crate) fn by_import(
        &self,
        file: usize,
        import: Import,
        resolved: &mut Resolved,
    ) -> Result<(), Error> {
        let calling = self.files[import.file].map.file();
        // A damaged name narrows nothing.
        let Some(len) = calling.write_name(import.name, &mut []) else { return Ok(()) };
        // The first call had no room and gave the length.
        let mut name = vec![0; len];
        calling.write_name(import.name, &mut name);
        self.files[file].map.file().resolve_import(resolved, &name)
    }

    /// Narrows the functions that the innermost frame may be by its object. Returns the result about the object.
    fn object(&mut self, placed: &mut [Placed], query: Query<'_>) -> Option<crate::ObjectAnswer> {
        let vtable = match query.innermost {
            Innermost::Nothing => return None,
            Innermost::Vtable(place) => Some(place),
            Innermost::State(_) => None,
        };
        let (file, bias) = (placed.first()?.file?, placed.first()?.bias.unwrap_or(0));
        // `resolve` does nothing for a stack of one frame.
        if self.resolved.is_empty() {
            let map = &self.files[file].map;
            match map.file().resolve_one(placed[0].address, None) {
                Ok(resolved) => self.resolved.push(resolved),
                Err(error) => {
                    self.unknown.push((0, damage(map.path(), error)));
                    placed[0].file = None;
                    return None;
                }
            }
        }
        // The callers up to the first one in another module.
        let same = placed.windows(2).take_while(|pair| pair[0].shares_module(&pair[1])).count() + 1;
        self.addresses.clear();
        self.addresses.extend(placed[..same].iter().map(|placed| placed.address));
        let caller = self.addresses.get(1).copied();
        let vtable = vtable
            .and_then(|place| self.place(query.modules, StackFrame { place, kind: AddressKind::Exact }).ok());
        let Loaded { map, objects, .. } = &mut self.files[file];
        let resolved = self.resolved.get_mut(..same)?;
        let before = resolved.first().copied();
        let found: Result<_, Error> = match query.innermost {
            Innermost::State(machine) => {
                objects.resolve(map.file(), &self.addresses, resolved, (machine, bias))
            }
            // The file knows only vtables of its own module.
            _ => match vtable.filter(|vtable| vtable.file == Some(file)).map(|vtable| vtable.address) {
                Some(StackAddr::Exact(vptr)) => {
                    map.file().resolve_object(resolved.first_mut()?, vptr, caller).map(|_| None)
                }
                _ => Ok(None),
            },
        };
        // If the object changed the candidates, the guess from before does not count.
        if let Some(first) = self.firsts.first_mut().filter(|_| before != resolved.first().copied()) {
            *first = 0;
        }
        match found {
            Ok(object) => object,
            Err(error) => {
                self.unknown.push((0, damage(map.path(), error)));
                placed[0].file = None;
                None
            }
        }
    }
}
