//! The builds that are traced: sources, compilers, linkers, forms and targets, every pair of which is covered once.

use std::collections::BTreeSet;

use super::targets::{TARGETS, Target};

/// Sources in `programs`: a file, or a folder of files.
const SOURCES: &[&str] = &[
    "callbacks.c",
    "library.cpp",
    "virtual.cpp",
    "throwing.cpp",
    "generators.cpp",
    "containers.cpp",
    "interfaces.cpp",
    "comparators.cpp",
    "locals",
    "shops",
    PLUGINS,
];
/// Opens two shared objects while it runs.
pub(super) const PLUGINS: &str = "plugins";
/// A source that only rustc compiles, which merges functions by itself.
const RUST: &str = "traits.rs";
const COMPILERS: &[&str] = &["clang", "gcc", "rustc"];
const LINKERS: &[&str] = &["lld", "gold", "mold"];

/// Steps and options of a build, besides `-O2 -g` and `--icf=all`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Form {
    Plain,
    /// The compiler merges functions too: clang's `-fmerge-functions`, gcc's ipa-icf.
    Merging,
    /// Debug information with only line numbers.
    LineTables,
    /// The same, in `.dwo` files.
    LineTablesSplit,
    /// The same, with ThinLTO.
    LineTablesThin,
    /// The same with what profilers need, linked with `--icf=safe`, as Chromium is for Android.
    LineTablesProfiled,
    /// `-gsimple-template-names` with ThinLTO.
    SimpleNames,
    /// Type units, in `.dwo` files.
    SplitTypes,
    /// A section for each basic block.
    BlockSections,
    /// More clones and parts of functions.
    O3,
    /// Objects but the first have no debug information.
    Mixed,
    Unoptimized,
    /// Relocations are kept (`--emit-relocs`).
    Relocations,
    /// The linker leaves local symbols out.
    NoLocals,
    /// Local symbols and the debug information were removed after the link.
    Stripped,
    /// The debug information is in a file of its own.
    DebugFile,
    Lto,
}

impl Form {
    /// Debug information is at the level `-g1`.
    pub(super) fn is_line_tables(self) -> bool {
        matches!(
            self,
            Self::LineTables | Self::LineTablesSplit | Self::LineTablesThin | Self::LineTablesProfiled
        )
    }
}

const FORMS: &[(&str, Form)] = &[
    ("plain", Form::Plain),
    ("merging", Form::Merging),
    ("g1", Form::LineTables),
    ("g1split", Form::LineTablesSplit),
    ("g1thin", Form::LineTablesThin),
    ("g1profile", Form::LineTablesProfiled),
    ("simplenames", Form::SimpleNames),
    ("splittypes", Form::SplitTypes),
    ("blocks", Form::BlockSections),
    ("O3", Form::O3),
    ("mixed", Form::Mixed),
    ("O0", Form::Unoptimized),
    ("relocs", Form::Relocations),
    ("nolocals", Form::NoLocals),
    ("stripped", Form::Stripped),
    ("debugfile", Form::DebugFile),
    ("lto", Form::Lto),
];

/// One build.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct TracedBuild {
    pub(super) source: &'static str,
    pub(super) compiler: &'static str,
    pub(super) linker: &'static str,
    pub(super) form: Form,
    pub(super) target: &'static Target,
}

impl TracedBuild {
    pub(super) fn name(&self) -> String {
        format!("{}.{}-{}-{}-{}", self.source, self.target.name, self.compiler, self.linker, self.form())
    }

    pub(super) fn form(&self) -> &'static str {
        FORMS.iter().find(|(_, form)| *form == self.form).map_or("?", |(name, _)| name)
    }

    /// Whether the tools can make it.
    fn is_possible(&self) -> bool {
        let source = match (self.source, self.compiler) {
            // No other target has a standard library here.
            (RUST, "rustc") => {
                let forms = [Form::Plain, Form::Merging, Form::Relocations, Form::NoLocals, Form::Stripped];
                self.target.is_host && forms.contains(&self.form)
            }
            (RUST, _) | (_, "rustc") => false,
            // The modules differ here, not the form.
            (PLUGINS, _) => {
                self.target.is_host && matches!(self.form, Form::Plain | Form::LineTables | Form::Unoptimized)
            }
            _ => true,
        };
        let form = match self.form {
            // gold and mold need a plugin for clang's bitcode, lld cannot read gcc's.
            Form::Lto => matches!((self.compiler, self.linker), ("clang", "lld") | ("gcc", "gold" | "mold")),
            Form::Mixed => self.source == "locals",
            // Options of clang; ThinLTO needs a linker that reads bitcode.
            Form::LineTablesThin | Form::SimpleNames => {
                (self.compiler, self.linker) == ("clang", "lld") && self.target.is_host
            }
            Form::LineTablesSplit | Form::SplitTypes => self.target.is_host,
            Form::LineTablesProfiled => self.compiler == "clang" && self.target.is_host,
            Form::BlockSections => self.compiler == "clang" && self.target.is_host,
            Form::O3 => self.compiler == "gcc",
            // The results of these forms do not depend on the source.
            Form::DebugFile => matches!(self.source, "virtual.cpp" | "throwing.cpp" | "locals"),
            Form::NoLocals => matches!(self.source, "virtual.cpp" | "generators.cpp" | "locals" | RUST),
            Form::Stripped => matches!(self.source, "callbacks.c" | "library.cpp" | "locals" | RUST),
            // gold writes relocations that it did not adjust.
            Form::Relocations => self.linker != "gold",
            _ => true,
        };
        source && form && (self.linker != "gold" || self.target.is_x86)
    }

    /// Each two of its properties.
    fn pairs(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let of = [self.source, self.compiler, self.linker, self.form(), self.target.name];
        (0..of.len()).flat_map(move |a| (0..a).map(move |b| (of[b], of[a])))
    }
}

/// Every build, or as few as cover each pair of source, compiler, linker, form and target.
pub(super) fn builds(all: bool) -> Vec<TracedBuild> {
    let mut possible = Vec::new();
    for &source in SOURCES.iter().chain([&RUST]) {
        for &compiler in COMPILERS {
            for &linker in LINKERS {
                for &(_, form) in FORMS {
                    possible.extend(TARGETS.iter().map(|target| TracedBuild {
                        source,
                        compiler,
                        linker,
                        form,
                        target,
                    }));
                }
            }
        }
    }
    possible.retain(TracedBuild::is_possible);
    if all { possible } else { covering(&possible) }
}

/// Builds that together have every pair that one of all has: again and again the one with most pairs that no other has yet.
fn covering(all: &[TracedBuild]) -> Vec<TracedBuild> {
    let mut open: BTreeSet<_> = all.iter().flat_map(TracedBuild::pairs).collect();
    let mut chosen = BTreeSet::new();
    while !open.is_empty() {
        let new = |build: &TracedBuild| build.pairs().filter(|pair| open.contains(pair)).count();
        // The first of equals: `max_by_key` takes the last.
        let Some(best) = all.iter().rev().max_by_key(|build| new(build)).copied() else { break };
        best.pairs().for_each(|pair| _ = open.remove(&pair));
        chosen.insert(best);
    }
    chosen.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_is_covered_by_few_builds() {
        let (all, chosen) = (builds(true), builds(false));
        assert!(chosen.len() <= 160 && chosen.len() < all.len() / 2, "{} of {}", chosen.len(), all.len());
        let pairs =
            |builds: &[TracedBuild]| builds.iter().flat_map(TracedBuild::pairs).collect::<BTreeSet<_>>();
        assert_eq!(pairs(&all), pairs(&chosen));
        for target in TARGETS {
            let has =
                |source: &str| chosen.iter().any(|build| build.target == target && build.source == source);
            assert!(has("throwing.cpp") && has("virtual.cpp") && has("locals"), "{}", target.name);
        }
    }
}
