//! Calls of functions in other modules: the name that a call was linked to, and the function of the other module's group with that name.

use foldsym_format::{SectionId, steps};

use crate::answer::{Certainty, Evidence};
use crate::by_return::ByReturn;
use crate::entities::{Aliases, Function, Group, Member};
use crate::error::Error;
use crate::file::SymbolFile;
use crate::ids::{NameId, ReturnAddr};
use crate::stack::{MAX_FRAME_STEPS, Resolved};

/// Names of functions that are compared with an import for each member of a group; a function has seldom more than three.
const MAX_NAMES: u32 = 64;

/// The section IMPORTS; without records if the file does not have it.
#[derive(Clone, Copy)]
pub struct Imports<'d>(ByReturn<'d>);

impl SymbolFile<'_> {
    /// The name of the other module's function to which a call was linked, by the call's return address; `None` if there is no such call,
    /// or if the file was converted without `--imports`. Takes log2 of the imports.
    ///
    /// # Errors
    /// A section that breaks the format, or damage at a place that it reads.
    pub fn imported_callee(&self, address: ReturnAddr) -> Result<Option<NameId>, Error> {
        Ok(Imports::open(self)?.0.find(address)?.map(NameId))
    }

    /// Resolves a frame whose caller is in another module, by the name that the caller's call was linked to
    /// ([`SymbolFile::imported_callee`] of the caller's file). If exactly one function of the frame's group has that name, it comes first
    /// and the answer is [`Certainty::Likely`]. Nothing is ruled out, since a function of this module may have replaced its frame by a tail
    /// call. The result stays as it was if the code is not folded, if none or several functions of the group have the name, or if the frame
    /// is already resolved. A plain name that is an alias proves nothing: no debug information says to which function of the group it
    /// belongs. A mangled alias (`_Z`, `_R`, `__Z`) does. The first 64 aliases of a function are read.
    ///
    /// Takes log2 of the names, and steps for each function of the group and its aliases. After [`MAX_FRAME_STEPS`] the frame stays
    /// unresolved.
    ///
    /// # Errors
    /// Damage at a place that it reads.
    pub fn resolve_import(&self, resolved: &mut Resolved, text: &[u8]) -> Result<(), Error> {
        // The stack gave no evidence for the frame. `full` marks a frame with evidence for more members than can be named.
        let untold = resolved.open && resolved.named_len == 0 && !resolved.full;
        // NAMES has each name once: from here on the number of a name serves for its bytes.
        let (Some(id), Ok(name)) = (resolved.group.filter(|_| untold), self.names.find(text)) else {
            return Ok(());
        };
        let group = Group::read(self, id)?;
        // Each member takes up to `MAX_NAMES` steps for its aliases.
        if group.len() > MAX_FRAME_STEPS / MAX_NAMES {
            return Ok(());
        }
        let is_mangled = [&b"_Z"[..], b"_R", b"__Z"].iter().any(|prefix| text.starts_with(prefix));
        let mut found = *resolved;
        for index in 0..group.len() {
            steps::step();
            let member = Member::read(self, group, index)?;
            let function = Function::read(self, member.function)?;
            let own = function.shown_name(self)? == Some(NameId(name));
            let mut has = own || member.name == Some(NameId(name));
            for alias in Aliases::new(self, function.aliases).take(MAX_NAMES as usize) {
                steps::step();
                if alias? == NameId(name) && !has {
                    // The converter stores an alias of unknown owner with the first member, so the name may be another member's.
                    if !is_mangled {
                        return Ok(());
                    }
                    has = true;
                }
            }
            if has {
                found.name(index);
            }
        }
        // If several members have the name, it does not distinguish them.
        if found.named_len == 1 && !found.full {
            found.certainty = Some(Certainty::Likely);
            found.evidence = Some(Evidence::Relocation);
            *resolved = found;
        }
        Ok(())
    }
}

impl<'d> Imports<'d> {
    pub(crate) fn open(file: &SymbolFile<'d>) -> Result<Self, Error> {
        ByReturn::open(file, SectionId::IMPORTS, file.names.len()).map(Self)
    }

    /// How many there are.
    pub const fn len(&self) -> u32 {
        self.0.len()
    }

    /// True if there is none.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All of them by return address, with the name. Ends at the first damaged one.
    pub fn iter(&self) -> impl Iterator<Item = Result<(ReturnAddr, NameId), Error>> + use<'d> {
        self.0.iter().map(|record| record.map(|(address, number)| (address, NameId(number))))
    }

    /// The section is sound: sorted by address, no two alike, of names that exist.
    pub(crate) fn verify(&self) -> Result<(), Error> {
        self.0.verify()
    }
}
