//! The system's own account of the cost of a process: CPU time, peak memory, page faults.
//!
//! On Linux a child's peak memory includes the parent's memory at the start of the child (the old address space is counted at `execve`). So
//! a program that measures children must itself stay small: let a child read the inputs.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// The cost of a process.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    /// User and system time of all threads, seconds.
    pub cpu_s: f64,
    pub wall_s: f64,
    /// Most memory resident at once, mapped files included, in KiB.
    pub peak_kb: u64,
    /// Page faults served without and with reading from the disk.
    pub minor_faults: u64,
    pub major_faults: u64,
}

/// A finished child: its cost, whether it succeeded, and its output.
#[derive(Debug)]
pub struct Finished {
    pub cost: Cost,
    pub success: bool,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

/// Runs `command` to its end, collects both of its outputs, and accounts only for it.
///
/// `wall_s` covers start to end, so it holds the loading of the program too.
///
/// # Errors
///
/// Where the program cannot be started or waited for. A failed exit is not an error: see
/// [`Finished::success`].
pub fn run(command: &mut Command) -> io::Result<Finished> {
    let start = Instant::now();
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let pid = child.id();
    let stderr = child.stderr.take().expect("piped above");
    let stderr = std::thread::spawn(move || io::read_to_string(stderr));
    let mut stdout = Vec::new();
    io::Read::read_to_end(&mut child.stdout.take().expect("piped above"), &mut stdout)?;
    let stderr = stderr.join().expect("reading a pipe does not panic").unwrap_or_default();
    let (status, usage) = wait(pid)?;
    let wall_s = start.elapsed().as_secs_f64();
    let success = libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0;
    Ok(Finished { cost: cost_of(&usage, wall_s), success, stdout, stderr: stderr.into_bytes() })
}

/// The cost of this process so far; `wall_s` is left 0.
#[must_use]
pub fn own() -> Cost {
    // SAFETY: `rusage` is plain integers, for which zero is valid; the call fills it and keeps no
    // pointer.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    let mut cost = cost_of(&usage, 0.0);
    if let Some(kb) = high_water_kb() {
        cost.peak_kb = kb;
    }
    cost
}

/// Most memory this program held since it was loaded: unlike `ru_maxrss`, without the parent's.
fn high_water_kb() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// Drops the cached pages of a file, so that the next reader finds it on the disk. Advice: the
/// system may keep pages that are mapped elsewhere.
///
/// # Errors
///
/// Where the file cannot be opened or written back.
#[cfg(target_os = "linux")]
pub fn evict(path: &Path) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    let file = std::fs::File::open(path)?;
    file.sync_all()?;
    // SAFETY: no memory is involved; the descriptor is open until the end of this function.
    let code = unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
    if code == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(code)) }
}

/// Does nothing: there is no such advice on this system.
///
/// # Errors
///
/// Never.
#[cfg(not(target_os = "linux"))]
pub fn evict(_path: &Path) -> io::Result<()> {
    Ok(())
}

fn wait(pid: u32) -> io::Result<(libc::c_int, libc::rusage)> {
    let pid = libc::pid_t::try_from(pid).map_err(io::Error::other)?;
    loop {
        // SAFETY: both out-pointers are to locals that outlive the call. The child is waited for
        // nowhere else (`Child::wait` is never called), so the id is still its own.
        let (code, status, usage) = unsafe {
            let mut status = 0;
            let mut usage: libc::rusage = std::mem::zeroed();
            let code = libc::wait4(pid, &mut status, 0, &mut usage);
            (code, status, usage)
        };
        if code == pid {
            return Ok((status, usage));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

fn cost_of(usage: &libc::rusage, wall_s: f64) -> Cost {
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    let count = |value: libc::c_long| u64::try_from(value).unwrap_or(0);
    // The unit of `ru_maxrss` is KiB on Linux and bytes on macOS.
    let per_kb = if cfg!(target_os = "macos") { 1024 } else { 1 };
    Cost {
        cpu_s: seconds(usage.ru_utime) + seconds(usage.ru_stime),
        wall_s,
        peak_kb: count(usage.ru_maxrss) / per_kb,
        minor_faults: count(usage.ru_minflt),
        major_faults: count(usage.ru_majflt),
    }
}
