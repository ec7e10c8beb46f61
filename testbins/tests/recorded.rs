//! Functions that share their code, told apart by what is recorded beside call sites: call tables of the 2009 proposal,
//! and entries without an address of what gcc merged. The sources say who calls whom.

use foldsym_convert::{NoProgress, Options, Report, convert};
use foldsym_lookup::{Certainty, Frames, ImageAddr, Lookup, Resolved, ReturnAddr, StackAddr, SymbolFile};
use foldsym_testbins::root;
use object::{Object as _, ObjectSection as _, ObjectSymbol as _};

/// A converted program and where its symbols are.
struct Program {
    bytes: Vec<u8>,
    fsym: Vec<u8>,
    report: Report,
}

impl Program {
    fn new(name: &str) -> Program {
        let path = root().join("built").join(name);
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("out.fsym");
        let report = convert(&path, &output, &Options::default(), &NoProgress).unwrap();
        Program { bytes: std::fs::read(path).unwrap(), fsym: std::fs::read(output).unwrap(), report }
    }

    fn count(&self, kind: foldsym_convert::report::Kind) -> u64 {
        self.report.diagnostics.count(kind)
    }

    fn symbol(&self, name: &str) -> (u64, u64) {
        let file = object::File::parse(&*self.bytes).unwrap();
        let symbol = file.symbols().find(|symbol| symbol.name() == Ok(name)).unwrap();
        (symbol.address(), symbol.size())
    }

    /// Where the calls of a function return to, each with the address that it calls: `call` with four bytes of offset.
    fn calls(&self, caller: &str) -> Vec<(u64, u64)> {
        let (start, size) = self.symbol(caller);
        let file = object::File::parse(&*self.bytes).unwrap();
        let section =
            file.sections().find(|s| (s.address()..s.address() + s.size()).contains(&start)).unwrap();
        let code = section.data_range(start, size).unwrap().unwrap();
        let calls = code.windows(5).enumerate().filter(|(_, bytes)| bytes[0] == 0xe8);
        let calls = calls.map(|(at, bytes)| {
            let back = start + at as u64 + 5;
            (back, back.wrapping_add_signed(i32::from_le_bytes(bytes[1..].try_into().unwrap()).into()))
        });
        let symbols: Vec<u64> = file.symbols().map(|symbol| symbol.address()).collect();
        calls.filter(|(_, target)| symbols.contains(target)).collect()
    }

    /// Where the call through a word of the table returns to: `call *(%rax)` or `call *8(%rax)`.
    fn indirect_call(&self, caller: &str) -> u64 {
        let (start, size) = self.symbol(caller);
        let file = object::File::parse(&*self.bytes).unwrap();
        let section =
            file.sections().find(|s| (s.address()..s.address() + s.size()).contains(&start)).unwrap();
        let code = section.data_range(start, size).unwrap().unwrap();
        let at = code.windows(2).position(|bytes| matches!(bytes, [0xff, 0x10 | 0x50])).unwrap();
        start + at as u64 + if code[at + 1] == 0x50 { 3 } else { 2 }
    }

    /// Who may be at `pc`, for these return addresses, with how sure that is.
    fn who(&self, pc: u64, backs: &[u64]) -> (Option<Certainty>, Vec<String>) {
        self.who_of(pc, backs, None)
    }

    /// The same, on an object with this pointer to its virtual functions.
    fn who_of(&self, pc: u64, backs: &[u64], vptr: Option<u64>) -> (Option<Certainty>, Vec<String>) {
        let file = SymbolFile::open(&self.fsym).unwrap();
        let mut entries = vec![StackAddr::Exact(ImageAddr(pc))];
        entries.extend(backs.iter().map(|&back| StackAddr::Return(ReturnAddr(back))));
        let mut resolved = vec![Resolved::NONE; entries.len()];
        file.resolve_stack(&entries, &mut resolved).unwrap();
        if let Some(vptr) = vptr {
            file.resolve_object(&mut resolved[0], ImageAddr(vptr), entries.get(1).copied()).unwrap();
        }
        let mut names = names(&file, pc, &resolved[0]);
        names.sort();
        (resolved[0].certainty, names)
    }

    /// The same of the innermost frame, by the slot of the call that returns to `back` too; the likeliest first.
    fn by_slot(&self, pc: u64, back: u64) -> (Option<Certainty>, Vec<String>) {
        let file = SymbolFile::open(&self.fsym).unwrap();
        let caller = StackAddr::Return(ReturnAddr(back));
        let outer = file.resolve_one(caller, None).unwrap();
        let mut resolved = file.resolve_one(StackAddr::Exact(ImageAddr(pc)), Some((caller, &outer))).unwrap();
        file.resolve_slot(&mut resolved, Some(caller)).unwrap();
        (resolved.certainty, names(&file, pc, &resolved))
    }
}

/// Linkage names of the functions that may have run at an address of a group.
fn names(file: &SymbolFile<'_>, pc: u64, resolved: &Resolved) -> Vec<String> {
    let mut frames = Frames::new();
    let Lookup::Found(found) = file.lookup(ImageAddr(pc), &mut frames).unwrap() else {
        return Vec::new();
    };
    assert!(found.group.is_some());
    let mut names = Vec::new();
    for index in (0..resolved.candidate_count()).map_while(|at| resolved.candidate(at)) {
        file.member_frames(&found, index, &mut frames).unwrap();
        let frame = file.frames(&frames).last().unwrap().unwrap();
        let mut buffer = [0; 256];
        let len = frame.name.map_or(0, |id| file.write_name(id, &mut buffer).unwrap());
        names.push(String::from_utf8(buffer[..len].to_vec()).unwrap());
    }
    names
}

fn answer(certainty: Certainty, names: &[&str]) -> (Option<Certainty>, Vec<String>) {
    (Some(certainty), names.iter().map(|&name| name.to_owned()).collect())
}

#[test]
fn a_call_table_says_whom_a_call_calls() {
    use foldsym_convert::report::Kind;
    const TWINS: &[&str] = &["first", "second", "third"];
    for name in ["call_tables.lld", "call_tables.gold"] {
        let program = Program::new(name);
        let calls = program.calls("start");
        assert_eq!(calls.len(), 5);
        for ((back, target), callee) in calls.iter().zip(["first", "second", "third", "left", "right"]) {
            assert_eq!(program.who(*target, &[*back]), answer(Certainty::Exact, &[callee]), "{name}");
        }
        // `left` calls `first`; of what `right` calls lld erased where it stands, and gold keeps both in one place.
        let inner = program.calls("left")[0];
        let of = |caller: usize| program.who(inner.1, &[inner.0, calls[caller].0]);
        let left = if name.ends_with("lld") {
            answer(Certainty::Exact, &["first"])
        } else {
            answer(Certainty::Ambiguous, TWINS)
        };
        assert_eq!((of(3), of(4)), (left, answer(Certainty::Ambiguous, TWINS)), "{name}");
        assert_eq!(program.count(Kind::BadCallTable), 0);
        assert_eq!(program.count(Kind::DeadCall), u64::from(name.ends_with("lld")));
    }
    // Nothing is folded in an object file.
    let object = Program::new("call_tables.a.o");
    assert_eq!(object.count(Kind::BadCallTable), 0);
}

#[test]
fn a_table_of_virtual_calls_says_through_which_slot_one_goes() {
    use foldsym_convert::report::Kind;
    const BOTH: &[&str] = &["_ZN5Shape5firstEv", "_ZN5Shape6secondEv"];
    let program = Program::new("slot_table.lld");
    let (pc, _) = program.symbol(BOTH[0]);
    let vptr = program.symbol("_ZTV5Shape").0 + 16;
    for (caller, callee) in [("_Z10call_firstP5Shape", BOTH[0]), ("_Z11call_secondP5Shape", BOTH[1])] {
        let back = program.indirect_call(caller);
        assert_eq!(program.who(pc, &[back]), answer(Certainty::Ambiguous, BOTH));
        assert_eq!(program.who_of(pc, &[back], Some(vptr)), answer(Certainty::Exact, &[callee]));
        // Behind another call, or on another object, nothing is known.
        assert_eq!(program.who_of(pc, &[back + 1], Some(vptr)), answer(Certainty::Ambiguous, BOTH));
        assert_eq!(program.who_of(pc, &[back], Some(vptr + 8)), answer(Certainty::Ambiguous, BOTH));
    }
    assert_eq!((program.count(Kind::BadCallTable), program.count(Kind::DeadCall)), (0, 1));
}

/// `Proxy::first` ends in `second` of another object, whose frame then stands there: the slot of the call was the proxy's.
#[test]
fn a_slot_proves_nothing_where_a_method_passes_its_call_on() {
    const BOTH: &[&str] = &["_ZN5Shape5firstEv", "_ZN5Shape6secondEv"];
    let program = Program::new("slot_table.passed");
    let (pc, _) = program.symbol(BOTH[0]);
    let vptr = program.symbol("_ZTV5Shape").0 + 16;
    let of = |caller: &str| program.who_of(pc, &[program.indirect_call(caller)], Some(vptr));
    assert_eq!(of("_Z10call_firstP5Shape"), answer(Certainty::Likely, BOTH));
    assert_eq!(of("_Z11call_secondP5Shape"), answer(Certainty::Exact, &BOTH[1..]));
}

/// The word of a table that a call takes leads to a thunk, which has the code of other thunks.
#[test]
fn a_word_that_leads_to_folded_thunks_names_a_method_where_its_class_tells_which() {
    let program = Program::new("thunks.lld");
    let who = |caller: &str, pc: u64| program.by_slot(pc, program.indirect_call(caller));
    // A method of each of two classes may have run: these are likelier than a function that no table has.
    let near = program.symbol("_ZN4Both4nearEv").0;
    assert_eq!(near, program.symbol("_Z11not_virtualP5Other").0);
    let (certainty, mut names) = who("_Z9call_nearP6Second", near);
    names[..2].sort();
    let three = ["_ZN4Both4nearEv", "_ZN5Other4nearEv", "_Z11not_virtualP5Other"];
    assert_eq!((certainty, names), answer(Certainty::Ambiguous, &three));
    // Both methods of one class are behind the word: neither is likely, and neither is what another class has there.
    let right = program.symbol("_ZN6Direct5rightEv").0;
    for caller in ["_Z10call_rightP6Second", "_Z9call_leftP6Second"] {
        let (certainty, names) = who(caller, right);
        assert_ne!(certainty, Some(Certainty::Likely), "{names:?}");
        assert!(names.iter().any(|name| name == "_ZN4Both5rightEv"), "{names:?}");
    }
}

#[test]
fn damage_of_a_call_table_costs_its_calls_alone() {
    use foldsym_convert::report::Kind;
    let program = Program::new("call_tables.damaged");
    let calls = program.calls("start");
    let of = |call: usize| program.who(calls[call].1, &[calls[call].0]);
    for call in [0, 1] {
        assert_eq!(of(call), answer(Certainty::Ambiguous, &["first", "second", "third"]));
    }
    assert_eq!(of(2), answer(Certainty::Exact, &["third"]));
    assert_eq!(of(4), answer(Certainty::Exact, &["right"]));
    // Four parts, a length, and two calls of nobody; the dead calls of `right`, and of what is no code.
    assert_eq!(program.count(Kind::BadCallTable), 7);
    assert_eq!(program.count(Kind::DeadCall), 2);
}

#[test]
fn functions_that_gcc_merged_are_found_by_their_calls() {
    for name in ["merged.gcc", "merged.gcc-dwarf4", "merged.gcc-lld"] {
        let program = Program::new(name);
        let calls = program.calls("all");
        let (one, _) = program.symbol("one");
        let twins: Vec<(u64, u64)> = calls.into_iter().filter(|call| call.1 == one).collect();
        assert_eq!(twins.len(), 3, "{name}");
        for ((back, target), callee) in twins.iter().zip(["one", "three", "four"]) {
            assert_eq!(program.who(*target, &[*back]), answer(Certainty::Exact, &[callee]), "{name}");
        }
        // Nobody knows who jumped there from `two`.
        let (certainty, names) = program.who(one, &[]);
        assert_eq!(certainty, Some(Certainty::Ambiguous));
        for callee in ["one", "three", "four"] {
            assert!(names.iter().any(|name| name == callee), "{name}: {names:?}");
        }
    }
}

/// Rows of a function that shares its code are in the file that declares it, unless they are of inlined code or of no line.
/// (Bodies that `#include` or `#line` bring in would be exceptions: these programs have none.)
#[test]
fn rows_of_folded_functions_are_in_the_file_of_their_declaration() {
    let mut compared = 0;
    for entry in std::fs::read_dir(root().join("built")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let cases = ["fold.", "ring.", "merged.", "call_tables.", "slot_table.", "thunks."];
        if !cases.iter().any(|case| name.starts_with(case)) {
            continue;
        }
        let path = if name.ends_with(".set") { format!("{name}/program") } else { name };
        let program = Program::new(&path);
        let file = SymbolFile::open(&program.fsym).unwrap();
        let mut frames = Frames::new();
        let object = object::File::parse(&*program.bytes).unwrap();
        let code = object.sections().filter(|section| section.kind() == object::SectionKind::Text);
        for address in code.flat_map(|section| section.address()..section.address() + section.size()) {
            let Lookup::Found(found) = file.lookup(ImageAddr(address), &mut frames).unwrap() else {
                continue;
            };
            if found.group.is_none() {
                continue;
            }
            for index in 0..found.member_count() {
                file.member_frames(&found, index, &mut frames).unwrap();
                let listed: Vec<_> = file.frames(&frames).map(Result::unwrap).collect();
                if let [frame] = &listed[..]
                    && frame.line > 0
                    && frame.start_file.is_some()
                {
                    assert_eq!(frame.file, frame.start_file, "{path} at {address:#x}, member {index}");
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 10_000, "{compared}");
}
