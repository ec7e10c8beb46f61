//! Why an answer of ours may differ from an oracle's: one table of named causes. Each tests its condition on the two answers
//! and the program's symbols, and says in words which side is right. What no cause explains is a defect.

use super::answer::{Answer, Candidate, Difference, Fields, Frame, What, differences};
use super::program::Symbols;
use crate::llvm::{Kind, Symbol};

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
    /// The answer of the other oracle, if both were compared.
    pub(crate) other: Option<&'a Answer>,
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

/// In this order; the first that explains a difference is counted.
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
        name: "a thunk with the code of its method",
        verdict: "ours: the linker folded the thunk and its method; theirs has the method's name with the thunk's line, which is 0",
        explains: line_of_thunk,
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
        name: "a FUNC symbol inside a function",
        verdict: "ours: the DIE of the function covers the code behind the symbol, and its name is that of the whole",
        explains: function_inside,
    },
    Cause {
        name: "a label at the start of a part",
        verdict: "ours: only a NOTYPE symbol starts the part (clang's .cold and .__part), so its DIE names it",
        explains: label_of_part,
    },
    Cause {
        name: "a symbol that starts before the function",
        verdict: "ours: the function has a DIE and no symbol; llvm-symbolizer takes one without a size from below it",
        explains: symbol_below,
    },
    Cause {
        name: "a symbol's version",
        verdict: "both are right: theirs is the symbol with its version (`@GLIBC_2.2.5`), which is no part of a function's name",
        explains: symbol_version,
    },
    Cause {
        name: "a symbol without a size in another section",
        verdict: "ours: the symbol ends with its section, and nothing is known of the code behind it",
        explains: symbol_of_another_section,
    },
    Cause {
        name: "lines outside the unit's ranges",
        verdict: "ours: the line table covers the bytes, and DW_AT_ranges of its unit leaves them out, so theirs finds no unit",
        explains: outside_unit,
    },
    Cause {
        name: "a symbol inside another",
        verdict: "both are right: no DIE covers the address, and one FUNC symbol lies inside the other",
        explains: symbol_inside,
    },
    Cause {
        name: "a symbol around another",
        verdict: "ours: the inner symbol ends before the address and the outer does not; theirs looks at the last to start alone",
        explains: symbol_around,
    },
    Cause {
        name: "padding between functions",
        verdict: "ours: the last row of the function before runs on, but the bytes are nobody's code",
        explains: padding,
    },
    Cause {
        name: "addr2line crate has no symbol table",
        verdict: "ours: the function has no DIE, and the crate reads no symbols",
        explains: no_symbol_table,
    },
    Cause {
        name: "padding behind a symbol without a size",
        verdict: "ours: the bytes up to the next symbol have the function's name; its DIE, which ends before, says where it is declared",
        explains: unsized_padding,
    },
    Cause {
        name: "addr2line crate finds no function",
        verdict: "ours, and llvm-symbolizer agrees: the crate drops functions whose DIEs refer to a partial unit (dwz)",
        explains: function_lost,
    },
    Cause {
        name: "inlined frames without a call line",
        verdict: "ours, as llvm-symbolizer's: strict DWARF 2 has no call_file and call_line, and the crate drops such frames",
        explains: no_call_lines,
    },
    Cause {
        name: "a file by STT_FILE alone",
        verdict: "ours: there is no line information here; llvm-symbolizer shows the STT_FILE symbol before a local symbol",
        explains: file_symbol,
    },
    Cause {
        name: "a file of declaration in an abbreviation",
        verdict: "ours: DW_AT_decl_file is a DW_FORM_implicit_const, which LLVM reads without its unit and so without a file name",
        explains: implicit_file,
    },
    Cause {
        name: "a unit without a folder",
        verdict: "ours, and llvm-symbolizer agrees: without DW_AT_comp_dir the line table's own folder counts; the crate takes none",
        explains: no_folder,
    },
    Cause {
        name: "a path spelled with empty steps",
        verdict: "both are right: the paths differ only in `.` steps and doubled slashes; ours is as llvm-symbolizer's",
        explains: path_steps,
    },
    Cause {
        name: "the column of line 0",
        verdict: "both are right: a column of no line means nothing, and one side does not show it",
        explains: column_of_line_0,
    },
];

/// The largest gap that aligning functions leaves.
const ALIGNMENT: u64 = 64;

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
            let (at, outermost) = (difference.frame, difference.frame + 1 == case.theirs.frames.len());
            let (Some(own), Some(theirs)) = (candidate.frames.get(at), case.theirs.frames.get(at)) else {
                return false;
            };
            outermost
                && match difference.what {
                    // The name may be another symbol of the same candidate.
                    What::Name => candidate.aliases.contains(&theirs.name),
                    // Of code without lines it shows the STT_FILE symbol.
                    What::File => own.file.is_empty() && own.line == 0 && theirs.line == 0,
                    _ => false,
                }
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

/// Theirs is the name of one of our candidates with line 0, and another candidate is a thunk (`_ZThn8_N3One3getEv`): the
/// compiler gives the rows of a thunk line 0.
fn line_of_thunk(case: &Case) -> bool {
    let [theirs] = case.theirs.frames.as_slice() else { return false };
    let names =
        || case.ours.candidates.iter().filter_map(|candidate| candidate.frames.last()).map(|f| &f.name);
    let thunk = |name: &String| ["_ZTh", "_ZTv", "_ZTc"].iter().any(|prefix| name.starts_with(prefix));
    let method = |name: &String| *name == theirs.name && !thunk(name);
    case.oracle == Oracle::Addr2line && theirs.line == 0 && names().any(method) && names().any(thunk)
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
        // llvm-symbolizer shows a DIE's name only if its own search among the symbols finds none.
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

/// Whether our outermost frame comes from a DIE, which shows in its lines.
fn has_die(answer: &Answer) -> bool {
    answer.outermost().is_some_and(|frame| frame.line > 0 || frame.start_line > 0 || answer.frames.len() > 1)
}

/// Theirs is a FUNC symbol that starts after the start of our function. A DIE gives us the name. If the oracle that reads only DIEs was
/// compared, it has that name too.
fn function_inside(case: &Case) -> bool {
    case.oracle == Oracle::Llvm
        && case.outermost_names().is_some_and(|(ours, theirs)| {
            let chosen = case.symbols.llvm_choice(case.address);
            let inside = chosen.is_some_and(|symbol| {
                symbol.kind == Kind::Function
                    && symbol.name == theirs
                    && case.ours.start.is_some_and(|start| start < symbol.address)
            });
            let is_name = |name: &String| name == ours || case.ours.aliases.contains(name);
            let agreed = |other: &Answer| other.outermost().is_some_and(|frame| is_name(&frame.name));
            let declared = case.ours.outermost().is_some_and(|frame| frame.start_line > 0);
            inside && declared && case.other.is_none_or(agreed)
        })
}

/// Theirs is our name with the suffix of a part, by a label that starts it.
fn label_of_part(case: &Case) -> bool {
    case.oracle == Oracle::Llvm
        && case.outermost_names().is_some_and(|(ours, theirs)| {
            let chosen = case.symbols.llvm_choice(case.address);
            let label = chosen.is_some_and(|symbol| symbol.kind == Kind::Label && symbol.name == theirs);
            label && has_die(case.ours) && theirs.strip_prefix(ours).is_some_and(|rest| rest.starts_with('.'))
        })
}

/// Theirs is a symbol without a size, at a lower address than our function, whose start has no symbol.
fn symbol_below(case: &Case) -> bool {
    let Some(start) = case.ours.start else { return false };
    case.oracle == Oracle::Llvm
        && case.outermost_names().is_some_and(|(_, theirs)| {
            let chosen = case.symbols.llvm_choice(case.address).filter(|symbol| symbol.name == theirs);
            let below = chosen.is_some_and(|symbol| symbol.address < start && symbol.size == 0);
            below && has_die(case.ours) && case.symbols.at(start).is_empty()
        })
}

/// Theirs is a symbol with a version; without it, it is our name or one of our aliases.
fn symbol_version(case: &Case) -> bool {
    case.outermost_names().is_some_and(|(ours, theirs)| {
        let listed = |name: &str| name == ours || case.ours.aliases.iter().any(|alias| alias == name);
        let symbol = case.symbols.named(theirs).any(|symbol| symbol.covers(case.address));
        symbol && theirs.split_once('@').is_some_and(|(name, _)| listed(name))
    })
}

/// We know nothing; theirs is a symbol without a size that starts outside the section of the address.
fn symbol_of_another_section(case: &Case) -> bool {
    let [theirs] = case.theirs.frames.as_slice() else { return false };
    let chosen = case.symbols.llvm_choice(case.address).filter(|symbol| symbol.name == theirs.name);
    case.oracle == Oracle::Llvm
        && case.ours.frames.is_empty()
        && theirs.line == 0
        && chosen.is_some_and(|symbol| {
            let other = !case.symbols.one_section(symbol.address, case.address);
            symbol.size == 0 && (other || case.symbols.ends_section(symbol.address))
        })
}

/// They know nothing. We know a line and no function, at an address that no symbol with a size covers.
fn outside_unit(case: &Case) -> bool {
    let [ours] = case.ours.frames.as_slice() else { return false };
    case.theirs.frames.is_empty()
        && ours.name.is_empty()
        && !ours.file.is_empty()
        && case.symbols.llvm_choice(case.address).is_none()
}

/// Both names are FUNC symbols over the address, one around the other, and neither side knows a line.
fn symbol_inside(case: &Case) -> bool {
    let around = |name: &str| {
        let function = |symbol: &&Symbol| symbol.kind == Kind::Function && symbol.size > 0;
        case.symbols.named(name).filter(function).find(|symbol| symbol.covers(case.address))
    };
    let no_line = |answer: &Answer| answer.frames.len() == 1 && answer.frames[0].line == 0;
    case.oracle == Oracle::Llvm
        && no_line(case.ours)
        && no_line(case.theirs)
        && case.outermost_names().is_some_and(|(ours, theirs)| match (around(ours), around(theirs)) {
            (Some(a), Some(b)) => {
                let holds = |a: &Symbol, b: &Symbol| {
                    a.address <= b.address && b.address - a.address + b.size <= a.size && a.size > b.size
                };
                holds(a, b) || holds(b, a)
            }
            _ => false,
        })
}

/// They know nothing, since the symbol that starts last before the address ends before it; ours starts before that one, and
/// its size reaches the address. No DIE and no line is known.
fn symbol_around(case: &Case) -> bool {
    let [ours] = case.ours.frames.as_slice() else { return false };
    let sized = case.our_symbol(&ours.name).filter(|symbol| symbol.size > 0);
    case.oracle == Oracle::Llvm
        && case.theirs.frames.is_empty()
        && ours.line == 0
        && ours.start_line == 0
        && case.symbols.llvm_choice(case.address).is_none()
        && sized.is_some_and(|ours| {
            case.symbols.last_before(case.address).is_some_and(|last| ours.address < last.address)
        })
}

/// We know nothing, they know a line but no function, between two symbols that are less than an alignment apart.
fn padding(case: &Case) -> bool {
    let [theirs] = case.theirs.frames.as_slice() else { return false };
    case.ours.frames.is_empty()
        && theirs.name.is_empty()
        && case.symbols.gap(case.address).is_some_and(|gap| gap < ALIGNMENT)
}

/// They know a line without a function; the other oracle knows the function and agrees with us in all.
fn function_lost(case: &Case) -> bool {
    let ([theirs], Some(row)) = (case.theirs.frames.as_slice(), case.ours.frames.first()) else {
        return false;
    };
    let same_row = theirs.name.is_empty() && theirs.file == row.file && theirs.line == row.line;
    let agreed = |other: &Answer| differences(&case.ours.frames, &other.frames, case.fields).is_empty();
    case.oracle == Oracle::Addr2line && same_row && case.other.is_some_and(agreed)
}

/// Their only frame is our outermost function with our innermost line, and none of our calls has a place.
fn no_call_lines(case: &Case) -> bool {
    let ([theirs], [row, calls @ ..]) = (case.theirs.frames.as_slice(), case.ours.frames.as_slice()) else {
        return false;
    };
    let outermost = calls.last().is_some_and(|frame| frame.name == theirs.name);
    let no_places = calls.iter().all(|frame| frame.file.is_empty() && frame.line == 0);
    let same_row = theirs.file == row.file && theirs.line == row.line;
    case.oracle == Oracle::Addr2line && outermost && no_places && same_row
}

/// They know no function; we know one frame, by a symbol that covers the address.
fn no_symbol_table(case: &Case) -> bool {
    let [ours] = case.ours.frames.as_slice() else { return false };
    let from_symbol = case.symbols.named(&ours.name).any(|symbol| symbol.covers(case.address));
    let nothing = case.theirs.frames.is_empty() && ours.line == 0 && ours.start_line == 0;
    // A line without a function: a unit with line information only.
    let no_name = case.outermost_names().is_some_and(|(_, theirs)| theirs.is_empty());
    case.oracle == Oracle::Addr2line && from_symbol && (nothing || no_name)
}

/// In an object file we have the function whose symbol has no size (Mach-O) and extends to the address, with the line of the last row,
/// which extends to it too. Theirs has the same from the symbol, and so no declaration, or reads no symbols.
fn unsized_padding(case: &Case) -> bool {
    let ([ours], Some(start)) = (case.ours.frames.as_slice(), case.ours.start) else { return false };
    let named = |symbol: &Symbol| symbol.name == ours.name && symbol.size == 0 && symbol.covers(case.address);
    let same = match (case.oracle, case.theirs.frames.as_slice()) {
        (Oracle::Addr2line, []) => ours.file.is_empty() && ours.line == 0,
        (Oracle::Llvm, [theirs]) => {
            matches!(case.difference.what, What::StartFile | What::StartLine)
                && theirs.start_file.is_empty()
                && theirs.start_line == 0
                && (&theirs.name, &theirs.file, theirs.line) == (&ours.name, &ours.file, ours.line)
        }
        _ => false,
    };
    same && case.symbols.at(start).iter().any(named)
}

/// Theirs is the end of our path, and relative; the other oracle has ours.
fn no_folder(case: &Case) -> bool {
    let Some((ours, theirs)) = case.pair().filter(|_| case.difference.what == What::File) else {
        return false;
    };
    let folder = ours.file.strip_suffix(&*theirs.file).filter(|_| !theirs.file.is_empty());
    let agreed =
        |other: &Answer| other.frames.get(case.difference.frame).is_some_and(|f| f.file == ours.file);
    case.oracle == Oracle::Addr2line
        && !theirs.file.starts_with('/')
        && folder.is_some_and(|folder| folder.ends_with('/'))
        && case.other.is_some_and(agreed)
}

/// Theirs knows the line of the declaration and not its file, in a program whose abbreviations have such files.
fn implicit_file(case: &Case) -> bool {
    case.oracle == Oracle::Llvm
        && case.difference.what == What::StartFile
        && case.symbols.has_implicit_files()
        && case.pair().is_some_and(|(ours, theirs)| {
            let same_line = ours.start_line > 0 && ours.start_line == theirs.start_line;
            same_line && theirs.start_file.is_empty() && !ours.start_file.is_empty()
        })
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
    let no_line = |frame: &Frame| frame.line == 0;
    case.difference.what == What::Column
        && case.pair().is_some_and(|(ours, theirs)| {
            no_line(ours) && no_line(theirs) && (ours.column == 0 || theirs.column == 0)
        })
}

#[cfg(test)]
mod tests;
