//! A stack that is a JSON object to its keys, whose values stay text.
//!
//! A tree of values takes up to a hundred times the bytes of its text. A request may come from a stranger. So its lists are read element by
//! element, and what the answer repeats is copied unchanged.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::request_error::{RequestError, wrong};

/// The keys of a stack that is a JSON object.
///
/// ```
/// use foldsym_symbolize::GivenStack;
/// let given = GivenStack::parse(br#"{"frames": [1], "modules": [], "tag": {"a": [1, 2]}, "id": 7}"#)?;
/// assert!(given.has_frames());
/// let echo: Vec<(&str, String)> = given.echo().collect();
/// assert_eq!(echo, [("id", "7".to_owned()), ("tag", "{\"a\":[1,2]}".to_owned())]);
/// # Ok::<(), foldsym_symbolize::JsonError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct GivenStack<'t> {
    pub(crate) is_object: bool,
    pub(crate) modules: Option<&'t RawValue>,
    pub(crate) frames: Option<&'t RawValue>,
    pub(crate) vptr: Option<&'t RawValue>,
    is_signed: bool,
    /// By key.
    echo: Vec<(Cow<'t, str>, &'t RawValue)>,
}

/// Why a text is not one JSON value.
#[derive(Debug)]
pub struct JsonError(serde_json::Error);

impl JsonError {
    /// The line at which reading stopped, from 1.
    pub fn line(&self) -> usize {
        self.0.line()
    }

    /// The column in the line, from 1, in bytes; 0 if it stopped before the first byte.
    pub fn column(&self) -> usize {
        self.0.column()
    }
}

impl fmt::Display for JsonError {
    /// What is wrong, with the line and the column.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for JsonError {}

impl<'t> GivenStack<'t> {
    /// Reads the keys of a text that is one JSON value. One that is not an object has none.
    ///
    /// # Errors
    /// It is no JSON.
    pub fn parse(text: &'t [u8]) -> Result<Self, JsonError> {
        let is_object = text.trim_ascii_start().starts_with(b"{");
        // Text is checked once here, not string by string.
        let given = match std::str::from_utf8(text) {
            Ok(text) if is_object => serde_json::from_str(text),
            // This fails, and serde_json's error has the line and the column.
            Err(_) if is_object => serde_json::from_slice(text),
            Ok(text) => serde_json::from_str::<IgnoredAny>(text).map(|_| Self::default()),
            Err(_) => serde_json::from_slice::<&RawValue>(text).map(|_| Self::default()),
        };
        given.map_err(JsonError)
    }

    /// Whether there is a list of frames.
    pub fn has_frames(&self) -> bool {
        self.frames.is_some_and(|frames| frames.get().starts_with('['))
    }

    /// Whether the stack asks for its signature: its key `signature` is true.
    pub fn wants_signature(&self) -> bool {
        self.is_signed
    }

    /// What the answer repeats, also where the object is not a stack: `id`, and all keys that are not known here, by key. Values are text
    /// without spaces and line ends.
    pub fn echo(&self) -> impl Iterator<Item = (&str, String)> {
        self.echo.iter().map(|(key, value)| (&**key, compact(value.get())))
    }
}

/// Leaves out what is between the tokens of a text that is JSON.
fn compact(json: &str) -> String {
    let (mut in_string, mut is_escaped) = (false, false);
    let mut keep = |letter: &char| {
        if in_string {
            (in_string, is_escaped) = (is_escaped || *letter != '"', !is_escaped && *letter == '\\');
            return true;
        }
        in_string = *letter == '"';
        !letter.is_ascii_whitespace()
    };
    json.chars().filter(|letter| keep(letter)).collect()
}

impl<'de> Deserialize<'de> for GivenStack<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Keys)
    }
}

/// A key that is copied only if it has escapes.
struct JsonKey<'k>(Cow<'k, str>);

impl<'de> Deserialize<'de> for JsonKey<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Text)
    }
}

struct Text;

impl<'de> Visitor<'de> for Text {
    type Value = JsonKey<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_borrowed_str<E>(self, key: &'de str) -> Result<JsonKey<'de>, E> {
        Ok(JsonKey(key.into()))
    }

    fn visit_str<E>(self, key: &str) -> Result<JsonKey<'de>, E> {
        Ok(JsonKey(key.to_owned().into()))
    }
}

struct Keys;

impl<'de> Visitor<'de> for Keys {
    type Value = GivenStack<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
        let mut given = GivenStack { is_object: true, ..GivenStack::default() };
        while let Some(JsonKey(key)) = map.next_key()? {
            let value: &RawValue = map.next_value()?;
            match &*key {
                "modules" => given.modules = Some(value),
                "frames" => given.frames = Some(value),
                // Keys of the answer are not repeated: an object has each key once.
                "Frames" | "Error" | "Signature" => {}
                // Another value is the caller's own, such as the signature that a crash service gave before.
                "signature" if matches!(value.get(), "true" | "false") => {
                    given.is_signed = value.get() == "true";
                }
                _ => {
                    if key == "vptr" {
                        given.vptr = Some(value);
                    }
                    given.echo.push((key, value));
                }
            }
        }
        // Of a key that is there twice the last one counts.
        given.echo.reverse();
        // A stable sort leaves the last of equal keys first, and `dedup_by` keeps the first.
        given.echo.sort_by(|one, other| one.0.cmp(&other.0));
        given.echo.dedup_by(|next, kept| next.0 == kept.0);
        Ok(given)
    }
}

/// Bytes of a module or of a frame that becomes a tree of values, one at a time.
pub(crate) const MAX_ELEMENT: usize = 1 << 18;

/// A value whose tree is small.
pub(crate) fn value(text: &RawValue) -> Result<Value, RequestError> {
    let text = text.get();
    // Checked on the text, before the tree is built.
    if text.len() > MAX_ELEMENT {
        return Err(wrong(format!("a module or a frame of {} bytes: at most {MAX_ELEMENT}", text.len())));
    }
    serde_json::from_str(text).map_err(|error| wrong(error.to_string()))
}

/// The first elements of a list, and how many there are.
pub(crate) struct List<'t, const MAX: usize> {
    pub(crate) elements: Vec<&'t RawValue>,
    pub(crate) count: usize,
}

impl<'de, const MAX: usize> Deserialize<'de> for List<'de, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(Elements::<MAX>)
    }
}

struct Elements<const MAX: usize>;

impl<'de, const MAX: usize> Visitor<'de> for Elements<MAX> {
    type Value = List<'de, MAX>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut list: S) -> Result<Self::Value, S::Error> {
        let mut read = List { elements: Vec::new(), count: 0 };
        while read.count < MAX {
            let Some(element) = list.next_element()? else { return Ok(read) };
            read.elements.push(element);
            read.count += 1;
        }
        // The list is read to its end, since serde_json returns an error if elements remain.
        while list.next_element::<IgnoredAny>()?.is_some() {
            read.count += 1;
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_asked_for_by_a_boolean() {
        for (text, wants, echo) in [
            ("{\"signature\": true}", true, None),
            ("{\"signature\": false}", false, None),
            ("{\"signature\": \"main\"}", false, Some("\"main\"")),
            ("{\"Signature\": 1}", false, None),
            ("{}", false, None),
        ] {
            let given = GivenStack::parse(text.as_bytes()).unwrap();
            assert_eq!(given.wants_signature(), wants, "{text}");
            assert_eq!(given.echo().next().map(|(_, value)| value).as_deref(), echo, "{text}");
        }
    }

    #[test]
    fn keys_are_read_and_values_are_not() {
        let text = "{ \"b\" : [ 1 , {\"x y\":\" \\\" \\\\\"} ],\n \"frames\": [ 1 ], \"a\": 1.50, \"Frames\": 1, \"a\":2, \"\\u0063\": null}";
        let given = GivenStack::parse(text.as_bytes()).unwrap();
        assert!(given.has_frames() && given.modules.is_none() && given.is_object);
        let echo: Vec<(&str, String)> = given.echo().collect();
        let expected = [("a", "2"), ("b", "[1,{\"x y\":\" \\\" \\\\\"}]"), ("c", "null")];
        assert_eq!(echo, expected.map(|(key, value)| (key, value.to_owned())));
        for text in ["5", "[{}]", " null"] {
            assert!(!GivenStack::parse(text.as_bytes()).unwrap().is_object);
        }
        for text in ["", "{", "{\"a\":}", "[", "{} {}", "{\"a\":1"] {
            assert!(GivenStack::parse(text.as_bytes()).is_err(), "{text}");
        }
        assert!(GivenStack::parse(b"{\"a\":\"\xff\"}").is_err() && GivenStack::parse(b"\"\xff\"").is_err());
        // Values inside of values: their text has any depth.
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(1 << 20), "]".repeat(1 << 20));
        assert_eq!(GivenStack::parse(deep.as_bytes()).unwrap().echo().count(), 1);
    }
}
