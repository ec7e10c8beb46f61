//! Walks a regular expression over the name index.
//!
//! The index is an automaton over bytes, and so is the expression once it is compiled: `fst` walks both at
//! once and never enters a part of the index in which nothing can match. The expression's automaton
//! reports a match one byte late (it must see what follows, for `$` and `\b`), so the question "does the
//! key that ends here match?" takes its end-of-input transition. Once a match is seen, whatever follows
//! matches too: the search is for the expression anywhere in the name.

use fst::automaton::Automaton as Walk;
use regex_automata::dfa::{Automaton as _, dense};
use regex_automata::util::primitives::StateID;
use regex_automata::util::start::Config as Start;
use regex_automata::util::syntax;
use regex_automata::{Anchored, MatchKind, nfa::thompson};

/// Most bytes of the compiled expression. A dense automaton can be exponentially larger than its text.
const MAX_BYTES: usize = 16 << 20;

/// A regular expression as an automaton over bytes.
#[derive(Debug)]
pub(crate) struct Regex {
    dfa: dense::DFA<Vec<u32>>,
    start: StateID,
}

/// Where a walk over a name is.
#[derive(Clone, Copy)]
pub(crate) enum At {
    State(StateID),
    /// The expression was found before this byte.
    Found,
    /// It cannot be found any more.
    Dead,
}

impl Regex {
    /// Compiles an expression. Classes such as `\w` are ASCII, as names are bytes.
    ///
    /// # Errors
    /// The fault of the expression, or that its automaton is too large; for the user.
    pub(crate) fn new(pattern: &str) -> Result<Self, String> {
        let config = dense::Config::new()
            // A leftmost-first search would stop following the alternatives after the first match; here
            // only whether there is one counts.
            .match_kind(MatchKind::All)
            .start_kind(regex_automata::dfa::StartKind::Unanchored)
            .accelerate(false)
            .dfa_size_limit(Some(MAX_BYTES))
            .determinize_size_limit(Some(MAX_BYTES));
        let syntax = syntax::Config::new().unicode(false).utf8(false);
        syntax::parse_with(pattern, &syntax).map_err(|error| explain_syntax(&error))?;
        let dfa = dense::Builder::new()
            .configure(config)
            .syntax(syntax)
            .thompson(thompson::Config::new().utf8(false).nfa_size_limit(Some(MAX_BYTES)))
            .build(pattern)
            .map_err(|error| explain(&error))?;
        let start =
            dfa.start_state(&Start::new().anchored(Anchored::No)).map_err(|error| error.to_string())?;
        Ok(Self { dfa, start })
    }

    /// True if the expression is found anywhere in the name.
    pub(crate) fn is_match(&self, name: &[u8]) -> bool {
        let mut at = self.start();
        for &byte in name {
            match at {
                At::State(_) => at = self.accept(&at, byte),
                At::Found => return true,
                At::Dead => return false,
            }
        }
        Walk::is_match(self, &at)
    }

    fn at(&self, state: StateID) -> At {
        if self.dfa.is_match_state(state) {
            At::Found
        // No state is a quit state: no quit byte is configured, and the builder refuses a Unicode `\b`.
        } else if self.dfa.is_dead_state(state) || self.dfa.is_quit_state(state) {
            At::Dead
        } else {
            At::State(state)
        }
    }
}

/// The cause at the bottom: the layers above it only say that the automaton could not be built.
fn explain(error: &dyn std::error::Error) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

/// The fault of an expression, and where, in one line.
fn explain_syntax(error: &regex_syntax::Error) -> String {
    let (what, span) = match error {
        regex_syntax::Error::Parse(error) => (error.kind().to_string(), error.span()),
        regex_syntax::Error::Translate(error) => (error.kind().to_string(), error.span()),
        other => return other.to_string(),
    };
    format!("{what} at offset {}", span.start.offset)
}

impl Walk for Regex {
    type State = At;

    fn start(&self) -> At {
        self.at(self.start)
    }

    fn is_match(&self, at: &At) -> bool {
        match *at {
            At::State(state) => self.dfa.is_match_state(self.dfa.next_eoi_state(state)),
            At::Found => true,
            At::Dead => false,
        }
    }

    fn can_match(&self, at: &At) -> bool {
        !matches!(at, At::Dead)
    }

    fn will_always_match(&self, at: &At) -> bool {
        matches!(at, At::Found)
    }

    fn accept(&self, at: &At, byte: u8) -> At {
        match *at {
            At::State(state) => self.at(self.dfa.next_state(state, byte)),
            found_or_dead => found_or_dead,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_a_regular_expression_finds() {
        for (pattern, matching, other) in [
            ("b", &["b", "abc", "ab"][..], &["", "ac"][..]),
            ("^b", &["b", "bc"], &["ab", ""]),
            ("b$", &["b", "ab"], &["bc", ""]),
            ("^$", &[""], &["a"]),
            ("", &["", "a"], &[]),
            (r"\bfoo\b", &["foo", "a foo b", "x::foo()"], &["food", "afoo"]),
            ("a|bc", &["xa", "xbc"], &["b", "c"]),
            (r"^_ZN3geo.*D[012]Ev$", &["_ZN3geo4LeftD1Ev"], &["_ZN3geo4LeftC1Ev", "x_ZN3geo4LeftD1Ev"]),
            ("\u{e9}", &["caf\u{e9}"], &["cafe"]),
            ("(?i)MAIN", &["main", "Main"], &["mai"]),
        ] {
            let regex = Regex::new(pattern).unwrap();
            for name in matching {
                assert!(regex.is_match(name.as_bytes()), "{pattern} in {name}");
            }
            for name in other {
                assert!(!regex.is_match(name.as_bytes()), "{pattern} in {name}");
            }
        }
    }

    #[test]
    fn walks_an_index() {
        let names = ["aa", "ab", "abb", "b", "ba"];
        let map = fst::Map::from_iter(names.iter().zip(0u64..)).unwrap();
        for pattern in ["b", "^a", "b$", "^ab?$", "", "x", "a.*b"] {
            let regex = Regex::new(pattern).unwrap();
            let walked = fst::IntoStreamer::into_stream(map.search(&regex)).into_str_keys().unwrap();
            let expected: Vec<&str> =
                names.iter().copied().filter(|name| regex.is_match(name.as_bytes())).collect();
            assert_eq!(walked, expected, "{pattern}");
        }
    }

    #[test]
    fn refuses_what_it_cannot_compile() {
        assert!(Regex::new("(").unwrap_err().contains("unclosed group"));
        assert!(Regex::new("(a|b){1000000}").is_err());
        assert!(Regex::new("[ab]*a[ab]{40}").is_err());
    }
}
