//! Lists what an expression refers to outside of itself, without evaluating it.

use crate::bytes::Bytes;
use crate::op::{self, DieRef, Op};
use crate::problem::Problem;
use crate::settings::Settings;

/// What an operation refers to in the unit or the program, apart from registers and memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reference {
    /// The expression of another entry is called (DWARF 5 2.5.1.5).
    Procedure(DieRef),
    /// The base type at an offset in the unit; never 0, the generic type.
    BaseType(u64),
    /// An entry of the unit's part of `.debug_addr`.
    AddressIndex(u64),
}

/// Visits each reference of an expression, from its first operation to its last, branches not followed.
///
/// # Errors
/// An unknown operation ([`Problem::Opaque`]), or a truncated one: the rest cannot be decoded. The references before it were visited. An
/// operation without a value ([`Problem::Unsupported`]) ends the walk as well.
pub fn references(
    expression: &[u8],
    settings: &Settings,
    visit: &mut dyn FnMut(Reference),
) -> Result<(), Problem> {
    let mut bytes = Bytes::new(expression, settings.big_endian);
    let base_type = |visit: &mut dyn FnMut(Reference), die: u64| {
        if die != 0 {
            visit(Reference::BaseType(die));
        }
    };
    while !bytes.is_empty() {
        match op::next(&mut bytes, settings)? {
            Op::Call(die) => visit(Reference::Procedure(die)),
            Op::AddressIndex(index) | Op::ConstantIndex(index) => visit(Reference::AddressIndex(index)),
            Op::RegisterValue { ty, .. }
            | Op::TypedConstant { ty, .. }
            | Op::Convert(ty)
            | Op::Reinterpret(ty)
            | Op::Deref { ty: Some(ty), .. } => base_type(visit, ty),
            // This includes `Op::EntryValue`. The context evaluates its block, so references in the block are not listed.
            _ => {}
        }
    }
    Ok(())
}
