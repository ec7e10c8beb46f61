//! Reports the caps of classes: what is beyond each, and what the file lacks.

use crate::diagnostics::{ClassCap, Diagnostics, Kind};
use crate::keys::objects::hierarchy::MAX_ANCESTORS;
use crate::keys::objects::meant_methods::MAX_LOOKED_AT;
use crate::keys::objects::table_types::MAX_STEPS;
use crate::keys::objects::type_info::{MAX_ALL_BASES, MAX_DEPTH, MAX_TYPES};
use crate::model::ImageAddr;

/// Words and methods that are compared, over all tables: a large program has a few millions.
pub(crate) const MAX_WORK: usize = 1 << 28;

/// Keys of one table; the file cannot hold more.
pub(crate) const MAX_KEYS: usize = 1024;

/// Keys of all tables.
pub(crate) const MAX_ALL_KEYS: usize = 1 << 22;

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

/// Words of tables lead to too many members of groups.
pub(crate) fn many_members(first: ImageAddr, diagnostics: &mut Diagnostics) {
    diagnostics.add(Kind::SkippedClasses(ClassCap::MemberSteps), first.0, || {
        format!("over {MAX_LOOKED_AT} members of groups to which words of vtables lead: some words lead to unknown functions")
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
