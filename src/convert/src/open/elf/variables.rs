//! Reads the symbols of global variables, of which the image keeps none but vtables.

use object::elf;

use super::layout::Layout;
use crate::model::ImageAddr;
use crate::open::elf_tables::{SymbolPlace, Tables};
use crate::open::image::{Image, VariableSymbol};
use crate::toolchain::suffixes::without_version;
use crate::util::text;

/// Adds the variables of one file.
pub(super) fn add<'f>(
    image: &Image<'f>,
    tables: &Tables<'f>,
    layout: &Layout,
    found: &mut Vec<VariableSymbol<'f>>,
) {
    // First the dynamic symbols: those of the whole table come later, and count more.
    for kind in [elf::SHT_DYNSYM.0, elf::SHT_SYMTAB.0] {
        let Some(table) = tables.symbol_table(kind) else { continue };
        let room = text::room(table.names_len(), table.len());
        let name_of = |offset| {
            let name = if room.is_short() { None } else { table.name(offset) };
            name.filter(|name: &&[u8]| !name.is_empty() && room.spend(name.len()))
        };
        let mut file = None;
        for raw in (1..table.len()).map_while(|index| table.get(index)) {
            match (elf::SymbolType(raw.kind), raw.place) {
                (elf::STT_FILE, _) => file = name_of(raw.name),
                (elf::STT_OBJECT | elf::STT_COMMON, SymbolPlace::Section(place)) => {
                    let Some(position) = layout.position.get(place) else { continue };
                    let Some(section) = layout.sections.get(*position as usize) else { continue };
                    let address = ImageAddr(raw.value.wrapping_add(layout.bias[place]));
                    let Some(name) = name_of(raw.name).filter(|_| section.range.contains(address)) else {
                        continue;
                    };
                    found.push(VariableSymbol {
                        name: without_version(name, |version| image.versions.contains(version)),
                        address,
                        size: raw.size,
                        file: file.filter(|_| elf::SymbolBind(raw.bind) == elf::STB_LOCAL),
                    });
                }
                _ => {}
            }
        }
    }
}
