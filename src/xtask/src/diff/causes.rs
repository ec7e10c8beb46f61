//! Why an answer of ours may differ from an oracle's: one table of named causes. Each tests its condition on the two answers
//! and the program's symbols, and says in words which side is right. What no cause explains is a defect.

use super::answer::{Answer, Candidate, Difference, Fields, Frame, What, differences};
use super::program::{Kind, Symbol, Symbols};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Oracle {
    Llvm,
    Addr2line,
}

impl Oracle {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Oracle::Llvm => "llvm-symbolizer",
            Oracle::Addr2line => "addr2line",
        }
    }
}

/// One part in which an oracle differs from us at one address.
pub(crate) struct Case<'a> {
    pub(crate) oracle: Oracle,
    pub(crate) address: u64,
    pub(crate) ours: &'a Answer,
    pub(crate) theirs: &'a Answer,
    pub(crate) symbols: &'a Symbols,
    pub(crate) fields: Fields,
    pub(crate) difference: Difference,
}

pub(crate) struct Cause {
    pub(crate) name: &'static str,
    /// Which side is right, and why.
    pub(crate) verdict: &'static str,
    pub(crate) explains: fn(&Case) -> bool,
}

/// In the order in which they are asked; the first that explains a difference is counted.
pub(crate) const CAUSES: &[Cause] = &[
    Cause {
        name: "several functions at one address",
        verdict: "both are right: the linker folded them, and theirs is one of our candidates, frame by frame",
        explains: several_functions,
    },
    Cause {
        name: "several functions at one address, mixed",
        verdict: "ours: theirs has the name of one folded function with the lines or the inlined frames of another",
        explains: mixed_functions,
    },
    Cause {
        name: "several symbols at one address",
        verdict: "both are right: the names stand at one address and theirs is one of our aliases",
        explains: several_symbols,
    },
    Cause {
        name: "outermost name: the symbol table's vs the DIE's",
        verdict: "ours: the FUNC symbol that starts the piece says more (foo.cold, foo.isra.0) than the name in the DIE",
        explains: symbol_or_die,
    },
    Cause {
        name: "a label inside a function",
        verdict: "ours: a NOTYPE symbol inside a function does not rename the code behind it",
        explains: label_inside,
    },
    Cause {
        name: "addr2line crate has no symbol table",
        verdict: "ours: the function has no DIE, and the crate reads no symbols",
        explains: no_symbol_table,
    },
    Cause {
        name: "a file by STT_FILE alone",
        verdict: "ours: there is no line information here; llvm-symbolizer shows the STT_FILE symbol before a local symbol",
        explains: file_symbol,
    },
    Cause {
        name: "a path spelled with empty steps",
        verdict: "both are right: the paths differ only in `.` steps and doubled slashes; ours is as llvm-symbolizer's",
        explains: path_steps,
    },
    Cause {
        name: "the column of line 0",
        verdict: "ours: the row has a column, as llvm-symbolizer shows too; the crate gives none where the line is 0",
        explains: column_of_line_0,
    },
];

impl Case<'_> {
    /// Our frame and theirs of a difference inside a frame.
    fn pair(&self) -> Option<(&Frame, &Frame)> {
        let index = self.difference.frame;
        Some((self.ours.frames.get(index)?, self.theirs.frames.get(index)?))
            .filter(|_| self.difference.what != What::Depth)
    }

    /// Our outermost name and theirs, if that is what differs.
    fn outermost_names(&self) -> Option<(&str, &str)> {
        let (ours, theirs) = self.pair().filter(|_| self.difference.what == What::Name)?;
        (self.difference.frame + 1 == self.ours.frames.len()).then_some((&ours.name, &theirs.name))
    }

    /// The FUNC symbol with our outermost name that starts our piece.
    fn our_symbol(&self, name: &str) -> Option<&Symbol> {
        let start = self.ours.start?;
        let function = |symbol: &&Symbol| symbol.kind == Kind::Function && symbol.name == name;
        self.symbols.at(start).iter().find(function).filter(|symbol| symbol.covers(self.address))
    }
}

/// One of our candidates equals their whole answer.
fn several_functions(case: &Case) -> bool {
    let equal = |candidate: &Candidate| {
        differences(&candidate.frames, &case.theirs.frames, case.fields).iter().all(|difference| {
            // The name may be another symbol of the same candidate.
            let name = case.theirs.frames.get(difference.frame).map(|frame| &frame.name);
            let outermost = difference.frame + 1 == case.theirs.frames.len();
            difference.what == What::Name
                && outermost
                && name.is_some_and(|name| candidate.aliases.contains(name))
        })
    };
    case.ours.candidates.len() > 1 && case.ours.candidates.iter().any(equal)
}

/// Their answer is put together from our candidates: the innermost file, line and column of one, the inlined frames and
/// their calls of one, the outermost name of one.
fn mixed_functions(case: &Case) -> bool {
    let candidates = &case.ours.candidates;
    let (Some(inner), Some(outer)) = (case.theirs.frames.first(), case.theirs.frames.last()) else {
        return false;
    };
    let same_row = |frame: &Frame| {
        let column = !case.fields.columns || frame.column == inner.column;
        frame.file == inner.file && frame.line == inner.line && column
    };
    let row = candidates.iter().filter_map(|candidate| candidate.frames.first()).any(same_row);
    let name = candidates.iter().any(|candidate| {
        let own = candidate.frames.last().is_some_and(|frame| frame.name == outer.name);
        own || candidate.aliases.contains(&outer.name)
    });
    let scopes = |candidate: &Candidate| {
        let mut frames = candidate.frames.clone();
        if let Some(first) = frames.first_mut() {
            (first.file, first.line, first.column) = (inner.file.clone(), inner.line, inner.column);
        }
        if let Some(last) = frames.last_mut() {
            last.name.clone_from(&outer.name);
        }
        differences(&frames, &case.theirs.frames, case.fields).is_empty()
    };
    candidates.len() > 1 && row && name && candidates.iter().any(scopes)
}

fn several_symbols(case: &Case) -> bool {
    case.outermost_names().is_some_and(|(_, theirs)| {
        let listed = case.ours.aliases.iter().any(|alias| alias == theirs);
        listed && case.symbols.named(theirs).any(|symbol| symbol.covers(case.address))
    })
}

/// Ours is the FUNC symbol that starts the piece. Theirs is no symbol at all, so it is a DIE's name; or it is the function
/// that ours is a part or a copy of.
fn symbol_or_die(case: &Case) -> bool {
    case.outermost_names().is_some_and(|(ours, theirs)| {
        let part = ours.strip_prefix(theirs).is_some_and(|rest| rest.starts_with('.'));
        // llvm-symbolizer shows a DIE's name only where its own search among the symbols finds none.
        let from_die = case.oracle == Oracle::Addr2line || case.symbols.llvm_choice(case.address).is_none();
        let only_in_die = !theirs.is_empty() && case.symbols.named(theirs).next().is_none();
        case.our_symbol(ours).is_some() && from_die && (part || only_in_die)
    })
}

/// Theirs is a label between the start of our function and the address. Our function reaches the address: by its symbol, or
/// by a DIE, which shows in the line that both have.
fn label_inside(case: &Case) -> bool {
    case.oracle == Oracle::Llvm
        && case.outermost_names().is_some_and(|(ours, theirs)| {
            let chosen = case.symbols.llvm_choice(case.address);
            let label = chosen.filter(|symbol| symbol.kind == Kind::Label && symbol.name == theirs);
            let reached = case.our_symbol(ours).is_some()
                || case.ours.outermost().is_some_and(|frame| frame.line > 0 && frame.start_line > 0);
            label.is_some_and(|label| case.ours.start.is_some_and(|start| start < label.address)) && reached
        })
}

/// They know no function; we know one frame, by a symbol that covers the address.
fn no_symbol_table(case: &Case) -> bool {
    let [ours] = case.ours.frames.as_slice() else { return false };
    let from_symbol = case.symbols.named(&ours.name).any(|symbol| symbol.covers(case.address));
    let nothing = case.theirs.frames.is_empty() && ours.file.is_empty() && ours.line == 0;
    // A line without a function: a unit with line information only.
    let no_name = case.outermost_names().is_some_and(|(_, theirs)| theirs.is_empty());
    case.oracle == Oracle::Addr2line && from_symbol && (nothing || no_name)
}

fn file_symbol(case: &Case) -> bool {
    case.oracle == Oracle::Llvm
        && case.difference.what == What::File
        && case.pair().is_some_and(|(ours, theirs)| {
            let chosen = case.symbols.llvm_choice(case.address).and_then(|symbol| symbol.file.as_ref());
            ours.file.is_empty() && theirs.line == 0 && ours.line == 0 && chosen == Some(&theirs.file)
        })
}

fn path_steps(case: &Case) -> bool {
    let plain = |path: &str| -> Vec<String> {
        let steps = path
            .split('/')
            .enumerate()
            .filter(|(index, step)| *step != "." && (*index == 0 || !step.is_empty()));
        steps.map(|(_, step)| step.to_owned()).collect()
    };
    case.oracle == Oracle::Addr2line
        && case.difference.what == What::File
        && case.pair().is_some_and(|(ours, theirs)| plain(&ours.file) == plain(&theirs.file))
}

fn column_of_line_0(case: &Case) -> bool {
    case.oracle == Oracle::Addr2line
        && case.difference.what == What::Column
        && case.pair().is_some_and(|(ours, theirs)| ours.line == 0 && theirs.line == 0 && theirs.column == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(name: &str, file: &str, line: u64) -> Frame {
        Frame { name: name.into(), file: file.into(), line, start_line: line, ..Frame::default() }
    }

    fn answer(frames: &[Frame], start: u64) -> Answer {
        Answer { frames: frames.to_vec(), start: Some(start), ..Answer::default() }
    }

    fn symbol(address: u64, size: u64, kind: Kind, name: &str, file: Option<&str>) -> Symbol {
        Symbol { address, size, kind, name: name.into(), file: file.map(str::to_owned) }
    }

    fn symbols() -> Symbols {
        Symbols::new(vec![
            symbol(0x10, 0x20, Kind::Function, "f", None),
            symbol(0x18, 0, Kind::Label, "label", None),
            symbol(0x40, 0x10, Kind::Function, "g.cold", None),
            symbol(0x60, 0x10, Kind::Function, "read", None),
            symbol(0x60, 0x10, Kind::Function, "__read", None),
            symbol(0x80, 0x10, Kind::Function, "local", Some("a.c")),
        ])
    }

    /// The causes that explain every difference between two answers, or `None` where one is left.
    fn explained(oracle: Oracle, address: u64, ours: &Answer, theirs: &Answer) -> Option<Vec<&'static str>> {
        let symbols = symbols();
        let fields = Fields { columns: true, starts: false };
        differences(&ours.frames, &theirs.frames, fields)
            .into_iter()
            .map(|difference| {
                let case = Case { oracle, address, ours, theirs, symbols: &symbols, fields, difference };
                CAUSES.iter().find(|cause| (cause.explains)(&case)).map(|cause| cause.name)
            })
            .collect()
    }

    #[test]
    fn a_wrong_line_has_no_cause() {
        for oracle in [Oracle::Llvm, Oracle::Addr2line] {
            let (ours, theirs) =
                (answer(&[frame("f", "a.c", 1)], 0x10), answer(&[frame("f", "a.c", 2)], 0x10));
            assert_eq!(explained(oracle, 0x12, &ours, &theirs), None);
            assert_eq!(explained(oracle, 0x12, &ours, &answer(&[frame("f", "b.c", 1)], 0x10)), None);
            assert_eq!(explained(oracle, 0x12, &ours, &answer(&[frame("read", "a.c", 1)], 0x10)), None);
            assert_eq!(explained(oracle, 0x12, &ours, &Answer::default()), None);
            assert_eq!(explained(oracle, 0x12, &Answer::default(), &ours), None);
            assert_eq!(explained(oracle, 0x12, &ours, &ours), Some(vec![]));
        }
    }

    #[test]
    fn candidates_explain_only_what_equals_one_of_them() {
        let mut ours = answer(&[frame("f", "a.c", 1)], 0x10);
        let theirs = answer(&[frame("h2", "h.c", 9)], 0x10);
        let h = Candidate { frames: vec![frame("h", "h.c", 9)], aliases: vec!["h2".into()] };
        ours.candidates = vec![Candidate { frames: ours.frames.clone(), aliases: vec![] }, h];
        let cause = "several functions at one address";
        assert_eq!(explained(Oracle::Llvm, 0x12, &ours, &theirs), Some(vec![cause; 3]));
        let mixed = "several functions at one address, mixed";
        assert_eq!(
            explained(Oracle::Llvm, 0x12, &ours, &answer(&[frame("h", "a.c", 1)], 0x10)),
            Some(vec![mixed])
        );
        // A line of one and a file of another, or a name that no candidate has, is neither.
        assert_eq!(explained(Oracle::Llvm, 0x12, &ours, &answer(&[frame("h", "a.c", 9)], 0x10)), None);
        assert_eq!(explained(Oracle::Llvm, 0x12, &ours, &answer(&[frame("x", "a.c", 1)], 0x10)), None);
        assert_eq!(explained(Oracle::Llvm, 0x12, &ours, &answer(&[frame("h", "h.c", 8)], 0x10)), None);
    }

    #[test]
    fn aliases_stand_at_the_address() {
        let mut ours = answer(&[frame("read", "r.c", 1)], 0x60);
        let theirs = answer(&[frame("__read", "r.c", 1)], 0x60);
        assert_eq!(explained(Oracle::Llvm, 0x62, &ours, &theirs), None);
        ours.aliases = vec!["__read".into()];
        assert_eq!(
            explained(Oracle::Llvm, 0x62, &ours, &theirs),
            Some(vec!["several symbols at one address"])
        );
        assert_eq!(explained(Oracle::Llvm, 0x90, &ours, &theirs), None);
    }

    #[test]
    fn the_symbol_of_a_piece_wins_over_the_die() {
        let cause = Some(vec!["outermost name: the symbol table's vs the DIE's"]);
        let cold = answer(&[frame("g.cold", "g.c", 1)], 0x40);
        assert_eq!(explained(Oracle::Addr2line, 0x42, &cold, &answer(&[frame("g", "g.c", 1)], 0)), cause);
        // llvm-symbolizer reads the same symbol, so it has no reason to differ.
        assert_eq!(explained(Oracle::Llvm, 0x42, &cold, &answer(&[frame("g", "g.c", 1)], 0)), None);
        // A name that another symbol has is another function.
        assert_eq!(explained(Oracle::Addr2line, 0x42, &cold, &answer(&[frame("f", "g.c", 1)], 0)), None);
        // Our name must be that of a symbol at the start of our piece.
        let wrong = answer(&[frame("g.cold", "g.c", 1)], 0x41);
        assert_eq!(explained(Oracle::Addr2line, 0x42, &wrong, &answer(&[frame("g", "g.c", 1)], 0)), None);
    }

    #[test]
    fn labels_rename_only_for_llvm_and_behind_them() {
        let cause = Some(vec!["a label inside a function"]);
        let ours = answer(&[frame("f", "f.s", 1)], 0x10);
        let theirs = answer(&[frame("label", "f.s", 1)], 0x18);
        assert_eq!(explained(Oracle::Llvm, 0x1a, &ours, &theirs), cause);
        assert_eq!(explained(Oracle::Addr2line, 0x1a, &ours, &theirs), None);
        assert_eq!(explained(Oracle::Llvm, 0x12, &ours, &theirs), None);
        let unrelated = Answer { start: Some(0x18), ..ours };
        assert_eq!(explained(Oracle::Llvm, 0x1a, &unrelated, &theirs), None);
    }

    #[test]
    fn a_symbol_without_a_die_is_unknown_to_the_crate() {
        let cause = Some(vec!["addr2line crate has no symbol table"]);
        let ours = answer(&[frame("read", "", 0)], 0x60);
        assert_eq!(explained(Oracle::Addr2line, 0x62, &ours, &Answer::default()), cause);
        assert_eq!(explained(Oracle::Addr2line, 0x72, &ours, &Answer::default()), None);
        assert_eq!(explained(Oracle::Llvm, 0x62, &ours, &Answer::default()), None);
        let (line, nameless) = (answer(&[frame("read", "r.c", 1)], 0x60), answer(&[frame("", "r.c", 1)], 0));
        assert_eq!(explained(Oracle::Addr2line, 0x62, &line, &nameless), cause);
        assert_eq!(explained(Oracle::Addr2line, 0x62, &line, &Answer::default()), None);
    }

    #[test]
    fn a_file_symbol_is_no_line_information() {
        let ours = answer(&[frame("local", "", 0)], 0x80);
        assert_eq!(
            explained(Oracle::Llvm, 0x82, &ours, &answer(&[frame("local", "a.c", 0)], 0x80)),
            Some(vec!["a file by STT_FILE alone"])
        );
        assert_eq!(explained(Oracle::Llvm, 0x82, &ours, &answer(&[frame("local", "b.c", 0)], 0x80)), None);
    }

    #[test]
    fn spellings_of_a_path_are_one_path() {
        let with = |path: &str| answer(&[frame("f", path, 1)], 0x10);
        let cause = Some(vec!["a path spelled with empty steps"]);
        assert_eq!(explained(Oracle::Addr2line, 0x12, &with("/a/./b//c.c"), &with("/a/b/c.c")), cause);
        assert_eq!(explained(Oracle::Addr2line, 0x12, &with("/a/../c.c"), &with("/c.c")), None);
        assert_eq!(explained(Oracle::Addr2line, 0x12, &with("a.c"), &with("/a.c")), None);
    }

    #[test]
    fn the_crate_has_no_column_at_line_0() {
        let with = |line, column| answer(&[Frame { column, ..frame("f", "f.c", line) }], 0x10);
        let cause = Some(vec!["the column of line 0"]);
        assert_eq!(explained(Oracle::Addr2line, 0x12, &with(0, 5), &with(0, 0)), cause);
        assert_eq!(explained(Oracle::Addr2line, 0x12, &with(0, 5), &with(0, 4)), None);
        assert_eq!(explained(Oracle::Addr2line, 0x12, &with(1, 5), &with(1, 0)), None);
        assert_eq!(explained(Oracle::Llvm, 0x12, &with(0, 5), &with(0, 0)), None);
    }
}
