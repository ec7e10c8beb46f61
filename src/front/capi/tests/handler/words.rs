//! What a file answers of a program's own functions, with the crash handler linked into it, with the other libraries for signal handlers, and
//! without them.

use std::process::Command;

use foldsym_convert::{NoProgress, Options, convert};
use foldsym_lookup::{Frames, ImageAddr, Lookup, SymbolFile};
use object::{Object, ObjectSymbol};

use crate::built::{source, succeed};
use crate::common::{crash_archive, crate_dir, embedded, folder, llvm, unwind_archive};

/// Linkage names of the program's own functions.
const FUNCTIONS: [&str; 4] =
    ["_Z5carryPFlPVKlES0_", "_ZN7parcels5weighEPVKl", "_ZN7letters5weighEPVKl", "_ZN7letters4postEPVKl"];

#[test]
fn linking_the_libraries_changes_no_answer() {
    let (Some(clang), Some(lld)) = (llvm("clang++"), llvm("ld.lld")) else { return };
    let folder = folder("handler-words");
    let lld = format!("--ld-path={}", lld.display());
    for (linker, flags) in [("ld", &["-fuse-ld=bfd"][..]), ("lld", &[lld.as_str(), "-Wl,--icf=all"])] {
        let [without, handler, others] = ["without", "handler", "others"].map(|with| {
            let program = folder.join(format!("{linker}-{with}"));
            let mut command = Command::new(&clang);
            command.args(["-std=c++17", "-O2", "-gdwarf-5", "-mllvm", "-emit-func-debug-line-table-offsets"]);
            command
                .args(["-ffunction-sections", "-fno-optimize-sibling-calls", "-Wl,--build-id"])
                .args(flags);
            command.args([source("words.cpp"), source("folded.cpp")]);
            command.arg(format!("-I{}", crate_dir().join("include").display()));
            match with {
                "handler" => _ = command.arg("-DWITH_HANDLER").arg(crash_archive()),
                "others" => {
                    command.args([
                        "-Wl,-u,foldsym_open",
                        "-Wl,-u,foldsym_lookup",
                        "-Wl,-u,foldsym_unwind_step",
                    ]);
                    command.args([embedded(), unwind_archive()]);
                }
                _ => {}
            }
            succeed(command.args(["-pthread", "-o"]).arg(&program));
            let symbols = program.with_extension("fsym");
            let options = Options::default().with(|options| options.threads = 1);
            convert(&program, &symbols, &options, &NoProgress).unwrap();
            answers(&std::fs::read(&program).unwrap(), &std::fs::read(&symbols).unwrap())
        });
        assert!(without.iter().any(|answer| answer.contains("Unique")), "{linker}: {without:?}");
        assert_eq!(without.iter().any(|answer| answer.contains("Ambiguous")), linker == "lld", "{without:?}");
        assert_eq!(handler, without, "{linker}");
        assert_eq!(others, without, "{linker}");
    }
}

/// Certainty, evidence, reason and number of members at the first byte of each function.
fn answers(program: &[u8], symbols: &[u8]) -> Vec<String> {
    let program = object::File::parse(program).unwrap();
    let file = SymbolFile::open(symbols).unwrap();
    let mut frames = Frames::new();
    let answer = |name: &&str| {
        let symbol = program.symbols().find(|symbol| symbol.name() == Ok(name)).unwrap();
        let Lookup::Found(answer) = file.lookup(ImageAddr(symbol.address()), &mut frames).unwrap() else {
            panic!("{name} is not there")
        };
        format!(
            "{name} {:?} {:?} {:?} {}",
            answer.certainty,
            answer.evidence,
            answer.reason,
            answer.member_count()
        )
    };
    FUNCTIONS.iter().map(answer).collect()
}
