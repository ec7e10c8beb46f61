//! What stays the same during the walk over one unit. The readers of entries take it, and return what they found.

use gimli::{AttributeValue, Expression, Operation, Reader as _, Section as _, UnitOffset};

use crate::model::DieOffset;
use crate::read::code::CodeSections;
use crate::read::options::ReadOptions;
use crate::read::sections::abbreviations::Abbreviations;
use crate::read::sections::bytes::{Bytes, Dwarf, Endianity};
use crate::read::sections::entries::Entries;
use crate::read::unit::named_sequence::SequenceBases;
use crate::read::unit::roles::Role;

pub(crate) type UnitEntries<'a, 'f, E> = Entries<'a, 'f, E, Role>;

/// The unit that is walked, and its sections.
#[derive(Clone, Copy)]
pub(crate) struct WalkedUnit<'a, 'f, E: Endianity> {
    pub(crate) dwarf: &'a Dwarf<'f, E>,
    pub(crate) unit: &'a gimli::Unit<Bytes<'f, E>>,
    pub(crate) abbreviations: Abbreviations<'a, 'f>,
    pub(crate) unit_offset: u64,
    pub(crate) code: &'a CodeSections,
    pub(crate) options: ReadOptions,
    /// From where a `DW_AT_LLVM_stmt_sequence` may count.
    pub(crate) sequence_bases: SequenceBases,
    /// The unit's part of `.debug_addr`, if addresses have 8 bytes.
    pub(crate) addresses: &'f [u8],
    /// The most bytes of memory of the unit.
    pub(crate) max_kept: u64,
}

impl<'f, E: Endianity> WalkedUnit<'_, 'f, E> {
    /// The offset in `.debug_info` of an entry of the unit.
    pub(crate) fn die(&self, offset: UnitOffset) -> DieOffset {
        DieOffset(self.unit_offset + offset.0 as u64)
    }

    /// The address in an attribute.
    #[inline]
    pub(crate) fn address(&self, value: AttributeValue<Bytes<'f, E>>) -> Option<u64> {
        match value {
            AttributeValue::Addr(address) => Some(address),
            // The frequent case of DWARF 5 units, for each function and inlined subroutine. An index out of bounds gives
            // `None`, as below.
            AttributeValue::DebugAddrIndex(index) if !self.addresses.is_empty() => {
                let at = index.0.checked_mul(8)?;
                let word = self.addresses.get(at..)?.first_chunk::<8>()?;
                Some(self.dwarf.debug_addr.reader().endian().read_u64(word))
            }
            AttributeValue::Block(bytes) => self.address_with_offset(bytes),
            value => self.dwarf.attr_address(self.unit, value).ok().flatten(),
        }
    }

    /// The address with which the location of a variable begins, and whether there is nothing else. `None` if it begins with something
    /// else, or with a tombstone: 0, 1, and the last two addresses.
    pub(crate) fn fixed_address(&self, location: Expression<Bytes<'f, E>>) -> Option<(u64, bool)> {
        let encoding = self.unit.encoding();
        let mut operations = location.operations(encoding);
        let address = match operations.next().ok()?? {
            Operation::Address { address } => address,
            Operation::AddressIndex { index } => self.dwarf.address(self.unit, index).ok()?,
            _ => return None,
        };
        let last = u64::MAX >> (64 - 8 * u32::from(encoding.address_size.clamp(1, 8)));
        (address > 1 && address < last - 1).then(|| (address, matches!(operations.next(), Ok(None))))
    }

    /// The address of a `DW_FORM_LLVM_addrx_offset`: no other form of an address is a block.
    #[cold]
    fn address_with_offset(&self, mut bytes: Bytes<'f, E>) -> Option<u64> {
        let index = gimli::DebugAddrIndex(usize::try_from(bytes.read_uleb128().ok()?).ok()?);
        let (offset, base) = (bytes.read_u32().ok()?, self.dwarf.address(self.unit, index).ok()?);
        // A tombstone stays one: the sum would wrap, and could be an address of code.
        let size = u32::from(self.unit.header.address_size());
        let last = if size >= 8 { u64::MAX } else { (1 << (8 * size)) - 1 };
        Some(if base >= last - 1 { base } else { base.wrapping_add(offset.into()) })
    }
}
