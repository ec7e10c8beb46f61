//! The plain form in which the answers of a program and of a file are compared, and the words for a difference.

use std::fmt::Write;

use crate::model::Reason;

/// One frame. An unknown text is empty, an unknown number 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FrameWords<'a> {
    pub(super) name: &'a [u8],
    pub(super) file: &'a [u8],
    pub(super) line: u32,
    pub(super) column: u32,
    /// Where the frame's function is declared.
    pub(super) start_file: &'a [u8],
    pub(super) start_line: u32,
}

/// One function at an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MemberWords<'a> {
    /// The evidence that recovered it, for a member of a group.
    pub(super) how: Option<&'static str>,
    /// Inlined frames are unknown.
    pub(super) partial: bool,
    /// Why it is not certain that no other function has its code.
    pub(super) reason: Option<Reason>,
    pub(super) aliases: Vec<&'a [u8]>,
    /// Innermost first.
    pub(super) frames: Vec<FrameWords<'a>>,
}

/// The answer at an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answer<'a> {
    /// Where the function's range starts.
    pub(super) start: u64,
    pub(super) padding: bool,
    /// Several functions may share the code, even if only one is listed.
    pub(super) folded: bool,
    /// The first one is the function that a plain lookup returns.
    pub(super) members: Vec<MemberWords<'a>>,
}

/// The difference between two answers in words; `None` if they are equal. An error of the reader in `found` is a difference, too.
pub(super) fn difference(
    expected: Option<&Answer<'_>>,
    found: Result<Option<Answer<'_>>, foldsym_lookup::Error>,
) -> Option<String> {
    let found = match found {
        Ok(found) => found,
        Err(error) => return Some(format!("expected {}, found damage: {error}", names(expected))),
    };
    if expected == found.as_ref() {
        return None;
    }
    let (Some(expected), Some(found)) = (expected, found.as_ref()) else {
        return Some(format!("expected {}, found {}", names(expected), names(found.as_ref())));
    };
    let who = names(Some(expected));
    if expected.start != found.start {
        return Some(format!("{who}: expected a start at {:#x}, found {:#x}", expected.start, found.start));
    }
    let same_shape = (expected.padding, expected.folded, expected.members.len())
        == (found.padding, found.folded, found.members.len());
    if !same_shape {
        return Some(format!("expected {who}, found {}", names(Some(found))));
    }
    let count = expected.members.len();
    expected.members.iter().zip(&found.members).enumerate().find_map(|(index, (ours, theirs))| {
        let what = member_difference(ours, theirs)?;
        let place =
            if expected.folded { format!("member {} of {count}, ", index + 1) } else { String::new() };
        Some(format!("{place}{}: {what}", name_of(ours)))
    })
}

fn member_difference(expected: &MemberWords<'_>, found: &MemberWords<'_>) -> Option<String> {
    let (ours, theirs) = (&expected.frames, &found.frames);
    if ours != theirs {
        let detailed = |frame: &FrameWords<'_>| (frame.start_file.to_owned(), frame.start_line);
        // Declarations are shown only if they differ: they would double the length of each line.
        let declared = ours.iter().map(detailed).ne(theirs.iter().map(detailed));
        return Some(format!("expected {}, found {}", frames(ours, declared), frames(theirs, declared)));
    }
    if expected.how != found.how {
        let word = |how: Option<&'static str>| how.unwrap_or("nothing");
        return Some(format!("expected recovery by {}, found {}", word(expected.how), word(found.how)));
    }
    if expected.partial != found.partial {
        let word = |partial| if partial { "partial" } else { "whole" };
        return Some(format!("expected {}, found {}", word(expected.partial), word(found.partial)));
    }
    if expected.reason != found.reason {
        let word = |reason: Option<Reason>| reason.map_or("unique", Reason::text);
        return Some(format!("expected {}, found {}", word(expected.reason), word(found.reason)));
    }
    let list = |names: &[&[u8]]| match names {
        [] => "none".to_owned(),
        names => names.iter().map(|name| text(name)).collect::<Vec<_>>().join(", "),
    };
    (expected.aliases != found.aliases).then(|| {
        format!("expected the other names {}, found {}", list(&expected.aliases), list(&found.aliases))
    })
}

/// The names of an answer's functions, at most 8 of them.
fn names(answer: Option<&Answer<'_>>) -> String {
    const MANY: usize = 8;
    let Some(answer) = answer else { return "no function".to_owned() };
    let mut line = String::new();
    if answer.padding {
        line += "padding of ";
    }
    if answer.folded {
        // Writing to a string cannot fail.
        let _ = write!(line, "{} folded functions: ", answer.members.len());
    }
    let shown: Vec<String> = answer.members.iter().take(MANY).map(name_of).collect();
    line += &shown.join(", ");
    if answer.members.len() > MANY {
        line += ", ...";
    }
    line
}

fn name_of(member: &MemberWords<'_>) -> String {
    text(member.frames.last().map_or(b"", |frame| frame.name))
}

/// The frames of a function, innermost first.
pub(super) fn frames_of(member: &MemberWords<'_>) -> String {
    frames(&member.frames, false)
}

fn frames(frames: &[FrameWords<'_>], declared: bool) -> String {
    let one = |frame: &FrameWords<'_>| {
        let mut line = format!("{} at {}:{}", text(frame.name), text(frame.file), frame.line);
        if frame.column > 0 {
            let _ = write!(line, ":{}", frame.column);
        }
        if declared {
            let _ = write!(line, " (declared at {}:{})", text(frame.start_file), frame.start_line);
        }
        line
    };
    frames.iter().map(one).collect::<Vec<_>>().join(" <- ")
}

fn text(bytes: &[u8]) -> String {
    if bytes.is_empty() { "??".to_owned() } else { String::from_utf8_lossy(bytes).into_owned() }
}
