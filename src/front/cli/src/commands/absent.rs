//! Stubs of the commands that read programs, for a build without the feature `convert`.

use crate::io::failure::{Failure, exit};

/// The error of a command that needs the converter.
pub(super) fn needs_converter(what: &str) -> Failure {
    let message =
        format!("{what}: this build of foldsym reads only .fsym files (it lacks the feature `convert`)");
    Failure { message, code: exit::USAGE }
}

pub(crate) mod cfi {
    pub(crate) fn run(_: &crate::args::Cfi) -> Result<u8, super::Failure> {
        Err(super::needs_converter("cfi"))
    }
}

pub(crate) mod convert {
    pub(crate) fn run(_: &crate::args::Convert) -> Result<u8, super::Failure> {
        Err(super::needs_converter("convert"))
    }

    pub(crate) fn import(_: &crate::args::Import) -> Result<u8, super::Failure> {
        Err(super::needs_converter("import"))
    }
}

pub(crate) mod export {
    pub(crate) fn run(_: &crate::args::Export) -> Result<u8, super::Failure> {
        Err(super::needs_converter("export"))
    }
}

pub(crate) mod symbolizer {
    use std::ffi::OsString;

    use crate::commands::tool::Tool;

    pub(crate) fn run(tool: Tool, _: &str, _: Vec<OsString>) -> Result<u8, super::Failure> {
        Err(super::needs_converter(tool.name()))
    }
}
