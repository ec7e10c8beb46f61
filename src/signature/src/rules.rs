//! Reads rule files: which functions say nothing, call only the next, are of a library, and how many count.

use std::fmt;

use foldsym_demangle::BucketNames;
use sha2::{Digest, Sha256};

use crate::glob::{Glob, MAX_PATTERN};
use crate::hex::hex;

/// The rules that ship with foldsym.
const SHIPPED: &str = include_str!("../default.rules");

/// Most patterns of all files of rules.
const MAX_PATTERNS: usize = 4096;

/// Most frames that a text has.
const MAX_FRAMES: usize = 64;

/// What a function is to a signature, the ones that count most first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// The user's own code.
    App,
    /// A library: it counts in a stack without a function of the user's own.
    Library,
    /// Its frames only call the next ones: it counts in a stack without others.
    Wrapper,
    /// Its frames say nothing of the fault (`abort`): it counts if there is nothing else.
    Skip,
}

/// What counts of a frame that several functions may have run in, beside the innermost frames that all of them share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Doubt {
    /// The function with the smallest name.
    #[default]
    Smallest,
    /// The namespaces and classes that the names begin with.
    Shared,
    /// Nothing.
    Pass,
}

/// What a pattern is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    Function,
    Module,
    File,
}

/// A pattern with its class. Later ones outweigh earlier ones.
#[derive(Clone, Debug)]
struct Rule {
    target: Target,
    glob: Glob,
    class: Class,
}

/// The rules of signatures.
#[derive(Clone, Debug)]
pub struct Rules {
    version: String,
    pub(crate) frames: usize,
    pub(crate) doubt: Doubt,
    pub(crate) names: BucketNames,
    rules: Vec<Rule>,
    /// Functions outside of which the stack of the fault begins.
    begins: Vec<Glob>,
}

/// A line of a file of rules that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleError {
    /// The file, as it was named.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong, and what is allowed.
    pub what: String,
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.what)
    }
}

impl std::error::Error for RuleError {}

/// The class of a text, and the number of the rule that says so; later rules have higher numbers.
pub(crate) type Found = Option<(usize, Class)>;

impl Rules {
    /// The rules that ship with foldsym, `src/signature/default.rules`.
    pub fn shipped() -> Self {
        let mut rules = Self {
            version: String::new(),
            frames: 1,
            doubt: Doubt::default(),
            names: BucketNames::default(),
            rules: Vec::new(),
            begins: Vec::new(),
        };
        let read = rules.read("default.rules", SHIPPED);
        // The text is a part of the program.
        debug_assert!(read.is_ok(), "{read:?}");
        rules
    }

    /// The text of the rules that ship with foldsym.
    pub const fn shipped_text() -> &'static str {
        SHIPPED
    }

    /// Adds the lines of a file: they outweigh the lines before them. The version becomes `OLD+NEW`, where `NEW` is the file's own
    /// version, or eight digits of the SHA-256 of its text if it has none. `file` is for messages.
    ///
    /// # Errors
    /// The first line that cannot be read.
    ///
    /// ```
    /// use foldsym_signature::Rules;
    ///
    /// let rules = Rules::shipped().with("mine.rules", "version 7\nlibrary vendor::**\nframes 2\n").unwrap();
    /// assert_eq!(rules.version(), "1+7");
    /// let error = Rules::shipped().with("mine.rules", "\nskips abort\n").unwrap_err();
    /// assert!(error.to_string().starts_with("mine.rules:2: `skips`"));
    /// ```
    pub fn with(mut self, file: &str, text: &str) -> Result<Self, RuleError> {
        let before = std::mem::take(&mut self.version);
        self.read(file, text)?;
        if self.version.is_empty() {
            self.version = hex(&Sha256::digest(text), 4);
        }
        self.version = format!("{before}+{}", self.version);
        Ok(self)
    }

    /// The version of the rules: signatures are compared only where it is the same.
    pub fn version(&self) -> &str {
        &self.version
    }

    fn read(&mut self, file: &str, text: &str) -> Result<(), RuleError> {
        for (at, line) in text.lines().enumerate() {
            let error = |what| RuleError { file: file.to_owned(), line: at + 1, what };
            let words = words(line).map_err(error)?;
            if let Some((keyword, values)) = words.split_first() {
                self.line(keyword, values).map_err(error)?;
            }
        }
        Ok(())
    }

    fn line(&mut self, keyword: &str, values: &[String]) -> Result<(), String> {
        let one = || match values {
            [value] => Ok(value.as_str()),
            _ => Err(format!("`{keyword}` takes one word")),
        };
        match keyword {
            "version" => {
                let is_word = |word: &&str| {
                    word.len() <= 32
                        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte))
                };
                let version = Some(one()?).filter(is_word);
                self.version =
                    version.ok_or("a version has at most 32 letters, digits, `.`, `-` and `_`")?.to_owned();
            }
            "frames" => {
                let frames = one()?.parse().ok().filter(|frames| (1..=MAX_FRAMES).contains(frames));
                self.frames =
                    frames.ok_or_else(|| format!("`frames` takes a number from 1 to {MAX_FRAMES}"))?;
            }
            "doubt" => {
                self.doubt = match one()? {
                    "smallest" => Doubt::Smallest,
                    "shared" => Doubt::Shared,
                    "pass" => Doubt::Pass,
                    other => return Err(format!("`doubt` takes smallest, shared or pass, not `{other}`")),
                };
            }
            "keep" | "drop" => {
                for value in values {
                    let detail = match value.as_str() {
                        "arguments" => &mut self.names.arguments,
                        "parameters" => &mut self.names.parameters,
                        "lambdas" => &mut self.names.lambdas,
                        other => {
                            return Err(format!(
                                "`{keyword}` takes arguments, parameters or lambdas, not `{other}`"
                            ));
                        }
                    };
                    *detail = keyword == "keep";
                }
            }
            "begin" => {
                for value in values {
                    if ["file:", "module:"].iter().any(|kind| value.starts_with(kind)) {
                        return Err(format!("`begin` takes functions, not `{value}`"));
                    }
                    self.begins.push(pattern(value, false)?);
                }
            }
            _ => {
                let class = match keyword {
                    "app" => Class::App,
                    "library" => Class::Library,
                    "wrapper" => Class::Wrapper,
                    "skip" => Class::Skip,
                    _ => {
                        return Err(format!(
                            "`{keyword}` is no rule: expected app, library, wrapper, skip, begin, frames, doubt, keep, drop or version"
                        ));
                    }
                };
                for value in values {
                    let (target, text) = match (value.strip_prefix("module:"), value.strip_prefix("file:")) {
                        (Some(module), _) => (Target::Module, module),
                        (_, Some(file)) => (Target::File, file),
                        _ => (Target::Function, value.as_str()),
                    };
                    // Windows writes names of modules in any case.
                    let glob = pattern(text, target == Target::Module)?;
                    self.rules.push(Rule { target, glob, class });
                }
            }
        }
        match self.rules.len() + self.begins.len() > MAX_PATTERNS {
            true => Err(format!("more than {MAX_PATTERNS} patterns")),
            false => Ok(()),
        }
    }

    /// The class of a function by its name, in the form of signatures.
    pub(crate) fn of_function(&self, name: &str) -> Found {
        self.last(Target::Function, name)
    }

    /// The class of a module, by the last part of its path.
    pub(crate) fn of_module(&self, path: &str) -> Found {
        self.last(Target::Module, path.rsplit(['/', '\\']).next().unwrap_or(path))
    }

    /// The class of a source file.
    pub(crate) fn of_file(&self, path: &str) -> Found {
        self.last(Target::File, path)
    }

    fn last(&self, target: Target, text: &str) -> Found {
        let is_match = |rule: &Rule| rule.target == target && rule.glob.matches(text);
        self.rules.iter().rposition(is_match).map(|at| (at, self.rules[at].class))
    }

    /// True for a function outside of which the stack of the fault begins.
    pub(crate) fn begins_at(&self, name: &str) -> bool {
        self.begins.iter().any(|glob| glob.matches(name))
    }
}

impl Default for Rules {
    fn default() -> Self {
        Self::shipped()
    }
}

fn pattern(text: &str, ignores_case: bool) -> Result<Glob, String> {
    Glob::parse(text, ignores_case)
        .ok_or_else(|| format!("a pattern has 1 to {MAX_PATTERN} bytes, and this one {}", text.len()))
}

/// The words of a line. Quotes hold blanks; `#` at the start of a word begins a comment.
fn words(line: &str) -> Result<Vec<String>, String> {
    let (mut words, mut rest) = (Vec::new(), line.trim_start());
    while !rest.is_empty() && !rest.starts_with('#') {
        let (word, after) = match rest.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').ok_or("a quote has no end")?,
            None => rest.split_at(rest.find(char::is_whitespace).unwrap_or(rest.len())),
        };
        if word.contains('"') {
            return Err(format!("a quote must be around the whole word: `{word}`"));
        }
        if !after.is_empty() && !after.starts_with(char::is_whitespace) {
            return Err("a blank must follow a quote".to_owned());
        }
        words.push(word.to_owned());
        rest = after.trim_start();
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_rules_are_whole() {
        let rules = Rules::shipped();
        assert_eq!(rules.version(), "1");
        let class = |name: &str| rules.of_function(name).map(|(_, class)| class);
        for (name, expected) in [
            ("abort", Some(Class::Skip)),
            ("core::panicking::panic_fmt", Some(Class::Skip)),
            ("std::panicking::begin_panic_handler::{lambda}", Some(Class::Skip)),
            ("runtime.gopanic", Some(Class::Skip)),
            ("__asan_report_load4", Some(Class::Skip)),
            ("operator new", Some(Class::Skip)),
            ("std::vector<T>::push_back", Some(Class::Library)),
            ("std::function<T>::operator()", Some(Class::Wrapper)),
            ("<alloc::vec::Vec<T> as core::ops::Drop>::drop", Some(Class::Library)),
            ("<app::Parcel as core::fmt::Display>::fmt", None),
            ("app::std::weigh", None),
            ("main", None),
        ] {
            assert_eq!(class(name), expected, "{name}");
        }
        assert_eq!(
            rules.of_module("/lib/x86_64-linux-gnu/libc.so.6").map(|(_, class)| class),
            Some(Class::Library)
        );
        assert_eq!(rules.of_module(r"C:\Windows\NTDLL.DLL").map(|(_, class)| class), Some(Class::Library));
        assert!(rules.begins_at("__restore_rt") && !rules.begins_at("main"));
    }

    #[test]
    fn a_wrong_line_is_named() {
        for (text, expected) in [
            ("skips abort", "r:1: `skips` is no rule"),
            ("# fine\n\n  skip a\nframes 0", "r:4: `frames` takes a number from 1 to 64"),
            ("frames", "r:1: `frames` takes one word"),
            ("doubt maybe", "r:1: `doubt` takes smallest"),
            ("keep suffixes", "r:1: `keep` takes arguments"),
            ("skip \"a", "r:1: a quote has no end"),
            ("skip \"a\"b", "r:1: a blank must follow"),
            ("skip \"\"", "r:1: a pattern has 1 to 127 bytes"),
            ("skip module:", "r:1: a pattern has"),
            ("version a b", "r:1: `version` takes one word"),
            ("version ä", "r:1: a version has"),
        ] {
            let error = Rules::shipped().with("r", text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
        let long = format!("skip {}", "a".repeat(128));
        assert!(Rules::shipped().with("r", &long).unwrap_err().to_string().contains("this one 128"));
        let many = "skip a b c d e f g h\n".repeat(1000);
        assert!(
            Rules::shipped().with("r", &many).unwrap_err().to_string().contains("more than 4096 patterns")
        );
    }

    #[test]
    fn the_last_line_that_matches_wins() {
        let rules = Rules::shipped().with("mine", "library ** \"operator bool\" # all\napp my::**").unwrap();
        assert_eq!(rules.of_function("my::f").map(|found| found.1), Some(Class::App));
        assert_eq!(rules.of_function("abort").map(|found| found.1), Some(Class::Library));
        assert!(rules.version().starts_with("1+") && rules.version().len() == 10);
        let other = Rules::shipped().with("mine", "library **\napp mine::**").unwrap();
        assert_ne!(other.version(), rules.version());
    }
}
