//! Lists that begin in memory, and whose elements may move to a scratch file when a program has many of them.

use std::ops::{Index, IndexMut, Range};

use thin_vec::ThinVec;

use crate::util::scratch::{ScratchFile, ScratchPart};

/// A list that only grows. Its elements can be moved to a scratch file ([`SpillVec::spill`]); elements added after that are in
/// memory until they are moved, too.
pub struct SpillVec<'f, T> {
    /// The elements that the first call of [`SpillVec::spill`] moved to the scratch file.
    spilled: &'f mut [T],
    /// Those of each later call.
    later: ThinVec<&'f mut [T]>,
    /// The scratch file, if any elements are in it.
    scratch: Option<&'f ScratchFile>,
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
        SpillVec { spilled: &mut [], later: ThinVec::new(), scratch: None, own }
    }
}

impl<'f, T> SpillVec<'f, T> {
    /// How many elements there are, in the file and in memory.
    #[inline]
    pub fn len(&self) -> usize {
        if self.scratch.is_none() { self.own.len() } else { self.spilled_len() + self.own.len() }
    }

    /// True if the list has no element.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of all elements, in the file and in memory.
    pub(crate) fn bytes(&self) -> usize {
        self.len() * size_of::<T>()
    }

    /// The scratch file, if any elements are in it.
    pub(crate) fn scratch(&self) -> Option<&'f ScratchFile> {
        self.scratch
    }

    fn spilled_len(&self) -> usize {
        self.parts().map(<[T]>::len).sum()
    }

    /// The elements in the file: those of each call of [`SpillVec::spill`].
    fn parts(&self) -> impl Iterator<Item = &[T]> {
        std::iter::once(&*self.spilled).chain(self.later.iter().map(|elements| &**elements))
    }

    /// All elements, in order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        let spilled = self.parts().flat_map(|elements| self.read(elements));
        spilled.chain(&self.own)
    }

    /// All elements, in order, to be changed.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        let later = self.later.iter_mut().flat_map(|elements| elements.iter_mut());
        self.spilled.iter_mut().chain(later).chain(&mut self.own)
    }

    /// Appends an element.
    pub fn push(&mut self, element: T) {
        self.own.push(element);
    }

    /// The elements that are in memory: all of them, unless some were spilled.
    pub fn own(&self) -> &[T] {
        &self.own
    }

    /// The elements that are in memory, as a vector to append to.
    pub fn own_mut(&mut self) -> &mut Vec<T> {
        &mut self.own
    }

    /// The elements that are in memory.
    pub(crate) fn into_own(self) -> Vec<T> {
        self.own
    }

    /// The element at this place, if the list has one there.
    pub fn get(&self, index: usize) -> Option<&T> {
        (index < self.len()).then(|| &self[index])
    }

    /// All elements, if none was added after a call of [`SpillVec::spill`].
    ///
    /// # Panics
    /// Some were.
    pub(crate) fn whole(&self) -> &[T] {
        &self[0..self.len()]
    }

    /// Moves the elements that are in memory to the scratch file.
    pub(crate) fn spill(&mut self, part: &mut ScratchPart<'f>, scratch: &'f ScratchFile)
    where
        T: Send + Sync,
    {
        // A part without elements would only be one more to search.
        if !self.own.is_empty() {
            let moved = part.put(std::mem::take(&mut self.own));
            match self.scratch.replace(scratch) {
                None => self.spilled = moved,
                Some(_) => self.later.push(moved),
            }
        }
    }

    /// A range of elements of a list some of which are in the file.
    fn range(&self, range: Range<usize>) -> &[T] {
        let mut before = 0;
        for elements in self.parts() {
            if range.start < before + elements.len() {
                return self.read(&elements[range.start - before..range.end - before]);
            }
            before += elements.len();
        }
        &self.own[range.start - before..range.end - before]
    }

    /// Tells the scratch file that these elements of it will be read.
    fn read<'e>(&self, elements: &'e [T]) -> &'e [T] {
        self.scratch.iter().for_each(|scratch| scratch.reads(elements));
        elements
    }

    /// All elements, in memory.
    #[cfg(test)]
    pub(crate) fn to_mut(&mut self) -> &mut Vec<T>
    where
        T: Clone,
    {
        let spilled: Vec<&[T]> = self.parts().collect();
        self.own.splice(..0, spilled.concat());
        (self.spilled, self.later, self.scratch) = (&mut [], ThinVec::new(), None);
        &mut self.own
    }
}

/// Elements that were added without a call of [`SpillVec::spill`] between them.
///
/// # Panics
/// The range is past the end, or only a part of it was spilled.
impl<T> Index<Range<usize>> for SpillVec<'_, T> {
    type Output = [T];

    // Inlined without the search for a part: most programs have no list in the file.
    #[inline]
    fn index(&self, range: Range<usize>) -> &[T] {
        if self.scratch.is_none() { &self.own[range] } else { self.range(range) }
    }
}

impl<T> IndexMut<Range<usize>> for SpillVec<'_, T> {
    fn index_mut(&mut self, range: Range<usize>) -> &mut [T] {
        if self.scratch.is_none() {
            return &mut self.own[range];
        }
        let mut before = 0;
        let spilled = std::iter::once(&mut self.spilled).chain(&mut self.later);
        for elements in spilled {
            if range.start < before + elements.len() {
                return &mut elements[range.start - before..range.end - before];
            }
            before += elements.len();
        }
        &mut self.own[range.start - before..range.end - before]
    }
}

/// # Panics
/// There is no such element.
impl<T> Index<usize> for SpillVec<'_, T> {
    type Output = T;

    #[inline]
    fn index(&self, index: usize) -> &T {
        if self.scratch.is_none() { &self.own[index] } else { &self.range(index..index + 1)[0] }
    }
}

impl<T> IndexMut<usize> for SpillVec<'_, T> {
    fn index_mut(&mut self, index: usize) -> &mut T {
        &mut self[index..index + 1][0]
    }
}

impl<T> FromIterator<T> for SpillVec<'_, T> {
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> Self {
        Vec::from_iter(elements).into()
    }
}

/// A list that is not changed any more. Unlike those of [`SpillVec`], its elements may borrow from the program's files: a reference to the
/// list may be used as one to a list whose elements live for a shorter time.
pub(crate) struct SpillList<'f, T> {
    /// All elements, unless they are in the scratch file.
    own: Vec<T>,
    spilled: &'f [T],
    /// The scratch file, if the elements are in it.
    scratch: Option<&'f ScratchFile>,
}

impl<T> Default for SpillList<'_, T> {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl<T> From<Vec<T>> for SpillList<'_, T> {
    fn from(own: Vec<T>) -> Self {
        SpillList { own, spilled: &[], scratch: None }
    }
}

impl<'f, T> SpillList<'f, T> {
    /// Bytes of all elements, in the file or in memory.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(self.all())
    }

    /// The elements that are in memory: all or none.
    pub(crate) fn own(&self) -> &[T] {
        &self.own
    }

    /// The elements that are in memory, as a vector.
    pub(crate) fn own_mut(&mut self) -> &mut Vec<T> {
        &mut self.own
    }

    fn all(&self) -> &[T] {
        if self.scratch.is_some() { self.spilled } else { &self.own }
    }

    /// Moves the elements to the scratch file. Called once.
    pub(crate) fn spill(&mut self, part: &mut ScratchPart<'f>, scratch: &'f ScratchFile)
    where
        T: Send + Sync,
    {
        if !self.own.is_empty() {
            self.spilled = part.put(std::mem::take(&mut self.own));
            self.scratch = Some(scratch);
        }
    }
}

/// # Panics
/// There is no such element.
impl<T> Index<usize> for SpillList<'_, T> {
    type Output = T;

    fn index(&self, index: usize) -> &T {
        let element = &self.all()[index];
        self.scratch.iter().for_each(|scratch| scratch.reads(std::slice::from_ref(element)));
        element
    }
}

#[cfg(test)]
mod tests {
    use super::{SpillList, SpillVec};
    use crate::util::scratch::{ScratchFile, ScratchPart};

    #[test]
    fn places_stay_when_elements_move_to_the_file() {
        fn spill<'f>(list: &mut SpillVec<'f, i32>, scratch: &'f ScratchFile) {
            let mut part = scratch.part(ScratchPart::bytes_of(list.own()).max(1)).unwrap();
            list.spill(&mut part, scratch);
        }
        let scratch = ScratchFile::default();
        let mut list = SpillVec::from(vec![1, 2, 3]);
        assert!(list.scratch().is_none());
        spill(&mut list, &scratch);
        assert!(list.scratch().is_some());
        list.own_mut().extend([4, 5]);
        let check = |list: &SpillVec<'_, i32>, own: &[i32]| {
            assert_eq!((list.len(), list.own()), (5, own));
            assert_eq!(
                (&list[1..3], &list[3..5], &list[3..3], &list[5..5]),
                (&[2, 3][..], &[4, 5][..], &[][..], &[][..])
            );
            assert_eq!((list[0], list[4], list.get(3), list.get(5)), (1, 5, Some(&4), None));
            assert!(list.iter().eq(&[1, 2, 3, 4, 5]));
        };
        check(&list, &[4, 5]);
        spill(&mut list, &scratch);
        check(&list, &[]);
        spill(&mut list, &scratch);
        check(&list, &[]);
        assert_eq!(list.to_mut(), &[1, 2, 3, 4, 5]);
    }

    #[test]
    fn a_list_in_the_file_may_borrow_what_lives_longer() {
        /// Compiles only if the list may be used for a shorter time.
        fn same<'s>(list: &'s SpillList<'_, &str>, other: &'s str) -> bool {
            fn second<'s>(list: &SpillList<'s, &'s str>, other: &'s str) -> bool {
                list[1] == other
            }
            second(list, other)
        }
        let scratch = ScratchFile::default();
        let mut list = SpillList::from(vec!["one", "two"]);
        assert!(same(&list, &String::from("two")));
        let mut part = scratch.part(ScratchPart::bytes_of(list.own())).unwrap();
        list.spill(&mut part, &scratch);
        drop(part);
        assert_eq!((list.own().len(), list.bytes()), (0, 2 * size_of::<&str>()));
        assert!(same(&list, &String::from("two")));
    }
}
