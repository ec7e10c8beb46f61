//! Evaluates the expressions of a `.fsym` for a stopped program, with registers and memory that the caller passes in.
//!
//! [`wave`] finds the program counter of each lane of a GPU's wave, [`object`] the object that a folded method runs on. No allocation,
//! no unsafe code, no panic; an evaluation ends after a bounded number of steps, and takes 20 KiB of stack. If a register or memory is
//! missing, the answer gives that as its reason. The crate does not unwind: it handles only the innermost frame.

#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic
    )
)]

mod frame;
mod lanes;
mod object;

pub use frame::Machine;
pub use lanes::{Lane, LaneCount, MAX_LANES, Place, Wave, WaveAt, lane_count, wave};
pub use object::{Doubt, MAX_ASKED, NoObject, Object, object};
