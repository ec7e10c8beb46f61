//! Places where a rule does not hold yet. The lists may only shrink: a line that is not needed is a finding.

/// Imports that run back, as (from, to), where a `from` with a `/` at its end is all files of a folder: without them no files or
/// folders of a crate import each other in a circle.
pub(super) const BACK: &[(&str, &str)] = &[
    ("benches/compare/src/", "benches/compare/src/tools/mod.rs"),
    ("benches/compare/src/run.rs", "benches/compare/src/beside.rs"),
    ("benches/src/shapes.rs", "benches/src/shapes/lists.rs"),
    ("src/convert/src/program/machine/", "src/convert/src/program/machine.rs"),
    ("src/convert/src/program/machine/ways.rs", "src/convert/src/program/machine/x86.rs"),
    ("src/front/cli/src/commands/find/", "src/front/cli/src/commands/find/mod.rs"),
    ("src/lookup/src/file.rs", "src/lookup/src/entities.rs"),
    ("src/store/src/local/", "src/store/src/local/mod.rs"),
    ("src/symbolize/src/", "src/symbolize/src/names.rs"),
    ("src/symbolize/src/find.rs", "src/symbolize/src/program.rs"),
    ("src/xtask/src/corpus/", "src/xtask/src/corpus/mod.rs"),
    ("src/xtask/src/diff/mod.rs", "src/xtask/src/diff/ask.rs"),
    ("src/xtask/src/fold/", "src/xtask/src/fold/mod.rs"),
    ("src/xtask/src/fold/walk.rs", "src/xtask/src/fold/emit.rs"),
    ("src/xtask/src/noicf/", "src/xtask/src/noicf/mod.rs"),
    ("src/xtask/src/tidy/", "src/xtask/src/tidy/mod.rs"),
];

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
