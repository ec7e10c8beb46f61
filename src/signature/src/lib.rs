//! Puts stacks into buckets: the functions of a stack in, a readable text and a short hash out, equal for stacks of one fault.
//!
//! A [`Signer`] takes the frames of a stack, innermost first, and gives a [`Signature`]: `price_letter | run | main`. [`Rules`] say which
//! frames count: a file of lines, of which this crate ships one ([`Rules::shipped`]) and a user may add another ([`Rules::with`]).
//! `schema/signatures.md` describes both.
//!
//! - **Inlining and folding do not change a bucket.** Inlined functions count as frames. Of a frame at folded code the caller of this crate
//!   gives the function that ran, if evidence shows it, and all candidates if not ([`Signer::candidate`]). The order of the candidates has no
//!   effect.
//! - **Work and memory are bounded.** A pattern is matched in time linear in the name. A signer keeps at most 4 MiB of names, whatever the
//!   stack, and of a stack only the functions that may be in its text.
//!
//! The crate reads no files, and knows no addresses but the offsets of frames without a function.
//!
//! ```
//! use foldsym_signature::{Function, Rules, Signer};
//!
//! let mut signer = Signer::new(Rules::shipped());
//! for name in ["raise", "abort", "_ZN4mail5priceIiEEvPT_", "_ZN4mail3runEv", "main"] {
//!     signer.known("mail", [Function::new(name)]);
//! }
//! let signature = signer.finish();
//! assert_eq!(signature.text, "mail::price<T> | mail::run | main");
//! assert_eq!(signature.hash.len(), 16);
//! ```

#![warn(missing_docs)]
#![forbid(unsafe_code)]

mod glob;
mod hex;
mod rules;
mod signer;

pub use rules::{Class, RuleError, Rules};
pub use signer::{Counted, Function, Signature, Signer};
