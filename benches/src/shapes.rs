//! Hostile programs of any size: each shape repeats one thing that a converter may pay too much for.
//!
//! A shape adds its part to a [`Made`] program, so that several shapes can be in one program. What each repeats, and which
//! bound of the converter stops it, stands beside it in [`ALL`]; the rule behind the bounds is in
//! `src/convert/src/util/budget.rs`.

mod lists;
mod made;

pub use lists::ALL;
pub use made::Made;

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
