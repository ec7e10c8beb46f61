//! Finds the vtables of classes that no unit describes with all their bases, and reads their type information. None is read if none of
//! these vtables leads into a group.

use crate::diagnostics::ClassCap;
use crate::keys::index::Index;
use crate::keys::objects::class_caps::{MAX_ANCESTORS, MAX_STEPS, MAX_WORDS};
use crate::keys::objects::class_units::is_table;
use crate::keys::objects::dispatch::points;
use crate::keys::objects::hierarchy::Classes;
use crate::keys::objects::type_info::{TypeId, TypeInfos, led_to, without_bounds};
use crate::keys::objects::vtables::{Word, Words, address_of};
use crate::model::{ImageAddr, Owner};
use crate::open::Image;
use crate::toolchain::itanium_abi::{class_of_vtable, is_thunk};
use crate::util::hash::{HashMap, HashSet};

/// The type information of the classes of these tables, and of their bases.
pub(crate) fn types_of_tables<'f>(
    index: &Index<'_, 'f>,
    image: &Image<'f>,
    classes: &Classes<'_>,
    words: &Words<'_, 'f>,
) -> TypeInfos<'f> {
    let width = u64::from(image.arch.address_size);
    if !matches!(width, 4 | 8) {
        return TypeInfos::default();
    }
    // By class, since any number of symbols may name one.
    let mut known: HashMap<usize, bool> = HashMap::default();
    let mut is_known = |class: &[u8]| {
        let Some(class) = classes.by_key(without_bounds(class)) else { return false };
        *known.entry(class).or_insert_with(|| {
            classes.ancestors(class, MAX_ANCESTORS).is_some_and(|line| !classes.is_open(&line))
        })
    };
    let mut tables: HashSet<(ImageAddr, u64)> = HashSet::default();
    let (mut types, mut steps, mut is_needed, mut cut) = (Vec::new(), 0, false, None);
    for symbol in image.symbols.iter().filter(|symbol| is_table(symbol)) {
        let is_known = class_of_vtable(symbol.name).is_none_or(&mut is_known);
        let address = ImageAddr(symbol.address);
        // A known class needs no type information. Symbols of folded tables share one address and one size.
        if is_known || !tables.insert((address, symbol.size)) {
            continue;
        }
        let len = (symbol.size / width).min(MAX_WORDS);
        // Twice: the search for groups and `points` each read all words.
        steps += 2 * len;
        if steps > MAX_STEPS {
            cut = Some(ClassCap::TableWords);
            break;
        }
        let mut places = (0..len).map(|at| address.saturating_add(at * width));
        is_needed = is_needed
            || places.any(|place| words.at(place).is_some_and(|word| leads_into_group(index, word)));
        // If the table is too long, its keys are left out, which is reported then.
        let points = points(words, address, symbol.size, width).unwrap_or_default().into_iter();
        types.extend(points.filter_map(|point| match led_to(words.at(point.point.checked_sub(width)?)?)? {
            TypeId::At(address) => Some(address),
            TypeId::Elsewhere(_) => None,
        }));
    }
    let mut infos = if is_needed { TypeInfos::read(image, types) } else { TypeInfos::default() };
    infos.cut = cut.or(infos.cut);
    infos
}

/// True for the word of a function in a group, and for that of a thunk, which may lead to one.
fn leads_into_group(index: &Index<'_, '_>, word: Word<'_>) -> bool {
    match word {
        Word::Named(_) => true,
        Word::Number(address) => match index.owner_at(address_of(address)) {
            Some(Owner::Group(_)) => true,
            Some(Owner::Function(function)) => {
                let symbol = index.functions.program.functions[function.index()].symbol;
                let is_thunk = |name: crate::model::NameId| is_thunk(index.functions.text(name));
                symbol.is_some_and(is_thunk) || index.functions.groups(function).next().is_some()
            }
            None => false,
        },
        Word::Object(..) | Word::Unknown => false,
    }
}
