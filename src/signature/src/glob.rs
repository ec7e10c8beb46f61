//! Patterns of names: `*` stands for any text without `:` and `/`, `**` for any text. A match takes time linear in the text.

/// The longest pattern, in bytes: one bit of a word stands for each.
pub(crate) const MAX_PATTERN: usize = 127;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    Byte(u8),
    /// Any text without `:` and `/`.
    Star,
    /// Any text.
    Stars,
}

/// A pattern of a whole text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Glob {
    tokens: Vec<Token>,
    /// Letters of ASCII match in both cases.
    ignores_case: bool,
}

impl Glob {
    /// Reads a pattern; `None` for an empty one, and for one of more than [`MAX_PATTERN`] bytes.
    pub(crate) fn parse(text: &str, ignores_case: bool) -> Option<Self> {
        if text.is_empty() || text.len() > MAX_PATTERN {
            return None;
        }
        let mut tokens: Vec<Token> = Vec::with_capacity(text.len());
        for byte in text.bytes() {
            match (byte, tokens.last()) {
                (b'*', Some(Token::Star | Token::Stars)) => {
                    tokens.pop();
                    tokens.push(Token::Stars);
                }
                (b'*', _) => tokens.push(Token::Star),
                (byte, _) => {
                    tokens.push(Token::Byte(if ignores_case { byte.to_ascii_lowercase() } else { byte }))
                }
            }
        }
        Some(Self { tokens, ignores_case })
    }

    /// True if the pattern matches the whole text.
    pub(crate) fn matches(&self, text: &str) -> bool {
        // Bit `i`: the tokens before `i` match the text so far. All ways to match go on at once, so none is tried again.
        let mut reached = self.past_stars(1);
        for byte in text.bytes() {
            let byte = if self.ignores_case { byte.to_ascii_lowercase() } else { byte };
            let (mut next, mut rest) = (0_u128, reached);
            while rest != 0 {
                let at = rest.trailing_zeros() as usize;
                rest &= rest - 1;
                next |= match self.tokens.get(at) {
                    Some(Token::Byte(wanted)) if *wanted == byte => 2 << at,
                    Some(Token::Star) if !matches!(byte, b':' | b'/') => 1 << at,
                    Some(Token::Stars) => 1 << at,
                    _ => 0,
                };
            }
            if next == 0 {
                return false;
            }
            reached = self.past_stars(next);
        }
        reached >> self.tokens.len() & 1 == 1
    }

    /// Adds what is reached if stars stand for no text.
    fn past_stars(&self, mut reached: u128) -> u128 {
        let mut rest = reached;
        while rest != 0 {
            let at = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            if matches!(self.tokens.get(at), Some(Token::Star | Token::Stars)) {
                reached |= 2 << at;
                rest |= 2 << at;
            }
        }
        reached
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, text: &str) -> bool {
        Glob::parse(pattern, false).unwrap().matches(text)
    }

    #[test]
    fn stars() {
        for (pattern, texts) in [
            ("abort", &["abort"][..]),
            ("abort*", &["abort", "abort_now"]),
            ("std::*", &["std::terminate", "std::"]),
            ("std::**", &["std::terminate", "std::a::b", "std::"]),
            ("**::run", &["a::b::run", "::run"]),
            ("*a*b*", &["ab", "xaxbx"]),
            ("**/third_party/**", &["/src/third_party/x/y.c"]),
            ("***", &["", "a::b"]),
        ] {
            texts.iter().for_each(|text| assert!(matches(pattern, text), "{pattern} {text}"));
        }
        for (pattern, text) in [
            ("abort", "aborts"),
            ("abort", "abor"),
            ("std::*", "std::a::b"),
            ("*", "a/b"),
            ("**::run", "run"),
            ("*a*b*", "ba"),
        ] {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
        assert!(Glob::parse("NTDLL.dll", true).unwrap().matches("ntdll.DLL"));
        assert_eq!((Glob::parse("", false), Glob::parse(&"a".repeat(128), false)), (None, None));
        assert!(matches(&"a".repeat(127), &"a".repeat(127)));
    }

    #[test]
    fn many_stars_take_no_more_than_a_step_for_each_byte_and_token() {
        // A matcher that tries one way after another would not end.
        let pattern = format!("{}b", "a*".repeat(60));
        assert!(!matches(&pattern, &"a".repeat(100_000)));
        assert!(matches(&pattern, &format!("{}b", "a".repeat(100_000))));
    }
}
