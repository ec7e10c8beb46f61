//! Mozilla's dump_syms: Breakpad text. It demangles while it converts, and has no reader.

use super::reader::Converted;
use dump_syms::dumper::{Config, FileOutput, Output, single_file};
use std::path::Path;

pub(crate) fn convert(input: &Path, output: &Path) -> Result<Converted, String> {
    let mut config = Config::with_output(Output::File(FileOutput::Path(output.to_owned())));
    // Debug files may come without unwind tables.
    config.check_cfi = false;
    let input = input.to_str().ok_or("a path that is not UTF-8")?;
    single_file(&config, input).map_err(|error| format!("dump_syms: {error}"))?;
    Ok(Converted { base: 0, note: "demangles".into() })
}
