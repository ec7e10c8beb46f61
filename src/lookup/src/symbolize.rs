//! One call from an address to frames with text, for programs that may allocate: the feature `alloc`.

extern crate alloc;

use alloc::string::String;
use alloc::vec::Vec;

use foldsym_format::names::Names;
use foldsym_format::{SectionId, What};

use crate::answer::Lookup;
use crate::error::Error;
use crate::file::SymbolFile;
use crate::frames::Frames;
use crate::ids::{FileId, ImageAddr, NameId};

/// A frame with its texts. A text that the file does not have is empty; bytes that are not UTF-8 become U+FFFD.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextFrame {
    /// The function's name as the symbol table or the compiler spells it: not demangled (`foldsym-demangle` does that).
    pub name: String,
    /// The path of the source file.
    pub file: String,
    /// The line, from 1; 0 if it is unknown.
    pub line: u32,
}

impl SymbolFile<'_> {
    /// The frames at a link-time address, the innermost first; none if no piece contains it. In padding after a function it is one frame
    /// with file and line and an empty name. For folded code these are the frames of the first candidate: [`SymbolFile::lookup`] gives the other candidates and the certainty.
    ///
    /// ```
    /// use foldsym_lookup::{ImageAddr, SymbolFile};
    ///
    /// let bytes = include_bytes!("../../../schema/golden/demo.fsym");
    /// let frames = SymbolFile::open(bytes)?.symbolize(ImageAddr(0x20_1c20))?;
    /// let last = frames.last().expect("code of a function");
    /// assert_eq!(last.name, "_ZN4demo6Parser10expressionEv");
    /// assert_eq!(last.file, "/src/demo/parser.cpp");
    /// # Ok::<(), foldsym_lookup::Error>(())
    /// ```
    ///
    /// # Errors
    /// Damage at a place that is read.
    pub fn symbolize(&self, address: ImageAddr) -> Result<Vec<TextFrame>, Error> {
        let mut frames = Frames::new();
        let Lookup::Found(_) = self.lookup(address, &mut frames)? else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        for frame in self.frames(&frames) {
            let frame = frame?;
            let (name, file) = (self.name_text(frame.name)?, self.path_text(frame.file)?);
            found.push(TextFrame { name, file, line: frame.line });
        }
        Ok(found)
    }

    fn name_text(&self, id: Option<NameId>) -> Result<String, Error> {
        text(&self.names, SectionId::NAMES, id.map(|id| id.0))
    }

    fn path_text(&self, id: Option<FileId>) -> Result<String, Error> {
        text(&self.files, SectionId::FILES, id.map(|id| id.0))
    }
}

fn text(names: &Names<'_>, section: SectionId, id: Option<u32>) -> Result<String, Error> {
    let Some(id) = id else { return Ok(String::new()) };
    let mut bytes = Vec::new();
    // Not `write`: a name may have 64 KiB, and its length is known only when all of it is decoded.
    match names.visit(id, |piece| bytes.extend_from_slice(piece)) {
        Some(_) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        None => Err(Error::new(section, What::Name, id.into())),
    }
}
