//! Finds and maps the files of one program and presents them as plain bytes and tables.
//!
//! Nothing here decodes DWARF: a debug section leaves this module as its uncompressed, relocated
//! bytes. All memory belongs to a [`Files`], so that what is read can borrow from it.

mod files;
mod image;

pub use files::{Files, OpenError};
pub use image::{
    AddressRange, Arch, Binding, CodeSection, DebugSection, DebugSections, Format, Image, ImageKind, Symbol,
    SymbolKind, open_image,
};
