//! What a file answers of a program's own functions, with the crash handler linked into it and without.

use std::process::Command;

use foldsym_convert::{NoProgress, Options, convert};
use foldsym_lookup::{Frames, ImageAddr, Lookup, SymbolFile};
use object::{Object, ObjectSymbol};

use crate::built::{source, succeed};
use crate::common::{crash_archive, crate_dir, folder, llvm};

/// Linkage names of the program's own functions.
const FUNCTIONS: [&str; 4] =
    ["_Z5carryPFlPVKlES0_", "_ZN7parcels5weighEPVKl", "_ZN7letters5weighEPVKl", "_ZN7letters4postEPVKl"];

#[test]
fn linking_the_handler_changes_no_answer() {
    let (Some(clang), Some(lld)) = (llvm("clang++"), llvm("ld.lld")) else { return };
    let folder = folder("handler-words");
    let answers = [false, true].map(|is_linked| {
        let program = folder.join(if is_linked { "with" } else { "without" });
        let mut command = Command::new(&clang);
        command.args(["-std=c++17", "-O2", "-gdwarf-5", "-mllvm", "-emit-func-debug-line-table-offsets"]);
        command.args([
            "-ffunction-sections",
            "-fno-optimize-sibling-calls",
            "-Wl,--icf=all",
            "-Wl,--build-id",
        ]);
        command.arg(format!("--ld-path={}", lld.display())).args([source("words.cpp"), source("folded.cpp")]);
        command.arg(format!("-I{}", crate_dir().join("include").display()));
        if is_linked {
            command.arg("-DWITH_HANDLER").arg(crash_archive());
        }
        succeed(command.args(["-pthread", "-o"]).arg(&program));
        let symbols = program.with_extension("fsym");
        convert(&program, &symbols, &Options::default().with(|options| options.threads = 1), &NoProgress)
            .unwrap();
        answers(&std::fs::read(&program).unwrap(), &std::fs::read(&symbols).unwrap())
    });
    assert_eq!(answers[0], answers[1]);
    assert!(answers[0].iter().any(|answer| answer.contains("Unique")), "{answers:?}");
    assert!(answers[0].iter().any(|answer| answer.contains("Ambiguous")), "{answers:?}");
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
