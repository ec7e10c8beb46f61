//! Finds, for calls that lead into folded code, which member of the group each call calls.
//!
//! The key of a call is its return address, since a stack has that. A call in folded code has one return address but
//! one callee per member. The survivor's calls keep addresses; the others' are erased and are matched to the
//! survivor's in order. A match needs the same target address, or the same name of a function outside the program.
//! Since compilers omit calls, the shorter list must embed in the longer; a pair counts only if every embedding
//! contains it and both lists have as many calls to that address as the machine code. gcc does not keep order: there,
//! all calls to one address must have one callee.
//!
//! Example: `price_parcel` and `price_letter` share the code at 0x2000. Its call at 0x2010 goes to 0x1000, the code
//! of `weigh_parcel` and `weigh_letter`. The survivor `price_parcel` records a call of `weigh_parcel` that returns to
//! 0x2015. The folded `price_letter` records a call of `weigh_letter` without an address. The two calls are a pair,
//! so a frame of `price_letter` at 0x2015 called `weigh_letter`.
//!
//! A callee may give up its frame by a tail call. Then the frame above the return address is of a function that the
//! tail call reaches. If a tail call may reach unknown functions, no member can be ruled out. The tail calls that the
//! compiler recorded are compared with the jumps in the code, since it omits some.

mod callee;
mod callee_trust;
mod calls;
mod folded_parts;
mod functions;
mod index;
mod limits;
mod merged_units;
mod objects;
mod replaced;
mod tail_calls;
mod thunks;
mod types;
mod unfollowed_tail_calls;

use crate::diagnostics::{Cap, Diagnostics, Kind};
use crate::keys::calls::CallResults;
use crate::keys::functions::Functions;
use crate::keys::index::Index;
use crate::keys::limits::{MAX_COMPARISONS, MAX_MATCHING_STEPS, MAX_TYPE_STEPS};
use crate::keys::objects::class_units::{is_of_method, is_of_object, is_table};
use crate::merge::units::Records;
use crate::model::{CallTypes, ClassUnit, DispatchKey, ImageAddr, Keys, TargetKey};
use crate::open::Image;
use crate::place::Placed;
use crate::program::machine::Machine;
use crate::program::symbols::Symbols;
use crate::toolchain::functions::is_added;
use crate::toolchain::itanium_abi::is_construction_vtable;
use crate::util::fit::fit;
use crate::util::hash::HashSet;

pub(crate) use objects::class_units::units_with_needed_classes;
pub(crate) use types::units_with_needed_types;

/// The image without the symbols that no step after reading needs beside [`Symbols`], to save memory in a large program. It keeps
/// those of vtables, those of code that a toolchain adds, those of methods that share their address with another function, and one that
/// is local to its object: the search for keys asks whether there is any.
pub(crate) fn with_needed_symbols<'f>(mut image: Image<'f>, symbols: &Symbols<'f>) -> Image<'f> {
    // RISC-V code is read from its symbols on.
    if Machine::reads_all_symbols(&image) {
        return image;
    }
    let mut has_local = false;
    image.symbols.retain(|symbol| {
        is_table(symbol)
            || is_construction_vtable(symbol.name)
            || is_added(symbol.name)
            || (is_of_method(symbol) && symbols.at(ImageAddr(symbol.address)).len() > 1)
            || (is_of_object(symbol) && !std::mem::replace(&mut has_local, true))
    });
    fit(&mut image.symbols);
    image
}

/// Finds the keys of the program. `classes` are the classes of the units that [`units_with_needed_classes`] returns; `None` if
/// it returns `None`. `types` are the types of the units that [`units_with_needed_types`] returns.
pub(crate) fn keys<'f>(
    placed: &Placed<'f>,
    records: &Records<'f>,
    image: &Image<'f>,
    classes: Option<&[ClassUnit<'f>]>,
    types: &CallTypes,
    diagnostics: &mut Diagnostics,
) -> Keys {
    // A key chooses among the members of a group. Without groups no code need be read.
    if placed.program.groups.is_empty() {
        return Keys::default();
    }
    let machine = Machine::new(image);
    let mut index = Index::new(Functions::new(placed, records, &machine));
    let may_lead_into_group = index.may_lead_into_group();
    // Keys of objects and keys of calls do not depend on each other.
    let (found, CallResults { calls, tails, counts, guesses, unknown_calls, capped }) = rayon::join(
        || objects::classes::keys(&index, &may_lead_into_group, image, classes, diagnostics),
        || CallResults::of(&index, &may_lead_into_group),
    );
    let objects::classes::ObjectKeys { slots, vtables, overriders, mut dispatches, mut targets } = found;
    // The vtables say more of a virtual call than its type.
    let overridden: HashSet<u16> = overriders.iter().map(|key| key.slot).collect();
    let is_virtual = |return_addr: ImageAddr| {
        let at = slots.binary_search_by_key(&return_addr, |key| key.return_addr);
        let through = at.ok().map(|at| slots[at]).filter(|key| key.by_object);
        dispatches.binary_search_by_key(&return_addr, |key| key.return_addr).is_ok()
            || through.is_some_and(|key| overridden.contains(&key.slot))
    };
    let pointers = types::pointer_calls(&index, &may_lead_into_group, types, is_virtual, diagnostics);
    if pointers.is_short {
        diagnostics.add(Kind::Cap(Cap::PointerCalls), 0, || {
            format!("gave up after {MAX_TYPE_STEPS} steps for the types of calls: fewer answers are `likely`")
        });
    }
    let first = targets.last().map_or(0, |last| last.set + 1);
    targets.extend(pointers.targets.into_iter().map(|key| TargetKey { set: first + key.set, ..key }));
    dispatches.extend(pointers.calls.into_iter().map(|key| DispatchKey { set: first + key.set, ..key }));
    dispatches.sort_unstable();
    // All tasks add to `unfollowed`, so it is complete only now.
    let (starts, most) = (&index.functions.starts, index.most_reach());
    std::mem::take(&mut index.unfollowed).report(starts, most, diagnostics);
    if capped || index.replaced.is_short {
        diagnostics.add(Kind::Cap(Cap::CallMatching), 0, || {
            let what = match capped {
                true => format!("{MAX_MATCHING_STEPS} steps of matching calls to folded functions"),
                false => format!("{MAX_COMPARISONS} comparisons of the names of folded functions"),
            };
            format!("gave up after {what}: some calls stay `ambiguous`")
        });
    }
    Keys { calls, tails, slots, vtables, overriders, dispatches, targets, guesses, unknown_calls, counts }
}
