//! Reads what the root of a unit says of the compiler that made it.

use super::super::Endianity;
use super::super::entries::Entry;
use super::super::space::string_within;
use super::roles::Role;
use super::{UnitEntries, UnitReader};

/// What gcc's names of itself begin with.
const GNU: &[u8] = b"GNU ";

impl<'f, E: Endianity> UnitReader<'_, 'f, E> {
    /// Reads what the root says of the compiler (DWARF 5 3.1.1).
    pub(super) fn root(
        &mut self,
        entries: &mut UnitEntries<'_, 'f, E>,
        mut entry: Entry<Role>,
    ) -> gimli::Result<()> {
        while let Some(attribute) = entries.attribute(&mut entry)? {
            match attribute.name {
                gimli::DW_AT_producer => {
                    let producer = string_within(self.dwarf, self.unit, attribute.value, GNU.len());
                    self.out.keeps_callees = producer.is_some_and(|text| text.slice() == GNU);
                }
                gimli::DW_AT_language => {
                    self.out.assembly = attribute.number() == Some(gimli::DW_LANG_Mips_Assembler.0.into());
                }
                _ => {}
            }
        }
        Ok(())
    }
}
