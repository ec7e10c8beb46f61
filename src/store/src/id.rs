//! Turns the identity that a report gives for a module into the identity under which a store keeps the module's file.
//!
//! The linker writes the build id: for ELF the note `NT_GNU_BUILD_ID` of any length, for Mach-O the 16 bytes of `LC_UUID`. A debug id is
//! Breakpad's form of it: the first 16 bytes, printed as a GUID, and an age. A GUID's first three fields are numbers. So their
//! bytes are swapped for a little-endian ELF program, but not for a big-endian one or for Mach-O. A debug id lacks the bytes after
//! the sixteenth, so a store keeps an index from debug ids to build ids.

use std::fmt;
use std::str::FromStr;

use foldsym_lookup::{SymbolFile, flags};

/// The longest build id that a store takes, in bytes. Linkers write 8, 16, 20 or 32.
const MAX_LEN: usize = 64;
/// The shortest build id, in bytes: a store's path needs one byte for the folder and one for the rest.
const MIN_LEN: usize = 2;

/// Why a text or some bytes are not an identity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IdError {
    /// A build id with too few or too many bytes.
    #[error("a build id has 2 to 64 bytes, found {0}")]
    Length(usize),
    /// A build id whose bytes are all zero, which in dumps means that the module has none.
    #[error("a build id of zeros means that the module has none")]
    Zero,
    /// A build id in text with characters other than hexadecimal digits, or with an odd number of digits.
    #[error("{0:?} is not a build id: expected 4 to 128 hexadecimal digits, two a byte")]
    NotHex(String),
    /// A debug id in text that has another form.
    #[error("{0:?} is not a debug id: expected 32 hexadecimal digits and an age of 1 to 8 more")]
    NotDebugId(String),
}

/// The build id of an ELF program, or the UUID of a Mach-O program: 2 to 64 bytes, not all zero.
///
/// Its text is in lower-case hexadecimal, as in paths.
///
/// ```
/// use foldsym_store::BuildId;
/// let id = BuildId::parse("ABCDef0123456789")?;
/// assert_eq!(id.to_string(), "abcdef0123456789");
/// assert!(BuildId::parse("../../etc/passwd").is_err());
/// # Ok::<(), foldsym_store::IdError>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BuildId(Box<[u8]>);

impl BuildId {
    /// Takes the bytes of a build id.
    ///
    /// # Errors
    /// Fewer than 2 or more than 64 bytes, or only zeros.
    pub fn new(bytes: &[u8]) -> Result<Self, IdError> {
        if !(MIN_LEN..=MAX_LEN).contains(&bytes.len()) {
            return Err(IdError::Length(bytes.len()));
        }
        if bytes.iter().all(|&byte| byte == 0) {
            return Err(IdError::Zero);
        }
        Ok(Self(bytes.into()))
    }

    /// Reads hexadecimal digits of either case.
    ///
    /// # Errors
    /// Another character, an odd number of digits, or bytes that [`BuildId::new`] refuses.
    pub fn parse(text: &str) -> Result<Self, IdError> {
        let bytes = from_hex(text).ok_or_else(|| IdError::NotHex(shortened(text)))?;
        Self::new(&bytes)
    }

    /// The bytes, as the program has them.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Display for BuildId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for BuildId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BuildId({self})")
    }
}

impl FromStr for BuildId {
    type Err = IdError;
    fn from_str(text: &str) -> Result<Self, IdError> {
        Self::parse(text)
    }
}

/// A Breakpad debug id: a GUID, in the order in which it is printed, and an age.
///
/// Its text is as Breakpad writes it: 32 upper-case hexadecimal digits and the age.
///
/// ```
/// use foldsym_store::{BuildId, DebugId};
/// let id = BuildId::parse("000102030405060708090a0b0c0d0e0f10111213")?;
/// let debug_id = DebugId::of_elf(&id, false);
/// assert_eq!(debug_id.to_string(), "030201000504070608090A0B0C0D0E0F0");
/// assert_eq!(debug_id, DebugId::parse("03020100-0504-0706-0809-0a0b0c0d0e0f")?);
/// // The way back gives the first 16 bytes of the build id.
/// assert_eq!(debug_id.elf_bytes(false), id.as_bytes()[..16]);
/// # Ok::<(), foldsym_store::IdError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DebugId {
    guid: [u8; 16],
    age: u32,
}

impl DebugId {
    /// The debug id of an ELF program: the first 16 bytes of its build id, padded with zeros.
    pub fn of_elf(id: &BuildId, big_endian: bool) -> Self {
        Self { guid: swapped(head(id), big_endian), age: 0 }
    }

    /// The debug id of a Mach-O program: its UUID, unchanged.
    pub fn of_mach_o(uuid: &BuildId) -> Self {
        Self { guid: head(uuid), age: 0 }
    }

    /// The debug id of a program with this identity. The converted file has the program's format (Mach-O or ELF) and byte order.
    pub fn of_file(id: &BuildId, file: &SymbolFile<'_>) -> Self {
        let is = |flag| file.header().flags & flag != 0;
        if is(flags::MACH_O) { Self::of_mach_o(id) } else { Self::of_elf(id, is(flags::BIG_ENDIAN)) }
    }

    /// Reads 32 hexadecimal digits of either case, with or without the dashes of a GUID, and then an age in hexadecimal, with or without
    /// a dash before it. Without an age, the age is 0.
    ///
    /// # Errors
    /// The text has another form.
    pub fn parse(text: &str) -> Result<Self, IdError> {
        Self::read(text).ok_or_else(|| IdError::NotDebugId(shortened(text)))
    }

    fn read(text: &str) -> Option<Self> {
        let mut digits = String::with_capacity(40);
        let mut dashes = Vec::new();
        for character in text.chars() {
            match character {
                // 32 digits of the GUID and at most 8 of the age. Dashes are noted with the number of digits before them.
                '-' => dashes.push(digits.len()),
                '0'..='9' | 'a'..='f' | 'A'..='F' if digits.len() < 40 => digits.push(character),
                _ => return None,
            }
        }
        // No dashes, one before the age, those of a GUID, or both.
        let placed = matches!(&dashes[..], [] | [32] | [8, 12, 16, 20] | [8, 12, 16, 20, 32]);
        let guid = from_hex(digits.get(..32)?)?.try_into().ok()?;
        let age = match &digits[32..] {
            // After the dash before the age, the age must follow.
            "" if dashes.last() != Some(&32) => 0,
            age => u32::from_str_radix(age, 16).ok()?,
        };
        placed.then_some(Self { guid, age })
    }

    /// The first 16 bytes of the ELF build id from which this debug id was made.
    pub fn elf_bytes(&self, big_endian: bool) -> [u8; 16] {
        swapped(self.guid, big_endian)
    }

    /// The digits and the age in lower case, from which the path of the index entry is made.
    pub(crate) fn key(&self) -> String {
        let mut key: String = self.guid.iter().map(|byte| format!("{byte:02x}")).collect();
        key.push_str(&format!("{:x}", self.age));
        key
    }

    /// Guid and age as an id of 20 bytes, in whose folder a note about this debug id is kept. `None` for zeros, which are no module's.
    pub(crate) fn note_id(&self) -> Option<BuildId> {
        BuildId::new(&[&self.guid[..], &self.age.to_be_bytes()].concat()).ok()
    }
}

impl fmt::Display for DebugId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.guid.iter().try_for_each(|byte| write!(f, "{byte:02X}"))?;
        write!(f, "{:x}", self.age)
    }
}

impl FromStr for DebugId {
    type Err = IdError;
    fn from_str(text: &str) -> Result<Self, IdError> {
        Self::parse(text)
    }
}

/// The identity that a report gives for a module.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ModuleId {
    /// A build id or UUID.
    Build(BuildId),
    /// A debug id.
    Debug(DebugId),
}

impl ModuleId {
    /// Reads either kind. Text with dashes, or with an odd number of at least 33 digits, is a debug id. All other text is a build id.
    ///
    /// So a debug id without dashes whose age has an even number of digits is read as a build id. This does not concern programs on
    /// Linux and macOS, whose ages are 0.
    ///
    /// # Errors
    /// The text is neither.
    pub fn parse(text: &str) -> Result<Self, IdError> {
        if text.contains('-') || (text.len() >= 33 && text.len() % 2 == 1) {
            DebugId::parse(text).map(Self::Debug)
        } else {
            BuildId::parse(text).map(Self::Build)
        }
    }
}

impl fmt::Display for ModuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Build(id) => id.fmt(f),
            Self::Debug(id) => id.fmt(f),
        }
    }
}

impl ModuleId {
    /// The debug id by which a store's index finds a program without a build id, if this may be the id that crash reporters derive from its
    /// code ([`text_id`]): writers of minidumps give it as if it were a build id. They run on little-endian machines.
    pub(crate) fn of_code(&self) -> Option<DebugId> {
        match self {
            Self::Build(id) if id.as_bytes().len() == 16 => Some(DebugId::of_elf(id, false)),
            _ => None,
        }
    }
}

impl From<BuildId> for ModuleId {
    fn from(id: BuildId) -> Self {
        Self::Build(id)
    }
}

impl From<DebugId> for ModuleId {
    fn from(id: DebugId) -> Self {
        Self::Debug(id)
    }
}

/// The identity that Breakpad gives to an ELF program without a build id: the exclusive or of the 16-byte pieces of the first page of
/// `.text`. `None` if `text` is empty or the result is zero. Several programs may have it: a store keeps each under a hash of its
/// contents, and finds them by this id too.
///
/// If `.text` is shorter than a page and its length is not a multiple of 16, Breakpad reads past its end. This function does not, and
/// neither does Sentry's `symbolic`. For such a program the ids differ.
pub fn text_id(text: &[u8]) -> Option<BuildId> {
    const PAGE: usize = 4096;
    let mut id = [0u8; 16];
    for (index, byte) in text.iter().take(PAGE).enumerate() {
        id[index % 16] ^= byte;
    }
    BuildId::new(&id).ok()
}

/// The first 16 bytes of an id, padded with zeros.
fn head(id: &BuildId) -> [u8; 16] {
    let mut head = [0; 16];
    let bytes = id.as_bytes();
    let len = bytes.len().min(16);
    head[..len].copy_from_slice(&bytes[..len]);
    head
}

/// Swaps the bytes of a GUID's three numbers, for a little-endian program.
fn swapped(mut guid: [u8; 16], big_endian: bool) -> [u8; 16] {
    if !big_endian {
        guid[0..4].reverse();
        guid[4..6].reverse();
        guid[6..8].reverse();
    }
    guid
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    if !digits.len().is_multiple_of(2) || digits.len() > 2 * MAX_LEN {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    digits.chunks_exact(2).map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?)).collect()
}

/// Text of the input, shortened for a message.
fn shortened(text: &str) -> String {
    text.chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn build_ids_are_hexadecimal_and_nothing_else() {
        for good in ["abcd", "0001", &"f".repeat(128), "ABCDEF"] {
            assert_eq!(BuildId::parse(good).unwrap().to_string(), good.to_lowercase());
        }
        for bad in [
            "",
            "ab",
            "abc",
            "..",
            "../a",
            "ab/cd",
            "abcg",
            "0x12",
            "+1+1",
            " abcd",
            "ab\0d",
            "\u{ff11}\u{ff11}",
        ] {
            assert!(BuildId::parse(bad).is_err(), "{bad:?}");
        }
        assert_eq!(BuildId::new(&[1; 65]), Err(IdError::Length(65)));
        assert_eq!(BuildId::new(&[0; 20]), Err(IdError::Zero));
        assert!(matches!(BuildId::parse(&"f".repeat(130)), Err(IdError::NotHex(_))));
    }

    #[test]
    fn debug_ids_swap_for_little_endian_elf_alone() {
        let id = BuildId::new(&(0..20).collect::<Vec<u8>>()).unwrap();
        assert_eq!(DebugId::of_elf(&id, false).to_string(), "030201000504070608090A0B0C0D0E0F0");
        assert_eq!(DebugId::of_elf(&id, true).to_string(), "000102030405060708090A0B0C0D0E0F0");
        assert_eq!(DebugId::of_mach_o(&id).to_string(), "000102030405060708090A0B0C0D0E0F0");
        // A build id that is shorter than a GUID is padded with zeros.
        let short = BuildId::new(&[1, 2, 3, 4, 5, 6, 7, 8]).unwrap();
        assert_eq!(
            DebugId::of_elf(&short, false).to_string(),
            "0403020106050807000000000000000000".get(..33).unwrap()
        );
    }

    #[test]
    fn debug_ids_have_one_value_in_every_form() {
        let id = DebugId::parse("030201000504070608090A0B0C0D0E0F0").unwrap();
        for text in [
            "030201000504070608090a0b0c0d0e0f0",
            "03020100-0504-0706-0809-0a0b0c0d0e0f",
            "03020100-0504-0706-0809-0a0b0c0d0e0f-0",
            "030201000504070608090a0b0c0d0e0f",
        ] {
            assert_eq!(DebugId::parse(text).unwrap(), id, "{text}");
        }
        let aged = DebugId::parse("030201000504070608090A0B0C0D0E0F1f").unwrap();
        assert_eq!((aged.age, aged.key().as_str()), (31, "030201000504070608090a0b0c0d0e0f1f"));
        for bad in [
            "",
            "0",
            "-",
            "03020100-0504-0706-0809-0a0b0c0d0e0f-",
            "0302-01000504070608090a0b0c0d0e0f",
            "../x",
            &"1".repeat(41),
        ] {
            assert!(DebugId::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn an_identity_in_text_is_of_one_kind() {
        let debug = "030201000504070608090A0B0C0D0E0F0";
        assert!(matches!(ModuleId::parse(debug), Ok(ModuleId::Debug(_))));
        assert!(matches!(ModuleId::parse("03020100-0504-0706-0809-0a0b0c0d0e0f"), Ok(ModuleId::Debug(_))));
        assert!(matches!(ModuleId::parse(&"ab".repeat(20)), Ok(ModuleId::Build(_))));
        assert!(matches!(ModuleId::parse(&"ab".repeat(16)), Ok(ModuleId::Build(_))));
        assert!(ModuleId::parse("../..").is_err());
    }

    #[test]
    fn text_gives_an_id_to_a_program_without_one() {
        assert_eq!(text_id(&[]), None);
        assert_eq!(text_id(&[0; 4096]), None);
        assert_eq!(text_id(&[1, 2]).unwrap().to_string(), "01020000000000000000000000000000");
        let mut text = vec![0x5a; 4096];
        text.extend([0xff; 4096]);
        // An even number of equal pieces cancels, and what follows the first page does not count.
        assert_eq!(text_id(&text), None);
        text[17] = 0;
        assert_eq!(text_id(&text).unwrap().to_string(), "005a0000000000000000000000000000");
    }
}
