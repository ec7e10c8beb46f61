//! Cuts a line of a log into nodes: elements of symbolizer markup, codes of colours, and the text between them.

use std::ops::Range;

/// A part of a line. All ranges are offsets in the line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) text: Range<usize>,
    /// Empty of text.
    pub(super) tag: Range<usize>,
    pub(super) fields: Vec<Range<usize>>,
}

impl Node {
    fn of_text(text: Range<usize>) -> Self {
        Self { tag: text.start..text.start, text, fields: Vec::new() }
    }
}

/// The first position of these bytes, at `from` or later.
fn find(line: &[u8], from: usize, what: &[u8]) -> Option<usize> {
    let rest = line.get(from..)?;
    rest.windows(what.len()).position(|window| window == what).map(|at| from + at)
}

/// Cuts a line. An element is `{{{TAG:FIELD:FIELD}}}`; without a tag it is text.
pub(super) fn nodes(line: &[u8]) -> Vec<Node> {
    let mut nodes = Vec::new();
    let (mut done, mut from) = (0, 0);
    while let Some(begin) = find(line, from, b"{{{")
        && let Some(end) = find(line, begin + 3, b"}}}")
    {
        // An element does not contain another, so the search continues after its end.
        from = end + 3;
        let content = begin + 3..end;
        let mut words = Vec::new();
        let mut start = content.start;
        for at in content.clone().filter(|at| line[*at] == b':') {
            words.push(start..at);
            start = at + 1;
        }
        words.push(start..content.end);
        let tag = words.remove(0);
        if tag.is_empty() {
            continue;
        }
        // Text is added only before an element with a tag, so an element without a tag is a part of the text.
        put_text(line, done..begin, &mut nodes);
        nodes.push(Node { text: begin..from, tag, fields: words });
        done = from;
    }
    put_text(line, done..line.len(), &mut nodes);
    nodes
}

/// The code of a colour at the start of these bytes: `ESC [ N m` of 0, 1, and 30 to 37. How long it is.
fn color(bytes: &[u8]) -> Option<usize> {
    match bytes {
        [0x1b, b'[', b'0' | b'1', b'm', ..] => Some(4),
        [0x1b, b'[', b'3', b'0'..=b'7', b'm', ..] => Some(5),
        _ => None,
    }
}

/// Adds text without elements. Codes of colours in it are nodes of their own.
fn put_text(line: &[u8], text: Range<usize>, nodes: &mut Vec<Node>) {
    let (mut done, mut at) = (text.start, text.start);
    while at < text.end {
        match color(&line[at..text.end]) {
            Some(length) => {
                if done < at {
                    nodes.push(Node::of_text(done..at));
                }
                nodes.push(Node::of_text(at..at + length));
                at += length;
                done = at;
            }
            None => at += 1,
        }
    }
    if done < text.end {
        nodes.push(Node::of_text(done..text.end));
    }
}

#[cfg(test)]
mod tests {
    use super::nodes;

    #[test]
    fn lines_are_cut() {
        let cut = |line: &str| {
            let shown = |range: &std::ops::Range<usize>| line[range.clone()].to_owned();
            let nodes = nodes(line.as_bytes());
            let each = nodes.iter().map(|node| {
                let fields: Vec<String> = node.fields.iter().map(shown).collect();
                (shown(&node.text), shown(&node.tag), fields)
            });
            each.collect::<Vec<_>>()
        };
        let text = |text: &str| (text.to_owned(), String::new(), Vec::new());
        let element = |text: &str, tag: &str, fields: &[&str]| {
            (text.to_owned(), tag.to_owned(), fields.iter().map(ToString::to_string).collect::<Vec<_>>())
        };
        assert_eq!(
            cut("a{{{pc:1:}}}\x1b[0mb{{{x}}}"),
            [
                text("a"),
                element("{{{pc:1:}}}", "pc", &["1", ""]),
                text("\x1b[0m"),
                text("b"),
                element("{{{x}}}", "x", &[])
            ]
        );
        // Without a tag, without an end.
        assert_eq!(cut("{{{:a}}}{{{bt:1"), [text("{{{:a}}}{{{bt:1")]);
        assert_eq!(cut("{{{{{{a:}}}"), [element("{{{{{{a:}}}", "{{{a", &[""])]);
        assert_eq!(cut("\x1b[38m\x1b[36m"), [text("\x1b[38m"), text("\x1b[36m")]);
        assert_eq!(cut(""), []);
    }
}
