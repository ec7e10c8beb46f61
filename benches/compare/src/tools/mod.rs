//! The tools: what each is called, how its conversion is started, and its reader.

pub(crate) mod addr2line;
pub(crate) mod blazesym;
pub(crate) mod dump_syms;
pub(crate) mod foldsym;
pub(crate) mod gsym;
mod mapping;
mod reader;
pub(crate) mod symcache;

use crate::child::this_program;
use crate::commands::Commands;
pub(crate) use mapping::{map, mapped_in};
pub(crate) use reader::{Converted, Output, Reader};
use std::path::Path;
use std::process::Command;

/// Everything that is measured, in the order of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tool {
    Floor,
    Foldsym,
    LlvmGsymutil,
    GsymRs,
    SymCache,
    DumpSyms,
    Addr2line,
    Blazesym,
}

impl Tool {
    pub(crate) const ALL: [Self; 8] = [
        Self::Floor,
        Self::Foldsym,
        Self::LlvmGsymutil,
        Self::GsymRs,
        Self::SymCache,
        Self::DumpSyms,
        Self::Addr2line,
        Self::Blazesym,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Floor => "floor",
            Self::Foldsym => "foldsym",
            Self::LlvmGsymutil => "llvm-gsymutil",
            Self::GsymRs => "gsym-rs",
            Self::SymCache => "symcache",
            Self::DumpSyms => "dump_syms",
            Self::Addr2line => "addr2line",
            Self::Blazesym => "blazesym",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    /// The thread counts at which its conversion of one file differs.
    pub(crate) fn threads(self) -> &'static [usize] {
        match self {
            Self::Floor | Self::Foldsym | Self::LlvmGsymutil => &[1, 2],
            Self::GsymRs | Self::SymCache | Self::DumpSyms => &[1],
            Self::Addr2line | Self::Blazesym => &[],
        }
    }

    pub(crate) fn writes(self) -> bool {
        self != Self::Floor && !self.threads().is_empty()
    }

    pub(crate) fn reads(self) -> bool {
        !matches!(self, Self::Floor | Self::DumpSyms)
    }

    /// The child process that converts `input` to `output`.
    pub(crate) fn convert_command(
        self,
        commands: &Commands,
        input: &Path,
        output: &Path,
        threads: usize,
    ) -> Result<Command, String> {
        match self {
            Self::Foldsym => foldsym::convert_command(&commands.foldsym, input, output, threads),
            Self::LlvmGsymutil => {
                let program = commands.gsymutil.as_deref().ok_or("llvm-gsymutil is not installed")?;
                Ok(gsym::convert_command(program, input, output, threads))
            }
            _ => {
                let mut command = this_program()?;
                command.args(["worker-convert", self.name()]).args([input, output]);
                command.args(["--threads", &threads.to_string()]);
                Ok(command)
            }
        }
    }

    /// A child process that opens `file`, answers one address and ends, for the tools with a
    /// command.
    pub(crate) fn lookup_command(self, commands: &Commands, file: &Path, address: u64) -> Option<Command> {
        let mut command = match self {
            Self::Foldsym => foldsym::lookup_command(&commands.foldsym),
            Self::LlvmGsymutil => {
                let mut command = Command::new(commands.gsymutil.as_ref()?);
                command.arg(format!("--address={address:#x}")).arg(file);
                return Some(command);
            }
            _ => return None,
        };
        command.arg(file).arg(format!("{address:#x}"));
        Some(command)
    }

    pub(crate) fn version(self, commands: &Commands) -> String {
        match self {
            Self::Floor => "gimli 0.34".into(),
            Self::Foldsym => first_line(&commands.foldsym, "foldsym"),
            Self::LlvmGsymutil => match &commands.gsymutil {
                Some(program) => first_line(program, "LLVM version"),
                None => "not installed".into(),
            },
            Self::GsymRs => "gsym-rs 0.2.1".into(),
            Self::SymCache => "symbolic 12.18.3".into(),
            Self::DumpSyms => "dump_syms 2.3.9".into(),
            Self::Addr2line => "addr2line 0.27.1".into(),
            Self::Blazesym => "blazesym 0.2.7".into(),
        }
    }
}

/// Converts in this process, for the tools that are crates.
pub(crate) fn convert(tool: Tool, input: &Path, output: &Path, threads: usize) -> Result<Converted, String> {
    match tool {
        Tool::Floor => foldsym_benches::floor::walk_file(input, threads)
            .map(|counts| Converted {
                note: format!("{} entries, {} rows", counts.dies, counts.rows),
                ..Converted::default()
            })
            .map_err(|error| error.to_string()),
        Tool::GsymRs => gsym::convert(input, output),
        Tool::SymCache => symcache::convert(input, output),
        Tool::DumpSyms => dump_syms::convert(input, output),
        Tool::Foldsym | Tool::LlvmGsymutil => Err("a command of its own".into()),
        Tool::Addr2line | Tool::Blazesym => Err("converts nothing".into()),
    }
}

fn first_line(program: &Path, with: &str) -> String {
    let output = Command::new(program).arg("--version").output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let line = text.ok().and_then(|text| text.lines().find(|line| line.contains(with)).map(str::to_owned));
    line.map_or_else(|| "not built".into(), |line| line.trim().to_owned())
}
