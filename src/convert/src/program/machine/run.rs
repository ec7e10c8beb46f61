//! Reads a run of instructions: its control flow, whether it only passes a call on, and the target of a stub.

use std::ops::Range;

use super::flow::{Flow, Hop, Target};
use super::inst::{Convention, Frame, Goal, Inst, Op, Values};
use super::{aarch64, arm, riscv};
use crate::model::ImageAddr;

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
                // With fewer bytes than the longest instruction has, one is cut off at the end. With more, its length is unknown.
                return rest.len() < MAX_INSTRUCTION;
            };
            see(address, inst);
            at += inst.len;
        }
        true
    }
}

/// Where control goes at an instruction, with the address of the next one.
type FlowBefore = (u64, Flow);

/// What is known of runs without the values of registers.
struct Straight {
    flows: Vec<FlowBefore>,
    /// Where jumps within the code go.
    joins: Vec<u64>,
    /// A jump or call goes where a register tells.
    needs_values: bool,
}

/// `None` where not all of `runs` is instructions.
fn straight(runs: &[InstRun<'_>], code: &Range<u64>, values: &Values<'_>) -> Option<Straight> {
    let mut found = Straight { flows: Vec::new(), joins: Vec::new(), needs_values: false };
    for run in runs {
        let whole = run.each(|address, inst| {
            found.flows.extend(flow(address, inst, values));
            let (Op::Jump(goal) | Op::Call(goal)) = inst.op else { return };
            match goal {
                // A register that is set on the path to a jump may have another value on the path that falls through.
                Goal::To(to) if code.contains(&to) => found.joins.push(to),
                Goal::To(_) | Goal::Table | Goal::Near(_) | Goal::Anywhere => {}
                _ => found.needs_values = true,
            }
        });
        if !whole {
            return None;
        }
    }
    Some(found)
}

/// With the values that registers have. Where something jumps to (`joins`, sorted), they may be others than those of the code before
/// it. `in_pairs`: a value is good for the next instruction alone, and only one that an instruction gave by itself.
fn by_values(
    runs: &[InstRun<'_>],
    joins: &[u64],
    values: &mut Values<'_>,
    in_pairs: bool,
) -> Vec<FlowBefore> {
    let mut found = Vec::new();
    let mut joins = joins.iter().peekable();
    for run in runs {
        // Between two runs are data, and no code runs on over these.
        values.forget();
        run.each(|address, inst| {
            while joins.next_if(|join| **join <= address).is_some() {
                values.forget();
            }
            found.extend(flow(address, inst, values));
            values.follow(inst);
            // Code after an unconditional jump is reached from elsewhere, with other values.
            let ends = matches!(inst.op, Op::Jump(_) | Op::Return) && !inst.conditional;
            if ends || (in_pairs && !matches!(inst.op, Op::Constant { .. })) {
                values.forget();
            }
        });
    }
    found
}

/// Where control goes in runs of `code`, in the order of the instructions; `None` where not all of it is instructions.
pub(super) fn flows(runs: &[InstRun<'_>], code: Range<u64>, mut values: Values<'_>) -> Option<Vec<Flow>> {
    let Straight { mut flows, mut joins, needs_values } = straight(runs, &code, &values)?;
    if needs_values {
        joins.sort_unstable();
        flows = by_values(runs, &joins, &mut values, false);
    }
    Some(flows.into_iter().map(|(_, flow)| flow).collect())
}

/// The calls in runs of `code`: where each returns to, and where it goes. `entries`: where other code jumps into this. `None` where
/// not all of it is instructions.
pub(super) fn calls(
    runs: &[InstRun<'_>],
    code: Range<u64>,
    entries: &[ImageAddr],
    mut values: Values<'_>,
) -> Option<Vec<(ImageAddr, Target)>> {
    let Straight { mut flows, mut joins, needs_values } = straight(runs, &code, &values)?;
    if needs_values {
        joins.extend(entries.iter().map(|entry| entry.0));
        joins.sort_unstable();
        flows = by_values(runs, &joins, &mut values, false);
        // The branches of a `switch` begin anywhere.
        let strays = |(_, flow): &FlowBefore| matches!(flow, Flow::Jump(target) if !matches!(target, Target::To(_) | Target::Through(_)));
        if flows.iter().any(strays) {
            flows = by_values(runs, &joins, &mut values, true);
        }
    }
    let calls = flows.into_iter().filter_map(|(next, flow)| match flow {
        Flow::Call(target) => Some((ImageAddr(next), target)),
        _ => None,
    });
    Some(calls.collect())
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
            // `each` reads to the end of the run, and what follows the jump of a stub is other code.
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

/// Where control goes at the instruction of an address.
fn flow(address: u64, inst: Inst, values: &Values<'_>) -> Option<FlowBefore> {
    let flow = match inst.op {
        Op::Jump(goal) => Flow::Jump(values.goal(goal)),
        Op::Call(goal) => Flow::Call(values.goal(goal)),
        Op::Return => Flow::Return,
        _ => return None,
    };
    Some((address.wrapping_add(inst.len as u64), flow))
}

#[cfg(test)]
mod tests;
