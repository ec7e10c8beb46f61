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

/// A frame whose texts are offsets, as long as their vector grows.
struct Draft {
    name: usize,
    file: usize,
    line: u32,
    column: u32,
}

/// Looks each address up; a damaged place gives its address the status, and no frames. So does one whose texts are more than
/// the file can hold.
pub(crate) fn symbolize(file: &SymbolFile<'_>, wanted: &Addresses, addresses: &[u64]) -> Table {
    let mut scratch = Frames::new();
    let mut texts = Texts::new(file);
    let mut drafts: Vec<Draft> = Vec::new();
    let mut symbols = Vec::with_capacity(addresses.len());
    let mut ends = Vec::with_capacity(addresses.len());
    for &address in addresses {
        let query = query(address, wanted);
        let mut answer = empty();
        let found = tier1::lookup(file, &query, None, &mut scratch, &mut answer);
        let before = drafts.len();
        let mut status = found.unwrap_or(types::FOLDSYM_E_DAMAGED);
        if status == types::FOLDSYM_OK {
            for frame in file.frames(&scratch) {
                let draft = frame.ok().and_then(|frame| texts.draft(file, &frame));
                match draft {
                    Some(draft) => drafts.push(draft),
                    None => {
                        status = types::FOLDSYM_E_DAMAGED;
                        drafts.truncate(before);
                        break;
                    }
                }
            }
        }
        ends.push(before..drafts.len());
        symbols.push(Symbol {
            address,
            frames: core::ptr::null(),
            frame_count: 0,
            status,
            certainty: answer.certainty,
            candidate_count: answer.candidate_count,
            reserved: 0,
        });
    }
    let texts = texts.bytes;
    let text = |at: usize| texts.get(at).map_or(core::ptr::null(), |byte| core::ptr::from_ref(byte).cast());
    let frames: Vec<TextFrame> = drafts
        .iter()
        .map(|draft| TextFrame {
            name: text(draft.name),
            file: text(draft.file),
            line: draft.line,
            column: draft.column,
        })
        .collect();
    for (symbol, range) in symbols.iter_mut().zip(ends) {
        let own = frames.get(range).unwrap_or(&[]);
        symbol.frames = own.as_ptr();
        symbol.frame_count = own.len();
    }
    Table { symbols, _frames: frames, _texts: texts }
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

    /// A frame with its texts; `None` where one is damaged, or there is no room for it.
    fn draft(&mut self, file: &SymbolFile<'_>, frame: &Frame) -> Option<Draft> {
        let (bytes, most) = (&mut self.bytes, self.most);
        let name = match frame.name {
            Some(id) => once(self.names.entry(id.0), bytes, most, |out| file.write_name(id, out))?,
            None => 0,
        };
        let path = match frame.file {
            Some(id) => once(self.paths.entry(id.0), bytes, most, |out| file.write_path(id, out))?,
            None => 0,
        };
        Some(Draft { name, file: path, line: frame.line, column: frame.column })
    }
}

/// Where a text starts, which is appended with a zero where it is not there yet.
fn once(
    known: Entry<'_, u32, usize>,
    texts: &mut Vec<u8>,
    most: usize,
    write: impl Fn(&mut [u8]) -> Option<usize>,
) -> Option<usize> {
    let new = match known {
        Entry::Occupied(known) => return Some(*known.get()),
        Entry::Vacant(new) => new,
    };
    let start = texts.len();
    let len = write(&mut [])?;
    let end = start.checked_add(len)?.checked_add(1).filter(|end| *end <= most)?;
    texts.resize(end, 0);
    // The zero at the end is not written over.
    write(texts.get_mut(start..)?.get_mut(..len)?)?;
    Some(*new.insert(start))
}
