//! The files in which split units are found, and the state that all split units share.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::diagnostics::opening::OpenDiagnosticKind;
use crate::diagnostics::{Diagnostics, DwoProblem, Kind};
use crate::open::{Arch, DwoFinder, Files, Image, OpenOptions, SplitFile};
use crate::read::sections::bytes::Endianity;
use crate::read::sections::package::Package;
use crate::read::units::pool::NamePool;

/// The split DWARF files of a program, as the caller gives them.
pub(crate) struct SplitFiles<'a, 'f> {
    /// The owner of the program's bytes, and of the names copied from `.dwo` files.
    pub files: &'f Files,
    pub options: &'a OpenOptions,
    /// The opened `.dwp`, if there is one.
    pub package: Option<SplitFile<'f>>,
}

/// What all threads need to read split units.
pub(crate) struct Supply<'a, 'f, E: Endianity> {
    pub(crate) files: &'f Files,
    pub(crate) finder: DwoFinder<'a>,
    pub(crate) package: Option<Package<'f, E>>,
    pub(crate) names: NamePool<'f>,
    pub(crate) arch: Arch,
    pub(crate) endian: E,
    /// True if no further skeleton is followed to its split unit.
    pub(crate) closed: AtomicBool,
}

impl<'a, 'f, E: Endianity> Supply<'a, 'f, E> {
    pub(crate) fn new(
        split: &SplitFiles<'a, 'f>,
        image: &Image<'f>,
        endian: E,
        diagnostics: &mut Diagnostics,
    ) -> Self {
        let package = split.package.as_ref().and_then(|file| {
            note_opened(file, diagnostics);
            // The index is read in the byte order of the program, so another processor must be refused before.
            let package = match foreign(&file.arch, &image.arch) {
                Some(problem) => Err(problem),
                None => Package::new(&file.debug, endian),
            };
            package
                .map_err(|problem| {
                    // Without its package the program still gets units from `.dwo` files.
                    diagnostics.add(Kind::BadPackage, 0, || format!("{}: {problem}", file.path.display()));
                })
                .ok()
        });
        Supply {
            finder: DwoFinder::new(split.options, &image.path),
            package,
            files: split.files,
            names: NamePool::new(split.files),
            arch: image.arch,
            endian,
            closed: AtomicBool::new(false),
        }
    }

    /// From now on skeletons are read without their split units.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
    }
}

/// How the processor of a split file differs from the program's; `None` if it does not.
pub(crate) fn foreign(found: &Arch, expected: &Arch) -> Option<String> {
    let same = (found.machine, found.address_size, found.big_endian)
        == (expected.machine, expected.address_size, expected.big_endian);
    (!same).then(|| format!("made for {}, the program for {}", found.name, expected.name))
}

pub(crate) fn note_opened(file: &SplitFile<'_>, diagnostics: &mut Diagnostics) {
    for note in &file.diagnostics {
        // 0, since an offset in another file would be taken for one in the program.
        diagnostics.add(Kind::Dwo(problem(note.kind)), 0, || format!("{}: {note}", file.path.display()));
    }
}

fn problem(kind: OpenDiagnosticKind) -> DwoProblem {
    match kind {
        OpenDiagnosticKind::UnknownRelocation { .. } => DwoProblem::UnknownRelocation,
        OpenDiagnosticKind::UnrelocatedSection => DwoProblem::UnrelocatedSection,
        OpenDiagnosticKind::BadRelocation => DwoProblem::BadRelocation,
        OpenDiagnosticKind::UnknownCompression => DwoProblem::UnknownCompression,
        OpenDiagnosticKind::TruncatedSection => DwoProblem::TruncatedSection,
        OpenDiagnosticKind::BadSectionName | OpenDiagnosticKind::LongSectionName => {
            DwoProblem::BadSectionName
        }
        _ => DwoProblem::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_problem_keeps_its_first_case() {
        let mut diagnostics = Diagnostics::default();
        for (kind, place) in [
            (OpenDiagnosticKind::UnknownRelocation { machine: 62, kind: 200 }, "a"),
            (OpenDiagnosticKind::UnknownRelocation { machine: 62, kind: 201 }, "b"),
            (OpenDiagnosticKind::TruncatedSection, "c"),
            (OpenDiagnosticKind::UnknownCompression, "d"),
            (OpenDiagnosticKind::TruncatedSection, "e"),
        ] {
            diagnostics.add(Kind::Dwo(problem(kind)), 0, || place.to_owned());
        }
        let seen: Vec<(&str, u64, &str)> =
            diagnostics.iter().map(|(kind, seen)| (kind.name(), seen.count, &*seen.example)).collect();
        let expected = [
            ("dwo_unknown_relocation", 2, "a"),
            ("dwo_unknown_compression", 1, "d"),
            ("dwo_truncated_section", 2, "c"),
        ];
        assert_eq!(seen, expected);
    }
}
