//! What must hold of any program that is converted, and of any `.fsym` that is asked. A check panics where it does not.

pub mod convert;
pub mod fsym;
