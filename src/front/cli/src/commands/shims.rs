//! `foldsym shims`: makes links to this program, by whose names it acts as `llvm-symbolizer` or `addr2line`.

use std::ffi::OsString;
use std::path::Path;

use crate::args::Shims;
use crate::commands::symbolizer;
use crate::commands::tool::Tool;
use crate::io::failure::Failure;
use crate::io::output::Output;

/// The names of the links: sanitizers accept no other names, and `perf` looks for the last.
const NAMES: [&str; 3] = ["llvm-symbolizer", "llvm-addr2line", "addr2line"];

/// Runs the tool by whose name this program was started; `None` if it was started by its own.
pub(crate) fn called_as_tool() -> Option<Result<u8, Failure>> {
    let mut args = std::env::args_os();
    let program = args.next()?;
    let stem = Path::new(&program).file_stem()?.to_string_lossy().into_owned();
    let tool = Tool::of_name(&stem)?;
    Some(symbolizer::run(tool, &program.to_string_lossy(), args.collect()))
}

/// Runs a tool that was named as a command: `foldsym addr2line -e app 0x1234`.
#[inline(never)] // see `perform`
pub(crate) fn run(tool: Tool, args: &[OsString]) -> Result<u8, Failure> {
    symbolizer::run(tool, tool.name(), args.to_vec())
}

/// Makes the links. What has one of the names already is replaced only if it is a link.
pub(crate) fn make(args: &Shims) -> Result<u8, Failure> {
    let own = std::env::current_exe().map_err(|error| Failure::input(Path::new("foldsym"), error))?;
    std::fs::create_dir_all(&args.folder).map_err(|error| match args.folder.is_file() {
        true => Failure::input(&args.folder, "a file, expected a folder"),
        false => Failure::input(&args.folder, error),
    })?;
    let mut out = Output::new();
    let made = link_all(&own, &args.folder, &mut out);
    // Also before an error: the links that were made until then are printed.
    let written = out.flush();
    made?;
    written?;
    Ok(0)
}

fn link_all(own: &Path, folder: &Path, out: &mut Output) -> Result<(), Failure> {
    for name in NAMES {
        let link = folder.join(name);
        match std::fs::symlink_metadata(&link) {
            Ok(meta) if meta.is_symlink() => {
                // `symlink` does not replace an existing link.
                std::fs::remove_file(&link).map_err(|error| Failure::input(&link, error))?;
            }
            Ok(_) => return Err(Failure::input(&link, "exists and is not a symbolic link")),
            Err(_) => {}
        }
        std::os::unix::fs::symlink(own, &link).map_err(|error| Failure::input(&link, error))?;
        out.text.extend_from_slice(link.as_os_str().as_encoded_bytes());
        out.text.push(b'\n');
    }
    Ok(())
}
