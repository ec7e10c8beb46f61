//! Converts the programs of `testbins/built`, and compares the answers with what other tools and the programs themselves say. One program has
//! the tests of all subjects, since each program of tests is linked with the whole converter.

mod alone;
mod answers;
mod blocks;
mod call_types;
mod cases;
mod erased;
mod expressions;
mod fold;
mod lanes;
mod macho;
mod objects;
mod oracles;
mod recorded;
mod unwind;
mod virtual_calls;
mod walk;
