//! The second oracle: what the `addr2line` crate answers for an address, with names as the linker sees them.

use crate::compare::Frame;
use crate::program::{Reader, Sections};

type Error = Box<dyn std::error::Error + Send + Sync>;

/// `addr2line` over one program's DWARF.
pub struct Oracle<'a> {
    context: addr2line::Context<Reader<'a>>,
}

impl std::fmt::Debug for Oracle<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Oracle")
    }
}

impl<'a> Oracle<'a> {
    /// # Errors
    /// DWARF whose units cannot be listed.
    pub fn new(sections: &'a Sections) -> Result<Oracle<'a>, Error> {
        Ok(Oracle { context: addr2line::Context::from_dwarf(sections.borrow())? })
    }

    /// The frames at an image address, innermost first; the linkage name of each, else its name; "" and 0 for what is
    /// not known. Empty where DWARF says nothing: `addr2line` does not look at symbols.
    ///
    /// # Errors
    /// DWARF that cannot be read at this address.
    pub fn frames(&self, address: u64) -> Result<Vec<Frame>, Error> {
        let mut found = self.context.find_frames(address).skip_all_loads()?;
        let mut frames = Vec::new();
        while let Some(frame) = found.next()? {
            let name = match &frame.function {
                Some(function) => function.raw_name()?.into_owned(),
                None => String::new(),
            };
            let location = frame.location.as_ref();
            frames.push(Frame {
                name,
                file: location.and_then(|l| l.file).unwrap_or_default().to_owned(),
                line: location.and_then(|l| l.line).unwrap_or(0),
                column: location.and_then(|l| l.column).unwrap_or(0),
            });
        }
        Ok(frames)
    }
}
