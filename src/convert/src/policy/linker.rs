//! The linker policy: which linkers fold functions, and what they leave of a function that they folded.
//!
//! To add a linker: a variant of [`Linker`], a row in [`MARKS`] if a program of ELF names it, and a row in [`Linker::policy`].

use crate::toolchain::linkers::{OF_BOLT, OF_GO, OF_GOLD, names, names_linker};

/// The linker that made a program, as far as the program shows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Linker {
    /// The file does not say.
    #[default]
    Unknown,
    /// The file does not say, but Go's tools built it: with Go's own linker, which folds nothing, or with an external linker.
    PerhapsOfGo,
    /// lld, and BOLT, which folds after the link.
    Lld,
    /// ld64 and ld64.lld.
    Apple,
    /// mold before 2.2.
    Mold,
    /// mold from 2.2 on.
    Mold2,
    Gold,
    /// GNU ld: `.comment` has the names of compilers, and of no linker that folds.
    Bfd,
    /// No linker made it: an object file of Mach-O.
    NotLinked,
}

/// Whether a linker folds functions with the same code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Folds {
    Never,
    /// With an option, which a program does not show.
    May,
    Unknown,
}

/// The symbols of functions that a linker folded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FoldedSymbols {
    /// All are in the symbol table, at the address of the function that remains.
    Kept,
    /// Those that are local to an object are dropped.
    LocalDropped,
    /// All are dropped, or none: an option decides, which a program does not show.
    AllOrNone,
    Dropped,
    /// Unknown, or no function is folded.
    Unknown,
}

/// What a linker does. A column of this table is added where a step of the conversion needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LinkerPolicy {
    pub(crate) folds: Folds,
    pub(crate) folded_symbols: FoldedSymbols,
    /// The symbols of an object stay in its order ([`crate::policy::order`]).
    pub(crate) keeps_order: bool,
    /// Any global symbol of a program may become local.
    pub(crate) localizes: bool,
}

/// What a program has that shows its linker.
#[derive(Clone, Copy)]
enum Mark {
    /// A section that only this linker writes.
    Section(&'static [u8]),
    /// A word of `.comment`. With a version: that version or a later one follows it, or what follows cannot be read.
    Comment(&'static [u8], Option<(u32, u32)>),
}

/// The marks of linkers. The first that a program has counts, and of two linkers of a build the first ([`Linker::joined`]). gold comes before the others: it writes no name into `.comment`, so a
/// `.comment` with compilers alone would look like that of GNU ld. BOLT comes last: its input may be of any linker.
const MARKS: &[(Mark, Linker)] = &[
    (Mark::Section(OF_GOLD), Linker::Gold),
    // Objects that an older mold joined (`-r`) keep its name beside that of the last one.
    (Mark::Comment(b"mold", Some((2, 2))), Linker::Mold2),
    (Mark::Comment(b"mold", None), Linker::Mold),
    (Mark::Comment(b"LLD", None), Linker::Lld),
    (Mark::Section(OF_BOLT), Linker::Lld),
];

impl Linker {
    /// What this linker does.
    pub(crate) fn policy(self) -> LinkerPolicy {
        use FoldedSymbols::{AllOrNone, Dropped, Kept, LocalDropped};
        let row = |folds, folded_symbols, [keeps_order, localizes]: [bool; 2]| LinkerPolicy {
            folds,
            folded_symbols,
            keeps_order,
            localizes,
        };
        match self {
            Linker::Unknown => row(Folds::Unknown, FoldedSymbols::Unknown, [false, false]),
            Linker::PerhapsOfGo => row(Folds::Unknown, FoldedSymbols::Unknown, [false, false]),
            Linker::Lld => row(Folds::May, Kept, [true, false]),
            // Nobody has looked at the order of their symbols.
            Linker::Apple => row(Folds::May, Kept, [false, false]),
            // It drops them with `--gc-sections`.
            Linker::Mold => row(Folds::May, AllOrNone, [true, true]),
            Linker::Mold2 => row(Folds::May, Dropped, [true, true]),
            Linker::Gold => row(Folds::May, LocalDropped, [false, false]),
            Linker::Bfd => row(Folds::Never, FoldedSymbols::Unknown, [false, false]),
            Linker::NotLinked => row(Folds::Never, FoldedSymbols::Unknown, [false, false]),
        }
    }

    /// The linker of an ELF file, by the names that linkers and compilers leave in it. `section`: the bytes of a section.
    pub(crate) fn of<'f>(section: impl Fn(&[u8]) -> Option<&'f [u8]>) -> Linker {
        let comment = section(b".comment");
        let has = |mark: &Mark| match mark {
            Mark::Section(name) => section(name).is_some(),
            Mark::Comment(word, from) => comment.is_some_and(|comment| names(comment, word, *from)),
        };
        let marked = MARKS.iter().find(|(mark, _)| has(mark)).map(|(_, linker)| *linker);
        match (marked, comment) {
            (Some(Linker::Gold), _) => Linker::Gold,
            // Go's own linker writes no `.comment`. But Go may also have called another linker, and someone removed `.comment`.
            (None, None) if section(OF_GO).is_some() => Linker::PerhapsOfGo,
            // In a separate debug file `.comment` may have no bytes (`SHT_NOBITS`).
            (_, None | Some([])) => Linker::Unknown,
            (Some(linker), _) => linker,
            (None, Some(comment)) if names_linker(comment) => Linker::Unknown,
            (None, Some(_)) => Linker::Bfd,
        }
    }

    /// The linker of a build, by those of the program (`self`) and its separate debug file. Either may have lost its `.comment`: `strip`
    /// can remove it, and in a debug file it may have no bytes. A linker that can fold wins, since the compilers alone of the other
    /// file look like GNU ld.
    pub(crate) fn joined(self, other: Linker) -> Linker {
        let known = MARKS.iter().map(|(_, linker)| *linker).find(|linker| [self, other].contains(linker));
        known.unwrap_or(if self == Linker::Unknown { other } else { self })
    }

    /// What is known about the linker after all units were read. `all_of_go` is true if Go compiled all of them. Then nothing
    /// was folded even by an external linker: Go gives it all its functions in one section, and linkers fold whole sections.
    /// With units of other compilers, an external linker may have folded their functions.
    pub(crate) fn with_units(self, all_of_go: bool) -> Linker {
        match self {
            Linker::PerhapsOfGo if all_of_go => Linker::NotLinked,
            Linker::PerhapsOfGo => Linker::Unknown,
            known => known,
        }
    }

    /// True unless the linker is known to fold no functions.
    pub(crate) fn may_fold(self) -> bool {
        self.policy().folds != Folds::Never
    }

    /// True for a linker that can fold functions, with or without the option that makes it do so.
    pub(crate) fn is_folding(self) -> bool {
        self.policy().folds == Folds::May
    }

    /// True if the linker is known to keep the symbols of all functions that it folds, at least without an option.
    pub(crate) fn keeps_symbols(self) -> bool {
        matches!(self.policy().folded_symbols, FoldedSymbols::Kept | FoldedSymbols::AllOrNone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The linker of a file with these sections.
    fn of(sections: &[(&str, &'static [u8])]) -> Linker {
        let section =
            |name: &[u8]| sections.iter().find(|(own, _)| own.as_bytes() == name).map(|(_, bytes)| *bytes);
        Linker::of(section)
    }

    fn named(comment: &'static [u8]) -> Linker {
        of(&[(".comment", comment)])
    }

    /// The certainty `unique` depends on whether the linker may have folded functions. An unknown linker may have.
    #[test]
    fn linkers_are_known_by_what_they_leave() {
        let gcc = b"GCC: (Debian 12.2.0-14) 12.2.0\0";
        assert_eq!(named(gcc), Linker::Bfd);
        assert_eq!(named(b"Debian clang version 22.1.8\0rustc version 1.95.0\0"), Linker::Bfd);
        assert_eq!(named(b"Linker: LLD 22.1.8\0clang version 22.1.8\0"), Linker::Lld);
        assert_eq!(named(b"GCC: 12\0mold 1.10.1 (compatible with GNU ld)\0"), Linker::Mold);
        assert_eq!(named(b"mold 2.1.0 (compatible with GNU ld)\0GCC: 12\0"), Linker::Mold);
        assert_eq!(named(b"GCC: 12\0mold 2.40 (compatible with GNU ld)\0"), Linker::Mold2);
        assert_eq!(named(b"mold 3.0.0 (compatible with GNU ld)\0GCC: 16\0"), Linker::Mold2);
        // Where no version can be read, the newest is assumed.
        assert_eq!(named(b"mold\0GCC: 16\0"), Linker::Mold2);
        assert_eq!(named(b"mold main (abc123; compatible with GNU ld)\0"), Linker::Mold2);
        assert_eq!(of(&[(".comment", gcc), (".note.gnu.gold-version", b"")]), Linker::Gold);
        assert_eq!(of(&[(".comment", gcc), (".note.bolt_info", b"")]), Linker::Lld);
        assert_eq!(named(b"IAR ELF Linker V9.50 for ARM\0"), Linker::Unknown);
        assert_eq!(named(b"Component: ARM Compiler 5.06 Tool: armlink\0"), Linker::Unknown);
        assert_eq!(named(b""), Linker::Unknown);
        assert_eq!(of(&[]), Linker::Unknown);
        assert_eq!(of(&[(".note.go.buildid", b"")]), Linker::PerhapsOfGo);
        assert_eq!(of(&[(".note.go.buildid", b""), (".note.bolt_info", b"")]), Linker::Unknown);
        assert!(!Linker::PerhapsOfGo.with_units(true).may_fold());
        assert_eq!(Linker::PerhapsOfGo.with_units(false), Linker::Unknown);
        assert_eq!(Linker::Unknown.with_units(true), Linker::Unknown);
    }

    #[test]
    fn a_linker_that_folds_wins() {
        for (program, file, joined) in [
            (Linker::Unknown, Linker::Bfd, Linker::Bfd),
            (Linker::Bfd, Linker::Unknown, Linker::Bfd),
            (Linker::Bfd, Linker::Lld, Linker::Lld),
            (Linker::Mold2, Linker::Mold, Linker::Mold2),
            (Linker::Lld, Linker::Gold, Linker::Gold),
        ] {
            assert_eq!(program.joined(file), joined, "{program:?} and {file:?}");
        }
    }

    #[test]
    fn what_each_linker_leaves_of_folded_functions() {
        for (linker, may_fold, is_folding, keeps_symbols) in [
            (Linker::Unknown, true, false, false),
            (Linker::Lld, true, true, true),
            (Linker::Apple, true, true, true),
            (Linker::Mold, true, true, true),
            (Linker::Mold2, true, true, false),
            (Linker::Gold, true, true, false),
            (Linker::Bfd, false, false, false),
        ] {
            let found = (linker.may_fold(), linker.is_folding(), linker.keeps_symbols());
            assert_eq!(found, (may_fold, is_folding, keeps_symbols), "{linker:?}");
        }
    }
}
