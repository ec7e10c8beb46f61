//! Finds the row of an address in `.debug_frame` and `.eh_frame`: where the frame is, and where each register was saved.
//!
//! The entries are read one after another until one covers the address. Then its instructions are executed up to the
//! address (DWARF 5 6.4). The extensions for heterogeneous code add two instructions that put the frame into an address
//! space, and an augmentation in brackets that leaves the layout of an entry as it is.

mod entries;
mod row;

pub use entries::{CfiError, CfiProblem, Cie, Fde, Fdes, FrameSection};
pub use row::{Cfa, Row, Rule};
