//! Keys of calls that lead into folded code: the callee of each, as compilers and linkers recorded it.

pub(crate) mod call_site_keys;
pub(crate) mod call_tables;
mod first_described;
pub(crate) mod first_mentions;
mod guesses;
pub(crate) mod indirect;
pub(crate) mod key_builder;
pub(crate) mod mentions;
pub(crate) mod pairs;
pub(crate) mod plain_callees;
pub(crate) mod relocations;
pub(crate) mod structors;
pub(crate) mod subsequence;

use crate::keys::calls::key_builder::CallKeyBuilder;
use crate::keys::index::Index;
use crate::keys::tail_calls::Reach;
use crate::model::{CallCounts, CallFrom, CallHow, CallKey, FuncId, ImageAddr, TailKey};
use crate::util::hash::HashSet;

/// The keys of calls, and what else calls show about groups.
pub(crate) struct CallResults {
    pub(crate) calls: Vec<CallKey>,
    pub(crate) tails: Vec<TailKey>,
    pub(crate) counts: CallCounts,
    /// By call: the member that a call without a key probably calls.
    pub(crate) guesses: Vec<(CallFrom, FuncId)>,
    pub(crate) unknown_calls: Vec<(FuncId, Vec<ImageAddr>)>,
    /// A cap was reached: some calls were not compared.
    pub(crate) capped: bool,
}

impl CallResults {
    /// `may_lead_into_group`: see [`Index::may_lead_into_group`].
    pub(crate) fn of(index: &Index<'_, '_>, may_lead_into_group: &[bool]) -> CallResults {
        let mut keys = CallKeyBuilder::new(index, may_lead_into_group);
        keys.of_single_functions();
        keys.of_groups();
        keys.of_tables();
        // Last: a relocation replaces the key that a plain name gave.
        keys.of_relocations();
        // The order in which gcc made its DIEs tells more than that of symbols, and that of symbols more than that of other DIEs.
        let mut guesses = keys.by_described_order();
        guesses.extend(keys.by_first_mention());
        guesses.sort_by_key(|(call, _)| *call);
        guesses.dedup_by_key(|(call, _)| *call);
        if guesses.is_empty() {
            guesses = keys.guesses();
        }
        let CallKeyBuilder { mut calls, tails, counts, steps, .. } = keys;
        calls.sort_unstable();
        // If a call has keys for two callees, its callee is unknown. Of two keys for one callee the more doubtful
        // counts.
        let mut calls: Vec<CallKey> = calls
            .chunk_by(|a, b| (a.return_addr, a.caller) == (b.return_addr, b.caller))
            .filter(|same| same.iter().all(|key| key.callee == same[0].callee))
            .map(|same| same[same.len() - 1])
            .collect();
        let guesses = guesses::without_keys(guesses, &calls);
        let mut used: Vec<FuncId> = calls.iter().map(|key| key.callee).collect();
        used.sort_unstable();
        used.dedup();
        let reaches = index.reach_of_all(&used, &tails);
        let of_reach = |(function, reach): &(FuncId, Reach)| reach.keys(*function).collect::<Vec<_>>();
        let mut listed: Vec<TailKey> = reaches.iter().flat_map(of_reach).collect();
        // foldsym does not know all functions that such a callee may jump to. One of them may be another member of the group, so the
        // record rules no member out.
        let jumping: HashSet<FuncId> =
            reaches.iter().filter(|reach| reach.1.jumps_anywhere).map(|reach| reach.0).collect();
        for call in calls.iter_mut().filter(|call| jumping.contains(&call.callee)) {
            call.how = CallHow::Unproven;
        }
        // Of functions that got their names by order nothing is certain, whether they call, are called, or are reached.
        let tied = &index.functions.placed.tied;
        let is_tied = |function: &FuncId| tied.contains(function);
        let reach_tied = listed.iter().filter(|key| key.target.is_some_and(|target| is_tied(&target)));
        let reach_tied: HashSet<FuncId> = reach_tied.map(|key| key.function).collect();
        for call in &mut calls {
            let functions = [Some(call.callee), call.caller];
            let is_by_order = functions.iter().flatten().any(is_tied) || reach_tied.contains(&call.callee);
            if is_by_order && call.how != CallHow::Unproven {
                call.how = CallHow::NameAlone;
            }
        }
        listed.sort_unstable();
        // Only a file with locations of objects (`--locations`) has a use for these calls.
        let unknown_calls = match index.functions.program.code.iter().any(|unit| unit.locations.is_some()) {
            true => indirect::calls(index),
            false => Vec::new(),
        };
        CallResults { calls, tails: listed, counts, guesses, unknown_calls, capped: steps.is_short() }
    }
}
