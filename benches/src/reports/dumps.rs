//! Minidumps and ELF cores of x86-64.

/// Where the stack is that threads share, and where code is.
const STACK: u64 = 0x7ffd_0000_1000;
const CODE: u64 = 0x40_1000;

fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn halves(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// A minidump as far as it is made.
struct Dump {
    /// What follows the directory.
    body: Vec<u8>,
    /// Number, size and place of each stream.
    directory: Vec<[u32; 3]>,
    streams: u32,
}

impl Dump {
    const HEADER: u32 = 32;

    /// A dump of so many streams, the first of which says that it is of Linux on x86-64.
    fn new(streams: u32) -> Self {
        let mut dump = Self { body: Vec::new(), directory: Vec::new(), streams };
        let mut system = vec![9, 0, 6, 0, 0, 0, 1, 0];
        system.extend(halves(&[0, 0, 0, 0x8201]));
        system.resize(56, 0);
        dump.stream(7, &system);
        dump
    }

    /// Appends bytes: their place.
    fn add(&mut self, bytes: &[u8]) -> u32 {
        let at = Self::HEADER + 12 * self.streams + self.body.len() as u32;
        self.body.extend_from_slice(bytes);
        self.body.resize(self.body.len().next_multiple_of(4), 0);
        at
    }

    fn stream(&mut self, number: u32, bytes: &[u8]) {
        let at = self.add(bytes);
        self.directory.push([number, bytes.len() as u32, at]);
    }

    /// Threads with one context and one stack.
    fn threads(&mut self, count: u64, stack: &[u8]) {
        let mut context = vec![0; 1232];
        context[0x30..0x34].copy_from_slice(&0x0010_001f_u32.to_le_bytes());
        context[0x98..0xa0].copy_from_slice(&STACK.to_le_bytes());
        context[0xf8..0x100].copy_from_slice(&CODE.to_le_bytes());
        let context = self.add(&context);
        let memory = self.add(stack);
        let mut list = (count as u32).to_le_bytes().to_vec();
        for id in 0..count as u32 {
            list.extend(halves(&[id, 0, 0, 0, 0, 0]));
            list.extend(words(&[STACK]));
            list.extend(halves(&[stack.len() as u32, memory, 1232, context]));
        }
        self.stream(3, &list);
    }

    /// Modules that follow each other and share a name.
    fn modules(&mut self, count: u64, name: &str) {
        let mut text = (2 * name.len() as u32).to_le_bytes().to_vec();
        text.extend(name.bytes().flat_map(|letter| [letter, 0]));
        let text = self.add(&text);
        let mut list = (count as u32).to_le_bytes().to_vec();
        for at in 0..count {
            list.extend(words(&[0x40_0000 + 0x1_0000 * at]));
            list.extend(halves(&[0x1_0000, 0, 0, text]));
            list.resize(list.len() + 84, 0);
        }
        self.stream(4, &list);
    }

    fn finish(self) -> Vec<u8> {
        let mut bytes = halves(&[0x504d_444d, 0xa793, self.streams, Self::HEADER, 0, 0, 0, 0]);
        self.directory.iter().for_each(|entry| bytes.extend(halves(entry)));
        bytes.extend(self.body);
        bytes
    }
}

/// A stack of which each word is an address of code.
fn callers(frames: u64) -> Vec<u8> {
    words(&(0..frames).map(|at| CODE + 16 * (at % 64)).collect::<Vec<u64>>())
}

pub(super) fn minidump_threads(count: u64) -> Vec<u8> {
    let mut dump = Dump::new(3);
    dump.threads(count, &callers(100));
    dump.modules(1, "/opt/app");
    dump.finish()
}

pub(super) fn minidump_modules(count: u64) -> Vec<u8> {
    let mut dump = Dump::new(3);
    dump.threads(1, &callers(16));
    dump.modules(count, &"n".repeat(20));
    dump.finish()
}

pub(super) fn minidump_memory(count: u64) -> Vec<u8> {
    let mut dump = Dump::new(4);
    dump.threads(1, &callers(16));
    dump.modules(1, "/opt/app");
    let bytes = dump.add(&callers(64));
    let mut list = (count as u32).to_le_bytes().to_vec();
    for at in 0..count {
        list.extend(words(&[STACK + 0x1000 * (at + 1)]));
        list.extend(halves(&[512, bytes]));
    }
    dump.stream(5, &list);
    dump.finish()
}

fn note(kind: u32, desc: &[u8]) -> Vec<u8> {
    let mut bytes = halves(&[5, desc.len() as u32, kind]);
    bytes.extend(b"CORE\0\0\0\0");
    bytes.extend(desc);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// `NT_PRSTATUS` of a thread: `rbp`, `rip` and `rsp`.
fn status() -> Vec<u8> {
    let mut status = vec![0; 336];
    (status[12], status[32]) = (11, 7);
    for (register, value) in [(4, STACK), (16, CODE), (19, STACK)] {
        status[112 + 8 * register..][..8].copy_from_slice(&u64::to_le_bytes(value));
    }
    note(1, &status)
}

/// `NT_FILE`: each file is mapped at its place, with 16 pages.
fn files(places: impl Iterator<Item = u64> + Clone) -> Vec<u8> {
    let mut desc = words(&[places.clone().count() as u64, 0x1000]);
    places.clone().for_each(|start| desc.extend(words(&[start, start + 0x1_0000, 0])));
    places.enumerate().for_each(|(at, _)| desc.extend(format!("/opt/app{at}\0").bytes()));
    note(0x4649_4c45, &desc)
}

/// Access rights of a range of memory, its address, what the core has of it, and its size.
type Range<'r> = (u32, u64, &'r [u8], u64);

/// The stack.
fn stack(bytes: &[u8]) -> Range<'_> {
    (6, STACK, bytes, bytes.len() as u64)
}

/// Code at the place of the first of [`files`], of which the core has nothing.
const PROGRAM: Range<'static> = (5, 0x40_0000, &[], 1 << 40);

/// A core of notes and ranges of memory. Ranges of the same bytes that follow each other have them once.
fn core(notes: &[u8], memory: &[Range<'_>]) -> Vec<u8> {
    let headers = 1 + memory.len();
    let mut bytes = b"\x7fELF\x02\x01\x01".to_vec();
    bytes.resize(16, 0);
    bytes.extend([4, 0, 62, 0, 1, 0, 0, 0]);
    bytes.extend(words(&[0, 64, 0]));
    bytes.extend([0, 0, 0, 0, 64, 0, 56, 0]);
    bytes.extend((headers as u16).to_le_bytes());
    bytes.extend([0; 6]);
    let mut at = 64 + 56 * headers as u64;
    bytes.extend(halves(&[4, 0]));
    bytes.extend(words(&[at, 0, 0, notes.len() as u64, 0, 4]));
    at += notes.len() as u64;
    let mut held: Vec<u8> = Vec::new();
    let mut last: Option<(&[u8], u64)> = None;
    for &(rights, address, range, size) in memory {
        let place = match last {
            Some((before, place)) if std::ptr::eq(before, range) => place,
            _ => {
                held.extend_from_slice(range);
                at + (held.len() - range.len()) as u64
            }
        };
        last = Some((range, place));
        bytes.extend(halves(&[1, rights]));
        bytes.extend(words(&[place, address, 0, range.len() as u64, size, 1]));
    }
    bytes.extend(notes);
    bytes.extend(held);
    bytes
}

/// A chain of so many frame pointers.
fn chain(frames: u64) -> Vec<u8> {
    let mut stack: Vec<u64> = (0..frames).flat_map(|at| [STACK + 16 * (at + 1), CODE]).collect();
    stack.extend([0; 8]);
    words(&stack)
}

pub(super) fn core_threads(count: u64) -> Vec<u8> {
    let notes = [status().repeat(count as usize), files([0x40_0000].into_iter())].concat();
    core(&notes, &[PROGRAM, stack(&chain(100))])
}

pub(super) fn core_depth(count: u64) -> Vec<u8> {
    core(&[status(), files([0x40_0000].into_iter())].concat(), &[PROGRAM, stack(&chain(count))])
}

pub(super) fn core_notes(count: u64) -> Vec<u8> {
    let notes = [status(), files([0x40_0000].into_iter()), note(0x1234, &[0; 8]).repeat(count as usize)];
    core(&notes.concat(), &[PROGRAM, stack(&chain(4))])
}

pub(super) fn core_files(count: u64) -> Vec<u8> {
    let notes = [status(), files((0..count).map(|at| 0x40_0000 + 0x1000 * at))];
    core(&notes.concat(), &[PROGRAM, stack(&chain(64))])
}

pub(super) fn core_segments(count: u64) -> Vec<u8> {
    // Without a list of files, each range whose bytes begin as those of a program is a module.
    let mut head = b"\x7fELF\x02\x01\x01".to_vec();
    head.resize(16, 0);
    head.extend([3, 0, 62, 0, 1, 0, 0, 0]);
    head.extend(words(&[0, 64, 0]));
    head.extend([0, 0, 0, 0, 64, 0, 56, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
    // All of it is loaded and executable.
    head.extend(halves(&[1, 5]));
    head.extend(words(&[0, 0, 0, 0x1000, 0x1000, 0x1000]));
    let chain = chain(16);
    // A core has 16 bits for the number of its ranges.
    let program = |at: u64| (5, 0x40_0000 + 0x1_0000 * at, &head[..], 0x1_0000);
    let programs = (0..count.min(65_000)).map(program);
    let memory: Vec<Range<'_>> = programs.chain(std::iter::once(stack(&chain))).collect();
    core(&status(), &memory)
}
