//! foldsym: its command converts, `foldsym-lookup` reads.

use std::path::Path;
use std::process::Command;

/// `foldsym convert` without the name index, which no peer has.
pub(crate) fn convert_command(
    program: &Path,
    input: &Path,
    output: &Path,
    threads: usize,
) -> Result<Command, String> {
    if !program.is_file() {
        return Err("not built yet: run `cargo build --release` in the workspace first".into());
    }
    let mut command = Command::new(program);
    command.arg("convert").arg(input).arg("-o").arg(output);
    command.args(["--threads", &threads.to_string(), "--no-name-index", "--quiet"]);
    Ok(command)
}

/// `foldsym lookup`, to which the file and an address are added.
pub(crate) fn lookup_command(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.arg("lookup");
    command
}

/// Not linked yet: opening gives an error row.
pub(crate) struct Reader;

impl super::Reader for Reader {
    fn open(_path: &Path, _base: u64) -> Result<Self, String> {
        Err("not built yet".into())
    }

    fn ids(&mut self, _address: u64) -> usize {
        0
    }

    fn names(&mut self, _address: u64, _out: &mut Vec<u8>) -> usize {
        0
    }
}
