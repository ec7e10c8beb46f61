//! Places where a rule does not hold yet. The lists may only shrink: a line that is not needed is a finding.

/// Imports that run back, as (from, to), where a `from` with a `/` at its end is all files of a folder: without them no files or
/// folders of a crate import each other in a circle.
pub(super) const BACK: &[(&str, &str)] = &[];

/// Types that are defined more than once in one crate, as (crate, name).
pub(super) const TWICE: &[(&str, &str)] = &[
    ("benches", "Result"),
    ("benches/compare", "Reader"),
    ("src/exchange", "Writer"),
    ("src/front/cli", "Functions"),
    ("src/front/cli", "Line"),
    ("src/front/cli", "Module"),
    ("src/front/cli", "Place"),
    ("src/front/cli", "Printer"),
    ("src/front/cli", "Session"),
    ("src/front/cli", "Style"),
    ("src/lookup", "Block"),
    ("src/lookup", "Place"),
    ("src/xtask", "Asked"),
    ("src/xtask", "Call"),
    ("src/xtask", "Found"),
    ("src/xtask", "Group"),
    ("src/xtask", "Kind"),
    ("src/xtask", "Options"),
    ("src/xtask", "Pair"),
    ("src/xtask", "Parts"),
    ("src/xtask", "Tally"),
    ("testbins", "Frame"),
    ("testbins", "Unit"),
];

/// Files that another crate includes, as (by, file).
pub(super) const INCLUDED: &[(&str, &str)] = &[];
