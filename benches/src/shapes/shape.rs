//! What a shape is.

use super::made::Made;

/// Repeats one thing so many times.
#[derive(Clone, Copy)]
pub struct Shape {
    /// One word for the command line.
    pub name: &'static str,
    /// What is repeated.
    pub repeats: &'static str,
    /// What keeps its cost in proportion.
    pub bound: &'static str,
    /// How often it is repeated in the smaller of the two programs that are compared.
    pub count: u64,
    /// Adds it so many times.
    pub add: fn(&mut Made, u64),
}
