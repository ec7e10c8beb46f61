//! foldsym: its command converts, `foldsym-lookup` reads.

use super::reader::Output;
use foldsym_lookup::{BatchSlot, Cursor, FileId, FrameIter, ImageAddr, Lookup, NameId, SymbolFile, Texts};
use std::hint::black_box;
use std::path::Path;
use std::process::Command;

/// `foldsym convert` without the name index, which no peer has.
pub(crate) fn convert_command(
    program: &Path,
    input: &Path,
    output: &Path,
    threads: usize,
) -> Result<Command, String> {
    if !program.is_file() {
        return Err("not built yet: run `cargo build --release` in the workspace first".into());
    }
    let mut command = Command::new(program);
    command.arg("convert").arg(input).arg("-o").arg(output);
    command.args(["--threads", &threads.to_string(), "--quiet"]);
    Ok(command)
}

/// `foldsym lookup`, to which the file and an address are added.
pub(crate) fn lookup_command(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.arg("lookup");
    command
}

pub(crate) struct FoldsymReader {
    file: &'static SymbolFile<'static>,
    /// Names and paths, which are looked up one after another. Made for the second address, since a cache does not help a single one.
    texts: Option<Box<Texts<'static, 'static>>>,
    /// Names of an address were requested.
    asked: bool,
    /// For one address after the other.
    cursor: Cursor<'static, 'static>,
    /// The batch's addresses in the reader's own type, and room for them.
    addresses: Vec<ImageAddr>,
    slots: Vec<BatchSlot>,
}

/// Passes every frame of the last answer on as ids; returns how many there are.
fn count_frames(frames: FrameIter<'_, '_>) -> usize {
    let mut count = 0;
    for frame in frames.map_while(Result::ok) {
        black_box((frame.name, frame.file, frame.line));
        count += 1;
    }
    count
}

/// Writes the name and the path of every frame of the last answer; returns how many frames there are.
#[inline(always)]
fn write_frames<W>(
    frames: FrameIter<'_, '_>,
    out: &mut Output,
    writer: &mut W,
    name_to: impl Fn(&mut W, NameId, &mut [u8]) -> Option<usize>,
    path_to: impl Fn(&mut W, FileId, &mut [u8]) -> Option<usize>,
) -> usize {
    let mut count = 0;
    for frame in frames.map_while(Result::ok) {
        if let Some(name) = frame.name {
            out.fill(|room| name_to(writer, name, room));
        }
        if let Some(path) = frame.file {
            out.fill(|room| path_to(writer, path, room));
        }
        black_box(frame.line);
        count += 1;
    }
    count
}

impl FoldsymReader {
    /// Leaves the frames at an address in the cursor; whether there are any.
    fn find(&mut self, address: u64) -> bool {
        matches!(self.cursor.lookup(ImageAddr(address)), Ok(Lookup::Found(_)))
    }
}

impl super::reader::Reader for FoldsymReader {
    fn open(path: &Path, _base: u64) -> Result<Self, String> {
        let file =
            SymbolFile::open(super::mapping::map(path)?).map_err(|error| format!("foldsym: {error}"))?;
        // For the rest of the process's life, as the map is.
        let file: &'static SymbolFile<'static> = Box::leak(Box::new(file));
        Ok(Self {
            file,
            texts: None,
            asked: false,
            cursor: file.cursor(),
            addresses: Vec::new(),
            slots: Vec::new(),
        })
    }

    fn ids(&mut self, address: u64) -> usize {
        if self.find(address) { count_frames(self.cursor.frames()) } else { 0 }
    }

    fn names(&mut self, address: u64, out: &mut Output) -> usize {
        if !self.find(address) {
            return 0;
        }
        let file = self.file;
        if !std::mem::replace(&mut self.asked, true) {
            let mut own = *file;
            return write_frames(
                self.cursor.frames(),
                out,
                &mut own,
                |file, id, room| file.write_name(id, room),
                |file, id, room| file.write_path(id, room),
            );
        }
        let texts = self.texts.get_or_insert_with(|| Box::new(file.texts()));
        for name in self.cursor.frames().map_while(Result::ok).filter_map(|frame| frame.name) {
            texts.soon(name);
        }
        write_frames(self.cursor.frames(), out, &mut **texts, Texts::write_name, Texts::write_path)
    }

    fn batch(&mut self, addresses: &[u64]) -> Option<usize> {
        // Ids in, ids out: what the type of the caller's slice is costs nothing that is timed twice.
        self.addresses.clear();
        self.addresses.extend(addresses.iter().map(|&address| ImageAddr(address)));
        self.slots.resize(addresses.len(), BatchSlot::EMPTY);
        let mut count = 0;
        let file = self.file;
        file.lookup_batch(&self.addresses, &mut self.slots, |_, found, frames| {
            if let Ok(Lookup::Found(_)) = found {
                count += count_frames(file.frames(frames));
            }
        });
        Some(count)
    }
}
