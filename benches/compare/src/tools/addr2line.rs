//! The addr2line crate: no conversion; it reads and caches DWARF on demand.

use super::reader::Output;
use addr2line::Loader;
use std::hint::black_box;
use std::path::Path;

pub(crate) struct Addr2lineReader {
    loader: Loader,
}

impl super::reader::Reader for Addr2lineReader {
    fn open(path: &Path, _base: u64) -> Result<Self, String> {
        let loader = Loader::new(path).map_err(|error| format!("addr2line: {error}"))?;
        Ok(Self { loader })
    }

    fn ids(&mut self, address: u64) -> usize {
        let Ok(mut frames) = self.loader.find_frames(address) else { return 0 };
        let mut count = 0;
        while let Ok(Some(frame)) = frames.next() {
            black_box(&frame.function);
            black_box(frame.location);
            count += 1;
        }
        count
    }

    fn names(&mut self, address: u64, out: &mut Output) -> usize {
        let Ok(mut frames) = self.loader.find_frames(address) else { return 0 };
        let mut count = 0;
        while let Ok(Some(frame)) = frames.next() {
            if let Some(name) = frame.function.as_ref().and_then(|function| function.raw_name().ok()) {
                out.add(name.as_bytes());
            }
            if let Some(location) = frame.location {
                out.add(location.file.unwrap_or_default().as_bytes());
                black_box(location.line);
            }
            count += 1;
        }
        count
    }
}
