//! Breakpad files by dump_syms, where minidump-stackwalk looks for them: `dump-syms FOLDER PROGRAM...`.

use dump_syms::dumper::{Config, FileOutput, Output, single_file};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (folder, programs) = args.split_first().ok_or("usage: dump-syms FOLDER PROGRAM...")?;
    for program in programs {
        let mut config = Config::with_output(Output::Store(folder.into()));
        config.check_cfi = true;
        config.emit_inlines = true;
        single_file(&config, program)?;
    }
    let _ = FileOutput::Stdout;
    Ok(())
}
