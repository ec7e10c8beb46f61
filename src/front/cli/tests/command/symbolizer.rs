//! Speaks with `foldsym llvm-symbolizer`, `llvm-addr2line` and `addr2line` as recorded with the tools of these names.
//!
//! A transcript is a list of cases. Lines that begin with `$` are the command, `<` standard input, `|` standard output, `!` standard error,
//! `=` the exit code. `FOLDSYM_RECORD=1 cargo test -p foldsym --test command symbolizer::` runs the tools of LLVM 22 (below `/usr/lib/llvm-22/bin`)
//! and GNU's 2.40 in `testbins/built`, and writes their output in place of the last three.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A command, and its input.
struct Case {
    command: Vec<String>,
    input: String,
    /// As the transcript has it.
    said: String,
}

fn cases(text: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (mark, rest) = line.split_at(1);
        let rest = rest.strip_prefix(' ').unwrap_or(rest);
        if mark == "$" {
            let command = rest.split('~').map(|word| word.trim().to_owned()).collect();
            cases.push(Case { command, input: String::new(), said: String::new() });
            continue;
        }
        let case = cases.last_mut().expect("a command comes first");
        match mark {
            "<" => case.input.push_str(&format!("{rest}\n")),
            "|" | "!" | "=" => case.said.push_str(&format!("{line}\n")),
            _ => panic!("{line}: a line begins with one of $<|!="),
        }
    }
    cases
}

fn built() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../testbins/built")
}

/// The result of a tool, in the form of a transcript. `name` is the tool's name in messages.
fn said(mut command: Command, case: &Case, name: &str) -> String {
    command.current_dir(built()).args(&case.command[1..]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let program = command.get_program().to_string_lossy().into_owned();
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let text = case.input.clone();
    // A tool that stops at once does not read it.
    let writer = std::thread::spawn(move || {
        let _ = input.write_all(text.as_bytes());
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    let mut said = String::new();
    for (mark, bytes) in [('|', &output.stdout), ('!', &output.stderr)] {
        let text = String::from_utf8_lossy(bytes).replace(&program, name);
        for line in text.lines() {
            let _ = writeln!(said, "{}", format!("{mark} {line}").trim_end());
        }
    }
    let _ = writeln!(said, "= {}", output.status.code().unwrap());
    said
}

/// Removes data from a transcript that a symbol file lacks: the start of an inlined function.
fn comparable(said: &str) -> String {
    let mut kept = String::new();
    for line in said.lines().filter(|line| !line.starts_with("|   Function start address:")) {
        let mut rest = line;
        let key = "\"StartAddress\":";
        while let Some(at) = rest.find(key) {
            kept.push_str(&rest[..at + key.len()]);
            let value = rest[at + key.len()..].trim_start().strip_prefix('"').unwrap_or_default();
            rest = value.split_once('"').map_or("", |(_, rest)| rest);
        }
        kept.push_str(rest);
        kept.push('\n');
    }
    kept
}

fn check(name: &str, real: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/transcripts/{name}.txt"));
    let text = std::fs::read_to_string(&path).unwrap();
    let cases = cases(&text);
    assert!(cases.len() > 5, "{name}: the transcript is nearly empty");
    if std::env::var_os("FOLDSYM_RECORD").is_some() {
        let comments = text.lines().take_while(|line| line.starts_with('#'));
        let mut new: String = comments.map(|line| format!("{line}\n")).collect();
        for case in &cases {
            let _ = writeln!(new, "\n$ {}", case.command.join(" ~ "));
            case.input.lines().for_each(|line| {
                let _ = writeln!(new, "{}", format!("< {line}").trim_end());
            });
            new.push_str(&said(Command::new(real), case, name));
        }
        return std::fs::write(&path, new).unwrap();
    }
    let cache = tempfile::tempdir().unwrap();
    for case in &cases {
        let mut command = Command::new(env!("CARGO_BIN_EXE_foldsym"));
        command.arg(name).env("FOLDSYM_CACHE", cache.path());
        for variable in ["LLVM_SYMBOLIZER_OPTS", "LLVM_ADDR2LINE_OPTS"] {
            command.env_remove(variable);
        }
        let ours = said(command, case, name);
        assert_eq!(comparable(&ours), comparable(&case.said), "{:?} < {:?}", case.command, case.input);
    }
}

#[test]
fn llvm_symbolizer() {
    check("llvm-symbolizer", "/usr/lib/llvm-22/bin/llvm-symbolizer");
}

#[test]
fn llvm_addr2line() {
    check("llvm-addr2line", "/usr/lib/llvm-22/bin/llvm-addr2line");
}

#[test]
fn addr2line() {
    check("addr2line", "/usr/bin/addr2line");
}

/// A link of the tool's name is enough.
#[test]
fn links_speak_as_the_tools_whose_names_they_have() {
    let folder = tempfile::tempdir().unwrap();
    let links = folder.path().join("bin");
    let made = Command::new(env!("CARGO_BIN_EXE_foldsym")).arg("shims").arg(&links).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    let program = built().join("inline.clang-dwarf4");
    let run = |name: &str, args: &[&str]| {
        let mut command = Command::new(links.join(name));
        command.arg("-e").arg(&program).args(args).env("FOLDSYM_CACHE", folder.path());
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    assert_eq!(run("addr2line", &["-f", "0x201400"]), "step6\n/src/./inline.h:12\n");
    assert_eq!(run("llvm-addr2line", &["-a", "201400"]), "0x201400\n/src/./inline.h:12\n");
    assert!(run("llvm-symbolizer", &["0x201400"]).starts_with("step6\n/src/./inline.h:12:"));
    // Links are replaced, other files stay.
    assert!(Command::new(env!("CARGO_BIN_EXE_foldsym")).arg("shims").arg(&links).status().unwrap().success());
    std::fs::remove_file(links.join("addr2line")).unwrap();
    std::fs::write(links.join("addr2line"), "own").unwrap();
    let refused = Command::new(env!("CARGO_BIN_EXE_foldsym")).arg("shims").arg(&links).output().unwrap();
    assert_eq!(refused.status.code(), Some(3));
    // The links before it are there, and were printed.
    let made = ["llvm-symbolizer", "llvm-addr2line"].map(|name| format!("{}\n", links.join(name).display()));
    assert_eq!(String::from_utf8(refused.stdout).unwrap(), made.concat());
    assert_eq!(std::fs::read(links.join("addr2line")).unwrap(), b"own");
}

/// The cache is used with other options of a conversion first, and then without.
#[test]
fn options_of_a_conversion_leave_a_cache_that_works() {
    let folder = tempfile::tempdir().unwrap();
    let (cache, program) = (folder.path().join("cache"), built().join("inline.clang-dwarf4"));
    let run = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_foldsym"));
        command.args(args).arg(&program).arg("0x201400").env("FOLDSYM_CACHE", &cache);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let folder = folder.path().to_str().unwrap();
    assert!(run(&["llvm-symbolizer", "--debug-file-directory", folder, "-e"]).starts_with("step6\n"));
    assert!(run(&["lookup", "--cache", cache.to_str().unwrap()]).starts_with("step6\n"));
    let checked = Command::new(env!("CARGO_BIN_EXE_foldsym")).args(["store", "check"]).arg(&cache).output();
    let checked = String::from_utf8(checked.unwrap().stdout).unwrap();
    assert!(checked.starts_with("2 sound files, "), "{checked}");
}

/// A `.fsym` is a module as its program is, and a folded function says so in JSON.
#[test]
fn a_symbol_file_in_the_place_of_a_program() {
    let folder = tempfile::tempdir().unwrap();
    let program = built().join("fold.clang-lld.set/program");
    let file = folder.path().join("program.fsym");
    let mut convert = Command::new(env!("CARGO_BIN_EXE_foldsym"));
    assert!(
        convert
            .arg("convert")
            .arg(&program)
            .arg("--columns")
            .arg("-qo")
            .arg(&file)
            .status()
            .unwrap()
            .success()
    );
    let symbols =
        Command::new(env!("CARGO_BIN_EXE_foldsym")).args(["dump", file.to_str().unwrap()]).output().unwrap();
    assert!(symbols.status.success());
    let run = |module: &Path, address: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_foldsym"));
        command.args(["llvm-symbolizer", "--output-style=JSON", "--obj"]).arg(module).arg(address);
        let output = command.env("FOLDSYM_CACHE", folder.path()).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        value[0].clone()
    };
    let lookup = |address: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_foldsym"));
        let output = command.args(["lookup", "--json"]).arg(&file).arg(address).output().unwrap();
        serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap()
    };
    let mut folded = 0;
    let header = object_symbols(&program);
    for address in header.iter().map(|address| format!("{address:#x}")) {
        let (of_program, of_file) = (run(&program, &address), run(&file, &address));
        assert_eq!(of_program["Symbol"], of_file["Symbol"], "{address}");
        let expected = lookup(&address);
        assert_eq!(of_file["Symbol"][0]["FunctionName"], expected["Symbol"][0]["FunctionName"], "{address}");
        if expected["CandidateCount"].is_number() {
            assert_eq!(of_file["CandidateCount"], expected["CandidateCount"]);
            assert_eq!(of_file["Certainty"], expected["Certainty"]);
            folded += 1;
        }
        if folded >= 3 {
            break;
        }
    }
    assert!(folded >= 3, "{folded} folded functions");
}

/// A standard input that cannot be read is not a fault of the output.
#[test]
fn an_input_that_cannot_be_read_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let program = built().join("inline.clang-dwarf4");
    for options in [&[][..], &["--filter-markup"]] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_foldsym"));
        command.arg("llvm-symbolizer").args(options);
        if options.is_empty() {
            command.arg("-e").arg(&program);
        }
        command.env("FOLDSYM_CACHE", folder.path().join("cache"));
        // A folder can be opened, but not read.
        let output = command.stdin(std::fs::File::open(folder.path()).unwrap()).output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(3), "{err}");
        assert!(err.starts_with("foldsym: standard input: Is a directory"), "{err}");
    }
}

/// Where the functions of a program start.
fn object_symbols(program: &Path) -> Vec<u64> {
    use object::{Object, ObjectSymbol, SymbolKind};
    let bytes = std::fs::read(program).unwrap();
    let file = object::File::parse(bytes.as_slice()).unwrap();
    let functions = file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.size() > 0);
    let mut starts: Vec<u64> = functions.map(|symbol| symbol.address()).collect();
    starts.sort_unstable();
    // Folded functions have several symbols at one address.
    let twice: Vec<u64> = starts.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]).collect();
    starts.dedup();
    starts.truncate(5);
    starts.extend(twice);
    starts
}

/// Paths need not be UTF-8, on the command line, in lines and in response files.
#[test]
#[cfg(unix)]
fn paths_that_are_not_utf_8() {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(std::ffi::OsStr::from_bytes(b"caf\xe9 au lait"));
    std::fs::copy(built().join("inline.clang-dwarf4"), &path).unwrap();
    let bytes = path.as_os_str().as_bytes();
    let run = |tool: &str, args: &[&[u8]], input: &[u8]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_foldsym"));
        command.arg(tool).args(args.iter().map(|arg| std::ffi::OsString::from_vec(arg.to_vec())));
        command.env("FOLDSYM_CACHE", folder.path().join("cache"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        let output = child.wait_with_output().unwrap();
        (
            String::from_utf8_lossy(&output.stdout).into_owned(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )
    };
    assert_eq!(run("addr2line", &[b"-f", b"-e", bytes, b"201400"], b"").0, "step6\n/src/./inline.h:12\n");
    let line = [b"\"", bytes, b"\" 0x201400\n"].concat();
    let (out, err) = run("llvm-symbolizer", &[], &line);
    assert!(out.starts_with("step6\n/src/./inline.h:12:") && err.is_empty(), "{out} {err}");
    let response = folder.path().join("response");
    std::fs::write(&response, [b"--obj=\"", bytes, b"\""].concat()).unwrap();
    let at = [b"@", response.as_os_str().as_bytes()].concat();
    assert!(run("llvm-symbolizer", &[&at, b"0x201400"], b"").0.starts_with("step6\n"));
    let (json, _) = run("llvm-symbolizer", &[b"--output-style=JSON", b"-e", bytes, b"0x201400"], b"");
    assert!(json.contains("caf\u{fffd} au lait") && json.contains("step6"), "{json}");
    let (_, err) = run("addr2line", &[b"-e", b"gon\xe9", b"1"], b"");
    assert!(err.contains("'gon\\xe9': No such file"), "{err}");
}

/// Build ids are looked up in the store that the environment names.
#[test]
fn build_ids_are_answered_from_a_store() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let program = built().join("demo.elf");
    let run = |args: &[&str], has_store: bool| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_foldsym"));
        command.args(args).env("FOLDSYM_CACHE", folder.path().join("cache")).stdin(Stdio::null());
        if has_store {
            command.env("FOLDSYM_STORE", &store);
        }
        let output = command.output().unwrap();
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    run(&["convert", program.to_str().unwrap(), "--store", store.to_str().unwrap()], false);
    let (listed, _) = run(&["store", "list", "--json", store.to_str().unwrap()], false);
    let id: serde_json::Value = serde_json::from_str(listed.lines().next().unwrap()).unwrap();
    let request = format!("BUILDID:{} 0x2012b0", id["BuildId"].as_str().unwrap());
    let (out, err) = run(&["llvm-symbolizer", &request], true);
    assert!(out.contains("demo::crash()") && err.is_empty(), "{out} {err}");
    let (out, err) = run(&["llvm-symbolizer", &request], false);
    assert!(out.starts_with("??\n") && err.contains("could not find build ID"), "{out} {err}");
    let (_, err) = run(&["llvm-symbolizer", "BUILDID:abcdef 0x10"], true);
    assert!(err.contains("could not find build ID"), "{err}");
    std::fs::remove_dir_all(&store).unwrap();
    let (_, err) = run(&["llvm-symbolizer", &request], true);
    assert!(err.contains("FOLDSYM_STORE: ") && err.contains("store"), "{err}");
}

/// A function that only a local symbol shows has the file of that symbol, and no line.
#[test]
fn the_file_of_a_symbol_without_a_line() {
    use foldsym_testkit::dwarf::{CODE, Symbol, elf_with};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app");
    let symbols = [
        Symbol::File("crtstuff.c"),
        Symbol::Local(("quiet", CODE, 0x10)),
        Symbol::Global(("seen", CODE + 0x10, 0x10)),
    ];
    let elf = elf_with(CODE, &[], &symbols);
    std::fs::write(&path, &elf).unwrap();
    let addresses = [format!("{CODE:#x}"), format!("{:#x}", CODE + 0x10)];
    let run = |tool: &str, args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_foldsym"));
        command.arg(tool).args(args).args(&addresses).env("FOLDSYM_CACHE", folder.path());
        let input = std::fs::File::open(&path).unwrap();
        String::from_utf8(command.stdin(input).output().unwrap().stdout).unwrap()
    };
    let llvm = "quiet\ncrtstuff.c:0:0\n\nseen\n??:0:0\n\n";
    let named = path.to_str().unwrap();
    assert_eq!(run("llvm-symbolizer", &["-e", named]), llvm);
    assert_eq!(run("llvm-addr2line", &["-fe", named]), "quiet\ncrtstuff.c:0\nseen\n??:0\n");
    assert_eq!(run("addr2line", &["-fe", named]), "quiet\ncrtstuff.c:?\nseen\n??:?\n");
    // LLVM's name of the program on standard input.
    assert_eq!(run("llvm-symbolizer", &["--obj=-"]), llvm);
}

/// A client may name any number of files that are not there. Each took 20 KB.
#[cfg(target_os = "linux")]
#[test]
fn absent_modules_take_no_memory() {
    use std::io::BufRead as _;

    const MODULES: usize = 30_000;
    let mut child = Command::new(env!("CARGO_BIN_EXE_foldsym"))
        .arg("llvm-symbolizer")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || {
        for number in 0..MODULES {
            writeln!(input, "/absent/{number} 0x10").unwrap();
        }
        input
    });
    // Each answer has three lines.
    let answers = std::io::BufReader::new(child.stdout.take().unwrap()).lines().take(3 * MODULES);
    assert_eq!(answers.map(Result::unwrap).filter(|line| line == "??").count(), MODULES);
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap().trim();
    let kilobytes: usize = peak.split(' ').next().unwrap().parse().unwrap();
    drop(writer.join().unwrap());
    child.wait().unwrap();
    assert!(kilobytes < 200_000, "{peak}");
}

/// A terminal would obey what a name has, so it gets it escaped. Programs get the name as it is.
#[cfg(target_os = "linux")]
#[test]
fn a_terminal_obeys_no_name() {
    let tool = format!("'{}' llvm-symbolizer --filter-markup", env!("CARGO_BIN_EXE_foldsym"));
    let text = "a\u{1b}]0;title\u{7}b\u{9b}c";
    let run = |terminal: bool| {
        let mut command = Command::new(if terminal { "script" } else { "sh" });
        match terminal {
            true => command.args(["-qec", &format!("printf '{text}\n' | {tool}"), "/dev/null"]),
            false => command.args(["-c", &format!("printf '{text}\n' | {tool}")]),
        };
        command.stdin(Stdio::null()).output().ok().map(|ran| String::from_utf8(ran.stdout).unwrap())
    };
    assert_eq!(run(false).unwrap(), format!("{text}\n"));
    let Some(shown) = run(true) else { return println!("skipped: needs script") };
    assert_eq!(shown.trim_end(), "a\\u{1b}]0;title\\u{7}b\\u{9b}c");
}
