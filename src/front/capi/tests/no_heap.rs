//! Tier 1 allocates nothing: while it runs, this program's allocator aborts.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::mem::zeroed;

use foldsym_capi::boundary::tier1::{
    foldsym_file_info, foldsym_frame_at, foldsym_lookup, foldsym_open, foldsym_resolve_stack,
    foldsym_write_name, foldsym_write_path,
};
use foldsym_capi::types::{
    Answer, FOLDSYM_EXACT, FOLDSYM_IS_EXACT, FOLDSYM_OK, FOLDSYM_RETURN, File, Frame, Frames, Info, Query,
    Resolved, Stack, StackEntry,
};
use foldsym_testkit::writer;

thread_local! {
    /// Only of this thread: the test harness has others, which allocate.
    static FORBIDDEN: Cell<bool> = const { Cell::new(false) };
}

struct Aborts;

// SAFETY: all memory is the system allocator's.
unsafe impl GlobalAlloc for Aborts {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if FORBIDDEN.get() {
            std::process::abort();
        }
        // SAFETY: the caller's promise is the one that the system's allocator needs.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        if FORBIDDEN.get() {
            std::process::abort();
        }
        // SAFETY: it came from `alloc`.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Aborts = Aborts;

/// Resolves one stack, and reads every frame of it; returns how many.
fn walk(bytes: &[u8], entries: &[StackEntry], load_bias: u64, vptr: u64, resolved: &mut [Resolved]) -> usize {
    let mut text = [0; 512];
    let mut read = 0;
    // SAFETY: zeros are valid for structs of numbers and pointers; all pointers are to live values.
    unsafe {
        let (mut file, mut frames): (File, Frames) = (zeroed(), zeroed());
        let mut info = Info { size: size_of::<Info>(), ..zeroed() };
        let opened = foldsym_open(&raw mut file, bytes.as_ptr().cast(), bytes.len(), std::ptr::null_mut());
        assert_eq!(opened, FOLDSYM_OK);
        assert_eq!(foldsym_file_info(&raw const file, &raw mut info), FOLDSYM_OK);
        let stack = Stack {
            size: size_of::<Stack>(),
            entries: entries.as_ptr(),
            resolved: resolved.as_mut_ptr(),
            count: entries.len(),
            resolved_size: size_of::<Resolved>(),
            load_bias,
            vptr,
            reserved: [0; 3],
        };
        assert_eq!(foldsym_resolve_stack(&raw const file, &raw const stack), FOLDSYM_OK);
        for (entry, resolved) in entries.iter().zip(&*resolved) {
            let StackEntry { address, kind, .. } = *entry;
            let size = size_of::<Query>();
            let query = Query { size, resolved, address, load_bias, kind, candidate: 0, reserved: [0; 4] };
            let mut answer = Answer { size: size_of::<Answer>(), ..zeroed() };
            if foldsym_lookup(&raw const file, &raw const query, &raw mut frames, &raw mut answer)
                != FOLDSYM_OK
            {
                continue;
            }
            for index in 0..answer.frame_count {
                let mut frame = Frame { size: size_of::<Frame>(), ..zeroed() };
                let got = foldsym_frame_at(&raw const file, &raw const frames, index, &raw mut frame);
                assert_eq!(got, FOLDSYM_OK);
                let file = &raw const file;
                assert!(foldsym_write_name(file, frame.name, text.as_mut_ptr(), text.len()) > 0);
                foldsym_write_path(file, frame.file, text.as_mut_ptr(), text.len());
                read += 1;
            }
        }
    }
    read
}

#[test]
fn nothing_is_allocated() {
    let folder = common::folder("no-heap");
    for set in ["fold.clang-lld.set", "ring.clang-lld.set"] {
        let bytes = std::fs::read(common::symbol_file(&format!("{set}/program"), &folder)).unwrap();
        let path = foldsym_testbins::root().join("built").join(set).join("stacks");
        let mut read = 0;
        for line in std::fs::read_to_string(path).unwrap().lines() {
            let stack = foldsym_testbins::stacks::Stack::parse(line).unwrap().unwrap();
            let entries: Vec<StackEntry> = stack
                .addresses
                .iter()
                .enumerate()
                .map(|(at, address)| StackEntry {
                    address: *address,
                    kind: if at == 0 { FOLDSYM_EXACT } else { FOLDSYM_RETURN },
                    reserved: 0,
                })
                .collect();
            // SAFETY: all zeros is a struct of numbers.
            let mut resolved = vec![unsafe { zeroed::<Resolved>() }; entries.len()];
            FORBIDDEN.set(true);
            read += walk(&bytes, &entries, stack.bias, 0, &mut resolved);
            FORBIDDEN.set(false);
        }
        println!("{set}: {read} frames without an allocation");
        assert!(read > 100, "{set}");
    }
}

#[test]
fn nothing_is_allocated_for_an_object() {
    // Functions 2, 3 and 4 are folded, and the last runs on objects of the class.
    let folded = writer::folded::Folded::new(2, &[3]);
    let mut contents = folded.contents();
    contents.vtables = vec![[0x8000, 4, 0, 0]];
    let bytes = contents.file();
    let address = folded.start(writer::folded::Place::Group(0));
    let entries = [StackEntry { address, kind: FOLDSYM_EXACT, reserved: 0 }];
    // SAFETY: all zeros is a struct of numbers.
    let mut resolved = [unsafe { zeroed::<Resolved>() }];
    FORBIDDEN.set(true);
    let read = walk(&bytes, &entries, 0, writer::folded::BASE + 0x8000, &mut resolved);
    FORBIDDEN.set(false);
    assert_eq!((read, resolved[0].certainty, resolved[0].candidate_count), (1, FOLDSYM_IS_EXACT, 1));
}
