//! Turns the parts of an ELF file, in memory or mapped, into ranges and tables: notes, sections, symbols, call frame information.
//!
//! All reads are of slices, so that a damaged file gives nothing instead of a fault. 64-bit little-endian alone, as the processors are.

/// A range of addresses of this process.
#[derive(Clone, Copy, Default)]
pub(crate) struct Range {
    pub(crate) start: u64,
    pub(crate) end: u64,
}

impl Range {
    pub(crate) const fn has(&self, address: u64) -> bool {
        self.start <= address && address < self.end
    }

    /// The bytes from `address` to the end of the range; none where it is not in the range.
    ///
    /// # Safety
    /// The range is mapped, and stays so for as long as the bytes are used.
    pub(crate) unsafe fn bytes(&self, address: u64) -> &'static [u8] {
        if !self.has(address) {
            return &[];
        }
        let len = self.end.wrapping_sub(address) as usize;
        // SAFETY: mapped as promised, and not longer than a segment.
        unsafe { core::slice::from_raw_parts(address as *const u8, len) }
    }
}

/// Copies as many bytes as both have. The method of slices has a panic for lengths that differ.
pub(crate) fn copy(to: &mut [u8], from: &[u8]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = *from;
    }
}

pub(crate) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn slice(bytes: &[u8], at: u64, len: u64) -> Option<&[u8]> {
    let at = usize::try_from(at).ok()?;
    bytes.get(at..at.checked_add(usize::try_from(len).ok()?)?)
}

/// The build id in notes, which are a PT_NOTE segment (gABI, "Note Section").
pub(crate) fn build_id(notes: &[u8], align: u64) -> Option<&[u8]> {
    // 0 and 1 stand for 4, as in old programs.
    let mask = if align == 8 { 7 } else { 3usize };
    let mut rest = notes;
    loop {
        let (name_len, len) = (u32_at(rest, 0)? as usize, u32_at(rest, 4)? as usize);
        let value_at = name_len.checked_add(12)?.checked_add(mask)? & !mask;
        let value = rest.get(value_at..value_at.checked_add(len)?)?;
        if u32_at(rest, 8)? == 3 && rest.get(12..16)? == b"GNU\0" && name_len == 4 && len > 0 {
            return Some(value);
        }
        let end = value_at.checked_add(len)?.checked_add(mask)? & !mask;
        rest = rest.get(end..)?;
    }
}

/// The build id of a mapped file.
pub(crate) fn build_id_of_file(file: &[u8]) -> Option<&[u8]> {
    let (at, len, count) = (u64_at(file, 0x20)?, u16_at(file, 0x36)?, u16_at(file, 0x38)?);
    let table = file.get(usize::try_from(at).ok()?..)?;
    table.chunks_exact(usize::from(len).max(56)).take(count.into()).find_map(|segment| {
        const NOTE: u32 = 4;
        (u32_at(segment, 0)? == NOTE).then_some(())?;
        build_id(slice(file, u64_at(segment, 8)?, u64_at(segment, 32)?)?, u64_at(segment, 48)?)
    })
}

/// Sections of a file, by name.
pub(crate) struct Sections<'d> {
    file: &'d [u8],
    table: &'d [u8],
    names: &'d [u8],
}

impl<'d> Sections<'d> {
    /// `None` if the file has none.
    pub(crate) fn open(file: &'d [u8]) -> Option<Self> {
        const HEADER: usize = 64;
        if !file.starts_with(b"\x7fELF\x02\x01") || usize::from(u16_at(file, 0x3a)?) != HEADER {
            return None;
        }
        let at = usize::try_from(u64_at(file, 0x28)?).ok().filter(|&at| at != 0)?;
        let table = file.get(at..)?;
        // Where there are too many for the header's fields, the first section has them (gABI, "Section Header").
        let count = match u16_at(file, 0x3c)? {
            0 => usize::try_from(u64_at(table, 32)?).ok()?,
            count => count.into(),
        };
        let names = match u16_at(file, 0x3e)? {
            0xffff => u32_at(table, 40)?,
            index => index.into(),
        };
        let table = table.get(..count.checked_mul(HEADER)?)?;
        let names = table.get((names as usize).checked_mul(HEADER)?..)?;
        Some(Sections { file, table, names: slice(file, u64_at(names, 24)?, u64_at(names, 32)?)? })
    }

    fn headers(&self) -> impl Iterator<Item = &'d [u8]> {
        self.table.chunks_exact(64)
    }

    fn content(&self, header: &[u8]) -> Option<&'d [u8]> {
        const NOBITS: u32 = 8;
        const COMPRESSED: u64 = 0x800;
        (u32_at(header, 4)? != NOBITS && u64_at(header, 8)? & COMPRESSED == 0).then_some(())?;
        slice(self.file, u64_at(header, 24)?, u64_at(header, 32)?)
    }

    /// The bytes of a section with this name, which ends with a zero.
    pub(crate) fn named(&self, name: &[u8]) -> Option<&'d [u8]> {
        self.headers().find_map(|header| {
            let at = u32_at(header, 0)? as usize;
            self.names.get(at..)?.starts_with(name).then_some(())?;
            self.content(header)
        })
    }

    /// The link-time addresses of a section with this name, which ends with a zero.
    pub(crate) fn addresses(&self, name: &[u8]) -> Option<Range> {
        let is_named = |header: &&[u8]| {
            let at = u32_at(header, 0).map(|at| at as usize);
            at.and_then(|at| self.names.get(at..)).is_some_and(|rest| rest.starts_with(name))
        };
        let header = self.headers().find(is_named)?;
        let start = u64_at(header, 16)?;
        Some(Range { start, end: start.checked_add(u64_at(header, 32)?)? })
    }

    /// The table of all symbols.
    pub(crate) fn symbols(&self) -> Option<Symbols<'d>> {
        const SYMTAB: u32 = 2;
        let header = self.headers().find(|header| u32_at(header, 4) == Some(SYMTAB))?;
        let texts = self.table.get((u32_at(header, 40)? as usize).checked_mul(64)?..)?;
        Some(Symbols { entries: self.content(header)?, texts: self.content(texts)? })
    }
}

/// A table of symbols and its names.
#[derive(Clone, Copy)]
pub(crate) struct Symbols<'d> {
    pub(crate) entries: &'d [u8],
    pub(crate) texts: &'d [u8],
}

/// A symbol that covers an address.
pub(crate) struct Symbol<'d> {
    pub(crate) name: &'d [u8],
    /// Bytes from its start.
    pub(crate) offset: u64,
}

impl<'d> Symbols<'d> {
    pub(crate) const NONE: Self = Symbols { entries: &[], texts: &[] };

    fn name(&self, entry: &[u8]) -> Option<&'d [u8]> {
        let text = self.texts.get(u32_at(entry, 0)? as usize..)?;
        let len = text.iter().position(|&byte| byte == 0)?;
        text.get(..len).filter(|name| !name.is_empty())
    }

    /// The function that has a link-time address: of several the one that other modules see first (global, then weak, then local), then
    /// the first. Takes a step for each symbol.
    pub(crate) fn find(&self, address: u64) -> Option<Symbol<'d>> {
        let mut best: Option<(u8, &[u8], u64)> = None;
        for entry in self.entries.chunks_exact(24) {
            let (Some(value), Some(size), Some(&info)) = (u64_at(entry, 8), u64_at(entry, 16), entry.get(4))
            else {
                continue;
            };
            let offset = address.wrapping_sub(value);
            // FUNC and GNU_IFUNC, defined.
            if offset >= size.max(1) || !matches!(info & 15, 2 | 10) || u16_at(entry, 6) == Some(0) {
                continue;
            }
            let rank = match info.wrapping_shr(4) {
                1 => 0,
                2 => 1,
                _ => 2,
            };
            if best.is_none_or(|(than, ..)| rank < than) {
                best = Some((rank, entry, offset));
            }
        }
        let (_, entry, offset) = best?;
        Some(Symbol { name: self.name(entry)?, offset })
    }

    /// The link-time address of the symbol with a name.
    pub(crate) fn address_of(&self, name: &[u8]) -> Option<u64> {
        let is = |entry: &&[u8]| self.name(entry) == Some(name) && u16_at(entry, 6) != Some(0);
        u64_at(self.entries.chunks_exact(24).find(is)?, 8)
    }
}

/// The table of dynamic symbols of a loaded module, by its PT_DYNAMIC segment.
///
/// # Safety
/// The segments are mapped and stay so while the table is used.
pub(crate) unsafe fn dynamic_symbols(
    dynamic: &[u8],
    segments: &[Range],
    bias: u64,
) -> Option<Symbols<'static>> {
    let value = |tag: u64| {
        let entry = dynamic.chunks_exact(16).take_while(|entry| u64_at(entry, 0) != Some(0));
        let mut of_tag = entry.filter(|entry| u64_at(entry, 0) == Some(tag));
        u64_at(of_tag.next()?, 8)
    };
    // glibc has added the load bias to addresses, musl has not.
    let at = |value: u64| {
        let addresses = [value, value.wrapping_add(bias)];
        let mut found = addresses.into_iter().filter_map(|address| {
            segments.iter().find(|segment| segment.has(address)).map(|segment| (segment, address))
        });
        found.next()
    };
    // SAFETY: mapped, as promised.
    let bytes = |tag| at(value(tag)?).map(|(segment, address)| unsafe { segment.bytes(address) });
    let [hash, strtab, symtab, strsz, gnu_hash] = [4, 5, 6, 10, 0x6fff_fef5];
    let texts = bytes(strtab)?;
    let texts = texts.get(..usize::try_from(value(strsz)?).ok()?.min(texts.len()))?;
    let count = match bytes(hash) {
        Some(table) => u32_at(table, 4)?,
        None => gnu_hash_count(bytes(gnu_hash)?)?,
    };
    let entries = bytes(symtab)?;
    let len = (count as usize).saturating_mul(24).min(entries.len());
    Some(Symbols { entries: entries.get(..len)?, texts })
}

/// How many symbols a GNU hash table has: it has no field for that. One past the last of the last chain.
fn gnu_hash_count(table: &[u8]) -> Option<u32> {
    let (buckets, first, bloom) = (u32_at(table, 0)?, u32_at(table, 4)?, u32_at(table, 8)?);
    let buckets_at = (bloom as usize).checked_mul(8)?.checked_add(16)?;
    let chains_at = (buckets as usize).checked_mul(4)?.checked_add(buckets_at)?;
    let last =
        table.get(buckets_at..chains_at)?.chunks_exact(4).filter_map(|bucket| u32_at(bucket, 0)).max()?;
    if last < first {
        return Some(first);
    }
    let chain = table.get((last.wrapping_sub(first) as usize).checked_mul(4)?.checked_add(chains_at)?..)?;
    let len = chain.chunks_exact(4).position(|hash| u32_at(hash, 0).is_some_and(|hash| hash & 1 != 0))?;
    last.checked_add(u32::try_from(len).ok()?)?.checked_add(1)
}
