//! The entries of `.debug_frame` and `.eh_frame`: which code each is of, and its instructions as bytes.

use crate::bytes::Bytes;

/// The longest augmentation that is known has 13 bytes.
const MAX_AUGMENTATION: usize = 256;

/// A fault, and its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CfiError {
    /// Offset in the section of the entry.
    pub entry: u64,
    /// The fault.
    pub problem: CfiProblem,
}

/// Faults of call frame information.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CfiProblem {
    /// An entry, or a field of one, is cut off, or a number in it is too long.
    Truncated,
    /// An entry names no CIE of this section.
    NoCie,
    /// A CIE of a version that is not known.
    Version(u8),
    /// A CIE with an augmentation that changes its layout in an unknown way.
    Augmentation,
    /// A pointer's encoding is not known, or relative to something that is not.
    Encoding(u8),
    /// An instruction that is not known.
    Instruction(u8),
    /// An instruction that the state does not allow, such as to change the offset of an expression.
    BadState,
    /// More registers, or more states remembered, than the caller has room for.
    NoRoom,
}

impl core::fmt::Display for CfiError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "entry at {:#x}: ", self.entry)?;
        match self.problem {
            CfiProblem::Truncated => f.write_str("it is cut off, or a number in it is too long"),
            CfiProblem::NoCie => f.write_str("it names no common information entry"),
            CfiProblem::Version(version) => write!(f, "version {version} is not known"),
            CfiProblem::Augmentation => f.write_str("its augmentation is not known"),
            CfiProblem::Encoding(encoding) => write!(f, "pointer encoding {encoding:#x} is not known"),
            CfiProblem::Instruction(code) => write!(f, "instruction {code:#x} is not known"),
            CfiProblem::BadState => f.write_str("an instruction does not fit the state before it"),
            CfiProblem::NoRoom => f.write_str("too many registers or remembered states"),
        }
    }
}

impl core::error::Error for CfiError {}

/// A section with call frame information.
#[derive(Clone, Copy, Debug)]
pub struct FrameSection<'e> {
    /// Its bytes, relocated.
    pub bytes: &'e [u8],
    /// `.eh_frame`, not `.debug_frame`.
    pub eh: bool,
    /// Its own address, that pointers in `.eh_frame` may be relative to.
    pub address: u64,
    /// Bytes of an address.
    pub address_size: u8,
    /// The program's byte order.
    pub big_endian: bool,
}

/// The common part of entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cie<'e> {
    /// Offset in the section.
    pub offset: u64,
    /// Its augmentation.
    pub augmentation: &'e [u8],
    /// Factor of advances.
    pub code_align: u64,
    /// Factor of offsets.
    pub data_align: i64,
    /// The register of the return address.
    pub return_register: u64,
    pub(super) address_size: u8,
    pub(super) pointer_encoding: u8,
    pub(super) segment_size: u8,
    pub(super) has_data: bool,
    pub(super) signal: bool,
    pub(super) instructions: &'e [u8],
    pub(super) instructions_at: u64,
}

/// The entry of one range of code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fde<'e> {
    /// Offset in the section.
    pub offset: u64,
    /// Its common part.
    pub cie: Cie<'e>,
    /// First address.
    pub start: u64,
    /// Bytes of code.
    pub len: u64,
    pub(super) instructions: &'e [u8],
    pub(super) instructions_at: u64,
}

impl Fde<'_> {
    /// True if the range has the address.
    pub fn covers(&self, address: u64) -> bool {
        address.checked_sub(self.start).is_some_and(|by| by < self.len)
    }

    /// Bytes of the instructions of its CIE. Each reading of rows executes them again, and many entries may have one CIE.
    pub fn initial_len(&self) -> usize {
        self.cie.instructions.len()
    }

    /// The frame was made by a signal (augmentation `S`).
    pub fn is_signal(&self) -> bool {
        self.cie.signal
    }
}

/// The entries of a section, in its order.
#[derive(Clone, Debug)]
pub struct Fdes<'e> {
    section: FrameSection<'e>,
    at: usize,
}

impl<'e> FrameSection<'e> {
    /// Walks all entries. One that is damaged is an error; one that is cut off ends the walk.
    pub fn fdes(&self) -> Fdes<'e> {
        Fdes { section: *self, at: 0 }
    }

    /// The entry at an offset of [`Fde::offset`]; what else is there may be any entry, or an error.
    pub fn fde_at(&self, offset: u64) -> Option<Result<Fde<'e>, CfiError>> {
        Fdes { section: *self, at: usize::try_from(offset).ok()? }.next()
    }

    /// The entry that covers an address. Takes time by the size of the section.
    ///
    /// # Errors
    /// No entry that can be read covers it, and the first that cannot be read may.
    pub fn find(&self, address: u64) -> Result<Option<Fde<'e>>, CfiError> {
        let mut unread = None;
        for fde in self.fdes() {
            match fde {
                Ok(fde) if fde.covers(address) => return Ok(Some(fde)),
                Ok(_) => {}
                Err(error) => unread = unread.or(Some(error)),
            }
        }
        unread.map_or(Ok(None), Err)
    }

    /// Reads the head of the entry at `at`: its end, the offset and content of its first field, and the rest.
    fn head(&self, at: usize) -> Option<Option<Head<'e>>> {
        let mut bytes = Bytes::new(self.bytes, self.big_endian);
        bytes.seek(at)?;
        let mut len = bytes.number(4)?;
        let mut offset_size = 4;
        // The mark of the 64-bit format (DWARF 5 7.4).
        if len == 0xffff_ffff {
            len = bytes.number(8)?;
            offset_size = 8;
        }
        if len == 0 {
            return Some(None);
        }
        let id_at = bytes.position();
        let end = id_at.checked_add(usize::try_from(len).ok()?)?;
        // Cut at the entry's end, but counted from the section's start, since pointers are relative to their places in the
        // section.
        let body = Bytes::new(self.bytes.get(..end)?, self.big_endian);
        let mut body_at = body;
        body_at.seek(id_at)?;
        // `.eh_frame` has 4 bytes here also in an entry of the long form.
        let id = body_at.number(if self.eh { 4 } else { offset_size })?;
        // 0 in `.eh_frame` (LSB Core 10.6.1), all ones in `.debug_frame` (DWARF 5, "Call Frame Information").
        let is_cie = match (self.eh, offset_size) {
            (true, _) => id == 0,
            (false, 4) => id == 0xffff_ffff,
            (false, _) => id == u64::MAX,
        };
        Some(Some(Head { end, id_at, id, is_cie, rest: body_at }))
    }

    fn cie(&self, offset: u64) -> Result<Cie<'e>, CfiError> {
        let wrong = |problem| CfiError { entry: offset, problem };
        let truncated = || wrong(CfiProblem::Truncated);
        let head =
            // A damaged FDE may refer to another FDE, which has other fields than a CIE.
            usize::try_from(offset).ok().and_then(|at| self.head(at)).flatten().filter(|head| head.is_cie);
        let mut bytes = head.ok_or(wrong(CfiProblem::NoCie))?.rest;
        let version = bytes.u8().ok_or_else(truncated)?;
        // DWARF 2 has version 1, DWARF 3 has version 3, and DWARF 4 and 5 have version 4. Version 2 does not exist.
        if !matches!(version, 1 | 3 | 4) {
            return Err(wrong(CfiProblem::Version(version)));
        }
        // Each entry reads its common part again, so this has a bound.
        let augmentation = bytes.text(MAX_AUGMENTATION).ok_or(wrong(CfiProblem::Augmentation))?;
        let (mut address_size, mut segment_size) = (self.address_size, 0);
        // Earlier versions have neither field.
        if version == 4 {
            address_size = bytes.u8().ok_or_else(truncated)?;
            segment_size = bytes.u8().ok_or_else(truncated)?;
        }
        let code_align = bytes.uleb().ok_or_else(truncated)?;
        let data_align = bytes.sleb().ok_or_else(truncated)?;
        let return_register =
            // A byte in version 1, and LEB128 in later versions.
            if version == 1 { bytes.u8().map(u64::from) } else { bytes.uleb() }.ok_or_else(truncated)?;
        let mut cie = Cie {
            offset,
            augmentation,
            code_align,
            data_align,
            return_register,
            address_size,
            pointer_encoding: 0,
            segment_size,
            has_data: false,
            signal: false,
            instructions: &[],
            instructions_at: 0,
        };
        match augmentation.split_first() {
            // `[vendor:v0.0]` names the extensions in use, and does not change the layout.
            None | Some((b'[', _)) => {}
            Some((b'z', letters)) => self.augmented(&mut cie, letters, &mut bytes).map_err(wrong)?,
            // Without a `z` no length gives the end of unknown fields.
            _ => return Err(wrong(CfiProblem::Augmentation)),
        }
        // `DW_CFA_set_loc` may be relative to its own place, so the place of the instructions is kept with them.
        cie.instructions_at = u64::try_from(bytes.position()).unwrap_or(u64::MAX);
        cie.instructions = bytes.rest();
        Ok(cie)
    }

    fn augmented(&self, cie: &mut Cie<'e>, letters: &[u8], bytes: &mut Bytes<'e>) -> Result<(), CfiProblem> {
        let len = bytes.uleb().and_then(|len| usize::try_from(len).ok()).ok_or(CfiProblem::Truncated)?;
        let end = bytes.position().checked_add(len).ok_or(CfiProblem::Truncated)?;
        cie.has_data = true;
        for letter in letters {
            match letter {
                b'R' => cie.pointer_encoding = bytes.u8().ok_or(CfiProblem::Truncated)?,
                b'L' => {
                    bytes.u8().ok_or(CfiProblem::Truncated)?;
                }
                b'P' => {
                    let encoding = bytes.u8().ok_or(CfiProblem::Truncated)?;
                    // The personality's value is not needed, only its end. Bit 7 (indirect) does not change its size.
                    self.encoded(encoding & 0x7f, cie.address_size, bytes)?;
                }
                b'S' => cie.signal = true,
                // Pointer authentication and memory tagging of AArch64: no data.
                b'B' | b'G' => {}
                // The length gives the place of the instructions, whatever the other letters mean.
                _ => break,
            }
        }
        bytes.seek(end).ok_or(CfiProblem::Truncated)
    }

    /// A pointer in an encoding of `.eh_frame`.
    pub(super) fn encoded(
        &self,
        encoding: u8,
        address_size: u8,
        bytes: &mut Bytes<'e>,
    ) -> Result<u64, CfiProblem> {
        // A relative pointer counts from its own first byte, so its place is taken before the read.
        let place = self.address.wrapping_add(u64::try_from(bytes.position()).unwrap_or(0));
        let size = usize::from(address_size);
        let value = match encoding & 0x0f {
            0x00 => bytes.number(size),
            0x01 => bytes.uleb(),
            0x02 => bytes.number(2),
            0x03 => bytes.number(4),
            0x04 => bytes.number(8),
            0x09 => bytes.sleb().map(i64::cast_unsigned),
            0x0a => bytes.signed(2).map(i64::cast_unsigned),
            0x0b => bytes.signed(4).map(i64::cast_unsigned),
            0x0c => bytes.signed(8).map(i64::cast_unsigned),
            _ => return Err(CfiProblem::Encoding(encoding)),
        };
        let value = value.ok_or(CfiProblem::Truncated)?;
        let value = match encoding & 0xf0 {
            0x00 => value,
            0x10 => value.wrapping_add(place),
            // Other encodings are aligned, relative to bases that the section does not give, or need the memory of the program (bit 7).
            _ => return Err(CfiProblem::Encoding(encoding)),
        };
        // A relative pointer is added in 64 bits, but addresses of a 32-bit program wrap at 2^32.
        Ok(if address_size < 8 { value & 0xffff_ffff } else { value })
    }

    fn fde(&self, offset: u64, head: &Head<'e>) -> Result<Fde<'e>, CfiError> {
        let wrong = |problem| CfiError { entry: offset, problem };
        // In `.eh_frame` the field is the distance back from itself (LSB Core 10.6.1), in `.debug_frame` an offset (DWARF 5
        // 6.4.1).
        let cie_at = if self.eh {
            u64::try_from(head.id_at).ok().and_then(|at| at.checked_sub(head.id))
        } else {
            Some(head.id)
        };
        let cie = self.cie(cie_at.ok_or(wrong(CfiProblem::NoCie))?)?;
        let mut bytes = head.rest;
        // A segment selector comes before the address (DWARF 5 6.4.1).
        bytes.take(usize::from(cie.segment_size)).ok_or(wrong(CfiProblem::Truncated))?;
        let start = self.encoded(cie.pointer_encoding, cie.address_size, &mut bytes).map_err(wrong)?;
        // The length has the encoding's form and is relative to nothing.
        let len = self.encoded(cie.pointer_encoding & 0x0f, cie.address_size, &mut bytes).map_err(wrong)?;
        if cie.has_data {
            // The augmentation data has the pointer to the LSDA, which only the personality routine reads.
            let skip = bytes.uleb().and_then(|len| usize::try_from(len).ok());
            skip.and_then(|len| bytes.take(len)).ok_or(wrong(CfiProblem::Truncated))?;
        }
        let instructions_at = u64::try_from(bytes.position()).unwrap_or(u64::MAX);
        Ok(Fde { offset, cie, start, len, instructions: bytes.rest(), instructions_at })
    }
}

struct Head<'e> {
    end: usize,
    id_at: usize,
    id: u64,
    is_cie: bool,
    /// The rest of the entry, after its first field.
    rest: Bytes<'e>,
}

impl<'e> Iterator for Fdes<'e> {
    type Item = Result<Fde<'e>, CfiError>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.at < self.section.bytes.len() {
            let offset = u64::try_from(self.at).unwrap_or(u64::MAX);
            let Some(head) = self.section.head(self.at) else {
                self.at = self.section.bytes.len();
                return Some(Err(CfiError { entry: offset, problem: CfiProblem::Truncated }));
            };
            let Some(head) = head else {
                // A length of 0: `.eh_frame` ends there, in `.debug_frame` it is padding.
                self.at = if self.section.eh { self.section.bytes.len() } else { self.at.saturating_add(4) };
                continue;
            };
            // The walk moves on before it reads the entry, so that it continues after a damaged one. Each entry ends after its own head,
            // so the walk ends.
            self.at = head.end;
            if !head.is_cie {
                return Some(self.section.fde(offset, &head));
            }
        }
        None
    }
}
