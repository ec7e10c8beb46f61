//! GSYM: written by `llvm-gsymutil` and by gsym-rs, both read by gsym-rs.

use super::reader::{Converted, Output};
use gsym::{FrameLookupOptions, LookupScratch, MappedGsym};
use std::hint::black_box;
use std::path::Path;
use std::process::Command;

/// `llvm-gsymutil` as it is by default: no merged functions, no call sites.
pub(crate) fn convert_command(program: &Path, input: &Path, output: &Path, threads: usize) -> Command {
    let mut command = Command::new(program);
    command.arg("--quiet").arg(format!("--num-threads={threads}"));
    command.arg("--convert").arg(input).arg("--out-file").arg(output);
    command
}

/// gsym-rs by default: with inlines, without call sites. It has one thread for one file.
pub(crate) fn convert(input: &Path, output: &Path) -> Result<Converted, String> {
    let report = gsym::convert::ElfConverter::default()
        .convert_path(input)
        .map_err(|error| format!("gsym-rs: {error}"))?;
    let note = match report.warnings.len() {
        0 => String::new(),
        count => format!("{count} warnings"),
    };
    let file = std::fs::File::create(output).map_err(|error| error.to_string())?;
    let mut writer = std::io::BufWriter::new(file);
    report.builder.write_to(&mut writer).map_err(|error| format!("gsym-rs: {error}"))?;
    std::io::Write::flush(&mut writer).map_err(|error| error.to_string())?;
    Ok(Converted { base: 0, note })
}

pub(crate) struct GsymReader {
    gsym: MappedGsym,
    scratch: LookupScratch,
}

impl super::reader::Reader for GsymReader {
    fn open(path: &Path, _base: u64) -> Result<Self, String> {
        // SAFETY: the file is complete and nothing writes to it while it is measured.
        let gsym = unsafe { MappedGsym::map(path) }.map_err(|error| format!("gsym-rs: {error}"))?;
        Ok(Self { gsym, scratch: LookupScratch::with_capacity(64) })
    }

    fn ids(&mut self, address: u64) -> usize {
        let mut count = 0;
        let visit = |frame| {
            black_box(frame);
            count += 1;
        };
        let found =
            self.gsym.for_each_frame(address, FrameLookupOptions::default(), &mut self.scratch, visit);
        if found.is_err() { 0 } else { count }
    }

    fn names(&mut self, address: u64, out: &mut Output) -> usize {
        let mut count = 0;
        let visit = |frame: gsym::LookupFrame<'_>| {
            out.add(frame.name);
            out.add(frame.directory);
            out.add(b"/");
            out.add(frame.basename);
            black_box(frame.line);
            count += 1;
        };
        let found =
            self.gsym.for_each_frame(address, FrameLookupOptions::default(), &mut self.scratch, visit);
        if found.is_err() { 0 } else { count }
    }
}
