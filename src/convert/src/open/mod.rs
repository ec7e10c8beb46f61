//! Finds and maps the files of one program, and turns them into an [`Image`] of plain bytes and tables.
//!
//! Nothing here decodes DWARF: a debug section becomes its uncompressed, relocated bytes. A [`Files`] owns all memory,
//! so that images can borrow from it.

mod arch;
mod archive;
mod decompress;
mod diagnostics;
mod elf;
mod elf_tables;
mod error;
mod files;
mod frames;
mod gpu;
mod image;
mod macho;
mod objects;
mod options;
mod program;
mod relocations;
mod separate;
mod split;
#[cfg(test)]
mod tests;

pub use archive::{Part, parts};
pub use diagnostics::{OpenDiagnostic, OpenDiagnosticKind};
pub use elf::{Holdings, holdings};
pub use error::OpenError;
pub use files::Files;
pub use frames::{FrameBytes, frame_sections};
pub use gpu::{CodeObject, DeviceCode, DevicePlace, device_code};
pub use image::{
    AddressRange, Arch, Binding, BlockMapSection, CodeMark, CodeSection, DebugSection, DebugSections, Format,
    Image, ImageKind, Linker, LoadedSegment, MarkKind, Restored, Symbol, SymbolKind,
};
pub(crate) use objects::{needs_relocation, relocated_by_object};
pub use options::OpenOptions;
pub use program::{image_from_bytes, open_image};
pub use relocations::{KeptRelocation, KeptRelocations, KeptSection, RelocationSymbol};
pub use split::{DwoCandidates, DwoFinder, SplitFile, find_dwp, open_dwo, open_dwp, open_package};
