//! The limits of finding which function runs on an object: what each bounds, and what is lost if a program reaches it.
//! [`crate::util::budget`] explains why there are limits. A limit without the name of a report (`skipped_class_...`) is not reported, for
//! the reason that it gives.

use crate::diagnostics::{Cap, ClassCap, Diagnostics, Kind};
use crate::model::ImageAddr;
use crate::program::machine::{MAX_JOINS, MAX_SLOT_CODE};

/// Words and methods that are compared, over all tables: a large program has a few millions. Later tables have no keys
/// (`skipped_class_tables`).
pub(crate) const MAX_WORK: usize = 1 << 28;

/// Keys of one table; the file cannot hold more. A table with more has none (`skipped_class_keys`).
pub(crate) const MAX_KEYS: usize = 1024;

/// Keys of all tables. Later tables have none (`skipped_class_all_keys`).
pub(crate) const MAX_ALL_KEYS: usize = 1 << 22;

/// Keys of one slot. A slot with more has none (`skipped_class_slot_keys`).
pub(crate) const MAX_OF_SLOT: usize = 1 << 16;

/// Words under one vtable symbol, over all its vtables. A slot number has 16 bits, so a vtable has at most 2^16 usable words, but a damaged
/// symbol may claim any size. A symbol with more words gives no keys (`skipped_class_long_tables`).
pub(crate) const MAX_WORDS: u64 = 1 << 17;

/// Tables of one class that are read. The tables of a class with more have no keys (`skipped_class_parts`).
pub(crate) const MAX_PARTS: usize = 256;

/// The largest offset of a subobject in its object. A word with a larger number does not begin a table. It is not reported, since such a
/// word is mostly something else, such as the address of a function of a kernel.
pub(crate) const MAX_OBJECT: i64 = 1 << 20;

/// Places in one table at which the functions of a subobject may begin, if some of them were erased. Further ones count only until the
/// next. It is not reported, since the functions begin at the first place, unless the words before it were erased, too.
pub(crate) const MAX_BEGINS: usize = 4;

/// Members of groups that the functions at one slot of all tables reach by tail calls. If there are more, calls through the slot prove
/// nothing (`skipped_class_passed_on`).
pub(crate) const MAX_PASSED_ON: usize = 1024;

/// Classes that may share a table. Of more, none is known (`skipped_class_sharing`).
pub(crate) const MAX_SHARING: usize = 16;

/// Members of a group that come first together. It is not reported, since a choice of more tells too little.
pub(crate) const MAX_RELATED: usize = 8;

/// Methods at one word that are compared. It is not reported, since a word that more methods may be at seldom shows which it means.
pub(crate) const MAX_TOGETHER: usize = 64;

/// Members of groups visited for words of tables. Beyond it every word may lead to other functions too (`skipped_class_member_steps`).
pub(crate) const MAX_LOOKED_AT: u64 = 1 << 26;

/// Words and methods looked at for guesses. Beyond it there are no more guesses, which is not reported: a guess only orders the functions
/// of an answer.
pub(crate) const MAX_GUESSED_AT: u64 = 1 << 24;

/// Classes that a class may derive from, itself included. A class with more is not used (`skipped_class_ancestors`).
pub(crate) const MAX_ANCESTORS: usize = 256;

/// Parts of an object that are each of a class, the object itself included. If there are more, nothing shows which of the parts a table is
/// for (`skipped_class_subobjects`).
pub(crate) const MAX_SUBOBJECTS: usize = 64;

/// Bases of a class that are searched for a virtual method. It is not reported: a class with more counts as one with a table, which a
/// class with so many bases has.
pub(crate) const MAX_SEARCHED: usize = 64;

/// Bytes of a name that is compared with those of classes, and of a class's name in its type information. A longer name is that of no
/// class. It is not reported: an object then shows as little as for a function that is no method.
pub(crate) const MAX_NAME: usize = 2048;

/// Bases in the type information of one class. It is not reported: a class with more is damaged.
pub(crate) const MAX_BASES: u64 = 64;

/// Levels of bases in type information that are followed. Bases of further levels are not known (`skipped_class_base_levels`).
pub(crate) const MAX_DEPTH: usize = 32;

/// Classes of which type information is read. No further base is known (`skipped_class_types`).
pub(crate) const MAX_TYPES: usize = 1 << 20;

/// Bases of all classes together: the type information of different classes may overlap in a damaged program. No further base is known
/// (`skipped_class_bases`).
pub(crate) const MAX_ALL_BASES: usize = 1 << 22;

/// The largest offset of a base in an object, by type information. It is not reported: type information with a larger one is damaged.
pub(crate) const MAX_OFFSET: u64 = 1 << 24;

/// Words of tables that are read to find type information. Classes of later tables have no bases (`skipped_class_table_words`).
pub(crate) const MAX_STEPS: u64 = 1 << 26;

/// Classes, words and members that are compared for the functions of virtual calls. Later calls have no set
/// (`skipped_class_call_targets`).
pub(crate) const MAX_TARGET_STEPS: u64 = 1 << 26;

/// The virtual calls of the program were not all followed.
pub(crate) fn unfollowed_calls(first: ImageAddr, diagnostics: &mut Diagnostics) {
    diagnostics.add(Kind::SkippedClasses(ClassCap::CallTargets), first.0, || {
        format!("gave up after {MAX_TARGET_STEPS} steps of following virtual calls: the static classes of later calls do not count")
    });
}

/// Type information was not read to its end.
pub(crate) fn cut_types(cap: ClassCap, first: ImageAddr, diagnostics: &mut Diagnostics) {
    diagnostics.add(Kind::SkippedClasses(cap), first.0, || {
        let what = match cap {
            ClassCap::Bases => format!("over {MAX_ALL_BASES} bases in the type information"),
            ClassCap::BaseLevels => format!("over {MAX_DEPTH} levels of bases in the type information"),
            ClassCap::TableWords => {
                format!("over {MAX_STEPS} words of vtables that lead to type information")
            }
            _ => format!("over {MAX_TYPES} classes in the type information"),
        };
        format!("{what}: the bases of further classes are not known")
    });
}

/// The class of a table has too many bases.
pub(crate) fn many_ancestors(address: ImageAddr, diagnostics: &mut Diagnostics) {
    diagnostics.add(Kind::SkippedClasses(ClassCap::Ancestors), address.0, || {
        format!("the class of the vtable at {address:#x} has {MAX_ANCESTORS} bases or more: no object of it shows which method ran")
    });
}

/// A table has too many keys.
pub(crate) fn long_table(address: ImageAddr, diagnostics: &mut Diagnostics) {
    diagnostics.add(Kind::SkippedClasses(ClassCap::Keys), address.0, || {
        format!("the vtable at {address:#x} has over {MAX_KEYS} keys: they are left out")
    });
}

/// Words of tables may lead to too many members of groups: to so many.
pub(crate) fn many_members(looked_at: u64, first: ImageAddr, diagnostics: &mut Diagnostics) {
    if looked_at > MAX_LOOKED_AT {
        diagnostics.add(Kind::SkippedClasses(ClassCap::MemberSteps), first.0, || {
            format!("gave up after {MAX_LOOKED_AT} folded functions that vtables lead to: later words count as leading to unknown functions")
        });
    }
}

/// The tables of a class at an address are not read.
pub(crate) fn large_class(cap: ClassCap, address: ImageAddr, diagnostics: &mut Diagnostics) {
    diagnostics.add(Kind::SkippedClasses(cap), address.0, || {
        let what = match cap {
            ClassCap::Parts => {
                format!("the class of the vtable at {address:#x} has over {MAX_PARTS} vtables")
            }
            _ => format!("the vtable at {address:#x} has over {MAX_WORDS} words"),
        };
        format!("{what}: no object of its class shows which method ran")
    });
}

/// Too many classes share the table at an address.
pub(crate) fn many_classes(address: ImageAddr, diagnostics: &mut Diagnostics) {
    diagnostics.add(Kind::SkippedClasses(ClassCap::Sharing), address.0, || {
        format!("over {MAX_SHARING} classes share the vtable at {address:#x}: no object of them shows which method ran")
    });
}

/// The functions at these slots reach too many members of groups.
pub(crate) fn far_slots(slots: &[u16], diagnostics: &mut Diagnostics) {
    for slot in slots {
        diagnostics.add(Kind::SkippedClasses(ClassCap::PassedOn), 0, || {
            format!(
                "the functions at slot {slot} of all vtables reach over {MAX_PASSED_ON} folded functions by tail calls: a call through the \
                 slot does not prove which function ran"
            )
        });
    }
}

/// The objects of a class have too many parts. `key`: the class's name, as linkage names have it.
pub(crate) fn many_subobjects(key: Option<&[u8]>, diagnostics: &mut Diagnostics) {
    diagnostics.add(Kind::SkippedClasses(ClassCap::Subobjects), 0, || {
        let name = String::from_utf8_lossy(key.unwrap_or(b"without a name"));
        format!("an object of class {name} has over {MAX_SUBOBJECTS} subobjects: fewer words of its vtables show which method they lead to")
    });
}

/// Tables from an address on give no keys.
pub(crate) fn tables_from(cap: ClassCap, address: ImageAddr, diagnostics: &mut Diagnostics) {
    diagnostics.add(Kind::SkippedClasses(cap), address.0, || {
        let what = match cap {
            ClassCap::AllKeys => format!("{MAX_ALL_KEYS} keys of vtables"),
            _ => format!("{MAX_WORK} steps for vtables"),
        };
        format!("over {what}: those from {address:#x} on are left out")
    });
}

/// The calls through vtables in the function at an address are not all known.
pub(crate) fn unread_calls(cap: Cap, start: ImageAddr, diagnostics: &mut Diagnostics) {
    diagnostics.add(Kind::Cap(cap), start.0, || match cap {
        Cap::SlotCode => format!(
            "the function at {start:#x} has over {MAX_SLOT_CODE} bytes: its later calls through vtables do not show which function runs"
        ),
        _ => format!(
            "the function at {start:#x} has forward jumps to over {MAX_JOINS} different targets across one instruction: its calls \
             through vtables do not show which function runs"
        ),
    });
}
