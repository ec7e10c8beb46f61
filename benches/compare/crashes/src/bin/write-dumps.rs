//! Crashes a program many times, and writes a minidump of each crash: `write-dumps PROGRAM FOLDER COUNT`.
//!
//! The program is called as `PROGRAM NUMBER dump`. Its handler writes to standard output its thread's id (8 bytes), `siginfo_t` (128 bytes) and the
//! general registers of `ucontext_t` (23 times 8 bytes), then the names of the functions that truly were on its stack, one a line, innermost
//! first, and an empty line; then it waits for a byte. `FOLDER/NUMBER.dmp` and `FOLDER/NUMBER.truth` are written.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use minidump_writer::minidump_writer::MinidumpWriterConfig;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [program, folder, count] = args.as_slice() else {
        return Err("usage: write-dumps PROGRAM FOLDER COUNT".into());
    };
    for number in 0..count.parse()? {
        write(program, Path::new(folder), number)?;
    }
    Ok(())
}

fn write(program: &str, folder: &Path, number: u32) -> Result<(), Failure> {
    let mut command = Command::new(program);
    command.args([&number.to_string(), "dump"]).env_clear();
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut from = BufReader::new(child.stdout.take().ok_or("no output")?);
    let (mut thread, mut info, mut registers) = ([0u8; 8], [0u8; 128], [0u8; 23 * 8]);
    from.read_exact(&mut thread)?;
    from.read_exact(&mut info)?;
    from.read_exact(&mut registers)?;
    let mut truth = String::new();
    while from.read_line(&mut truth)? > 1 {}
    let (process, thread) = (child.id() as i32, i64::from_le_bytes(thread) as i32);
    // SAFETY: the struct is of plain numbers, for which zeros are values.
    let mut context: crash_context::CrashContext = unsafe { std::mem::zeroed() };
    for (register, bytes) in context.context.uc_mcontext.gregs.iter_mut().zip(registers.chunks_exact(8)) {
        *register = i64::from_le_bytes(bytes.try_into()?);
    }
    let word = |at: usize| i32::from_le_bytes([info[at], info[at + 1], info[at + 2], info[at + 3]]);
    context.siginfo.ssi_signo = word(0) as u32;
    context.siginfo.ssi_code = word(8);
    context.siginfo.ssi_addr = u64::from_le_bytes(info[16..24].try_into()?);
    (context.pid, context.tid) = (process, thread);
    let mut file = File::create(folder.join(format!("{number}.dmp")))?;
    let mut writer = MinidumpWriterConfig::new(process, thread);
    writer.set_crash_context(minidump_writer::CrashContextExt { inner: context });
    writer.write(&mut file).map_err(|error| format!("crash {number}: {error:?}"))?;
    std::fs::write(folder.join(format!("{number}.truth")), truth.trim_end())?;
    child.stdin.take().ok_or("no input")?.write_all(b"x")?;
    child.wait()?;
    Ok(())
}
