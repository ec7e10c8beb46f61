//! Opens a file that the user gives by path, and takes the user's options for converting programs.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use foldsym_format::header::MAGIC;
use foldsym_store::SymbolMap;

use crate::program::{Conversion, LoadError, Options, convert};
use crate::symbolizer::{Builder, Symbolizer};

impl Builder {
    /// The options for converting programs. The default is that of `foldsym convert`, with columns.
    pub fn conversion(mut self, options: Options) -> Self {
        self.finder.conversion = Conversion::new(options);
        self
    }
}

impl Symbolizer {
    /// Opens a file that the user gives by path: a `.fsym`, or a program, which is converted and kept in the cache.
    ///
    /// # Errors
    /// The file cannot be read, is damaged, or is not a program that can be converted.
    pub fn load(&self, path: &Path) -> Result<Arc<SymbolMap>, LoadError> {
        let failed = |error| LoadError::Read(path.to_owned(), error);
        let mut first = [0; MAGIC.len()];
        let mut file = std::fs::File::open(path).map_err(failed)?;
        let is_file = file.metadata().map_err(failed)?.is_file();
        // For a directory the read gives the error. A file that is not regular, such as a pipe, can be read only once.
        let whole = file.read_exact(&mut first);
        // A dSYM is a folder, and the converter finds the program's debug file in it.
        let is_bundle = path.is_dir() && path.extension().is_some_and(|ending| ending == "dSYM");
        if !is_file && !is_bundle {
            let mut bytes = match whole {
                Err(error) if error.kind() != std::io::ErrorKind::UnexpectedEof => return Err(failed(error)),
                _ => first.to_vec(),
            };
            file.read_to_end(&mut bytes).map_err(failed)?;
            let map = SymbolMap::of_bytes(path, bytes)?;
            self.check(&map)?;
            return Ok(Arc::new(map));
        }
        if whole.is_ok() && first == MAGIC {
            let map = SymbolMap::open(path)?;
            self.check(&map)?;
            return Ok(Arc::new(map));
        }
        let converted = convert(path, None, &self.finder.conversion, self.finder.cache.as_ref())?;
        converted.map(Arc::new).ok_or_else(|| failed(std::io::Error::from(std::io::ErrorKind::NotFound)))
    }
}
