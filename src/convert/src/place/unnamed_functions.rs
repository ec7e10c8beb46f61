//! Adds functions without a name to a range of code: only line sequences show them.

use crate::model::{Function, How, Member};
use crate::place::claim::{Claim, by_name_alone};
use crate::place::folding_evidence::FoldingEvidence;
use crate::place::placing::Placing;

/// Adds functions without a name: one for each line sequence that no function there has, and the survivor, if every
/// known function was folded into it.
pub(crate) fn add_nameless(
    placing: &mut Placing<'_, '_>,
    folding: &FoldingEvidence,
    claim: &mut Claim,
    functions: &mut Vec<Function>,
) {
    let members = &mut claim.members;
    let remains = members.iter().any(|member| member.how == How::LiveRange);
    // The linker kept the code of some function. If the only known one lost its address, another one without a DIE survived.
    // With two or more members the answer is ambiguous without it.
    if !remains && folding.may_fold() && members.len() == 1 {
        let name = placing.names.add(b"");
        members.push(by_name_alone(&mut placing.names, functions, name));
    }
    // lld, mold and gold keep the line sequence of a folded function, so a sequence without a function is one more function.
    for &rows in folding.sequences(claim.range()) {
        let name = placing.names.add(b"");
        claim.members.push(Member { rows, ..by_name_alone(&mut placing.names, functions, name) });
    }
}
