//! Converts arbitrary bytes and checks what every conversion promises.
//!
//! An error is one line that names the input, with exit code 3, and leaves nothing; a file opens, verifies, answers
//! every question, and says what the program says at every address.

use std::path::{Path, PathBuf};

use foldsym_convert::{NoProgress, Options, convert, verify_against};

use super::fsym;

/// Folders for inputs and outputs, in memory where there is such a place.
pub struct Bench {
    folder: tempfile::TempDir,
}

impl Default for Bench {
    fn default() -> Bench {
        let shm = Path::new("/dev/shm");
        let folder = if shm.is_dir() { tempfile::tempdir_in(shm) } else { tempfile::tempdir() };
        let folder = folder.expect("a folder for temporary files");
        for name in ["in", "out"] {
            std::fs::create_dir(folder.path().join(name)).expect("a new folder");
        }
        Bench { folder }
    }
}

impl Bench {
    /// Writes an input file.
    pub fn put(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.folder.path().join("in").join(name);
        std::fs::write(&path, bytes).expect("a file in a new folder");
        path
    }

    /// Converts `input`; the file's bytes, `None` if it was refused.
    ///
    /// # Panics
    /// Where a promise is broken.
    pub fn check(&self, input: &Path, options: &Options) -> Option<Vec<u8>> {
        let output = self.folder.path().join("out/out.fsym");
        let result = convert(input, &output, options, &NoProgress);
        let bytes = std::fs::read(&output).ok();
        let left = std::fs::read_dir(output.parent()?).expect("our folder").count();
        match result {
            Err(error) => {
                assert_eq!(left, 0, "an error left a file: {error}");
                let text = error.to_string();
                assert!(!text.contains('\n'), "{text:?}");
                None
            }
            Ok(report) => {
                assert_eq!(left, 1, "the file alone is left");
                let bytes = bytes.expect("the file that was written");
                let seen = fsym::check(&bytes).expect("a file that was written opens");
                assert!(seen.sound && seen.whole, "a file that was written verifies");
                let differs = verify_against(&output, input, options).expect("both can be read");
                assert_eq!(differs.count, 0, "{:?}\n{}", differs.examples, report.summary());
                std::fs::remove_file(&output).expect("our file");
                Some(bytes)
            }
        }
    }
}

/// Options that keep everything.
pub fn options() -> Options {
    Options::default().with(|options| {
        options.threads = 1;
        options.columns = true;
        options.locations = true;
        options.unwind = true;
        options.name_index = true;
    })
}

/// Sections that a made program may have, in the order in which an input lists them.
const MADE: &[&str] = &[
    ".debug_info",
    ".debug_abbrev",
    ".debug_line",
    ".debug_str",
    ".debug_ranges",
    ".debug_rnglists",
    ".debug_addr",
    ".debug_line_str",
    ".debug_str_offsets",
    ".debug_aranges",
];

/// The program that an input means: the input itself, if it begins as a program does; else a program with the debug sections that it lists,
/// each a length of two bytes and its bytes.
pub fn program(input: &[u8]) -> Vec<u8> {
    const MAGIC: [&[u8]; 4] =
        [b"\x7fELF", &[0xcf, 0xfa, 0xed, 0xfe], &[0xca, 0xfe, 0xba, 0xbe], &[0xce, 0xfa, 0xed, 0xfe]];
    if MAGIC.iter().any(|magic| input.starts_with(magic)) {
        return input.to_vec();
    }
    let mut rest = input;
    let mut sections = Vec::new();
    for name in MADE {
        let Some((len, after)) = rest.split_first_chunk::<2>() else { break };
        let len = usize::from(u16::from_le_bytes(*len)).min(after.len());
        let (bytes, after) = after.split_at(len);
        rest = after;
        if !bytes.is_empty() {
            sections.push((*name, bytes.to_vec()));
        }
    }
    crate::dwarf::elf(
        &sections,
        &[("first", crate::dwarf::CODE, 0x20), ("_Z6secondv", crate::dwarf::CODE + 0x20, 0x20)],
    )
}

/// The input that means a program with these sections.
pub fn listed(sections: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut out = Vec::new();
    for name in MADE {
        let bytes = sections.iter().find(|(known, _)| known == name).map_or(&[][..], |(_, bytes)| bytes);
        out.extend((bytes.len() as u16).to_le_bytes());
        out.extend(bytes);
    }
    out
}
