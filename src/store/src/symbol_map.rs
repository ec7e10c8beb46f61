//! Turns a path into an opened `.fsym` that owns its mapping.

use std::fmt;
use std::path::{Path, PathBuf};

use foldsym_lookup::SymbolFile;

use crate::error::StoreError;
use crate::id::{BuildId, DebugId};
use crate::mapped::Mapped;

self_cell::self_cell!(
    struct Cell {
        owner: Mapped,
        #[covariant]
        dependent: SymbolFile,
    }
);

/// An opened `.fsym` file with its mapping. It stays valid if the file is replaced or removed.
///
/// ```
/// # let demo = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schema/golden/demo.fsym");
/// use foldsym_lookup::{Frames, ImageAddr, Lookup};
/// let map = foldsym_store::SymbolMap::open(demo.as_ref())?;
/// let found = map.file().lookup(ImageAddr(0x2012b0), &mut Frames::new())?;
/// assert!(matches!(found, Lookup::Found(_)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SymbolMap {
    path: PathBuf,
    cell: Cell,
}

impl SymbolMap {
    /// Maps and opens a `.fsym` file with any build id. Takes constant time. Follows symbolic links.
    ///
    /// # Errors
    /// There is no regular file at the path, the file cannot be read, or it is not a `.fsym` of this version.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Self::open_if_there(path, true)?
            .ok_or_else(|| StoreError::io(path, "open", std::io::Error::from(std::io::ErrorKind::NotFound)))
    }

    /// Opens the bytes of a `.fsym` that were read already, for example from a pipe. Messages have `path`.
    ///
    /// # Errors
    /// The bytes are not a `.fsym` of this version.
    pub fn of_bytes(path: &Path, bytes: Vec<u8>) -> Result<Self, StoreError> {
        let cell = Cell::try_new(Mapped::of_bytes(bytes), |mapped| SymbolFile::open(mapped));
        let cell = cell.map_err(|error| StoreError::unreadable(path, error))?;
        Ok(Self { path: path.to_owned(), cell })
    }

    /// As [`SymbolMap::open`], but returns `Ok(None)` if there is no file.
    pub(crate) fn open_if_there(path: &Path, follow_links: bool) -> Result<Option<Self>, StoreError> {
        let Some(mapped) = Mapped::open(path, follow_links)? else { return Ok(None) };
        let cell = Cell::try_new(mapped, |mapped| SymbolFile::open(mapped));
        let cell = cell.map_err(|error| StoreError::unreadable(path, error))?;
        Ok(Some(Self { path: path.to_owned(), cell }))
    }

    /// Compares the checksum of each section, which opening a file does not. Reads the whole file.
    ///
    /// # Errors
    /// A section is damaged.
    pub fn check(&self) -> Result<(), StoreError> {
        self.file().verify_checksums().map_err(|error| StoreError::damaged(&self.path, error))
    }

    /// The opened file.
    pub fn file(&self) -> &SymbolFile<'_> {
        self.cell.borrow_dependent()
    }

    /// The path that was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The bytes of the file.
    pub fn bytes(&self) -> &[u8] {
        self.cell.borrow_owner()
    }

    /// The build id inside the file; `None` if it has none, or one that a store does not take.
    pub fn build_id(&self) -> Option<BuildId> {
        BuildId::new(self.file().build_id()).ok()
    }

    /// The debug id that follows from the build id inside the file.
    pub fn debug_id(&self) -> Option<DebugId> {
        self.build_id().map(|id| DebugId::of_file(&id, self.file()))
    }

    /// The checksum of header and directory. The directory holds the checksum of each section, so two files with
    /// one checksum and one length have the same content but for collisions.
    pub fn checksum(&self) -> u32 {
        let at = foldsym_format::header::field::CHECKSUM;
        let bytes = self.bytes().get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
        bytes.map_or(0, u32::from_le_bytes)
    }
}

impl fmt::Debug for SymbolMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SymbolMap").field("path", &self.path).field("bytes", &self.bytes().len()).finish()
    }
}
