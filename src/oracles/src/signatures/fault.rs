//! A recorded stack to the stack of its fault.

use crate::fold::stacks::Stack;

/// The function of the generated programs that records the stack.
pub(super) const RECORDER: &str = "probe";

/// The stack of the fault: without the function that records the stack. Gives address and name of each frame, of a caller the address
/// inside of its call.
pub(super) fn fault(stack: &Stack) -> Vec<(u64, &str)> {
    let all = stack.addresses.iter().zip(&stack.frames).enumerate();
    let all = all.map(|(at, (address, truth))| (address - u64::from(at > 0), truth.name.as_str()));
    all.skip_while(|(_, name)| *name == RECORDER).collect()
}
