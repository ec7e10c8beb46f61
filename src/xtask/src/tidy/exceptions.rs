//! Places where a rule does not hold yet. The lists may only shrink: a line that is not needed is a finding.

/// Imports that run back, as (from, to), where a `from` with a `/` at its end is all files of a folder: without them no files or
/// folders of a crate import each other in a circle.
pub(super) const BACK: &[(&str, &str)] = &[];

/// Types that are defined more than once in one crate, as (crate, name).
pub(super) const TWICE: &[(&str, &str)] = &[];

/// Files that another crate includes, as (by, file).
pub(super) const INCLUDED: &[(&str, &str)] = &[];
