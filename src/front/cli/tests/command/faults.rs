//! The output under faults: killed at any moment, no room, two writers at once. The final name has the whole old file or the whole new one;
//! after an error no other file is left in its folder.

#![cfg(unix)]

use crate::common;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use common::{command, foldsym, program};

/// Two programs, the files that they give, and a folder to write to.
struct Bench {
    folder: tempfile::TempDir,
    programs: [PathBuf; 2],
    files: [Vec<u8>; 2],
}

impl Bench {
    fn new() -> Bench {
        let folder = tempfile::tempdir().unwrap();
        let programs = ["fold.clang-relocs.set/program", "golang.amd64.debug"].map(program);
        let files = [0, 1].map(|index: usize| {
            let output = folder.path().join("once.fsym");
            let ran = foldsym(&args(&programs[index], &output));
            assert_eq!(ran.code, 0, "{ran:?}");
            let bytes = std::fs::read(&output).unwrap();
            std::fs::remove_file(output).unwrap();
            bytes
        });
        assert_ne!(files[0], files[1]);
        Bench { folder, programs, files }
    }

    fn output(&self) -> PathBuf {
        self.folder.path().join("out.fsym")
    }

    fn start(&self, program: usize) -> Child {
        let mut command = command();
        command.args(args(&self.programs[program], &self.output()));
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// Names in the folder, without the output.
    fn others(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.folder.path()).unwrap();
        entries.map(|entry| entry.unwrap().path()).filter(|path| *path != self.output()).collect()
    }
}

/// Says why a test cannot run here; where everything must be there, that is a failure.
fn skip(needs: &str) {
    println!("skipped: needs {needs}");
    assert!(std::env::var("CI").as_deref() != Ok("true"), "this system lacks what the test needs: {needs}");
}

fn args(program: &Path, output: &Path) -> Vec<String> {
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    ["convert", &text(program), "-o", &text(output), "--quiet", "--threads", "1"].map(str::to_owned).to_vec()
}

/// Killed by the system at a write: as many bytes were written as the limit allows. What is left may be a temporary file,
/// whose name begins with `.fsym-`; never a part under the output's name.
#[test]
fn killed_at_any_write() {
    use std::os::unix::process::ExitStatusExt;
    const SIGXFSZ: i32 = 25;
    let bench = Bench::new();
    let blocks = bench.files[1].len() as u64 / 1024;
    assert!(blocks > 60);
    let mut torn = 0;
    for limit in (0..blocks).step_by(7).chain([blocks - 1]) {
        std::fs::write(bench.output(), &bench.files[0]).unwrap();
        // In blocks of 512 or 1024 bytes. The signal is not ignored here: it kills.
        let script = format!("ulimit -c 0; ulimit -f {limit}; exec \"$0\" \"$@\"");
        let ran = Command::new("sh")
            .args(["-c", &script, env!("CARGO_BIN_EXE_foldsym")])
            .args(args(&bench.programs[1], &bench.output()))
            .output()
            .unwrap();
        assert_eq!(ran.status.signal(), Some(SIGXFSZ), "{limit} blocks: {ran:?}");
        assert!(std::fs::read(bench.output()).unwrap() == bench.files[0], "{limit} blocks");
        for left in bench.others() {
            assert!(left.file_name().unwrap().to_str().unwrap().starts_with(".fsym-"), "{left:?}");
            torn += u32::from(std::fs::metadata(&left).unwrap().len() > 0);
            std::fs::remove_file(left).unwrap();
        }
    }
    // The kills came while the file was written.
    assert!(torn > 5, "{torn}");
}

/// Killed while the temporary file is there, from the moment that it is made to when it is renamed.
#[test]
fn killed_while_the_temporary_file_is_there() {
    let bench = Bench::new();
    let mut met = 0;
    for _ in 0..40 {
        std::fs::write(bench.output(), &bench.files[0]).unwrap();
        let mut child = bench.start(1);
        while child.try_wait().unwrap().is_none() && bench.others().is_empty() {}
        child.kill().unwrap();
        let finished = child.wait().unwrap().success();
        let found = std::fs::read(bench.output()).unwrap();
        assert!(found == bench.files[1] || found == bench.files[0] && !finished, "{} bytes", found.len());
        met += u32::from(found == bench.files[0]);
        for left in bench.others() {
            assert!(left.file_name().unwrap().to_str().unwrap().starts_with(".fsym-"), "{left:?}");
            std::fs::remove_file(left).unwrap();
        }
        if met == 5 {
            break;
        }
    }
    println!("{met} of them before the rename");
}

/// To a writer, a limit on the size of files looks like a full disk: some bytes are written, then there is an error.
#[test]
fn no_room_for_the_file() {
    let bench = Bench::new();
    for old in [None, Some(&bench.files[0])] {
        if let Some(old) = old {
            std::fs::write(bench.output(), old).unwrap();
        }
        // In blocks of 512 or 1024 bytes; the signal that comes with the error is ignored.
        let script = "trap '' XFSZ; ulimit -f 2; exec \"$0\" \"$@\"";
        let ran = Command::new("sh")
            .args(["-c", script, env!("CARGO_BIN_EXE_foldsym")])
            .args(args(&bench.programs[1], &bench.output()))
            .output()
            .unwrap();
        let message = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert_eq!(ran.status.code(), Some(3), "{message}");
        assert!(message.contains("cannot write") && message.lines().count() == 1, "{message}");
        assert_eq!(bench.others(), [] as [PathBuf; 0]);
        assert_eq!(std::fs::read(bench.output()).ok().as_ref(), old);
    }
}

/// A file system without room: for the file, the store and the cache. It is mounted in a namespace of its own, if that is allowed.
#[test]
fn a_file_system_without_room() {
    let bench = Bench::new();
    let script = r#"
        mount -t tmpfs -o size=64k none "$1" || { echo "cannot mount"; exit 0; }
        cd "$1" && mkdir store && "$2" convert --quiet "$4" --store store || exit 1
        # All that is left.
        head -c 1000000 /dev/zero > filler 2> /dev/null
        find . -type f | sort > "$5"
        "$2" convert --quiet "$3" -o out.fsym; echo "convert $?"
        "$2" convert --quiet "$3" --store store; echo "store $?"
        FOLDSYM_CACHE="$1/cache" "$2" lookup "$3" 0x2012b0; echo "lookup $?"
        "$2" store check store; echo "check $?"
        find . -type f | sort | diff "$5" - && echo "no litter"
    "#;
    let mount = bench.folder.path().join("mount");
    std::fs::create_dir(&mount).unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../testbins/built").canonicalize().unwrap();
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--mount", "sh", "-c", script, "sh"]).arg(&mount);
    command.arg(env!("CARGO_BIN_EXE_foldsym")).arg(root.join("demo.elf")).arg(root.join("inline.clang-pie"));
    let ran = command.arg(bench.folder.path().join("list")).output();
    let Some(ran) = ran.ok().filter(|ran| !String::from_utf8_lossy(&ran.stdout).contains("cannot mount"))
    else {
        return skip("to mount a file system");
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&ran.stdout), text(&ran.stderr));
    if err.starts_with("unshare:") {
        return skip(&format!("name spaces: {err}"));
    }
    assert!(out.contains("convert 3\n") && out.contains("store 3\n"), "{out}{err}");
    assert_eq!(err.matches("No space left on device").count(), 2, "{out}{err}");
    assert!(err.contains("out.fsym") && err.contains("store"), "{err}");
    // A cache that has no room is done without.
    assert!(out.contains("demo::crash()") && out.contains("lookup 0\n"), "{out}{err}");
    assert!(out.contains("check 0\n") && out.contains("no litter\n"), "{out}{err}");
}

/// A file that is renamed over a device takes it from the whole system.
#[test]
fn what_is_no_regular_file_stays() {
    use std::os::unix::fs::{FileTypeExt, symlink};
    let bench = Bench::new();
    let folder = bench.folder.path();
    let name = |name: &str| folder.join(name);
    assert!(Command::new("mkfifo").arg(name("fifo")).status().unwrap().success());
    let socket = std::os::unix::net::UnixListener::bind(name("socket")).unwrap();
    std::fs::create_dir(name("folder")).unwrap();
    symlink("fifo", name("to fifo")).unwrap();
    symlink("nothing", name("to nothing")).unwrap();
    symlink("itself", name("itself")).unwrap();
    symlink("/dev/null", name("to null")).unwrap();
    let kinds = || {
        let kind = |entry: std::fs::DirEntry| (entry.file_name(), entry.file_type().unwrap());
        let mut kinds: Vec<_> =
            std::fs::read_dir(folder).unwrap().map(|entry| kind(entry.unwrap())).collect();
        kinds.sort_by(|one, other| one.0.cmp(&other.0));
        kinds
    };
    let before = kinds();
    let refused = |args: &[String], output: &Path| {
        let ran = foldsym(args);
        assert_eq!((ran.code, ran.err.lines().count()), (3, 1), "{output:?}: {ran:?}");
        assert!(ran.err.contains("cannot write") && ran.out.is_empty(), "{ran:?}");
        assert_eq!(kinds(), before, "{output:?}");
    };
    for output in ["fifo", "socket", "folder", "to fifo", "to nothing", "itself", "to null"].map(name) {
        refused(&args(&bench.programs[0], &output), &output);
        // The report is opened before anything is converted.
        let mut args = args(&bench.programs[0], &bench.output());
        args.extend(["--report".to_owned(), output.to_str().unwrap().to_owned()]);
        refused(&args, &output);
    }
    assert!(std::fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    drop(socket);
}

#[test]
fn a_symbolic_link_is_written_through() {
    let bench = Bench::new();
    let folder = bench.folder.path();
    let (real, link) = (folder.join("elsewhere"), folder.join("link"));
    std::fs::create_dir(&real).unwrap();
    std::fs::write(real.join("file"), &bench.files[1]).unwrap();
    std::os::unix::fs::symlink("elsewhere/file", &link).unwrap();
    assert_eq!(foldsym(&args(&bench.programs[0], &link)).code, 0);
    assert_eq!(std::fs::read_link(&link).unwrap(), Path::new("elsewhere/file"));
    assert_eq!(std::fs::read(real.join("file")).unwrap(), bench.files[0]);
    assert_eq!(std::fs::read_dir(&real).unwrap().count(), 1);
    // The report too; and no program is replaced through a link.
    std::fs::write(real.join("file"), "{}").unwrap();
    let mut with_report = args(&bench.programs[0], &bench.output());
    with_report.extend(["--report".to_owned(), link.to_str().unwrap().to_owned()]);
    assert_eq!(foldsym(&with_report).code, 0);
    assert!(std::fs::read(real.join("file")).unwrap().starts_with(b"{"));
    std::fs::copy(&bench.programs[0], real.join("file")).unwrap();
    assert_eq!(foldsym(&args(&real.join("file"), &link)).code, 2);
}

#[test]
fn two_at_once() {
    let bench = Bench::new();
    for turn in 0..6 {
        let children = [0, 1, turn % 2].map(|program| bench.start(program));
        for mut child in children {
            assert!(child.wait().unwrap().success());
        }
        let found = std::fs::read(bench.output()).unwrap();
        assert!(bench.files.contains(&found), "{} bytes", found.len());
        assert_eq!(bench.others(), [] as [PathBuf; 0]);
    }
}
