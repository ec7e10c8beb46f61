//! Walks frames by the section UNWIND of a `.fsym`: the registers of a frame in, those of its caller out.
//!
//! No allocation, no unsafe code, no panic, no recursion; it needs neither `std` nor `alloc`. Registers are the caller's
//! [`Registers`], memory is read through the caller's [`Process`]. Every step ends: rows of a run, registers of a row and
//! operations of an expression are bounded. It steps on x86-64 and AArch64; the rows of any processor can be read.
//!
//! It does not find modules, map files or guess: if the file has no row for an address, a step says so ([`Stop`]), and the caller may scan
//! the stack or follow frame pointers instead. Vector and floating-point registers are not followed.
//!
//! A walk has one [`Frame`] and asks the module that has its [`Frame::lookup_pc`], which is loaded `bias` bytes above its
//! link-time addresses. A caller bounds the number of frames itself.
//!
//! ```
//! use foldsym_unwind::{Frame, Machine, Process, Registers, Step, Unwind};
//!
//! /// Sixteen bytes of stack from 0x7000 on: a saved register, and the return address.
//! struct Stack;
//! impl Process for Stack {
//!     fn read(&mut self, address: u64, bytes: &mut [u8]) -> Option<()> {
//!         let stack: [u64; 2] = [0x1234, 0x40_2000];
//!         let word = stack.get(usize::try_from(address.checked_sub(0x7000)? / 8).ok()?)?;
//!         bytes.copy_from_slice(word.to_le_bytes().get(..bytes.len())?);
//!         Some(())
//!     }
//! }
//!
//! // The section of a program with one function at 0x1000: `push %rbx`, then code.
//! let section = include_bytes!("../tests/push.unwind");
//! let unwind = Unwind::open(section, 0)?;
//! let mut registers = Registers::new(Machine::X86_64);
//! registers.set(7, 0x7000); // rsp
//! registers.set(16, 0x40_1001); // rip, after the push
//! let mut frame = Frame::innermost(registers);
//! assert_eq!(frame.step(&unwind, 0x40_0000, &mut Stack), Ok(Step::Caller));
//! assert_eq!(frame.pc(), 0x40_2000);
//! assert_eq!((frame.registers().get(3), frame.registers().get(7)), (Some(0x1234), Some(0x7010)));
//! # Ok::<(), foldsym_unwind::FormatError>(())
//! ```

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

mod expression;
mod frame;
mod process;
mod registers;
mod row;
mod saves;
mod section;
mod verify;

pub use foldsym_format::FormatError;
pub use frame::Frame;
pub use process::{Process, Step, Stop};
pub use registers::{Machine, Registers};
pub use row::{Cfa, Row, Rule, Rules};
pub use saves::Saves;
pub use section::Unwind;
