//! Fills an answer with the data of a file, and gives back the memory of lists that a large stack made grow.

use foldsym_lookup::{Resolved, StackAddr};
use foldsym_store::SymbolMap;

use crate::address::as_given;
use crate::answer::Answer;
use crate::loaded::Loaded;
use crate::names::damage;
use crate::resolve::Resolver;
use crate::unknown::Unknown;

/// The frames or modules for which a worker keeps room between two stacks.
pub(crate) const KEPT_ROOM: usize = 1 << 16;

/// Gives back the memory of a list that one large stack made grow.
pub(crate) fn shrink<T>(list: &mut Vec<T>) {
    if list.capacity() > KEPT_ROOM {
        list.clear();
        list.shrink_to(KEPT_ROOM);
    }
}

/// Fills an answer with a file's data for an address.
pub(crate) fn fill(
    resolver: &mut Resolver,
    loaded: &Loaded,
    address: StackAddr,
    resolved: Option<(Resolved, u32)>,
    everywhere: bool,
    answer: &mut Answer,
) {
    let Some(image) = address.lookup_address() else {
        answer.unknown = Some(Unknown::NoFunction);
        return;
    };
    match resolver.fill_frame(loaded.map.file(), address, resolved, answer) {
        Ok(true) => {}
        Ok(false) => {
            // A module that is mapped everywhere contains only the addresses of its sections.
            if everywhere && loaded.is_outside(image.0) {
                answer.module = None;
            }
        }
        Err(error) => *answer = answer.without(damage(loaded.map.path(), error)),
    }
    answer.function_offset = answer.start.zip(as_given(address)).map(|(start, at)| at.wrapping_sub(start));
    if answer.symbol.frames.is_empty() && answer.unknown.is_none() {
        answer.unknown = Some(Unknown::NoFunction);
    }
}

/// The number of a file in [`Texts`](crate::texts::Texts): the address of its mapping, which nothing else has as long as the file is open.
pub(crate) fn number(map: &SymbolMap) -> usize {
    std::ptr::from_ref(map) as usize
}
