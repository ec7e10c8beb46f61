//! blazesym: no conversion; it reads and caches DWARF on demand.

use super::reader::Output;
use std::hint::black_box;
use std::path::Path;

use blazesym::symbolize::source::{Elf, Source};
use blazesym::symbolize::{CodeInfo, Input, Symbolized, Symbolizer};

pub(crate) struct BlazesymReader {
    symbolizer: Symbolizer,
    source: Source<'static>,
}

impl super::reader::Reader for BlazesymReader {
    fn open(path: &Path, _base: u64) -> Result<Self, String> {
        // Without automatic reload: it would ask the system for the file's state at every lookup.
        let symbolizer = Symbolizer::builder().enable_auto_reload(false).build();
        Ok(Self { symbolizer, source: Source::Elf(Elf::new(path)) })
    }

    fn ids(&mut self, address: u64) -> usize {
        match self.symbolizer.symbolize_single(&self.source, Input::VirtOffset(address)) {
            Ok(Symbolized::Sym(symbol)) => black_box(&symbol).inlined.len() + 1,
            _ => 0,
        }
    }

    fn names(&mut self, address: u64, out: &mut Output) -> usize {
        let Ok(Symbolized::Sym(symbol)) =
            self.symbolizer.symbolize_single(&self.source, Input::VirtOffset(address))
        else {
            return 0;
        };
        let mut write = |name: &str, code: Option<&CodeInfo<'_>>| {
            out.add(name.as_bytes());
            if let Some(code) = code {
                let dir = code.dir.as_deref().map(|dir| dir.as_os_str().as_encoded_bytes());
                out.add(dir.unwrap_or_default());
                out.add(b"/");
                out.add(code.file.as_encoded_bytes());
                black_box(code.line);
            }
        };
        write(&symbol.name, symbol.code_info.as_deref());
        for inlined in &symbol.inlined {
            write(&inlined.name, inlined.code_info.as_ref());
        }
        symbol.inlined.len() + 1
    }
}
