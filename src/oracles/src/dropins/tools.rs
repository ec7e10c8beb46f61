//! The tools that are compared, and how both sides of a pair are run: under one name, in one folder, with one environment.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use xtask::sh;

/// A tool that the command can replace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Personality {
    Symbolizer,
    LlvmAddr2line,
    GnuAddr2line,
}

impl Personality {
    pub(super) const ALL: [Personality; 3] =
        [Personality::Symbolizer, Personality::LlvmAddr2line, Personality::GnuAddr2line];

    /// The name under which both sides are started, so that messages are comparable.
    pub(super) fn name(self) -> &'static str {
        match self {
            Personality::Symbolizer => "llvm-symbolizer",
            Personality::LlvmAddr2line => "llvm-addr2line",
            Personality::GnuAddr2line => "addr2line",
        }
    }

    /// The tool itself.
    fn real(self) -> Result<PathBuf, String> {
        match self {
            Personality::GnuAddr2line => sh::tool("addr2line", "binutils"),
            other => sh::llvm(other.name()),
        }
    }
}

/// What a process said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) out: String,
    pub(super) err: String,
    pub(super) code: Option<i32>,
}

/// What a process is given.
#[derive(Clone, Debug, Default)]
pub(super) struct GivenInput {
    pub(super) args: Vec<String>,
    /// Standard input; empty where requests are arguments.
    pub(super) input: String,
    pub(super) environment: Vec<(String, String)>,
}

/// Both sides of every pair.
pub(super) struct Sides {
    foldsym: PathBuf,
    real: [PathBuf; 3],
    folder: PathBuf,
}

impl Sides {
    /// The tools, started in `folder`.
    ///
    /// # Errors
    /// A tool that is missing.
    pub(super) fn new(foldsym: &Path, folder: &Path) -> Result<Sides, String> {
        let [symbolizer, llvm, gnu] = Personality::ALL.map(Personality::real);
        let foldsym = foldsym.canonicalize().map_err(|error| format!("{}: {error}", foldsym.display()))?;
        Ok(Sides { foldsym, real: [symbolizer?, llvm?, gnu?], folder: folder.to_owned() })
    }

    /// What both say, the real tool first.
    ///
    /// # Errors
    /// A process that cannot be started.
    pub(super) fn both(&self, tool: Personality, asked: &GivenInput) -> Result<(Said, Said), String> {
        Ok((self.run(&self.real[tool as usize], tool, asked)?, self.run(&self.foldsym, tool, asked)?))
    }

    fn run(&self, program: &Path, tool: Personality, asked: &GivenInput) -> Result<Said, String> {
        let input = self.folder.join(format!("input-{:?}", std::thread::current().id()));
        std::fs::write(&input, &asked.input).map_err(|error| format!("{}: {error}", input.display()))?;
        let file = std::fs::File::open(&input).map_err(|error| format!("{}: {error}", input.display()))?;
        let mut command = Command::new(program);
        command.arg0(tool.name()).args(&asked.args).current_dir(&self.folder).stdin(Stdio::from(file));
        command
            .env("FOLDSYM_CACHE", self.folder.join("cache"))
            .env("LC_ALL", "C")
            .env_remove("DEBUGINFOD_URLS");
        for name in ["LLVM_SYMBOLIZER_OPTS", "LLVM_ADDR2LINE_OPTS"] {
            command.env_remove(name);
        }
        command.envs(asked.environment.iter().map(|(name, value)| (name, value)));
        let output = command.output().map_err(|error| format!("{}: {error}", program.display()))?;
        let text =
            |bytes: &[u8]| String::from_utf8_lossy(bytes).replace(&*program.to_string_lossy(), tool.name());
        Ok(Said { out: text(&output.stdout), err: text(&output.stderr), code: output.status.code() })
    }
}
