//! Moves a list that does not grow any more into memory of its size.

/// The part of a list that may stay unused: one in 8, as much as an allocator rounds up.
const UNUSED: usize = 8;

/// Moves the list, if much of its memory is unused. `Vec::shrink_to_fit` may leave it where it is: mimalloc does so unless over half
/// is unused, which a list that has grown never is.
pub(crate) fn fit<T>(list: &mut Vec<T>) {
    if list.capacity() - list.len() > list.len() / UNUSED {
        let mut moved = Vec::with_capacity(list.len());
        moved.append(list);
        *list = moved;
    }
}

#[cfg(test)]
mod tests {
    use super::fit;

    #[test]
    fn a_list_keeps_its_elements() {
        let mut list = Vec::with_capacity(100);
        list.extend(["a", "b", "c"]);
        fit(&mut list);
        assert_eq!((&list[..], list.capacity()), (&["a", "b", "c"][..], 3));
        list.reserve_exact(0);
        fit(&mut list);
        assert_eq!((list.len(), list.capacity()), (3, 3));
        list.clear();
        fit(&mut list);
        assert_eq!((list.len(), list.capacity()), (0, 0));
    }
}
