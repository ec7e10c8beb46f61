//! The tools that this command can replace, and their names.

/// The tool whose options, input and output are spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tool {
    Symbolizer,
    LlvmAddr2line,
    GnuAddr2line,
}

impl Tool {
    /// The tool that a program of this file name is taken for, by LLVM's rule: what contains `addr2line` is that.
    pub(crate) fn of_name(name: &str) -> Option<Tool> {
        match (name.contains("addr2line"), name.contains("llvm")) {
            (true, true) => Some(Tool::LlvmAddr2line),
            (true, false) => Some(Tool::GnuAddr2line),
            (false, _) => name.contains("llvm-symbolizer").then_some(Tool::Symbolizer),
        }
    }

    /// Its name, for messages and versions.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Tool::Symbolizer => "llvm-symbolizer",
            Tool::LlvmAddr2line => "llvm-addr2line",
            Tool::GnuAddr2line => "addr2line",
        }
    }

    /// The environment variable whose options precede those of the command line.
    pub(crate) fn variable(self) -> Option<&'static str> {
        match self {
            Tool::Symbolizer => Some("LLVM_SYMBOLIZER_OPTS"),
            Tool::LlvmAddr2line => Some("LLVM_ADDR2LINE_OPTS"),
            Tool::GnuAddr2line => None,
        }
    }
}
