//! symbolic's SymCache.

use super::reader::{Converted, Output};
use std::hint::black_box;
use std::path::Path;
use symbolic::common::ByteView;
use symbolic::debuginfo::Object;
use symbolic::symcache::{SymCache, SymCacheConverter};

pub(crate) fn convert(input: &Path, output: &Path) -> Result<Converted, String> {
    let bytes = ByteView::open(input).map_err(|error| error.to_string())?;
    let object = Object::parse(&bytes).map_err(|error| format!("symbolic: {error}"))?;
    let mut converter = SymCacheConverter::new();
    converter.process_object(&object).map_err(|error| format!("symbolic: {error}"))?;
    let file = std::fs::File::create(output).map_err(|error| error.to_string())?;
    let mut writer = std::io::BufWriter::new(file);
    converter.serialize(&mut writer).map_err(|error| error.to_string())?;
    std::io::Write::flush(&mut writer).map_err(|error| error.to_string())?;
    // A SymCache counts from the load address, in 32 bits.
    Ok(Converted { base: object.load_address(), note: String::new() })
}

pub(crate) struct SymCacheReader {
    cache: SymCache<'static>,
    base: u64,
}

impl super::reader::Reader for SymCacheReader {
    fn open(path: &Path, base: u64) -> Result<Self, String> {
        let bytes: &'static ByteView<'static> =
            Box::leak(Box::new(ByteView::open(path).map_err(|error| error.to_string())?));
        let cache = SymCache::parse(bytes).map_err(|error| format!("symbolic: {error}"))?;
        Ok(Self { cache, base })
    }

    fn ids(&mut self, address: u64) -> usize {
        let mut count = 0;
        for location in self.cache.lookup(address.wrapping_sub(self.base)) {
            black_box(location.function().name());
            black_box(location.file());
            black_box(location.line());
            count += 1;
        }
        count
    }

    fn names(&mut self, address: u64, out: &mut Output) -> usize {
        let mut count = 0;
        for location in self.cache.lookup(address.wrapping_sub(self.base)) {
            out.add(location.function().name().as_bytes());
            if let Some(file) = location.file() {
                // The only way to a file's name: joins and cleans the path, in a string of its own.
                out.add(file.full_path().as_bytes());
            }
            black_box(location.line());
            count += 1;
        }
        count
    }
}
