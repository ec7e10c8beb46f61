//! Turns the path of a report into its bytes: those of a core are mapped, those of any other report are read.
//!
//! Texts are checked to be UTF-8 once and then used as `str`. If another process writes into a mapped file after the check, the `str` is
//! no longer UTF-8, which is undefined behaviour. A copy in memory does not change. Cores are as large as the memory of a process, and
//! their reader takes them as bytes alone, so they are mapped.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use foldsym_reports::{Format, Opened, Options, Reader};

/// The longest report from a pipe.
const MAX_REPORT: u64 = 4 << 30;
/// Bytes from which the format of a core is known: up to `e_type` of its header.
const HEAD: usize = 18;

/// Passes the bytes of a file to a function, with the format that they must be read as. `format` is the one that the user names.
pub(super) fn read<T>(
    path: &Path,
    format: Option<Format>,
    parse: impl FnOnce(&[u8], Option<Format>) -> Result<T, String>,
) -> Result<T, String> {
    let failed = |error: io::Error| error.to_string();
    if path.as_os_str() == "-" {
        return parse(&whole(io::stdin().lock(), 0).map_err(failed)?, format);
    }
    let mut file = File::open(path).map_err(failed)?;
    let found = file.metadata().map_err(failed)?;
    if !found.is_file() {
        return parse(&whole(file, 0).map_err(failed)?, format);
    }
    let mut head = Vec::with_capacity(HEAD);
    file.by_ref().take(HEAD as u64).read_to_end(&mut head).map_err(failed)?;
    if matches!(format, None | Some(Format::ElfCore)) && Format::of(&head) == Some(Format::ElfCore) {
        let mapped = crate::io::mapped::Mapped::open(path).map_err(|failure| failure.message)?;
        // The file may have changed since. Then its bytes must not be recognized as a text.
        return parse(&mapped, Some(Format::ElfCore));
    }
    parse(&whole(head.chain(file), found.len()).map_err(failed)?, format)
}

/// Opens the report of a path, and passes it on.
pub(super) fn read_report<T>(
    path: &Path,
    reader: &Reader<'_>,
    options: &Options,
    take: impl FnOnce(Opened<'_>) -> Result<T, String>,
) -> Result<T, String> {
    read(path, options.format, |bytes, format| {
        let mut options = options.clone();
        options.format = format;
        let opened = reader.open_while(bytes, &options, &|| true).map_err(|error| error.to_string())?;
        if options.event.is_some() && opened.report().events.is_empty() {
            return Err("--event: the report does not say the events of its stacks".to_owned());
        }
        take(opened)
    })
}

/// All bytes of a stream: as many as its file has, or as a report from a pipe may have.
fn whole(from: impl Read, len: u64) -> io::Result<Vec<u8>> {
    let most = len.max(MAX_REPORT);
    // `read_to_end` would double the buffer, so that a file just above a power of two would take twice its bytes.
    let mut bytes = Vec::with_capacity(usize::try_from(len).unwrap_or(0).saturating_add(1));
    // Reading one byte more than the limit shows that the limit was exceeded.
    from.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::other(format!("more than {most} bytes")));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Another program may write into a report while it is read.
    #[test]
    fn bytes_of_texts_and_minidumps_do_not_change() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report");
        let is_core = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x04\0 named as a text";
        let reports: [(&[u8], Option<Format>); 3] =
            [(b"#0 0x1 (a+0x1)\n", None), (b"MDMP", None), (is_core, Some(Format::Sanitizer))];
        for (report, named) in reports {
            std::fs::write(&path, report).unwrap();
            let kept = read(&path, named, |bytes, format| {
                use std::io::Write;
                // Without truncation: a mapping would show the new bytes.
                let mut file = File::options().write(true).open(&path).unwrap();
                file.write_all(&vec![b'x'; report.len()]).unwrap();
                assert_eq!(format, named);
                Ok(bytes == report)
            });
            assert_eq!(kept, Ok(true), "{}", report.escape_ascii());
        }
    }

    #[test]
    fn what_is_mapped_is_read_as_a_core_whatever_it_becomes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("core");
        std::fs::write(&path, b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x04\0").unwrap();
        assert_eq!(read(&path, None, |_, format| Ok(format)), Ok(Some(Format::ElfCore)));
    }
}
