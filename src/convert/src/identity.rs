//! A program's identity without converting it: what a symbol store is asked before the work is done.

use std::path::Path;

use crate::error::ConvertError;
use crate::open::{Files, Format, open_image};
use crate::options::Options;

/// The bytes of `.text` that Breakpad makes an identity of.
const PAGE: usize = 4096;

/// What names a program.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Identity {
    /// The build id, or for Mach-O the UUID; empty where the program has none.
    pub build_id: Vec<u8>,
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
    let mut open_options = options.open();
    open_options.separate = false;
    let files = Files::default();
    let image = open_image(&files, input, &open_options)?;
    let text = image.sections.iter().find(|section| section.name == ".text").and_then(|section| {
        let (_, bytes) = image.code.iter().find(|(start, _)| *start == section.range.start.0)?;
        Some(bytes[..bytes.len().min(PAGE)].to_vec())
    });
    Ok(Identity {
        build_id: image.build_id.to_vec(),
        text: text.unwrap_or_default(),
        big_endian: image.arch.big_endian,
        mach_o: image.format == Format::MachO,
    })
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
        assert!(!demo.text.is_empty() && demo.text.len() <= PAGE);
        assert!(identity("inline.mips-be").big_endian);
        let macho = identity("macho.arm64");
        assert_eq!((macho.build_id.len(), macho.mach_o), (16, true));
        assert!(identify(&built.join("gone"), &Options::default()).is_err());
    }
}
