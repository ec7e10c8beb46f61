//! Reads the sections of the call graph (`.llvm.callgraph`, `SHT_LLVM_CALL_GRAPH`, LLVM 22 and 23) into one [`CallGraph`].
//!
//! ```text
//! u8   version, 0
//! u8   flags: 1 calls through pointers may call the function, 2 direct callees follow, 4 types of other calls follow
//! addr where the function begins
//! u64  the hash of its type, 0 for none
//! [2]  ULEB n, n addresses
//! [4]  ULEB n, n hashes
//! ```
//! A record has no length. So after one that cannot be read, the rest of its section is lost.

use crate::diagnostics::{Diagnostics, Kind};
use crate::model::{CallGraph, CallGraphRecord, ImageAddr, TypeHash};
use crate::open::Arch;
use crate::read::code::CodeSections;
use crate::util::leb;

/// Calls through pointers may call the function.
const IS_TARGET: u8 = 1;
const HAS_CALLEES: u8 = 2;
const HAS_TYPES: u8 = 4;

struct RecordReader<'f> {
    bytes: &'f [u8],
    at: usize,
    address_size: usize,
    big_endian: bool,
}

/// Reads all sections. The offset of a diagnostic counts from the start of the section that its text names. Records of functions that the
/// linker removed are left out.
pub(crate) fn read(
    sections: &[&[u8]],
    arch: &Arch,
    code: &CodeSections,
    diagnostics: &mut Diagnostics,
) -> CallGraph {
    let mut graph = CallGraph::default();
    for (number, &bytes) in sections.iter().enumerate() {
        let (address_size, big_endian) = (usize::from(arch.address_size), arch.big_endian);
        let mut reader = RecordReader { bytes, at: 0, address_size, big_endian };
        while reader.at < bytes.len() {
            let (start, known) = (reader.at as u64, graph.called.len());
            match reader.record(&mut graph.called) {
                Ok(record) if code.contains(record.entry.0) => graph.records.push(record),
                Ok(_) => graph.called.truncate(known),
                Err(what) => {
                    graph.called.truncate(known);
                    diagnostics.add(Kind::BadCallGraph, start, || {
                        format!("section {number} of the call graph, offset {start:#x}: {what}")
                    });
                    break;
                }
            }
        }
    }
    graph
}

impl RecordReader<'_> {
    fn record(&mut self, called: &mut Vec<TypeHash>) -> Result<CallGraphRecord, String> {
        let version = self.fixed(1)?;
        if version != 0 {
            return Err(format!("version {version}, expected 0"));
        }
        let flags = self.fixed(1)? as u8;
        if flags & !(IS_TARGET | HAS_CALLEES | HAS_TYPES) != 0 {
            return Err(format!("flags {flags:#x}, expected at most 0x7"));
        }
        let entry = ImageAddr(self.fixed(self.address_size)?);
        let own = self.fixed(8)?;
        if flags & HAS_CALLEES != 0 {
            let bytes = self.count()?.checked_mul(self.address_size).ok_or("too many callees")?;
            self.field(bytes)?;
        }
        let first = called.len() as u32;
        if flags & HAS_TYPES != 0 {
            for _ in 0..self.count()? {
                called.push(TypeHash(self.fixed(8)?));
            }
        }
        let type_id = (flags & IS_TARGET != 0 && own != 0).then_some(TypeHash(own));
        Ok(CallGraphRecord { entry, type_id, called: first..called.len() as u32 })
    }

    fn field(&mut self, size: usize) -> Result<&[u8], String> {
        let field = self.bytes.get(self.at..).and_then(|rest| rest.get(..size));
        let field = field.ok_or("ends inside a record")?;
        self.at += size;
        Ok(field)
    }

    /// An integer of up to 8 bytes in the program's byte order.
    fn fixed(&mut self, size: usize) -> Result<u64, String> {
        let (mut word, big_endian) = ([0; 8], self.big_endian);
        let field = self.field(size)?;
        if big_endian {
            word[8 - size..].copy_from_slice(field);
            return Ok(u64::from_be_bytes(word));
        }
        word[..size].copy_from_slice(field);
        Ok(u64::from_le_bytes(word))
    }

    fn count(&mut self) -> Result<usize, String> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let (count, len) = leb::unsigned(rest).map_err(|_| "a count that cannot be read")?;
        self.at += len;
        usize::try_from(count).map_err(|_| "a count of 2^64 or more".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::AddressRange;

    /// Two records as clang 22 wrote them, with addresses.
    const FIRST: &[u8] =
        b"\0\x05\x10\0\0\0\0\0\0\0\x7a\x0c\x55\xa4\xfb\x97\xa4\x01\x01\xa1\x50\xb8\x3e\x0c\xfe\x3c\xb2";
    const SECOND: &[u8] = b"\0\x03\x20\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\x10\0\0\0\0\0\0\0";

    fn graph(sections: &[&[u8]]) -> (CallGraph, Vec<(Kind, u64, u64)>) {
        let arch = Arch { machine: 62, name: "x86_64", address_size: 8, big_endian: false };
        let range = AddressRange::new(ImageAddr(0x10), ImageAddr(0x40));
        let code = CodeSections { ranges: vec![range], ..CodeSections::default() };
        let mut diagnostics = Diagnostics::default();
        let graph = read(sections, &arch, &code, &mut diagnostics);
        (graph, diagnostics.iter().map(|(kind, seen)| (kind, seen.count, seen.first)).collect())
    }

    #[test]
    fn records_have_types_and_lists() {
        let both = [FIRST, SECOND].concat();
        let (graph, problems) = graph(&[&both]);
        let first = CallGraphRecord {
            entry: ImageAddr(0x10),
            type_id: Some(TypeHash(0x01a4_97fb_a455_0c7a)),
            called: 0..1,
        };
        // A type of 0 is none.
        let second = CallGraphRecord { entry: ImageAddr(0x20), type_id: None, called: 1..1 };
        assert_eq!((graph.records, problems), (vec![first.clone(), second], vec![]));
        assert_eq!(graph.called, [TypeHash(0xb23c_fe0c_3eb8_50a1)]);
    }

    #[test]
    fn a_damaged_record_ends_its_section() {
        let records = |bytes: &[u8]| {
            // The section after the damaged one is read.
            let (graph, problems) = graph(&[bytes, SECOND]);
            assert_eq!(graph.records.last().map(|last| last.entry), Some(ImageAddr(0x20)), "{bytes:x?}");
            (graph.records.len() - 1, problems)
        };
        let whole = [FIRST, SECOND].concat();
        for cut in 0..whole.len() {
            let (count, problems) = records(&whole[..cut]);
            assert_eq!(count, usize::from(cut >= FIRST.len()));
            let first = if cut < FIRST.len() { 0 } else { FIRST.len() as u64 };
            let expected =
                if cut == 0 || cut == FIRST.len() { vec![] } else { vec![(Kind::BadCallGraph, 1, first)] };
            assert_eq!(problems, expected, "cut at {cut}");
        }
        let with = |at: usize, byte: u8| {
            let mut bytes = FIRST.to_vec();
            bytes[at] = byte;
            bytes
        };
        // Another version, an unknown flag, and a count that the section does not have.
        for damaged in [with(0, 1), with(1, 0x0d), with(18, 0x7f)] {
            assert_eq!(records(&damaged), (0, vec![(Kind::BadCallGraph, 1, 0)]));
        }
        // A function that the linker removed is no damage.
        assert_eq!(records(&with(2, 0)), (0, vec![]));
    }
}
