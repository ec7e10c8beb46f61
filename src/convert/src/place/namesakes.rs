//! Tells functions of one name in several files apart, by the file that the symbol table gives to the symbol of a copy.
//!
//! gcc specialises functions and names the copies by their function: `helper.constprop.0`. Each of several files may have such a
//! local function, and all of them may be folded. The debug information calls each of them `helper`, so that only the file of the
//! symbol says which one it is of.

use crate::model::{FuncId, Function, Member, NameId};
use crate::place::placing::Placing;
use crate::program::symbols::CodeSymbol;
use crate::util::hash::HashMap;
use crate::util::text::base_name;

/// The functions at one address by their own names and the base names of their units.
pub(crate) struct Namesakes {
    /// `None` where a file, or several of one name, have more than one.
    of_files: HashMap<(NameId, Vec<u8>), Option<FuncId>>,
}

impl Namesakes {
    pub(crate) fn new(placing: &Placing<'_, '_>, members: &[Member], functions: &[Function]) -> Namesakes {
        let mut of_files: HashMap<(NameId, Vec<u8>), Option<FuncId>> = HashMap::default();
        // One function is the only owner that there is.
        for member in members.iter().filter(|_| members.len() > 1) {
            let function = &functions[member.function.index()];
            if let Some(source) = function.source {
                let file = placing.recovered.unit(source.unit.index()).head.file_name.to_vec();
                let key = (placing.names.of_origin(function.origin), file);
                of_files.entry(key).and_modify(|other| *other = None).or_insert(Some(member.function));
            }
        }
        Namesakes { of_files }
    }

    /// The function that a symbol of a copy is of: that of the symbol's file, if it is the only one of its name there, else
    /// `first`, the first one of the name.
    pub(crate) fn owner(
        &self,
        placing: &Placing<'_, '_>,
        symbol: &CodeSymbol<'_>,
        first: FuncId,
        functions: &[Function],
    ) -> FuncId {
        if self.of_files.is_empty() || !symbol.local || symbol.file.is_empty() {
            return first;
        }
        let name = placing.names.of_origin(functions[first.index()].origin);
        let of_file = self.of_files.get(&(name, base_name(symbol.file).to_vec()));
        of_file.copied().flatten().unwrap_or(first)
    }
}
