//! Turns the frames of a stack, innermost first, into its signature.

use std::collections::HashMap;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::hex::hex;
use crate::rules::{Class, Doubt, Found, Rules};

/// Bytes of a name in a text; a longer one is cut, and ends in `...`.
const MAX_NAME: usize = 256;

/// When more bytes than this are kept of names, all are dropped.
const MAX_KEPT: usize = 4 << 20;

/// Bytes that a kept name takes beside its text.
const ENTRY: usize = 128;

/// The text of a stack in which nothing is known.
const NOTHING: &str = "??";

/// A function at a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Function<'f> {
    /// Its linkage name, or its readable name.
    pub name: &'f str,
    /// The path of its source file; empty if it is not known.
    pub file: &'f str,
}

impl<'f> Function<'f> {
    /// A function of an unknown file.
    pub const fn new(name: &'f str) -> Self {
        Self { name, file: "" }
    }

    /// The same with its source file.
    pub const fn in_file(self, file: &'f str) -> Self {
        Self { file, ..self }
    }
}

/// The bucket of a stack.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Signature {
    /// The functions that count, innermost first, with ` | ` between them.
    pub text: String,
    /// The first 16 hexadecimal digits of the SHA-256 of the version of the rules, a line end, and the text.
    pub hash: String,
    /// The version of the rules.
    pub rules: String,
}

/// A name in the form of signatures, and what the rules say of it.
#[derive(Clone)]
struct Known {
    name: Arc<str>,
    class: Found,
    begins: bool,
}

/// The candidates of a frame so far.
#[derive(Default)]
struct Candidates {
    count: usize,
    /// The functions that are innermost in all candidates.
    shared: Vec<(Arc<str>, Class)>,
    /// What the names of the other candidates' outermost functions begin with.
    beginning: String,
    /// The functions of the candidate whose outermost one has the smallest name.
    smallest: Vec<(Arc<str>, Class)>,
}

/// What counts of a frame, kept for the same frame in other stacks ([`Signer::counted`]).
#[derive(Clone, Debug, Default)]
pub struct Counted(Vec<(Arc<str>, Class, bool)>);

/// Makes signatures, one stack after another. Frames are given innermost first; [`Signer::finish`] ends a stack.
pub struct Signer {
    rules: Arc<Rules>,
    known: HashMap<Arc<str>, Known>,
    modules: HashMap<Arc<str>, Found>,
    files: HashMap<Arc<str>, Found>,
    kept: usize,
    /// By class: the functions that may be in the text.
    found: [Vec<Arc<str>>; 4],
    /// The same before the last function at which stacks begin.
    inside: [Vec<Arc<str>>; 4],
    candidates: Candidates,
    /// What counts of the frame that is kept at the moment.
    counted: Option<Counted>,
}

impl Signer {
    /// A signer without frames.
    pub fn new(rules: impl Into<Arc<Rules>>) -> Self {
        Self {
            rules: rules.into(),
            known: HashMap::new(),
            modules: HashMap::new(),
            files: HashMap::new(),
            kept: 0,
            found: Default::default(),
            inside: Default::default(),
            candidates: Candidates::default(),
            counted: None,
        }
    }

    /// What counts of the frame that `add` adds; no stack gets it. Frames that come again cost little this way: [`Signer::again`] adds what was kept.
    ///
    /// ```
    /// use foldsym_signature::{Function, Rules, Signer};
    ///
    /// let mut signer = Signer::new(Rules::shipped());
    /// let main = signer.counted(|signer| signer.known("mail", [Function::new("main")]));
    /// assert_eq!(signer.finish().text, "??");
    /// signer.again(&main);
    /// assert_eq!(signer.finish().text, "main");
    /// ```
    pub fn counted(&mut self, add: impl FnOnce(&mut Self)) -> Counted {
        self.counted = Some(Counted::default());
        add(self);
        self.counted.take().unwrap_or_default()
    }

    /// Adds a frame that [`Signer::counted`] gave.
    pub fn again(&mut self, frame: &Counted) {
        for (name, class, begins) in &frame.0 {
            self.add(name.clone(), *class, *begins);
        }
    }

    /// Adds a frame with its functions, innermost first: the inlined ones, then the one that contains the code. `module` is the name or path of
    /// its module, or empty. Functions without a name are left out.
    pub fn known<'f>(&mut self, module: &str, functions: impl IntoIterator<Item = Function<'f>>) {
        for function in functions {
            if let Some((known, class)) = self.function(module, function) {
                self.add(known.name, class, known.begins);
            }
        }
    }

    /// Adds a frame without a function, by its module and the bytes from the start of the module. Without an offset nothing is added: an
    /// address of a process is of that process alone.
    pub fn unknown(&mut self, module: &str, offset: Option<u64>) {
        let Some(offset) = offset.filter(|_| !module.is_empty()) else { return };
        let class = self.place(true, module).map_or(Class::App, |(_, class)| class);
        let file = module.rsplit(['/', '\\']).next().unwrap_or(module);
        self.add(cut(format!("{file}+{offset:#x}")), class, false);
    }

    /// Adds a function that may have run at the next frame, as [`Signer::known`] takes it. [`Signer::end_candidates`] ends the frame.
    ///
    /// ```
    /// use foldsym_signature::{Function, Rules, Signer};
    ///
    /// let rules = Rules::shipped();
    /// let mut signer = Signer::new(rules);
    /// let mut text = |names: [&str; 2]| {
    ///     names.into_iter().for_each(|name| signer.candidate("mail", [Function::new(name)]));
    ///     signer.end_candidates();
    ///     signer.finish().text
    /// };
    /// assert_eq!(text(["Stack<int>::push(int)", "Stack<long>::push(long)"]), "Stack<T>::push");
    /// assert_eq!(text(["weigh_parcel", "weigh_letter"]), text(["weigh_letter", "weigh_parcel"]));
    /// ```
    pub fn candidate<'f>(&mut self, module: &str, functions: impl IntoIterator<Item = Function<'f>>) {
        let functions = functions.into_iter().filter_map(|function| self.function(module, function));
        let own: Vec<(Arc<str>, Class)> = functions.map(|(known, class)| (known.name, class)).collect();
        // A candidate without a name says nothing.
        let Some((outermost, _)) = own.last() else { return };
        let all = &mut self.candidates;
        all.count += 1;
        if all.count == 1 {
            all.beginning = outermost.to_string();
            (all.shared, all.smallest) = (own.clone(), own);
            return;
        }
        let equal = all.shared.iter().zip(&own).take_while(|(a, b)| a == b).count();
        all.shared.truncate(equal);
        let equal = all.beginning.bytes().zip(outermost.bytes()).take_while(|(a, b)| a == b).count();
        // A letter of several bytes may be equal in some of them.
        let end = (0..=equal).rev().find(|end| all.beginning.is_char_boundary(*end)).unwrap_or(0);
        all.beginning.truncate(end);
        // By the outermost name first: it is the one of the group.
        let (one, other) = (own.iter().rev(), all.smallest.iter().rev());
        if one.map(|(name, _)| name).lt(other.map(|(name, _)| name)) {
            all.smallest = own;
        }
    }

    /// Ends the candidates of a frame, and adds what counts of them.
    pub fn end_candidates(&mut self) {
        let Candidates { shared, beginning, mut smallest, .. } = std::mem::take(&mut self.candidates);
        let is_one = shared.len() == smallest.len();
        let (last, in_all) = (smallest.last().map(|(_, class)| *class), shared.len());
        for (name, class) in smallest.drain(..in_all) {
            self.add(name, class, false);
        }
        match self.rules.doubt {
            Doubt::Smallest => smallest.into_iter().for_each(|(name, class)| self.add(name, class, false)),
            Doubt::Shared if !is_one => {
                // `a::b::f` and `a::b::g` share `a::b`.
                if let (Some(end), Some(class)) = (beginning.rfind("::"), last) {
                    self.add(cut(format!("{}::*", &beginning[..end])), class, false);
                }
            }
            Doubt::Shared | Doubt::Pass => {}
        }
    }

    /// The signature of the frames since the last call.
    pub fn finish(&mut self) -> Signature {
        let is_empty = self.found.iter().all(Vec::is_empty);
        let (found, inside) = (std::mem::take(&mut self.found), std::mem::take(&mut self.inside));
        // A stack that ends where it would begin.
        let found = if is_empty { inside } else { found };
        let names = found.iter().find(|names| !names.is_empty());
        let text = names.map_or(NOTHING.to_owned(), |names| names.join(" | "));
        let rules = self.rules.version().to_owned();
        let hash = hex(&Sha256::digest(format!("{rules}\n{text}")), 8);
        Signature { text, hash, rules }
    }

    fn add(&mut self, name: Arc<str>, class: Class, begins: bool) {
        if let Some(counted) = &mut self.counted {
            return counted.0.push((name, class, begins));
        }
        if begins {
            if self.found.iter().any(|names| !names.is_empty()) {
                self.inside = std::mem::take(&mut self.found);
            }
            // In a stack of nothing else it counts.
            return if self.inside.iter().all(Vec::is_empty) {
                self.inside[class as usize].push(name)
            };
        }
        let names = &mut self.found[class as usize];
        // A name counts once: a recursion of any depth is one bucket.
        if names.len() < self.rules.frames && !names.contains(&name) {
            names.push(name);
        }
    }

    /// The name and class of a function; `None` without a name.
    fn function(&mut self, module: &str, function: Function<'_>) -> Option<(Known, Class)> {
        if function.name.is_empty() {
            return None;
        }
        let known = match self.known.get(function.name) {
            Some(known) => known.clone(),
            None => {
                let name = cut(self.rules.names.of(function.name.as_bytes()));
                let (class, begins) = (self.rules.of_function(&name), self.rules.begins_at(&name));
                let known = Known { name, class, begins };
                self.keep(function.name.len() + known.name.len());
                self.known.insert(function.name.into(), known.clone());
                known
            }
        };
        let places = [self.place(true, module), self.place(false, function.file)];
        let last = places.into_iter().flatten().chain(known.class).max_by_key(|(rule, _)| *rule);
        Some((known, last.map_or(Class::App, |(_, class)| class)))
    }

    /// What the rules say of a module or a source file.
    fn place(&mut self, is_module: bool, path: &str) -> Found {
        if path.is_empty() {
            return None;
        }
        let known = if is_module { &self.modules } else { &self.files };
        if let Some(found) = known.get(path) {
            return *found;
        }
        self.keep(path.len());
        let (found, known) = match is_module {
            true => (self.rules.of_module(path), &mut self.modules),
            false => (self.rules.of_file(path), &mut self.files),
        };
        known.insert(path.into(), found);
        found
    }

    fn keep(&mut self, bytes: usize) {
        self.kept = self.kept.saturating_add(bytes + ENTRY);
        if self.kept > MAX_KEPT {
            (self.known, self.modules, self.files) = Default::default();
            self.kept = bytes + ENTRY;
        }
    }
}

/// A name as it stands in a text: of a bounded length, and on one line.
fn cut(mut name: String) -> Arc<str> {
    if name.contains(char::is_control) {
        name = name.replace(char::is_control, "?");
    }
    if name.len() > MAX_NAME {
        let end = (0..=MAX_NAME - 3).rev().find(|end| name.is_char_boundary(*end)).unwrap_or(0);
        name.truncate(end);
        name.push_str("...");
    }
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(rules: Rules, names: &[&str]) -> String {
        let mut signer = Signer::new(rules);
        names.iter().for_each(|name| signer.known("app", [Function::new(name)]));
        signer.finish().text
    }

    fn shipped(names: &[&str]) -> String {
        of(Rules::shipped(), names)
    }

    #[test]
    fn frames_that_say_nothing_fall_out() {
        for (stack, text) in [
            (&["raise", "abort", "weigh", "price", "run", "main"][..], "weigh | price | run"),
            (&["memcpy", "std::vector<int>::push_back(int)", "price", "main", "_start"], "price | main"),
            (&["std::terminate()", "std::thread::join()"], "std::thread::join"),
            (&["malloc", "std::vector<int>::push_back(int)", "start_thread"], "std::vector<T>::push_back"),
            (&["raise", "abort"], "raise"),
            (&["abort"], "abort"),
            (&[], "??"),
            // A handler runs inside of the signal.
            (&["log_crash", "on_signal", "__restore_rt", "weigh", "main"], "weigh | main"),
            (&["hook", "core::panicking::panic_fmt", "app::weigh", "app::main"], "app::weigh | app::main"),
            (&["on_signal", "__restore_rt"], "on_signal"),
        ] {
            assert_eq!(shipped(stack), text, "{stack:?}");
        }
    }

    #[test]
    fn recursion_of_any_depth_is_one_bucket() {
        let deep: Vec<&str> = ["even", "odd"].into_iter().cycle().take(100_000).chain(["main"]).collect();
        assert_eq!(shipped(&deep), "even | odd | main");
        assert_eq!(shipped(&["even", "odd", "main"]), "even | odd | main");
    }

    #[test]
    fn inlining_does_not_matter() {
        let rules = Rules::shipped();
        let mut signer = Signer::new(rules);
        let inlined = ["std::move<int>(int)", "weigh", "price"].map(Function::new);
        signer.known("app", inlined);
        signer.known("app", [Function::new("main")]);
        assert_eq!(signer.finish().text, shipped(&["weigh", "price", "main"]));
    }

    #[test]
    fn frames_without_a_function() {
        let rules = Rules::shipped();
        let mut signer = Signer::new(rules);
        signer.unknown("/usr/lib/libc.so.6", Some(0x10));
        signer.unknown("", Some(5));
        signer.unknown("/opt/lib/libweigh.so", None);
        signer.unknown("/opt/lib/libweigh.so", Some(0x1234));
        assert_eq!(signer.finish().text, "libweigh.so+0x1234");
        signer.unknown("", None);
        assert_eq!(signer.finish().text, "??");
    }

    #[test]
    fn the_order_of_candidates_has_no_effect() {
        let texts = |doubt: &str, candidates: [&[&str]; 2]| {
            let rules = Rules::shipped().with("r", doubt).unwrap();
            let mut signer = Signer::new(rules);
            let mut text = |candidates: &[&[&str]]| {
                for names in candidates {
                    signer.candidate("app", names.iter().map(|name| Function::new(name)));
                }
                signer.end_candidates();
                signer.known("app", [Function::new("main")]);
                signer.finish().text
            };
            let [one, other] = candidates;
            let (first, second) = (text(&[one, other]), text(&[other, one]));
            assert_eq!(first, second);
            first
        };
        let different: [&[&str]; 2] = [&["copy", "a::B::g"], &["copy", "a::B::f"]];
        assert_eq!(texts("doubt smallest", different), "copy | a::B::f | main");
        assert_eq!(texts("doubt shared", different), "copy | a::B::* | main");
        assert_eq!(texts("doubt pass", different), "copy | main");
        assert_eq!(texts("doubt shared", [&["f"], &["g"]]), "main");
        for doubt in ["doubt smallest", "doubt shared", "doubt pass"] {
            assert_eq!(texts(doubt, [&["S<int>::push()"], &["S<long>::push()"]]), "S<T>::push | main");
        }
    }

    #[test]
    fn hashes_are_those_of_sha256sum() {
        let rules = Rules::shipped();
        let mut signer = Signer::new(rules);
        signer.known("app", [Function::new("main")]);
        // printf '1\nmain' | sha256sum
        let expected = hex(&Sha256::digest("1\nmain"), 8);
        assert_eq!(signer.finish(), Signature { text: "main".into(), hash: expected, rules: "1".into() });
        let other = Rules::shipped().with("r", "version 2").unwrap();
        let mut signer = Signer::new(other);
        signer.known("app", [Function::new("main")]);
        assert_eq!(signer.finish().rules, "1+2");
    }

    #[test]
    fn hostile_names_take_a_bounded_time_and_memory() {
        let rules = Rules::shipped();
        let mut signer = Signer::new(rules);
        let long = "ü".repeat(40_000);
        for number in 0..200 {
            signer.known("app", [Function::new(&format!("{number}{long}"))]);
            assert!(signer.kept <= MAX_KEPT);
        }
        let text = signer.finish().text;
        assert!(text.len() < 3 * (MAX_NAME + 4) && text.ends_with("..."));
        signer.known("app", [Function::new("a\nb\u{1b}[2J")]);
        assert_eq!(signer.finish().text, "a?b?[2J");
    }

    #[test]
    fn files_and_modules_have_classes_too() {
        let rules = Rules::shipped()
            .with("r", "library file:**/third_party/** module:libui*\napp ui::own::*")
            .unwrap();
        let mut signer = Signer::new(rules);
        signer.known("app", [Function::new("png::read").in_file("/src/third_party/png.cc")]);
        signer.known("/usr/lib/libUI.so.1", [Function::new("ui::click")]);
        signer.known("/usr/lib/libUI.so.1", [Function::new("ui::own::click")]);
        signer.known("app", [Function::new("main")]);
        assert_eq!(signer.finish().text, "ui::own::click | main");
    }
}
