//! Adds the pattern of a pack expansion to each type of the parameter pack.

/// The change that all pack expansions of a name make to each type.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pattern {
    /// `Args&&...`
    Forward,
    /// `Args&...`
    Reference,
    /// `Args const&...`
    ConstReference,
    /// Another pattern, several ones, or none.
    Other,
}

impl Pattern {
    pub(crate) fn of(mangled: &[u8]) -> Self {
        let starts = memchr::memchr_iter(b'D', mangled).filter_map(|at| mangled[at + 1..].strip_prefix(b"p"));
        let mut patterns = starts.map(|rest| match rest {
            [b'O', b'T', ..] => Self::Forward,
            [b'R', b'T', ..] => Self::Reference,
            [b'R', b'K', b'T', ..] => Self::ConstReference,
            _ => Self::Other,
        });
        let first = patterns.next().unwrap_or(Self::Other);
        if patterns.all(|other| other == first) { first } else { Self::Other }
    }

    /// Appends a type of a pack, which may have some of the pattern already.
    pub(crate) fn put(self, one: &str, out: &mut String) {
        // A value is no type.
        if one.starts_with(|first: char| first.is_ascii_digit() || first == '-') {
            return out.push_str(one);
        }
        if one.ends_with([']', ')']) {
            // The reference is inside: `char const (&) [8]`.
            return out.push_str(one);
        }
        // Nothing is deduced to be a reference for `Args&`, nor a constant for `Args const&`.
        let value = one.trim_end_matches('&');
        match self {
            Self::Reference => out.extend([value, "&"]),
            Self::ConstReference => out.extend([value.strip_suffix(" const").unwrap_or(value), " const&"]),
            // A type that is already a reference stays unchanged (reference collapsing).
            Self::Forward if value.len() == one.len() => out.extend([one, "&&"]),
            Self::Forward | Self::Other => out.push_str(one),
        }
    }
}

/// True for what may follow a type and is no part of its name.
pub(crate) fn is_modifier(text: &str) -> bool {
    text.starts_with([' ', '*', '&', '('])
}
