//! What symbolizers print as JSON: a value, and its parts without their absence.

use serde_json::Value;

/// The value of one whole text.
///
/// # Errors
/// Where it is no JSON, with the text.
pub(crate) fn parse(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("JSON: {error}: {text}"))
}

/// Parts of an answer. Symbolizers leave out, or write as zero, what they do not know; `value["key"]` is `Null` where there is none.
pub(crate) trait Answered {
    /// The elements of an array; none for any other value.
    fn items(&self) -> &[Value];
    /// The text of a string; empty for any other value.
    fn text(&self) -> &str;
    /// A whole number; zero for any other value.
    fn number(&self) -> u64;
}

impl Answered for Value {
    fn items(&self) -> &[Value] {
        self.as_array().map_or(&[], Vec::as_slice)
    }

    fn text(&self) -> &str {
        self.as_str().unwrap_or_default()
    }

    fn number(&self) -> u64 {
        self.as_u64().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_are_absent_are_empty() {
        let json = parse(r#"{"Address":"0x10","Symbol":[{"Line":7,"Q":null}]}"#).unwrap();
        assert_eq!(json["Address"].text(), "0x10");
        assert_eq!(json["Symbol"].items()[0]["Line"].number(), 7);
        assert_eq!(
            (json["Symbol"][0]["Q"].number(), json["Symbol"].text(), json["absent"].items().len()),
            (0, "", 0)
        );
        assert!(parse("1 2").unwrap_err().ends_with(": 1 2"));
    }
}
