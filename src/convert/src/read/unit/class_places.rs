//! Notes where the classes of a unit are, while it is walked.

use gimli::UnitOffset;

use crate::model::{ClassPlaces, ImageAddr};
use crate::read::sections::entries::Entry;
use crate::read::unit::roles::Role;

/// Classes that are read of one unit.
pub(crate) const MAX_CLASSES: usize = 1 << 16;

/// A class, or a namespace without a name, for which `class` is `None`.
#[derive(Clone, Copy)]
struct Enclosing {
    depth: isize,
    class: Option<UnitOffset>,
    /// It is such a namespace, or stands in one.
    unnamed: bool,
}

/// Where the classes of a unit are, while it is walked.
#[derive(Default)]
pub(crate) struct Noted {
    /// What encloses the entry being read.
    open: Vec<Enclosing>,
    classes: Vec<UnitOffset>,
    /// Those of them that stand in such a namespace; by place.
    unnamed: Vec<UnitOffset>,
    /// Declarations of tables, with their classes; by place.
    declared: Vec<(UnitOffset, UnitOffset)>,
    /// Tables with an address, and their declarations.
    pub(crate) defined: Vec<(u64, UnitOffset)>,
}

impl Noted {
    /// Entries of this depth or deeper have ended.
    #[inline]
    pub(crate) fn leave(&mut self, depth: isize) {
        while self.open.last().is_some_and(|open| open.depth >= depth) {
            self.open.pop();
        }
    }

    /// Notes a class, a namespace without a name, or the declaration of a table.
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
            (_, Some(Enclosing { depth: of_class, class: Some(class), .. })) if of_class + 1 == depth => {
                self.declared.push((entry.offset, class));
            }
            _ => {}
        }
    }

    /// What is read of the classes, if it is; of gcc's all.
    pub(crate) fn places(self, gcc: bool) -> ClassPlaces {
        let class = |(address, declaration)| {
            let at = self.declared.binary_search_by_key(&declaration, |&(place, _)| place).ok()?;
            Some((ImageAddr(address), self.declared[at].1.0))
        };
        let tables = self.defined.into_iter().filter_map(class).take(MAX_CLASSES + 1).collect();
        let of =
            |classes: Vec<UnitOffset>| classes.into_iter().filter(|_| gcc).map(|class| class.0).collect();
        ClassPlaces { tables, dynamic: of(self.classes), unnamed: of(self.unnamed) }
    }
}
