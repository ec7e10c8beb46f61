//! Chooses the candidate that comes first if the stack leaves several: a guess, which never changes the certainty.
//!
//! The criteria, in this order:
//! 1. the candidates that evidence names; of these the likely one, or the one that the file puts first (`doubtful` 2 in section
//!    VTABLES);
//! 2. the candidate that the caller's own first candidate calls, if the caller is folded too;
//! 3. the only candidate that alone has a word of the calling function's readable name. Example: `sell<Coin>` calls `Till<Coin>::take` or
//!    `Till<Note>::take`. The calling function makes the call in the source, and may be inlined in the caller;
//! 4. the candidate that the order of calls and functions suggests for this caller (section GUESSES), if nothing recorded the call. If
//!    the order suggests another function, that one made a tail call, and is the calling function from here on;
//! 5. the highest score. A candidate is compared with the calling function: 8 points for the same class or namespace with template
//!    arguments, 3 for the same file, 2 for each word of its readable name that the calling function's name has, too, and -1 for
//!    each other word. The file is that of the declaration; at `-g1`, where DIEs have no declaration, it is
//!    that of the function's first line;
//! 6. the order of the file: the survivor first.

use std::collections::{HashMap, HashSet};

use foldsym_demangle::{demangle, is_operator_at};
use foldsym_lookup::{
    Certainty, Error, FileId, Frames, FunctionId, Lookup, NameId, Resolved, StackAddr, SymbolFile,
};
use rustc_hash::FxHashMap;

/// The most candidates that are compared; further ones keep their places.
const MAX_COMPARED: u32 = 128;

/// The most bytes of a name; longer names are not compared.
const MAX_NAME: usize = 1024;

/// The most guesses that are kept; then all are dropped.
const MAX_KEPT: usize = 1 << 13;

/// A caller: its address, its candidates, and the index of the one that comes first.
#[derive(Clone, Copy)]
pub struct Caller<'r> {
    /// Its address.
    pub address: StackAddr,
    /// Its resolved members.
    pub resolved: &'r Resolved,
    /// The candidate that is taken for it: an index for [`Resolved::candidate`].
    pub first: u32,
}

/// The number of a file, a group, a caller's return address, and the member that the caller is taken for.
type Call = (usize, u32, u64, Option<u32>);

/// Makes guesses, and keeps them for equal calls.
#[derive(Default)]
pub struct Ranker {
    kept: FxHashMap<Call, (Resolved, u32)>,
    frames: Frames,
}

impl Ranker {
    /// The candidate of a frame that comes first: an index for [`Resolved::candidate`]. 0 without evidence or guess. The frame's file comes
    /// with a number that no other file has until [`Ranker::clear`].
    pub fn first(
        &mut self,
        (number, file): (usize, &SymbolFile<'_>),
        address: StackAddr,
        resolved: &Resolved,
        caller: Option<Caller<'_>>,
    ) -> u32 {
        let Some((group, caller)) = resolved.group.zip(caller) else { return 0 };
        // A caller without a return address made no call: a signal interrupted it. One candidate needs no order.
        let (StackAddr::Return(returns_to), 2..) = (caller.address, resolved.candidate_count()) else {
            return 0;
        };
        // The file or the evidence has chosen the first candidate already.
        if resolved.has_guess() || resolved.certainty == Some(Certainty::Likely) {
            return 0;
        }
        // The guess depends on the function that the caller is taken for, so one return address may have several.
        let member = caller.resolved.candidate(caller.first);
        let call = (number, group.0, returns_to.0, member);
        if let Some((known, first)) = self.kept.get(&call)
            && known == resolved
        {
            return *first;
        }
        // Damage is ignored here: the lookup of the frame reports it.
        let first = self.guess(file, address, resolved, caller).unwrap_or(0);
        // All guesses are dropped, since the map keeps no order of use.
        if self.kept.len() >= MAX_KEPT {
            self.kept.clear();
        }
        self.kept.insert(call, (*resolved, first));
        first
    }

    /// Forgets the files.
    pub fn clear(&mut self) {
        self.kept.clear();
    }

    fn guess(
        &mut self,
        file: &SymbolFile<'_>,
        address: StackAddr,
        resolved: &Resolved,
        caller: Caller<'_>,
    ) -> Result<u32, Error> {
        let Some(group) = resolved.group else { return Ok(0) };
        let compared = match resolved.named_count() {
            0 => resolved.candidate_count().min(MAX_COMPARED),
            // Evidence comes before names.
            named => named,
        };
        let only = caller.resolved.only(caller.first);
        // With one caller `resolved` has that caller's callee already.
        if caller.resolved.candidate_count() > 1 {
            let told = file.resolve_one(address, Some((caller.address, &only)))?;
            if told.named_count() == 1
                && let Some(at) = (0..compared).find(|&at| resolved.candidate(at) == told.candidate(0))
            {
                return Ok(at);
            }
        }
        let members = file.records().group(group)?;
        let functions = (0..compared).map_while(|at| Some((at, resolved.candidate(at)?)));
        let mut calling = self.calling(file, caller.address, &only)?;
        let mut described = Vec::new();
        if let Some(calling) = &calling {
            for (_, member) in functions.clone() {
                let function = file.records().member(members, member)?.function;
                described.push(Described::of_function(file, function)?);
            }
            if let Some(at) = calling.only_kin(&described) {
                return Ok(at);
            }
        }
        if let StackAddr::Return(returns_to) = caller.address
            && let Some(callee) = file.guessed_callee(returns_to, function_of(file, &only)?)?
        {
            for (at, member) in functions.clone() {
                if file.records().member(members, member)?.function == callee {
                    return Ok(at);
                }
            }
            let passing = Described::of_function(file, callee)?;
            if let Some(at) = passing.only_kin(&described) {
                return Ok(at);
            }
            calling = Some(passing);
        }
        let Some(calling) = calling else { return Ok(0) };
        let mut start = None;
        let mut best = (i64::MIN, 0);
        for (at, mut candidate) in (0..).zip(described) {
            // At `-g1` DIEs have no declaration: the file of the function's first line serves instead.
            if candidate.file.is_none() && calling.file.is_some() {
                let only = resolved.only(at);
                // Not at the frame's own address: a guess is kept for all addresses of the group's code.
                let first = match start {
                    Some(first) => first,
                    None => *start.insert(self.start(file, address)?),
                };
                self.find_frames(file, first, &only)?;
                candidate.file = file.frames(&self.frames).last().transpose()?.and_then(|frame| frame.file);
            }
            let score = calling.score(&candidate);
            // Not `>=`: of equal candidates the first in the order of the file stays.
            if score > best.0 {
                best = (score, at);
            }
        }
        Ok(best.1)
    }

    /// The function that makes a call in the source: the innermost one at the call's address.
    fn calling(
        &mut self,
        file: &SymbolFile<'_>,
        address: StackAddr,
        only: &Resolved,
    ) -> Result<Option<Described>, Error> {
        self.find_frames(file, address, only)?;
        let Some(frame) = file.frames(&self.frames).next().transpose()? else { return Ok(None) };
        Ok(Some(Described::of(file, frame.name, frame.start_file.or(frame.file))))
    }

    /// The first address of the code at a frame's address. A group has one piece, so each address of it gives the same.
    fn start(&mut self, file: &SymbolFile<'_>, address: StackAddr) -> Result<StackAddr, Error> {
        let Some(inside) = address.lookup_address() else { return Ok(address) };
        Ok(match file.lookup(inside, &mut self.frames)? {
            Lookup::Found(found) => StackAddr::Exact(found.piece_start),
            Lookup::NotFound(_) => address,
        })
    }

    /// Leaves the frames of an address in `self.frames`, those of the only candidate if functions share its code.
    fn find_frames(
        &mut self,
        file: &SymbolFile<'_>,
        address: StackAddr,
        only: &Resolved,
    ) -> Result<(), Error> {
        self.frames.clear();
        let Some(address) = address.lookup_address() else { return Ok(()) };
        if let Lookup::Found(found) = file.lookup(address, &mut self.frames)?
            && let Some(member) = only.candidate(0)
            && found.group.is_some()
            && found.group == only.group
        {
            file.member_frames(&found, member, &mut self.frames)?;
        }
        Ok(())
    }
}

/// The function of the only candidate; `None` if the code is not folded.
fn function_of(file: &SymbolFile<'_>, only: &Resolved) -> Result<Option<FunctionId>, Error> {
    let (Some(group), Some(member)) = (only.group, only.candidate(0)) else { return Ok(None) };
    Ok(Some(file.records().member(file.records().group(group)?, member)?.function))
}

/// The properties of a function that are compared.
struct Described {
    file: Option<FileId>,
    scope: String,
    /// Sets with keyed hashes: the author of a program chooses its names.
    words: HashSet<String>,
    /// The words of the name without parameters, return type and the words in [`TYPES`].
    own_words: HashSet<String>,
}

impl Described {
    fn of_function(file: &SymbolFile<'_>, function: FunctionId) -> Result<Described, Error> {
        let origin = file.records().origin(file.records().function(function)?.origin)?;
        Ok(Described::of(file, file.records().function_name(function)?, origin.file))
    }

    fn of(file: &SymbolFile<'_>, name: Option<NameId>, declared: Option<FileId>) -> Described {
        let mut buffer = [0; MAX_NAME];
        let length = name.and_then(|name| file.write_name(name, &mut buffer)).unwrap_or(0);
        let linkage = buffer.get(..length).unwrap_or_default();
        let readable = demangle(linkage).unwrap_or_else(|| String::from_utf8_lossy(linkage).into_owned());
        Described::named(&readable, declared)
    }

    fn named(readable: &str, file: Option<FileId>) -> Described {
        let mut own_words = words(own_name(readable));
        own_words.retain(|word| !TYPES.contains(&&**word));
        Described { file, scope: scope(readable).to_owned(), words: words(readable), own_words }
    }

    /// The index of the only candidate that alone has a word of this calling function, both in their names without parameters.
    fn only_kin(&self, candidates: &[Described]) -> Option<u32> {
        let mut having: HashMap<&str, usize> = HashMap::new();
        for word in candidates.iter().flat_map(|candidate| &candidate.own_words) {
            *having.entry(word).or_default() += 1;
        }
        let is_kin = |candidate: &Described| {
            candidate.own_words.iter().any(|word| having[&**word] == 1 && self.own_words.contains(word))
        };
        let mut kin = (0..).zip(candidates).filter(|(_, candidate)| is_kin(candidate));
        let (only, _) = kin.next()?;
        kin.next().is_none().then_some(only)
    }

    /// How well a candidate fits this calling function.
    fn score(&self, candidate: &Described) -> i64 {
        let in_scope = !self.scope.is_empty() && self.scope == candidate.scope;
        let in_file = self.file.is_some() && self.file == candidate.file;
        let shared = candidate.words.iter().filter(|word| self.words.contains(*word)).count();
        let others = candidate.words.len() - shared;
        i64::from(in_scope) * 8 + i64::from(in_file) * 3 + shared as i64 * 2 - others as i64
    }
}

/// Words that do not relate two functions to each other: names of fundamental types, and words that the languages and demanglers add.
const TYPES: &[&str] = &[
    "bool",
    "char",
    "const",
    "double",
    "float",
    "int",
    "long",
    "short",
    "signed",
    "unsigned",
    "void",
    "volatile",
    "char8_t",
    "char16_t",
    "char32_t",
    "wchar_t",
    "i8",
    "i16",
    "i32",
    "i64",
    "i128",
    "isize",
    "u8",
    "u16",
    "u32",
    "u64",
    "u128",
    "usize",
    "f32",
    "f64",
    "str",
    "std",
    "core",
    "alloc",
    "operator",
    "anonymous",
    "namespace",
];

/// A readable name without its parameters and return type.
fn own_name(readable: &str) -> &str {
    let (mut depth, mut start) = (0_i32, 0);
    for (at, byte) in readable.bytes().enumerate() {
        match byte {
            // An operator's own name has no words, so only its class counts.
            b'o' if depth == 0 && is_operator_at(readable.as_bytes(), at) => return &readable[start..at],
            b'(' if depth == 0 && at > start && !readable[..at].ends_with("::") => {
                return &readable[start..at];
            }
            b'<' | b'(' | b'[' | b'{' => depth += 1,
            b'>' | b')' | b']' | b'}' => depth -= 1,
            b' ' if depth == 0 => start = at + 1,
            _ => {}
        }
    }
    &readable[start..]
}

/// The class or namespace of a readable name, with its template arguments: the text before the last `::` outside of all brackets and
/// before an operator's symbols.
fn scope(readable: &str) -> &str {
    let (mut depth, mut end, mut start) = (0_i32, 0, 0);
    for (at, byte) in readable.bytes().enumerate() {
        match byte {
            // An operator's name may have brackets and blanks, and nothing of it belongs to the scope.
            b'o' if depth == 0 && is_operator_at(readable.as_bytes(), at) => break,
            // Parameters begin here. A parenthesis at the start of a component belongs to the name: `a::(anonymous namespace)::f`.
            b'(' if depth == 0 && at > start && !readable[..at].ends_with("::") => break,
            b'<' | b'(' | b'[' | b'{' => depth += 1,
            b'>' | b')' | b']' | b'}' => depth -= 1,
            // The text before a blank is a return type, as demanglers write it before an instance of a template.
            b' ' if depth == 0 => start = at + 1,
            b':' if depth == 0 && readable[at..].starts_with("::") => end = at,
            _ => {}
        }
    }
    readable.get(start.min(end)..end).unwrap_or_default()
}

/// The words of a readable name.
fn words(readable: &str) -> HashSet<String> {
    let all = readable.split(|letter: char| !letter.is_alphanumeric());
    all.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use foldsym_lookup::{ImageAddr, ReturnAddr};
    use foldsym_testkit::writer::folded::{Folded, Place};
    use foldsym_testkit::writer::{Contents, RawRow, rows_record};

    use super::*;

    /// The candidate that comes first in group 0, `offset` bytes into its code, for this candidate of the caller at a return address.
    fn first(
        ranker: &mut Ranker,
        file: &SymbolFile<'_>,
        (group, offset): (u64, u64),
        (call, of): (u64, u32),
    ) -> u32 {
        let (address, caller) =
            (StackAddr::Exact(ImageAddr(group + offset)), StackAddr::Return(ReturnAddr(call)));
        let outer = file.resolve_one(caller, None).unwrap();
        let resolved = file.resolve_one(address, Some((caller, &outer))).unwrap();
        assert_eq!(resolved.certainty, Some(Certainty::Ambiguous));
        ranker.first(
            (0, file),
            address,
            &resolved,
            Some(Caller { address: caller, resolved: &outer, first: of }),
        )
    }

    #[test]
    fn what_the_likeliest_caller_calls_comes_first() {
        // Functions: 0; group 0: 1, 2, 3; group 1: 4, 5.
        for how in [4, 6] {
            let mut program = Folded::new(1, &[3, 2]);
            let (group, call) = (program.start(Place::Group(0)), program.inside(Place::Group(1)));
            program.call(call, Some(4), 2, how).call(call, Some(5), 3, how);
            let bytes = program.file();
            let file = SymbolFile::open(&bytes).unwrap();
            for caller in [0, 1] {
                let found = first(&mut Ranker::default(), &file, (group, 0), (call, caller));
                // The members that the records name come first, in the order of the callers.
                assert_eq!(found, caller, "how {how}");
            }
        }
    }

    #[test]
    fn no_earlier_stack_changes_the_order() {
        let program = Folded::new(1, &[2]);
        let (group, call) = (program.start(Place::Group(0)), program.inside(Place::Single(0)));
        let row = |offset, file: u64| RawRow { offset, scope: 0, line: Some(1), file: 2 + file, column: 0 };
        let mut rows = vec![0];
        // As at `-g1`: no file is declared, and the lines of each function are in two files.
        let files = [[0, 0], [0, 1], [1, 0]];
        let [caller, one, other] =
            files.map(|[begin, end]| rows_record(&mut rows, &[row(0, begin), row(8, end)], false) as i64);
        let mut contents =
            Contents { files: vec![b"/a.c".to_vec(), b"/b.c".to_vec()], rows, ..program.contents() };
        contents.pieces[0][5] = caller;
        (contents.members[0][1], contents.members[1][1]) = (one, other);
        let bytes = contents.file();
        let file = SymbolFile::open(&bytes).unwrap();
        file.verify().unwrap();
        for order in [[0, 8], [8, 0]] {
            let mut ranker = Ranker::default();
            // The first line of member 0 is in the caller's file.
            assert_eq!(order.map(|offset| first(&mut ranker, &file, (group, offset), (call, 0))), [0, 0]);
        }
    }

    #[test]
    fn a_scope_has_its_template_arguments() {
        assert_eq!(scope("Stack<Button*>::push(Button*)"), "Stack<Button*>");
        assert_eq!(scope("void a::sort<a::It>(a::It, a::It)"), "a");
        assert_eq!(scope("main"), "");
        assert_eq!(scope("<a::B as c::D>::run"), "<a::B as c::D>");
    }

    #[test]
    fn an_operator_has_the_scope_of_its_class() {
        for (name, expected) in [
            ("Foo::operator>(Foo const&)", "Foo"),
            ("a::(anonymous namespace)::C::f(int)", "a::(anonymous namespace)::C"),
            ("a::operator>(b, c::d)", "a"),
            ("a::operator<(b, c::d)", "a"),
            ("Foo::operator bool()", "Foo"),
            ("Foo<int>::operator c::D<a::E>() const", "Foo<int>"),
            ("Foo::operator new(unsigned long)", "Foo"),
            ("Foo::operator->() const", "Foo"),
            ("Foo::operator()(int)", "Foo"),
            ("Foo::operator[](a::b)", "Foo"),
            ("std::ostream& a::operator<< <b::c>(std::ostream&, b::c const&)", "a"),
            ("bool operator><a::b>(a::b, a::b)", ""),
            ("operator new(unsigned long)", ""),
            // Other words that begin so, and a module of Rust.
            ("a::operators::f(b::c)", "a::operators"),
            ("a::operator_of::f(b::c)", "a::operator_of"),
            ("a::operator::f", "a::operator"),
            ("a::my_operator::f", "a::my_operator"),
        ] {
            assert_eq!(scope(name), expected, "{name}");
        }
    }

    #[test]
    fn own_class_and_template_arguments_come_before_others() {
        let of = |text: &str| Described::named(text, None);
        let caller = of("Stack<Button*>::push(Button*)");
        let score = |text: &str| caller.score(&of(text));
        assert!(score("Stack<Button*>::grow()") > score("Stack<Label*>::grow()"));
        assert!(score("std::copy<Button*>(Button*)") > score("std::copy<Label*>(Label*)"));
    }

    #[test]
    fn the_only_candidate_with_a_word_of_the_caller_comes_before_order() {
        let of = |text: &str| Described::named(text, None);
        let candidates =
            ["Till<Note>::take(long)", "Till<Coin>::take(long)", "Till<Cake>::take(long)"].map(of);
        let only = |caller: &str| of(caller).only_kin(&candidates);
        assert_eq!(only("long sell<Coin>(Till<Coin>&, long)"), Some(1));
        assert_eq!(only("long sell<Coin>(Till<Coin>&, Till<Note>&)"), Some(1));
        // Parameters say less, and types of the language nothing.
        assert_eq!(only("long sell(Till<Coin>&, long)"), None);
        assert_eq!(of("parse(int)").only_kin(&["first<char>()", "first<int>()"].map(of)), None);
        assert_eq!(of("void parse<int>()").only_kin(&["first<char>()", "first<int>()"].map(of)), None);
        // Several have each of these words; two have a word of their own.
        assert_eq!(only("Till<Screw>::take(long)"), None);
        assert_eq!(only("swap<Coin, Cake>(Till<Coin>&, Till<Cake>&)"), None);
    }
}
