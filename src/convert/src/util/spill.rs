//! Lists that begin in memory, and whose elements may move to a scratch file when a program has many of them.

use std::ops::{Index, Range};

use crate::util::scratch::ScratchFile;

/// A list that only grows. Its elements can be moved to a scratch file ([`SpillVec::spill`]); elements added after that are in
/// memory.
pub struct SpillVec<'f, T> {
    /// The first elements, and the mapped scratch file that holds them.
    spilled: Option<(&'f [T], &'f ScratchFile)>,
    /// The elements after those.
    own: Vec<T>,
}

impl<T> Default for SpillVec<'_, T> {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl<T> From<Vec<T>> for SpillVec<'_, T> {
    fn from(own: Vec<T>) -> Self {
        SpillVec { spilled: None, own }
    }
}

impl<'f, T> SpillVec<'f, T> {
    /// How many elements there are, in the file and in memory.
    pub fn len(&self) -> usize {
        self.spilled_len() + self.own.len()
    }

    /// True if the list has no element.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn spilled_len(&self) -> usize {
        self.spilled.map_or(0, |(elements, _)| elements.len())
    }

    /// The elements that are in memory: all of them, unless some were spilled.
    pub fn own(&self) -> &[T] {
        &self.own
    }

    /// The elements that are in memory, as a vector to append to.
    pub fn own_mut(&mut self) -> &mut Vec<T> {
        &mut self.own
    }

    /// Frees the elements in memory and uses those of the scratch file instead. `spilled` must have the same elements as
    /// [`SpillVec::own`], and no element was spilled before.
    pub(crate) fn spill(&mut self, spilled: &'f [T], scratch: &'f ScratchFile) {
        debug_assert!(self.spilled.is_none() && spilled.len() == self.own.len());
        (self.spilled, self.own) = (Some((spilled, scratch)), Vec::new());
    }

    /// All elements, in memory.
    #[cfg(test)]
    pub(crate) fn to_mut(&mut self) -> &mut Vec<T>
    where
        T: Clone,
    {
        let spilled = self.spilled.take().map_or(&[][..], |(elements, _)| elements);
        self.own.splice(..0, spilled.iter().cloned());
        &mut self.own
    }
}

/// Elements that were added without a call of [`SpillVec::spill`] between them.
///
/// # Panics
/// The range is past the end, or only a part of it was spilled.
impl<T> Index<Range<usize>> for SpillVec<'_, T> {
    type Output = [T];

    fn index(&self, range: Range<usize>) -> &[T] {
        let before = self.spilled_len();
        match self.spilled {
            Some((elements, scratch)) if range.start < before => {
                scratch.was_read(range.len() * size_of::<T>());
                &elements[range]
            }
            _ => &self.own[range.start - before..range.end - before],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::SpillVec;
    use crate::util::scratch::ScratchFile;

    #[test]
    fn places_stay_when_elements_move_to_the_file() {
        let (file, scratch) = ([1, 2, 3], ScratchFile::default());
        let mut list = SpillVec::from(vec![1, 2, 3]);
        list.spill(&file, &scratch);
        list.own_mut().extend([4, 5]);
        assert_eq!((list.len(), list.own()), (5, &[4, 5][..]));
        assert_eq!(
            (&list[1..3], &list[3..5], &list[3..3], &list[5..5]),
            (&[2, 3][..], &[4, 5][..], &[][..], &[][..])
        );
        assert_eq!(list.to_mut(), &[1, 2, 3, 4, 5]);
    }
}
