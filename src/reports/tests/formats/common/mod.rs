//! Cores and minidumps that are made without a process.
#![allow(dead_code, reason = "no test file uses all of it")]

/// The start of the stack in a core that is made here.
pub(crate) const STACK: u64 = 0x7ffd_0000_1000;

fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn halves(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn note(kind: u32, desc: &[u8]) -> Vec<u8> {
    let mut bytes = halves(&[5, desc.len() as u32, kind]);
    bytes.extend(b"CORE\0\0\0\0");
    bytes.extend(desc);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// `NT_PRSTATUS` of a thread of x86-64 that received SIGSEGV: `rbp`, `rip` and `rsp`.
fn status(frame_pointer: u64, counter: u64, stack_pointer: u64) -> Vec<u8> {
    let mut status = vec![0; 336];
    (status[12], status[32]) = (11, 7);
    for (register, value) in [(4, frame_pointer), (16, counter), (19, stack_pointer)] {
        status[112 + 8 * register..][..8].copy_from_slice(&u64::to_le_bytes(value));
    }
    note(1, &status)
}

/// A core: `notes` once for each of its headers, then ranges of memory with their access rights, addresses, bytes and sizes.
pub(crate) fn core_of(note_headers: usize, notes: &[u8], memory: &[(u32, u64, &[u8], u64)]) -> Vec<u8> {
    let headers = note_headers + memory.len();
    let mut bytes = b"\x7fELF\x02\x01\x01".to_vec();
    bytes.resize(16, 0);
    bytes.extend([4, 0, 62, 0, 1, 0, 0, 0]);
    bytes.extend(words(&[0, 64, 0]));
    bytes.extend([0, 0, 0, 0, 64, 0, 56, 0]);
    bytes.extend((headers as u16).to_le_bytes());
    bytes.extend([0; 6]);
    let mut at = 64 + 56 * headers as u64;
    for _ in 0..note_headers {
        bytes.extend(halves(&[4, 0]));
        bytes.extend(words(&[at, 0, 0, notes.len() as u64, 0, 4]));
    }
    at += notes.len() as u64;
    for (rights, address, held, size) in memory {
        bytes.extend(halves(&[1, *rights]));
        bytes.extend(words(&[at, *address, 0, held.len() as u64, *size, 1]));
        at += held.len() as u64;
    }
    bytes.extend(notes);
    memory.iter().for_each(|(_, _, held, _)| bytes.extend(*held));
    bytes
}

/// A core whose threads all have these words on one stack, followed by zeros and not executable.
pub(crate) fn core(
    threads: usize,
    counter: u64,
    stack: &[u64],
    (start, end): (u64, u64),
    path: &str,
) -> Vec<u8> {
    let mut stack = words(stack);
    stack.extend([0; 64]);
    let mut files = words(&[1, 0x1000, start, end, 0]);
    files.extend(path.as_bytes());
    files.push(0);
    let notes = [status(STACK + 16, counter, STACK).repeat(threads), note(0x4649_4c45, &files)].concat();
    let memory: [(u32, u64, &[u8], u64); 2] =
        [(6, STACK, &stack, stack.len() as u64), (5, start, &[], end - start)];
    core_of(1, &notes, &memory)
}

/// A core with many headers that all refer to one list of empty notes.
pub(crate) fn core_of_notes(headers: usize, notes: usize) -> Vec<u8> {
    core_of(headers, &[status(0, 0x1000, STACK), halves(&[0, 0, 0]).repeat(notes)].concat(), &[])
}

/// A minidump of one thread, whose modules and thread names all have one name of this many letters.
pub(crate) fn dump_of_names(letters: usize, modules: usize, threads: usize) -> Vec<u8> {
    const DIRECTORY: usize = 32;
    let mut body = Vec::new();
    let mut directory = Vec::new();
    let first = DIRECTORY + 12 * 4;
    let add = |body: &mut Vec<u8>, kind: Option<u32>, bytes: &[u8], directory: &mut Vec<u8>| {
        let at = (first + body.len()) as u32;
        if let Some(kind) = kind {
            directory.extend(halves(&[kind, bytes.len() as u32, at]));
        }
        body.extend(bytes);
        body.resize(body.len().next_multiple_of(4), 0);
        at
    };
    // The processor is x86-64, the system Linux.
    let mut system = vec![9, 0, 6, 0, 0, 0, 1, 0];
    system.extend(halves(&[0, 0, 0, 0x8201]));
    system.resize(56, 0);
    add(&mut body, Some(7), &system, &mut directory);
    let mut context = vec![0; 1232];
    context[0x30..0x34].copy_from_slice(&0x0010_001fu32.to_le_bytes());
    let context = add(&mut body, None, &context, &mut directory);
    let mut thread = halves(&[1, 7, 0, 0, 0]);
    thread.extend(words(&[0, 0]));
    thread.extend(halves(&[0, 0, 1232, context]));
    add(&mut body, Some(3), &thread, &mut directory);
    let mut name = (2 * letters as u32).to_le_bytes().to_vec();
    name.extend(b"a\0".repeat(letters));
    let name = add(&mut body, None, &name, &mut directory);
    let mut list = (modules as u32).to_le_bytes().to_vec();
    for index in 0..modules as u64 {
        list.extend(words(&[0x1000 + 0x10000 * index]));
        list.extend(halves(&[0x1000, 0, 0, name]));
        list.resize(list.len() + 84, 0);
    }
    add(&mut body, Some(4), &list, &mut directory);
    let mut list = (threads as u32).to_le_bytes().to_vec();
    for index in 0..threads as u32 {
        list.extend(halves(&[index, name, 0]));
    }
    add(&mut body, Some(24), &list, &mut directory);
    let mut bytes = halves(&[0x504d_444d, 0xa793, 4, DIRECTORY as u32, 0, 0, 0, 0]);
    bytes.extend(directory);
    bytes.extend(body);
    bytes
}

/// A minidump of threads that share one context and one stack of these words, with one module of a name that is loaded at an address.
pub(crate) fn dump_of_threads(threads: u32, stack: &[u64], name: &str, base: u64) -> Vec<u8> {
    dump_with_streams(threads, stack, (name, base), &[])
}

/// The same with other memory of 32 bytes, and the mappings of the process as Linux has them in a text.
pub(crate) fn dump_with_memory(stack: &[u64], memory: u64, maps: &str) -> Vec<u8> {
    // Any bytes of the file will do, but the first ones: an offset of 0 means that there are none.
    let list = [halves(&[1]), words(&[memory]), halves(&[32, 32])].concat();
    dump_with_streams(1, stack, ("crash", 0x10000), &[(5, list), (0x4767_0009, maps.as_bytes().to_vec())])
}

fn dump_with_streams(
    threads: u32,
    stack: &[u64],
    (name, base): (&str, u64),
    streams: &[(u32, Vec<u8>)],
) -> Vec<u8> {
    let count = 3 + streams.len() as u32;
    let mut bytes = halves(&[0x504d_444d, 0xa793, count, 32, 0, 0, 0, 0]);
    let mut body = Vec::new();
    let first = bytes.len() + 12 * count as usize;
    let mut add = |part: &[u8]| {
        let at = (first + body.len()) as u32;
        body.extend(part);
        body.resize(body.len().next_multiple_of(4), 0);
        at
    };
    // The processor is x86-64, the system Linux.
    let mut system = vec![9, 0, 6, 0, 0, 0, 1, 0];
    system.extend(halves(&[0, 0, 0, 0x8201]));
    system.resize(56, 0);
    let system = (7, 56, add(&system));
    let mut context = vec![0; 1232];
    context[0x30..0x34].copy_from_slice(&0x0010_001fu32.to_le_bytes());
    context[0x98..0xa0].copy_from_slice(&STACK.to_le_bytes());
    context[0xf8..0x100].copy_from_slice(&(base + 1).to_le_bytes());
    let context = add(&context);
    let memory = add(&words(stack));
    let mut list = threads.to_le_bytes().to_vec();
    for id in 0..threads {
        list.extend(halves(&[id, 0, 0, 0, 0, 0]));
        list.extend(words(&[STACK]));
        list.extend(halves(&[8 * stack.len() as u32, memory, 1232, context]));
    }
    let list = (3, list.len() as u32, add(&list));
    let mut text = (2 * name.len() as u32).to_le_bytes().to_vec();
    text.extend(name.bytes().flat_map(|letter| [letter, 0]));
    let text = add(&text);
    let mut module = 1u32.to_le_bytes().to_vec();
    module.extend(words(&[base]));
    module.extend(halves(&[0x10000, 0, 0, text]));
    module.resize(4 + 108, 0);
    let modules = (4, module.len() as u32, add(&module));
    let streams: Vec<_> = streams.iter().map(|(kind, part)| (*kind, part.len() as u32, add(part))).collect();
    for (kind, size, at) in [system, list, modules].into_iter().chain(streams) {
        bytes.extend(halves(&[kind, size, at]));
    }
    bytes.extend(body);
    bytes
}
