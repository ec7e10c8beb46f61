//! Hostile crash reports of any size: each repeats one thing that a reader may pay too much for.
//!
//! [`ALL`] lists what each repeats, for every format that `foldsym symbolize` reads. The bound of memory is the one that
//! `foldsym_reports::Options::memory` states: 40 times the bytes of a report and 200 MB.

mod dumps;
mod profiles;
mod texts;

/// Repeats one thing of a report a given number of times.
#[derive(Clone, Copy)]
pub struct HostileReport {
    /// One word for the command line. It begins with the format.
    pub name: &'static str,
    /// The thing that is repeated.
    pub repeats: &'static str,
    /// How often it is repeated in the smaller of the two reports that are compared.
    pub count: u64,
    /// The bytes of a report that has it the given number of times.
    pub make: fn(u64) -> Vec<u8>,
    /// Whether its table is measured too: `foldsym symbolize -o OUT.parquet`, and `--parquet` of that table.
    pub table: bool,
}

const fn report(
    name: &'static str,
    repeats: &'static str,
    count: u64,
    make: fn(u64) -> Vec<u8>,
) -> HostileReport {
    HostileReport { name, repeats, count, make, table: false }
}

/// The same with its table.
const fn with_table(report: HostileReport) -> HostileReport {
    HostileReport { table: true, ..report }
}

/// All hostile reports.
pub const ALL: &[HostileReport] = &[
    report("json-frames", "frames of one stack, in one module with a long name", 100, texts::json_frames),
    with_table(report("json-lines", "stacks of one frame, each with its own module", 300, texts::json_lines)),
    report(
        "json-modules",
        "modules of one address and one name, and a frame in each",
        400,
        texts::json_modules,
    ),
    report("json-nested", "stacks with a hundred lists inside of each other", 500, texts::json_nested),
    report("symbolicate-frames", "frames in modules of one name", 100, texts::symbolicate_frames),
    report("symbolicate-stacks", "stacks without frames", 4_000, texts::symbolicate_stacks),
    report("symbolicate-jobs", "jobs of one module and one frame", 300, texts::symbolicate_jobs),
    report(
        "symbolicate-modules",
        "modules with long names that differ at the end",
        200,
        texts::symbolicate_modules,
    ),
    report(
        "sanitizer-frames",
        "frames of one stack, each in a module of its own",
        600,
        texts::sanitizer_frames,
    ),
    report("sanitizer-stacks", "stacks of one frame below one long heading", 200, texts::sanitizer_stacks),
    report("sanitizer-inlined", "lines of one frame with a function each", 600, texts::sanitizer_inlined),
    report("llvm-names", "frames with long names", 200, texts::llvm),
    report("android-ids", "frames with a build id each", 500, texts::android),
    report("systemd-threads", "stacks of one frame", 400, texts::systemd),
    with_table(report("perf-events", "samples of one frame, each of its own event", 400, texts::perf_events)),
    report("perf-inlined", "inlined functions of one frame", 800, texts::perf_inlined),
    with_table(report("perf-names", "frames of one sample with long names", 200, texts::perf_names)),
    report("perf-mappings", "mappings of one file, and a sample in each", 200, texts::perf_mappings),
    report("perf-processes", "processes that map one file, and a sample of each", 200, texts::perf_processes),
    report("pprof-locations", "locations, and a sample at each", 1_000, profiles::locations),
    with_table(report(
        "pprof-names",
        "functions that share one long name, and a sample in each",
        200,
        profiles::names,
    )),
    report("pprof-lines", "lines of one location", 8_000, profiles::lines),
    report("pprof-labels", "labels of one sample", 8_000, profiles::labels),
    report("pprof-mappings", "mappings of one range, and a location in each", 400, profiles::mappings),
    report("pprof-depth", "frames of one sample at one location", 4_000, profiles::depth),
    report("gperftools-stacks", "stacks of one frame", 1_000, profiles::gperftools_stacks),
    report("gperftools-maps", "mappings below a profile of one stack", 1_500, profiles::gperftools_maps),
    report("gperftools-heap", "lines of a heap profile", 400, profiles::gperftools_heap),
    with_table(report(
        "minidump-threads",
        "threads that share one stack, each word of which may be a caller",
        25,
        dumps::minidump_threads,
    )),
    report("minidump-modules", "modules that share one name of 20 letters", 1_000, dumps::minidump_modules),
    report("minidump-memory", "ranges of memory that share their bytes", 10_000, dumps::minidump_memory),
    report("core-threads", "threads that share one stack of frame pointers", 50, dumps::core_threads),
    report("core-depth", "frame pointers of one stack", 1_000, dumps::core_depth),
    report("core-notes", "notes of an unknown type", 4_000, dumps::core_notes),
    report("core-files", "mapped files that overlap", 400, dumps::core_files),
    report("core-segments", "ranges of memory that begin as programs do", 400, dumps::core_segments),
];
