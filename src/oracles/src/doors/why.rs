//! Explains why an answer that another reader gives from an exported file differs from ours: each known reason has a name, and is found
//! from the two answers only. A difference without a reason is a fault.

/// How many differences without a reason are printed for each reader.
pub(super) const EXAMPLES: usize = 3;

/// A frame by any reader.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ReaderFrame {
    pub(super) name: String,
    /// Empty if none is known.
    pub(super) path: String,
    /// 0 if none is known.
    pub(super) line: u64,
}

/// The functions at an address, each with its frames from the inside out. None if nothing is known.
pub(super) type ReaderAnswer = Vec<Vec<ReaderFrame>>;

/// Who reads.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Reader {
    Symbolizer,
    Gsymutil,
    GsymutilMerged,
    GsymRs,
    GsymRsMerged,
    Blazesym,
    Symbolic,
    Minidump,
}

impl Reader {
    /// Also the word for the program `readback`.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Symbolizer => "llvm-symbolizer",
            Self::Gsymutil => "llvm-gsymutil",
            Self::GsymutilMerged => "llvm-gsymutil --merged-functions",
            Self::GsymRs => "gsym-rs",
            Self::GsymRsMerged => "gsym-rs-merged",
            Self::Blazesym => "blazesym",
            Self::Symbolic => "symbolic",
            Self::Minidump => "breakpad-symbols",
        }
    }

    /// True if it gives every function of an address, not only the first.
    fn merged(self) -> bool {
        matches!(self, Self::GsymutilMerged | Self::GsymRsMerged)
    }
}

/// Nothing if the answers are the same, else the reason why they differ.
///
/// # Errors
/// The difference, if no reason is known.
pub(super) fn why(
    reader: Reader,
    own: &ReaderAnswer,
    found: &ReaderAnswer,
) -> Result<Option<&'static str>, String> {
    let own = if reader.merged() { &own[..] } else { &own[..own.len().min(1)] };
    if let ([function], []) = (own, &found[..])
        && function.iter().all(|frame| frame.name.is_empty())
    {
        // GSYM has no record without a name, and neither format has lines outside of functions.
        return Ok(Some("code without a name"));
    }
    if own.len() != found.len() {
        return Err(format!("{} functions for {}", found.len(), own.len()));
    }
    let mut reason = None;
    for (own, found) in own.iter().zip(found) {
        reason = reason.or(of_function(reader, own, found)?);
    }
    Ok(reason)
}

fn of_function(
    reader: Reader,
    own: &[ReaderFrame],
    found: &[ReaderFrame],
) -> Result<Option<&'static str>, String> {
    if own.len() != found.len() {
        return Err(format!("{} frames for {}", found.len(), own.len()));
    }
    let mut reason = None;
    for (own, found) in own.iter().zip(found) {
        reason = reason.or(of_frame(reader, own, found)?);
    }
    Ok(reason)
}

fn of_frame(reader: Reader, own: &ReaderFrame, found: &ReaderFrame) -> Result<Option<&'static str>, String> {
    if own.name != found.name {
        let word =
            if matches!(reader, Reader::Symbolic | Reader::Minidump) { "<name omitted>" } else { "??" };
        let same = own.line == found.line && clean(&own.path) == clean(&found.path);
        return match own.name.is_empty() && found.name == word && same {
            true => Ok(Some("a word in place of no name")),
            false => Err("name".into()),
        };
    }
    if own.line != found.line {
        return Err("line".into());
    }
    if own.path == found.path {
        return Ok(None);
    }
    if reader == Reader::Symbolic && clean(&own.path) == clean(&found.path) {
        return Ok(Some("symbolic takes `.` and `..` out of paths"));
    }
    Err("path".into())
}

/// A path without `.`, and without a folder before `..`.
fn clean(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for (number, part) in path.split('/').enumerate() {
        match (part, parts.last()) {
            (".", _) => {}
            ("", _) if number > 0 => {}
            ("..", Some(last)) if !last.is_empty() && *last != ".." => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::{Reader, ReaderFrame, clean, why};

    #[test]
    fn only_what_has_a_name_passes() {
        let frame = |name: &str, path: &str, line| ReaderFrame { name: name.into(), path: path.into(), line };
        let own = vec![vec![frame("f", "/a/./b/../c.h", 7)], vec![frame("g", "", 0)]];
        let cleaned = vec![vec![frame("f", "/a/c.h", 7)]];
        assert_eq!(
            why(Reader::Symbolic, &own, &cleaned),
            Ok(Some("symbolic takes `.` and `..` out of paths"))
        );
        assert!(why(Reader::Blazesym, &own, &cleaned).is_err());
        assert!(why(Reader::GsymRsMerged, &own, &own[..1].to_vec()).is_err());
        assert_eq!(why(Reader::GsymRs, &own, &own[..1].to_vec()), Ok(None));
        assert_eq!(why(Reader::GsymRsMerged, &own, &own), Ok(None));
        let lines = vec![vec![frame("", "/a.c", 7)]];
        let word = vec![vec![frame("<name omitted>", "/a.c", 7)]];
        assert_eq!(why(Reader::Minidump, &lines, &word), Ok(Some("a word in place of no name")));
        assert!(why(Reader::GsymRs, &lines, &word).is_err());
        assert_eq!(why(Reader::Gsymutil, &lines, &Vec::new()), Ok(Some("code without a name")));
        assert!(why(Reader::Gsymutil, &own, &Vec::new()).is_err());
    }

    #[test]
    fn paths_are_cleaned_as_symbolic_does() {
        assert_eq!(clean("/a/./b/../c.h"), "/a/c.h");
        assert_eq!(clean("../x/.././y.c"), "../y.c");
        assert_eq!(clean("./io/../b/z.c"), "b/z.c");
        assert_eq!(clean("/"), "");
    }
}
