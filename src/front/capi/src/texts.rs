//! Keeps the names and paths of many files as texts, each once in one block of memory, with a terminating zero.

use core::ffi::c_char;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, TryReserveError};
use std::vec;
use std::vec::Vec;

use foldsym_lookup::{Error, FileId, Frame, NameId, SymbolFile};

use crate::types::{FOLDSYM_OUTERMOST, TextFrame};

/// Why an address has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// And neither has any other.
    Memory,
    /// The file is damaged there.
    Damaged,
}

impl From<TryReserveError> for Stop {
    fn from(_: TryReserveError) -> Stop {
        Stop::Memory
    }
}

impl From<Error> for Stop {
    fn from(_: Error) -> Stop {
        Stop::Damaged
    }
}

/// Bytes that all texts may have, and as many for each byte of the files: a text of 64 KiB takes a few bytes of one.
const MAX_TEXTS: usize = 64 << 20;
const TEXTS_A_BYTE: usize = 64;

/// The number of a file, and the id that a name or path has in it.
type Id = (u32, u32);

/// The texts of all frames.
pub(crate) struct Texts {
    bytes: Vec<u8>,
    most: usize,
    demangle: bool,
    /// Where each requested text begins, and its length.
    names: HashMap<Id, (usize, usize)>,
    readable: HashMap<Id, (usize, usize)>,
    paths: HashMap<Id, (usize, usize)>,
}

impl Texts {
    /// Texts of files that together have this many bytes.
    pub(crate) fn new(file_bytes: usize, demangle: bool) -> Self {
        Texts {
            // Offset 0 is the empty text.
            bytes: vec![0],
            most: file_bytes.saturating_mul(TEXTS_A_BYTE).saturating_add(MAX_TEXTS),
            demangle,
            names: HashMap::new(),
            readable: HashMap::new(),
            paths: HashMap::new(),
        }
    }

    /// A frame with offsets for the pointers to its texts, until [`Texts::point`].
    ///
    /// # Errors
    /// A text is damaged or there is no room for it, or there is no memory.
    pub(crate) fn frame(
        &mut self,
        file: &SymbolFile<'_>,
        number: u32,
        frame: &Frame,
    ) -> Result<TextFrame, Stop> {
        let linkage_name = match frame.name {
            Some(id) => self.name(file, number, id)?,
            None => (0, 0),
        };
        let name = match frame.name {
            Some(id) if self.demangle => self.readable(number, id, linkage_name)?,
            _ => linkage_name,
        };
        let at = |(start, _): (usize, usize)| core::ptr::without_provenance(start);
        Ok(TextFrame {
            name: at(name),
            linkage_name: at(linkage_name),
            file: at(self.path(file, number, frame.file)?),
            start_file: at(self.path(file, number, frame.start_file)?),
            line: frame.line,
            column: frame.column,
            start_line: frame.start_line,
            flags: if frame.is_outermost { FOLDSYM_OUTERMOST } else { 0 },
        })
    }

    fn name(&mut self, file: &SymbolFile<'_>, number: u32, id: NameId) -> Result<(usize, usize), Stop> {
        // Without this reservation, `entry` would abort the process when memory runs out.
        self.names.try_reserve(1)?;
        let entry = self.names.entry((number, id.0));
        once(entry, &mut self.bytes, self.most, |out| file.write_name(id, out))
    }

    fn path(
        &mut self,
        file: &SymbolFile<'_>,
        number: u32,
        id: Option<FileId>,
    ) -> Result<(usize, usize), Stop> {
        let Some(id) = id else { return Ok((0, 0)) };
        self.paths.try_reserve(1)?;
        let entry = self.paths.entry((number, id.0));
        once(entry, &mut self.bytes, self.most, |out| file.write_path(id, out))
    }

    /// The readable name of a linkage name that was stored; the linkage name itself if it has none, or there is no room for it.
    fn readable(&mut self, number: u32, id: NameId, linkage: (usize, usize)) -> Result<(usize, usize), Stop> {
        self.readable.try_reserve(1)?;
        let entry = match self.readable.entry((number, id.0)) {
            Entry::Occupied(known) => return Ok(*known.get()),
            Entry::Vacant(entry) => entry,
        };
        let name = self.bytes.get(linkage.0..linkage.0.saturating_add(linkage.1)).unwrap_or(&[]);
        let place = match foldsym_demangle::demangle(name) {
            // A readable name may be much longer than its linkage name. If there is no room for it, the linkage name is shown.
            Some(text) => match append(&mut self.bytes, self.most, text.len())? {
                Some(start) => {
                    let room = self.bytes.get_mut(start..).and_then(|rest| rest.get_mut(..text.len()));
                    if let Some(room) = room {
                        room.copy_from_slice(text.as_bytes());
                    }
                    (start, text.len())
                }
                None => linkage,
            },
            None => linkage,
        };
        Ok(*entry.insert(place))
    }

    /// Another name of a function, in the way of [`Texts::frame`].
    ///
    /// # Errors
    /// As for [`Texts::frame`].
    pub(crate) fn alias(
        &mut self,
        file: &SymbolFile<'_>,
        number: u32,
        name: NameId,
    ) -> Result<*const c_char, Stop> {
        Ok(core::ptr::without_provenance(self.name(file, number, name)?.0))
    }

    /// Turns offsets into pointers, which hold as long as what this gives back.
    pub(crate) fn point(self, frames: &mut [TextFrame], aliases: &mut [*const c_char]) -> Vec<u8> {
        let text = |at: *const c_char| {
            self.bytes.get(at.addr()).map_or(core::ptr::null(), |byte| core::ptr::from_ref(byte).cast())
        };
        for alias in aliases {
            // Until here the pointer was an offset, and nothing dereferenced it.
            *alias = text(*alias);
        }
        for frame in frames {
            frame.name = text(frame.name);
            frame.linkage_name = text(frame.linkage_name);
            frame.file = text(frame.file);
            frame.start_file = text(frame.start_file);
        }
        self.bytes
    }
}

/// Makes room for a text and its terminating zero; returns where it starts, or `None` if the texts would exceed `most`.
///
/// # Errors
/// There is no memory.
fn append(texts: &mut Vec<u8>, most: usize, len: usize) -> Result<Option<usize>, Stop> {
    let start = texts.len();
    let Some(end) = start.checked_add(len).and_then(|end| end.checked_add(1)).filter(|end| *end <= most)
    else {
        return Ok(None);
    };
    texts.try_reserve(end.saturating_sub(start))?;
    texts.resize(end, 0);
    Ok(Some(start))
}

/// The start and the length of a text, which is appended if it is not there yet.
///
/// # Errors
/// The text is damaged, or longer than there is room for; there is no memory.
fn once(
    known: Entry<'_, Id, (usize, usize)>,
    texts: &mut Vec<u8>,
    most: usize,
    write: impl Fn(&mut [u8]) -> Option<usize>,
) -> Result<(usize, usize), Stop> {
    let new = match known {
        Entry::Occupied(known) => return Ok(*known.get()),
        Entry::Vacant(new) => new,
    };
    // `write` returns the whole length, even if the buffer is empty.
    let len = write(&mut []).ok_or(Stop::Damaged)?;
    let start = append(texts, most, len)?.ok_or(Stop::Damaged)?;
    // The zero at the end is not written over.
    let place = texts.get_mut(start..).and_then(|rest| rest.get_mut(..len));
    place.and_then(write).ok_or(Stop::Damaged)?;
    Ok(*new.insert((start, len)))
}
