//! The memory of a report and its answers is bounded by the bytes of the report: 40 times as many, and 200 MB. This program's allocator counts.
#![cfg(all(feature = "pprof", feature = "unwind"))]

#[path = "formats/common/mod.rs"]
mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::STACK;
use foldsym_reports::symbolicate::Jobs;
use foldsym_reports::{Options, Reader};
use foldsym_symbolize::{Form, Innermost, MAX_FRAMES, Query, Symbolizer};

/// Bytes of memory for each byte of a report, and for any report.
const A_BYTE: usize = 40;
const FREE: usize = 200 << 20;

struct Counts;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: all memory is the system allocator's. `realloc` is the trait's own, which calls these.
unsafe impl GlobalAlloc for Counts {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let live = LIVE.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(live, Ordering::Relaxed);
        // SAFETY: the caller's promise is the one that the system's allocator needs.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: it came from `alloc`.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counts = Counts;

/// The bytes of memory that some work takes beyond what there is, and its result.
fn peak<T>(work: impl FnOnce() -> T) -> (usize, T) {
    let before = LIVE.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let result = work();
    (PEAK.load(Ordering::Relaxed) - before, result)
}

/// Reads a report, and answers all of its stacks. The number of its threads, of its frames, and of those in its longest stack.
fn answer(bytes: &[u8]) -> (usize, usize, usize) {
    let symbolizer = Symbolizer::builder().build().unwrap();
    let (reader, mut worker) = (Reader::new(&symbolizer), symbolizer.worker());
    let mut opened = match reader.open_while(bytes, &Options::default(), &|| true) {
        Ok(opened) => opened,
        Err(error) => {
            println!("refused: {error}");
            return (0, 0, 0);
        }
    };
    let (mut threads, mut frames, mut longest) = (0, 0, 0);
    while let Some(thread) = opened.next_thread() {
        threads += 1;
        longest = longest.max(thread.frames.len());
        let modules = opened.report().modules_of(&thread);
        let query = Query { modules, frames: &thread.frames, innermost: Innermost::Nothing };
        let Ok(()) = worker.answer(query, Form::Json, |_, _| {
            frames += 1;
            Ok::<(), std::convert::Infallible>(())
        });
    }
    (threads, frames, longest)
}

fn varint(out: &mut Vec<u8>, mut value: usize) {
    while value > 0x7f {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// A field of protobuf that is a message or a list.
fn field(out: &mut Vec<u8>, number: u8, body: &[u8]) {
    out.push(number << 3 | 2);
    varint(out, body.len());
    out.extend_from_slice(body);
}

/// A profile in gzip with one sample of 100,000 frames at one location, which has 10,000 lines of a function with a long name.
fn named_profile() -> Vec<u8> {
    let (mut profile, mut sample, mut location) = (Vec::new(), Vec::new(), vec![8, 1]);
    field(&mut profile, 1, &[8, 0, 16, 0]);
    field(&mut sample, 1, &vec![1; 100_000]);
    field(&mut sample, 2, &[1]);
    field(&mut profile, 2, &sample);
    (0..10_000).for_each(|_| field(&mut location, 4, &[8, 1]));
    field(&mut profile, 4, &location);
    field(&mut profile, 5, &[8, 1, 16, 1]);
    field(&mut profile, 6, &[]);
    field(&mut profile, 6, &vec![b'n'; 10_000_000]);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    gzip.write_all(&profile).unwrap();
    gzip.finish().unwrap()
}

/// A file of gperftools with so many stacks, and so many addresses in each.
fn gperftools(depth: u32, stacks: u32) -> Vec<u8> {
    let mut words: Vec<u32> = vec![0, 3, 0, 1, 0];
    for stack in 0..stacks {
        words.extend([1, depth]);
        words.extend((0..depth).map(|at| 2 * (stack + at)));
    }
    words.extend([0, 1, 0]);
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// A profile in gzip with one sample of so many frames.
fn profile(frames: usize) -> Vec<u8> {
    let (mut profile, mut sample) = (Vec::new(), Vec::new());
    field(&mut profile, 1, &[8, 0, 16, 0]);
    field(&mut sample, 1, &vec![1; frames]);
    field(&mut sample, 2, &[1]);
    field(&mut profile, 2, &sample);
    field(&mut profile, 4, &[8, 1, 24, 16]);
    field(&mut profile, 6, &[]);
    // What cannot be compressed justifies what can.
    let mut seed = 1u32;
    let text = std::iter::repeat_with(|| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        b'0' + (seed >> 24) as u8 % 64
    });
    let text: Vec<u8> = text.take(100_000).collect();
    field(&mut profile, 6, &text);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    gzip.write_all(&profile).unwrap();
    gzip.finish().unwrap()
}

/// The cases run one after another: the counts are the process's.
#[test]
fn memory_is_bounded_by_the_bytes_of_a_report() {
    let heading = "==1==ERROR: AddressSanitizer: ".to_owned() + &"h".repeat(1000);
    let lists = |empty: &str, count: usize| vec![empty; count].join(",");
    // A stack of return addresses, which is walked by frame pointers.
    let words: Vec<u64> = (0..1 << 18).flat_map(|nth| [STACK + 16 * (nth + 2), 0x40_1000]).collect();
    let words = [&[0, 0], &words[..]].concat();
    let cases: Vec<(&str, Vec<u8>)> = vec![
        (
            "stacks of one line",
            format!("{heading}\n#0 0x1 (a+0x1)\n{}", "#0 0x1\n".repeat(700_000)).into_bytes(),
        ),
        ("stacks of one module", format!("{heading}\n{}", "#0 0x1 (a+0x1)\n".repeat(300_000)).into_bytes()),
        (
            "empty stacks of a request",
            format!("{{\"memoryMap\":[],\"stacks\":[{}]}}", lists("[]", 1_000_000)).into_bytes(),
        ),
        (
            "too many empty stacks",
            format!("{{\"memoryMap\":[],\"stacks\":[{}]}}", lists("[]", 5_000_000)).into_bytes(),
        ),
        ("empty jobs", format!("{{\"jobs\":[{}]}}", lists("{}", 5_000_000)).into_bytes()),
        ("lines without frames", "{\"modules\":[],\"frames\":[]}\n".repeat(200_000).into_bytes()),
        ("samples of one frame", "a 1 1.1: x\n 1 a (b)\n\n".repeat(250_000).into_bytes()),
        (
            "samples without frames",
            ["a 1 1.1: x\n 1 a (b)\n\n", &"a 1 1.1: x\n".repeat(500_000)].concat().into_bytes(),
        ),
        (
            "frames of different names",
            (0..2_000_000u32)
                .map(|nth| match nth % 1000 {
                    0 => "a 1 c:\n".to_owned(),
                    _ => format!("\t1 {nth:x} (a)\n"),
                })
                .collect::<String>()
                .into_bytes(),
        ),
        (
            "inlined functions of one frame",
            format!("a 1 1.1: x\n{}\t1 f (/a)\n", "\t1 a (inlined)\n".repeat(1_000_000)).into_bytes(),
        ),
        (
            "a text that is not UTF-8",
            [b"\xff 1 1.1: x\n".as_slice(), "\t1 f (a)\n".repeat(1_000_000).as_bytes()].concat(),
        ),
        (
            "lines of one frame of a sanitizer",
            (0..1_000_000u32)
                .map(|nth| format!("#{} 0x1 {:x} (a+0x1)\n", nth + 1, nth))
                .collect::<String>()
                .into_bytes(),
        ),
        ("stacks of gperftools", gperftools(1, 1_000_000)),
        ("a stack of gperftools", gperftools(1_000_000, 1)),
        ("a sample of eight million frames", profile(8 << 20)),
        ("long names of many inlined functions", named_profile()),
        ("a stack of return addresses", common::core(1, 0x40_1000, &words, (0x100_0000, 0x100_1000), "/a")),
    ];
    for (name, bytes) in &cases {
        let (used, (threads, _, longest)) = peak(|| answer(bytes));
        println!("{name}: {} bytes, {used} bytes of memory, {threads} threads", bytes.len());
        assert!(used <= A_BYTE * bytes.len() + FREE, "{name}: {used} bytes for {}", bytes.len());
        assert!(longest <= 2 * MAX_FRAMES, "{name}: a stack of {longest} frames");
        assert!(longest == MAX_FRAMES || !name.starts_with("a sample of"), "{name}: {longest}");
    }
    // The same requests at their own endpoint.
    for (name, bytes) in cases.iter().filter(|(_, bytes)| bytes.starts_with(b"{")) {
        let symbolizer = Symbolizer::builder().build().unwrap();
        let (used, _) = peak(|| {
            let jobs = Jobs::parse(bytes).ok()?;
            jobs.answer(&mut symbolizer.worker(), &mut Vec::new(), |_| true).ok()
        });
        assert!(used <= A_BYTE * bytes.len() + FREE, "{name}: {used} bytes for {}", bytes.len());
    }
}
