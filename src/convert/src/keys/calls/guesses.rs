//! Guesses the callees of calls in units that record no call, as compilers write them at `-O0`.
//!
//! Example: `main` calls `fill<Celsius>` and then `fill<Metres>`. The linker folded the two, and nothing shows which
//! call is which. Compilers emit instances of templates in the order of their first use. clang describes functions in
//! the order in which it emits them, gcc in the reverse order. The functions of a unit that kept their addresses show
//! which order the unit has. If a unit has as many calls into a group as it describes members of the group, the first
//! call is taken to call the member that was emitted first, and so on. A guess ranks the members of the group. It is
//! no evidence.
//!
//! Calls in folded code get no guess: there the names of caller and callee are better evidence.

use crate::keys::calls::key_builder::CallKeyBuilder;
use crate::model::{CallFrom, CallKey, DieOffset, FuncId, How, ImageAddr, Owner, Piece, UnitCode};
use crate::util::hash::HashMap;

/// The members of one group that one unit describes, and the calls to their address in the unit's code.
#[derive(Default)]
struct UnitGroup {
    functions: Vec<(DieOffset, FuncId)>,
    calls: Vec<ImageAddr>,
}

impl CallKeyBuilder<'_, '_, '_> {
    /// The guesses, by call.
    pub(crate) fn guesses(&self) -> Vec<(CallFrom, FuncId)> {
        let program = self.index.functions.program;
        let records_none: Vec<bool> = self
            .index
            .functions
            .records
            .units
            .iter()
            .map(|unit| unit.calls.is_empty() && unit.listed.is_empty())
            .collect();
        // By unit and the address that its functions share.
        let mut groups: HashMap<(usize, ImageAddr), UnitGroup> = HashMap::default();
        for member in program.groups.iter().flat_map(|group| &group.members) {
            let Some(source) = program.functions[member.function.index()].source else { continue };
            let unit = source.unit.index();
            if records_none[unit] {
                let die = program.code[unit].functions[source.function.index()].die;
                let start = self.index.functions.starts[member.function.index()];
                groups.entry((unit, start)).or_default().functions.push((die, member.function));
            }
        }
        groups.retain(|_, group| {
            group.functions.sort_unstable();
            // A function with several pieces is listed several times.
            group.functions.dedup();
            // With one member the unit gives nothing to choose from.
            group.functions.len() > 1
        });
        if groups.is_empty() {
            return Vec::new();
        }
        // Pieces come by address, so the calls of a unit are listed in the order of its code.
        for piece in &program.pieces {
            let Some(unit) = self.unit_alone(piece).filter(|unit| records_none[*unit]) else { continue };
            for call in self.index.functions.machine.direct_calls(piece.code()) {
                if let Some(group) = groups.get_mut(&(unit, call.target)) {
                    group.calls.push(call.return_addr);
                }
            }
        }
        let paired = groups.into_iter().filter(|(_, group)| group.calls.len() == group.functions.len());
        // One unit may have functions of many groups.
        let mut reversed: HashMap<usize, bool> = HashMap::default();
        let of_group = |((unit, _), mut group): ((usize, ImageAddr), UnitGroup)| {
            if *reversed.entry(unit).or_insert_with(|| describes_in_reverse(&program.code[unit])) {
                group.functions.reverse();
            }
            let functions = group.functions.into_iter().map(|(_, function)| function);
            group.calls.into_iter().zip(functions).collect::<Vec<_>>()
        };
        let mut guesses: Vec<(CallFrom, FuncId)> =
            paired.flat_map(of_group).map(|(call, callee)| ((call, None), callee)).collect();
        guesses.sort_unstable();
        guesses.dedup_by_key(|guess| guess.0);
        guesses
    }

    /// The unit that describes a piece with one owner.
    fn unit_alone(&self, piece: &Piece) -> Option<usize> {
        let Owner::Function(function) = piece.owner else { return None };
        Some(self.index.functions.program.functions[function.index()].source?.unit.index())
    }
}

/// True if most functions of a unit have a higher address than the function that the unit describes next.
fn describes_in_reverse(unit: &UnitCode<'_>) -> bool {
    let live = unit.functions.iter().filter(|function| function.how == How::LiveRange);
    let mut starts: Vec<(DieOffset, ImageAddr)> =
        live.map(|function| (function.die, unit.pieces[function.pieces.start as usize].start)).collect();
    starts.sort_unstable();
    let falls = starts.windows(2).filter(|pair| pair[0].1 > pair[1].1).count();
    // The linker may have moved some sections (COMDAT copies, `.text.unlikely`), so the majority decides.
    falls * 2 > starts.len().saturating_sub(1)
}

/// Removes the guesses for calls that have keys.
pub(crate) fn without_keys(
    mut guesses: Vec<(CallFrom, FuncId)>,
    calls: &[CallKey],
) -> Vec<(CallFrom, FuncId)> {
    let has_key =
        |call: CallFrom| calls.binary_search_by_key(&call, |key| (key.return_addr, key.caller)).is_ok();
    guesses.retain(|((return_addr, caller), _)| {
        !has_key((*return_addr, *caller)) && (caller.is_none() || !has_key((*return_addr, None)))
    });
    guesses
}
