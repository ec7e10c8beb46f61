//! Guesses whom calls call that nobody recorded: in units without a record of any call, as compilers make them at `-O0`.
//!
//! Example: `main` calls `fill<Celsius>` and then `fill<Metres>`, which the linker folded, and nothing says which call is which.
//! Compilers emit instances of templates in the order of their first use. clang describes functions in the order in which it emits
//! them, gcc in the reverse order; which of the two a unit has is seen from those of its functions that kept their addresses. So
//! where a unit has as many calls into a group as it describes functions of the group, the first call is taken for one of the
//! function that was emitted first, and so on. A guess decides which candidate stands first. It is no evidence.
//!
//! Calls in folded code are left out: there the names of caller and callee tell more.

use crate::keys::calls::call_keys::CallKeys;
use crate::model::{CallKey, DieOffset, FuncId, How, ImageAddr, Owner, Piece, UnitCode};
use crate::util::hash::HashMap;

/// Functions of one group that one unit describes, and the calls of their address in the unit's code.
#[derive(Default)]
struct UnitGroup {
    functions: Vec<(DieOffset, FuncId)>,
    calls: Vec<ImageAddr>,
}

impl CallKeys<'_, '_, '_> {
    /// The guesses, by return address.
    pub(crate) fn guesses(&self) -> Vec<(ImageAddr, FuncId)> {
        let program = self.index.program;
        let records_none: Vec<bool> = self
            .index
            .records
            .units
            .iter()
            .map(|unit| unit.calls.is_empty() && unit.listed.is_empty())
            .collect();
        // By unit and the address that its functions share.
        let mut groups: HashMap<(usize, u64), UnitGroup> = HashMap::default();
        for member in program.groups.iter().flat_map(|group| &group.members) {
            let Some(source) = program.functions[member.function.index()].source else { continue };
            let unit = source.unit.index();
            if records_none[unit] {
                let die = program.code[unit].functions[source.function.index()].die;
                let start = self.index.starts[member.function.index()];
                groups.entry((unit, start)).or_default().functions.push((die, member.function));
            }
        }
        groups.retain(|_, group| {
            group.functions.sort_unstable();
            // A function has a record for each of its pieces.
            group.functions.dedup();
            group.functions.len() > 1
        });
        if groups.is_empty() {
            return Vec::new();
        }
        for piece in &program.pieces {
            let Some(unit) = self.unit_alone(piece).filter(|unit| records_none[*unit]) else { continue };
            let end = piece.start.0 + u64::from(piece.body);
            for (return_addr, target) in self.index.machine.direct_calls(piece.start.0, end) {
                if let Some(group) = groups.get_mut(&(unit, target)) {
                    group.calls.push(ImageAddr(return_addr));
                }
            }
        }
        let paired = groups.into_iter().filter(|(_, group)| group.calls.len() == group.functions.len());
        // One unit may have functions of many groups.
        let mut reversed: HashMap<usize, bool> = HashMap::default();
        let of_group = |((unit, _), mut group): ((usize, u64), UnitGroup)| {
            if *reversed.entry(unit).or_insert_with(|| describes_in_reverse(&program.code[unit])) {
                group.functions.reverse();
            }
            let functions = group.functions.into_iter().map(|(_, function)| function);
            group.calls.into_iter().zip(functions).collect::<Vec<_>>()
        };
        let mut guesses: Vec<(ImageAddr, FuncId)> = paired.flat_map(of_group).collect();
        guesses.sort_unstable();
        guesses.dedup_by_key(|guess| guess.0);
        guesses
    }

    /// The unit that describes a piece of one function.
    fn unit_alone(&self, piece: &Piece) -> Option<usize> {
        let Owner::Function(function) = piece.owner else { return None };
        Some(self.index.program.functions[function.index()].source?.unit.index())
    }
}

/// True where most functions of a unit lie behind the function that the unit describes next.
fn describes_in_reverse(unit: &UnitCode) -> bool {
    let live = unit.functions.iter().filter(|function| function.how == How::LiveRange);
    let mut starts: Vec<(DieOffset, ImageAddr)> =
        live.map(|function| (function.die, unit.pieces[function.pieces.start as usize].start)).collect();
    starts.sort_unstable();
    let falls = starts.windows(2).filter(|pair| pair[0].1 > pair[1].1).count();
    falls * 2 > starts.len().saturating_sub(1)
}

/// Without the guesses of calls that have keys.
pub(crate) fn without_keys(
    mut guesses: Vec<(ImageAddr, FuncId)>,
    calls: &[CallKey],
) -> Vec<(ImageAddr, FuncId)> {
    guesses.retain(|guess| {
        let at = calls.partition_point(|key| key.return_addr < guess.0);
        calls.get(at).is_none_or(|key| key.return_addr != guess.0)
    });
    guesses
}
