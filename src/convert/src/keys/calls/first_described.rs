//! Guesses the callees of calls in units of gcc that record no calls (`-g1`, `-O0`), by the order of DIEs.
//!
//! gcc describes functions in the reverse of the order in which it made them. It makes the instances of templates where the source first
//! mentions them, and an instance mentions others where it is made itself. So the instances of a unit, read from its last DIE to its
//! first, and the calls in the code of its functions, taken in the same order of DIEs, are two lists in one order. Example: `main` calls
//! 0x2000 twice. The DIEs are `add<Bus>` at 0x2000, `add<Car>` at 0x2000 and `main`. So the first call is of `add<Car>`, and the second
//! is of `add<Bus>`. Other functions are made where they are defined, and no call shows where that is.
//!
//! A unit also describes functions of which the linker kept another unit's copy. Their DIEs have no addresses, and their names show
//! which function the linker kept. [`first_mentions`](super::first_mentions) aligns the two lists.
//!
//! A guess ranks the members of a group. It is no evidence.

use std::ops::Range;

use crate::keys::calls::first_mentions::{Guesses, List, Listed};
use crate::keys::calls::key_builder::CallKeyBuilder;
use crate::keys::calls::mentions::Mention;
use crate::keys::limits::{MAX_GUESS_STEPS, MAX_MENTIONS, MAX_READS};
use crate::model::{CallFrom, DieOffset, FuncId, ImageAddr, Owner, UnitId};
use crate::program::names::itanium::is_instance;
use crate::util::budget::Budget;
use crate::util::hash::{HashMap, HashSet};

impl CallKeyBuilder<'_, '_, '_> {
    /// The guesses, by call.
    pub(crate) fn by_described_order(&self) -> Vec<(CallFrom, FuncId)> {
        let functions = &self.index.functions;
        if functions.program.groups.is_empty() {
            return Vec::new();
        }
        let code: u64 = functions.program.pieces.iter().map(|piece| piece.code().len()).sum();
        let steps = Budget::new(MAX_GUESS_STEPS.min(code.saturating_mul(MAX_READS)));
        let (mut by_call, mut total) = (HashMap::default(), 0);
        for (number, (head, records)) in
            (0..).zip(functions.program.heads.iter().zip(&functions.records.units))
        {
            if !head.keeps_callees || !records.calls.is_empty() || !records.listed.is_empty() {
                continue;
            }
            let described = self.described_in_order(number as usize);
            if !steps.spend(described.len()) {
                break;
            }
            let listed = |function: &FuncId| {
                let start = functions.starts[function.index()];
                let member = functions.group(*function).map(|_| *function);
                Listed { start, member }
            };
            let symbols: Vec<Listed> =
                described.iter().filter(|function| self.is_instance(**function)).map(listed).collect();
            if symbols.iter().all(|symbol| symbol.member.is_none()) {
                continue;
            }
            let mentions = self.mentions_in_order(&described, MAX_MENTIONS.saturating_sub(total), &steps);
            total += mentions.len();
            let list = List { unit: Some(UnitId::new(number)), shared: false, symbols };
            let mut guesses = Guesses::default();
            guesses.add(&list, &mentions, 0..mentions.len(), &steps);
            add_repeated(&guesses, &mentions, 0..mentions.len(), &mut by_call);
        }
        let mut guesses: Vec<(CallFrom, FuncId)> = by_call.into_iter().collect();
        guesses.sort_unstable();
        guesses
    }

    /// The functions that a unit describes, last DIE first; in the place of a discarded copy the function that the linker kept.
    fn described_in_order(&self, unit: usize) -> Vec<FuncId> {
        let functions = &self.index.functions;
        let mut dies: Vec<(DieOffset, FuncId)> = functions.placed.by_die[unit].clone();
        for erased in functions.records.units[unit].erased.iter().filter(|erased| !erased.part) {
            let origin = functions.program.origin_of(unit, erased.origin);
            let name = functions.program.origins[origin.index()].name;
            if let Some(Some(kept)) = functions.of_name(name) {
                dies.push((erased.die, kept));
            }
        }
        // A function that the linker folded is erased too. It is the first of its DIE, since its unit has it.
        dies.sort_by_key(|(die, _)| *die);
        dies.dedup_by_key(|(die, _)| *die);
        dies.iter().rev().map(|(_, function)| *function).collect()
    }

    fn is_instance(&self, function: FuncId) -> bool {
        let functions = &self.index.functions;
        let name = functions.program.name_of(&functions.program.functions[function.index()]);
        is_instance(functions.text(name))
    }

    /// The calls in the code of these functions, in their order.
    fn mentions_in_order(&self, described: &[FuncId], room: usize, steps: &Budget) -> Vec<Mention> {
        let functions = &self.index.functions;
        let mut mentions = Vec::new();
        let mut once: HashSet<ImageAddr> = HashSet::default();
        let is_start = |target| self.index.owner_at(target).is_some();
        // Discarded copies of several DIEs may all be of one function.
        let mut read: HashSet<FuncId> = HashSet::default();
        for &function in described.iter().filter(|function| read.insert(**function)) {
            let of_group = functions.group(function).map(|_| function);
            for range in functions.ranges_of(function).iter() {
                // Many units may describe one long function.
                if mentions.len() >= room || !steps.spend(range.len() as usize + 1) {
                    return mentions;
                }
                let transfers = functions.machine.transfers(range, is_start);
                for transfer in transfers {
                    let is_grouped = matches!(self.index.owner_at(transfer.target), Some(Owner::Group(_)));
                    // Of a function alone, the first mention is enough.
                    if is_grouped || once.insert(transfer.target) {
                        let call = transfer.return_addr.map(|return_addr| (return_addr, of_group));
                        mentions.push(Mention { target: transfer.target, call, elsewhere: false });
                    }
                }
            }
        }
        mentions
    }
}

/// Adds the calls that mention a function first, and those of an address of which only one function was mentioned before.
fn add_repeated(
    guesses: &Guesses,
    mentions: &[Mention],
    within: Range<usize>,
    by_call: &mut HashMap<CallFrom, FuncId>,
) {
    // By address: the function that was mentioned; `None` if several were.
    let mut seen: HashMap<ImageAddr, Option<FuncId>> = HashMap::default();
    for at in within {
        let Mention { target, call, .. } = mentions[at];
        let first = guesses.first.get(&at).copied();
        if let Some(first) = first {
            seen.entry(target)
                .and_modify(|known| *known = known.filter(|known| *known == first))
                .or_insert(Some(first));
        }
        let callee = first.or_else(|| seen.get(&target).copied().flatten());
        if let Some((call, callee)) = call.zip(callee) {
            by_call.entry(call).or_insert(callee);
        }
    }
}
