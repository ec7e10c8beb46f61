//! Reads the query of an address.

use crate::refusal::Refusal;

/// Whether a query has this word, alone or with the value 1 or true.
///
/// # Errors
/// The query has another word.
pub(crate) fn flag(query: Option<&str>, word: &str) -> Result<bool, Refusal> {
    let mut is_set = false;
    for given in query.unwrap_or_default().split('&').filter(|given| !given.is_empty()) {
        match given.strip_prefix(word) {
            Some("" | "=1" | "=true") => is_set = true,
            _ => return Err(Refusal::bad(format!("{given}: expected {word}"))),
        }
    }
    Ok(is_set)
}
