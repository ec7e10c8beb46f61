//! The entries at which the walk over a unit stops, and the attributes that it reads.

use crate::read::sections::abbreviations::Abbreviation;
use crate::read::sections::entries::Wanted;
use crate::read::unit::attributes as attribute;
use crate::read::unit::language::LANGUAGE_NAME;
use crate::read::unit::origins::IDENTITY;

/// The role of an entry in the walk over a unit.
#[derive(Clone, Copy)]
pub(crate) enum Role {
    Root,
    PartialRoot,
    /// A subprogram with an address.
    Function,
    /// A subprogram without an address, which is a definition with a name.
    Codeless,
    /// Any other subprogram without an address, if it has children.
    Declared,
    Inlined,
    Call,
    /// A class with a vtable pointer.
    Class,
    /// A variable or member that may declare a vtable.
    TableDeclaration,
    /// A variable or member that may define a vtable.
    TableDefinition,
    /// A variable that may have a fixed address.
    Variable,
    /// An unnamed namespace: its classes belong to this unit only.
    Unnamed,
}

fn role(abbreviation: &Abbreviation) -> Option<Role> {
    match abbreviation.tag {
        gimli::DW_TAG_compile_unit => Some(Role::Root),
        gimli::DW_TAG_partial_unit => Some(Role::PartialRoot),
        gimli::DW_TAG_subprogram
            if abbreviation.has(gimli::DW_AT_low_pc) || abbreviation.has(gimli::DW_AT_ranges) =>
        {
            Some(Role::Function)
        }
        gimli::DW_TAG_subprogram if is_codeless(abbreviation) => Some(Role::Codeless),
        // Stopped at, because its children do not belong to the function that encloses it.
        gimli::DW_TAG_subprogram => abbreviation.has_children.then_some(Role::Declared),
        gimli::DW_TAG_inlined_subroutine => Some(Role::Inlined),
        gimli::DW_TAG_call_site | gimli::DW_TAG_GNU_call_site => Some(Role::Call),
        _ => class_role(abbreviation),
    }
}

/// The role of an entry that has to do with classes and vtables.
fn class_role(abbreviation: &Abbreviation) -> Option<Role> {
    match abbreviation.tag {
        // gcc and clang name here the class that has the vtable pointer: only classes with a vtable have the attribute.
        gimli::DW_TAG_class_type | gimli::DW_TAG_structure_type
            if abbreviation.has(gimli::DW_AT_containing_type) =>
        {
            Some(Role::Class)
        }
        gimli::DW_TAG_variable | gimli::DW_TAG_member if defines(abbreviation) => Some(Role::TableDefinition),
        // Before DWARF 5 a static data member is a `DW_TAG_member` (DWARF 4 5.5.6), since then it is a `DW_TAG_variable`
        // (DWARF 5 5.7.7). So clang may write either for the variable of a vtable, whose name is not read:
        // `_vtable$`, since clang 23 `__clang_vtable`.
        gimli::DW_TAG_variable | gimli::DW_TAG_member
            if abbreviation.has(gimli::DW_AT_artificial) && abbreviation.has(gimli::DW_AT_declaration) =>
        {
            Some(Role::TableDeclaration)
        }
        gimli::DW_TAG_namespace if !abbreviation.has(gimli::DW_AT_name) => Some(Role::Unnamed),
        _ => None,
    }
}

/// As [`role`], also of variables.
fn role_with_data(abbreviation: &Abbreviation) -> Option<Role> {
    let is_variable = abbreviation.tag == gimli::DW_TAG_variable && abbreviation.has(gimli::DW_AT_location);
    // The definition of a static data member has the attributes of that of a vtable: its name decides.
    role(abbreviation)
        .filter(|role| !(is_variable && matches!(role, Role::TableDefinition)))
        .or(is_variable.then_some(Role::Variable))
}

fn defines(abbreviation: &Abbreviation) -> bool {
    abbreviation.has(gimli::DW_AT_specification)
        && abbreviation.has(gimli::DW_AT_location)
        && abbreviation.has(gimli::DW_AT_linkage_name)
}

/// True for a subprogram that is defined, has a name, and is not the abstract instance of inlined ones.
fn is_codeless(abbreviation: &Abbreviation) -> bool {
    (abbreviation.has(gimli::DW_AT_name) || abbreviation.has(gimli::DW_AT_specification))
        && !abbreviation.has(gimli::DW_AT_declaration)
        && !abbreviation.has(gimli::DW_AT_inline)
}

/// The entries and attributes that the walk over a unit wants.
pub(crate) fn wanted(columns: bool, data: bool) -> Wanted<Role> {
    Wanted {
        role: if data { role_with_data } else { role },
        // Outside of a function, inlined subroutines and calls belong to nothing, and there is nothing from which the
        // children of a declaration must be kept apart.
        inner: |role| matches!(role, Role::Declared | Role::Inlined | Role::Call),
        attribute: if columns { |name| is_read(name) || name == gimli::DW_AT_call_column } else { is_read },
    }
}

/// True for every attribute that the walk reads, except the column of calls.
fn is_read(name: gimli::DwAt) -> bool {
    let is_own = matches!(
        name,
        gimli::DW_AT_producer
            | gimli::DW_AT_language
            | LANGUAGE_NAME
            | gimli::DW_AT_low_pc
            | gimli::DW_AT_high_pc
            | gimli::DW_AT_ranges
            | gimli::DW_AT_entry_pc
            | attribute::STMT_SEQUENCE
            | gimli::DW_AT_location
            | gimli::DW_AT_call_file
            | gimli::DW_AT_call_line
            | gimli::DW_AT_call_return_pc
            | gimli::DW_AT_call_origin
            | attribute::VIRTUAL_CALL_ORIGIN
            | gimli::DW_AT_call_tail_call
            | gimli::DW_AT_GNU_tail_call
            | gimli::DW_AT_call_target
            | gimli::DW_AT_call_target_clobbered
            | gimli::DW_AT_GNU_call_site_target
            | gimli::DW_AT_GNU_call_site_target_clobbered
            | gimli::DW_AT_call_all_calls
            | gimli::DW_AT_call_all_source_calls
            | gimli::DW_AT_call_all_tail_calls
            | gimli::DW_AT_GNU_all_call_sites
            | gimli::DW_AT_GNU_all_source_call_sites
            | gimli::DW_AT_GNU_all_tail_call_sites
            | attribute::ACTIVE_LANE
            | attribute::LANES
            | attribute::FIRST_LANES
            | attribute::LANE_PC
            | attribute::FIRST_LANE_PC
    );
    // A subprogram also has the attributes of its identity.
    is_own || (IDENTITY.attribute)(name)
}

/// The role of an entry in the walk over a class.
#[derive(Clone, Copy)]
pub(crate) enum MemberRole {
    Base,
    Method,
    Other,
}
