//! Turns a folder of test programs into answers: converts, then asks at every address of code.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use foldsym_convert::report::{Kind, Report};
use foldsym_convert::{ConvertError, NoProgress, Options, convert};
use foldsym_lookup::{FileId, Frames, ImageAddr, Lookup, NameId, SymbolFile};

/// Where the test programs of a set are; those of split DWARF are named without the case.
pub(crate) fn built(set: &str) -> PathBuf {
    let case = if set.contains('.') { "" } else { "split." };
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testbins/built").join(format!("{case}{set}.set"))
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
pub(crate) type Frame5 = (Rc<str>, Rc<str>, u32, Rc<str>, u32);

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

/// A converted file with the names that it was asked for so far: a large program repeats them a million times.
pub(crate) struct Asked<'d> {
    pub(crate) file: SymbolFile<'d>,
    frames: Frames,
    names: HashMap<NameId, Rc<str>>,
    paths: HashMap<FileId, Rc<str>>,
}

impl<'d> Asked<'d> {
    pub(crate) fn new(bytes: &'d [u8]) -> Asked<'d> {
        let file = SymbolFile::open(bytes).unwrap();
        file.verify().unwrap();
        Asked { file, frames: Frames::new(), names: HashMap::new(), paths: HashMap::new() }
    }

    /// Every address of code.
    pub(crate) fn addresses(&self) -> Vec<std::ops::Range<u64>> {
        let code = self.file.records().program_sections().filter(|section| section.executable);
        code.map(|section| section.start.0..section.start.0 + section.len).collect()
    }

    pub(crate) fn at(&mut self, address: u64) -> Option<Known> {
        let Asked { file, frames, names, paths } = self;
        let Lookup::Found(found) = file.lookup(ImageAddr(address), frames).unwrap() else { return None };
        let mut path = |id: Option<FileId>| {
            id.map_or_else(Rc::default, |id| {
                paths.entry(id).or_insert_with(|| text(|out| file.write_path(id, out))).clone()
            })
        };
        let mut name = |id: Option<NameId>| {
            id.map_or_else(Rc::default, |id| {
                names.entry(id).or_insert_with(|| text(|out| file.write_name(id, out))).clone()
            })
        };
        let listed = file.frames(frames).map(|frame| {
            let frame = frame.unwrap();
            (name(frame.name), path(frame.file), frame.line, path(frame.start_file), frame.start_line)
        });
        Some(Known {
            frames: listed.collect(),
            partial: found.partial,
            function_start: found.function_start.0,
            members: found.member_count(),
        })
    }
}

fn answers(bytes: &[u8]) -> BTreeMap<u64, Known> {
    let mut asked = Asked::new(bytes);
    let addresses = asked.addresses().into_iter().flatten();
    addresses.filter_map(|address| Some((address, asked.at(address)?))).collect()
}

fn text(write: impl Fn(&mut [u8]) -> Option<usize>) -> Rc<str> {
    let mut out = vec![0; 1 << 16];
    let len = write(&mut out).unwrap();
    out.truncate(len);
    String::from_utf8_lossy(&out).into()
}

/// Fails at the first address where two programs answer differently.
pub(crate) fn assert_alike(what: &str, expected: &Converted, found: &Converted) {
    assert!(expected.answers.values().any(|known| known.frames.len() > 2), "{what}: nothing is inlined");
    assert_all_alike(what, expected, found);
}

/// The same for a program in which nothing inlined has inlined something else.
pub(crate) fn assert_all_alike(what: &str, expected: &Converted, found: &Converted) {
    assert!(expected.answers.values().any(|known| known.frames.len() > 1), "{what}: nothing is inlined");
    assert!(expected.answers.len() > 300, "{what}: {} addresses", expected.answers.len());
    for (address, known) in &expected.answers {
        assert_eq!(Some(known), found.answers.get(address), "{what}, {address:#x}");
    }
    assert_eq!(expected.answers.len(), found.answers.len(), "{what}");
}
