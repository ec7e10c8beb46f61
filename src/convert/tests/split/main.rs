//! Split DWARF: one program built in several ways answers alike at every address, and damage costs no more
//! than the unit that it hits.

mod alike;
mod ask;
mod damaged;
mod dwz;
mod libc;
mod missing;
mod rocksdb;
