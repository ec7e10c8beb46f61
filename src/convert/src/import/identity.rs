//! The identity of the program of a Breakpad symbol file.

use sha2::{Digest, Sha256};

use super::registers::{NamedProcessor, processor};
use super::symbols::{Module, SymTables};

/// The bytes of a hash that count, as in [`crate::identity`].
const CONTENT: usize = 20;

/// The kinds of files that have identifiers of different forms.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum System {
    /// ELF: the identifier is the beginning of the build id, with the bytes of its numbers swapped.
    Elf,
    /// Mach-O: the identifier is the UUID.
    MachO,
    /// PE: the identifier is that of the PDB, and no build id.
    Pe,
}

/// The system of a MODULE record. Writers disagree on upper and lower case.
pub(super) fn system(module: &Module<'_>) -> System {
    match module.os.to_ascii_lowercase().as_slice() {
        b"mac" | b"ios" | b"macos" => System::MachO,
        b"windows" => System::Pe,
        _ => System::Elf,
    }
}

/// What names the program.
pub(crate) struct NamedProgram {
    /// The build id or UUID; empty for PE, and if the file has none.
    pub(crate) build_id: Vec<u8>,
    /// Without a build id: bytes that stand for it in a store.
    pub(crate) content: Vec<u8>,
    /// The identifier in the MODULE record; empty if it has none.
    pub(crate) debug_id: String,
    /// The CODE_ID is of another program than the identifier.
    pub(crate) disagrees: bool,
}

/// Reads the identity. `text` is the whole file.
pub(super) fn named(symbols: &SymTables<'_>, text: &[u8]) -> NamedProgram {
    let (system, processor) = (system(&symbols.module), processor(symbols.module.arch));
    let Some((guid, age)) = debug_id(symbols.module.id) else {
        let content = Sha256::digest(text)[..CONTENT].to_vec();
        return NamedProgram { build_id: Vec::new(), content, debug_id: String::new(), disagrees: false };
    };
    let debug_id = String::from_utf8_lossy(symbols.module.id).into_owned();
    if system == System::Pe {
        // One program has one PDB, so that the bytes of its identifier are as good as a hash of its contents.
        let content = [&guid[..], &age.to_be_bytes()].concat();
        return NamedProgram { build_id: Vec::new(), content, debug_id, disagrees: false };
    }
    let begins = elf_bytes(guid, system, &processor);
    let code_id = hex(symbols.code_id).filter(|id| !id.is_empty()).unwrap_or_default();
    // An id of fewer bytes than an identifier has zeros after it.
    let len = code_id.len().min(begins.len());
    let agrees = code_id[..len] == begins[..len] && begins[len..].iter().all(|&byte| byte == 0);
    let disagrees = !code_id.is_empty() && !agrees;
    let build_id = if code_id.is_empty() || disagrees { begins.to_vec() } else { code_id };
    NamedProgram { build_id, content: Vec::new(), debug_id, disagrees }
}

/// The bytes of the build id that are in the identifier.
fn elf_bytes(mut guid: [u8; 16], system: System, processor: &NamedProcessor) -> [u8; 16] {
    if system == System::Elf && !processor.big_endian {
        guid[..4].reverse();
        guid[4..6].reverse();
        guid[6..8].reverse();
    }
    guid
}

/// GUID and age of an identifier; `None` for zeros, which are no program's, and for text of another form.
fn debug_id(id: &[u8]) -> Option<([u8; 16], u32)> {
    let guid: [u8; 16] = hex(id.get(..32)?)?.try_into().ok()?;
    let age = match std::str::from_utf8(&id[32..]).ok()? {
        "" => 0,
        age => u32::from_str_radix(age, 16).ok()?,
    };
    (guid != [0; 16]).then_some((guid, age))
}

/// The bytes of hexadecimal digits; `None` for other text, and for more bytes than an id has.
fn hex(text: &[u8]) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(2) || text.len() > 128 {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    text.chunks_exact(2).map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(os: &[u8], id: &[u8], code_id: &[u8]) -> (String, usize, bool) {
        let module = Module { os, arch: b"x86_64", id, name: b"" };
        let named = named(&SymTables { module, code_id, ..SymTables::default() }, b"text");
        let hex: String = named.build_id.iter().map(|byte| format!("{byte:02x}")).collect();
        (hex, named.content.len(), named.disagrees)
    }

    #[test]
    fn a_build_id_is_the_code_id_or_the_bytes_of_the_identifier() {
        let id = b"030201000504070608090A0B0C0D0E0F0";
        let (whole, head) = ("000102030405060708090a0b0c0d0e0f10111213", "000102030405060708090a0b0c0d0e0f");
        assert_eq!(of(b"Linux", id, whole.to_uppercase().as_bytes()), (whole.to_owned(), 0, false));
        assert_eq!(of(b"Linux", id, b""), (head.to_owned(), 0, false));
        assert_eq!(of(b"Linux", id, b"ffff02030405060708090a0b0c0d0e0f10111213"), (head.to_owned(), 0, true));
        assert_eq!(of(b"Mac", b"000102030405060708090A0B0C0D0E0F0", b""), (head.to_owned(), 0, false));
        assert_eq!(
            of(b"windows", b"000102030405060708090A0B0C0D0E0F2a", b"5EF7D1A09000"),
            (String::new(), 20, false)
        );
        assert_eq!(of(b"Linux", &[b'0'; 33], b""), (String::new(), 20, false));
        assert_eq!(of(b"Linux", b"x", whole.as_bytes()), (String::new(), 20, false));
        // Eight bytes of a build id, and zeros.
        assert_eq!(
            of(b"Linux", b"030201000504070600000000000000000", b"0001020304050607"),
            ("0001020304050607".to_owned(), 0, false)
        );
    }
}
