//! Calls of functions of other modules: which name a call was linked to, and which function of the other module's group has it.

use foldsym_format::{SectionId, Table, What, steps};

use crate::answer::{Certainty, Evidence};
use crate::entities::{Group, Member};
use crate::error::{Error, InSection, small};
use crate::file::SymbolFile;
use crate::ids::{NameId, ReturnAddr};
use crate::stack::{MAX_FRAME_STEPS, Resolved, first};

const IMPORTS: SectionId = SectionId::IMPORTS;

/// Names of functions that are compared with an import for each member of a group; a function has seldom more than three.
const MAX_NAMES: u32 = 64;

/// The section IMPORTS; without records where a file has none.
#[derive(Clone, Copy)]
pub struct Imports<'d> {
    table: Table<'d>,
    names: u32,
    image_base: u64,
}

impl<'d> SymbolFile<'d> {
    /// Opens the calls of functions of other modules: those of a file that was converted with `--imports`. Takes constant time.
    ///
    /// # Errors
    /// A section that breaks the format.
    pub fn imports(&self) -> Result<Imports<'d>, Error> {
        let table = match self.section_bytes(IMPORTS) {
            Some(data) => Table::open(data, IMPORTS.column_count(self.header().features)).within(IMPORTS)?,
            None => Table::EMPTY,
        };
        Ok(Imports { table, names: self.names().len(), image_base: self.header().image_base })
    }

    /// Says of a frame whose caller is in another module which function of its group has the name that the caller's call was linked
    /// to ([`Imports::callee`] of the caller's file): that one comes first, and the answer is [`Certainty::Likely`] where it is one.
    /// Nothing is ruled out, since a function of this module may have given its frame away by a tail call. Changes nothing where the
    /// code is not folded, where no function of the group has the name, or where something is known already.
    ///
    /// Takes log2 of the names, and steps for each function of the group and its other names; past [`MAX_FRAME_STEPS`] nothing is
    /// told.
    ///
    /// # Errors
    /// Damage at a place that it reads.
    pub fn resolve_import(&self, resolved: &mut Resolved, name: &[u8]) -> Result<(), Error> {
        let untold = resolved.open && resolved.named_len == 0 && !resolved.full;
        let (Some(id), Ok(name)) = (resolved.group.filter(|_| untold), self.names().find(name)) else {
            return Ok(());
        };
        let group = Group::read(self, id)?;
        if group.len() > MAX_FRAME_STEPS / MAX_NAMES {
            return Ok(());
        }
        let mut found = *resolved;
        for index in 0..group.len() {
            steps::step();
            let member = Member::read(self, group, index)?;
            let function = self.records().function(member.function)?;
            let own = self.records().function_name(member.function)? == Some(NameId(name));
            let mut has = own || member.name == Some(NameId(name));
            for alias in self.records().aliases(&function).take(MAX_NAMES as usize) {
                steps::step();
                has |= alias? == NameId(name);
            }
            if has {
                found.name(index);
            }
        }
        if found.named_len == 1 && !found.full {
            found.certainty = Some(Certainty::Likely);
            found.evidence = Some(Evidence::Relocation);
            *resolved = found;
        }
        Ok(())
    }
}

impl Imports<'_> {
    /// How many there are.
    pub const fn len(&self) -> u32 {
        self.table.len()
    }

    /// True where there is none.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The name of the other module's function that the call was linked to which returns to an address; `None` where it is no such
    /// call. Takes log2 of the records.
    ///
    /// # Errors
    /// Damage at a place that it reads.
    pub fn callee(&self, address: ReturnAddr) -> Result<Option<NameId>, Error> {
        let Some(key) = address.0.checked_sub(self.image_base).map(u64::cast_signed) else { return Ok(None) };
        let record = first(&self.table, IMPORTS, (key, 0))?;
        if record >= self.table.len() {
            return Ok(None);
        }
        let [address, name] = self.table.record(record).within(IMPORTS)?;
        if address != key {
            return Ok(None);
        }
        small(name, IMPORTS, record).map(|name| Some(NameId(name)))
    }

    /// The section is sound: sorted by address, no two alike, of names that exist.
    pub(crate) fn verify(&self) -> Result<(), Error> {
        self.table.verify().within(IMPORTS)?;
        let mut before = -1;
        for id in 0..self.table.len() {
            let [address, name] = self.table.record(id).within(IMPORTS)?;
            if address <= before {
                return Err(Error::new(IMPORTS, What::Order, id.into()));
            }
            before = address;
            if !(0..i64::from(self.names)).contains(&name) {
                return Err(Error::new(IMPORTS, What::Value, id.into()));
            }
        }
        Ok(())
    }
}
