//! Runs the command on test programs; shared by the tests of this folder.
#![allow(dead_code, reason = "no test file uses all of it")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// The result of a command.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    /// The lines of standard output as JSON.
    pub(crate) fn json(&self) -> Vec<Value> {
        self.out
            .lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}")))
            .collect()
    }
}

/// The command, without arguments.
pub(crate) fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_foldsym"));
    command.stdin(Stdio::null());
    command
}

/// Runs the command with arguments.
pub(crate) fn foldsym<S: AsRef<std::ffi::OsStr>>(args: &[S]) -> Ran {
    ran(command().args(args).output().unwrap())
}

/// Runs the command with arguments and standard input.
pub(crate) fn foldsym_with<S: AsRef<std::ffi::OsStr>>(args: &[S], input: &str) -> Ran {
    let mut command = command();
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let input = input.to_owned();
    let writer = std::thread::spawn(move || {
        // The command may end before it has read everything.
        let _ = pipe.write_all(input.as_bytes());
    });
    let out = child.wait_with_output().unwrap();
    writer.join().unwrap();
    ran(out)
}

fn ran(output: std::process::Output) -> Ran {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
}

/// A committed test program.
pub(crate) fn program(name: &str) -> PathBuf {
    foldsym_testbins::root().join("built").join(name)
}

/// A converted test program in a folder of its own.
pub(crate) struct Fsym {
    pub(crate) folder: TempDir,
    pub(crate) path: PathBuf,
}

impl Fsym {
    /// Converts a test program.
    pub(crate) fn of(name: &str, options: &[&str]) -> Fsym {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(format!("{}.fsym", name.replace('/', ".")));
        let input = program(name);
        let mut args = vec!["convert", input.to_str().unwrap(), "-o", path.to_str().unwrap()];
        args.extend(options);
        let ran = foldsym(&args);
        assert_eq!(ran.code, 0, "{ran:?}");
        Fsym { folder, path }
    }

    pub(crate) fn str(&self) -> &str {
        self.path.to_str().unwrap()
    }

    /// Runs `foldsym COMMAND FILE ARGS...`.
    pub(crate) fn run(&self, command: &str, args: &[&str]) -> Ran {
        foldsym(&self.line(command, args))
    }

    /// The same with standard input.
    pub(crate) fn run_with(&self, command: &str, args: &[&str], input: &str) -> Ran {
        foldsym_with(&self.line(command, args), input)
    }

    fn line(&self, command: &str, args: &[&str]) -> Vec<String> {
        [command, self.str()].iter().chain(args).map(|arg| (*arg).to_owned()).collect()
    }
}

/// The keys of the object that a text begins with, in the order in which they are written. Walks one level of the text, as the
/// parser sorts them.
pub(crate) fn keys(object: &str) -> Vec<String> {
    let (mut keys, mut depth, mut in_string, mut start) = (Vec::new(), 0, false, 0);
    let bytes = object.as_bytes();
    for (at, &byte) in bytes.iter().enumerate() {
        match byte {
            b'"' if in_string && bytes[at - 1] != b'\\' => {
                in_string = false;
                if depth == 1 && bytes.get(at + 1) == Some(&b':') {
                    keys.push(object[start..at].to_owned());
                }
            }
            b'"' if !in_string => (in_string, start) = (true, at + 1),
            b'{' | b'[' if !in_string => depth += 1,
            b'}' | b']' if !in_string && depth == 1 => break,
            b'}' | b']' if !in_string => depth -= 1,
            _ => {}
        }
    }
    keys
}

/// A file with these bytes.
pub(crate) fn file(folder: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}
