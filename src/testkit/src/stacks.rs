//! Recorded stacks with the functions that were on them, and the rules by which an answer for one is judged.
//!
//! It needs nothing but `std`, as `oracles` uses it too.
//!
//! ```text
//! stack BIAS VPTR PC RETURN... | WHO...      one line a stack; addresses innermost first, WHO outermost first
//! VPTR   what the object of the innermost frame has as its vtable pointer, or -
//! WHO    [~]NAME@FILE:LINE[+INLINED:LINE]/SHAPE[!][^]
//!   ~       the function ended in a tail call: it has no address on the stack
//!   NAME    linkage name; LINE is that of the call to the next function, or of the program counter; 0: unknown
//!   INLINED the call is in this function, which was inlined into NAME
//!   SHAPE   how the function was called
//!   !       call sites and return addresses leave no other function: an answer can be `exact`
//!   ^       the class of the object leaves no other function: with its vtable pointer an answer can be `exact`
//!   %       the word of the table that the call goes through leaves no other function: an answer can be `likely`
//! ```
//! The program that prints such lines has its names from tables, which its functions hand to each other, and its
//! addresses from the unwinder. Nothing of it comes from debug information.

/// One frame as it truly was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Truth {
    pub name: String,
    pub file: String,
    pub line: u64,
    pub inlined: Option<(String, u64)>,
    pub shape: String,
    pub sure: bool,
    pub by_class: bool,
    pub by_slot: bool,
}

/// One recorded stack; addresses as they were at run time, `bias` above those of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stack {
    pub bias: u64,
    pub vptr: Option<u64>,
    pub addresses: Vec<u64>,
    /// As many as addresses, innermost first.
    pub frames: Vec<Truth>,
}

/// A function that may have run, as it is answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Candidate {
    /// Its linkage name and its aliases.
    pub names: Vec<String>,
    /// Innermost first: name, file, line.
    pub frames: Vec<(String, String, u64)>,
    /// The order of symbols alone shows its lines (`symbol_order`): they are a guess.
    pub guessed_lines: bool,
}

/// What was answered for one frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// `unique`, `exact`, `likely`, `narrowed`, `ambiguous`, or "" if nothing is known.
    pub certainty: String,
    /// Without a group the one function.
    pub candidates: Vec<Candidate>,
}

/// What an answer is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    Unique,
    Exact,
    Likely,
    Narrowed,
    Ambiguous,
    /// `unique`, and another function.
    OtherUnique,
    /// `likely`, and another function: it was merged or folded, and nothing at the address says so.
    OtherLikely,
    /// `exact`, and another function.
    WrongExact,
    /// Several candidates, and not the right one.
    Missing,
    /// Nothing is known at the address.
    Nothing,
    /// Nothing in the program names the function that ran, and the answer is `ambiguous`, or none.
    Untold,
}

/// What the lines of the right candidate are worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lines {
    /// Each frame and its line are right.
    Right,
    /// The line is right, and inlined frames are not given.
    LineOnly,
    Wrong,
    /// They are wrong, and the answer says that they are a guess.
    WrongGuess,
    /// It is known by name alone, or the truth has no line.
    None,
}

impl Stack {
    /// Reads one line; `None` for a line of something else.
    ///
    /// # Errors
    /// What is wrong with it; also that not every frame has its address, so that truth and machine disagree.
    pub fn parse(line: &str) -> Result<Option<Stack>, String> {
        let Some(rest) = line.strip_prefix("stack ") else { return Ok(None) };
        let bad = |what: &str| format!("{what}: {line}");
        let (addresses, who) = rest.split_once(" | ").ok_or_else(|| bad("no ` | `"))?;
        let mut words = addresses.split(' ');
        let number = |word: Option<&str>| {
            let digits = word.and_then(|word| word.strip_prefix("0x"))?;
            u64::from_str_radix(digits, 16).ok()
        };
        let bias = number(words.next()).ok_or_else(|| bad("no bias"))?;
        let vptr = match words.next() {
            Some("-") => None,
            word => Some(number(word).ok_or_else(|| bad("no vptr"))?),
        };
        let addresses: Option<Vec<u64>> = words.map(|word| number(Some(word))).collect();
        let addresses = addresses.ok_or_else(|| bad("an address that is none"))?;
        let mut frames = Vec::new();
        for who in who.split(' ').filter(|who| !who.starts_with('~')) {
            frames.push(Truth::parse(who).ok_or_else(|| bad(who))?);
        }
        frames.reverse();
        if frames.len() != addresses.len() {
            return Err(bad(&format!("{} addresses of {} frames", addresses.len(), frames.len())));
        }
        Ok(Some(Stack { bias, vptr, addresses, frames }))
    }
}

impl Truth {
    fn parse(who: &str) -> Option<Truth> {
        let (place, marks) = who.rsplit_once('/')?;
        let (outer, inlined) = match place.split_once('+') {
            Some((outer, inlined)) => (outer, Some(inlined)),
            None => (place, None),
        };
        let numbered = |text: &str| -> Option<(String, u64)> {
            let (name, line) = text.rsplit_once(':')?;
            Some((name.to_owned(), line.parse().ok()?))
        };
        let (name, line) = numbered(outer)?;
        let (name, file) = name.split_once('@')?;
        let inlined = match inlined {
            Some(inlined) => Some(numbered(inlined)?),
            None => None,
        };
        Some(Truth {
            name: name.to_owned(),
            file: file.to_owned(),
            line,
            inlined,
            shape: marks.trim_end_matches(['!', '^', '%']).to_owned(),
            sure: marks.contains('!'),
            by_class: marks.contains('^'),
            by_slot: marks.contains('%'),
        })
    }

    /// Whether a candidate of this name is this function. A file that is not known says nothing.
    fn is(&self, name: &str, candidate: &Candidate) -> bool {
        let Some((_, file, line)) = candidate.frames.last() else { return self.is_called(name, "") };
        // At `-g1` a method has only its plain name, unless exactly one symbol can be its own. Then its line must identify it.
        let inner = self.inlined.as_ref().filter(|_| candidate.frames.len() == 1).map(|(_, line)| line);
        let by_line = base(file) == self.file && (*line == self.line || inner == Some(line));
        self.is_called(name, file) || (by_line && method(&self.name) == Some(name))
    }

    /// Whether an outermost frame with this name in this file is this function. An empty file is one that is not known.
    pub fn is_called(&self, name: &str, file: &str) -> bool {
        // gcc gives a local function no linkage name, and gold drops its symbol where another file's remains: then the
        // answer has the plain name, and must have the function's own file.
        let by_plain_name = !file.is_empty() && plain(&self.name) == Some(name);
        (same_function(name, &self.name) || by_plain_name) && (file.is_empty() || base(file) == self.file)
    }

    /// The verdict on an answer, and on the lines of the right candidate. `merging`: a compiler that merged functions
    /// itself made the program. In other programs no function is an alias of another, and an alias says nothing.
    pub fn judge(&self, answer: &Answer, merging: bool) -> (Verdict, Lines) {
        let first = |c: &&Candidate| c.names.first().is_some_and(|name| self.is(name, c));
        let any = |c: &&Candidate| merging && c.names.iter().any(|name| self.is(name, c));
        let all = &answer.candidates;
        let right = all.iter().find(first).or_else(|| all.iter().find(any));
        let lines = right.map_or(Lines::None, |candidate| match self.lines(candidate) {
            Lines::Wrong if candidate.guessed_lines => Lines::WrongGuess,
            lines => lines,
        });
        let verdict = match (answer.certainty.as_str(), right.is_some()) {
            ("unique", true) => Verdict::Unique,
            ("unique", false) => Verdict::OtherUnique,
            ("likely", _) if self.is_first(answer, merging) => Verdict::Likely,
            ("likely", _) => Verdict::OtherLikely,
            ("exact", true) if answer.candidates.len() == 1 => Verdict::Exact,
            ("exact", _) => Verdict::WrongExact,
            ("narrowed", true) => Verdict::Narrowed,
            ("ambiguous", true) => Verdict::Ambiguous,
            ("narrowed" | "ambiguous", false) => Verdict::Missing,
            _ => Verdict::Nothing,
        };
        (verdict, lines)
    }

    /// Whether the first candidate is this function. `merging` as for [`Truth::judge`].
    pub fn is_first(&self, answer: &Answer, merging: bool) -> bool {
        let names = |candidate: &Candidate| if merging { candidate.names.len() } else { 1 };
        answer.candidates.first().is_some_and(|candidate| {
            candidate.names.iter().take(names(candidate)).any(|name| self.is(name, candidate))
        })
    }

    fn lines(&self, candidate: &Candidate) -> Lines {
        let lines: Vec<u64> = candidate.frames.iter().map(|(_, _, line)| *line).collect();
        match (&self.inlined, lines.as_slice()) {
            _ if self.line == 0 || lines.iter().all(|line| *line == 0) => Lines::None,
            (None, [line]) if *line == self.line => Lines::Right,
            (Some((name, inner)), [a, b]) if (*a, *b) == (*inner, self.line) => {
                let found = &candidate.frames[0].0;
                // gcc gives an inlined local function no linkage name.
                let named = same_function(found, name) || plain(name) == Some(found);
                if named { Lines::Right } else { Lines::Wrong }
            }
            (Some((_, inner)), [line]) if line == inner => Lines::LineOnly,
            _ => Lines::Wrong,
        }
    }
}

impl Verdict {
    /// Whether an answer may be so.
    pub fn is_allowed(self) -> bool {
        match self {
            Verdict::Unique
            | Verdict::Exact
            | Verdict::Likely
            | Verdict::Narrowed
            | Verdict::Ambiguous
            | Verdict::OtherLikely
            | Verdict::Untold => true,
            Verdict::OtherUnique | Verdict::WrongExact | Verdict::Missing | Verdict::Nothing => false,
        }
    }

    /// The same, of a function that nothing in the program names: none of several candidates is it. An answer that says
    /// there is no other is wrong all the same.
    pub fn of_untold(self, certainty: &str) -> Verdict {
        match (self, certainty) {
            (Verdict::Nothing, _) | (Verdict::Missing, "ambiguous") => Verdict::Untold,
            (other, _) => other,
        }
    }

    /// Whether the answer names the function, and one alone.
    pub fn names_it(self) -> bool {
        matches!(self, Verdict::Unique | Verdict::Exact | Verdict::Likely)
    }
}

fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The name in the linkage name of a function that is in no class.
fn plain(name: &str) -> Option<&str> {
    let rest = name.strip_prefix("_Z")?.trim_start_matches('L');
    let digits = rest.find(|c: char| !c.is_ascii_digit())?;
    rest.get(digits..digits.checked_add(rest[..digits].parse().ok()?)?)
}

/// The last name in the linkage name of a method.
fn method(name: &str) -> Option<&str> {
    let mut rest = name.strip_prefix("_ZN")?.trim_start_matches(['K', 'V']);
    let mut last = None;
    while let Some(digits) = rest.find(|c: char| !c.is_ascii_digit()).filter(|digits| *digits > 0) {
        let end = digits.checked_add(rest[..digits].parse().ok()?)?;
        last = Some(rest.get(digits..end)?);
        rest = &rest[end..];
    }
    last.filter(|_| rest.starts_with('E'))
}

/// Whether two linkage names are one function: the parts that a compiler cuts off (`.cold`, `.isra.0`) and the variants of
/// a constructor are.
pub fn same_function(a: &str, b: &str) -> bool {
    let part = |name: &str| name.split('.').next().unwrap_or(name).replace("C1E", "C2E");
    part(a) == part(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "stack 0x1000 0x20 0x1010 0x1050 0x1090 | run@r.cpp:0/root! ~_Z1av@a.cpp:3/direct! \
                        _Z1bv@a.cpp:9+_ZL1hv:4/tail! _ZN1KC2Ev@b.cpp:7/virtual^";

    #[test]
    fn a_plain_name_is_a_methods_where_the_line_agrees() {
        assert_eq!(method("_ZNK2ns1A2goEv"), Some("go"));
        assert_eq!(["_Z2gov", "_ZN1AC2Ev"].map(method), [None, None]);
        let truth = Truth::parse("_ZN1A2goEv@a.cpp:3+_ZL1hv:9/direct").unwrap();
        let is = |name: &str, file: &str, line| {
            let frames = vec![(name.to_owned(), file.to_owned(), line)];
            truth.is(name, &Candidate { names: vec![name.to_owned()], frames, guessed_lines: false })
        };
        assert!(is("go", "x/a.cpp", 3) && is("go", "a.cpp", 9) && is("_ZN1A2goEv", "", 0));
        assert!(!is("go", "a.cpp", 4) && !is("go", "", 0) && !is("to", "a.cpp", 3) && !is("go", "b.cpp", 3));
    }

    fn answer(certainty: &str, candidates: &[(&str, &str, u64)]) -> Answer {
        let candidates = candidates
            .iter()
            .map(|(name, file, line)| Candidate {
                names: vec![(*name).to_owned()],
                frames: vec![((*name).to_owned(), (*file).to_owned(), *line)],
                guessed_lines: false,
            })
            .collect();
        Answer { certainty: certainty.to_owned(), candidates }
    }

    #[test]
    fn a_line_is_read() {
        let stack = Stack::parse(LINE).unwrap().unwrap();
        assert_eq!((stack.bias, stack.vptr), (0x1000, Some(0x20)));
        assert_eq!(stack.addresses, [0x1010, 0x1050, 0x1090]);
        let names: Vec<&str> = stack.frames.iter().map(|frame| frame.name.as_str()).collect();
        assert_eq!(names, ["_ZN1KC2Ev", "_Z1bv", "run"]);
        assert_eq!(stack.frames[1].inlined, Some(("_ZL1hv".to_owned(), 4)));
        assert!(stack.frames[1].sure && !stack.frames[0].sure && stack.frames[0].by_class);
        assert_eq!(Stack::parse("something else"), Ok(None));
        assert!(Stack::parse(&LINE.replace("0x1090 ", "")).is_err());
        assert!(Stack::parse(&LINE.replace(":9", ":x")).is_err());
    }

    #[test]
    fn every_verdict() {
        let stack = Stack::parse(LINE).unwrap().unwrap();
        let (k, right) = (&stack.frames[0], ("_ZN1KC1Ev", "/s/b.cpp", 7));
        let wrong = ("_Z1cv", "/s/b.cpp", 7);
        let judge = |certainty, candidates: &[_]| k.judge(&answer(certainty, candidates), false).0;
        assert_eq!(judge("unique", &[right]), Verdict::Unique);
        assert_eq!(judge("unique", &[wrong]), Verdict::OtherUnique);
        assert_eq!(judge("likely", &[right]), Verdict::Likely);
        assert_eq!(judge("likely", &[wrong]), Verdict::OtherLikely);
        assert_eq!(judge("likely", &[right, wrong]), Verdict::Likely);
        assert_eq!(judge("likely", &[wrong, right]), Verdict::OtherLikely);
        assert_eq!(judge("exact", &[right]), Verdict::Exact);
        assert_eq!(judge("exact", &[wrong]), Verdict::WrongExact);
        assert_eq!(judge("exact", &[right, wrong]), Verdict::WrongExact);
        assert_eq!(judge("narrowed", &[wrong, right]), Verdict::Narrowed);
        assert_eq!(judge("ambiguous", &[wrong, right]), Verdict::Ambiguous);
        assert_eq!(judge("ambiguous", &[wrong]), Verdict::Missing);
        assert_eq!(judge("", &[]), Verdict::Nothing);
        // A local function of that name in another file is another function.
        assert_eq!(judge("exact", &[("_ZN1KC2Ev", "/s/a.cpp", 7)]), Verdict::WrongExact);
        let mut alias = answer("exact", &[wrong]);
        alias.candidates[0].names.push(right.0.to_owned());
        assert_eq!(k.judge(&alias, false).0, Verdict::WrongExact);
        assert_eq!(k.judge(&alias, true).0, Verdict::Exact);
        assert!(!Verdict::WrongExact.is_allowed() && !Verdict::OtherUnique.is_allowed());
        assert!(Verdict::OtherLikely.is_allowed() && !Verdict::OtherLikely.names_it());
        assert_eq!(judge("ambiguous", &[wrong]).of_untold("ambiguous"), Verdict::Untold);
        assert_eq!(judge("narrowed", &[wrong]).of_untold("narrowed"), Verdict::Missing);
        assert_eq!(judge("exact", &[wrong]).of_untold("exact"), Verdict::WrongExact);
        assert_eq!(judge("unique", &[wrong]).of_untold("unique"), Verdict::OtherUnique);
    }

    #[test]
    fn lines_are_judged_with_inlined_frames() {
        let stack = Stack::parse(LINE).unwrap().unwrap();
        let frame = |name: &str, line| (name.to_owned(), "a.cpp".to_owned(), line);
        let lines = |frames: Vec<_>| {
            let candidate = Candidate { names: vec!["_Z1bv".into()], frames, guessed_lines: false };
            let answer = Answer { certainty: "exact".into(), candidates: vec![candidate] };
            stack.frames[1].judge(&answer, false).1
        };
        assert_eq!(lines(vec![frame("_ZL1hv", 4), frame("_Z1bv", 9)]), Lines::Right);
        assert_eq!(lines(vec![frame("h", 4), frame("_Z1bv", 9)]), Lines::Right);
        assert_eq!(lines(vec![frame("_ZL1gv", 4), frame("_Z1bv", 9)]), Lines::Wrong);
        assert_eq!(lines(vec![frame("_ZL1hv", 4), frame("_Z1bv", 8)]), Lines::Wrong);
        assert_eq!(lines(vec![frame("_Z1bv", 4)]), Lines::LineOnly);
        assert_eq!(lines(vec![frame("_Z1bv", 9)]), Lines::Wrong);
        assert_eq!(lines(vec![frame("_Z1bv", 0)]), Lines::None);
    }
}
