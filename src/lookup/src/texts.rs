//! `Texts`: a caller-owned cache of 512 decoded names and 512 paths of one file.
//!
//! Decoding a name takes steps that grow with its length, and a few functions and files are inlined again and again. The
//! id of a text selects its one slot in the cache, and a new text replaces the one before. Of random code addresses of
//! RocksDB 93 % of the paths and 34 % of the names are found in the cache.

use crate::file::SymbolFile;
use crate::ids::{FileId, NameId};
use foldsym_format::names::Names;

/// Slots for texts of each kind.
const SLOTS: usize = 512;
/// Bytes of a slot; longer texts are not cached.
const KEPT: usize = 128;

/// Writes names and paths of one file, and caches 512 of each; see [`SymbolFile::texts`]. About 136 KiB.
#[derive(Clone)]
pub struct Texts<'f, 'd> {
    file: &'f SymbolFile<'d>,
    names: Memo,
    paths: Memo,
}

/// The cached texts of one kind, each in the slot that its id selects.
#[derive(Clone)]
struct Memo {
    slots: [Slot; SLOTS],
}

#[derive(Clone, Copy)]
struct Slot {
    /// The id plus 1; 0 for none.
    tag: u32,
    len: u32,
    text: [u8; KEPT],
}

impl<'d> SymbolFile<'d> {
    /// A writer of names and paths, for many of them one after another. It writes what
    /// [`SymbolFile::write_name`] and [`SymbolFile::write_path`] do.
    ///
    /// ```
    /// use foldsym_lookup::{NameId, SymbolFile};
    ///
    /// let file = SymbolFile::open(include_bytes!("../../../schema/golden/demo.fsym"))?;
    /// let mut texts = file.texts();
    /// let mut buffer = [0; 1024];
    /// for name in [0, 1, 0].map(NameId) {
    ///     let length = texts.write_name(name, &mut buffer).expect("a name of the file");
    ///     assert!(!buffer[..length.min(1024)].is_empty());
    /// }
    /// # Ok::<(), foldsym_lookup::Error>(())
    /// ```
    pub const fn texts<'f>(&'f self) -> Texts<'f, 'd> {
        Texts { file: self, names: Memo::EMPTY, paths: Memo::EMPTY }
    }
}

impl Texts<'_, '_> {
    /// Writes a function name as [`SymbolFile::write_name`] does. Allocates nothing.
    #[inline]
    pub fn write_name(&mut self, name: NameId, out: &mut [u8]) -> Option<usize> {
        self.names.write(&self.file.names, name.0, out)
    }

    /// Prefetches the bytes that a name is decoded from. Call it for each name of an answer before you write the first:
    /// their cache misses then overlap. Does nothing else.
    #[inline]
    pub fn soon(&self, name: NameId) {
        self.names.soon(&self.file.names, name.0);
    }

    /// Writes a path as [`SymbolFile::write_path`] does. Allocates nothing.
    #[inline]
    pub fn write_path(&mut self, file: FileId, out: &mut [u8]) -> Option<usize> {
        self.paths.write(&self.file.files, file.0, out)
    }
}

impl Memo {
    const EMPTY: Memo = Memo { slots: [Slot { tag: 0, len: 0, text: [0; KEPT] }; SLOTS] };

    /// The slot of a text.
    #[inline(always)]
    const fn place(id: u32) -> usize {
        // Ids that are used together are near each other: a product spreads them.
        id.wrapping_mul(0x9e37_79b1).wrapping_shr(u32::BITS.wrapping_sub(SLOTS.ilog2())) as usize
    }

    #[inline]
    fn soon(&self, texts: &Names<'_>, id: u32) {
        if self.slots.get(Self::place(id)).is_some_and(|slot| slot.tag != id.wrapping_add(1)) {
            texts.touch(id);
        }
    }

    #[inline]
    fn write(&mut self, texts: &Names<'_>, id: u32, out: &mut [u8]) -> Option<usize> {
        let slot = self.slots.get_mut(Self::place(id))?;
        let tag = id.wrapping_add(1);
        // Id 2^32 - 1 has tag 0, like an empty slot.
        if slot.tag == tag && tag != 0 {
            let len = slot.len as usize;
            match out.first_chunk_mut::<KEPT>() {
                // One copy of a fixed size.
                Some(place) => *place = slot.text,
                None => {
                    let fits = len.min(out.len());
                    out.get_mut(..fits)?.copy_from_slice(slot.text.get(..fits)?);
                }
            }
            return Some(len);
        }
        slot.replace(texts, id, out)
    }
}

impl Slot {
    /// Writes a text that is not in its slot, and puts it there.
    #[inline(never)]
    fn replace(&mut self, texts: &Names<'_>, id: u32, out: &mut [u8]) -> Option<usize> {
        let (slot, tag) = (self, id.wrapping_add(1));
        let len = texts.write(id, out)?;
        // A name is kept only if it fits a slot and all of it is in `out`.
        if let (Some(place), Some(text)) = (slot.text.get_mut(..len), out.get(..len)) {
            place.copy_from_slice(text);
            (slot.tag, slot.len) = (tag, len as u32);
        }
        Some(len)
    }
}
