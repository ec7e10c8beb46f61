//! Says of each function whether every call of it that the compiler knew the callee of is known here too.
//!
//! A compiler that sees what a method does to its object may call it with one that is not whole. It can only do so where it
//! knows whom it calls. So a call of which no callee is recorded goes through an object that is whole, if the compiler
//! promised to record them all and none was lost on the way here.

use super::{Callee, Index};
use crate::model::{CallKey, FuncId, How, Owner, UnitCall};

/// The functions of which that is not known, sorted. `calls` are the keys of the program.
pub(super) fn more_calls(index: &Index<'_, '_>, calls: &[CallKey]) -> Vec<FuncId> {
    let program = index.program;
    let mut remains = vec![false; program.groups.len()];
    for piece in &program.pieces {
        if let Owner::Group(group) = piece.owner {
            let mut members = program.groups[group.index()].members.iter();
            remains[group.index()] = members.any(|member| member.how == How::LiveRange);
        }
    }
    let all = (0..program.functions.len() as u32).map(FuncId);
    all.filter(|&function| {
        let Some((unit, described, listed)) = index.calls(function) else { return true };
        // Code that remains calls where that of the others does, and has its addresses.
        let erased = program.functions[function.index()].how != How::LiveRange;
        let told_by_another =
            erased && index.group.get(&function).is_some_and(|group| remains[group.index()]);
        let is_lost = |call: &UnitCall| match index.callee(unit, call.callee) {
            Callee::Indirect | Callee::Elsewhere(_) => false,
            Callee::Function(callee) if !index.group.contains_key(&callee) => false,
            Callee::Function(_) | Callee::Unknown => call
                .return_addr
                .is_none_or(|address| calls.binary_search_by_key(&address, |key| key.return_addr).is_err()),
        };
        // With lines alone (`-g1`) clang promises all the same, and its callees have no linkage names.
        let lines_alone = program.origins[program.functions[function.index()].origin.index()].line == 0;
        !described.all_calls
            || lines_alone
            || (!told_by_another && listed.iter().filter(|call| !call.tail).any(is_lost))
    })
    .collect()
}
