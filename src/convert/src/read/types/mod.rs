//! Reads the types of a unit's functions from their DIEs, as hashes: those that clang writes into the call graph (`.llvm.callgraph`).
//!
//! The record of a folded function is missing, or has the address of the survivor, but its DIE has its return type and its parameters.
//! `entries` reads the types of the unit, `parts` makes each type once, whatever DIEs describe it, and `mangling` writes it as the
//! Itanium C++ ABI does. The hash is of that text (`_ZTSFiP1SE.generalized` for `int f(S *)`).
//!
//! DWARF does not have everything that a mangled type has. A function has no type here if its type depends on that: on `noexcept` of a
//! pointer to a function, on tags of an ABI, or on types without a name.

mod entries;
mod mangling;
mod parts;

use md5::{Digest, Md5};

use crate::diagnostics::{Diagnostics, Kind};
use crate::model::{FunctionType, TypeHash, UnitTypes};
use crate::read::sections::bytes::Endianity;
use crate::read::space::offset_of;
use crate::read::types::entries::TypeEntries;
use crate::read::types::parts::TypeParts;
use crate::read::unit::source::UnitSource;

/// What LLVM 22 and 23 add to the text of a type before they hash it.
const SUFFIX: &[u8] = b".generalized";

/// Reads the types of the functions of a unit that have code, or had some before the linker folded or removed them.
pub(crate) fn types<E: Endianity>(
    source: &UnitSource<'_, '_, E>,
    diagnostics: &mut Diagnostics,
) -> UnitTypes {
    let offset = offset_of(&source.unit.header);
    let mut found = UnitTypes { offset, functions: Vec::new() };
    // The first reading of the unit counted the damage.
    let Some(entries) = TypeEntries::read(source).unwrap_or_default() else {
        diagnostics.add(Kind::ManyTypes, offset, || {
            format!(
                "the unit at {offset:#x} has over {} entries for types: its functions have none",
                entries::MAX_ENTRIES
            )
        });
        return found;
    };
    let mut parts = TypeParts::new(&entries);
    for function in entries.functions() {
        let Some(signature) = parts.function(function) else { continue };
        let Some(text) = mangling::type_name(&parts, signature.of) else { continue };
        found.functions.push(FunctionType {
            die: entries.die(function),
            ids: [hash(&[&text, SUFFIX].concat()), hash(&text)],
            returns_pointer: signature.returns_pointer,
        });
    }
    found.functions.sort_unstable_by_key(|function| function.die);
    found
}

/// The first 8 bytes of the MD5 of a text, as LLVM reads them.
fn hash(text: &[u8]) -> TypeHash {
    let digest = Md5::digest(text);
    TypeHash(digest.first_chunk().map_or(0, |first| u64::from_le_bytes(*first)))
}

#[cfg(test)]
mod tests;
