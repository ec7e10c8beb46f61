//! The scripts for gdb and lldb, in a program that is running and in its core.

use std::path::{Path, PathBuf};
use std::process::Command;

/// `weigh` of letters and `price` of letters are folded into those of parcels, and a letter is weighed when the program stops.
const SOURCE: &str = "#include <stdlib.h>
#define NOINLINE __attribute__((noinline))
struct mail { long grams; };
NOINLINE long weigh_parcel(struct mail *mail) { if (!mail) abort(); return mail->grams * 3; }
NOINLINE long weigh_letter(struct mail *mail) { if (!mail) abort(); return mail->grams * 3; }
static inline __attribute__((always_inline)) long add(struct mail *mail, long (*weigh)(struct mail *)) {
    return weigh(mail) + 1; }
NOINLINE long price_parcel(struct mail *mail) { return add(mail, weigh_parcel); }
NOINLINE long price_letter(struct mail *mail) { return add(mail, weigh_letter); }
int main(int argc, char **argv) {
    struct mail one = {argc};
    return (int)(price_parcel(&one) + price_letter(argc > 1 ? NULL : &one));
}
";

/// Whether a tool is there; a missing one is an error with `CI=true`.
fn has(tool: &str) -> bool {
    let is_there = Command::new(tool).arg("--version").output().is_ok_and(|output| output.status.success());
    if !is_there {
        println!("skipped: needs {tool}");
        assert!(std::env::var("CI").as_deref() != Ok("true"), "{tool} is missing");
    }
    is_there
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../debuggers").join(name)
}

/// The program, built in a folder.
fn build(folder: &Path) -> Option<PathBuf> {
    let (clang, lld) = ("/usr/lib/llvm-22/bin/clang", "/usr/lib/llvm-22/bin/ld.lld");
    if !has(clang) || !has(lld) {
        return None;
    }
    let (source, program) = (folder.join("mail.c"), folder.join("mail"));
    std::fs::write(&source, SOURCE).unwrap();
    let flags = ["-g", "-O1", "-ffunction-sections", "-fuse-ld=lld", "-Wl,--icf=all", "-Wl,--build-id"];
    let mut built = Command::new(clang);
    built.args(flags).arg(format!("--ld-path={lld}")).arg(&source).arg("-o").arg(&program);
    let output = built.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(program)
}

fn run(command: &mut Command, folder: &Path) -> String {
    // A `python3` of another environment in PATH would give lldb's Python the packages of that one.
    let path = format!("{}:/usr/bin:/bin", bin().parent().unwrap().display());
    let command = command.env("PATH", path).env("FOLDSYM_CACHE", folder.join("cache")).current_dir(folder);
    let output = command.output().unwrap();
    let [out, err] = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    out + &err
}

fn bin() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_foldsym"))
}

/// What both debuggers show, by lines that have each of these parts in this order.
fn shows(text: &str, lines: &[&[&str]]) {
    let mut rest = text.lines();
    for parts in lines {
        assert!(rest.any(|line| parts.iter().all(|part| line.contains(part))), "{parts:?} in {text}");
    }
}

const FRAMES: &[&[&str]] = &[
    &["weigh_letter [exact: merged_caller]", "mail.c:5"],
    &["add [exact: direct_call]", "mail.c:7"],
    &["price_letter [exact: direct_call]", "mail.c:9"],
    &["main", "mail.c:12"],
];

#[test]
fn gdb_names_the_functions_that_ran() {
    let folder = tempfile::tempdir().unwrap();
    if !has("gdb") {
        return;
    }
    let Some(program) = build(folder.path()) else { return };
    let gdb = |commands: &[&str], args: &[&str]| {
        let mut gdb = Command::new("gdb");
        gdb.args(["-nx", "-q", "-batch", "-ex"])
            .arg(format!("source {}", script("foldsym_gdb.py").display()));
        commands.iter().for_each(|one| _ = gdb.args(["-ex", one]));
        run(gdb.args(args), folder.path())
    };
    let program = program.to_str().unwrap();
    let live = gdb(&["run", "bt", "generate-core-file core"], &["--args", program, "x"]);
    shows(&live, FRAMES);
    let commands = [
        "bt",
        "foldsym-candidates all",
        "frame function price_parcel",
        "foldsym-candidates",
        "bt -no-filters",
    ];
    let core = gdb(&commands, &[program, "core"]);
    shows(&core, FRAMES);
    let listed: &[&[&str]] = &[
        &["[exact: merged_caller]"],
        &["weigh_letter at", "mail.c:5"],
        &["[exact: direct_call]"],
        &["price_letter at", "mail.c:9"],
        // gdb's own name, as before.
        &["weigh_parcel (mail=", "mail.c:5"],
    ];
    shows(&core, listed);
    // Without symbols gdb's frames stay, and the reason is told once.
    let failed = gdb(&["set foldsym-program /nonexistent/foldsym", "bt", "bt"], &[program, "core"]);
    shows(&failed, &[&["weigh_parcel (mail="]]);
    assert_eq!(failed.matches("foldsym: ").count(), 1, "{failed}");
}

#[test]
fn lldb_names_the_functions_that_ran() {
    let folder = tempfile::tempdir().unwrap();
    if !has("lldb") || !has("gdb") {
        return;
    }
    let Some(program) = build(folder.path()) else { return };
    // Packages of Debian have lldb's Python modules where its Python does not look.
    let path = Command::new("lldb").arg("-P").output().unwrap();
    let path = String::from_utf8(path.stdout).unwrap();
    let mut modules = vec![path.trim().to_owned()];
    modules.push("/usr/lib/llvm-14/lib/python3.11/dist-packages".to_owned());
    let core = folder.path().join("core");
    let written = ["-nx", "-q", "-batch", "-ex", "run", "-ex", "generate-core-file core", "--args"];
    run(Command::new("gdb").args(written).arg(&program).arg("x"), folder.path());
    let mut lldb = Command::new("lldb");
    lldb.env("PYTHONPATH", modules.join(":")).args(["--no-lldbinit", "--batch", "-o"]);
    lldb.arg(format!("command script import {}", script("foldsym_lldb.py").display()));
    lldb.args(["-o", "bt", "-o", "foldsym-candidates all", "-c"]).arg(&core).arg(&program);
    let shown = run(&mut lldb, folder.path());
    shows(&shown, FRAMES);
    shows(&shown, &[&["[exact: direct_call]"], &["price_letter at", "mail.c:9"]]);
}
