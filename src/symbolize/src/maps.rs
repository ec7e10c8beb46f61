//! Turns the text of `/proc/PID/maps` into the modules of a process.

use std::collections::BTreeMap;
use std::path::Path;

use crate::parse::{ParseError, form};
use crate::running;
use crate::stack::{Mapping, Module, Modules};

/// One line of `/proc/PID/maps`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MapsEntry {
    /// First address.
    pub start: u64,
    /// The address after the last one.
    pub end: u64,
    /// The mapping is executable.
    pub executable: bool,
    /// The file offset of the first address.
    pub file_offset: u64,
    /// The device of the file system that has the file: major and minor number.
    pub device: (u32, u32),
    /// The inode of the file, 0 for memory without a file.
    pub inode: u64,
    /// The path without ` (deleted)`. Empty for memory without a file; a word in brackets such as `[stack]` for mappings of the kernel.
    pub path: String,
    /// The file was removed or replaced since. A file that is at this path now may be another build.
    pub deleted: bool,
}

/// Reads the text of `/proc/PID/maps`.
///
/// # Errors
/// A line of another form; the message holds it.
///
/// ```
/// let text = "7f0000000000-7f0000001000 r-xp 00002000 fe:01 1234       /usr/lib/libfoo.so\n";
/// let entries = foldsym_symbolize::parse_maps(text)?;
/// assert_eq!((entries[0].start, entries[0].file_offset), (0x7f0000000000, 0x2000));
/// assert_eq!(entries[0].path, "/usr/lib/libfoo.so");
/// # Ok::<(), foldsym_symbolize::ParseError>(())
/// ```
pub fn parse_maps(text: &str) -> Result<Vec<MapsEntry>, ParseError> {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines
        .map(|line| entry(line).ok_or_else(|| form(line, "START-END MODE OFFSET DEVICE INODE [PATH]")))
        .collect()
}

fn entry(line: &str) -> Option<MapsEntry> {
    // Only the last field, the path, may contain spaces.
    let mut rest = line;
    let mut word = || {
        let (word, behind) = rest.split_once(' ').unwrap_or((rest, ""));
        rest = behind.trim_start_matches(' ');
        word
    };
    let (range, mode, offset, device, inode) = (word(), word(), word(), word(), word());
    let (start, end) = range.split_once('-')?;
    // `from_str_radix` accepts a plus sign, but no line of `maps` has one.
    let hex = |text: &str| u64::from_str_radix(text, 16).ok().filter(|_| !text.starts_with('+'));
    let (start, end) = (hex(start)?, hex(end)?);
    let (major, minor) = device.split_once(':')?;
    let small = |text: &str| hex(text).and_then(|number| u32::try_from(number).ok());
    if start >= end || mode.len() != 4 {
        return None;
    }
    let (path, deleted) = match rest.strip_suffix(" (deleted)") {
        Some(path) => (path, true),
        None => (rest, false),
    };
    Some(MapsEntry {
        start,
        end,
        executable: mode.as_bytes()[2] == b'x',
        file_offset: hex(offset)?,
        device: (small(major)?, small(minor)?),
        inode: inode.parse().ok()?,
        path: unescape(path),
        deleted,
    })
}

/// Replaces `\012`, which the kernel writes for a line end in a path.
fn unescape(path: &str) -> String {
    path.replace("\\012", "\n")
}

/// As [`modules_of_maps`], and modules know their programs. Files that were removed since are left out.
///
/// `folder` is `/proc/PID` of a running process: its files are opened as the process sees them, and only if device and inode are those of
/// the mapping; else the module has a note. Without `folder` the files are assumed to be unchanged at their paths.
pub fn modules_of_process(entries: &[MapsEntry], folder: Option<&Path>) -> Modules {
    let with_program = |(module, entry): (Module, &MapsEntry)| match folder {
        // Checked first: a file that is at the path now is not the mapped one.
        _ if entry.deleted => module.noted("the file was removed or replaced since the process mapped it"),
        None => module.with_program(Path::new(&entry.path)),
        Some(folder) => match running::program(&entry.path, (entry.device, entry.inode), folder) {
            Ok(program) => module.with_program(&program),
            Err(why) => module.noted(&why),
        },
    };
    Modules::new(files(entries).into_iter().map(with_program).collect())
}

/// The modules of a process: a module for each file with executable mappings, with the address of the file's first byte.
///
/// In nearly every program the first segment begins at the file's first byte, so this is the address of the first segment. If the first
/// byte of a file is not mapped, each of the file's executable mappings becomes a module, by file offset.
pub fn modules_of_maps(entries: &[MapsEntry]) -> Modules {
    Modules::new(files(entries).into_iter().map(|(module, _)| module).collect())
}

/// The modules, each with a mapping of its file.
fn files(entries: &[MapsEntry]) -> Vec<(Module, &MapsEntry)> {
    // The map is sorted, so that the order of the modules does not depend on a hash.
    let mut files: BTreeMap<_, Vec<&MapsEntry>> = BTreeMap::new();
    for entry in entries.iter().filter(|entry| !entry.path.is_empty() && entry.inode != 0) {
        // The path alone is not enough: a file that replaced another has the same path, and both may be mapped.
        files.entry((&entry.path, entry.device, entry.inode)).or_default().push(entry);
    }
    let mut modules = Vec::new();
    for ((path, ..), mut parts) in files {
        // The kernel lists mappings by address; a text that something else wrote may not.
        parts.sort_by_key(|part| part.start);
        // A file may be loaded several times: each mapping of its first byte begins one, which has the parts up to the next.
        let mut load: Option<u64> = None;
        let mut loads: Vec<(u64, u64, bool)> = Vec::new();
        let first = parts.first().copied();
        let mut add = |mapping| modules.extend(first.map(|entry| (Module::new(path).mapped(mapping), entry)));
        for part in parts {
            // Another part at offset 0 that begins where the load ends so far belongs to the same load.
            if part.file_offset == 0
                && !(load.is_some() && loads.last().is_some_and(|last| last.1 == part.start))
            {
                load = Some(part.start);
                loads.push((part.start, part.end, part.executable));
            } else if let (Some(_), Some(last)) = (load, loads.last_mut()) {
                // Parts of a text that no kernel wrote may overlap.
                last.1 = last.1.max(part.end);
                last.2 |= part.executable;
            } else if part.executable {
                let size = part.end - part.start;
                add(Mapping::FilePart { start: part.start, size, file_offset: part.file_offset });
            }
        }
        for (start, end, executable) in loads {
            if executable {
                add(Mapping::LoadAddress { address: start, size: Some(end - start) });
            }
        }
    }
    modules
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
55d0c0000000-55d0c0001000 r--p 00000000 fe:01 10                         /opt/my app/run
55d0c0001000-55d0c0003000 r-xp 00001000 fe:01 10                         /opt/my app/run
55d0c1000000-55d0c1021000 rw-p 00000000 00:00 0                          [heap]
7f0000000000-7f0000001000 r-xp 00002000 fe:01 11                         /usr/lib/libpart.so (deleted)
7f0000010000-7f0000011000 r--p 00000000 fe:01 12                         /usr/share/data
7f0000020000-7f0000021000 rw-p 00000000 00:00 0
7ffd00000000-7ffd00002000 r-xp 00000000 00:00 0                          [vdso]
";

    #[test]
    fn files_with_code_are_modules() {
        let entries = parse_maps(MAPS).unwrap();
        assert_eq!(entries.len(), 7);
        assert_eq!((entries[0].device, entries[0].inode), ((0xfe, 1), 10));
        assert!(entries[3].deleted && entries[3].path == "/usr/lib/libpart.so");
        let modules = modules_of_maps(&entries);
        let found: Vec<_> = modules.iter().map(|module| (&*module.name, module.mapping)).collect();
        let load = Mapping::LoadAddress { address: 0x55d0_c000_0000, size: Some(0x3000) };
        let part = Mapping::FilePart { start: 0x7f00_0000_0000, size: 0x1000, file_offset: 0x2000 };
        assert_eq!(found, [("/opt/my app/run", load), ("/usr/lib/libpart.so", part)]);
        assert_eq!(modules.find(0x55d0_c000_1500), Some(0));
    }

    /// No kernel writes such texts, but a report may have one.
    #[test]
    fn parts_may_be_in_any_order_and_overlap() {
        let found = |text: &str| {
            let modules = modules_of_maps(&parse_maps(text).unwrap());
            modules.iter().map(|module| module.mapping).collect::<Vec<_>>()
        };
        let head = "2000-3000 r--p 00000000 fe:01 10 /a\n";
        let code = "3000-4800 r-xp 00001000 fe:01 10 /a\n";
        let load = Mapping::LoadAddress { address: 0x2000, size: Some(0x2800) };
        assert_eq!(found(&[code, head].concat()), [load]);
        assert_eq!(found(&[head, code, "3800-4000 r--p 00001800 fe:01 10 /a\n"].concat()), [load]);
        // Code below the file's first byte belongs to no load.
        let below = Mapping::FilePart { start: 0x1000, size: 0x800, file_offset: 0x1000 };
        assert_eq!(found(&[head, "1000-1800 r-xp 00001000 fe:01 10 /a\n"].concat()), [below]);
    }

    #[test]
    fn our_own_process_is_read() {
        let Ok(text) = std::fs::read_to_string("/proc/self/maps") else { return };
        let modules = modules_of_maps(&parse_maps(&text).unwrap());
        let here = our_own_process_is_read as *const () as u64;
        let module = &modules[modules.find(here).expect("this code is in a module")];
        let program = std::env::current_exe().unwrap();
        assert_eq!(Some(module.file_name()), program.file_name().and_then(|name| name.to_str()));
        assert!(matches!(module.mapping, Mapping::LoadAddress { .. }));
    }

    #[test]
    fn a_removed_file_is_no_program() {
        let modules = modules_of_process(&parse_maps(MAPS).unwrap(), None);
        assert_eq!(modules[0].program.as_deref(), Some(Path::new("/opt/my app/run")));
        let (removed, note) = (modules[1].program.as_deref(), modules[1].note.as_deref());
        assert!(
            removed.is_none() && note.is_some_and(|note| note.contains("removed")),
            "{removed:?} {note:?}"
        );
    }

    #[test]
    fn programs_of_our_own_process() {
        let folder = Path::new("/proc/self");
        let Ok(text) = std::fs::read_to_string(folder.join("maps")) else { return };
        let mut entries = parse_maps(&text).unwrap();
        let ours = std::env::current_exe().unwrap();
        let program = |entries: &[MapsEntry]| {
            let modules = modules_of_process(entries, Some(folder));
            let module = modules.iter().find(|module| Path::new(&*module.name) == ours).unwrap().clone();
            (module.program, module.note)
        };
        assert_eq!(program(&entries), (Some(ours.as_path().into()), None));
        for entry in entries.iter_mut().filter(|entry| Path::new(&entry.path) == ours) {
            entry.inode += 1;
        }
        let (none, note) = program(&entries);
        let note = note.unwrap();
        assert!(none.is_none() && note.contains("is not the one that the process mapped"), "{none:?} {note}");
        assert!(note.contains(ours.to_str().unwrap()), "{note}");
    }

    /// A comparison of each file with each other would take hours.
    #[test]
    fn many_files() {
        let mut text = String::new();
        for at in 1..=300_000_u64 {
            let start = at << 16;
            text += &format!("{start:x}-{:x} r-xp 00000000 fe:01 {at} /lib/{at}.so\n", start + 4096);
        }
        let entries = parse_maps(&text).unwrap();
        assert_eq!(modules_of_process(&entries, None).len(), entries.len());
    }

    #[test]
    fn other_lines_are_errors() {
        for text in [
            "x",
            "1-0 r-xp 0 0 0",
            "0-1 r-xp",
            "0-1 rx 0 0:0 0",
            "+0-1 r-xp 0 0:0 0",
            "0-1 r-xp 0 0:0 x /a",
            "0-1 r-xp 0 0 0 /a",
        ] {
            assert!(parse_maps(text).is_err(), "{text}");
        }
        assert!(parse_maps("\n\n").unwrap().is_empty());
    }
}
