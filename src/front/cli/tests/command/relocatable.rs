//! The drop-ins on a relocatable program, such as a kernel module: an address is an offset in a section, a note precedes the code, and the
//! code is in two sections.

use crate::common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::{foldsym_with, program};

const LLVM: &str = "/usr/lib/llvm-22/bin/llvm-symbolizer";

/// The sizes of the sections with code.
const TEXT: u64 = 0x1a6;
const INIT_TEXT: u64 = 0x3eb;

/// Runs a tool; `None` if it is not installed, which is an error with `CI=true`.
fn tool(name: &str, args: &[&str]) -> Option<String> {
    let Ok(output) = Command::new(name).args(args).output() else {
        println!("skipped: needs {name}");
        assert!(std::env::var("CI").as_deref() != Ok("true"), "{name} is missing");
        return None;
    };
    assert!(output.status.success(), "{name} {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}

/// A module of a build id, with code in `.text` and `.init.text`.
fn module(folder: &Path) -> Option<PathBuf> {
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let (init, linked) = (text(&folder.join("init.o")), folder.join("module.ko"));
    let (one, two) = (text(&program("units.relocatable-link.o")), text(&program("inline.clang.o")));
    tool("objcopy", &["-W", "_start", "--rename-section", ".text=.init.text", &two, &init])?;
    tool("ld", &["-r", "--build-id", &one, &init, "-o", linked.to_str().unwrap()])?;
    Some(linked)
}

/// The lines of each answer, which begins with its address.
fn answers(text: &str) -> Vec<Vec<&str>> {
    let mut answers: Vec<Vec<&str>> = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        match line.starts_with("0x") {
            true => answers.push(Vec::new()),
            false => answers.last_mut().unwrap().push(line),
        }
    }
    answers
}

/// Removes parts of the tools' output that a symbol file lacks.
fn without_discriminators(text: &str) -> String {
    let lines = text.lines().map(|line| line.split(" (discriminator").next().unwrap_or(line));
    lines.map(|line| format!("{line}\n")).collect()
}

#[test]
fn an_address_is_an_offset_in_the_first_section_that_has_it() {
    let folder = tempfile::tempdir().unwrap();
    let Some(module) = module(folder.path()) else { return };
    let module = module.to_str().unwrap();
    let offsets: Vec<u64> = (0..INIT_TEXT + 8).step_by(5).collect();
    let input: String = offsets.iter().map(|offset| format!("{offset:#x}\n")).collect();
    let ours = |tool: &str, args: &[&str]| {
        let ran = foldsym_with(&[&[tool, "-e", module], args].concat(), &input);
        assert!(ran.code == 0 && ran.err.is_empty(), "{ran:?}");
        ran.out
    };
    let words: Vec<String> = offsets.iter().map(|offset| format!("{offset:#x}")).collect();
    let theirs = |name: &str, args: &[&str]| {
        let words = words.iter().map(String::as_str);
        tool(name, &["-e", module].iter().chain(args).copied().chain(words).collect::<Vec<_>>())
    };
    // An address is an offset in the first section that has it: these offsets are only in the second section.
    let init = foldsym_with(&["addr2line", "-fe", module], "0x1b0\n0x3e9\n");
    assert_eq!(init.out, "step4\n/src/./inline.h:21\n_start\n/src/inline.c:124\n");
    let own = ours("addr2line", &["-afi"]);
    let own = answers(&own);
    if let Some(gnu) = theirs("addr2line", &["-afi"]) {
        let gnu = without_discriminators(&gnu);
        let gnu = answers(&gnu);
        assert_eq!((own.len(), gnu.len()), (offsets.len(), offsets.len()));
        let mut compared = 0;
        // The function that holds the code: of inlined ones GNU's tool finds fewer.
        for ((offset, own), gnu) in offsets.iter().zip(&own).zip(&gnu) {
            let (own, gnu) = (own[own.len() - 2], gnu[gnu.len() - 2]);
            // For us, code between functions belongs to none; GNU's tool assigns it to the function before.
            assert!(own == gnu || own == "??", "{offset:#x}: {own} {gnu}");
            compared += u32::from(own == gnu);
        }
        assert!(compared > 180, "{compared} of {}", offsets.len());
    }
    let own = ours("llvm-symbolizer", &["-a"]);
    let own = answers(&own);
    if let Some(llvm) = theirs(LLVM, &["-a"]) {
        let llvm = answers(&llvm);
        assert_eq!((own.len(), llvm.len()), (offsets.len(), offsets.len()));
        for ((offset, own), llvm) in offsets.iter().zip(&own).zip(&llvm) {
            // If both sections have an offset, LLVM's tool gives the line in the first, and the name from either.
            let first = if *offset < TEXT { 1 } else { 0 };
            let places = |answer: &[&str]| -> Vec<String> {
                let all = answer.iter().skip(first).step_by(1 + first).map(|line| (*line).to_owned());
                all.take(if first == 1 { 1 } else { usize::MAX }).collect()
            };
            // A symbol without a unit at its offset is all that it knows of the code's last bytes in alignment.
            if own.last() != llvm.last() && llvm.first() == Some(&"??") {
                continue;
            }
            assert_eq!(places(own), places(llvm), "{offset:#x}");
        }
    }
}

#[test]
fn sections_and_symbols_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let Some(module) = module(folder.path()) else { return };
    let module = module.to_str().unwrap();
    let ask = |args: &[&str]| foldsym_with(&[args, &["-e", module]].concat(), "0x10\n").out;
    assert_eq!(ask(&["addr2line", "-f"]), "first\n/src/units.c:29\n");
    assert!(
        ask(&["addr2line", "-f", "-j", ".init.text"]).starts_with("step"),
        "{}",
        ask(&["addr2line", "-j", ".init.text"])
    );
    // Starts and addresses of symbols are offsets too.
    let json = ask(&["llvm-symbolizer", "--output-style=JSON"]);
    assert!(json.contains("\"StartAddress\":\"0x0\"") && json.contains("\"first\""), "{json}");
    let symbol = foldsym_with(&["addr2line", "-af", "-e", module, "with_include"], "").out;
    let Some(gnu) = tool("addr2line", &["-af", "-e", module, "with_include"]) else { return };
    assert_eq!(symbol.lines().next(), gnu.lines().next());
    assert!(symbol.contains("\nwith_include\n"), "{symbol}");
}
