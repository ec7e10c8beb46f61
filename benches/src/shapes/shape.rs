//! The definition of a shape.

use super::made::Made;

/// Repeats one thing a given number of times.
#[derive(Clone, Copy)]
pub struct Shape {
    /// One word for the command line.
    pub name: &'static str,
    /// The thing that is repeated.
    pub repeats: &'static str,
    /// The bound that keeps its cost in proportion.
    pub bound: &'static str,
    /// How often it is repeated in the smaller of the two programs that are compared.
    pub count: u64,
    /// Adds it the given number of times.
    pub add: fn(&mut Made, u64),
}
