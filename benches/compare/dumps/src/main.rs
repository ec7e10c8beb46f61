//! Runs a program up to the signal that ends it, and writes a minidump of the process there: `dump-at-crash FILE PROGRAM [ARG]...`.
//!
//! The program is traced. A signal that it handles or ignores goes on to it; the first one that would end it with a core is the crash. There
//! the program is left stopped and untraced, as the writer itself traces it.

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use minidump_writer::minidump_writer::MinidumpWriterConfig;
use nix::libc;
use nix::sys::ptrace;
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

type Failure = Box<dyn std::error::Error>;

/// Signals that end a process with a core, unless it handles them (signal(7)).
const CORE: [Signal; 6] =
    [Signal::SIGQUIT, Signal::SIGILL, Signal::SIGABRT, Signal::SIGBUS, Signal::SIGFPE, Signal::SIGSEGV];

fn main() -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [file, program, arguments @ ..] = args.as_slice() else {
        return Err("usage: dump-at-crash FILE PROGRAM [ARG]...".into());
    };
    let mut command = Command::new(program);
    command.args(arguments);
    let prepare = || {
        // The process goes on when the minidump is written, and crashes once more.
        setrlimit(Resource::RLIMIT_CORE, 0, 0)?;
        ptrace::traceme()?;
        Ok(())
    };
    // SAFETY: between fork and exec there are two system calls.
    unsafe { command.pre_exec(prepare) };
    // The writer and this program end the process by its id.
    #[allow(clippy::zombie_processes)]
    let process = Pid::from_raw(command.spawn()?.id() as i32);
    let written = run_to_crash(process).and_then(|thread| write(Path::new(file), process, thread));
    kill(process, Signal::SIGKILL)?;
    written
}

/// Returns the thread that crashed, which waits for its signal.
fn run_to_crash(process: Pid) -> Result<Pid, Failure> {
    waitpid(process, None)?;
    let options = ptrace::Options::PTRACE_O_TRACECLONE | ptrace::Options::PTRACE_O_EXITKILL;
    ptrace::setoptions(process, options)?;
    ptrace::cont(process, None)?;
    loop {
        match waitpid(None, Some(WaitPidFlag::__WALL))? {
            // A new thread begins with a SIGSTOP.
            WaitStatus::Stopped(thread, Signal::SIGSTOP) => ptrace::cont(thread, None)?,
            WaitStatus::Stopped(thread, signal)
                if CORE.contains(&signal) && !has_handler(thread, signal)? =>
            {
                return Ok(thread);
            }
            WaitStatus::Stopped(thread, signal) => ptrace::cont(thread, signal)?,
            WaitStatus::PtraceEvent(thread, ..) => ptrace::cont(thread, None)?,
            WaitStatus::Exited(thread, _) | WaitStatus::Signaled(thread, ..) if thread == process => {
                return Err("the program ended without a crash".into());
            }
            _ => {}
        }
    }
}

/// Whether the process handles or ignores a signal (`SigCgt` and `SigIgn` of proc_pid_status(5)).
fn has_handler(thread: Pid, signal: Signal) -> Result<bool, Failure> {
    let status = std::fs::read_to_string(format!("/proc/{thread}/status"))?;
    let mut signals = 0;
    for line in status.lines() {
        if let Some(set) = line.strip_prefix("SigCgt:").or_else(|| line.strip_prefix("SigIgn:")) {
            signals |= u64::from_str_radix(set.trim(), 16)?;
        }
    }
    Ok(signals >> (signal as u32 - 1) & 1 == 1)
}

/// Writes the minidump of a process of which one thread waits for its signal.
fn write(file: &Path, process: Pid, thread: Pid) -> Result<(), Failure> {
    let context = context(process, thread)?;
    // The stop spreads to the other threads, which stay stopped when they are no longer traced.
    ptrace::detach(thread, Signal::SIGSTOP)?;
    for task in std::fs::read_dir(format!("/proc/{process}/task"))? {
        let other = Pid::from_raw(task?.file_name().to_string_lossy().parse()?);
        if other != thread {
            while !matches!(
                waitpid(other, Some(WaitPidFlag::__WALL))?,
                WaitStatus::Stopped(_, Signal::SIGSTOP)
            ) {
                ptrace::cont(other, None)?;
            }
            ptrace::detach(other, None)?;
        }
    }
    let mut writer = MinidumpWriterConfig::new(process.as_raw(), thread.as_raw());
    writer.set_crash_context(minidump_writer::CrashContextExt { inner: context });
    writer.write(&mut File::create(file)?).map_err(|error| format!("{error:?}"))?;
    Ok(())
}

/// The registers and the signal of a thread.
fn context(process: Pid, thread: Pid) -> Result<crash_context::CrashContext, Failure> {
    let registers = ptrace::getregs(thread)?;
    let signal = ptrace::getsiginfo(thread)?;
    // SAFETY: the struct is of plain numbers, for which zeros are values.
    let mut context: crash_context::CrashContext = unsafe { std::mem::zeroed() };
    let general = [
        (libc::REG_R8, registers.r8),
        (libc::REG_R9, registers.r9),
        (libc::REG_R10, registers.r10),
        (libc::REG_R11, registers.r11),
        (libc::REG_R12, registers.r12),
        (libc::REG_R13, registers.r13),
        (libc::REG_R14, registers.r14),
        (libc::REG_R15, registers.r15),
        (libc::REG_RDI, registers.rdi),
        (libc::REG_RSI, registers.rsi),
        (libc::REG_RBP, registers.rbp),
        (libc::REG_RBX, registers.rbx),
        (libc::REG_RDX, registers.rdx),
        (libc::REG_RAX, registers.rax),
        (libc::REG_RCX, registers.rcx),
        (libc::REG_RSP, registers.rsp),
        (libc::REG_RIP, registers.rip),
        (libc::REG_EFL, registers.eflags),
    ];
    for (register, value) in general {
        context.context.uc_mcontext.gregs[register as usize] = value as i64;
    }
    context.siginfo.ssi_signo = signal.si_signo as u32;
    context.siginfo.ssi_code = signal.si_code;
    // SAFETY: a signal without an address has other numbers in its place.
    context.siginfo.ssi_addr = unsafe { signal.si_addr() } as u64;
    (context.pid, context.tid) = (process.as_raw(), thread.as_raw());
    Ok(context)
}
