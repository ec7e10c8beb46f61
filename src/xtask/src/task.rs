//! The tasks of the crate `oracles` by name. The list is here and not there, so that `cargo xtask help` builds no oracle.

/// A task as `cargo xtask help` lists it.
#[derive(Debug)]
pub struct Task {
    pub name: &'static str,
    pub help: &'static str,
}

/// The tasks of the crate `oracles`, which `cargo xtask` passes on to it.
pub const ORACLES: &[Task] = &[
    Task { name: "diff", help: "compare a program's answers with llvm-symbolizer and addr2line" },
    Task {
        name: "crashes",
        help: "minidumps of a crashing program with RocksDB, beside minidump-stackwalk: CPU, memory, names",
    },
    Task {
        name: "crash-doors",
        help: "programs that crash: the same functions by core, minidump, sanitizer, perf, server and gdb",
    },
    Task {
        name: "crash-peers",
        help: "the crash handler beside libbacktrace, abseil, backward-cpp, cpptrace: names, time, calls, bytes",
    },
    Task {
        name: "soak",
        help: "64 clients ask the server, some break off: no failure, flat memory, CPU a frame; with hostile clients (--hostile)",
    },
    Task { name: "stacks", help: "walk cores at random stops of a program, beside gdb" },
    Task { name: "steps", help: "time steps of a walk by section UNWIND, beside framehop" },
    Task {
        name: "streams",
        help: "many addresses and whole stacks through one process, beside llvm-symbolizer: CPU seconds",
    },
    Task { name: "demangle", help: "readable names of whole programs against llvm-cxxfilt's" },
    Task { name: "ci-diff", help: "diff over all test programs, our own binary and the C library" },
    Task { name: "names", help: "which of a function's names is shown, beside llvm-symbolizer's" },
    Task {
        name: "doors",
        help: "one answer by every door: the drop-ins, lookup and the GSYM file, beside llvm-symbolizer",
    },
    Task {
        name: "dropins",
        help: "llvm-symbolizer and both addr2line beside ours: options, requests, errors, byte by byte",
    },
    Task { name: "fold", help: "programs that know who is on their stacks, against foldsym stack" },
    Task { name: "noicf", help: "folded functions against the same objects linked without folding" },
    Task {
        name: "blowup",
        help: "hostile programs and reports of every shape: their cost must grow as their size does",
    },
    Task { name: "trace", help: "programs stepped beside the same objects linked without folding" },
    Task { name: "unfolded", help: "how sure answers are in programs that nobody folded" },
    Task {
        name: "signatures",
        help: "buckets of stacks in programs with and without folding, beside Mozilla's rules on llvm-symbolizer's frames",
    },
    Task { name: "blocks", help: "basic blocks against llvm-readobj --bb-addr-map" },
    Task { name: "same", help: "what an older build and this one make of the same programs, byte by byte" },
    Task { name: "split", help: "RocksDB with split debug info against the same code with whole debug info" },
    Task { name: "symbols", help: "every name of a function symbol against what a file answers" },
    Task {
        name: "soak-store",
        help: "a symbol store with writers and readers killed at random, for some seconds (600)",
    },
    Task {
        name: "soak-crash",
        help: "crashes at random moments of a program under load, each with a whole report (2000)",
    },
    Task { name: "cfi", help: "rows of call frame information against llvm-dwarfdump" },
    Task { name: "expr", help: "our evaluator of location expressions against gimli's" },
    Task { name: "scale", help: "how conversion scales with the input, as a table and a plot" },
    Task { name: "compare", help: "measure us beside the peers (benches/compare)" },
];
