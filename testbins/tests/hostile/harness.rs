//! Converts bytes that may be anything, and holds the outcome to what every conversion promises.
//!
//! A conversion ends in time, without a panic. It leaves the finished file or nothing. An error is one line that names the input, with exit
//! code 3. A file opens, verifies, and answers.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use foldsym_convert::report::Kind;
use foldsym_convert::{NoProgress, Options, Report, convert};
use foldsym_lookup::{Frames, ImageAddr, Lookup, PieceId, SymbolFile};

/// More than any conversion here takes on a busy machine by a factor of a hundred.
const HANG: Duration = Duration::from_secs(60);

/// Addresses that are looked up in each file.
const ASKED: u32 = 50;

pub(crate) enum Outcome {
    /// The message of the error.
    Refused(String),
    Kept(Box<Kept>),
}

pub(crate) struct Kept {
    pub(crate) bytes: Vec<u8>,
    pub(crate) report: Report,
}

/// One frame: name, file, line; "" and 0 if unknown.
pub(crate) type Frame = (String, String, u32);

/// Folders for inputs and outputs.
pub(crate) struct Bench {
    folder: tempfile::TempDir,
}

impl Bench {
    pub(crate) fn new() -> Bench {
        let folder = tempfile::tempdir().unwrap();
        for name in ["in", "out"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        Bench { folder }
    }

    pub(crate) fn input(&self, name: &str) -> PathBuf {
        self.folder.path().join("in").join(name)
    }

    /// Converts a program of these bytes.
    ///
    /// # Errors
    /// The promise that was broken, in words.
    pub(crate) fn try_bytes(&self, bytes: &[u8]) -> Result<Outcome, String> {
        let path = self.input("program");
        std::fs::write(&path, bytes).unwrap();
        self.try_path(&path)
    }

    /// As [`Bench::try_bytes`], of a path.
    pub(crate) fn try_path(&self, path: &Path) -> Result<Outcome, String> {
        let output = self.folder.path().join("out/out.fsym");
        let result = in_time(path.to_owned(), output.clone());
        let entries = std::fs::read_dir(output.parent().unwrap()).unwrap();
        let left: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        let bytes = std::fs::read(&output).ok();
        for path in &left {
            std::fs::remove_file(path).unwrap();
        }
        match result? {
            Ok(report) if left == [output] => {
                let bytes = bytes.ok_or("the file cannot be read")?;
                answers(&bytes)?;
                Ok(Outcome::Kept(Box::new(Kept { bytes, report })))
            }
            Ok(_) => Err(format!("converted, and left {left:?}")),
            Err(_) if !left.is_empty() => Err(format!("failed, and left {left:?}")),
            Err((3, message)) if names(&message, path) => Ok(Outcome::Refused(message)),
            Err((code, message)) => Err(format!("exit code {code}, {message:?}")),
        }
    }

    /// Converts bytes that are bad, and of which something can be read nonetheless.
    pub(crate) fn kept(&self, bytes: &[u8]) -> Kept {
        match self.try_bytes(bytes).unwrap() {
            Outcome::Kept(kept) => *kept,
            Outcome::Refused(message) => panic!("refused: {message}"),
        }
    }

    /// The message for a path that is not a program.
    pub(crate) fn refused(&self, path: &Path) -> String {
        match self.try_path(path).unwrap() {
            Outcome::Refused(message) => message,
            Outcome::Kept(kept) => panic!("converted: {}", kept.report.summary()),
        }
    }
}

/// One line that begins with the path of the input.
fn names(message: &str, path: &Path) -> bool {
    message.starts_with(&*path.to_string_lossy()) && !message.contains('\n')
}

type Converted = Result<Report, (u8, String)>;

fn in_time(input: PathBuf, output: PathBuf) -> Result<Converted, String> {
    let (done, finished) = channel();
    let worker = std::thread::spawn(move || {
        let options = Options::default().with(|options| {
            options.threads = 1;
            options.columns = true;
            options.name_index = true;
            options.locations = true;
        });
        let result = convert(&input, &output, &options, &NoProgress);
        let result = result.map_err(|error| (if error.is_usage() { 2 } else { 3 }, error.to_string()));
        let _ = done.send(());
        result
    });
    match finished.recv_timeout(HANG) {
        // The thread cannot be ended; the test that fails ends it.
        Err(RecvTimeoutError::Timeout) => Err(format!("did not end in {HANG:?}")),
        _ => worker.join().map_err(|panic| {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            format!("panicked: {}", text.unwrap_or("without words"))
        }),
    }
}

/// Opens and verifies a file and asks it for addresses all over its code, at the ends of pieces and beside them.
fn answers(bytes: &[u8]) -> Result<(), String> {
    let file = SymbolFile::open(bytes).map_err(|error| format!("does not open: {error:?}"))?;
    file.verify().map_err(|error| format!("does not verify: {error:?}"))?;
    let count = file.records().piece_count();
    for turn in 0..ASKED {
        let mut address = u64::from(turn).wrapping_mul(0x0101_0101_0101_0101);
        if count > 0 {
            let id = PieceId((u64::from(turn) * u64::from(count) / u64::from(ASKED)) as u32);
            let piece = file.records().piece(id).map_err(|error| format!("{id:?}: {error:?}"))?;
            let steps = [0, piece.body / 2, piece.body.wrapping_sub(1), piece.body, u64::MAX];
            address = piece.start.0.wrapping_add(steps[turn as usize % steps.len()]);
        }
        frames_at(&file, address)?;
    }
    Ok(())
}

fn frames_at(file: &SymbolFile<'_>, address: u64) -> Result<Vec<Frame>, String> {
    let wrong = |problem: &dyn std::fmt::Debug| format!("lookup of {address:#x}: {problem:?}");
    let mut frames = Frames::new();
    let Lookup::Found(_) = file.lookup(ImageAddr(address), &mut frames).map_err(|error| wrong(&error))?
    else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    for frame in file.frames(&frames) {
        let frame = frame.map_err(|error| wrong(&error))?;
        let (mut name, mut path) = (vec![0; 1 << 12], vec![0; 1 << 12]);
        if let Some(id) = frame.name {
            let len = file.write_name(id, &mut name).ok_or_else(|| wrong(&id))?;
            name.truncate(len);
        }
        if let Some(id) = frame.file {
            let len = file.write_path(id, &mut path).ok_or_else(|| wrong(&id))?;
            path.truncate(len);
        }
        let text = |bytes: &[u8], known| {
            if known { String::from_utf8_lossy(bytes).into_owned() } else { String::new() }
        };
        found.push((text(&name, frame.name.is_some()), text(&path, frame.file.is_some()), frame.line));
    }
    Ok(found)
}

impl Kept {
    /// The frames at an address, innermost first.
    pub(crate) fn frames(&self, address: u64) -> Vec<Frame> {
        frames_at(&SymbolFile::open(&self.bytes).unwrap(), address).unwrap()
    }

    /// The innermost frame, as words.
    pub(crate) fn frame(&self, address: u64) -> (String, String, u32) {
        self.frames(address).into_iter().next().unwrap_or_default()
    }

    /// How often the report counts a kind.
    pub(crate) fn count(&self, kind: Kind) -> u64 {
        self.report.diagnostics.count(kind)
    }

    /// How often any limit was reached.
    pub(crate) fn caps(&self) -> u64 {
        self.report.diagnostics.caps().map(|(_, seen)| seen.count).sum()
    }
}
