//! Distinguishes functions of one name in several files by the file that the symbol table gives for the symbol of a
//! clone.
//!
//! gcc specialises functions and names the clones by their function: `helper.constprop.0`. Two files `a.c` and `b.c`
//! may each have a local `helper`, and both clones may be folded. DWARF calls both functions `helper`, so only the
//! file of the symbol shows whose clone it is.

use crate::model::{FuncId, Function, Member, NameId};
use crate::place::placing::Placing;
use crate::program::symbols::CodeSymbol;
use crate::util::hash::HashMap;
use crate::util::text::base_name;

/// The functions at one address, by their own name and the base name of their unit's file.
pub(crate) struct Namesakes {
    /// `None` if a file, or several files of one base name, have several functions of that name.
    of_files: HashMap<(NameId, Vec<u8>), Option<FuncId>>,
}

impl Namesakes {
    pub(crate) fn new(placing: &Placing<'_, '_>, members: &[Member], functions: &[Function]) -> Namesakes {
        let mut of_files: HashMap<(NameId, Vec<u8>), Option<FuncId>> = HashMap::default();
        // A single function is the only possible owner.
        for member in members.iter().filter(|_| members.len() > 1) {
            let function = &functions[member.function.index()];
            if let Some(source) = function.source {
                let file = placing.recovered.unit(source.unit).head.file_name.to_vec();
                let key = (placing.names.of_origin(function.origin), file);
                of_files.entry(key).and_modify(|other| *other = None).or_insert(Some(member.function));
            }
        }
        Namesakes { of_files }
    }

    /// The function that a clone's symbol belongs to: the only function of that name in the symbol's file, otherwise
    /// `first`, the first function of that name.
    pub(crate) fn owner(
        &self,
        placing: &Placing<'_, '_>,
        symbol: &CodeSymbol<'_>,
        first: FuncId,
        functions: &[Function],
    ) -> FuncId {
        // Without a file the symbol shows no owner. Global symbols have none (System V ABI, `STT_FILE`).
        if self.of_files.is_empty() || !symbol.local || symbol.file.is_empty() {
            return first;
        }
        let name = placing.names.of_origin(functions[first.index()].origin);
        let of_file = self.of_files.get(&(name, base_name(symbol.file).to_vec()));
        of_file.copied().flatten().unwrap_or(first)
    }
}
