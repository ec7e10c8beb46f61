//! Answers many stacks and gives each distinct answer once: a million stacks of a fleet have the same addresses again and again.
//!
//! 1. Each frame is placed in its file, as for a single stack.
//! 2. The addresses of each file are sorted and equal ones merged. The reader looks them up in that order, so that neighbours
//!    share the memory that it reads.
//! 3. Frames at folded code are resolved from the outermost frame inward. The result depends only on the frame's address, the
//!    caller's address and the result for the caller, so each such combination is resolved once.
//!
//! Each frame refers to its answer by number. A stack for which this does not work (with an object for its innermost frame, or
//! with damage) is answered by itself, as [`Worker::answer`] does.

use foldsym_lookup::{BatchSlot, ImageAddr, Lookup, Resolved, StackAddr};
use rustc_hash::FxHashMap;

use crate::answer::Answer;
use crate::names::Names;
use crate::query::{Import, Innermost, Placed, Query};
use crate::rank::Caller;
use crate::resolve::{self, Resolver};
use crate::stack::Mapping;
use crate::unknown::Unknown;
use crate::worker::{MAX_FILES, Worker};

/// One frame of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BatchFrame {
    /// The number of its answer.
    pub answer: u32,
    /// The module that has the address, as an index of its stack's modules.
    pub module: Option<u32>,
    /// As [`Answer::module_offset`], which answers that frames share do not have.
    pub offset: Option<u64>,
}

/// The frames of many stacks, and buffers that are reused.
#[derive(Default)]
pub struct Batch {
    frames: Vec<BatchFrame>,
    /// For each stack the end of its frames.
    ends: Vec<usize>,
    answers: u32,
    placed: Vec<Placed>,
    unknown: Vec<(usize, Unknown)>,
    /// File, address, and index in `placed`.
    sorted: Vec<(usize, u64, usize)>,
    bases: Vec<Base>,
    resolutions: Vec<(Resolved, u32, u32)>,
    known: FxHashMap<AddressAndCaller, u32>,
    absent: FxHashMap<Unknown, u32>,
}

/// A frame's file and address; its caller's address with the caller's index in `resolutions`; and, if the caller is in another module, the
/// import of its call.
type AddressAndCaller = (usize, StackAddr, Option<(StackAddr, u32)>, Option<Import>);

/// What the file of a frame has at its address.
#[derive(Clone, Copy, PartialEq)]
enum Base {
    /// Not looked up.
    None,
    /// The number of the answer, which does not depend on the caller. The flag is true if the file has the address.
    Alone(u32, bool),
    /// Folded code: the answer depends on the callers.
    Grouped,
    /// The file is damaged here, so the whole stack is answered by itself.
    Damaged,
}

/// In place of an index into `resolutions`: of the caller only the address counts.
const NO_RESOLUTION: u32 = u32::MAX;

impl Batch {
    /// An empty batch.
    pub fn new() -> Self {
        Self::default()
    }

    /// The frames of a stack, by its index among the queries.
    pub fn stack(&self, index: usize) -> &[BatchFrame] {
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.frames[start..self.ends[index]]
    }

    /// The number of distinct answers.
    pub fn answers(&self) -> u32 {
        self.answers
    }
}

/// Where a distinct answer goes: its number, the number of its file, the answer, and its names.
type Each<'e> = &'e mut dyn FnMut(u32, Option<usize>, &Answer, &mut Names<'_>);

impl Worker<'_> {
    /// Answers many stacks. Calls `each` once for each distinct answer, with its number (they count from 0), the number of its file
    /// (no other file of the batch has it), the answer, and the names of the file; then `batch` says which frame has
    /// which answer. An answer's [`Answer::address`] and [`Answer::module`] are those of some frame that has it: the others differ in these alone.
    ///
    /// The answers equal those of [`Worker::answer`]. It is fastest if stacks of one process follow each other.
    pub fn answer_batch(
        &mut self,
        queries: &[Query<'_>],
        batch: &mut Batch,
        mut each: impl FnMut(u32, Option<usize>, &Answer, &mut Names<'_>),
    ) {
        batch.frames.clear();
        batch.ends.clear();
        batch.answers = 0;
        batch.absent.clear();
        let mut rest = queries;
        while !rest.is_empty() {
            let taken = self.place_part(rest, batch);
            let (part, behind) = rest.split_at(taken);
            self.look_up(part, batch, &mut each);
            self.resolve_part(part, batch, &mut each);
            rest = behind;
        }
    }

    /// Places the frames of the first stacks, until their files exceed [`MAX_FILES`]. Returns the number of these stacks.
    fn place_part(&mut self, queries: &[Query<'_>], batch: &mut Batch) -> usize {
        // Files are forgotten only between parts, since the lists of a part hold indices of files.
        batch.placed.clear();
        batch.unknown.clear();
        batch.sorted.clear();
        self.make_room();
        for (taken, query) in queries.iter().enumerate() {
            // A part has at least one stack, even if that stack alone has more files. Otherwise the loop over parts would not end.
            if taken > 0 && self.files.len() > MAX_FILES {
                return taken;
            }
            self.enter(query.modules);
            for &frame in query.frames {
                let index = batch.placed.len();
                let placed = match self.place(query.modules, frame) {
                    Ok(placed) => placed,
                    Err((module, why)) => {
                        batch.unknown.push((index, why));
                        Placed::without_file(query.modules, module, frame.place)
                    }
                };
                if let (Some(file), Some(address)) = (placed.file, placed.address.lookup_address()) {
                    // File and address come first, since the list is sorted by its whole elements.
                    batch.sorted.push((file, address.0, index));
                }
                batch.placed.push(placed);
            }
        }
        queries.len()
    }

    /// Looks up what the files have at each address, in ascending order.
    fn look_up(&mut self, queries: &[Query<'_>], batch: &mut Batch, each: Each<'_>) {
        let Batch { placed, sorted, bases, answers, .. } = batch;
        sorted.sort_unstable();
        bases.clear();
        bases.resize(placed.len(), Base::None);
        let mut addresses: Vec<ImageAddr> = Vec::new();
        for of_file in sorted.chunk_by(|a, b| a.0 == b.0) {
            // After the next `make_room` another file may get this index. No other file ever gets this number.
            let number_of_file = self.forgotten + of_file[0].0;
            let loaded = &mut self.files[of_file[0].0];
            addresses.clear();
            addresses.extend(of_file.chunk_by(|a, b| a.1 == b.1).map(|equal| ImageAddr(equal[0].1)));
            let mut equal = of_file.chunk_by(|a, b| a.1 == b.1);
            let (map, kept) = (&loaded.map, &mut loaded.names.plain);
            let mut names = kept.of(map.file(), map.path());
            let mut answer = Answer::default();
            // The addresses are sorted, so one slot is enough: the reader continues from the address before.
            map.file().lookup_batch(&addresses, &mut [BatchSlot::EMPTY], |_, found, frames| {
                let equal = equal.next().unwrap_or_default();
                let Some(&(_, address, first)) = equal.first() else { return };
                answer.clear();
                (answer.address, answer.module) = (placed[first].given, placed[first].module);
                answer.image_address = Some(address);
                let mut base = Base::Damaged;
                match found {
                    Ok(Lookup::Found(found)) if found.group.is_some() => base = Base::Grouped,
                    Ok(Lookup::Found(found)) => {
                        if Resolver::fill_alone(map.file(), &found, frames, &mut answer).is_ok() {
                            base = Base::Alone(*answers, true);
                        }
                    }
                    Ok(_) => base = Base::Alone(*answers, false),
                    Err(_) => {}
                }
                if let Base::Alone(number, _) = base {
                    if answer.symbol.frames.is_empty() {
                        answer.unknown = Some(Unknown::NoFunction);
                    }
                    names.begin(0);
                    each(number, Some(number_of_file), &answer, &mut names);
                    if names.take_damage().is_some() {
                        // Answering the stack by itself will say what is damaged. This answer belongs to no frame.
                        base = Base::Damaged;
                    }
                    // The count also rises after damage, since `each` has seen this number.
                    *answers += 1;
                }
                for &(.., index) in equal {
                    bases[index] = base;
                }
            });
        }
        let _ = queries;
    }

    /// Gives each frame its answer.
    fn resolve_part(&mut self, queries: &[Query<'_>], batch: &mut Batch, each: Each<'_>) {
        batch.known.clear();
        batch.resolutions.clear();
        let mut unknown = std::mem::take(&mut batch.unknown).into_iter().peekable();
        let mut start = 0;
        for query in queries {
            let end = start + query.frames.len();
            let first = batch.frames.len();
            let bases = &batch.bases[start..end];
            let whole = !bases.contains(&Base::Damaged) && matches!(query.innermost, Innermost::Nothing);
            // The frames are added in advance, since answers for folded code are made from the outermost frame inwards.
            batch
                .frames
                .resize(first + query.frames.len(), BatchFrame { answer: 0, module: None, offset: None });
            let mut is_done = whole;
            if whole {
                let folded = bases.contains(&Base::Grouped);
                is_done = !folded || self.resolve_stack(batch, start..end, first, each);
            }
            if is_done {
                for index in start..end {
                    let placed = batch.placed[index];
                    let why = unknown.next_if(|(at, _)| *at == index).map(|(_, why)| why);
                    let mut module = placed.module;
                    let answer = match batch.bases[index] {
                        Base::Alone(answer, found) => {
                            let everywhere = module.and_then(|module| query.modules.get(module));
                            // The worker's `fill` does the same for a single stack.
                            if !found
                                && let Some(Mapping::Everywhere { .. }) =
                                    everywhere.map(|module| module.mapping)
                                && let Some((file, address)) =
                                    placed.file.zip(placed.address.lookup_address())
                                && self.files[file].is_outside(address.0)
                            {
                                module = None;
                            }
                            answer
                        }
                        Base::Grouped => batch.frames[first + index - start].answer,
                        Base::None | Base::Damaged => {
                            self.without_file(batch, placed, why.unwrap_or(Unknown::NoFunction), each)
                        }
                    };
                    batch.frames[first + index - start] =
                        BatchFrame { answer, module: module.map(|at| at as u32), offset: placed.offset };
                }
            } else {
                // `by_itself` finds the reasons of this stack again. Skipped here, since the next stack expects its own reasons first.
                while unknown.next_if(|(at, _)| *at < end).is_some() {}
                // `by_itself` appends the frames.
                batch.frames.truncate(first);
                self.by_itself(*query, batch, each);
            }
            batch.ends.push(batch.frames.len());
            start = end;
        }
    }

    /// Answers the frames of a stack that are at folded code. Returns false if a file is damaged.
    fn resolve_stack(
        &mut self,
        batch: &mut Batch,
        range: std::ops::Range<usize>,
        first: usize,
        each: Each<'_>,
    ) -> bool {
        let mut behind = NO_RESOLUTION;
        for index in range.clone().rev() {
            let placed = batch.placed[index];
            if batch.bases[index] != Base::Grouped {
                behind = NO_RESOLUTION;
                continue;
            }
            // There is always a file here: only a lookup in a file gives `Grouped`.
            let Some(file) = placed.file else { return false };
            let caller = batch.placed.get(index + 1).filter(|_| index + 1 < range.end);
            let import = self.import(placed, caller);
            let caller =
                caller.filter(|caller| placed.shares_module(caller)).map(|caller| (caller.address, behind));
            let call = (file, placed.address, caller, import);
            behind = match batch.known.get(&call) {
                Some(&known) => known,
                None => {
                    let Some(made) = self.resolve_call(batch, call, placed, range.len() > 1, each) else {
                        return false;
                    };
                    batch.known.insert(call, made);
                    made
                }
            };
            batch.frames[first + index - range.start].answer = batch.resolutions[behind as usize].2;
        }
        true
    }

    /// Resolves a frame at folded code by its caller, and gives the answer to `each`. Returns its index in `resolutions`, or `None` if the
    /// file is damaged.
    fn resolve_call(
        &mut self,
        batch: &mut Batch,
        (file, address, caller, import): AddressAndCaller,
        placed: Placed,
        has_callers: bool,
        each: Each<'_>,
    ) -> Option<u32> {
        let map = &self.files[file].map;
        // A stack of one frame is not resolved, as in the worker: the plain lookup gives all members.
        let (mut resolved, mut front) = (Resolved::NONE, 0);
        if has_callers {
            let known = |id: u32| match batch.resolutions.get(id as usize) {
                Some((resolved, first, _)) => (*resolved, *first),
                None => (Resolved::NONE, 0),
            };
            let caller = caller.map(|(address, id)| (address, known(id)));
            let given = caller.as_ref().map(|(address, (resolved, _))| (*address, resolved));
            resolved = resolve::frame(map.file(), address, given).ok()?;
            import.map_or(Ok(()), |import| self.by_import(file, import, &mut resolved)).ok()?;
            let caller = caller.as_ref();
            let caller = caller.map(|(address, (resolved, first))| Caller {
                address: *address,
                resolved,
                first: *first,
            });
            front = self.ranker.first((file, map.file()), address, &resolved, caller);
        }
        let mut answer = Answer { address: placed.given, module: placed.module, ..Answer::default() };
        let image = address.lookup_address()?;
        answer.image_address = Some(image.0);
        let given = has_callers.then_some((resolved, front));
        let loaded = &mut self.files[file];
        let map = &loaded.map;
        self.resolver.fill_frame(map.file(), address, given, &mut answer).ok()?;
        if answer.symbol.frames.is_empty() {
            answer.unknown = Some(Unknown::NoFunction);
        }
        let number = batch.answers;
        batch.answers += 1;
        let mut names = loaded.names.plain.of(map.file(), map.path());
        names.begin(0);
        each(number, Some(self.forgotten + file), &answer, &mut names);
        if names.take_damage().is_some() {
            return None;
        }
        batch.resolutions.push((resolved, front, number));
        Some(batch.resolutions.len() as u32 - 1)
    }

    /// The number of the answer for a frame that has no file, or no address in it.
    fn without_file(&mut self, batch: &mut Batch, placed: Placed, why: Unknown, each: Each<'_>) -> u32 {
        let answers = &mut batch.answers;
        // The reason alone is the key: otherwise, answers without a file differ only in address and module.
        *batch.absent.entry(why).or_insert_with_key(|why| {
            let mut answer = Answer { address: placed.given, module: placed.module, ..Answer::default() };
            answer.unknown = Some(why.clone());
            each(*answers, None, &answer, &mut self.none.plain.none());
            *answers += 1;
            *answers - 1
        })
    }

    /// Answers one stack by itself, with an answer of its own for each frame.
    fn by_itself(&mut self, query: Query<'_>, batch: &mut Batch, each: Each<'_>) {
        let number = batch.answers;
        let mut made = Vec::new();
        let Ok(()) = self.answer_stack(query, |answer, map, names| {
            let at = number + made.len() as u32;
            let mut names = match map {
                Some(map) => names.plain.of(map.file(), map.path()),
                None => names.plain.none(),
            };
            names.begin(0);
            // A first pass reads all names. If one is damaged, the answer is replaced by one without frames.
            let read = |names: &mut Names<'_>| {
                let members = answer.candidates.iter().map(|member| &member.symbol);
                for symbol in std::iter::once(&answer.symbol).chain(members) {
                    for frame in &symbol.frames {
                        names.linkage(frame.name);
                        names.path(frame.file);
                        names.path(frame.start_file);
                    }
                    for alias in &symbol.aliases {
                        names.linkage(Some(*alias));
                    }
                }
                names.linkage(answer.object.as_ref().and_then(|object| object.function));
                names.take_damage()
            };
            match read(&mut names) {
                // No other answer has this file number, so the caller reads the names of the ids again.
                None => each(at, Some(usize::MAX - at as usize), answer, &mut names),
                Some(why) => each(at, None, &answer.without(why), &mut names),
            }
            let (module, offset) = (answer.module.map(|at| at as u32), answer.module_offset);
            made.push(BatchFrame { answer: at, module, offset });
            Ok::<(), std::convert::Infallible>(())
        });
        batch.answers += made.len() as u32;
        batch.frames.extend(made);
    }
}
