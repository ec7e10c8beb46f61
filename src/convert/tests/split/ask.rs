//! Turns a folder of test programs into answers: converts, then asks at every address of code.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use foldsym_convert::report::{Kind, Report};
use foldsym_convert::{ConvertError, NoProgress, Options, convert};
use foldsym_lookup::{Frames, ImageAddr, Lookup, SymbolFile};

/// Where the test programs are.
pub(crate) fn built(set: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testbins/built").join(format!("split.{set}.set"))
}

/// A folder of its own with some files of a set.
pub(crate) struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    pub(crate) fn new(set: &str, files: &[&str]) -> Place {
        let place = Place { dir: tempfile::tempdir().unwrap() };
        for file in files {
            place.copy(set, file, file);
        }
        place
    }

    pub(crate) fn copy(&self, set: &str, from: &str, to: &str) {
        std::fs::write(self.path(to), std::fs::read(built(set).join(from)).unwrap()).unwrap();
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(name)
    }

    /// Changes the bytes of a file.
    pub(crate) fn edit(&self, name: &str, edit: impl FnOnce(&mut Vec<u8>)) {
        let mut bytes = std::fs::read(self.path(name)).unwrap();
        edit(&mut bytes);
        std::fs::write(self.path(name), bytes).unwrap();
    }

    /// Changes bytes of a file too large to read.
    pub(crate) fn edit_at(&self, name: &str, offset: u64, bytes: &[u8]) {
        use std::io::{Seek, SeekFrom, Write};
        let mut file = std::fs::OpenOptions::new().write(true).open(self.path(name)).unwrap();
        file.seek(SeekFrom::Start(offset)).unwrap();
        file.write_all(bytes).unwrap();
    }

    pub(crate) fn converted(&self, name: &str) -> Converted {
        self.converted_with(name, Options::default()).unwrap()
    }

    pub(crate) fn converted_with(&self, name: &str, options: Options) -> Result<Converted, ConvertError> {
        let output = self.path("out.fsym");
        let report = convert(&self.path(name), &output, &options, &NoProgress)?;
        let bytes = std::fs::read(output).unwrap();
        Ok(Converted { answers: answers(&bytes), report })
    }
}

/// One frame: name, file, line, file and line of its declaration.
pub(crate) type Frame5 = (String, String, u32, String, u32);

/// What is known at an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Known {
    /// Innermost first.
    pub(crate) frames: Vec<Frame5>,
    pub(crate) partial: bool,
    pub(crate) function_start: u64,
    pub(crate) members: u32,
}

pub(crate) struct Converted {
    /// By address; addresses where nothing is known have no entry.
    pub(crate) answers: BTreeMap<u64, Known>,
    pub(crate) report: Report,
}

impl Converted {
    /// How often a kind was met, and the words of its first case.
    pub(crate) fn said(&self, kind: Kind) -> (u64, String) {
        let seen = self.report.diagnostics.iter().find(|(found, _)| *found == kind);
        seen.map_or((0, String::new()), |(_, seen)| (seen.count, seen.example.clone()))
    }
}

fn answers(bytes: &[u8]) -> BTreeMap<u64, Known> {
    let file = SymbolFile::open(bytes).unwrap();
    file.verify().unwrap();
    let mut frames = Frames::new();
    let mut answers = BTreeMap::new();
    for section in file.program_sections().filter(|section| section.executable) {
        for address in section.start.0..section.start.0 + section.len {
            let Lookup::Found(found) = file.lookup(ImageAddr(address), &mut frames).unwrap() else {
                continue;
            };
            let listed = file.frames(&frames).map(|frame| {
                let frame = frame.unwrap();
                let path =
                    |id: Option<_>| id.map_or(String::new(), |id| text(|out| file.write_path(id, out)));
                (
                    frame.name.map_or(String::new(), |id| text(|out| file.write_name(id, out))),
                    path(frame.file),
                    frame.line,
                    path(frame.start_file),
                    frame.start_line,
                )
            });
            let known = Known {
                frames: listed.collect(),
                partial: found.partial,
                function_start: found.function_start.0,
                members: found.member_count(),
            };
            answers.insert(address, known);
        }
    }
    answers
}

fn text(write: impl Fn(&mut [u8]) -> Option<usize>) -> String {
    let mut out = vec![0; 4096];
    let len = write(&mut out).unwrap();
    out.truncate(len);
    String::from_utf8_lossy(&out).into_owned()
}

/// Fails at the first address where two programs answer differently.
pub(crate) fn assert_alike(what: &str, expected: &Converted, found: &Converted) {
    assert!(expected.answers.len() > 300, "{what}: {} addresses", expected.answers.len());
    for (address, known) in &expected.answers {
        assert_eq!(Some(known), found.answers.get(address), "{what}, {address:#x}");
    }
    assert_eq!(expected.answers.len(), found.answers.len(), "{what}");
    assert!(expected.answers.values().any(|known| known.frames.len() > 2), "{what}: nothing is inlined");
}
