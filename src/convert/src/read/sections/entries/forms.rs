//! How the value of each attribute form is skipped or read.

use gimli::{AttributeSpecification, AttributeValue, UnitOffset};

/// `DW_FORM_LLVM_addrx_offset` (clang's `-mllvm -minimize-addr-in-v5=Form`), which gimli does not know: an index into
/// `.debug_addr` as a LEB128 number, and an offset of four bytes from the address there. The value that [`super::Entries`] gives is a
/// block of these bytes.
pub(crate) const ADDRX_OFFSET: gimli::DwForm = gimli::DwForm(0x2001);

/// How to skip a value without a fixed size.
#[derive(Clone, Copy)]
pub(crate) enum Past {
    Nothing,
    /// A LEB128 number.
    Leb,
    /// A block with its length before it, as a LEB128 number.
    Block,
    /// A block with its length before it, in this many bytes.
    Sized(u8),
    /// A LEB128 number, and four bytes.
    LebAndWord,
    /// A string that ends with a zero byte.
    Text,
    /// Any other form, which `gimli` skips: an index into [`super::plan::Plans::specs`].
    Other(u32),
}

/// How a wanted value is encoded.
#[derive(Clone, Copy)]
pub(crate) enum Form {
    /// An integer of this many bytes: 1 to 8.
    Bytes(u8),
    Leb,
    /// An expression with its length before it, as a LEB128 number.
    Expression,
    /// [`ADDRX_OFFSET`].
    AddressOffset,
    /// The value is in the abbreviation: an index into [`super::plan::Plans::specs`].
    Given(u32),
    /// Any other form, which `gimli` reads: an index into [`super::plan::Plans::specs`].
    Other(u32),
}

/// The class of a wanted value (DWARF 5 7.5.5), as far as it decides the [`AttributeValue`].
#[derive(Clone, Copy)]
pub(crate) enum FormClass {
    Address,
    AddressIndex,
    Number,
    Flag,
    UnitRef,
    InfoRef,
    Offset,
    Ranges,
    RangesIndex,
    Text,
    TextIndex,
}

/// How to skip a value of this form (DWARF 5 7.5.6), which has no fixed size. `spec` is the index that `gimli` needs.
pub(crate) fn past(form: gimli::DwForm, spec: u32) -> Past {
    match form {
        gimli::DW_FORM_block1 => Past::Sized(1),
        gimli::DW_FORM_block2 => Past::Sized(2),
        gimli::DW_FORM_block4 => Past::Sized(4),
        gimli::DW_FORM_block | gimli::DW_FORM_exprloc => Past::Block,
        gimli::DW_FORM_string => Past::Text,
        ADDRX_OFFSET => Past::LebAndWord,
        gimli::DW_FORM_udata
        | gimli::DW_FORM_sdata
        | gimli::DW_FORM_ref_udata
        | gimli::DW_FORM_strx
        | gimli::DW_FORM_GNU_str_index
        | gimli::DW_FORM_addrx
        | gimli::DW_FORM_GNU_addr_index
        | gimli::DW_FORM_loclistx
        | gimli::DW_FORM_rnglistx => Past::Leb,
        _ => Past::Other(spec),
    }
}

/// How to read a wanted attribute (DWARF 5 7.5.6). `size` is its fixed size, if it has one. `index` will be its index in
/// [`super::plan::Plans::specs`], if the form needs it.
pub(crate) fn take(
    spec: AttributeSpecification,
    encoding: gimli::Encoding,
    size: Option<u8>,
    index: u32,
) -> (Form, FormClass) {
    let class = match spec.form() {
        gimli::DW_FORM_implicit_const => return (Form::Given(index), FormClass::Number),
        gimli::DW_FORM_flag_present => return (Form::Given(index), FormClass::Flag),
        gimli::DW_FORM_exprloc => return (Form::Expression, FormClass::Number),
        ADDRX_OFFSET => return (Form::AddressOffset, FormClass::Address),
        // gimli returns an error for an address of any other size.
        gimli::DW_FORM_addr if matches!(encoding.address_size, 1 | 2 | 4 | 8) => FormClass::Address,
        gimli::DW_FORM_addrx
        | gimli::DW_FORM_addrx1
        | gimli::DW_FORM_addrx2
        | gimli::DW_FORM_addrx3
        | gimli::DW_FORM_addrx4 => FormClass::AddressIndex,
        gimli::DW_FORM_data1 | gimli::DW_FORM_data2 | gimli::DW_FORM_udata => FormClass::Number,
        // In other attributes these forms may be section offsets (DWARF 3 7.5.4), and `gimli` reads them.
        gimli::DW_FORM_data4 | gimli::DW_FORM_data8
            if matches!(
                spec.name(),
                gimli::DW_AT_high_pc
                    | gimli::DW_AT_decl_file
                    | gimli::DW_AT_decl_line
                    | gimli::DW_AT_call_file
                    | gimli::DW_AT_call_line
            ) =>
        {
            FormClass::Number
        }
        gimli::DW_FORM_flag => FormClass::Flag,
        gimli::DW_FORM_ref1 | gimli::DW_FORM_ref2 | gimli::DW_FORM_ref4 | gimli::DW_FORM_ref_udata => {
            FormClass::UnitRef
        }
        // DWARF 2 gave this form the size of an address, later versions the size of an offset. gimli reads the old one.
        gimli::DW_FORM_ref_addr if encoding.version > 2 => FormClass::InfoRef,
        gimli::DW_FORM_sec_offset if spec.name() == gimli::DW_AT_ranges => FormClass::Ranges,
        gimli::DW_FORM_sec_offset => FormClass::Offset,
        gimli::DW_FORM_rnglistx => FormClass::RangesIndex,
        gimli::DW_FORM_strp => FormClass::Text,
        gimli::DW_FORM_strx
        | gimli::DW_FORM_strx1
        | gimli::DW_FORM_strx2
        | gimli::DW_FORM_strx3
        | gimli::DW_FORM_strx4 => FormClass::TextIndex,
        // All other forms, such as inline strings, blocks and those of supplementary files. gimli reads them by the rules of
        // each version.
        _ => return (Form::Other(index), FormClass::Number),
    };
    match size {
        // All forms above that have no fixed size are LEB128 numbers.
        None => (Form::Leb, class),
        Some(size @ 1..=8) => (Form::Bytes(size), class),
        Some(_) => (Form::Other(index), class),
    }
}

pub(crate) fn value<R: gimli::Reader<Offset = usize>>(class: FormClass, raw: u64) -> AttributeValue<R> {
    use AttributeValue as Value;
    let offset = raw as usize;
    match class {
        FormClass::Address => Value::Addr(raw),
        FormClass::AddressIndex => Value::DebugAddrIndex(gimli::DebugAddrIndex(offset)),
        FormClass::Number => Value::Udata(raw),
        FormClass::Flag => Value::Flag(raw != 0),
        FormClass::UnitRef => Value::UnitRef(UnitOffset(offset)),
        FormClass::InfoRef => Value::DebugInfoRef(gimli::DebugInfoOffset(offset)),
        FormClass::Offset => Value::SecOffset(offset),
        FormClass::Ranges => ranges(offset),
        FormClass::RangesIndex => Value::DebugRngListsIndex(gimli::DebugRngListsIndex(offset)),
        FormClass::Text => Value::DebugStrRef(gimli::DebugStrOffset(offset)),
        FormClass::TextIndex => Value::DebugStrOffsetsIndex(gimli::DebugStrOffsetsIndex(offset)),
    }
}

pub(crate) fn ranges<R: gimli::Reader<Offset = usize>>(offset: usize) -> AttributeValue<R> {
    AttributeValue::RangeListsRef(gimli::RawRangeListsOffset(offset))
}
