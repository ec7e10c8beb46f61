//! The action of relocation types that [`super::relocate`] does not list: from the `object` crate, or from the type's name.

use crate::util::hash::HashMap;
use object::elf;
use object::endian::Endianness;
use object::read::elf::{ElfFile, FileHeader};
use object::{Object as _, ObjectSection as _, RelocationEncoding, RelocationFlags, RelocationKind};

use super::action::RelocationAction;

/// The relocation types that occur in one file and that `object` knows.
#[derive(Default)]
pub(super) struct OtherTypes(HashMap<u32, RelocationAction>);

impl OtherTypes {
    /// Collects the types of all relocations of a file. `object` can describe a type only for a relocation of an open file.
    pub(super) fn read(file: &[u8], is_64: bool) -> Self {
        let known = if is_64 {
            read::<elf::FileHeader64<Endianness>>(file)
        } else {
            read::<elf::FileHeader32<Endianness>>(file)
        };
        Self(known.unwrap_or_default())
    }

    pub(super) fn get(&self, kind: u32) -> Option<RelocationAction> {
        self.0.get(&kind).copied()
    }
}

fn read<Elf: FileHeader<Endian = Endianness>>(data: &[u8]) -> object::Result<HashMap<u32, RelocationAction>> {
    let file = ElfFile::<Elf>::parse(data)?;
    let mut types = HashMap::default();
    // Sections may overlap, so the number of relocations is limited by the size of the file.
    let rows = file.sections().flat_map(|section| section.relocations()).take(data.len());
    for (_, row) in rows {
        let RelocationFlags::Elf { r_type } = row.flags() else { continue };
        let width = match (row.encoding(), row.size()) {
            (RelocationEncoding::Generic, size @ (8 | 16 | 32 | 64)) => size / 8,
            _ => continue,
        };
        let action = match row.kind() {
            RelocationKind::Absolute => RelocationAction::Set(width),
            RelocationKind::Relative => RelocationAction::Relative(width),
            // Any other type stays unknown here. Unless it is thread-local, a section that has it is not read.
            _ => continue,
        };
        types.insert(r_type.0, action);
    }
    Ok(types)
}

/// The name of a relocation type, such as `R_68K_32`.
pub(super) fn name(machine: u16, kind: u32) -> Option<&'static str> {
    elf::machine_names(elf::Machine(machine)).r.name(elf::RelocationType(kind))
}

/// The name of a processor, such as `EM_68K`; its number if `object` has no name.
pub(super) fn machine_name(machine: u16) -> String {
    let name = elf::Machine(machine).name();
    name.map_or_else(|| format!("machine {machine}"), str::to_owned)
}

/// True if a type writes an offset in thread-local storage. In debug sections such an offset occurs only in the location
/// of a thread-local variable, which foldsym does not read.
pub(super) fn is_thread_local(machine: u16, kind: u32) -> bool {
    let words = ["TLS", "DTPREL", "DTPOFF", "TPREL", "TPOFF"];
    name(machine, kind).is_some_and(|name| words.iter().any(|word| name.contains(word)))
}
