//! Compares names as people type them with the names that linkers have.

use crate::parts::{Part, Parts};

/// Longer names are not compared letter by letter when near names are looked for.
const MAX_COMPARED: usize = 64;

/// A function's name as a person types it.
///
/// It matches linkage names, readable names and plain ones. What is left out of it may be anything: the type that is
/// returned, the arguments of templates, the parameters. What is there must be the same, spaces aside. Namespaces and
/// classes must be there.
///
/// ```
/// use foldsym_demangle::Query;
///
/// let mut crashy = Query::new("geo::crashy");
/// assert!(crashy.matches(b"_ZN3geo6crashyEiPKc")); // geo::crashy(int, char const*)
/// assert!(crashy.matches(b"_ZN3geo6crashyIiEEvT_")); // void geo::crashy<int>(int)
/// assert!(crashy.matches(b"geo::crashy"));
/// assert!(!crashy.matches(b"_ZN3geo5otherEv"));
/// assert!(!Query::new("geo::crashy( char const * )").matches(b"_ZN3geo6crashyEiPKc"));
/// ```
#[derive(Clone, Debug)]
pub struct Query {
    text: String,
    /// Letters that every linkage name has that may match; empty if none is known.
    needle: String,
    /// Memory for readable names.
    readable: String,
}

impl Query {
    /// From a linkage name, a readable name, or a readable name with parts left out.
    pub fn new(text: &str) -> Self {
        let text = text.trim().to_owned();
        let needle = needle(&Parts::of(&text)).to_owned();
        Self { needle, text, readable: String::new() }
    }

    /// True for a function's name that this may be: a linkage name, a readable name, or a plain one.
    pub fn matches(&mut self, name: &[u8]) -> bool {
        if name == self.text.as_bytes() {
            return true;
        }
        // The byte search comes first: demangling takes far longer, and most names of a program do not match.
        memchr::memmem::find(name, self.needle.as_bytes()).is_some()
            && self.with_readable(name, |text, readable| is_named(readable, text))
    }

    /// The distance of a function's name that does not match: 0 if only the text around the function's own name differs, more
    /// if that name is spelled differently; `None` if it is another name.
    ///
    /// ```
    /// use foldsym_demangle::Query;
    ///
    /// let mut crash = Query::new("geo::crash");
    /// assert!(crash.distance(b"_ZN3geo6crashyEiPKc").is_some());
    /// assert!(crash.distance(b"_ZN3geo4areaEv").is_none());
    /// ```
    pub fn distance(&mut self, name: &[u8]) -> Option<u32> {
        self.with_readable(name, |text, readable| {
            let (wanted, own) = (Parts::of(text).last().base, Parts::of(readable).last().base);
            if wanted.is_empty() || own.is_empty() {
                return None;
            }
            if wanted.eq_ignore_ascii_case(own) {
                return Some(u32::from(wanted != own));
            }
            let most = u32::try_from(wanted.len() / 3).unwrap_or(u32::MAX);
            edits(wanted.as_bytes(), own.as_bytes()).filter(|edits| *edits <= most).map(|edits| edits + 1)
        })
    }

    /// Calls `call` with the text of the query and with the readable name.
    fn with_readable<T>(&mut self, name: &[u8], call: impl Fn(&str, &str) -> T) -> T {
        self.readable.clear();
        if !crate::demangle_into(name, &mut self.readable) {
            self.readable.push_str(&String::from_utf8_lossy(name));
        }
        call(&self.text, &self.readable)
    }
}

/// Letters of the last part that linkage names have as they are. Operators, lambdas, Rust's closures and types are spelled in
/// another way there, and so are the classes of the standard library that have abbreviations.
fn needle<'t>(parts: &Parts<'t>) -> &'t str {
    const ABBREVIATED: &[&str] = &["string", "stream", "allocator"];
    let base = parts.last().base;
    let name = base.strip_prefix('~').unwrap_or(base);
    let end =
        name.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').unwrap_or(name.len());
    let coded = !base.is_ascii()
        || base.starts_with("operator")
        || ABBREVIATED.iter().any(|word| base.contains(word));
    if coded || !parts.special.is_empty() { "" } else { &name[..end] }
}

/// True if a readable name has all parts that a text spells.
fn is_named(readable: &str, text: &str) -> bool {
    let (name, wanted) = (Parts::of(readable), Parts::of(text));
    let differs = |wanted: Option<&str>, own: Option<&str>| {
        wanted.is_some_and(|wanted| own.is_none_or(|own| !same(wanted, own)))
    };
    let fits = |(wanted, own): (&Part<'_>, &Part<'_>)| {
        same(without_tags(wanted.base), without_tags(own.base))
            && !differs(wanted.arguments, own.arguments)
            // Plain names, and names that were stored in readable form, have no parameters.
            && (own.parameters.is_none() || !differs(wanted.parameters, own.parameters))
    };
    name.special == wanted.special
        && name.parts.len() == wanted.parts.len()
        && wanted.parts.iter().zip(&name.parts).all(fits)
}

/// A name without its ABI tags (`[abi:cxx11]`).
fn without_tags(base: &str) -> &str {
    base.split("[abi:").next().unwrap_or(base)
}

/// True for texts that differ only in spaces.
fn same(a: &str, b: &str) -> bool {
    let letters = |text: &'_ str| text.bytes().filter(|byte| *byte != b' ').collect::<Vec<u8>>();
    a == b || letters(a) == letters(b)
}

/// How many letters must be put in, left out or replaced to make one text of the other.
fn edits(a: &[u8], b: &[u8]) -> Option<u32> {
    if a.len().max(b.len()) > MAX_COMPARED {
        return None;
    }
    let mut row: Vec<u32> = (0..=b.len() as u32).collect();
    for (&letter, number) in a.iter().zip(1..) {
        let mut diagonal = std::mem::replace(&mut row[0], number);
        for (at, &other) in b.iter().enumerate() {
            let replaced = diagonal + u32::from(letter != other);
            diagonal = row[at + 1];
            row[at + 1] = replaced.min(diagonal + 1).min(row[at] + 1);
        }
    }
    row.last().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(text: &str, name: &str) -> bool {
        Query::new(text).matches(name.as_bytes())
    }

    #[test]
    fn what_is_left_out_may_be_anything() {
        let crashy = "_ZN3geo6crashyEiPKc";
        for text in [
            crashy,
            "geo::crashy",
            "geo::crashy(int, char const*)",
            "geo::crashy(int,char const *)",
            " geo::crashy ",
        ] {
            assert!(matches(text, crashy), "{text}");
        }
        for text in [
            "crashy",
            "geo",
            "geo::crash",
            "geo::crashy<int>",
            "geo::crashy()",
            "geo::crashy(int)",
            "geo::Crashy",
        ] {
            assert!(!matches(text, crashy), "{text}");
        }
        // void std::__cxx11::list<std::pair<long, long>, std::allocator<std::pair<long, long>>>::sort<bool (*)(int)>(...)
        let sort = "_ZNSt7__cxx114listISt4pairIllESaIS2_EE4sortIPFbiEEEvT_";
        for text in [
            "std::__cxx11::list::sort",
            "std::__cxx11::list<std::pair<long,long>, std::allocator<std::pair<long, long> > >::sort",
            "void std::__cxx11::list::sort<bool (*)(int)>",
            "std::__cxx11::list::sort(bool (*)(int))",
        ] {
            assert!(matches(text, sort), "{text}");
        }
        assert!(!matches("std::__cxx11::list<int>::sort", sort));
    }

    #[test]
    fn other_kinds_of_names_match_too() {
        assert!(matches("main", "main"));
        assert!(!matches("mai", "main"));
        // Names without parameters: plain ones, and names stored in readable form.
        assert!(matches("geo::crashy(int)", "geo::crashy"));
        assert!(matches("partitioned", "_Z11partitionedi.cold"));
        assert!(matches("geo::Left::~Left", "_ZN3geo4LeftD2Ev"));
        assert!(matches("geo::Left::Left", "_ZN3geo4LeftC1Ev"));
        assert!(!matches("geo::Left::f", "_ZThn8_N3geo4Left1fEv"));
        assert!(matches("non-virtual thunk to geo::Left::f", "_ZThn8_N3geo4Left1fEv"));
        assert!(matches("operator<<", "_ZlsRSoi"));
        assert!(matches("std::basic_string::basic_string", "_ZNSsC1EPKcRKSaIcE"));
        assert!(matches("f::'lambda'::operator()", "_ZZ1fvENKUlvE_clEv"));
        let fmt = "_ZN60_$LT$alloc..string..String$u20$as$u20$core..fmt..Display$GT$3fmt17h0123456789abcdefE";
        assert!(matches("<alloc::string::String as core::fmt::Display>::fmt", fmt));
        assert!(matches(
            "rayon_core::ThreadPoolBuilder::get_num_threads",
            "_ZN10rayon_core26ThreadPoolBuilder$LT$S$GT$15get_num_threads17h2f570b9d7927efdaE"
        ));
        assert!(matches(
            "blake3::compress_subtree_wide",
            "_RINvCs3fZMFbg1rvm_6blake321compress_subtree_wideNtNtB2_4join10SerialJoinEB2_"
        ));
    }

    #[test]
    fn near_names_have_a_distance() {
        let distance = |text: &str, name: &str| Query::new(text).distance(name.as_bytes());
        assert_eq!(distance("crashy", "_ZN3geo6crashyEiPKc"), Some(0));
        assert_eq!(distance("geo::Crashy", "_ZN3geo6crashyEiPKc"), Some(1));
        assert_eq!(distance("geo::crash", "_ZN3geo6crashyEiPKc"), Some(2));
        assert_eq!(distance("geo::crsahy", "_ZN3geo6crashyEiPKc"), Some(3));
        assert_eq!(distance("geo::area", "_ZN3geo6crashyEiPKc"), None);
        assert_eq!(distance("", "main"), None);
        assert_eq!(distance(&"a".repeat(100), &"a".repeat(99)), None);
    }
}
