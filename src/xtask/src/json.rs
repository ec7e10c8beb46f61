//! JSON text to a value: just enough to read what symbolizers print.

use std::iter::Peekable;
use std::str::Chars;

/// How deep values may nest; answers nest four deep.
const DEPTH: usize = 64;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Json {
    Null,
    Bool(bool),
    Number(f64),
    String(String),
    Array(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    /// The value of one whole text.
    ///
    /// # Errors
    /// What was expected, and how many characters were left.
    pub(crate) fn parse(text: &str) -> Result<Json, String> {
        let mut parser = Parser { chars: text.chars().peekable() };
        let value = parser.value(0).and_then(|value| {
            parser.space();
            if parser.chars.peek().is_none() { Ok(value) } else { Err("the end") }
        });
        value.map_err(|expected| {
            let left = parser.chars.count();
            format!("JSON: expected {expected}, {left} characters before the end of: {text}")
        })
    }

    /// The member of an object; `Null` where there is none.
    pub(crate) fn get(&self, key: &str) -> &Json {
        match self {
            Json::Object(members) => members.iter().find(|(k, _)| k == key).map_or(&Json::Null, |(_, v)| v),
            _ => &Json::Null,
        }
    }

    /// The elements of an array; none for any other value.
    pub(crate) fn items(&self) -> &[Json] {
        match self {
            Json::Array(items) => items,
            _ => &[],
        }
    }

    /// The text of a string; empty for any other value.
    pub(crate) fn text(&self) -> &str {
        match self {
            Json::String(text) => text,
            _ => "",
        }
    }

    /// A whole number; zero for any other value, as symbolizers write what they do not know.
    pub(crate) fn number(&self) -> u64 {
        match self {
            Json::Number(number) => *number as u64,
            _ => 0,
        }
    }
}

struct Parser<'a> {
    chars: Peekable<Chars<'a>>,
}

impl Parser<'_> {
    fn space(&mut self) {
        while self.chars.next_if(|c| matches!(c, ' ' | '\t' | '\n' | '\r')).is_some() {}
    }

    fn word(&mut self, word: &'static str, value: Json) -> Result<Json, &'static str> {
        if word.chars().all(|c| self.chars.next_if_eq(&c).is_some()) { Ok(value) } else { Err(word) }
    }

    fn value(&mut self, depth: usize) -> Result<Json, &'static str> {
        if depth > DEPTH {
            return Err("less nesting");
        }
        self.space();
        match self.chars.peek().copied() {
            Some('n') => self.word("null", Json::Null),
            Some('t') => self.word("true", Json::Bool(true)),
            Some('f') => self.word("false", Json::Bool(false)),
            Some('"') => self.string().map(Json::String),
            Some('[') => self.array(depth),
            Some('{') => self.object(depth),
            Some('-' | '0'..='9') => {
                let mut digits = String::new();
                while let Some(c) =
                    self.chars.next_if(|c| matches!(c, '0'..='9' | '-' | '+' | '.' | 'e' | 'E'))
                {
                    digits.push(c);
                }
                digits.parse().map(Json::Number).map_err(|_| "a number")
            }
            _ => Err("a value"),
        }
    }

    fn array(&mut self, depth: usize) -> Result<Json, &'static str> {
        self.chars.next();
        let mut items = Vec::new();
        self.space();
        if self.chars.next_if_eq(&']').is_some() {
            return Ok(Json::Array(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            self.space();
            match self.chars.next() {
                Some(',') => {}
                Some(']') => return Ok(Json::Array(items)),
                _ => return Err("`,` or `]`"),
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json, &'static str> {
        self.chars.next();
        let mut members = Vec::new();
        self.space();
        if self.chars.next_if_eq(&'}').is_some() {
            return Ok(Json::Object(members));
        }
        loop {
            self.space();
            let key = self.string()?;
            self.space();
            self.chars.next_if_eq(&':').ok_or("`:`")?;
            members.push((key, self.value(depth + 1)?));
            self.space();
            match self.chars.next() {
                Some(',') => {}
                Some('}') => return Ok(Json::Object(members)),
                _ => return Err("`,` or `}`"),
            }
        }
    }

    fn string(&mut self) -> Result<String, &'static str> {
        self.chars.next_if_eq(&'"').ok_or("a string")?;
        let mut text = String::new();
        loop {
            match self.chars.next() {
                None => return Err("`\"`"),
                Some('"') => return Ok(text),
                Some('\\') => text.push(self.escape()?),
                Some(c) if c < ' ' => return Err("no bare control character"),
                Some(c) => text.push(c),
            }
        }
    }

    fn escape(&mut self) -> Result<char, &'static str> {
        Ok(match self.chars.next() {
            Some(c @ ('"' | '\\' | '/')) => c,
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('u') => {
                let first = self.hex4()?;
                // A character beyond the basic plane is two escapes (RFC 8259, 7).
                if (0xd800..0xdc00).contains(&first) {
                    self.word("\\u", Json::Null)?;
                    let second = self.hex4()?;
                    if !(0xdc00..0xe000).contains(&second) {
                        return Err("the second half of a surrogate pair");
                    }
                    char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00))
                        .ok_or("a character")?
                } else {
                    char::from_u32(first).ok_or("a character")?
                }
            }
            _ => return Err("an escape"),
        })
    }

    fn hex4(&mut self) -> Result<u32, &'static str> {
        let mut value = 0;
        for _ in 0..4 {
            value = value * 16
                + self.chars.next().and_then(|c| c.to_digit(16)).ok_or("four hexadecimal digits")?;
        }
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_an_answer() {
        let json =
            Json::parse(r#" {"Address":"0x10","Symbol":[{"Line":7,"Q":null,"T":[true,false]}], "E":{}} "#)
                .unwrap();
        assert_eq!(json.get("Address").text(), "0x10");
        let frame = &json.get("Symbol").items()[0];
        assert_eq!(frame.get("Line").number(), 7);
        assert_eq!(frame.get("Q"), &Json::Null);
        assert_eq!(frame.get("T").items(), &[Json::Bool(true), Json::Bool(false)]);
        assert_eq!(frame.get("absent"), &Json::Null);
        assert_eq!(json.get("E"), &Json::Object(Vec::new()));
    }

    #[test]
    fn reads_escapes() {
        assert_eq!(Json::parse(r#""a\"\\\/\n\u00e9\ud83d\ude00""#).unwrap().text(), "a\"\\/\né😀");
        assert_eq!(Json::parse("-1.5e2").unwrap(), Json::Number(-150.0));
    }

    #[test]
    fn refuses_what_is_not_json() {
        for bad in [
            "",
            "{",
            "[1,]",
            "{\"a\" 1}",
            "\"a",
            "nul",
            "1 2",
            "\"\\x\"",
            "\"\\ud800x\"",
            "[1}",
            "\"\n\"",
            "--",
        ] {
            assert!(Json::parse(bad).is_err(), "{bad}");
        }
        assert!(Json::parse(&"[".repeat(1000)).is_err());
    }
}
