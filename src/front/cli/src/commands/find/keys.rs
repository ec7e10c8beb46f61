//! Turns a pattern of the command line into a matcher of names.

use foldsym_demangle::{Query, demangle};

use super::regex::Regex;
use crate::args::Pattern;
use crate::io::failure::Failure;

/// The names that are searched.
pub(super) enum Wanted {
    Name(Box<Query>),
    Keys(Keys),
}

/// A search that can walk an index.
pub(crate) enum Keys {
    Prefix(Vec<u8>),
    Regex(Box<Regex>),
}

impl Wanted {
    /// # Errors
    /// Usage: a regular expression that cannot be compiled.
    pub(super) fn new(pattern: &Pattern) -> Result<Self, Failure> {
        if let Some(expression) = &pattern.regex {
            let regex =
                Regex::new(expression).map_err(|error| Failure::usage(format!("--regex: {error}")))?;
            return Ok(Self::Keys(Keys::Regex(Box::new(regex))));
        }
        Ok(match (&pattern.prefix, &pattern.name) {
            (Some(prefix), _) => Self::Keys(Keys::Prefix(prefix.clone().into_bytes())),
            // clap requires one of the three, so the default is never used.
            (None, name) => Self::Name(Box::new(Query::new(name.as_deref().unwrap_or_default()))),
        })
    }

    /// True for a linkage name that matches, or the readable name of which does.
    pub(super) fn matches(&mut self, name: &[u8]) -> bool {
        match self {
            Self::Name(query) => query.matches(name),
            // An index has both names as keys.
            Self::Keys(keys) => {
                keys.match_key(name) || demangle(name).is_some_and(|name| keys.match_key(name.as_bytes()))
            }
        }
    }
}

impl Keys {
    pub(super) fn match_key(&self, name: &[u8]) -> bool {
        match self {
            Self::Prefix(prefix) => name.starts_with(prefix),
            Self::Regex(regex) => regex.is_match(name),
        }
    }
}
