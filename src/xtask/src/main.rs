//! The project's own tasks in one table. CI calls the same tasks as a person does. The crate has few dependencies, so that it
//! builds quickly.

mod blocks;
mod blowup;
mod cfi;
mod check;
mod ci;
mod compare;
mod corpus;
mod crashes;
mod demangle;
mod diff;
mod doors;
mod dropins;
mod expr;
mod fold;
mod fuzz;
mod json;
mod nightly;
mod noicf;
mod ready;
mod results;
mod same;
mod scale;
mod sh;
mod soak;
mod soak_store;
mod split;
mod stacks;
mod steps;
mod streams;
mod symbols;
mod testbins;
mod tidy;
mod trace;
mod unfolded;

use std::process::ExitCode;

struct Task {
    name: &'static str,
    help: &'static str,
    run: fn(&[String]) -> Result<(), String>,
}

const TASKS: &[Task] = &[
    Task {
        name: "check",
        help: "formatting, packages, clippy and tidy: what must hold before a commit",
        run: check::run,
    },
    Task { name: "ready", help: ".ci/run in a clean clone of the committed state", run: ready::run },
    Task { name: "nightly", help: "the long sweeps, of which .ci/run does a tenth", run: nightly::run },
    Task { name: "tidy", help: "the project's own rules on its source and documents", run: tidy::run },
    Task { name: "testbins", help: "build the test programs and refresh their answers", run: testbins::run },
    Task {
        name: "corpus",
        help: "build or fetch the large reference programs into corpus/",
        run: corpus::run,
    },
    Task {
        name: "diff",
        help: "compare a program's answers with llvm-symbolizer and addr2line",
        run: diff::run,
    },
    Task {
        name: "crashes",
        help: "minidumps of a crashing program with RocksDB, beside minidump-stackwalk: CPU, memory, names",
        run: crashes::run,
    },
    Task {
        name: "soak",
        help: "64 clients ask the server, some break off: no failure, flat memory, CPU a frame",
        run: soak::run,
    },
    Task { name: "stacks", help: "walk cores at random stops of a program, beside gdb", run: stacks::run },
    Task { name: "steps", help: "time steps of a walk by section UNWIND, beside framehop", run: steps::run },
    Task {
        name: "streams",
        help: "many addresses and whole stacks through one process, beside llvm-symbolizer: CPU seconds",
        run: streams::run,
    },
    Task {
        name: "demangle",
        help: "readable names of whole programs against llvm-cxxfilt's",
        run: demangle::run,
    },
    Task {
        name: "ci-diff",
        help: "diff over all test programs, our own binary and the C library",
        run: ci::run,
    },
    Task {
        name: "doors",
        help: "one answer by every door: the drop-ins, lookup and the GSYM file, beside llvm-symbolizer",
        run: doors::run,
    },
    Task {
        name: "dropins",
        help: "llvm-symbolizer and both addr2line beside ours: options, requests, errors, byte by byte",
        run: dropins::run,
    },
    Task {
        name: "fold",
        help: "programs that know who is on their stacks, against foldsym stack",
        run: fold::run,
    },
    Task {
        name: "noicf",
        help: "folded functions against the same objects linked without folding",
        run: noicf::run,
    },
    Task {
        name: "blowup",
        help: "hostile programs of every shape: their cost must grow as their size does",
        run: blowup::run,
    },
    Task {
        name: "trace",
        help: "programs stepped beside the same objects linked without folding",
        run: trace::run,
    },
    Task {
        name: "unfolded",
        help: "how sure answers are in programs that nobody folded",
        run: unfolded::run,
    },
    Task { name: "blocks", help: "basic blocks against llvm-readobj --bb-addr-map", run: blocks::run },
    Task {
        name: "same",
        help: "what an older build and this one make of the same programs, byte by byte",
        run: same::run,
    },
    Task {
        name: "split",
        help: "RocksDB with split debug info against the same code with whole debug info",
        run: split::run,
    },
    Task {
        name: "symbols",
        help: "every name of a function symbol against what a file answers",
        run: symbols::run,
    },
    Task {
        name: "soak-store",
        help: "a symbol store with writers and readers killed at random, for some seconds (600)",
        run: soak_store::run,
    },
    Task { name: "fuzz", help: "run the fuzz targets, or say what their corpora reach", run: fuzz::run },
    Task { name: "cfi", help: "rows of call frame information against llvm-dwarfdump", run: cfi::run },
    Task { name: "expr", help: "our evaluator of location expressions against gimli's", run: expr::run },
    Task {
        name: "scale",
        help: "how conversion scales with the input, as a table and a plot",
        run: scale::run,
    },
    Task { name: "compare", help: "measure us beside the peers (benches/compare)", run: compare::run },
    Task { name: "help", help: "this list; each task prints its own with --help", run: help },
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let name = args.first().map_or("help", |name| if name == "--help" { "help" } else { name });
    let Some(task) = TASKS.iter().find(|task| task.name == name) else {
        eprintln!("no task `{name}`; cargo xtask help lists them");
        return ExitCode::from(2);
    };
    match (task.run)(args.get(1..).unwrap_or_default()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{name}: {message}");
            ExitCode::FAILURE
        }
    }
}

fn help(_: &[String]) -> Result<(), String> {
    println!("cargo xtask TASK [ARGS]\n");
    for task in TASKS {
        println!("  {:10} {}", task.name, task.help);
    }
    Ok(())
}
