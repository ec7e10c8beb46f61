//! Many addresses to symbols with all their texts, which one owner holds.

use std::vec;
use std::vec::Vec;

use foldsym_lookup::{Frame, Frames, SymbolFile};
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::tier1;
use crate::types::{self, Addresses, Answer, Query, Symbol, TextFrame};

/// Symbols, and what they point to: none of these vectors grows once the pointers are made.
pub(crate) struct Table {
    pub(crate) symbols: Vec<Symbol>,
    /// Read by C through the symbols.
    _frames: Vec<TextFrame>,
    /// Texts, each with a zero behind.
    _texts: Vec<u8>,
}

/// There is no memory for an answer, or it would be larger than answers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoMemory;

impl From<std::collections::TryReserveError> for NoMemory {
    fn from(_: std::collections::TryReserveError) -> NoMemory {
        NoMemory
    }
}

/// Frames that an answer may have: a file of two kilobytes may have 457 at each address, and C asks for a million.
const MIN_FRAMES: usize = 1 << 20;
const FRAMES_EACH: usize = 64;

/// Looks each address up; a damaged place gives its address the status, and no frames. So does one whose texts are more than
/// the file can hold.
///
/// # Errors
/// There is no memory for the answer, or it has more frames than [`FRAMES_EACH`] for each address.
pub(crate) fn symbolize(
    file: &SymbolFile<'_>,
    wanted: &Addresses,
    addresses: &[u64],
) -> Result<Table, NoMemory> {
    let mut scratch = Frames::new();
    let mut texts = Texts::new(file);
    let most = addresses.len().saturating_mul(FRAMES_EACH).max(MIN_FRAMES);
    // Their texts are offsets, as long as the texts grow.
    let mut frames: Vec<TextFrame> = Vec::new();
    let (mut symbols, mut ends) = (Vec::new(), Vec::new());
    symbols.try_reserve_exact(addresses.len())?;
    ends.try_reserve_exact(addresses.len())?;
    for &address in addresses {
        let query = query(address, wanted);
        let mut answer = empty();
        let found = tier1::lookup(file, &query, None, &mut scratch, &mut answer);
        let before = frames.len();
        let mut status = found.unwrap_or(types::FOLDSYM_E_DAMAGED);
        if status == types::FOLDSYM_OK {
            for frame in file.frames(&scratch) {
                let frame = match frame {
                    Ok(frame) => texts.frame(file, &frame)?,
                    Err(_) => None,
                };
                let Some(frame) = frame else {
                    status = types::FOLDSYM_E_DAMAGED;
                    frames.truncate(before);
                    break;
                };
                if frames.len() >= most {
                    return Err(NoMemory);
                }
                frames.try_reserve(1)?;
                frames.push(frame);
            }
        }
        ends.push(before..frames.len());
        symbols.push(Symbol {
            address,
            frames: core::ptr::null(),
            frame_count: 0,
            status,
            certainty: answer.certainty,
            candidate_count: answer.candidate_count,
            reason: answer.reason,
        });
    }
    let texts = texts.bytes;
    let text = |at: *const core::ffi::c_char| {
        texts.get(at.addr()).map_or(core::ptr::null(), |byte| core::ptr::from_ref(byte).cast())
    };
    for frame in &mut frames {
        (frame.name, frame.file) = (text(frame.name), text(frame.file));
    }
    for (symbol, range) in symbols.iter_mut().zip(ends) {
        let own = frames.get(range).unwrap_or(&[]);
        symbol.frames = own.as_ptr();
        symbol.frame_count = own.len();
    }
    Ok(Table { symbols, _frames: frames, _texts: texts })
}

fn query(address: u64, wanted: &Addresses) -> Query {
    Query {
        size: size_of::<Query>(),
        resolved: core::ptr::null(),
        address,
        load_bias: wanted.load_bias,
        kind: wanted.kind,
        candidate: 0,
        reserved: [0; 4],
    }
}

fn empty() -> Answer {
    Answer {
        size: size_of::<Answer>(),
        certainty: types::FOLDSYM_UNKNOWN,
        evidence: types::FOLDSYM_BY_NOTHING,
        candidate_count: 0,
        group: types::FOLDSYM_NONE,
        frame_count: 0,
        flags: 0,
        function_start: 0,
        reason: types::FOLDSYM_FOR_NOTHING,
        reserved: 0,
    }
}

/// Bytes that all texts may have, and as many for each byte of the file: a text of 64 KiB takes a few bytes of it.
const MAX_TEXTS: usize = 64 << 20;
const TEXTS_A_BYTE: usize = 64;

/// The texts of all frames, each once, with a zero behind.
struct Texts {
    bytes: Vec<u8>,
    most: usize,
    /// Where those begin that were asked for.
    names: HashMap<u32, usize>,
    paths: HashMap<u32, usize>,
}

impl Texts {
    fn new(file: &SymbolFile<'_>) -> Self {
        let most = file.bytes().len().saturating_mul(TEXTS_A_BYTE).saturating_add(MAX_TEXTS);
        // Offset 0 is the empty text.
        Texts { bytes: vec![0], most, names: HashMap::new(), paths: HashMap::new() }
    }

    /// A frame with the offsets of its texts for pointers; `None` where one is damaged, or there is no room for it.
    ///
    /// # Errors
    /// There is no memory.
    fn frame(&mut self, file: &SymbolFile<'_>, frame: &Frame) -> Result<Option<TextFrame>, NoMemory> {
        let (bytes, most) = (&mut self.bytes, self.most);
        self.names.try_reserve(1)?;
        self.paths.try_reserve(1)?;
        let name = match frame.name {
            Some(id) => once(self.names.entry(id.0), bytes, most, |out| file.write_name(id, out))?,
            None => Some(0),
        };
        let path = match frame.file {
            Some(id) => once(self.paths.entry(id.0), bytes, most, |out| file.write_path(id, out))?,
            None => Some(0),
        };
        let at = core::ptr::without_provenance;
        let with = |(name, path)| TextFrame {
            name: at(name),
            file: at(path),
            line: frame.line,
            column: frame.column,
        };
        Ok(name.zip(path).map(with))
    }
}

/// Where a text starts, which is appended with a zero where it is not there yet; `None` where it is damaged, or longer than
/// there is room for.
///
/// # Errors
/// There is no memory.
fn once(
    known: Entry<'_, u32, usize>,
    texts: &mut Vec<u8>,
    most: usize,
    write: impl Fn(&mut [u8]) -> Option<usize>,
) -> Result<Option<usize>, NoMemory> {
    let new = match known {
        Entry::Occupied(known) => return Ok(Some(*known.get())),
        Entry::Vacant(new) => new,
    };
    let start = texts.len();
    let end = |len: usize| start.checked_add(len)?.checked_add(1).filter(|end| *end <= most);
    let Some((len, end)) = write(&mut []).and_then(|len| Some((len, end(len)?))) else { return Ok(None) };
    texts.try_reserve(end.saturating_sub(start))?;
    texts.resize(end, 0);
    // The zero at the end is not written over.
    let place = texts.get_mut(start..).and_then(|rest| rest.get_mut(..len));
    Ok(place.and_then(write).map(|_| *new.insert(start)))
}
