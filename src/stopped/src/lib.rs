//! What a `.fsym` says of a stopped program: its expressions, evaluated with the registers and memory that the caller has.
//!
//! [`wave`] answers where each lane of a GPU's wave stands, [`object`] which object a folded method runs on. No allocation, no unsafe code, no panic; an evaluation ends
//! after a bounded number of steps, and takes 20 KiB of stack. What the caller does not have is an answer with a reason.
//! It does not unwind: all is about the innermost frame.

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
