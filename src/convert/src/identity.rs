//! A program's identity without converting it: what a symbol store is asked before the work is done.

use std::path::Path;

use sha2::{Digest, Sha256};

use crate::error::ConvertError;
use crate::open::{DebugSection, Files, Format, Image, PAGE, open_image};
use crate::options::Options;

/// The bytes of a hash that count: as many as a linker's build id has.
const CONTENT: usize = 20;

/// What names a program.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Identity {
    /// The build id, or for Mach-O the UUID; empty where the program has none.
    pub build_id: Vec<u8>,
    /// A hash of all that a symbol file is made of: loaded contents, symbols and debug information. Two programs that differ in any of
    /// these have different ones. Empty where there is a build id, which says the same and costs nothing.
    pub content: Vec<u8>,
    /// The identifier in the MODULE record of a Breakpad symbol file, of which `build_id` may lack the last part; else empty.
    pub debug_id: String,
    /// The name of the program in a Breakpad symbol file, whose own name is another; else empty.
    pub name: String,
    /// The first page of `.text`, of which crash reporters make an identity where there is no build id; empty without such a section.
    pub text: Vec<u8>,
    /// The program is big-endian.
    pub big_endian: bool,
    /// The program is Mach-O.
    pub mach_o: bool,
}

/// Reads a program's identity. `options` say which part of a container is meant, as for [`convert`](crate::convert). No separate debug
/// file is opened.
///
/// ```
/// use std::path::Path;
///
/// use foldsym_convert::{Options, identify};
///
/// let identity = identify(Path::new("../../testbins/built/demo.elf"), &Options::default())?;
/// assert_eq!(identity.build_id.len(), 20);
/// assert!(!identity.mach_o);
/// # Ok::<(), foldsym_convert::ConvertError>(())
/// ```
///
/// # Errors
/// The program cannot be opened, or is damaged.
pub fn identify(input: &Path, options: &Options) -> Result<Identity, ConvertError> {
    #[cfg(feature = "import")]
    if crate::import::is_symbol_file(input) {
        let found = crate::import::identify(crate::open::ProgramSource::Path(input))?;
        return Ok(Identity {
            build_id: found.named.build_id,
            content: found.named.content,
            debug_id: found.named.debug_id,
            name: found.name,
            text: Vec::new(),
            big_endian: found.big_endian,
            mach_o: found.mach_o,
        });
    }
    let mut open_options = options.open();
    open_options.separate = false;
    let files = Files::default();
    let image = open_image(&files, input, &open_options)?;
    let text = image.sections.iter().find(|section| section.name == ".text").and_then(|section| {
        let (_, bytes) = image.code.iter().find(|(start, _)| *start == section.range.start.0)?;
        Some(bytes[..bytes.len().min(PAGE as usize)].to_vec())
    });
    let content = if image.build_id.is_empty() { content(&image) } else { Vec::new() };
    Ok(Identity {
        build_id: image.build_id.to_vec(),
        content,
        debug_id: String::new(),
        name: String::new(),
        text: text.unwrap_or_default(),
        big_endian: image.arch.big_endian,
        mach_o: image.format == Format::MachO,
    })
}

/// Whether two files are of one program, as a program and its stripped copy are: their loaded contents are equal, and their debug
/// information where both have it.
pub fn are_of_one_program(one: &Path, other: &Path) -> bool {
    let files = Files::default();
    let mut options = Options::default().open();
    options.separate = false;
    let open = |path: &Path| open_image(&files, path, &options).ok();
    let (Some(one), Some(other)) = (open(one), open(other)) else { return false };
    let same_debug = || DebugSection::all().all(|(_, of)| one.debug.get(of) == other.debug.get(of));
    let is_described = one.debug.has_units() && other.debug.has_units();
    let other_link =
        one.debug_link.is_some() && other.debug_link.is_some() && one.debug_link != other.debug_link;
    (&one.code, &one.data) == (&other.code, &other.data) && (!is_described || same_debug()) && !other_link
}

/// The hash of a program's contents. Each part is preceded by its length, so that bytes cannot move from one part to the next.
fn content(image: &Image<'_>) -> Vec<u8> {
    let mut hash = Sha256::new();
    let mut part = |bytes: &[u8]| {
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    let arch = image.arch;
    part(format!("{:?} {:?} {} {}", image.format, image.kind, arch.machine, arch.address_size).as_bytes());
    part(&[u8::from(arch.big_endian)]);
    for section in &image.sections {
        part(section.name.as_bytes());
        let range = section.range;
        part(&[range.start.0.to_le_bytes(), range.end.0.to_le_bytes()].concat());
    }
    for (address, bytes) in image.code.iter().chain(&image.data) {
        part(&address.to_le_bytes());
        part(bytes);
    }
    for symbol in &image.symbols {
        part(symbol.name);
        part(&[symbol.address.to_le_bytes(), symbol.size.to_le_bytes()].concat());
        // Local symbols of one name belong to files.
        let file = symbol.own_file().and_then(|file| image.symbol_files.get(file as usize));
        part(file.copied().unwrap_or_default());
        part(&[symbol.kind as u8, symbol.binding as u8]);
    }
    // Two stripped programs may differ in nothing else.
    if let Some((name, checksum)) = image.debug_link {
        part(name);
        part(&checksum.to_le_bytes());
    }
    for (name, section) in DebugSection::all() {
        part(name);
        part(image.debug.get(section));
    }
    hash.finalize()[..CONTENT].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_has_its_identity_before_it_is_converted() {
        let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testbins/built");
        let identity = |name: &str| identify(&built.join(name), &Options::default()).unwrap();
        let demo = identity("demo.elf");
        assert_eq!((demo.build_id.len(), demo.big_endian, demo.mach_o), (20, false, false));
        assert!(!demo.text.is_empty() && demo.text.len() <= PAGE as usize && demo.content.is_empty());
        let objects = ["inline.clang.o", "inline.clang-sections.o"].map(|name| identity(name).content);
        assert!(objects[0].len() == CONTENT && objects[0] != objects[1]);
        assert!(identity("inline.mips-be").big_endian);
        // Stripped programs without a build id may differ in their debug link alone.
        let mut bytes = std::fs::read(built.join("split.gcc-dwarf4.set/stripped")).unwrap();
        let at = |bytes: &[u8], text: &[u8]| bytes.windows(text.len()).position(|own| own == text).unwrap();
        let (note, link) = (at(&bytes, b"\x03\0\0\0GNU\0"), at(&bytes, b"stripped.debug\0"));
        let folder = tempfile::tempdir().unwrap();
        let contents = [0, 1].map(|bit| {
            bytes[note] = 0x77;
            // The checksum is behind the name, at a multiple of 4.
            bytes[link + 16] ^= bit;
            let path = folder.path().join("stripped");
            std::fs::write(&path, &bytes).unwrap();
            identify(&path, &Options::default()).unwrap().content
        });
        assert!(contents[0].len() == CONTENT && contents[0] != contents[1]);
        let macho = identity("macho.arm64");
        assert_eq!((macho.build_id.len(), macho.mach_o), (16, true));
        assert!(identify(&built.join("gone"), &Options::default()).is_err());
    }
}
