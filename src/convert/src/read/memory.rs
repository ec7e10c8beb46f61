//! Hash tables that the units a thread reads fill one after the other, so that none of them grows from nothing.

use std::hash::Hash;

use rustc_hash::FxHashMap;

use super::origin::{Ids, Place};
use super::unit::InlinedCall;
use crate::model::{LocalCallee, LocalEdge};

/// Places that an empty table may keep, however few were filled.
const KEPT: usize = 1 << 12;
/// And so many times those that were filled: emptying a table costs time for each of its places.
const KEPT_TIMES: usize = 16;

/// The tables, empty.
#[derive(Default)]
pub(super) struct Memory {
    pub(super) edges: FxHashMap<InlinedCall, LocalEdge>,
    pub(super) callees: FxHashMap<Place, LocalCallee>,
    pub(super) ids: Ids,
}

/// Empties a table and keeps its memory, unless that is far more than was filled.
pub(super) fn empty<K: Eq + Hash, V>(table: &mut FxHashMap<K, V>) {
    if table.capacity() > KEPT.max(table.len().saturating_mul(KEPT_TIMES)) {
        *table = FxHashMap::default();
    } else {
        table.clear();
    }
}
