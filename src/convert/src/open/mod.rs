//! Finds and maps the files of one program, and turns them into an [`Image`] of plain bytes and tables.
//!
//! Nothing here decodes DWARF: a debug section becomes its uncompressed, relocated bytes. A [`Files`] owns all memory,
//! so that images can borrow from it.

mod arch;
mod archive;
mod compressed;
mod decompress;
mod elf;
mod elf_tables;
mod error;
mod files;
mod frames;
mod gpu;
mod image;
mod macho;
mod magic;
mod options;
mod peek;
mod program;
mod relocate_check;
mod relocations;
mod separate;
mod split;
#[cfg(test)]
mod tests;
mod variables;

pub use archive::{Part, parts};
pub use compressed::is_compressed;
pub use elf::{Holdings, holdings, is_linked};
pub use error::OpenError;
pub use files::Files;
pub use frames::{FrameBytes, frame_sections};
pub use gpu::{DeviceCode, DevicePlace, device_code};
pub(crate) use image::{
    Arch, Binding, BlockMapSection, CodeMark, DebugSection, DebugSections, Format, Image, ImageKind,
    LoadedSegment, MarkKind, Restored, Symbol, SymbolKind, VariableSymbol,
};
pub(crate) use options::OpenOptions;
pub(crate) use peek::PAGE;
pub use peek::{Peeked, peek};
pub(crate) use program::{ProgramSource, open_image, open_program};
pub(crate) use relocate_check::{needs_relocation, relocated_by_object};
pub(crate) use relocations::{KeptRelocation, KeptSection, RelocationSymbol};
pub(crate) use split::{DwoFinder, SplitFile, open_dwo};
pub(crate) use variables::variables;
