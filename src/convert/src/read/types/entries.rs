//! The entries of a unit that describe types and functions, with their parents.

use gimli::{AttributeValue, UnitOffset};

use crate::model::DieOffset;
use crate::read::sections::abbreviations::Abbreviation;
use crate::read::sections::bytes::{Bytes, Endianity};
use crate::read::sections::entries::{Entries, Wanted};
use crate::read::space::offset_of;
use crate::read::unit::language::{LANGUAGE_NAME, Language, Languages};
use crate::read::unit::source::UnitSource;
use crate::util::hash::HashMap;

/// The most entries that are kept of one unit: some 300 MB. A unit with more has no types.
pub(crate) const MAX_ENTRIES: usize = 1 << 22;

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tag {
    Root,
    Namespace,
    /// A class, struct, union or enumeration: a type with a name of its own.
    Named,
    Base,
    /// `DW_TAG_unspecified_type`
    Unspecified,
    /// A typedef or the alias of a template.
    Alias,
    Pointer,
    Reference,
    RvalueReference,
    Const,
    Volatile,
    Restrict,
    Array,
    Bounds,
    /// The type of functions (`DW_TAG_subroutine_type`).
    FunctionType,
    MemberPointer,
    /// A function that has code, or had.
    Function,
    /// Any other function.
    Declaration,
    Parameter,
    /// `...`
    MoreParameters,
    TemplateType,
    TemplateValue,
    TemplatePack,
    /// Something that a type cannot be made of here.
    Other,
}

fn tag(abbreviation: &Abbreviation) -> Option<Tag> {
    Some(match abbreviation.tag {
        gimli::DW_TAG_compile_unit | gimli::DW_TAG_partial_unit => Tag::Root,
        gimli::DW_TAG_namespace => Tag::Namespace,
        gimli::DW_TAG_class_type
        | gimli::DW_TAG_structure_type
        | gimli::DW_TAG_union_type
        | gimli::DW_TAG_enumeration_type => Tag::Named,
        gimli::DW_TAG_base_type => Tag::Base,
        gimli::DW_TAG_unspecified_type => Tag::Unspecified,
        gimli::DW_TAG_typedef | gimli::DW_TAG_template_alias => Tag::Alias,
        gimli::DW_TAG_pointer_type => Tag::Pointer,
        gimli::DW_TAG_reference_type => Tag::Reference,
        gimli::DW_TAG_rvalue_reference_type => Tag::RvalueReference,
        gimli::DW_TAG_const_type => Tag::Const,
        gimli::DW_TAG_volatile_type => Tag::Volatile,
        gimli::DW_TAG_restrict_type => Tag::Restrict,
        gimli::DW_TAG_array_type => Tag::Array,
        gimli::DW_TAG_subrange_type => Tag::Bounds,
        gimli::DW_TAG_subroutine_type => Tag::FunctionType,
        gimli::DW_TAG_ptr_to_member_type => Tag::MemberPointer,
        gimli::DW_TAG_subprogram
            if abbreviation.has(gimli::DW_AT_low_pc) || abbreviation.has(gimli::DW_AT_ranges) =>
        {
            Tag::Function
        }
        gimli::DW_TAG_subprogram => Tag::Declaration,
        gimli::DW_TAG_formal_parameter => Tag::Parameter,
        gimli::DW_TAG_unspecified_parameters => Tag::MoreParameters,
        gimli::DW_TAG_template_type_parameter => Tag::TemplateType,
        gimli::DW_TAG_template_value_parameter => Tag::TemplateValue,
        gimli::DW_TAG_GNU_template_parameter_pack => Tag::TemplatePack,
        gimli::DW_TAG_GNU_template_template_param
        | gimli::DW_TAG_GNU_formal_parameter_pack
        | gimli::DW_TAG_generic_subrange
        | gimli::DW_TAG_atomic_type => Tag::Other,
        // Of these only their children may be types, and their parents need not be known.
        _ => return None,
    })
}

const WANTED: Wanted<Tag> = Wanted {
    role: tag,
    inner: |_| false,
    attribute: |name| {
        matches!(
            name,
            gimli::DW_AT_name
                | gimli::DW_AT_type
                | gimli::DW_AT_abstract_origin
                | gimli::DW_AT_specification
                | gimli::DW_AT_containing_type
                | gimli::DW_AT_artificial
                | gimli::DW_AT_prototyped
                | gimli::DW_AT_reference
                | gimli::DW_AT_rvalue_reference
                | gimli::DW_AT_const_value
                | gimli::DW_AT_count
                | gimli::DW_AT_upper_bound
                | gimli::DW_AT_lower_bound
                | gimli::DW_AT_byte_size
                | gimli::DW_AT_GNU_vector
                | gimli::DW_AT_language
                | LANGUAGE_NAME
        )
    },
};

/// A reference to another entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum TypeTarget {
    #[default]
    None,
    /// An entry of the unit, by its offset.
    Here(u32),
    /// In another unit or in a type unit.
    Elsewhere,
}

/// An entry. Which of the fields count depends on its tag.
#[derive(Clone, Debug)]
pub(crate) struct TypeEntry<'f> {
    pub(crate) offset: u32,
    pub(crate) tag: Tag,
    /// The entry that has this one as a child; `None` if that is not kept.
    pub(crate) parent: Option<u32>,
    /// One more than the index of the first child, of the last one, and of the next sibling; 0 for none. Only of children that are kept.
    first: u32,
    last: u32,
    next: u32,
    pub(crate) name: &'f [u8],
    /// `DW_AT_type`
    pub(crate) of: TypeTarget,
    /// `DW_AT_abstract_origin` or `DW_AT_specification`
    pub(crate) origin: TypeTarget,
    /// `DW_AT_containing_type`
    pub(crate) class: TypeTarget,
    /// `DW_AT_const_value`, or the number of elements of an array.
    pub(crate) number: Option<i64>,
    /// `DW_AT_byte_size`
    pub(crate) size: u64,
    pub(crate) is_artificial: bool,
    pub(crate) is_prototyped: bool,
    pub(crate) is_vector: bool,
    /// `&` or `&&` after a method's parameters.
    pub(crate) ref_qualifier: Option<u8>,
}

/// The entries of a unit, in its order.
#[derive(Default)]
pub(crate) struct TypeEntries<'f> {
    all: Vec<TypeEntry<'f>>,
    by_offset: HashMap<u32, u32>,
    /// Of unnamed types: the only typedef that names one, as C++ sees it (C++ [dcl.typedef]).
    named_by: HashMap<u32, Option<u32>>,
    unit_offset: u64,
    pub(crate) is_c: bool,
    pub(crate) is_cpp: bool,
}

impl<'f> TypeEntries<'f> {
    /// Reads the entries of a unit; `None` if there are too many.
    ///
    /// # Errors
    /// Damage in the unit.
    pub(crate) fn read<E: Endianity>(
        source: &UnitSource<'_, 'f, E>,
    ) -> gimli::Result<Option<TypeEntries<'f>>> {
        let mut found = TypeEntries { unit_offset: offset_of(&source.unit.header), ..TypeEntries::default() };
        let mut entries = Entries::new(source.unit, source.abbreviations, WANTED, Default::default());
        let mut open: Vec<(isize, u32)> = Vec::new();
        let mut languages = Languages::default();
        while let Some(mut entry) = entries.next(isize::MAX)? {
            while open.last().is_some_and(|(depth, _)| *depth >= entry.closes) {
                open.pop();
            }
            let (index, depth) = (found.all.len() as u32, entry.depth);
            if found.all.len() >= MAX_ENTRIES {
                return Ok(None);
            }
            let parent = open.last().filter(|(outer, _)| outer + 1 == depth).map(|(_, parent)| *parent);
            let mut of = TypeEntry {
                offset: entry.offset.0 as u32,
                tag: entry.role,
                parent,
                first: 0,
                last: 0,
                next: 0,
                name: b"",
                of: TypeTarget::None,
                origin: TypeTarget::None,
                class: TypeTarget::None,
                number: None,
                size: 0,
                is_artificial: false,
                is_prototyped: false,
                is_vector: false,
                ref_qualifier: None,
            };
            while let Some(attribute) = entries.attribute(&mut entry)? {
                let (number, is_set) = (attribute.number(), attribute.is_set());
                match attribute.name {
                    gimli::DW_AT_name => {
                        let name = source.space.main.string(source.unit, attribute.value);
                        of.name = name.map_or(&[], |name| name.slice());
                    }
                    gimli::DW_AT_type => of.of = target(&attribute.value),
                    gimli::DW_AT_containing_type => of.class = target(&attribute.value),
                    gimli::DW_AT_abstract_origin | gimli::DW_AT_specification => {
                        of.origin = target(&attribute.value);
                    }
                    gimli::DW_AT_artificial => of.is_artificial = is_set,
                    gimli::DW_AT_prototyped => of.is_prototyped = is_set,
                    gimli::DW_AT_GNU_vector => of.is_vector = is_set,
                    gimli::DW_AT_reference if is_set => of.ref_qualifier = Some(b'R'),
                    gimli::DW_AT_rvalue_reference if is_set => of.ref_qualifier = Some(b'O'),
                    gimli::DW_AT_const_value | gimli::DW_AT_count => of.number = signed(&attribute.value),
                    gimli::DW_AT_upper_bound => {
                        of.number = signed(&attribute.value).and_then(|last| last.checked_add(1));
                    }
                    // No array of C or C++ begins at another number.
                    gimli::DW_AT_lower_bound if number != Some(0) => of.tag = Tag::Other,
                    gimli::DW_AT_byte_size => of.size = number.unwrap_or(0),
                    name => languages.note(name, number),
                }
            }
            // Only the root has a language.
            if of.tag == Tag::Root {
                (found.is_c, found.is_cpp) = (languages.are(Language::C), languages.are(Language::CPlusPlus));
            }
            if let Some(parent) = parent {
                let before = std::mem::replace(&mut found.all[parent as usize].last, index + 1);
                match before.checked_sub(1) {
                    Some(before) => found.all[before as usize].next = index + 1,
                    None => found.all[parent as usize].first = index + 1,
                }
            }
            found.by_offset.insert(of.offset, index);
            open.push((depth, index));
            found.all.push(of);
        }
        found.name_unnamed();
        Ok(Some(found))
    }

    /// Finds the typedefs that name unnamed types: `typedef struct {} S;`
    fn name_unnamed(&mut self) {
        for (index, alias) in (0..).zip(&self.all).filter(|(_, entry)| entry.tag == Tag::Alias) {
            let Some(named) = self.target(alias.of) else { continue };
            let of = self.at(named);
            if of.tag == Tag::Named && of.name.is_empty() {
                // A typedef in another scope, or a second one, leaves it open which of them names the type.
                let only = (alias.parent == of.parent).then_some(index);
                self.named_by.entry(named).and_modify(|known| *known = None).or_insert(only);
            }
        }
    }

    pub(crate) fn at(&self, index: u32) -> &TypeEntry<'f> {
        &self.all[index as usize]
    }

    /// The functions that have or had code.
    pub(crate) fn functions(&self) -> impl Iterator<Item = u32> {
        (0..).zip(&self.all).filter(|(_, entry)| entry.tag == Tag::Function).map(|(index, _)| index)
    }

    /// The children of an entry that are kept.
    pub(crate) fn children(&self, of: u32) -> impl Iterator<Item = (u32, &TypeEntry<'f>)> {
        let at = |place: u32| place.checked_sub(1).map(|index| (index, self.at(index)));
        std::iter::successors(at(self.at(of).first), move |(_, entry)| at(entry.next))
    }

    /// The name of a type, or that of the typedef that names it.
    pub(crate) fn name(&self, index: u32) -> &'f [u8] {
        match self.named_by.get(&index) {
            Some(Some(alias)) if self.at(index).name.is_empty() => self.at(*alias).name,
            _ => self.at(index).name,
        }
    }

    /// The entry that a reference leads to.
    pub(crate) fn target(&self, target: TypeTarget) -> Option<u32> {
        match target {
            TypeTarget::Here(offset) => self.by_offset.get(&offset).copied(),
            TypeTarget::None | TypeTarget::Elsewhere => None,
        }
    }

    /// The place of an entry in `.debug_info`.
    pub(crate) fn die(&self, index: u32) -> DieOffset {
        DieOffset(self.unit_offset + u64::from(self.at(index).offset))
    }
}

fn target<E: Endianity>(value: &AttributeValue<Bytes<'_, E>>) -> TypeTarget {
    match *value {
        AttributeValue::UnitRef(UnitOffset(offset)) => {
            u32::try_from(offset).map_or(TypeTarget::Elsewhere, TypeTarget::Here)
        }
        _ => TypeTarget::Elsewhere,
    }
}

fn signed<E: Endianity>(value: &AttributeValue<Bytes<'_, E>>) -> Option<i64> {
    match *value {
        AttributeValue::Udata(number) => i64::try_from(number).ok(),
        AttributeValue::Sdata(number) => Some(number),
        _ => None,
    }
}
