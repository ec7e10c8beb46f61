//! Records the words of vtables that lead to the methods of a name.
//!
//! Two methods of a class may have one address: `Parcel::weigh` at slot 1, `Parcel::price` at slot 2. Then neither the class nor the
//! word of its vtable shows which of them a call through slot 2 reaches. But an overrider has the slot of the method that it
//! overrides. So if `Parcel` has the base `Item` at the place to which the vtable belongs, and `Item` has `price` with the same
//! parameters at slot 2, the call reaches `Parcel::price`.
//!
//! If nothing describes `Item` and it has no vtable of its own, because it is abstract, foldsym compares the classes that derive from it: if two or more that derive
//! from it directly, or classes derived from these, have `price` at slot 2 of their vtables, and none has another name there, `price`
//! is a method of `Item`. One derived class is not enough, since it may have added its methods itself, and `Parcel` may have added methods of these
//! names in another order.

use crate::keys::objects::hierarchy::{Classes, Method, Signature};
use crate::model::FuncId;
use crate::util::hash::{HashMap, HashSet};

/// The method at a slot of the vtables of a class and of those that derive from it, as far as they show it.
struct AtSlot<'n> {
    /// `None` if the methods of the classes differ.
    signature: Option<Signature<'n>>,
    /// The class itself has the method.
    own: bool,
    /// A direct derivation of the class.
    way: usize,
    /// Several direct derivations have the method.
    several: bool,
}

/// Methods by the class that has them, or from which the classes derive that have them, and by slot.
#[derive(Default)]
pub(crate) struct SlotNames<'n> {
    at: HashMap<(usize, u16), AtSlot<'n>>,
    /// Each class with its methods that have a slot.
    known: HashSet<(usize, Signature<'n>)>,
}

impl<'n> SlotNames<'n> {
    /// The slots that classes declare.
    pub(crate) fn declared(classes: &Classes<'n>) -> SlotNames<'n> {
        let mut names = SlotNames::default();
        for (at, class) in classes.list.iter().enumerate() {
            // clang writes slot 0 for every virtual destructor, whatever its place.
            let is_numbered = |method: &&Method<'_>| method.is_virtual && !method.is_destructor();
            for method in class.methods.iter().filter(is_numbered) {
                if let Some(signature) = class.within(method.linkage_name) {
                    names.add_own(at, method.slot, signature);
                }
            }
        }
        names
    }

    /// Records a method of a class at a slot, unless it is a method of a member class.
    pub(crate) fn add_own(&mut self, class: usize, slot: u16, signature: Signature<'n>) {
        if !is_method(signature.rest) {
            return;
        }
        self.known.insert((class, signature));
        let new = AtSlot { signature: Some(signature), own: true, way: class, several: false };
        let known = self.at.entry((class, slot)).or_insert(new);
        match (known.own, known.signature == Some(signature)) {
            (true, false) => known.signature = None,
            // What the class itself has counts more than what others have.
            (false, _) => {
                *known = AtSlot { signature: Some(signature), own: true, way: class, several: false }
            }
            (true, true) => {}
        }
    }

    /// Records a method at a slot of a class that derives from `class`. `way`: the class on the way that derives from it directly.
    pub(crate) fn add_derived(&mut self, class: usize, slot: u16, signature: Signature<'n>, way: usize) {
        let signature = Some(signature).filter(|signature| is_method(signature.rest));
        let new = AtSlot { signature, own: false, way, several: false };
        let known = self.at.entry((class, slot)).or_insert(new);
        if !known.own {
            known.signature = known.signature.filter(|own| Some(*own) == signature);
            known.several |= known.way != way;
        }
    }

    /// The method at a slot of the vtables of a class, where it is sure enough.
    pub(crate) fn of_class(&self, class: usize, slot: u16) -> Option<Signature<'n>> {
        let at = self.at.get(&(class, slot)).filter(|at| at.own || at.several)?;
        at.signature
    }

    /// Finds the function at a slot of a vtable if nothing shows to which class of `line` (a class and its bases) the vtable belongs.
    /// `functions`: those that the word may lead to, each with the signature of its name; those of a class come before those of its bases.
    /// There are at most [`MAX_TOGETHER`](crate::keys::objects::class_caps::MAX_TOGETHER). `None` if another function may be at the slot.
    pub(crate) fn of_any(
        &self,
        slot: u16,
        line: &[usize],
        functions: &[(FuncId, Signature<'_>)],
    ) -> Option<FuncId> {
        let mut found = None;
        let mut seen: Vec<Signature<'_>> = Vec::new();
        for &(function, signature) in functions {
            // A base's method of this name was overridden.
            if seen.contains(&signature) {
                continue;
            }
            seen.push(signature);
            if !line.iter().any(|&class| self.known.contains(&(class, signature))) {
                return None;
            }
            let is_here = |class: &usize| {
                let at = self.at.get(&(*class, slot)).filter(|at| at.own);
                at.is_some_and(|at| at.signature.is_none_or(|own| own == signature))
            };
            if !line.iter().any(is_here) {
                continue;
            }
            if found.is_some() {
                return None;
            }
            found = Some(function);
        }
        found
    }
}

/// True if the text after the name of a class is that of its own method (`5weighEv`), and not of a member class's (`3Box5weighEv`).
pub(crate) fn is_method(rest: &[u8]) -> bool {
    let mut behind = behind_counted(rest);
    // ABI tags: `4nameB5cxx11`.
    while let Some(tag) = behind.and_then(|behind| behind.strip_prefix(b"B")) {
        behind = behind_counted(tag);
    }
    // A template is never virtual (C++ [temp.mem]), so no arguments follow the name.
    behind.is_some_and(|behind| behind.starts_with(b"E"))
}

/// The text after a counted name (`5weigh`).
fn behind_counted(text: &[u8]) -> Option<&[u8]> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let len: usize = std::str::from_utf8(&text[..digits]).ok()?.parse().ok()?;
    text.get(digits.checked_add(len)?..)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WEIGH: Signature<'_> = method(b"5weighEv");
    const PRICE: Signature<'_> = method(b"5priceEi");

    const fn method(rest: &[u8]) -> Signature<'_> {
        Signature { qualifiers: b"", rest }
    }

    #[test]
    fn a_class_has_the_methods_of_its_base_at_their_slots() {
        let mut names = SlotNames::default();
        names.add_own(7, 1, WEIGH);
        names.add_own(7, 2, PRICE);
        names.add_own(7, 3, method(b"3Box4fillEv"));
        assert_eq!([1, 2, 3].map(|slot| names.of_class(7, slot)), [Some(WEIGH), Some(PRICE), None]);
        // Another class proves nothing, whatever its methods are called.
        assert_eq!(names.of_class(8, 1), None);
        // Two methods that claim one slot.
        names.add_own(7, 1, PRICE);
        assert_eq!(names.of_class(7, 1), None);
    }

    #[test]
    fn a_const_method_is_another_than_that_without_const() {
        let constant = Signature { qualifiers: b"K", ..WEIGH };
        let mut names = SlotNames::default();
        names.add_own(7, 0, WEIGH);
        names.add_own(7, 1, constant);
        assert_eq!([0, 1].map(|slot| names.of_class(7, slot)), [Some(WEIGH), Some(constant)]);
        // The first function overrides the `const` method of class 7, the second is the other method itself.
        let functions = [(FuncId(0), constant), (FuncId(1), WEIGH)];
        assert_eq!(
            [0, 1].map(|slot| names.of_any(slot, &[3, 7], &functions)),
            [Some(FuncId(1)), Some(FuncId(0))]
        );
    }

    #[test]
    fn one_derived_class_does_not_tell_what_its_base_has() {
        let mut names = SlotNames::default();
        names.add_derived(7, 1, WEIGH, 1);
        names.add_derived(7, 1, WEIGH, 1);
        assert_eq!(names.of_class(7, 1), None);
        names.add_derived(7, 1, WEIGH, 2);
        assert_eq!(names.of_class(7, 1), Some(WEIGH));
        // A third has another method there: each may have added its own.
        names.add_derived(7, 1, PRICE, 3);
        assert_eq!(names.of_class(7, 1), None);
        names.add_own(7, 1, WEIGH);
        names.add_derived(7, 1, PRICE, 3);
        assert_eq!(names.of_class(7, 1), Some(WEIGH));
    }

    #[test]
    fn where_the_place_of_a_vtable_is_not_known_all_bases_count() {
        let mut names = SlotNames::default();
        for (class, rest, slot) in
            [(7, WEIGH, 1), (7, PRICE, 2), (8, method(b"5cloneEv"), 1), (9, method(b"3newEv"), 2)]
        {
            names.add_own(class, slot, rest);
        }
        let functions = |rests: &[Signature<'static>]| -> Vec<(FuncId, Signature<'static>)> {
            (0..).map(FuncId).zip(rests.iter().copied()).collect()
        };
        let at = |slot, line: &[usize], rests: &[Signature<'static>]| {
            names.of_any(slot, line, &functions(rests)).map(|function| function.0)
        };
        assert_eq!([1, 2, 3].map(|slot| at(slot, &[3, 7], &[WEIGH, PRICE])), [Some(0), Some(1), None]);
        // Either may be in slot 1.
        assert_eq!(
            [1, 2].map(|slot| at(slot, &[3, 7, 8], &[WEIGH, PRICE, method(b"5cloneEv")])),
            [None, Some(1)]
        );
        // The base's method is not there.
        assert_eq!(at(1, &[3, 7], &[WEIGH, PRICE, WEIGH]), Some(0));
        // Nothing tells where it is; a class that has nothing to do with it does not.
        assert_eq!(at(1, &[3, 7], &[WEIGH, method(b"3newEv")]), None);
        assert_eq!(at(1, &[3], &[WEIGH, PRICE]), None);
    }
}
