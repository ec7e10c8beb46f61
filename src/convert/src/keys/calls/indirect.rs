//! Finds the calls whose callee the compiler did not know.
//!
//! A compiler that sees which parts of its object a method uses may call it with an incomplete object. It can do so
//! only if it knows the callee. So a call with a complete object is a call that the compiler recorded without a
//! callee and that goes through a register or memory in the code. The code is checked too, since gcc omits some
//! callees that it knows, and clang omits whole calls. A call that nothing recorded proves nothing.

use crate::keys::callee::Callee;
use crate::keys::index::Index;
use crate::model::{FuncId, How, ImageAddr, NONE16};

/// The return addresses of these calls, by function.
pub(crate) fn calls(index: &Index<'_, '_>) -> Vec<(FuncId, Vec<ImageAddr>)> {
    let program = index.functions.program;
    let mut found = Vec::new();
    for function in (0..program.functions.len() as u32).map(FuncId) {
        let Some((unit, _, listed)) = index.functions.calls(function) else { continue };
        // A folded function has the survivor's return addresses, or restored ones: its code is the same as the
        // survivor's.
        let remains = program.functions[function.index()].how == How::LiveRange;
        // In a unit with line tables only (`-g1`), callees have no linkage names.
        let lines_alone = program.origins[program.functions[function.index()].origin.index()].line == 0;
        if !remains || lines_alone {
            continue;
        }
        let unknown = listed
            .iter()
            .filter(|call| !call.is_tail() && index.callee(unit, call.callee()) == Callee::Indirect);
        let through = unknown.filter_map(|call| {
            let at = call.return_addr()?;
            // A record with a slot describes a call through a table in memory. Any other call counts only if its code is indirect.
            (call.slot != NONE16 || index.functions.machine.is_indirect_call(at)).then_some(at)
        });
        let mut calls: Vec<ImageAddr> = through.collect();
        calls.sort_unstable();
        calls.dedup();
        if !calls.is_empty() {
            found.push((function, calls));
        }
    }
    found
}
