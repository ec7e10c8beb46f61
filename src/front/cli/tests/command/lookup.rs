//! `foldsym lookup`: text and JSON of every kind of address, and of lines that are not addresses.

use crate::common;

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use common::{Fsym, command, file, foldsym, keys};
use foldsym_testbins::expected::{Expected, PrintedFrame, path_of};

fn expected(program: &str) -> Expected {
    let path = path_of(&foldsym_testbins::root(), program, None);
    Expected::from_json(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn llvm_text(frames: &[PrintedFrame]) -> String {
    let known = |text: &str| if text.is_empty() { "??".to_owned() } else { text.to_owned() };
    let frame =
        |f: &PrintedFrame| format!("{}\n{}:{}:{}\n", known(&f.name), known(&f.file), f.line, f.column);
    frames.iter().map(frame).collect::<String>() + "\n"
}

#[test]
fn text_is_llvm_symbolizers_at_every_address() {
    let program = "inline.clang-dwarf5";
    let expected = expected(program);
    let fsym = Fsym::of(program, &["--columns"]);
    let (mut input, mut text) = (String::new(), String::new());
    for run in &expected.runs {
        for address in run.start..run.end {
            if expected.accepted_at(address).is_none() {
                input += &format!("{address:#x}\n");
                text += &llvm_text(&expected.stacks[run.stack]);
            }
        }
    }
    assert!(input.lines().count() > 500);
    let ran = fsym.run_with("lookup", &["--no-demangle"], &input);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out == text, "differs from llvm-symbolizer");
}

#[test]
fn json_has_every_key_in_its_order() {
    let fsym = Fsym::of("inline.clang-dwarf5", &["--columns"]);
    let ran = fsym.run("lookup", &["--json", "0x2011c8"]);
    assert_eq!(ran.code, 0);
    assert_eq!(keys(&ran.out), ["Address", "ModuleName", "Symbol", "Certainty", "Evidence"]);
    let symbols = &ran.out[ran.out.find("[{").unwrap() + 1..];
    let frame = [
        "FunctionName",
        "FileName",
        "Line",
        "Column",
        "StartFileName",
        "StartLine",
        "StartAddress",
        "Discriminator",
        "LinkageName",
    ];
    assert_eq!(keys(symbols), frame);
    let answer = &ran.json()[0];
    assert_eq!(answer["Address"], "0x2011c8");
    assert_eq!(answer["ModuleName"], fsym.str());
    assert_eq!(answer["Certainty"], "unique");
    assert!(answer["Evidence"].is_null());
    let frames = answer["Symbol"].as_array().unwrap();
    assert_eq!(frames.len(), 2);
    assert_eq!(frames[0]["FunctionName"], "step1");
    assert_eq!(frames[0]["FileName"], "/src/./inline.h");
    assert_eq!((frames[0]["Line"].as_u64(), frames[0]["Column"].as_u64()), (Some(32), Some(70)));
    assert_eq!(frames[0]["StartAddress"], "");
    assert_eq!(frames[1]["LinkageName"], "chain");
    assert_eq!(frames[1]["StartFileName"], "/src/inline.c");
    assert_eq!(frames[1]["StartAddress"], "0x2011c0");
    assert_eq!(frames[1]["Discriminator"], 0);
}

#[test]
fn an_unknown_address_is_an_answer() {
    let fsym = Fsym::of("inline.clang-dwarf5", &[]);
    for address in ["0", "0x10", "0xffffffffffffffff", "0x2011bf"] {
        let ran = fsym.run("lookup", &[address]);
        assert_eq!((ran.code, ran.out.as_str()), (0, "??\n??:0:0\n\n"), "{address}");
    }
    let ran = fsym.run("lookup", &["--json", "16"]);
    let nothing = r#"{"FunctionName":"","FileName":"","Line":0,"Column":0,"StartFileName":"","StartLine":0,"StartAddress":"","Discriminator":0,"LinkageName":""}"#;
    let line = format!(
        "{{\"Address\":\"0x10\",\"ModuleName\":\"\",\"Symbol\":[{nothing}],\"Certainty\":null,\"Evidence\":null}}\n"
    );
    assert_eq!((ran.code, ran.out), (0, line));
}

#[test]
fn a_line_that_does_not_parse_has_its_place() {
    let fsym = Fsym::of("inline.clang-dwarf5", &[]);
    let input = "0x201540\nfoo\n\n  0x201540 \r\n0x\n-1\n0x10 0x20\n";
    let ran = fsym.run_with("lookup", &["--json"], input);
    assert_eq!(ran.code, 2);
    let lines = ran.json();
    assert_eq!(lines.len(), 7);
    for (at, line) in lines.iter().enumerate() {
        let is_address = at == 0 || at == 3;
        assert_eq!(line["Symbol"].is_array(), is_address, "{line}");
        assert_eq!(line["Error"]["Message"].is_string(), !is_address, "{line}");
    }
    assert!(lines[1]["Error"]["Message"].as_str().unwrap().contains("\"foo\" is not an address"));

    let ran = fsym.run_with("lookup", &[], input);
    assert_eq!(ran.code, 2);
    assert_eq!(ran.out.matches("\n\n").count(), 7);
    assert_eq!(ran.out.matches("??\n??:0:0\n\n").count(), 5);
    assert!(ran.err.contains("foldsym: line 2: \"foo\" is not an address"), "{}", ran.err);

    let ran = fsym.run("lookup", &["foo", "0x201540"]);
    assert_eq!(ran.code, 2);
    assert!(ran.out.starts_with("??\n??:0:0\n\n_start\n"), "{}", ran.out);
}

#[test]
fn several_symbols_on_one_function_are_aliases() {
    // GNU ld does not fold; the program that lld linked has assembly code without a file, which may have been folded.
    let fsym = Fsym::of("symbols.gcc-bfd", &[]);
    let found = fsym.run("find", &["real_read"]);
    let address = found.out.split('\t').nth(1).unwrap().split('-').next().unwrap().to_owned();
    let answer = &fsym.run("lookup", &["--json", &address]).json()[0];
    let outer = answer["Symbol"].as_array().unwrap().last().unwrap();
    assert_eq!(answer["Certainty"], "unique");
    assert!(answer.get("CandidateCount").is_none() && answer.get("Candidates").is_none());
    let mut names: Vec<&str> =
        outer["Aliases"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    names.push(outer["LinkageName"].as_str().unwrap());
    names.sort_unstable();
    assert_eq!(names, ["alias_read", "real_read", "weak_read"]);
}

#[test]
fn variants_of_a_constructor_are_one_function() {
    let fsym = Fsym::of("objects.gcc-o2", &[]);
    let lines = fsym.run("find", &["--no-demangle", "--regex", "^_ZN3geo.*D[12]Ev$"]).out;
    let line = lines.lines().find(|line| line.contains("also: ")).expect("a destructor with two names");
    let (name, address) = (line.split('\t').next().unwrap(), line.split(['\t', '-']).nth(1).unwrap());
    let answer = &fsym.run("lookup", &["--json", address]).json()[0];
    let outer = answer["Symbol"].as_array().unwrap().last().unwrap();
    assert_eq!((&answer["Certainty"], &outer["LinkageName"]), (&"unique".into(), &name.into()));
    let other = outer["Aliases"][0].as_str().unwrap();
    assert_ne!(other, name);
    assert_eq!(other.replace("D1Ev", "D2Ev"), name.replace("D1Ev", "D2Ev"));
    // Each of the names finds it.
    assert_eq!(fsym.run("find", &["--no-demangle", other]).out, format!("{line}\n"));
}

#[test]
fn a_load_bias_is_subtracted() {
    let fsym = Fsym::of("inline.clang-pie", &["--columns"]);
    let address = fsym.run("find", &["chain"]).out.split(['\t', '-']).nth(1).unwrap().to_owned();
    let linked = u64::from_str_radix(&address[2..], 16).unwrap();
    let base = 0x5555_5555_4000u64;
    let loaded = format!("{:#x}", linked + base);
    let given = fsym.run("lookup", &[&address]);
    for bias in [format!("{base:#x}"), base.to_string()] {
        assert_eq!(fsym.run("lookup", &["--base", &bias, &loaded]).out, given.out);
    }
    assert!(given.out.contains("chain\n"), "{}", given.out);
    let answer = &fsym.run("lookup", &["--json", "--base", &format!("{base:#x}"), &loaded]).json()[0];
    assert_eq!(answer["Address"], loaded.as_str());
    // As llvm-symbolizer prints it: the start of the function in the file.
    assert_eq!(answer["Symbol"].as_array().unwrap().last().unwrap()["StartAddress"], address.as_str());
    // Below the load bias is nothing.
    assert_eq!(fsym.run("lookup", &["--base", &format!("{base:#x}"), &address]).out, "??\n??:0:0\n\n");
    assert_eq!(fsym.run("lookup", &["--base", "x", "0"]).code, 2);
}

#[test]
fn sections_of_a_relocatable_file_are_named() {
    let fsym = Fsym::of("inline.clang-sections.o", &["--columns"]);
    let ran = fsym.run("lookup", &[".text.chain:0", ".text.checked:0x8", ".text.checked:8"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("chain\n"), "{}", ran.out);
    let answers: Vec<&str> = ran.out.split("\n\n").collect();
    assert_eq!(answers[1], answers[2]);
    assert!(answers[1].starts_with("checked\n"), "{}", answers[1]);
    // The answer has the synthetic address, which is accepted as well.
    let answer = &fsym.run("lookup", &["--json", ".text.checked:8"]).json()[0];
    let again = &fsym.run("lookup", &["--json", answer["Address"].as_str().unwrap()]).json()[0];
    assert_eq!(answer, again);
    // A load bias does not enter.
    assert_eq!(
        fsym.run("lookup", &["--base", "0x1000", ".text.checked:8"]).out,
        answers[1].to_owned() + "\n\n"
    );
    // After this section there is another one, which was not requested.
    assert_eq!(fsym.run("lookup", &[".text.checked:0x10000"]).out, "??\n??:0:0\n\n");
    let ran = fsym.run("lookup", &[".nothing:0"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("no section \".nothing\""), "{}", ran.err);
}

#[test]
fn names_are_demangled_unless_asked_not_to() {
    let fsym = Fsym::of("objects.clang-o2", &[]);
    let found = fsym.run("find", &["_Z11partitionedi"]);
    let address = found.out.split(['\t', '-']).nth(1).unwrap().to_owned();
    assert!(fsym.run("lookup", &[&address]).out.starts_with("partitioned(int)\n/src/objects.cpp:"));
    assert!(fsym.run("lookup", &["--no-demangle", &address]).out.starts_with("_Z11partitionedi\n"));
    let frame = |args: &[&str]| fsym.run("lookup", args).json()[0]["Symbol"][0].clone();
    let readable = frame(&["--json", &address]);
    assert_eq!(
        (&readable["FunctionName"], &readable["LinkageName"]),
        (&"partitioned(int)".into(), &"_Z11partitionedi".into())
    );
    assert_eq!(frame(&["--json", "--no-demangle", &address])["FunctionName"], "_Z11partitionedi");
}

/// The names are stored in readable form: nothing demangles them, and none is a linkage name.
#[test]
fn readable_names_can_be_stored() {
    let with_linkage = Fsym::of("objects.clang-o2", &[]);
    let found = with_linkage.run("find", &["_Z11partitionedi"]);
    let address = found.out.split(['\t', '-']).nth(1).unwrap().to_owned();
    let fsym = Fsym::of("objects.clang-o2", &["--demangled"]);
    assert_eq!(fsym.run("info", &["--json"]).json()[0]["ReadableNames"], true);
    for args in [&["--json", &address][..], &["--json", "--no-demangle", &address]] {
        let frame = &fsym.run("lookup", args).json()[0]["Symbol"][0];
        assert_eq!(
            (&frame["FunctionName"], &frame["LinkageName"]),
            (&"partitioned".into(), &"partitioned".into())
        );
    }
    assert!(fsym.run("find", &["partitioned"]).out.starts_with("partitioned\t"));
    // No parameters are stored, so none are compared.
    assert!(fsym.run("find", &["partitioned(int)"]).out.starts_with("partitioned\t"));
    assert_eq!(fsym.run("find", &["_Z11partitionedi"]).code, 1);
    // Every name, and all else of the file, against the program.
    let program = common::program("objects.clang-o2");
    let verified = fsym.run("verify", &["--against", program.to_str().unwrap()]);
    assert_eq!(verified.code, 0, "{verified:?}");
}

#[test]
fn answers_come_before_the_input_ends() {
    let fsym = Fsym::of("inline.clang-dwarf5", &[]);
    let mut child = command()
        .args(["lookup", fsym.str(), "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    for address in ["0x201540", "0x10", "zz"] {
        // The end of the next line is still missing: the answer must not wait for it.
        write!(input, "{address}\n0x1").unwrap();
        input.flush().unwrap();
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        assert!(line.starts_with("{\"Address\""), "{line}");
        writeln!(input).unwrap();
        output.read_line(&mut line).unwrap();
    }
    drop(input);
    assert_eq!(child.wait().unwrap().code(), Some(2));
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let fsym = Fsym::of("inline.clang-dwarf5", &[]);
    let mut child = command()
        .args(["lookup", fsym.str()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut input = child.stdin.take().unwrap();
    for _ in 0..100_000 {
        if input.write_all(b"0x201540\n").is_err() {
            break;
        }
    }
    drop(input);
    let out = child.wait_with_output().unwrap();
    assert_eq!((out.status.code(), out.stderr.as_slice()), (Some(0), &b""[..]));
}

#[test]
fn files_that_are_none() {
    let fsym = Fsym::of("inline.clang-dwarf5", &[]);
    let bytes = std::fs::read(&fsym.path).unwrap();
    let folder = fsym.folder.path();
    let mut flipped = bytes.clone();
    flipped[20] ^= 1;
    let longer = [bytes.as_slice(), b"x"].concat();
    for (name, content) in [
        ("empty", &b""[..]),
        ("text", b"hello"),
        ("short", &bytes[..bytes.len() / 2]),
        ("flipped", &flipped),
        ("longer", &longer),
    ] {
        let path = file(folder, name, content);
        for command in ["lookup", "stack", "find", "info", "dump", "verify"] {
            let mut args = vec![command, path.to_str().unwrap()];
            if matches!(command, "lookup" | "stack" | "find") {
                args.push("0x10");
            }
            let ran = foldsym(&args);
            assert_eq!((ran.code, ran.out.as_str()), (3, ""), "{command} {name}: {ran:?}");
            assert!(
                ran.err.starts_with("foldsym: ") && ran.err.lines().count() == 1 && ran.err.contains(name),
                "{}",
                ran.err
            );
        }
    }
    let missing = foldsym(&["lookup", "/nonexistent/x.fsym", "1"]);
    assert_eq!(missing.code, 3);
    assert!(missing.err.contains("/nonexistent/x.fsym"));
    assert_eq!(foldsym(&["lookup", folder.to_str().unwrap(), "1"]).code, 3);
}

/// Each text is that of `llvm-symbolizer` with the same options on the same program.
#[test]
fn text_has_llvm_symbolizers_options() {
    let fsym = Fsym::of("inline.clang-dwarf5", &["--columns"]);
    let (inner, outer) = ("/src/./inline.h:32:70", "/src/inline.c:62:53");
    for (options, known, unknown) in [
        ("-a", format!("0x2011c8\nstep1\n{inner}\nchain\n{outer}\n"), "0x10\n??\n??:0:0\n"),
        ("-p", format!("step1 at {inner}\n (inlined by) chain at {outer}\n"), "?? at ??:0:0\n"),
        (
            "-ap",
            format!("0x2011c8: step1 at {inner}\n (inlined by) chain at {outer}\n"),
            "0x10: ?? at ??:0:0\n",
        ),
        ("-f=none", format!("{inner}\n{outer}\n"), "??:0:0\n"),
        ("-fCi", format!("step1\n{inner}\nchain\n{outer}\n"), "??\n??:0:0\n"),
        ("--no-inlines", format!("chain\n{inner}\n"), "??\n??:0:0\n"),
        ("-s", "step1\ninline.h:32:70\nchain\ninline.c:62:53\n".to_owned(), "??\n??:0:0\n"),
    ] {
        let ran = fsym.run("lookup", &[options, "0x2011c8", "0x10"]);
        assert_eq!((ran.code, ran.out), (0, format!("{known}\n{unknown}\n")), "{options}");
    }
}

#[test]
fn a_program_answers_as_its_symbol_file_does() {
    let cache = tempfile::tempdir().unwrap();
    for name in ["demo.elf", "macho.arm64.dSYM", "inline.gcc-dwarf5"] {
        let fsym = Fsym::of(name, &["--columns"]);
        let path = common::program(name);
        let path = path.to_str().unwrap();
        // The second time it comes from the cache.
        for _ in 0..2 {
            for (command, args) in
                [("lookup", &["0x2012b0", "0x201180"][..]), ("stack", &["0x2012b0", "0x201190"])]
            {
                let run = |file: &str| {
                    let mut command_line = common::command();
                    command_line.arg(command).arg(file).arg("--json").args(args);
                    let ran = command_line.env("FOLDSYM_CACHE", cache.path()).output().unwrap();
                    assert!(ran.status.success(), "{ran:?}");
                    String::from_utf8(ran.stdout).unwrap()
                };
                assert_eq!(run(path), run(fsym.str()).replace(fsym.str(), path), "{name}");
            }
        }
    }
    let ran = foldsym(&["info", common::program("demo.elf").to_str().unwrap()]);
    assert!(ran.code == 3 && ran.err.contains("a program, not a symbol file; convert it first"), "{ran:?}");
    let text = common::file(cache.path(), "text", b"no program at all");
    let ran = foldsym(&["lookup", text.to_str().unwrap(), "0x10"]);
    assert!(ran.code == 3 && ran.err.contains("expected an ELF or Mach-O file"), "{ran:?}");
}

#[test]
fn addresses_that_are_perhaps_hexadecimal() {
    let fsym = Fsym::of("inline.clang-dwarf5", &[]);
    let hint = "foldsym: no address is in the code; numbers without 0x are decimal\n";
    // 0x2011c8 and 0x201540 without their 0x; the second is a number of decimal digits.
    let ran = fsym.run_with("lookup", &[], "201540\n0x10\n");
    assert_eq!((ran.code, ran.err.as_str()), (0, hint));
    assert_eq!(fsym.run("stack", &["--json", "201540"]).err, hint);
    // Where one is in the code, or all have their 0x, there is nothing to say.
    for args in [&["201540", "0x201540"][..], &["0x10"], &["2102592"]] {
        assert_eq!(fsym.run("lookup", args).err, "", "{args:?}");
    }
    let ran = fsym.run("lookup", &["2011c8"]);
    assert!(
        ran.code == 2 && ran.err.contains("\"2011c8\" is not an address (hexadecimal digits without 0x)")
    );
}

#[test]
fn a_long_line_is_not_repeated_whole() {
    let fsym = Fsym::of("inline.clang-dwarf5", &[]);
    let long = "x".repeat(1_000_000);
    for (command, input) in [
        ("lookup", format!("{long}\n")),
        ("lookup", format!("{long}:1\n.text:{long}\n")),
        ("stack", format!("0x10 {long}\n")),
        ("stack", format!("{{\"{long}\": 1}}\n{{\"pcs\": [\"{long}\"]}}\n{{\"pcs\": [[\"{long}\"]]}}\n")),
        ("stack", format!("{{\"pcs\": [1], \"regs\": {{\"{long}\": 1}}}}\n")),
        ("stack", format!("{{\"pcs\": [1], \"regs\": {{\"rax\": \"{long}\"}}}}\n")),
        ("stack", format!("{{\"pcs\": [1], \"mem\": [{{\"addr\": \"{long}\"}}]}}\n")),
    ] {
        for json in [&[][..], &["--json"]] {
            let ran = fsym.run_with(command, json, &input);
            assert_eq!(ran.code, 2, "{}", &input[..40]);
            let most = 600 * input.lines().count();
            assert!(
                ran.err.len() + ran.out.len() < most,
                "{} bytes of {command}",
                ran.err.len() + ran.out.len()
            );
        }
    }
}

#[test]
fn an_error_says_which_address_it_is_about() {
    let fsym = Fsym::of("inline.clang-dwarf5", &[]);
    let error = &fsym.run("lookup", &["--json", " foo "]).json()[0];
    assert_eq!((&error["Address"], &error["ModuleName"]), (&"foo".into(), &fsym.str().into()));
    assert!(error["Error"]["Message"].is_string());
}

/// The folder of converted programs is made when there is something to keep.
#[test]
fn a_symbol_file_needs_no_cache() {
    let fsym = Fsym::of("demo.elf", &[]);
    let home = tempfile::tempdir().unwrap();
    let run = |file: &str| {
        let mut command = common::command();
        command.env("HOME", home.path()).env_remove("FOLDSYM_CACHE").env_remove("XDG_CACHE_HOME");
        let done = command.args(["lookup", file, "0x2012b0"]).output().unwrap();
        assert!(done.status.success() && done.stdout.starts_with(b"demo::print_address"), "{done:?}");
        std::fs::read_dir(home.path()).unwrap().count()
    };
    assert_eq!(run(fsym.str()), 0);
    assert_eq!(run(common::program("demo.elf").to_str().unwrap()), 1);
    assert!(home.path().join(".cache/foldsym/format").is_file());
}
