//! Checks that must hold for the conversion of any program, and for the queries of any `.fsym`. A check that fails panics.

pub mod convert;
pub mod fsym;
