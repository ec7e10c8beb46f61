//! Rust source to the code in it: comments, literals and test items become blanks, and every line keeps its number.

/// `source` with comments and the content of string and character literals replaced by spaces.
pub(super) fn code(source: &str) -> String {
    let chars: Vec<char> = source.chars().collect();
    let mut out = String::with_capacity(source.len());
    let mut at = 0;
    while at < chars.len() {
        let end = match chars[at] {
            '/' if chars.get(at + 1) == Some(&'/') => line_end(&chars, at),
            '/' if chars.get(at + 1) == Some(&'*') => block_end(&chars, at),
            '"' => string_end(&chars, at + 1),
            'r' | 'b' | 'c' if !at.checked_sub(1).is_some_and(|before| is_word(chars[before])) => {
                raw_end(&chars, at).unwrap_or(at)
            }
            '\'' => char_end(&chars, at).unwrap_or(at),
            _ => at,
        };
        if end == at {
            out.push(chars[at]);
            at += 1;
        } else {
            out.extend(chars[at..end].iter().map(|c| if *c == '\n' { '\n' } else { ' ' }));
            at = end;
        }
    }
    out
}

/// `code` with the items under `#[cfg(test)]` replaced by spaces.
pub(super) fn without_tests(code: &str) -> String {
    const MARK: &str = "#[cfg(test)]";
    let mut out = String::with_capacity(code.len());
    let mut rest = code;
    while let Some(start) = rest.find(MARK) {
        out.push_str(&rest[..start]);
        let item = &rest[start..];
        let end = item_end(item, MARK.len());
        out.extend(item[..end].chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        rest = &item[end..];
    }
    out.push_str(rest);
    out
}

/// Whether `line` of code names the crate or root module `name` in a path: `name::x` or `use name`, but not `a::name::x`.
pub(super) fn names_root(line: &str, name: &str) -> bool {
    line.match_indices(name).any(|(at, _)| {
        let (before, after) = (&line[..at], line[at + name.len()..].trim_start());
        if before.chars().next_back().is_some_and(is_word) || line[at + name.len()..].starts_with(is_word) {
            return false;
        }
        let before = before.trim_end();
        // `::name` at the start of a path is a crate; after a segment it is something inside another one.
        let rooted = match before.strip_suffix("::") {
            Some(path) => !path.chars().next_back().is_some_and(|c| is_word(c) || c == '>'),
            None => true,
        };
        let imported = ["use", "extern crate"].iter().any(|word| before.ends_with(word));
        rooted && (after.starts_with("::") || imported)
    })
}

/// Whether `line` of code has `word` as a whole word.
pub(super) fn has_word(line: &str, word: &str) -> bool {
    line.split(|c| !is_word(c)).any(|part| part == word)
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn line_end(chars: &[char], at: usize) -> usize {
    chars[at..].iter().position(|c| *c == '\n').map_or(chars.len(), |n| at + n)
}

/// Block comments nest.
fn block_end(chars: &[char], mut at: usize) -> usize {
    let mut depth = 0;
    while at < chars.len() {
        match (chars[at], chars.get(at + 1)) {
            ('/', Some('*')) => {
                depth += 1;
                at += 2;
            }
            ('*', Some('/')) => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return at;
                }
            }
            _ => at += 1,
        }
    }
    chars.len()
}

fn string_end(chars: &[char], mut at: usize) -> usize {
    while at < chars.len() {
        match chars[at] {
            '\\' => at += 2,
            '"' => return at + 1,
            _ => at += 1,
        }
    }
    chars.len()
}

/// The end of a literal with a prefix (`r"`, `br#"`, `b"`, `b'`); `None` if there is none.
fn raw_end(chars: &[char], start: usize) -> Option<usize> {
    let mut at = start;
    while matches!(chars.get(at), Some('r' | 'b' | 'c')) && at < start + 2 {
        at += 1;
    }
    let raw = chars[at - 1] == 'r';
    let hashes = chars[at..].iter().take_while(|c| **c == '#').count();
    match chars.get(at + hashes) {
        Some('"') if raw => {
            let mut end = at + hashes + 1;
            while end < chars.len() {
                let closed = chars[end] == '"'
                    && chars[end + 1..].iter().take(hashes).filter(|c| **c == '#').count() == hashes;
                end += 1;
                if closed {
                    return Some(end + hashes);
                }
            }
            Some(chars.len())
        }
        Some('"') if hashes == 0 => Some(string_end(chars, at + 1)),
        Some('\'') if hashes == 0 && chars[start] == 'b' => char_end(chars, at),
        _ => None,
    }
}

/// The end of a character literal; `None` for a lifetime.
fn char_end(chars: &[char], at: usize) -> Option<usize> {
    match chars.get(at + 1)? {
        '\\' => chars[at + 3..].iter().take(10).position(|c| *c == '\'').map(|n| at + 4 + n),
        _ if chars.get(at + 2) == Some(&'\'') => Some(at + 3),
        _ => None,
    }
}

/// Where the item that starts at `from` ends: at its `;`, or at the brace that closes its first one.
fn item_end(item: &str, from: usize) -> usize {
    let mut depth = 0_usize;
    for (at, c) in item.char_indices().skip_while(|(at, _)| *at < from) {
        match c {
            ';' if depth == 0 => return at + 1,
            '{' => depth += 1,
            '}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + 1;
                }
            }
            _ => {}
        }
    }
    item.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_blank() {
        let source = "a // b\n/* c /* d */ e */ f \"g\\\"h\" 'i' '\\'' r#\"j\"k\"# b\"l\" &'m n\n";
        assert_eq!(code(source).split_whitespace().collect::<String>(), "af&'mn");
        assert_eq!(code(source).lines().count(), source.lines().count());
        assert_eq!(
            code("for b in r { br'\\n'; }").split_whitespace().collect::<Vec<_>>(),
            ["for", "b", "in", "r", "{", ";", "}"]
        );
    }

    #[test]
    fn test_items_are_blank() {
        let text = "a;\n#[cfg(test)]\nmod tests { fn b() { c } }\nd;\n#[cfg(test)]\nuse e;\nf;";
        let rest: Vec<String> = without_tests(text).split_whitespace().map(str::to_owned).collect();
        assert_eq!(rest, ["a;", "d;", "f;"]);
    }

    #[test]
    fn roots_are_told_from_segments() {
        for yes in
            ["use std::fmt;", "let x = ::std::mem::take(y)", "use std;", "extern crate std;", "Vec<std::u8>"]
        {
            assert!(names_root(yes, "std"), "{yes}");
        }
        for no in
            ["use crate::std::x;", "no_std::x", "std_x::y", "let std = 1;", "cfg(feature_std)", "<T>::std::x"]
        {
            assert!(!names_root(no, "std"), "{no}");
        }
        assert!(has_word("pub unsafe fn", "unsafe") && !has_word("unsafe_code", "unsafe"));
    }
}
