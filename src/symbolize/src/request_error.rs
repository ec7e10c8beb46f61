//! The fault of a stack that is a JSON object, in words for its author.

use serde_json::Value;

/// Why an object is not a stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestError {
    message: String,
}

impl std::fmt::Display for RequestError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for RequestError {}

pub(crate) fn wrong(message: impl Into<String>) -> RequestError {
    RequestError { message: message.into() }
}

/// A value of the input, shortened for a message.
pub(crate) fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(80) {
        Some((end, _)) => format!("{}... ({} bytes)", &text[..end], text.len()),
        None => text,
    }
}
