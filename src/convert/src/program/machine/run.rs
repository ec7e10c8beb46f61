//! Reads a run of instructions: its control flow, whether it only passes a call on, and the target of a stub.

use std::ops::Range;

use super::flow::{Flow, Hop, Target};
use super::inst::{Convention, Frame, Goal, Inst, Op, Values};
use super::{aarch64, arm, riscv};

/// An instruction set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mode {
    A64,
    A32,
    T32,
    RiscV { wide: bool },
}

impl Mode {
    /// The instruction at the start of `bytes`; `None` if it is cut off, or its length is unknown.
    pub(super) fn decode(self, bytes: &[u8], address: u64, block: &mut arm::Conditional) -> Option<Inst> {
        let word = || bytes.first_chunk().map(|word| u32::from_le_bytes(*word));
        match self {
            Mode::A64 => word().map(|word| aarch64::decode(word, address)),
            Mode::A32 => word().map(|word| arm::decode_a32(word, address)),
            Mode::T32 => arm::decode_t32(bytes, address, block),
            Mode::RiscV { wide } => riscv::decode(bytes, address, wide),
        }
    }
}

/// The size of the longest instruction in bytes.
pub(super) const MAX_INSTRUCTION: usize = 8;

/// Code of one instruction set, without data.
pub(super) struct InstRun<'f> {
    pub(super) mode: Mode,
    pub(super) start: u64,
    pub(super) bytes: &'f [u8],
}

impl InstRun<'_> {
    /// Passes each instruction with its address to `see`; false if the length of one is unknown.
    pub(super) fn each(&self, mut see: impl FnMut(u64, Inst)) -> bool {
        let (mut at, mut block) = (0, arm::Conditional::default());
        while at < self.bytes.len() {
            let (rest, address) = (&self.bytes[at..], self.start.wrapping_add(at as u64));
            let Some(inst) = self.mode.decode(rest, address, &mut block) else {
                return rest.len() < MAX_INSTRUCTION;
            };
            see(address, inst);
            at += inst.len;
        }
        true
    }
}

/// The control flow in runs of `code`, in order; `None` if not all of it is instructions.
pub(super) fn flows(runs: &[InstRun<'_>], code: Range<u64>, mut values: Values<'_>) -> Option<Vec<Flow>> {
    let (mut found, mut joins, mut needs_values) = (Vec::new(), Vec::new(), false);
    for run in runs {
        let whole = run.each(|_, Inst { op, .. }| {
            let (Op::Jump(goal) | Op::Call(goal)) = op else {
                if op == Op::Return {
                    found.push(Flow::Return);
                }
                return;
            };
            match goal {
                Goal::To(to) if code.contains(&to) => joins.push(to),
                Goal::To(_) | Goal::Table | Goal::Near(_) | Goal::Anywhere => {}
                _ => needs_values = true,
            }
            found.push(flow(op, values.goal(goal)));
        });
        if !whole {
            return None;
        }
    }
    if !needs_values {
        return Some(found);
    }
    // At the target of a jump, registers may have other values than those of the code before it.
    found.clear();
    joins.sort_unstable();
    let mut joins = joins.into_iter().peekable();
    for run in runs {
        values.forget();
        run.each(|address, inst| {
            while joins.next_if(|join| *join <= address).is_some() {
                values.forget();
            }
            match inst.op {
                Op::Jump(goal) | Op::Call(goal) => found.push(flow(inst.op, values.goal(goal))),
                Op::Return => found.push(Flow::Return),
                _ => {}
            }
            values.follow(inst);
            if matches!(inst.op, Op::Jump(_) | Op::Return) && !inst.conditional {
                values.forget();
            }
        });
    }
    Some(found)
}

/// True if runs contain only code that accompanies a call that is passed on.
pub(super) fn only_pass_on(runs: &[InstRun<'_>], convention: &Convention) -> bool {
    let mut frame = Frame::new(convention);
    let mut passes = true;
    runs.iter().all(|run| run.each(|_, inst| passes &= frame.passes(inst))) && passes
}

/// The target of a run that only jumps, as a stub does.
pub(super) fn hop(run: &InstRun<'_>, mut values: Values<'_>) -> Option<Hop> {
    let (mut hop, mut ended) = (None, false);
    run.each(|_, inst| {
        match inst.op {
            _ if ended => {}
            Op::Jump(goal) if !inst.conditional => {
                ended = true;
                hop = match values.goal(goal) {
                    Target::To(to) => Some(Hop::To(to)),
                    Target::Through(slot) => Some(Hop::Through(slot)),
                    _ => None,
                };
            }
            Op::Jump(_) | Op::Call(_) | Op::Return | Op::Store { .. } | Op::Other => ended = true,
            _ => {}
        }
        values.follow(inst);
    });
    hop
}

fn flow(op: Op, target: Target) -> Flow {
    if matches!(op, Op::Call(_)) { Flow::Call(target) } else { Flow::Jump(target) }
}

#[cfg(test)]
mod tests;
