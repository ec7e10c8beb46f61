//! Compares the engine's frames and its JSON with the output of the command, for programs of one module.

use crate::common;

use std::path::Path;
use std::sync::Arc;

use common::Fsym;
use foldsym_lookup::records::Owner;
use foldsym_symbolize::{
    AddressKind, Certainty, Frame, Location, Mapping, Module, Modules, ReportedAddress, Stack, StackFrame,
    Symbolizer,
};
use serde_json::{Value, json};

/// Addresses for each program: in a large program they are spread.
const ADDRESSES: u64 = 1500;
/// Stacks a program.
const STACKS: usize = 1500;

const PROGRAMS: &[&str] = &[
    "demo.elf",
    "inline.clang-dwarf5",
    "inline.aarch64",
    "inline.mips-be",
    "macho.arm64.dSYM",
    "fold.clang-lld.set/program",
    "fold.gcc-gold.set/program",
    "fold.clang-relocs.set/program",
    "fold.gcc-merged.set/program",
];

/// A frame as the command prints it, made from the fields that a program in Rust reads.
fn value(frame: &Frame) -> Value {
    let hex = |address: Option<u64>, none: &str| address.map_or(none.to_owned(), |at| format!("{at:#x}"));
    let symbol = |functions: &[Location], aliases: &[Arc<str>]| {
        let mut list: Vec<Value> = functions
            .iter()
            .enumerate()
            .map(|(index, at)| {
                let outermost = index + 1 == functions.len();
                let start = hex(frame.start.filter(|_| outermost), "");
                assert_eq!(at.inlined, !outermost);
                let mut object = json!({
                    "FunctionName": &*at.function, "FileName": &*at.file, "Line": at.line, "Column": at.column,
                    "StartFileName": &*at.start_file, "StartLine": at.start_line, "StartAddress": start,
                    "Discriminator": 0, "LinkageName": &*at.linkage_name,
                });
                if outermost && !aliases.is_empty() {
                    object["Aliases"] = aliases.iter().map(|alias| &**alias).collect();
                }
                object
            })
            .collect();
        if list.is_empty() {
            list.push(json!({
                "FunctionName": "", "FileName": "", "Line": 0, "Column": 0, "StartFileName": "", "StartLine": 0,
                "StartAddress": hex(frame.start, ""), "Discriminator": 0, "LinkageName": "",
            }));
        }
        Value::Array(list)
    };
    let mut object = json!({
        "Address": hex(frame.address, "?"), "ModuleName": &*frame.module_name,
        "Symbol": symbol(&frame.functions, &frame.aliases),
        "Certainty": frame.certainty.map(|certainty| certainty.text()),
        "Evidence": frame.evidence.map(|evidence| evidence.text()),
    });
    if let Some(reason) = frame.reason {
        object["Reason"] = reason.text().into();
    }
    if let Some(count) = frame.candidate_count {
        object["CandidateCount"] = count.into();
        let member = |of: &foldsym_symbolize::Candidate| {
            let aliases: Vec<&str> = of.aliases.iter().map(|alias| &**alias).collect();
            json!({
                "LinkageName": of.linkage_name(), "Aliases": aliases, "How": of.how,
                "Symbol": symbol(&of.functions, &of.aliases),
            })
        };
        match &frame.candidates[..] {
            [only] if count == 1 => object["How"] = only.how.into(),
            candidates => object["Candidates"] = candidates.iter().map(member).collect(),
        }
    }
    if frame.partial {
        object["Partial"] = true.into();
    }
    object
}

/// The output of the command for each line of input.
fn printed(fsym: &Fsym, command: &str, lines: &[String]) -> Vec<String> {
    let ran = fsym.run_with(command, &["--json"], &lines.join("\n"));
    assert_eq!(ran.code, 0, "{}", ran.err);
    ran.out.lines().map(str::to_owned).collect()
}

fn parsed(json: &str) -> Value {
    serde_json::from_str(json).unwrap()
}

fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    write(&mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn the_engine_says_what_the_command_says() {
    for name in PROGRAMS {
        let fsym = Fsym::of(name, &["--columns"]);
        let map = foldsym_store::SymbolMap::open(Path::new(fsym.str())).unwrap();
        let file = map.file();
        let base = file.image_base().0;
        let symbolizer = Symbolizer::builder().search([&fsym.path]).build().unwrap();
        // The command prints the path as the module's name; the engine takes the last part of it to find the file.
        let module_name = fsym.str().strip_suffix(".fsym").unwrap();
        let modules = Modules::new(vec![Module::new(module_name).at(base)]);
        let printed = |command: &str, lines: &[String]| -> Vec<String> {
            let renamed = |line: String| line.replace(fsym.str(), module_name);
            printed(&fsym, command, lines).into_iter().map(renamed).collect()
        };

        // The one difference is the module of an address without a function. The engine uses mappings, and the command has none.
        let unnamed =
            |text: String| text.replace(&format!("\"ModuleName\":\"{module_name}\""), "\"ModuleName\":\"\"");

        let pieces: Vec<_> = (0..file.records().piece_count())
            .map(|id| file.records().piece(foldsym_lookup::PieceId(id)).unwrap())
            .collect();
        let (first, last) =
            (pieces[0].start.0, pieces.last().map(|piece| piece.start.0 + piece.len() + 4).unwrap());
        let step = ((last - first) / ADDRESSES).max(1);
        let addresses: Vec<u64> = (first..last).step_by(step as usize).collect();
        let lines: Vec<String> = addresses.iter().map(|address| format!("{address:#x}")).collect();
        for (address, expected) in addresses.iter().zip(printed("lookup", &lines)) {
            let stack = Stack::new(&modules, vec![StackFrame::exact(*address)]);
            let answer = value(&symbolizer.symbolize(&stack)[0]).to_string();
            assert!(answer.contains(&format!("\"ModuleName\":\"{module_name}\"")), "{answer}");
            assert_eq!(parsed(&unnamed(answer)), parsed(&unnamed(expected)), "{name}");
        }

        // Each recorded call below each folded function, and other calls around it; then an unknown frame.
        let folded: Vec<u64> = pieces
            .iter()
            .filter(|piece| matches!(piece.owner, Owner::Group(_)))
            .map(|piece| piece.start.0)
            .collect();
        let targets = if folded.is_empty() { &addresses } else { &folded };
        let calls: Vec<u64> = file.records().calls().map(|call| call.unwrap().address.0).collect();
        let calls = if calls.is_empty() { &addresses } else { &calls };
        let pairs = targets.iter().flat_map(|target| calls.iter().map(move |call| (*target, *call)));
        let all = targets.len() * calls.len();
        let pairs: Vec<(u64, u64)> = pairs.step_by((all / STACKS).max(1)).collect();
        let mut lines = Vec::new();
        let mut stacks = Vec::new();
        for (index, (target, call)) in pairs.into_iter().enumerate() {
            let next = calls[index % calls.len()];
            lines.push(format!("{target:#x} {call:#x} {next:#x} ={target:#x} ? {call:#x}"));
            let image =
                |address, kind| StackFrame { place: ReportedAddress::Image { module: 0, address }, kind };
            stacks.push(Stack::new(
                &modules,
                vec![
                    StackFrame::exact(target),
                    image(call, AddressKind::Return),
                    image(next, AddressKind::Return),
                    image(target, AddressKind::Exact),
                    StackFrame::UNKNOWN,
                    image(call, AddressKind::Return),
                ],
            ));
        }
        let answers = symbolizer.symbolize_batch(&stacks);
        let (mut exact, mut unknown) = (0, 0);
        let mut worker = symbolizer.worker();
        for (((frames, stack), expected), line) in
            answers.iter().zip(&stacks).zip(printed("stack", &lines)).zip(&lines)
        {
            let written = text(|out| worker.write_json(stack, out));
            assert_eq!(unnamed(written), unnamed(expected.clone()), "{name}: {line}");
            let fields = json!({ "Frames": frames.iter().map(value).collect::<Vec<_>>() });
            assert_eq!(parsed(&unnamed(fields.to_string())), parsed(&unnamed(expected.clone())), "{line}");
            exact += u32::from(expected.contains("\"Certainty\":\"exact\""));
            unknown += u32::from(expected.contains("\"Address\":\"?\""));
        }
        assert_eq!(unknown as usize, lines.len(), "{name}");
        if name.starts_with("fold.") {
            assert!(exact > 0, "{name}: no stack has an exact answer");
        }
    }
}

#[test]
fn a_caller_in_another_module_rules_nothing_out() {
    let fsym = Fsym::of("fold.clang-lld.set/program", &[]);
    let map = foldsym_store::SymbolMap::open(&fsym.path).unwrap();
    let file = map.file();
    let base = file.image_base().0;
    let symbolizer = Symbolizer::builder().search([&fsym.path]).build().unwrap();
    let name = fsym.path.file_stem().unwrap().to_str().unwrap();
    // The same program loaded twice, and a third time as two parts that share one load bias.
    let (one, two, three) = (0x10_0000_0000, 0x20_0000_0000, 0x30_0000_0000);
    let part = |start, size| Mapping::Bias { bias: three - base, start, size };
    let half = 0x1000;
    let modules = Modules::new(vec![
        Module::new(name).at(one),
        Module::new(name).at(two),
        Module::new(name).mapped(part(three, half)),
        Module::new(name).mapped(part(three + half, 1 << 30)),
    ]);
    let certainty = |pc: u64, caller: StackFrame| {
        symbolizer.symbolize(&Stack::new(&modules, vec![StackFrame::exact(pc), caller]))[0].certainty
    };
    let groups = (0..file.records().piece_count())
        .map(|id| file.records().piece(foldsym_lookup::PieceId(id)).unwrap());
    let groups =
        groups.filter(|piece| matches!(piece.owner, Owner::Group(_))).map(|piece| piece.start.0 - base);
    let groups: Vec<u64> = groups.collect();
    let (mut exact, mut apart) = (0, 0);
    for call in file.records().calls().map(|call| call.unwrap().address.0 - base) {
        for &pc in &groups {
            if certainty(one + pc, StackFrame::returns_to(one + call)) != Some(Certainty::Exact) {
                continue;
            }
            exact += 1;
            // An address inside the call says the same as the return address.
            assert_eq!(certainty(one + pc, StackFrame::adjusted(one + call - 1)), Some(Certainty::Exact));
            // Not so from the other copy, from an unknown frame, or from a frame that was interrupted there.
            for caller in
                [StackFrame::returns_to(two + call), StackFrame::UNKNOWN, StackFrame::exact(one + call)]
            {
                assert_eq!(certainty(one + pc, caller), Some(Certainty::Ambiguous), "{caller:?}");
            }
            // Parts of one loaded file are one.
            assert_eq!(certainty(three + pc, StackFrame::returns_to(three + call)), Some(Certainty::Exact));
            apart += u32::from((pc < half) != (call < half));
        }
    }
    println!("{exact} calls, {apart} across parts");
    assert!(exact > 0);
}

/// A mask that lets the group write, as many systems have it: the folders of a cache are made without that right.
#[cfg(unix)]
#[test]
fn a_cache_is_made_under_any_mask() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("new/cache");
    let script = "umask 002 && exec \"$0\" lookup --cache \"$1\" \"$2\" 0x20129b";
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", script, env!("CARGO_BIN_EXE_foldsym")]).arg(&cache).arg(common::program("demo.elf"));
    let ran = shell.output().unwrap();
    assert!(ran.status.success() && cache.join("format").exists(), "{ran:?}");
}
