//! The bases of classes, from the type information of the program (Itanium C++ ABI 2.9.4).
//!
//! A unit without debug information describes no class, and clang describes no class without a vtable. But the word before the first
//! function of a vtable leads to the type information of its class, and that to the type information of its bases: in the bytes of
//! the program, in relocations for the loader, or by a symbol. One class of a program has one object of type information, so its
//! address identifies the class. Names do not: two units may each have a class of one name in an unnamed namespace.
//!
//! Only the classes of given tables and their bases are read, and each once. Programs with `-fno-rtti` have 0 in the tables.

use crate::diagnostics::ClassCap;
use crate::keys::objects::class_caps::{
    MAX_ALL_BASES, MAX_BASES, MAX_DEPTH, MAX_NAME, MAX_OFFSET, MAX_TYPES,
};
use crate::keys::objects::vtables::{Word, Words, address_of};
use crate::model::{AddressRange, ImageAddr};
use crate::open::Image;
use crate::toolchain::itanium_abi::{Bases, bases_of_type_info, class_of_type_info, class_of_vtable};
use crate::util::hash::{HashMap, HashSet};

/// The type information of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum TypeId<'f> {
    At(ImageAddr),
    /// In another module, by the name of the class: the text that the linkage names of its methods begin with.
    Elsewhere(&'f [u8]),
}

/// A class by its type information.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TypeInfo<'f> {
    /// The text that the linkage names of its methods begin with.
    pub(crate) key: &'f [u8],
    /// Each with its offset, `None` for a virtual base.
    pub(crate) bases: Vec<(TypeId<'f>, Option<u64>)>,
    /// It has one base, which has a vtable: the ABI describes other classes with one base by a list.
    pub(crate) extends: bool,
}

/// The type information that was read.
#[derive(Default)]
pub(crate) struct TypeInfos<'f> {
    /// Sorted.
    pub(crate) list: Vec<(TypeId<'f>, TypeInfo<'f>)>,
    /// Keys that vtables at several addresses have, so that no name tells the class.
    pub(crate) shared_keys: HashSet<&'f [u8]>,
    /// The cap that was reached first: the bases of further classes are not known.
    pub(crate) cut: Option<ClassCap>,
}

/// The type information that the word of a vtable, or a base's pointer, leads to.
pub(crate) fn led_to<'f>(word: Word<'f>) -> Option<TypeId<'f>> {
    match word {
        Word::Number(address) if address > 0 => Some(TypeId::At(address_of(address))),
        Word::Object(_, 0, Some(address)) => Some(TypeId::At(address)),
        Word::Object(name, 0, None) => {
            class_of_type_info(name).map(|class| TypeId::Elsewhere(without_bounds(class)))
        }
        _ => None,
    }
}

/// The mangled name of a class without `N` and `E`.
pub(crate) fn without_bounds(class: &[u8]) -> &[u8] {
    class.strip_prefix(b"N").and_then(|name| name.strip_suffix(b"E")).unwrap_or(class)
}

impl<'f> TypeInfos<'f> {
    /// Reads the type information at `first`, and that of all bases.
    pub(crate) fn read(image: &Image<'f>, mut next: Vec<ImageAddr>) -> TypeInfos<'f> {
        let mut reader = TypeReader { image, width: u64::from(image.arch.address_size), kinds: kinds(image) };
        let mut found: HashMap<TypeId<'f>, TypeInfo<'f>> = HashMap::default();
        // The first word of type information shows its kind: the address of one of the runtime's vtables in the program, or a
        // relocation against its symbol (Itanium C++ ABI 2.9.4). Without either, none can be read.
        if reader.kinds.is_empty() && image.loader.sections().is_empty() {
            return TypeInfos::default();
        }
        let (mut bases_of_all, mut cut) = (0, None);
        for _ in 0..MAX_DEPTH {
            next.sort_unstable();
            next.dedup();
            // A cycle of bases in damaged input ends here.
            next.retain(|address| !found.contains_key(&TypeId::At(*address)));
            if found.len() + next.len() > MAX_TYPES {
                cut = cut.or(Some(ClassCap::Types));
            }
            if next.is_empty() || cut.is_some() {
                break;
            }
            let ranges: Vec<AddressRange> = next.iter().map(|&address| reader.range(address)).collect();
            // All types of a level at once, since this reads every relocation of the program.
            let words = Words::new(image, &ranges);
            let mut bases = Vec::new();
            for &address in &next {
                let Some(info) = reader.at(&words, address) else { continue };
                bases_of_all += info.bases.len();
                if bases_of_all > MAX_ALL_BASES {
                    cut = Some(ClassCap::Bases);
                    break;
                }
                bases.extend(info.bases.iter().filter_map(|base| match base.0 {
                    TypeId::At(address) => Some(address),
                    TypeId::Elsewhere(_) => None,
                }));
                found.insert(TypeId::At(address), info);
            }
            next = bases;
        }
        if next.iter().any(|address| !found.contains_key(&TypeId::At(*address))) {
            cut = cut.or(Some(ClassCap::BaseLevels));
        }
        let mut list: Vec<_> = found.into_iter().collect();
        // Classes are numbered in this order, which must not be the order of a hash map.
        list.sort_unstable_by_key(|(id, _)| *id);
        TypeInfos { list, shared_keys: shared_keys(image), cut }
    }
}

/// The keys of classes with vtables at several addresses.
fn shared_keys<'f>(image: &Image<'f>) -> HashSet<&'f [u8]> {
    let mut tables: HashMap<&[u8], u64> = HashMap::default();
    let mut shared = HashSet::default();
    for symbol in &image.symbols {
        let Some(class) = class_of_vtable(symbol.name) else { continue };
        if *tables.entry(without_bounds(class)).or_insert(symbol.address) != symbol.address {
            shared.insert(without_bounds(class));
        }
    }
    shared
}

/// The values of the first word of type information, sorted, with the bases that it then has, where the program itself has the vtables of the
/// runtime: it is linked with the runtime, or has copies of its objects.
fn kinds(image: &Image<'_>) -> Vec<(u64, Bases)> {
    let width = u64::from(image.arch.address_size);
    let kind = |symbol: &crate::open::Symbol<'_>| {
        // A vtable pointer points behind the two words before the functions (2.5.2). A damaged symbol may have any address.
        Some((symbol.address.wrapping_add(2 * width), bases_of_type_info(symbol.name)?))
    };
    let mut kinds: Vec<(u64, Bases)> = image.symbols.iter().filter_map(kind).collect();
    kinds.sort_by_key(|kind| kind.0);
    kinds.dedup();
    kinds
}

struct TypeReader<'i, 'f> {
    image: &'i Image<'f>,
    width: u64,
    kinds: Vec<(u64, Bases)>,
}

impl<'f> TypeReader<'_, 'f> {
    /// The number of bases in the list of type information. Its bytes do not change when the program is loaded.
    fn listed(&mut self, address: ImageAddr) -> Option<u64> {
        // `__vmi_class_type_info`: a vtable pointer, a pointer to the name, 4 bytes of flags, and `__base_count` (2.9.4).
        let place = address.checked_add(2 * self.width + 4)?;
        let bytes = bytes_at(self.image, place)?.first_chunk()?;
        let big = self.image.arch.big_endian;
        let count = if big { u32::from_be_bytes(*bytes) } else { u32::from_le_bytes(*bytes) };
        Some(u64::from(count)).filter(|count| (1..=MAX_BASES).contains(count))
    }

    /// The range of type information, whichever kind it is.
    fn range(&mut self, address: ImageAddr) -> AddressRange {
        let listed = self.listed(address).unwrap_or_default();
        // The longest kind is the list: two words, two numbers of 4 bytes, and two words for each base. One more word does no
        // harm.
        let len = 3 * self.width + 8 + 2 * self.width * listed;
        AddressRange::new(address, address.saturating_add(len))
    }

    fn kind(&self, word: Word<'f>) -> Option<Bases> {
        match word {
            Word::Object(name, addend, _) if u64::try_from(addend) == Ok(2 * self.width) => {
                bases_of_type_info(name)
            }
            Word::Number(value) => {
                let after = self.kinds.partition_point(|kind| kind.0 < value.cast_unsigned());
                let mut here = self.kinds[after..].iter().take_while(|kind| kind.0 == value.cast_unsigned());
                let kind = here.next().map(|kind| kind.1);
                // Two kinds at one address are of a damaged table of symbols.
                kind.filter(|_| here.next().is_none())
            }
            _ => None,
        }
    }

    /// Reads the type information of a class; `None` if it is none, or not all of it is known.
    fn at(&mut self, words: &Words<'_, 'f>, address: ImageAddr) -> Option<TypeInfo<'f>> {
        let width = self.width;
        let word = |place: u64| words.at(address.checked_add(place)?);
        let kind = self.kind(word(0)?)?;
        let name = match word(width)? {
            Word::Number(name) => address_of(name),
            Word::Object(_, 0, Some(name)) => name,
            _ => return None,
        };
        let key = without_bounds(self.name(name)?);
        let mut bases = Vec::new();
        match kind {
            Bases::None => {}
            // `__si_class_type_info`: the third word leads to the base, which is at offset 0 (2.9.4).
            Bases::One => bases.push((led_to(word(2 * width)?)?, Some(0))),
            Bases::Listed => {
                for number in 0..self.listed(address)? {
                    // Each base has two words: its type information and `__offset_flags` (2.9.4).
                    let place = 2 * width + 8 + 2 * width * number;
                    let Word::Number(offset) = word(place + width)? else { return None };
                    // Bit 0 says that the base is virtual; the offset begins at bit 8.
                    let fixed = offset & 1 == 0;
                    let offset = u64::try_from(offset >> 8).ok().filter(|offset| *offset <= MAX_OFFSET);
                    bases.push((led_to(word(place)?)?, if fixed { Some(offset?) } else { None }));
                }
            }
        }
        Some(TypeInfo { key, bases, extends: kind == Bases::One })
    }

    /// The name of a class. gcc marks with `*` the names by which no classes are compared.
    fn name(&self, address: ImageAddr) -> Option<&'f [u8]> {
        let bytes = bytes_at(self.image, address)?;
        // `*`, `N` and `E` do not count for the limit.
        let name = &bytes[..memchr::memchr(0, &bytes[..bytes.len().min(MAX_NAME + 8)])?];
        let name = name.strip_prefix(b"*").unwrap_or(name);
        (!name.is_empty() && name.iter().all(|byte| byte.is_ascii_graphic() || !byte.is_ascii()))
            .then_some(name)
    }
}

/// The bytes of data from an address to the end of its section.
fn bytes_at<'f>(image: &Image<'f>, address: ImageAddr) -> Option<&'f [u8]> {
    let after = image.data.partition_point(|&(start, _)| ImageAddr(start) <= address);
    let (start, bytes) = *image.data.get(after.checked_sub(1)?)?;
    bytes.get(usize::try_from(address - ImageAddr(start)).ok()?..)
}
