//! Opens a file that the user gives by path, and takes the user's options for converting programs.

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use foldsym_format::header::MAGIC;
use foldsym_store::{SymbolMap, open_regular};

use crate::program::{Conversion, LoadError, Options, convert};
use crate::symbolizer::{Builder, Symbolizer};

impl Builder {
    /// The options for converting programs. The default is that of `foldsym convert`, with columns.
    pub fn conversion(mut self, options: Options) -> Self {
        self.finder.conversion = Conversion::new(options);
        self
    }
}

/// A `.fsym` from a pipe is not larger.
const MAX_PIPE: u64 = 4 << 30;

impl Symbolizer {
    /// Opens a file that the user gives by path: a `.fsym`, also from a pipe, or a program, which is converted and kept in the cache.
    ///
    /// # Errors
    /// The file cannot be read, is damaged, or is not a program that can be converted.
    pub fn load(&self, path: &Path) -> Result<Arc<SymbolMap>, LoadError> {
        let failed = |error| LoadError::Read(path.to_owned(), error);
        let found = path.metadata().map_err(failed)?;
        if found.is_file() || found.is_dir() {
            return self.load_regular(path);
        }
        // It can be read only once.
        let mut file = std::fs::File::open(path).map_err(failed)?;
        let mut bytes = Vec::new();
        file.by_ref().take(MAGIC.len() as u64).read_to_end(&mut bytes).map_err(failed)?;
        // Devices such as `/dev/zero` never end, so only a symbol file is read on.
        if bytes == MAGIC {
            file.take(MAX_PIPE).read_to_end(&mut bytes).map_err(failed)?;
        }
        self.checked(SymbolMap::of_bytes(path, bytes)?)
    }

    /// As [`Symbolizer::load`], of a path that the user did not choose, such as one in a request: only a regular file, or a dSYM bundle, is
    /// opened.
    ///
    /// # Errors
    /// As [`Symbolizer::load`].
    pub fn load_regular(&self, path: &Path) -> Result<Arc<SymbolMap>, LoadError> {
        let failed = |error| LoadError::Read(path.to_owned(), error);
        // A dSYM is a folder, and the converter finds the program's debug file in it.
        let is_bundle = path.extension().is_some_and(|ending| ending == "dSYM") && path.is_dir();
        if !is_bundle {
            let mut first = [0; MAGIC.len()];
            let whole = open_regular(path).map_err(failed)?.read_exact(&mut first);
            match whole {
                Ok(()) if first == MAGIC => return self.checked(SymbolMap::open(path)?),
                Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => return Err(failed(error)),
                _ => {}
            }
        }
        let finder = &self.files.finder;
        let converted = |conversion: &Conversion| {
            let map = convert(path, None, conversion, finder.cache.as_ref())?;
            self.checked(map.ok_or_else(|| failed(io::ErrorKind::NotFound.into()))?)
        };
        match converted(&finder.conversion) {
            // It may be a file of the cache: then the program is converted again.
            Err(LoadError::Store(error)) if error.is_damage() => {
                converted(&finder.conversion.checking_cache())
            }
            loaded => loaded,
        }
    }

    fn checked(&self, map: SymbolMap) -> Result<Arc<SymbolMap>, LoadError> {
        self.check(&map)?;
        Ok(Arc::new(map))
    }
}
