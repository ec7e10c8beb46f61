//! Cuts the output of a tool into one text for each request.

use serde_json::Value;

use super::options::{Line, Style};

/// One text for each request, or nothing if they are not as many as requests.
///
/// `with_addresses` is the output of the same tool with `-a`: in GNU's style an answer has no end mark, so the headers show how many lines
/// each has.
pub(super) fn answers(
    line: &Line,
    array: bool,
    out: &str,
    with_addresses: &str,
    count: usize,
) -> Option<Vec<String>> {
    let texts: Vec<String> = match line.style {
        Style::Llvm => {
            let mut texts: Vec<String> = out.split("\n\n").map(str::to_owned).collect();
            texts.pop_if(|last| last.is_empty());
            texts
        }
        Style::Json if array => {
            let value: Value = serde_json::from_str(out).ok()?;
            value.as_array()?.iter().map(ToString::to_string).collect()
        }
        Style::Json => {
            let values = serde_json::Deserializer::from_str(out).into_iter::<Value>();
            values.map(|value| value.map(|value| value.to_string())).collect::<Result<_, _>>().ok()?
        }
        Style::Gnu => {
            let mut counts: Vec<usize> = Vec::new();
            for text in with_addresses.lines() {
                if is_header(text, line.pretty) {
                    counts.push(usize::from(line.addresses || line.pretty));
                } else {
                    *counts.last_mut()? += 1;
                }
            }
            let mut lines = out.lines();
            let texts = counts.into_iter().map(|count| {
                let taken: Vec<&str> = lines.by_ref().take(count).collect();
                taken.join("\n")
            });
            let texts: Vec<String> = texts.collect();
            if lines.next().is_some() {
                return None;
            }
            texts
        }
    };
    (texts.len() == count).then_some(texts)
}

/// Whether an answer begins here.
fn is_header(text: &str, pretty: bool) -> bool {
    let Some(rest) = text.strip_prefix("0x") else { return false };
    let digits = rest.find(|digit: char| !digit.is_ascii_hexdigit()).unwrap_or(rest.len());
    digits > 0 && if pretty { rest[digits..].starts_with(": ") } else { digits == rest.len() }
}

#[cfg(test)]
mod tests {
    use super::super::options;
    use super::super::tools::Personality;
    use super::*;

    fn line(style: Style, pretty: bool, addresses: bool) -> Line {
        Line { style, pretty, addresses, ..options::of_text(Personality::Symbolizer, "") }
    }

    #[test]
    fn each_style_is_cut_at_its_requests() {
        let cut = |style, out, with| answers(&line(style, false, false), false, out, with, 2);
        let two = |one: &str, other: &str| Some(vec![one.to_owned(), other.to_owned()]);
        assert_eq!(cut(Style::Llvm, "a\nb\n\nc\nd\n\n", ""), two("a\nb", "c\nd"));
        assert_eq!(cut(Style::Gnu, "a\nb\nc\n", "0x1\na\nb\n0x2\nc\n"), two("a\nb", "c"));
        assert_eq!(cut(Style::Gnu, "a\nb\nc\nd\n", "0x1\na\nb\n0x2\nc\n"), None);
        assert_eq!(cut(Style::Json, "{\"a\":1}\n{}\n", ""), two("{\"a\":1}", "{}"));
        assert_eq!(cut(Style::Llvm, "a\nb\n\n", ""), None);
        let pretty = line(Style::Gnu, true, false);
        let with = "0x1: f at a:1\n (inlined by) g at a:2\n0x2: h at b:1\n";
        let out = "f at a:1\n (inlined by) g at a:2\nh at b:1\n";
        let expected = two("f at a:1\n (inlined by) g at a:2", "h at b:1");
        assert_eq!(answers(&pretty, false, out, with, 2), expected);
        let array = answers(&line(Style::Json, false, false), true, "[{},{\"b\":2}]\n", "", 2);
        assert_eq!(array, two("{}", "{\"b\":2}"));
    }
}
