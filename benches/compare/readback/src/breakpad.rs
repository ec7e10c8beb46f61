//! Readers of Breakpad symbol files: symbolic, by the SymCache that it makes of one, and the reader of minidump-stackwalk.

use std::path::Path;

use breakpad_symbols::{FrameSymbolizer, SimpleModule, SymbolFile};
use symbolic_common::ByteView;
use symbolic_debuginfo::breakpad::BreakpadObject;
use symbolic_symcache::{SymCache, SymCacheConverter};

use crate::{Answer, Frame, Reader};

/// A SymCache made of the file, as Sentry does.
pub(crate) struct Symbolic(SymCache<'static>);

impl Symbolic {
    pub(crate) fn open(path: &Path) -> Result<Self, String> {
        let bytes = ByteView::open(path).map_err(|error| error.to_string())?;
        let object = BreakpadObject::parse(&bytes).map_err(|error| error.to_string())?;
        let mut converter = SymCacheConverter::new();
        converter
            .process_object(&object)
            .map_err(|error| format!("{error}: {:?}", std::error::Error::source(&error)))?;
        let mut cache = Vec::new();
        converter.serialize(&mut cache).map_err(|error| error.to_string())?;
        // Kept to the end of the process; the cache wants the alignment of its integers.
        let cache: &'static [u8] = cache.leak();
        SymCache::parse(cache).map(Self).map_err(|error| error.to_string())
    }
}

impl Reader for Symbolic {
    fn answer(&mut self, address: u64) -> Result<Answer, String> {
        let frame = |found: symbolic_symcache::SourceLocation<'_, '_>| Frame {
            name: found.function().name().to_owned(),
            path: found.file().map_or_else(String::new, |file| file.full_path()),
            line: found.line(),
        };
        let frames: Vec<Frame> = self.0.lookup(address).map(frame).collect();
        Ok(if frames.is_empty() { Vec::new() } else { vec![frames] })
    }
}

/// The reader of minidump-stackwalk.
pub(crate) struct Minidump(SymbolFile);

impl Minidump {
    pub(crate) fn open(path: &Path) -> Result<Self, String> {
        SymbolFile::from_file(path).map(Self).map_err(|error| error.to_string())
    }
}

impl Reader for Minidump {
    fn answer(&mut self, address: u64) -> Result<Answer, String> {
        let mut found = Found { address, frames: Vec::new() };
        // The module is at address 0, so addresses count from its base.
        self.0.fill_symbol(&SimpleModule::default(), &mut found);
        found.frames.reverse();
        Ok(if found.frames.is_empty() { Vec::new() } else { vec![found.frames] })
    }
}

/// What the reader fills in, from the outside in.
struct Found {
    address: u64,
    frames: Vec<Frame>,
}

impl FrameSymbolizer for Found {
    fn get_instruction(&self) -> u64 {
        self.address
    }

    fn set_function(&mut self, name: &str, _base: u64, _parameter_size: u32) {
        self.frames.push(Frame { name: name.to_owned(), path: String::new(), line: 0 });
    }

    fn set_source_file(&mut self, file: &str, line: u32, _base: u64) {
        if let Some(function) = self.frames.first_mut() {
            (function.path, function.line) = (file.to_owned(), line);
        }
    }

    fn add_inline_frame(&mut self, name: &str, file: Option<&str>, line: Option<u32>) {
        let (path, line) = (file.unwrap_or_default().to_owned(), line.unwrap_or(0));
        self.frames.push(Frame { name: name.to_owned(), path, line });
    }
}
