//! Tables that the units a thread reads fill one after the other, so that none of them grows from nothing.

use std::hash::Hash;

use super::abbreviations::Table;
use super::entries::Plans;
use super::origin::{Ids, Place};
use super::unit::{InlinedCall, Member, Role};
use crate::hash::HashMap;
use crate::model::{LocalCallee, LocalEdge};
use crate::numbers::{KEPT, KEPT_TIMES, NumberedMap};

/// The tables, empty.
#[derive(Default)]
pub(super) struct Memory {
    pub(super) edges: NumberedMap<InlinedCall, LocalEdge>,
    pub(super) callees: HashMap<Place, LocalCallee>,
    pub(super) ids: Ids,
    pub(super) abbreviations: Table,
    pub(super) plans: Plans<Role>,
    pub(super) identities: Plans<()>,
    pub(super) members: Plans<Member>,
}

/// Empties a table and keeps its memory, unless that is far more than was filled.
pub(super) fn empty<K: Eq + Hash, V>(table: &mut HashMap<K, V>) {
    if table.capacity() > KEPT.max(table.len().saturating_mul(KEPT_TIMES)) {
        *table = HashMap::default();
    } else {
        table.clear();
    }
}

/// Empties a list and keeps its memory, unless that is far more than was filled.
pub(super) fn clear<T>(list: &mut Vec<T>) {
    if list.capacity() > KEPT.max(list.len().saturating_mul(KEPT_TIMES)) {
        *list = Vec::new();
    } else {
        list.clear();
    }
}
