//! Has a program crash, and makes each kind of report of it by the program that writes such reports.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use xtask::sh;

/// Seconds after which a program that did not crash is ended.
const LONGEST: &str = "60";

/// The event of the kernel that is recorded: a signal is sent to a thread, whose stack is that of the crash.
const EVENT: &str = "signal:signal_generate";

/// A command that a shell starts with `limits`, without the environment of this process, whose crash is no failure.
fn crashing(limits: &str, program: &Path) -> Command {
    let mut command = Command::new("timeout");
    command.args([LONGEST, "sh", "-c", &format!("{limits} && exec \"$@\""), "sh"]).arg(program);
    command.env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
    // Go's runtime ends a process without a core otherwise, and sends signals to its own threads.
    command.env("GOTRACEBACK", "crash").env("GODEBUG", "asyncpreemptoff=1");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Runs it. `Err` only where it cannot be started.
fn crash(command: &mut Command) -> Result<(), String> {
    command.status().map(drop).map_err(|error| format!("timeout: {error}"))
}

/// The core that the kernel writes into a folder.
pub(super) fn core(program: &Path, folder: &Path) -> Result<PathBuf, String> {
    let pattern = sh::read(Path::new("/proc/sys/kernel/core_pattern"))?;
    if pattern.trim().is_empty() || pattern.contains(['/', '|']) {
        return Err("needs kernel.core_pattern to be a file name: sysctl kernel.core_pattern=core".to_owned());
    }
    let folder = folder.join("core");
    sh::create_dir(&folder)?;
    crash(crashing("ulimit -c unlimited", program).current_dir(&folder))?;
    let files = std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let core = files.flatten().map(|file| file.path()).find(|path| path.is_file());
    core.ok_or_else(|| format!("{} left no core", program.display()))
}

/// The minidump that a crash reporter writes. `writer` is `dump-at-crash`.
pub(super) fn minidump(writer: &Path, program: &Path, folder: &Path) -> Result<PathBuf, String> {
    let dump = folder.join("crash.dmp");
    let mut command = crashing("true", writer);
    let written = command.arg(&dump).arg(program).status().map_err(|error| format!("timeout: {error}"))?;
    if written.success() { Ok(dump) } else { Err(format!("{}: {}", writer.display(), program.display())) }
}

/// What AddressSanitizer writes: addresses, without names.
pub(super) fn log(program: &Path, folder: &Path) -> Result<PathBuf, String> {
    let log = folder.join("sanitizer.txt");
    let file = File::create(&log).map_err(|error| format!("{}: {error}", log.display()))?;
    let mut command = crashing("true", program);
    command.env("ASAN_OPTIONS", "symbolize=0:handle_abort=1:detect_leaks=0:detect_stack_use_after_return=0");
    crash(command.stderr(file))?;
    Ok(log)
}

/// Whether this machine lets `perf` record signals. A kernel without it, or one whose administrator forbids it, makes no reports of perf.
pub(super) fn has_perf(folder: &Path) -> bool {
    let mut perf = Command::new("perf");
    perf.args(["record", "-q", "-e", EVENT, "-o"]).arg(folder.join("none.data")).arg("true");
    perf.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// What `perf script` prints of the signals that the program gets. The kernel follows frame pointers (`fp`), or copies the stack.
pub(super) fn perf(program: &Path, walk: &str, folder: &Path) -> Result<PathBuf, String> {
    let data = folder.join("perf.data");
    let walk = if walk == "fp" { "fp" } else { "dwarf,65528" };
    let mut command = crashing("true", Path::new("perf"));
    command.args(["record", "-q", "-e", EVENT, "--buildid-mmap", "--call-graph", walk, "-o"]);
    // perf ends by the signal that ended the program.
    crash(command.arg(&data).arg(program))?;
    let mut script = Command::new("perf");
    // perf takes the name of a function in a debug file that differs from the symbol for one that is inlined, and does not name its module.
    script.args(["script", "--header", "--show-mmap-events", "--no-inline", "-i"]).arg(&data);
    let text = sh::output(&mut script)?;
    let path = folder.join("perf.txt");
    std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(path)
}

/// The frames of gdb's backtrace of a core, innermost first: kind, function, symbol.
pub(super) fn gdb(program: &Path, core: &Path, folder: &Path) -> Result<Vec<GdbFrame>, String> {
    let script = folder.join("gdb.py");
    std::fs::write(&script, include_str!("gdb.py")).map_err(|error| error.to_string())?;
    let mut gdb = Command::new(sh::tool("gdb", "gdb")?);
    let said = sh::output(gdb.args(["-batch", "-nx", "-x"]).arg(&script).arg(program).arg(core))?;
    let frame = |line: &str| {
        let mut words = line.strip_prefix("frame\t")?.split('\t').map(str::to_owned);
        let kind = words.next()?.parse().ok()?;
        Some(GdbFrame { kind, function: words.next()?, symbol: words.next().unwrap_or_default() })
    };
    Ok(said.lines().filter_map(frame).collect())
}

/// A frame of gdb's.
pub(super) struct GdbFrame {
    /// gdb's `enum frame_type`.
    kind: u32,
    /// The function by its debug information or its symbol; empty where it has none.
    pub(super) function: String,
    /// The symbol at its code, with the offset.
    pub(super) symbol: String,
}

impl GdbFrame {
    /// Whether the frame has no memory: gdb adds a function that ended with a jump to the next one, if only one way leads there.
    pub(super) fn is_tail_call(&self) -> bool {
        // `TAILCALL_FRAME`.
        self.kind == 3
    }
}
