//! Reads crash reports and profiles of every format. One program has the tests of all of them, since each program of tests is linked with the
//! whole converter.

mod common;

mod aarch64;
mod budgets;
mod crash;
mod hostile;
mod kernel;
mod names;
mod otlp;
mod perf;
mod profile;
