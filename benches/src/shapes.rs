//! Hostile programs of any size: each shape repeats one thing that a converter may pay too much for.
//!
//! A shape adds its part to a [`Made`] program, so that several shapes can be in one program. [`ALL`] lists what each repeats, and the
//! bound of the converter that stops it. The common rule of the bounds is in `src/convert/src/util/budget.rs`.

mod lists;
mod made;
mod shape;

pub use lists::ALL;
pub use made::Made;
pub(crate) use made::uleb;
pub use shape::Shape;
