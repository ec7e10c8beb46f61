//! Reads what the root of a unit says of the compiler that made it.

use super::super::Endianity;
use super::super::entries::Entry;
use super::roles::Role;
use super::{UnitEntries, UnitReader};

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
                    let producer = self.dwarf.attr_string(self.unit, attribute.value);
                    self.out.keeps_callees = producer.is_ok_and(|text| text.slice().starts_with(b"GNU "));
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
