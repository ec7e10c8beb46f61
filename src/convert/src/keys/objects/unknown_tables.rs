//! The vtables of classes that no unit describes with all its bases, with what their symbols tell of the classes.

use crate::diagnostics::Diagnostics;
use crate::keys::objects::class_caps::{self, MAX_NAME, MAX_SHARING};
use crate::model::ImageAddr;
use crate::open::{Image, Symbol, SymbolKind};
use crate::toolchain::itanium_abi::class_of_vtable;
use crate::util::hash::HashSet;

/// The vtables of classes that no unit describes with all its bases, or of which there are several. `known`: the addresses of the others.
pub(crate) fn unknown_tables<'i>(
    image: &'i Image<'_>,
    known: &HashSet<ImageAddr>,
    diagnostics: &mut Diagnostics,
) -> Vec<UnknownTable<'i>> {
    let named = |symbol: &'i Symbol<'_>| {
        let name = class_of_vtable(symbol.name).filter(|_| symbol.kind == SymbolKind::Data)?;
        let nested = name.strip_prefix(b"N").and_then(|name| name.strip_suffix(b"E"));
        let key = nested.unwrap_or(name);
        let address = ImageAddr(symbol.address);
        let wanted = !known.contains(&address) && !key.is_empty() && key.len() <= MAX_NAME;
        wanted.then_some((address, symbol.size, key, symbol.dynamic))
    };
    let mut found: Vec<_> = image.symbols.iter().filter_map(named).collect();
    found.sort_unstable();
    found.dedup();
    // lld may have folded equal tables. If all symbols are exported ones, another name may be missing.
    let of_table = |same: &[(ImageAddr, u64, &'i [u8], bool)]| {
        let mut keys: Vec<&[u8]> = same.iter().map(|symbol| symbol.2).collect();
        keys.sort_unstable();
        keys.dedup();
        if same.iter().all(|symbol| symbol.3) {
            keys.clear();
        } else if keys.len() > MAX_SHARING {
            class_caps::many_classes(same[0].0, diagnostics);
            keys.clear();
        }
        // Sorted by size within an address: the smallest symbol claims no word of the data behind the table.
        UnknownTable { address: same[0].0, size: same[0].1, keys }
    };
    found.chunk_by(|a, b| a.0 == b.0).map(of_table).collect()
}

/// A vtable whose class no unit describes with all its bases.
pub(crate) struct UnknownTable<'i> {
    /// The address of its symbols.
    pub(crate) address: ImageAddr,
    /// The bytes of the smallest one.
    pub(crate) size: u64,
    /// The texts that the linkage names of the methods of its classes begin with; none, if a class is unknown.
    pub(crate) keys: Vec<&'i [u8]>,
}
