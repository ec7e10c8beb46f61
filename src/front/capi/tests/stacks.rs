//! Recorded stacks of folded programs, resolved by a C program over tier 1: what it prints is what the Rust
//! reader answers, and in it are the functions that truly were on the stack.

mod common;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use common::{compile, compiler, embedded, folder, source, symbol_file, text};
use foldsym_lookup::{
    Certainty, Evidence, Frames, ImageAddr, Lookup, Resolved, ReturnAddr, StackAddr, SymbolFile,
};
use foldsym_testbins::stacks::Stack;
use foldsym_testkit::writer;

const SETS: &[&str] =
    &["fold.clang-lld.set", "fold.clang-lld-safe.set", "fold.gcc-gold.set", "ring.clang-lld.set"];

fn stacks(set: &str) -> Vec<Stack> {
    let path = foldsym_testbins::root().join("built").join(set).join("stacks");
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| Stack::parse(line).unwrap().unwrap()).collect()
}

/// What the C program prints.
fn ask(program: &Path, file: &Path, stacks: &[Stack]) -> String {
    let mut input = String::new();
    for stack in stacks {
        write!(input, "{:x}", stack.bias).unwrap();
        for address in &stack.addresses {
            write!(input, " {address:x}").unwrap();
        }
        input.push('\n');
    }
    ask_lines(program, file, input)
}

fn ask_lines(program: &Path, file: &Path, input: String) -> String {
    let mut child =
        Command::new(program).arg(file).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    text
}

/// The same, by the Rust reader.
fn expect(file: &SymbolFile<'_>, stack: &Stack) -> String {
    let entries: Vec<StackAddr> = stack
        .addresses
        .iter()
        .enumerate()
        .map(|(at, address)| match address - stack.bias {
            address if at == 0 => StackAddr::Exact(ImageAddr(address)),
            address => StackAddr::Return(ReturnAddr(address)),
        })
        .collect();
    let mut resolved = vec![Resolved::NONE; entries.len()];
    file.resolve_stack(&entries, &mut resolved).unwrap();
    let mut out = String::new();
    for (entry, resolved) in entries.iter().zip(&resolved) {
        let certainty = match resolved.certainty {
            None => 0,
            Some(Certainty::Unique) => 1,
            Some(Certainty::Exact) => 2,
            Some(Certainty::Likely) => 3,
            Some(Certainty::Narrowed) => 4,
            Some(Certainty::Ambiguous) => 5,
        };
        let evidence = match resolved.evidence {
            None => 0,
            Some(Evidence::DirectCall) => 1,
            Some(Evidence::Relocation) => 2,
            Some(Evidence::MergedCaller) => 3,
            Some(Evidence::TailCall) => 4,
            Some(Evidence::VirtualSlot) => 5,
            Some(Evidence::Vtable) => 6,
            Some(Evidence::CallType) => 7,
        };
        let reason = resolved.reason.map_or(0, |reason| reason as u32);
        write!(out, "{certainty} {evidence} {reason} {}", resolved.candidate_count()).unwrap();
        let mut frames = Frames::new();
        if let Lookup::Found(answer) = file.lookup(entry.lookup_address().unwrap(), &mut frames).unwrap() {
            let members: Vec<u32> = match answer.group {
                Some(_) => {
                    (0..resolved.candidate_count()).map(|at| resolved.candidate(at).unwrap()).collect()
                }
                None => vec![0],
            };
            for member in members {
                file.member_frames(&answer, member, &mut frames).unwrap();
                write!(out, " | {}", frames_text(file, &frames)).unwrap();
            }
        }
        out.push('\n');
    }
    out + "--\n"
}

fn frames_text(file: &SymbolFile<'_>, frames: &Frames) -> String {
    let text = |write: &dyn Fn(&mut [u8]) -> Option<usize>| {
        let mut buffer = [0; 4096];
        let len = write(&mut buffer).unwrap_or(0);
        String::from_utf8(buffer[..len].to_vec()).unwrap()
    };
    let all: Vec<String> = file
        .frames(frames)
        .map(|frame| {
            let frame = frame.unwrap();
            let name = text(&|out| file.write_name(frame.name?, out));
            let path = text(&|out| file.write_path(frame.file?, out));
            format!("{name}@{path}:{}", frame.line)
        })
        .collect();
    all.join("<")
}

#[test]
fn c_answers_as_rust_does_and_names_who_ran() {
    let Some(cc) = compiler("cc") else { return };
    let folder = folder("stacks");
    let program = folder.join("stacks");
    compile(&cc, &program, &["-std=c11", &source("stacks.c"), text(embedded())]);
    for set in SETS {
        let path = symbol_file(&format!("{set}/program"), &folder);
        let bytes = std::fs::read(&path).unwrap();
        let file = SymbolFile::open(&bytes).unwrap();
        let stacks = stacks(set);
        let printed = ask(&program, &path, &stacks);
        let expected: String = stacks.iter().map(|stack| expect(&file, stack)).collect();
        assert_eq!(printed, expected, "{set}");
        let (mut frames, mut exact) = (0, 0);
        let mut lines = printed.lines();
        for stack in &stacks {
            for truth in &stack.frames {
                let line = lines.next().unwrap();
                frames += 1;
                // Only `exact` answers are judged here; testbins/tests/programs/fold.rs judges all of them.
                if line.starts_with("2 ") {
                    exact += 1;
                    let frame = line.split(" | ").nth(1).unwrap().rsplit('<').next().unwrap();
                    let (name, place) = frame.split_once('@').unwrap();
                    let (file, _) = place.rsplit_once(':').unwrap();
                    assert!(truth.is_called(name, file), "{set}: {line} is {truth:?}");
                }
            }
            assert_eq!(lines.next(), Some("--"));
        }
        println!("{set}: {frames} frames, {exact} exact");
        assert!(exact > 0, "{set} has folded frames that can be told");
        if set.starts_with("ring") {
            assert_eq!((frames, exact), (195, 192), "all but main are told by their callers");
        }
    }
}

/// The class of an object shows which function of a group runs on it, at any load bias.
#[test]
fn objects_tell_who_ran() {
    const POINT: i64 = 0x8000;
    let Some(cc) = compiler("cc") else { return };
    let folder = folder("objects");
    let program = folder.join("stacks");
    compile(&cc, &program, &["-std=c11", &source("stacks.c"), text(embedded())]);
    // Functions 2, 3 and 4 are folded, and the last runs on objects of the class.
    let folded = writer::folded::Folded::new(2, &[3]);
    let mut contents = folded.contents();
    contents.vtables = vec![[POINT, 4, 0, 0]];
    let path = folder.join("made.fsym");
    std::fs::write(&path, contents.file()).unwrap();
    let at = folded.start(writer::folded::Place::Group(0));
    let point = writer::folded::BASE.wrapping_add_signed(POINT);
    for bias in [0, 0x5000, 0_u64.wrapping_sub(0x10), 0_u64.wrapping_sub(at)] {
        let ask = |object: Option<u64>| {
            let mut line = format!("{bias:x} {:x}", at.wrapping_add(bias));
            if let Some(object) = object {
                write!(line, " v{:x}", object.wrapping_add(bias)).unwrap();
            }
            ask_lines(&program, &path, line + "\n")
        };
        assert_eq!(ask(Some(point)), "2 6 0 1 | f004@:0\n--\n", "{bias:#x}");
        let all = "5 0 0 3 | f002@:0 | f003@:0 | f004@:0\n--\n";
        assert_eq!(ask(Some(point + 8)), all, "{bias:#x}");
        assert_eq!(ask(None), all, "{bias:#x}");
    }
}
