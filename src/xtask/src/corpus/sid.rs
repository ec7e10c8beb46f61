//! A root of Debian `sid` in `corpus/sid`, with the newest compilers and linkers, and commands that run in it.
//!
//! Nothing of it is installed on this machine: `debootstrap` unpacks packages into the folder, and commands run with `chroot`. The LLVM tools
//! also run outside of the root, by its loader and with its libraries: scripts in `corpus/sid-llvm` start them so. There clang finds the headers
//! and libraries of this machine, so its programs run here, and `FOLDSYM_LLVM=corpus/sid-llvm` gives LLVM 23 to the oracles.

use std::path::Path;
use std::process::Command;

use xtask::sh;

/// What is installed in the root: LLVM 23 and gcc 16 are the newest that `sid` has, and so is its mold (3.0).
const PACKAGES: &[&str] = &["clang-23", "lld-23", "llvm-23", "gcc-16", "g++-16", "mold", "libc6-dev"];

/// The folder of the root in which commands run. A source that is copied here is compiled by its name alone.
pub(super) const WORK: &str = "work";

/// The folder beside the root with scripts that start the LLVM tools of the root.
pub(crate) const LLVM: &str = "sid-llvm";

/// The tools that have a script.
const LLVM_TOOLS: &[&str] = &[
    "clang",
    "clang++",
    "ld.lld",
    "llvm-dwarfdump",
    "llvm-dwp",
    "llvm-gsymutil",
    "llvm-nm",
    "llvm-objcopy",
    "llvm-objdump",
    "llvm-readelf",
    "llvm-readobj",
    "llvm-symbolizer",
];

/// Written once all packages are installed.
const DONE: &str = "foldsym-packages";

/// Makes the root. With arguments, runs them as a command in its folder `work`.
///
/// # Errors
/// Not root, a missing tool, a package that cannot be installed, or a command that fails.
pub(crate) fn run(corpus: &Path, args: &[String]) -> Result<(), String> {
    let root = corpus.join("sid");
    make(&root)?;
    scripts(&root, &corpus.join(LLVM))?;
    if args.is_empty() {
        println!(
            "{} has {}; cargo xtask corpus sid COMMAND [ARG]... runs a command in {}",
            root.display(),
            PACKAGES.join(", "),
            root.join(WORK).display()
        );
        return Ok(());
    }
    let (program, args) = args.split_first().ok_or("no command")?;
    sh::run(command(&root, program).args(args))
}

/// A program in the folder `work` of the root.
pub(super) fn command(root: &Path, program: &str) -> Command {
    let mut command = inside(root, "cd /work && exec \"$0\" \"$@\"");
    command.arg(program);
    command
}

const MOLD: &str = "mold";

fn make(root: &Path) -> Result<(), String> {
    let done = root.join(DONE);
    let wanted = PACKAGES.join(" ");
    if done.exists() && sh::read(&done)? == wanted {
        return Ok(());
    }
    if sh::output(Command::new("id").arg("-u"))?.trim() != "0" {
        return Err("needs to run as root, as chroot does".to_owned());
    }
    if !root.join("usr/bin/apt-get").exists() {
        sh::create_dir(root)?;
        let debootstrap = sh::tool("debootstrap", "debootstrap")?;
        sh::run(Command::new(debootstrap).args(["--variant=minbase", "sid"]).arg(root))?;
    }
    sh::create_dir(&root.join(WORK))?;
    // A mirror may be weeks behind, and its list then past the day up to which it is valid.
    let install = "apt-get -o Acquire::Check-Valid-Until=false update && apt-get install --yes --no-install-recommends \"$@\"";
    sh::run(inside(root, install).arg("sh").args(PACKAGES))?;
    std::fs::write(&done, wanted).map_err(|error| format!("{}: {error}", done.display()))
}

/// Writes the scripts that start the LLVM tools and mold from outside of the root.
fn scripts(root: &Path, folder: &Path) -> Result<(), String> {
    sh::create_dir(folder)?;
    let root = root.canonicalize().map_err(|error| format!("{}: {error}", root.display()))?;
    for tool in LLVM_TOOLS.iter().copied().chain([MOLD]) {
        // The process is the loader, so clang can neither find its headers by its own path nor start itself a second time: one command
        // compiles one source.
        let own = match tool.starts_with("clang") {
            true => {
                format!("-fintegrated-cc1 -resource-dir {}/usr/lib/llvm-23/lib/clang/23 ", root.display())
            }
            false => String::new(),
        };
        let (llvm, libraries) = ("usr/lib/llvm-23", "usr/lib/x86_64-linux-gnu");
        let folder_of_tool = if tool == MOLD { "usr" } else { llvm };
        let root = root.display();
        let script = format!(
            "#!/bin/sh\nexec {root}/lib64/ld-linux-x86-64.so.2 --library-path {root}/{libraries}:{root}/{llvm}/lib \
             --argv0 {tool} {root}/{folder_of_tool}/bin/{tool} {own}\"$@\"\n"
        );
        let path = folder.join(tool);
        std::fs::write(&path, script).map_err(|error| format!("{}: {error}", path.display()))?;
        sh::run(Command::new("chmod").arg("+x").arg(&path))?;
    }
    Ok(())
}

/// A shell in the root.
fn inside(root: &Path, script: &str) -> Command {
    let mut chroot = Command::new("chroot");
    // The search path of a shell that starts this need not have the root's folders.
    chroot
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .env("DEBIAN_FRONTEND", "noninteractive")
        .env("LC_ALL", "C");
    chroot.arg(root).args(["sh", "-c", script]);
    chroot
}
