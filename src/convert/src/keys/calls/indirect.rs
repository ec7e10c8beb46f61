//! Finds the calls of which the compiler did not know whom they call.
//!
//! A compiler that sees what a method does to its object may call it with one that is not whole. It can only do so where it
//! knows whom it calls. So a call through an object that is whole is one that the compiler recorded without a callee, and
//! that goes through a register or memory in the code too: gcc leaves some callees out that it knows, and clang whole
//! calls. A call that nothing recorded proves nothing.

use crate::keys::callee::Callee;
use crate::keys::index::Index;
use crate::model::{FuncId, How, ImageAddr, NONE16};

/// Their return addresses, by function.
pub(crate) fn calls(index: &Index<'_, '_>) -> Vec<(FuncId, Vec<ImageAddr>)> {
    let program = index.program;
    let mut found = Vec::new();
    for function in (0..program.functions.len() as u32).map(FuncId) {
        let Some((unit, _, listed)) = index.calls(function) else { continue };
        // Of a folded function the addresses are those of the one that remains, or restored: the code is the same.
        let remains = program.functions[function.index()].how == How::LiveRange;
        // With lines alone (`-g1`) callees have no linkage names.
        let lines_alone = program.origins[program.functions[function.index()].origin.index()].line == 0;
        if !remains || lines_alone {
            continue;
        }
        let unknown =
            listed.iter().filter(|call| !call.tail && index.callee(unit, call.callee) == Callee::Indirect);
        let through = unknown.filter_map(|call| {
            let at = call.return_addr?;
            (call.slot != NONE16 || index.machine.is_indirect_call(at.0)).then_some(at)
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
