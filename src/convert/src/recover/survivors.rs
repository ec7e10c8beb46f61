//! The functions that kept their addresses: erased functions are compared with them.

use std::ops::Range;

use crate::merge::names::Names;
use crate::merge::units::Definition;
use crate::model::{AddressRange, DieOffset, How, Instance, NameId, OriginId, UnitFunction, UnitId};
use crate::program::names::itanium::is_program_wide;
use crate::program::symbols::CodeSymbol;
use crate::recover::limits::MAX_DEFINITIONS;
use crate::recover::recovered::Recovered;
use crate::util::hash::{HashMap, Keyed};
use crate::util::text::base_name;

/// Functions that kept their addresses.
pub(crate) struct LiveFunctions {
    /// Sorted by range, functions of one range in the order of the units.
    survivors: Vec<Survivor>,
    /// By range: the indexes of its functions in that list.
    ranges: HashMap<AddressRange, Range<u32>>,
    /// Known functions that other units may call.
    pub(crate) definitions: Definitions,
    /// By name: whether a function that units share kept its address (`live`), and whether one was folded (`folded`).
    pub(crate) live: Vec<bool>,
    pub(crate) folded: Vec<bool>,
}

/// A function that kept its address: a possible survivor.
pub(crate) struct Survivor {
    /// The range of its code.
    range: AddressRange,
    pub(crate) unit: UnitId,
    pub(crate) die: DieOffset,
    pub(crate) origin: OriginId,
    pub(crate) instance: Instance,
    /// Other units mean the same function by its name.
    pub(crate) shared: bool,
    /// The range does not contain its entry.
    pub(crate) part: bool,
}

impl LiveFunctions {
    pub(crate) fn new(names: &Names<'_>, recovered: &Recovered<'_, '_>) -> LiveFunctions {
        let mut survivors = Vec::with_capacity(recovered.code.iter().map(|unit| unit.pieces.len()).sum());
        let count = names.len();
        let mut definitions = Definitions::new(count);
        let (mut live, mut folded) = (vec![false; count], vec![false; count]);
        for (id, unit) in recovered.numbered() {
            for function in unit.code.functions.iter() {
                let origin = unit.origin_of(function.origin);
                let name = names.of_origin(origin);
                // A unit need not write `DW_AT_external` (clang at `-g1` does not), but a mangled name without a local part
                // shows the same.
                let shared = function.external || is_program_wide(names.text(name));
                if shared {
                    definitions.add(name, Definition { unit: id, origin });
                    // `read` has recovered some functions by now (by `DW_AT_LLVM_stmt_sequence` or a kept relocation): they
                    // have an address here, and were folded all the same.
                    let set = if function.how == How::LiveRange { &mut live } else { &mut folded };
                    set[name.index()] = true;
                }
                let pieces = function.pieces.start as usize..function.pieces.end as usize;
                for (at, piece) in unit.code.pieces[pieces].iter().enumerate() {
                    let UnitFunction { die, instance, .. } = *function;
                    survivors.push(Survivor {
                        range: piece.range(),
                        unit: id,
                        die,
                        origin,
                        instance,
                        shared,
                        part: at > 0,
                    });
                }
            }
        }
        // Mostly in this order already.
        // Stable, so that functions of one range stay in the order of the units.
        survivors.sort_by_key(|survivor| survivor.range);
        // A hash lookup for each symbol and each sequence: a search of the list would take some 20 cache misses.
        let mut ranges = HashMap::with_capacity_and_hasher(survivors.len(), Keyed);
        let mut start = 0;
        for same in survivors.chunk_by(|a, b| a.range == b.range) {
            let end = start + same.len() as u32;
            ranges.insert(same[0].range, start..end);
            start = end;
        }
        LiveFunctions { survivors, ranges, definitions, live, folded }
    }

    /// The functions of a range; `None` if there is none.
    pub(crate) fn at(&self, range: AddressRange) -> Option<&[Survivor]> {
        let places = self.ranges.get(&range)?;
        Some(&self.survivors[places.start as usize..places.end as usize])
    }
}

/// True if a symbol is that of a function of exactly this range.
pub(crate) fn keeps(symbol: &CodeSymbol<'_>, range: AddressRange) -> bool {
    symbol.function && symbol.sized && symbol.range() == range
}

/// True if functions that only symbols name keep a range, and if a unit has more sequences of the range (`own`) than such symbols that may be
/// its own: the unit may have functions that it does not describe, each with a sequence. `here`: the symbols at the start of the range.
/// `file`: the base name of the unit's file.
pub(crate) fn is_kept_beside(here: &[CodeSymbol<'_>], range: AddressRange, file: &[u8], own: usize) -> bool {
    let kept = || here.iter().filter(|symbol| keeps(symbol, range));
    // mold makes any symbol of a program local, and leaves it no file.
    let is_of_another = |symbol: &CodeSymbol<'_>| {
        symbol.local
            && !symbol.made_local
            && !symbol.file.is_empty()
            && !is_program_wide(symbol.name)
            && base_name(symbol.file) != file
    };
    kept().next().is_some() && own > kept().filter(|symbol| !is_of_another(symbol)).count()
}

/// By name: some of the definitions of functions that units share.
pub(crate) struct Definitions {
    first: Vec<Option<Definition>>,
    /// Most names have one.
    others: HashMap<NameId, Vec<Definition>>,
}

impl Definitions {
    fn new(names: usize) -> Definitions {
        Definitions { first: vec![None; names], others: HashMap::default() }
    }

    pub(crate) fn add(&mut self, name: NameId, definition: Definition) {
        let first = *self.first[name.index()].get_or_insert(definition);
        // The copies of a COMDAT function in many units have one origin and count once: the limit is for different
        // declarations of one name.
        if first.origin != definition.origin {
            let others = self.others.entry(name).or_default();
            if others.len() + 1 < MAX_DEFINITIONS
                && others.iter().all(|known| known.origin != definition.origin)
            {
                others.push(definition);
            }
        }
    }

    /// True if some known definition of a name passes `is_such`.
    pub(crate) fn any(&self, name: NameId, is_such: impl Fn(Definition) -> bool) -> bool {
        let Some(first) = self.first[name.index()] else { return false };
        let others = self.others.get(&name).map_or(&[][..], |others| others);
        is_such(first) || others.iter().copied().any(is_such)
    }

    /// True if a name has too many definitions, so that some of them may not be known.
    pub(crate) fn is_full(&self, name: NameId) -> bool {
        self.others.get(&name).is_some_and(|others| others.len() + 1 >= MAX_DEFINITIONS)
    }
}
