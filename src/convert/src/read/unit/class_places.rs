//! Collects the DIE offsets of a unit's classes during the walk.

use gimli::UnitOffset;

use crate::model::{ClassPlaces, ImageAddr};
use crate::read::limits::MAX_CLASSES;
use crate::read::sections::entries::Entry;
use crate::read::unit::roles::Role;

/// A class or an unnamed namespace that encloses the current entry.
#[derive(Clone, Copy)]
struct Enclosing {
    depth: isize,
    /// `None` for an unnamed namespace.
    class: Option<UnitOffset>,
    /// True if it is, or is inside of, an unnamed namespace.
    unnamed: bool,
}

/// The definition of a vtable.
pub(crate) struct VtableDefinition {
    pub(crate) address: u64,
    /// The offset of its declaration.
    pub(crate) declaration: UnitOffset,
}

/// The declaration of a vtable in a class.
struct VtableDeclaration {
    offset: UnitOffset,
    class: UnitOffset,
}

/// The DIE offsets of a unit's classes and vtables, while the unit is walked.
#[derive(Default)]
pub(crate) struct Noted {
    /// The classes and unnamed namespaces that enclose the current entry, outermost first.
    open: Vec<Enclosing>,
    classes: Vec<UnitOffset>,
    /// The classes in unnamed namespaces, sorted by offset.
    unnamed: Vec<UnitOffset>,
    /// Sorted by offset.
    declared: Vec<VtableDeclaration>,
    pub(crate) defined: Vec<VtableDefinition>,
}

impl Noted {
    /// Ends all open entries of this depth or deeper.
    #[inline]
    pub(crate) fn leave(&mut self, depth: isize) {
        while self.open.last().is_some_and(|open| open.depth >= depth) {
            self.open.pop();
        }
    }

    /// Adds a class, an unnamed namespace, or the declaration of a vtable.
    pub(crate) fn note(&mut self, entry: &Entry<Role>) {
        let (depth, outer) = (entry.depth, self.open.last().copied());
        let unnamed = outer.is_some_and(|outer| outer.unnamed);
        match (entry.role, outer) {
            (Role::Unnamed, _) => self.open.push(Enclosing { depth, class: None, unnamed: true }),
            (Role::Class, _) => {
                self.open.push(Enclosing { depth, class: Some(entry.offset), unnamed });
                if self.classes.len() <= MAX_CLASSES {
                    self.classes.push(entry.offset);
                    self.unnamed.extend(unnamed.then_some(entry.offset));
                }
            }
            // Only a direct child of a class can declare the vtable of this class.
            (_, Some(Enclosing { depth: of_class, class: Some(class), .. })) if of_class + 1 == depth => {
                self.declared.push(VtableDeclaration { offset: entry.offset, class });
            }
            _ => {}
        }
    }

    /// The result. `gcc` adds all classes, since gcc does not say which classes have a vtable in this unit.
    pub(crate) fn places(self, gcc: bool) -> ClassPlaces {
        let class = |VtableDefinition { address, declaration }| {
            let at = self.declared.binary_search_by_key(&declaration, |declared| declared.offset).ok()?;
            Some((ImageAddr(address), self.declared[at].class.0))
        };
        // One more than the limit, as in `note`: the reader of the classes then counts that some are missing.
        let tables = self.defined.into_iter().filter_map(class).take(MAX_CLASSES + 1).collect();
        let of =
            |classes: Vec<UnitOffset>| classes.into_iter().filter(|_| gcc).map(|class| class.0).collect();
        ClassPlaces { tables, dynamic: of(self.classes), unnamed: of(self.unnamed) }
    }
}
