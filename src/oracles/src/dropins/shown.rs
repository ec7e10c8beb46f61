//! Reads a printed answer back into frames, and checks whether it says what the tool, or foldsym, knows of the address. At an address with
//! a named difference, everything else in the two answers is compared this way.

use serde_json::Value;

use super::options::{Line, Style};
use crate::diff::answer::Frame;

/// A frame as it was printed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ShownFrame {
    /// Empty if none is known, or names are not printed.
    name: String,
    file: String,
    line: u64,
    /// Where columns are printed.
    column: Option<u64>,
    /// Where declarations are printed, and this one is known.
    start: Option<(String, u64)>,
}

/// Reads an answer; `None` if it has another form than its options say.
pub(super) fn frames(line: &Line, text: &str) -> Option<Vec<ShownFrame>> {
    let mut shown = match line.style {
        Style::Json => of_json(text)?,
        _ => of_text(line, text)?,
    };
    // One frame without anything in it is how tools say that they know nothing.
    if matches!(shown.as_slice(), [one] if one.name.is_empty() && one.file.is_empty() && one.line == 0) {
        shown.clear();
    }
    Some(shown)
}

fn known(text: &str) -> String {
    if text == "??" { String::new() } else { text.to_owned() }
}

fn of_json(text: &str) -> Option<Vec<ShownFrame>> {
    let value: Value = serde_json::from_str(text).ok()?;
    let text = |frame: &Value, key: &str| known(frame[key].as_str().unwrap_or_default());
    let frames = value["Symbol"].as_array()?.iter().map(|frame| ShownFrame {
        name: text(frame, "FunctionName"),
        file: text(frame, "FileName"),
        line: frame["Line"].as_u64().unwrap_or(0),
        column: frame["Column"].as_u64(),
        start: Some((text(frame, "StartFileName"), frame["StartLine"].as_u64().unwrap_or(0))),
    });
    Some(frames.collect())
}

fn of_text(line: &Line, text: &str) -> Option<Vec<ShownFrame>> {
    let mut lines = text.lines().filter(|text| !(line.context && is_source(text))).peekable();
    if line.addresses && !line.pretty {
        lines.next()?.strip_prefix("0x")?;
    }
    let mut shown = Vec::new();
    while let Some(mut text) = lines.next() {
        let mut frame = ShownFrame::default();
        if line.pretty {
            if let Some((_, rest)) = text.split_once(": ").filter(|_| line.addresses && shown.is_empty()) {
                text = rest;
            }
            text = text.strip_prefix(" (inlined by) ").unwrap_or(text);
        }
        if line.names && !line.pretty {
            frame.name = known(text);
            text = lines.next()?;
        } else if line.names {
            // GNU's tool prints no `at` if nothing is known.
            let (name, place) = text.rsplit_once(" at ").or_else(|| text.split_once(' '))?;
            frame.name = known(name);
            text = place;
        }
        if line.verbose {
            // The name, and `at`, precede the first of these.
            let mut field = Some(text);
            while let Some(text) = field {
                let (key, value) = text.trim_start().split_once(": ")?;
                let start = frame.start.get_or_insert_default();
                match key {
                    "Filename" => frame.file = known(value),
                    "Function start filename" => start.0 = known(value),
                    "Function start line" => start.1 = value.parse().ok()?,
                    "Line" => frame.line = value.parse().ok()?,
                    "Column" => frame.column = Some(value.parse().ok()?),
                    _ => {}
                }
                field = lines.next_if(|text| text.starts_with("  ") && !text.starts_with("  Filename: "));
            }
        } else {
            let text = text.strip_suffix(" (approximate)").unwrap_or(text);
            let (mut file, mut last) = text.rsplit_once(':')?;
            if line.style == Style::Llvm {
                frame.column = Some(last.parse().ok()?);
                (file, last) = file.rsplit_once(':')?;
            }
            frame.line = if last == "?" { 0 } else { last.parse().ok()? };
            frame.file = known(file);
        }
        shown.push(frame);
    }
    Some(shown)
}

/// Whether a line is one of a source file: `12  : text`, `12 >: text`.
fn is_source(text: &str) -> bool {
    let rest = text.trim_start_matches(|digit: char| digit.is_ascii_digit());
    let rest_of_number = rest.trim_start_matches(' ');
    rest.len() < text.len()
        && (rest.starts_with("  : ") || rest_of_number.starts_with(">: ") || rest.starts_with("  :"))
}

/// The printed frames: the frame of each name, and the frame of each place.
fn chosen<'f>(line: &Line, frames: &'f [Frame]) -> Vec<(&'f Frame, &'f Frame)> {
    let (Some(first), Some(last)) = (frames.first(), frames.last()) else { return Vec::new() };
    match line.inlines {
        true => frames.iter().map(|frame| (frame, frame)).collect(),
        false if line.style == Style::Gnu || !line.linkage => vec![(first, first)],
        false => vec![(last, first)],
    }
}

/// Whether files, lines and columns are printed as they are known.
fn places_agree(line: &Line, shown: &[ShownFrame], frames: &[Frame], columns: bool) -> bool {
    let known = chosen(line, frames);
    let agrees = |(shown, (_, known)): (&ShownFrame, &(&Frame, &Frame))| {
        let column = !columns || shown.column.is_none_or(|column| column == known.column);
        same_file(line, &shown.file, &known.file) && shown.line == known.line && column
    };
    // Without names, a function without a line is printed like an unknown one.
    let unseen = |(_, place): &(&Frame, &Frame)| place.file.is_empty() && place.line == 0;
    match shown {
        [] => known.is_empty() || (!line.names && known.iter().all(unseen)),
        shown => shown.len() == known.len() && shown.iter().zip(&known).all(agrees),
    }
}

/// Whether an answer has the places that are known of the address.
pub(super) fn says(line: &Line, text: &str, known: &[Frame], columns: bool) -> bool {
    frames(line, text).is_some_and(|shown| places_agree(line, &shown, known, columns))
}

/// Whether each side prints the places that it knows, and both print the same names and declarations where both know the same. `Some(true)`
/// where a readable name is spelled otherwise though the linkage names are equal, `None` if the sides do not agree so.
pub(super) fn agree(
    line: &Line,
    (real, theirs): (&str, &[Frame]),
    (ours, own): (&str, &[Frame]),
    columns: bool,
) -> Option<bool> {
    let (real, ours) = (frames(line, real)?, frames(line, ours)?);
    if !places_agree(line, &real, theirs, columns) || !places_agree(line, &ours, own, columns) {
        return None;
    }
    let (theirs, own) = (chosen(line, theirs), chosen(line, own));
    if theirs.len() != own.len() || real.len() != ours.len() {
        return Some(false);
    }
    let mut respelled = false;
    for ((real, ours), (theirs, own)) in real.iter().zip(&ours).zip(theirs.iter().zip(&own)) {
        if theirs.0.name == own.0.name && real.name != ours.name && !line.short {
            respelled = true;
        }
        let start = |frame: &Frame| (frame.start_file.clone(), frame.start_line);
        // The declaration of a joined frame is the outermost function's or the innermost's: both must be known equally.
        let alike = start(theirs.0) == start(own.0) && start(theirs.1) == start(own.1);
        if alike && !line.relative && real.start != ours.start {
            return None;
        }
    }
    (!respelled || line.demangles).then_some(respelled)
}

/// Whether two answers differ only in places, and ours says line 0 there.
pub(super) fn differs_at_line_0(line: &Line, real: &str, ours: &str) -> bool {
    let (Some(real), Some(ours)) = (frames(line, real), frames(line, ours)) else { return false };
    let same = |(real, ours): (&ShownFrame, &ShownFrame)| {
        (line.demangles || line.short || real.name == ours.name)
            && ((&real.file, real.line, real.column) == (&ours.file, ours.line, ours.column)
                || ours.line == 0)
    };
    real.len() == ours.len() && real.iter().zip(&ours).all(same)
}

/// Whether a path is printed as it is known.
fn same_file(line: &Line, shown: &str, known: &str) -> bool {
    let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    shown == known
        || (line.basenames && shown == name(known))
        || (line.relative && !shown.is_empty() && known.ends_with(shown))
}

#[cfg(test)]
mod tests {
    use super::super::options;
    use super::super::tools::Personality;
    use super::*;

    fn frame(name: &str, file: &str, line: u64, column: u64) -> Frame {
        Frame { name: name.into(), file: file.into(), line, column, ..Frame::default() }
    }

    #[test]
    fn every_form_is_read_and_compared() {
        let known = [frame("f", "/s/a.c", 3, 4), frame("g", "/s/b.c", 5, 6)];
        for (tool, args, text) in [
            (Personality::Symbolizer, "", "f\n/s/a.c:3:4\ng\n/s/b.c:5:6"),
            (Personality::Symbolizer, "-p -a", "0x1: f at /s/a.c:3:4\n (inlined by) g at /s/b.c:5:6"),
            (Personality::Symbolizer, "--no-inlines -s", "g\na.c:3:4"),
            (Personality::Symbolizer, "--no-inlines --functions=short", "f\n/s/a.c:3:4"),
            (Personality::Symbolizer, "--functions=none", "/s/a.c:3:4\n/s/b.c:5:6"),
            (
                Personality::Symbolizer,
                "--verbose",
                "f\n  Filename: /s/a.c\n  Function start line: 1\n  Line: 3\n  Column: 4\ng\n  Filename: /s/b.c\n  Line: 5\n  Column: 6",
            ),
            (Personality::LlvmAddr2line, "-a", "0x1\n/s/a.c:3"),
            (Personality::GnuAddr2line, "-i -f", "f\n/s/a.c:3\ng\n/s/b.c:5"),
        ] {
            let line = options::of_text(tool, args);
            let shown = frames(&line, text).unwrap_or_else(|| panic!("{args}"));
            assert!(places_agree(&line, &shown, &known, true), "{args}: {shown:?}");
            let other = frames(&line, &text.replace(":3", ":9").replace("Line: 3", "Line: 9")).unwrap();
            assert!(!places_agree(&line, &other, &known, true), "{args}");
        }
        let line = options::of_text(Personality::Symbolizer, "--output-style=JSON");
        let json = r#"{"Symbol":[{"FunctionName":"f","FileName":"/s/a.c","Line":3,"Column":4},{"FunctionName":"g","FileName":"/s/b.c","Line":5,"Column":6}]}"#;
        let shown = frames(&line, json).unwrap();
        assert!(places_agree(&line, &shown, &known, true));
        // Names may differ only if the known ones do.
        let line = options::of_text(Personality::Symbolizer, "--output-style=JSON --no-demangle");
        let ours = json.replace("\"g\"", "\"h\"");
        let mut own = known.clone();
        assert_eq!(agree(&line, (json, &known), (&ours, &own), true), None);
        own[1].name = "h".into();
        assert_eq!(agree(&line, (json, &known), (&ours, &own), true), Some(false));
        let readable = options::of_text(Personality::Symbolizer, "--output-style=JSON");
        assert_eq!(agree(&readable, (json, &known), (&ours, &known), true), Some(true));
        own[0].line = 7;
        assert_eq!(agree(&line, (json, &known), (&ours, &own), true), None);
        // A function without a line is invisible if names are not printed.
        let (with, without) = ("--output-style=JSON", "--output-style=JSON --functions=none");
        let nameless = r#"{"Symbol":[{"FunctionName":"","FileName":"","Line":0,"Column":0}]}"#;
        let symbol = [frame("f", "", 0, 0)];
        for (args, agrees) in [(with, false), (without, true)] {
            let line = options::of_text(Personality::Symbolizer, args);
            assert_eq!(says(&line, nameless, &symbol, true), agrees, "{args}");
        }
        let nothing = frames(&line, r#"{"Symbol":[{"FunctionName":"","FileName":"","Line":0,"Column":0}]}"#);
        assert_eq!(nothing, Some(Vec::new()));
        assert!(frames(&options::of_text(Personality::Symbolizer, ""), "f\nno place").is_none());
    }
}
