//! `llvm-symbolizer --filter-markup` beside the tool itself: the same bytes on both streams, for the same log.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const TOOL: &str = "/usr/lib/llvm-22/bin/llvm-symbolizer";

/// Programs of testbins, in a folder of debug files by build id, with the ids.
struct Programs {
    folder: tempfile::TempDir,
    ids: Vec<String>,
}

impl Programs {
    fn new(names: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../testbins/built");
        let place = |name: &&str| {
            let bytes = std::fs::read(built.join(name)).unwrap();
            let id =
                object::Object::build_id(&object::File::parse(&*bytes).unwrap()).unwrap().unwrap().to_vec();
            let id: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
            let place = folder.path().join(".build-id").join(&id[..2]);
            std::fs::create_dir_all(&place).unwrap();
            std::fs::write(place.join(format!("{}.debug", &id[2..])), bytes).unwrap();
            id
        };
        let ids = names.iter().map(place).collect();
        Self { folder, ids }
    }

    /// A symbolizer's result for a log: its output, its errors, and its exit code.
    fn ask(
        &self,
        program: &str,
        first: &[&str],
        options: &[&str],
        log: &[u8],
    ) -> (String, String, Option<i32>) {
        let mut command = Command::new(program);
        command.args(first).arg("--filter-markup").args(options);
        command.arg("--debug-file-directory").arg(self.folder.path());
        command.env("FOLDSYM_CACHE", self.folder.path().join("cache"));
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        let log = log.to_vec();
        let writer = std::thread::spawn(move || input.write_all(&log));
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (text(&output.stdout), text(&output.stderr), output.status.code())
    }

    /// Both tools, with these options.
    fn compare(&self, tool: &str, options: &[&str], log: &str) -> String {
        let real = PathBuf::from(TOOL).with_file_name(tool);
        let real = self.ask(real.to_str().unwrap(), &[], options, log.as_bytes());
        let ours = self.ask(env!("CARGO_BIN_EXE_foldsym"), &[tool], options, log.as_bytes());
        assert_eq!(ours, real, "{tool} {options:?}\n{log}");
        assert_eq!(ours.2, Some(0));
        ours.0
    }
}

/// Whether the tool is there.
fn has_tool() -> bool {
    let there = Path::new(TOOL).is_file();
    if !there {
        println!("skipped: needs llvm-symbolizer of LLVM 22");
        assert!(std::env::var("CI").as_deref() != Ok("true"), "llvm-symbolizer is missing");
    }
    there
}

/// Elements that declare, elements that are answered, and such that are wrong.
fn log(ids: &[String]) -> String {
    let (demo, inline) = (&ids[0], &ids[1]);
    format!(
        "before {{{{{{bt:0:0x100012b0}}}}}}
{{{{{{reset}}}}}}
{{{{{{module:0:demo.elf:elf:{demo}}}}}}}
{{{{{{mmap:0x10000000:0x2000:load:0:rX:0x200000}}}}}}
text {{{{{{module:0x1:a name:elf:{inline}}}}}}} that is left out
{{{{{{mmap:0x20000000:65536:load:1:r:0x200000}}}}}}
{{{{{{mmap:0x30000000:010000:load:1:w:0x200000}}}}}}
{{{{{{mmap:0x10010000:0x1000:load:0:RWX:0x210000}}}}}}
{{{{{{bt:0:0x100012b0:pc}}}}}}
{{{{{{bt:1:0x10001350}}}}}}
{{{{{{bt:02:0x10001350:ra}}}}}} and {{{{{{bt:123456:0x20001401:ra}}}}}} text
{{{{{{bt:3:0x20001400:pc}}}}}} {{{{{{bt:4:0x30001400:pc}}}}}}
{{{{{{bt:5:0x10000001}}}}}}{{{{{{bt:6:0x5}}}}}}
{{{{{{pc:0x100012b0}}}}}} {{{{{{pc:0x100012b0:ra}}}}}} {{{{{{pc:0x20001400:pc}}}}}} {{{{{{pc:0x10000001}}}}}} {{{{{{pc:0x7}}}}}}
{{{{{{data:0x100012b0}}}}}} {{{{{{data:0x10000001}}}}}} {{{{{{data:9}}}}}} {{{{{{data:0x9}}}}}} {{{{{{data}}}}}}
{{{{{{symbol:_ZN4demo5crashEv}}}}}} {{{{{{symbol:main}}}}}} {{{{{{symbol:}}}}}} {{{{{{symbol:_Z1fi:more}}}}}} {{{{{{symbol}}}}}}
{{{{{{bt:x:0x100012b0}}}}}} {{{{{{bt:1:100012b0}}}}}} {{{{{{bt:1:0x100012b0:zz}}}}}} {{{{{{bt:1}}}}}} {{{{{{bt:1:0x100012b0:pc:more}}}}}}
{{{{{{pc:0x}}}}}} {{{{{{pc:0xzz}}}}}} {{{{{{pc:0x11112222333344445}}}}}} {{{{{{pc:+0x1}}}}}} {{{{{{pc:0x+1}}}}}} {{{{{{pc:000}}}}}} {{{{{{pc:}}}}}}
{{{{{{Bt:1:0x100012b0}}}}}} {{{{{{b2:1}}}}}} {{{{{{:x}}}}}} {{{{{{}}}}}} {{{{{{other:1:2}}}}}} {{{{{{bt:1:0x1
{{{{{{hexdict:1
2}}}}}} {{{{{{dumpfile:sink:file}}}}}}
{{{{{{module:0:again:elf:{demo}}}}}}} {{{{{{pc:0x100012b0}}}}}}
{{{{{{module:2:x:pe:ab}}}}}}
{{{{{{module:2:x:elf}}}}}}
{{{{{{module:2:x}}}}}}
{{{{{{module:zz:x:elf:ab}}}}}}
{{{{{{module:2:x:elf:zz}}}}}}
{{{{{{module:2:no file:elf:abc:more}}}}}}
{{{{{{mmap:0x40000000:0x1000:load:2:x:0}}}}}}
{{{{{{pc:0x40000000}}}}}} {{{{{{bt:1:0x40000001}}}}}} {{{{{{data:0x40000001}}}}}}
{{{{{{mmap:0x10000800:0x1000:load:0:r:0}}}}}}
{{{{{{mmap:0xffff000:0x1001:load:0:r:0}}}}}}
{{{{{{mmap:0x50000000:0:load:0:r:0}}}}}}
{{{{{{mmap:0x50000000:0:load:0:w:0}}}}}}
{{{{{{mmap:0x50000000:1:load:9:r:0}}}}}}
{{{{{{mmap:0x50000000:1:load:0:q:0}}}}}}
{{{{{{mmap:0x50000000:1:load:0::0}}}}}}
{{{{{{mmap:0x50000000:1:load:0:xr:0}}}}}}
{{{{{{mmap:0x50000000:1:none:0:r:0}}}}}}
{{{{{{mmap:0x50000000:zz:load:0:r:0}}}}}}
{{{{{{mmap:50000000:1:load:0:r:0}}}}}}
{{{{{{mmap:0x50000000:1:load:0:r}}}}}}
{{{{{{mmap:0x50000000:1}}}}}}
{{{{{{mmap:0xfffffffffffff000:0x2000:load:0:r:0}}}}}}
\x1b[1mbold \x1b[31mred {{{{{{symbol:_Z1fv}}}}}} \x1b[34mblue {{{{{{pc:0x100012b0}}}}}} \x1b[0mplain \x1b[5m\x1b[38m
\x1b[1m{{{{{{symbol:_Z1fv}}}}}}
a line with another end {{{{{{bt:0:0x100012b0:pc}}}}}}\r
{{{{{{reset:1}}}}}}\r
{{{{{{reset}}}}}} twice
{{{{{{module:0:last:elf:{demo}}}}}}}
{{{{{{mmap:0x1000:0x1000:load:0:r:0}}}}}}"
    )
}

#[test]
fn a_log_is_filtered_as_the_tool_filters_it() {
    if !has_tool() {
        return;
    }
    let programs = Programs::new(&["demo.elf", "inline.clang-dwarf5-o1"]);
    let log = log(&programs.ids);
    let out = programs.compare("llvm-symbolizer", &[], &log);
    assert!(out.contains("    #0.1  0x00000000100012b0 demo::print_address(unsigned long) /src/demo/demo.cpp:49:50 (demo.elf+0x2012b0)\n"), "{out}");
    for options in [
        &["--color"][..],
        &["--color=always"],
        &["--color=never"],
        &["--color=none"],
        &["--color="],
        &["--color", "--color=never"],
        &["--color=never", "--color"],
        &["--color=always", "--color=never"],
        &["--no-demangle"],
        &["--basenames"],
        &["--no-inlines"],
        &["--functions=none"],
        &["--functions=short", "-s"],
        &["--output-style=JSON"],
        &["--output-style=GNU", "--adjust-vma=0x1000", "-a", "-p", "--verbose"],
        // Neither is read: the log says which modules there are.
        &["--obj=/nowhere", "0x10"],
    ] {
        programs.compare("llvm-symbolizer", options, &log);
    }
    programs.compare("llvm-addr2line", &[], &log);
    programs.compare("llvm-addr2line", &["-C", "-f"], &log);
    for small in ["", "\n", "{{{", "}}}{{{reset}}}", "no end", "\r", "{{{reset}}}\n{{{bt:0:0x1}}}"] {
        programs.compare("llvm-symbolizer", &[], small);
    }
}

/// Bytes that are no text go through.
#[test]
fn bytes_of_any_kind() {
    if !has_tool() {
        return;
    }
    let programs = Programs::new(&["demo.elf", "inline.clang-dwarf5-o1"]);
    let mut log = b"\xff\x00{{{symbol:\xfe\xff}}}\xf0{{{pc:\xff}}}{{{\xff:1}}}\n".to_vec();
    log.extend_from_slice(format!("{{{{{{module:0:\u{e4}:elf:{}}}}}}}\n", programs.ids[0]).as_bytes());
    log.extend_from_slice(b"{{{mmap:0x10000000:0x2000:load:0:r:0x200000}}}\n{{{bt:0:0x100012b0}}}");
    let real = programs.ask(TOOL, &[], &[], &log);
    let ours = programs.ask(env!("CARGO_BIN_EXE_foldsym"), &["llvm-symbolizer"], &[], &log);
    assert_eq!(ours, real);
}

/// A log is a stranger's: one line of many elements, and many modules, cost what their bytes cost.
#[test]
fn a_log_of_many_elements() {
    let programs = Programs::new(&["demo.elf", "inline.clang-dwarf5-o1"]);
    let mut log = String::new();
    for module in 0..70_000 {
        log.push_str(&format!("{{{{{{module:{module}:m:elf:ab}}}}}}\n"));
    }
    log.push_str(&"{{{symbol:f}}}{{{:}}}{{{".repeat(40_000));
    log.push('\n');
    log.push_str(&"{{{pc}}}".repeat(100_000));
    log.push('\n');
    log.push_str(&"x".repeat(3 << 20));
    log.push_str("\nend\n");
    let (out, err, code) =
        programs.ask(env!("CARGO_BIN_EXE_foldsym"), &["llvm-symbolizer"], &[], log.as_bytes());
    assert_eq!(code, Some(0));
    assert_eq!(out.matches("[[[ELF module").count(), 1 << 16);
    assert_eq!(err.matches("error: too many modules").count(), 70_000 - (1 << 16));
    assert_eq!(err.matches("error: expected at least 1 field(s)").count(), 63);
    assert!(err.len() < 63 * (2 << 20), "{}", err.len());
    assert!(err.contains("error: further errors in this line are not shown\n"));
    // A line that is too long for markup is passed on as it is.
    assert!(out.ends_with(&format!("{}\nend\n", "x".repeat(3 << 20))));
}
