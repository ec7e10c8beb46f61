//! Says, for the calls that lead into folded code, which of its functions they call.
//!
//! The key is the return address: a stack has it. A call that stands in folded code itself has one address and a
//! callee for each of the functions that share the code. The calls of the function that remains have their
//! addresses; those of the others are tombstones, and are given the addresses of the former, in order, since the code
//! is the same. A pair must call one address, or one name that the program does not have. Compilers leave a call out
//! now and then (clang: of a callee that it has no declaration for), or its callee (gcc: of a constructor), so the
//! shorter list need only fit into the longer one, and a pair counts if every way to fit it has that pair, and both
//! lists have as many calls of that address as the code. gcc does not keep the order: there, those that call one
//! address must all call one function.
//!
//! A callee may give its frame away by a tail call; then the code above a return address is that of whom it
//! reaches. Where it may reach functions that are not known, nothing can be ruled out. What the compiler recorded
//! of tail calls is compared with the jumps in the code, since it leaves some out.

mod callee;
mod calls;
mod functions;
mod index;
mod objects;
mod overrides;
mod rewritten;
mod tail_calls;
mod thunks;

use crate::diagnostics::{Cap, Diagnostics, Kind};
use crate::keys::calls::OfCalls;
use crate::keys::calls::call_keys::MAX_STEPS;
use crate::keys::functions::Functions;
use crate::keys::index::Index;
use crate::merge::units::Records;
use crate::model::{ClassUnit, Keys};
use crate::open::Image;
use crate::place::Placed;
use crate::program::machine::Machine;

pub(crate) use objects::wanted::wanted_classes;

/// The keys of the program. `classes` are those of the units that [`wanted_classes`] names; `None` where it names none.
pub(crate) fn keys<'f>(
    placed: &Placed<'f>,
    records: &Records<'f>,
    image: &Image<'f>,
    classes: Option<&[ClassUnit<'f>]>,
    diagnostics: &mut Diagnostics,
) -> Keys {
    if placed.program.groups.is_empty() {
        return Keys::default();
    }
    let machine = Machine::new(image);
    let index = Index::new(Functions::new(placed, records, &machine));
    // Objects and calls tell nothing of each other.
    let (found, OfCalls { calls, tails, counts, guesses, unknown_calls, capped }) =
        rayon::join(|| objects::classes::keys(&index, image, classes, diagnostics), || OfCalls::of(&index));
    if capped {
        diagnostics.add(Kind::Cap(Cap::CallMatching), 0, || {
            format!(
                "gave up after {MAX_STEPS} steps of matching calls to folded functions: some calls stay `ambiguous`"
            )
        });
    }
    let objects::classes::ObjectKeys { slots, vtables, overriders } = found;
    Keys { calls, tails, slots, vtables, overriders, guesses, unknown_calls, counts }
}
