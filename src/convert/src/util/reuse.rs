//! Empties tables and lists so that the next unit reuses their memory.

use std::hash::Hash;

use crate::util::hash::HashMap;
use crate::util::numbers::{KEPT, KEPT_TIMES};

/// Empties a table. Keeps its memory, unless the table is far larger than its entries needed.
pub(crate) fn empty<K: Eq + Hash, V>(table: &mut HashMap<K, V>) {
    if table.capacity() > KEPT.max(table.len().saturating_mul(KEPT_TIMES)) {
        *table = HashMap::default();
    } else {
        table.clear();
    }
}

/// Empties a list. Keeps its memory, unless the list is far larger than its elements needed.
pub(crate) fn clear<T>(list: &mut Vec<T>) {
    if list.capacity() > KEPT.max(list.len().saturating_mul(KEPT_TIMES)) {
        *list = Vec::new();
    } else {
        list.clear();
    }
}
