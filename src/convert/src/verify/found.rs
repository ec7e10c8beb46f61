//! The answer of a `.fsym` at an address, by way of the reader.

use foldsym_lookup::records::{Names, Owner, Piece, RowsOffset};
use foldsym_lookup::{
    Error, Frames, FunctionId, ImageAddr, Lookup, NameId, PieceId, SectionId, SymbolFile, What,
};

use super::words::{Answer, FrameWords, MemberWords};

/// A file, and all its names and paths in plain bytes, however long they are.
pub(super) struct Answers<'a> {
    file: &'a SymbolFile<'a>,
    names: StringTable,
    files: StringTable,
}

impl<'a> Answers<'a> {
    /// # Errors
    /// A name that cannot be decoded.
    pub(super) fn new(file: &'a SymbolFile<'a>) -> Result<Self, Error> {
        let names = StringTable::of(file.records().names(), SectionId::NAMES)?;
        let files = StringTable::of(file.records().files(), SectionId::FILES)?;
        Ok(Self { file, names, files })
    }

    /// Adds the addresses at which an answer may begin.
    ///
    /// # Errors
    /// Damage.
    pub(super) fn cuts(&self, cuts: &mut Vec<u64>) -> Result<(), Error> {
        for id in 0..self.file.records().piece_count() {
            let piece = self.file.records().piece(PieceId(id))?;
            for offset in [0, piece.body, piece.len()] {
                cuts.extend(piece.start.0.checked_add(offset));
            }
            match piece.owner {
                Owner::Function(_) => self.row_cuts(&piece, piece.rows, cuts)?,
                Owner::Group(group) => {
                    for member in self.file.records().members(self.file.records().group(group)?) {
                        self.row_cuts(&piece, member?.rows, cuts)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn row_cuts(&self, piece: &Piece, rows: Option<RowsOffset>, cuts: &mut Vec<u64>) -> Result<(), Error> {
        let Some(rows) = rows else { return Ok(()) };
        for row in self.file.records().rows(rows)?.iter() {
            let offset = row?.offset;
            // A longer piece may share the record, which then has rows after the end of this one.
            if offset >= piece.len() {
                break;
            }
            cuts.extend(piece.start.0.checked_add(offset));
        }
        Ok(())
    }

    /// The answer at an address.
    ///
    /// # Errors
    /// Damage.
    pub(super) fn at(&self, address: u64, scratch: &mut Frames) -> Result<Option<Answer<'_>>, Error> {
        let Lookup::Found(answer) = self.file.lookup(ImageAddr(address), scratch)? else { return Ok(None) };
        let folded = answer.group.is_some();
        let mut members = Vec::with_capacity(answer.member_count() as usize);
        if answer.group.is_none() {
            members.push(self.member(answer.function, None, scratch)?);
        } else {
            for index in 0..answer.member_count() {
                let member = self.file.member_frames(&answer, index, scratch)?;
                members.push(self.member(member.function, Some(member.how.text()), scratch)?);
            }
        }
        Ok(Some(Answer { start: answer.function_start.0, padding: answer.padding, folded, members }))
    }

    /// A function, with the frames of the last lookup.
    fn member(
        &self,
        function: FunctionId,
        how: Option<&'static str>,
        frames: &Frames,
    ) -> Result<MemberWords<'_>, Error> {
        let function = self.file.records().function(function)?;
        let name = |id: Option<NameId>| id.map_or(&b""[..], |id| self.names.get(id.0));
        let path = |id: Option<foldsym_lookup::FileId>| id.map_or(&b""[..], |id| self.files.get(id.0));
        let frames = self.file.frames(frames).map(|frame| {
            frame.map(|frame| FrameWords {
                name: name(frame.name),
                file: path(frame.file),
                line: frame.line,
                column: frame.column,
                start_file: path(frame.start_file),
                start_line: frame.start_line,
            })
        });
        let frames = frames.collect::<Result<Vec<_>, _>>()?;
        let aliases =
            self.file.records().aliases(&function).map(|alias| alias.map(|alias| name(Some(alias))));
        let aliases = aliases.collect::<Result<Vec<_>, _>>()?;
        Ok(MemberWords { how, partial: function.partial, reason: function.reason, aliases, frames })
    }
}

/// All strings of a table, concatenated.
struct StringTable {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl StringTable {
    fn of(names: &Names<'_>, section: SectionId) -> Result<Self, Error> {
        // Decoded once: the same names are compared at thousands of addresses.
        let mut strings = Self { bytes: Vec::new(), ends: vec![0] };
        for id in 0..names.len() {
            let damage = Error { section, what: What::Name, offset: id.into() };
            names.visit(id, |piece| strings.bytes.extend_from_slice(piece)).ok_or(damage)?;
            strings.ends.push(strings.bytes.len());
        }
        Ok(strings)
    }

    /// A string; empty for an id that does not exist, which `verify` refuses.
    fn get(&self, id: u32) -> &[u8] {
        let id = id as usize;
        match (self.ends.get(id), self.ends.get(id + 1)) {
            (Some(&start), Some(&end)) => &self.bytes[start..end],
            _ => b"",
        }
    }
}
