//! Functions that share their code, distinguished by records other than call sites: call tables of the 2009 proposal, and entries without
//! an address of functions that gcc merged. The sources show which function calls which.
//!
//! Long because every test asks its program through the helpers that come first.

use foldsym_convert::{NoProgress, Options, Report, convert};
use foldsym_lookup::{Certainty, Frames, ImageAddr, Lookup, Resolved, ReturnAddr, StackAddr, SymbolFile};
use foldsym_resolve::{Caller, Ranker};
use foldsym_testbins::root;
use object::{Object as _, ObjectSection as _, ObjectSymbol as _};

/// A converted program and where its symbols are.
pub(super) struct Program {
    bytes: Vec<u8>,
    fsym: Vec<u8>,
    report: Report,
}

impl Program {
    pub(super) fn new(name: &str) -> Program {
        let path = root().join("built").join(name);
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("out.fsym");
        let report = convert(&path, &output, &Options::default(), &NoProgress).unwrap();
        Program { bytes: std::fs::read(path).unwrap(), fsym: std::fs::read(output).unwrap(), report }
    }

    pub(super) fn count(&self, kind: foldsym_convert::report::Kind) -> u64 {
        self.report.diagnostics.count(kind)
    }

    pub(super) fn symbol(&self, name: &str) -> (u64, u64) {
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

    /// Where the first call through a pointer returns to: `call *%rax`, or `call *(%rax)` and `call *8(%rax)` through a word of a table.
    pub(super) fn indirect_call(&self, caller: &str) -> u64 {
        let (start, size) = self.symbol(caller);
        let file = object::File::parse(&*self.bytes).unwrap();
        let section =
            file.sections().find(|s| (s.address()..s.address() + s.size()).contains(&start)).unwrap();
        let code = section.data_range(start, size).unwrap().unwrap();
        let at = code.windows(2).position(|bytes| matches!(bytes, [0xff, 0x10 | 0x50 | 0xd0])).unwrap();
        start + at as u64 + if code[at + 1] == 0x50 { 3 } else { 2 }
    }

    /// Who may be at `pc`, for these return addresses, with how sure that is.
    fn who(&self, pc: u64, backs: &[u64]) -> (Option<Certainty>, Vec<String>) {
        self.who_of(pc, backs, None)
    }

    /// The same, on an object with this pointer to its virtual functions.
    pub(super) fn who_of(
        &self,
        pc: u64,
        backs: &[u64],
        vptr: Option<u64>,
    ) -> (Option<Certainty>, Vec<String>) {
        let (certainty, mut names) = self.likeliest_first(pc, backs, vptr);
        names.sort();
        (certainty, names)
    }

    /// The same, the likeliest first.
    fn likeliest_first(&self, pc: u64, backs: &[u64], vptr: Option<u64>) -> (Option<Certainty>, Vec<String>) {
        let file = SymbolFile::open(&self.fsym).unwrap();
        let mut entries = vec![StackAddr::Exact(ImageAddr(pc))];
        entries.extend(backs.iter().map(|&back| StackAddr::Return(ReturnAddr(back))));
        let mut resolved = vec![Resolved::NONE; entries.len()];
        file.resolve_stack(&entries, &mut resolved).unwrap();
        if let Some(vptr) = vptr {
            file.resolve_object(&mut resolved[0], ImageAddr(vptr), entries.get(1).copied()).unwrap();
        }
        (resolved[0].certainty, names(&file, pc, &resolved[0]))
    }

    /// The candidate that `Ranker` puts first, on an object with this pointer to its virtual functions.
    fn ranked_first(&self, pc: u64, back: u64, vptr: u64) -> String {
        let file = SymbolFile::open(&self.fsym).unwrap();
        let (resolved, first) = Program::rank(&file, pc, back, Some(vptr));
        names(&file, pc, &resolved).swap_remove(first as usize)
    }

    /// The file of the lines of the candidate that `Ranker` puts first.
    fn file_of_first(&self, pc: u64, back: u64) -> String {
        let file = SymbolFile::open(&self.fsym).unwrap();
        let (resolved, first) = Program::rank(&file, pc, back, None);
        let mut frames = Frames::new();
        let Lookup::Found(found) = file.lookup(ImageAddr(pc), &mut frames).unwrap() else {
            panic!("{pc:#x}")
        };
        file.member_frames(&found, resolved.candidate(first).unwrap(), &mut frames).unwrap();
        let frame = file.frames(&frames).last().unwrap().unwrap();
        let mut buffer = [0; 256];
        let len = file.write_path(frame.file.unwrap(), &mut buffer).unwrap();
        String::from_utf8(buffer[..len].to_vec()).unwrap()
    }

    /// Who may be at `pc`, and the index of the candidate that comes first.
    fn rank(file: &SymbolFile<'_>, pc: u64, back: u64, vptr: Option<u64>) -> (Resolved, u32) {
        let (address, caller) = (StackAddr::Exact(ImageAddr(pc)), StackAddr::Return(ReturnAddr(back)));
        let outer = file.resolve_one(caller, None).unwrap();
        let mut resolved = file.resolve_one(address, Some((caller, &outer))).unwrap();
        if let Some(vptr) = vptr {
            file.resolve_object(&mut resolved, ImageAddr(vptr), Some(caller)).unwrap();
        }
        let caller = Caller { address: caller, resolved: &outer, first: 0 };
        let first = Ranker::default().first((0, file), address, &resolved, Some(caller));
        (resolved, first)
    }

    /// The same of the innermost frame, by the slot of the call that returns to `back` too; the likeliest first.
    pub(super) fn by_slot(&self, pc: u64, back: u64) -> (Option<Certainty>, Vec<String>) {
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
        // `left` calls `first`. lld erased the address of the call in `right`; gold keeps both calls, at one address.
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
        // For another call, or on another object, nothing is known.
        assert_eq!(program.who_of(pc, &[back + 1], Some(vptr)), answer(Certainty::Ambiguous, BOTH));
        assert_eq!(program.who_of(pc, &[back], Some(vptr + 8)), answer(Certainty::Ambiguous, BOTH));
    }
    assert_eq!((program.count(Kind::BadCallTable), program.count(Kind::DeadCall)), (0, 1));
}

/// `Proxy::first` ends in `second` of another object, whose frame replaces its own: the slot of the call was the proxy's.
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

/// The code of `choose` has one jump to the code of both, and clang recorded a tail call of `first`. Two blocks have that code, each
/// with a call of its own.
#[test]
fn a_jump_of_folded_parts_is_one_of_each() {
    const BOTH: &[&str] = &["_Z5firstPK4Stepi", "_Z6secondPK4Stepi"];
    let program = Program::new("tail_parts.lld.set/program");
    let [pc, other] = [0, 1].map(|at| program.symbol(BOTH[at]).0);
    assert_eq!(pc, other);
    let [choose, directly] = program.calls("start")[..] else { panic!("calls of start") };
    assert_eq!(directly.1, pc);
    assert_eq!(program.who(pc, &[choose.0]), answer(Certainty::Ambiguous, BOTH));
    assert_eq!(program.who(pc, &[directly.0]), answer(Certainty::Exact, &BOTH[..1]));
}

/// A block of `choose` is folded with `other`. A jump of `choose` there is a tail call of `other`, which clang did not record.
#[test]
fn a_jump_to_a_part_that_is_the_entry_of_another_may_call_that() {
    const BOTH: &[&str] = &["_Z5otherPK4Stepi", "_Z6choosePK4Stepi"];
    let program = Program::new("entry_part.lld.set/program");
    let pc = program.symbol(BOTH[0]).0;
    let [choose, directly] = program.calls("start")[..] else { panic!("calls of start") };
    assert_eq!(directly.1, pc);
    assert_eq!(program.who(pc, &[choose.0]), answer(Certainty::Ambiguous, BOTH));
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
    // The word leads to both methods of one class. Of their names only `left` is at slot 0 of a vtable. At slot 1 are both: `left` in the
    // first vtable of `Both`, `right` in the vtable of `Second`.
    let right = program.symbol("_ZN6Direct5rightEv").0;
    let (certainty, names) = who("_Z9call_leftP6Second", right);
    assert_eq!((certainty, &*names[0]), (Some(Certainty::Likely), "_ZN4Both4leftEv"));
    let (certainty, names) = who("_Z10call_rightP6Second", right);
    assert_ne!(certainty, Some(Certainty::Likely), "{names:?}");
    assert!(names.iter().any(|name| name == "_ZN4Both5rightEv"), "{names:?}");
}

/// Nothing shows which class of the name is the base of `Leaf`. Its vtable is read anyway.
#[test]
fn a_table_of_a_class_with_an_unknown_base_counts() {
    const BOTH: [&str; 2] = ["_ZN4Leaf5weighEv", "_ZN4Tree5weighEv"];
    let program = Program::new("sides.lld");
    let pc = program.symbol(BOTH[0]).0;
    assert_eq!(pc, program.symbol(BOTH[1]).0);
    let back = program.indirect_call("_Z10call_weighPN3far4NodeE");
    let (certainty, mut names) = program.by_slot(pc, back);
    names.sort();
    assert_eq!((certainty, names), answer(Certainty::Ambiguous, &BOTH));
    // With the object only its vtable counts. All methods of `Tree` are known.
    for (table, sure, method) in
        [("_ZTV4Leaf", Certainty::Likely, BOTH[0]), ("_ZTV4Tree", Certainty::Exact, BOTH[1])]
    {
        let (certainty, names) = program.likeliest_first(pc, &[back], Some(program.symbol(table).0 + 16));
        assert_eq!((certainty, &*names[0]), (Some(sure), method));
    }
}

/// `two` is called through the second table of `Both`, and runs on the whole object, whose first table has `one` at that slot.
#[test]
fn a_method_behind_a_thunk_runs_on_another_part_of_the_object() {
    const BOTH: &[&str] = &["_ZN4Both3oneEv", "_ZN4Both3twoEv"];
    let program = Program::new("sides.lld");
    let pc = program.symbol(BOTH[0]).0;
    assert_eq!(pc, program.symbol(BOTH[1]).0);
    let vptr = program.symbol("_ZTV4Both").0 + 16;
    for caller in ["_Z8call_oneP5First", "_Z8call_twoP6Second"] {
        let found = program.who_of(pc, &[program.indirect_call(caller)], Some(vptr));
        assert_eq!(found, answer(Certainty::Ambiguous, BOTH), "{caller}");
    }
}

/// Who ran at the code of `method` in a program of the case `bases`, for a call in `caller` on an object of a class.
fn on_object(program: &Program, method: &str, caller: &str, class: &str) -> (Option<Certainty>, String) {
    let (pc, vptr) = (program.symbol(method).0, program.symbol(&format!("_ZTV{class}")).0 + 16);
    // A thunk that jumps through a register, or a call through memory.
    let back = program.calls(caller).first().map_or_else(|| program.indirect_call(caller), |call| call.0);
    let (certainty, names) = program.likeliest_first(pc, &[back], Some(vptr));
    (certainty, names[0].clone())
}

const WEIGH: &str = "_ZN6Parcel5weighEi";
const CALLS: [&str; 2] = ["_Z10call_weighP4Item", "_Z10call_priceP4Item"];

/// No unit describes `Parcel` and `Item`. Other classes that derive from `Item` have `weigh` at the first word.
#[test]
fn type_information_tells_which_classes_have_the_methods_of_one_base() {
    for name in ["program", "library", "retpoline"] {
        let program = Program::new(&format!("bases.typed.set/{name}"));
        let who = |caller, class| on_object(&program, WEIGH, caller, class);
        let likely = |method: &str| (Some(Certainty::Likely), method.to_owned());
        assert_eq!(
            CALLS.map(|caller| who(caller, "6Parcel")),
            [WEIGH, "_ZN6Parcel5priceEi"].map(likely),
            "{name}"
        );
        // `Gift` has its own `price`, and inherits `weigh`.
        assert_eq!(
            CALLS.map(|caller| who(caller, "4Gift")),
            [WEIGH, "_ZN4Gift5priceEi"].map(likely),
            "{name}"
        );
        let one = on_object(&program, "_ZN5Multi3oneEi", "_Z8call_oneP4Left", "5Multi");
        assert_eq!(one, likely("_ZN5Multi3oneEi"), "{name}");
        let two = on_object(&program, "_ZN5Multi3oneEi", "_Z8call_twoP5Right", "5Multi");
        assert_eq!(two, likely("_ZN5Multi3twoEi"), "{name}");
    }
}

/// `Shelf` has methods with the names of `Parcel`'s in another order, and `Bag` with the names of `Box`'s, whose base does not have them.
#[test]
fn methods_of_equal_names_in_classes_without_a_common_base_tell_nothing() {
    for name in ["program", "retpoline"] {
        let program = Program::new(&format!("bases.typed.set/{name}"));
        let (certainty, first) = on_object(&program, WEIGH, "_Z10call_firstP5Shelf", "5Shelf");
        assert_eq!(certainty, Some(Certainty::Ambiguous), "{name}");
        // Its own methods come first.
        assert!(first.starts_with("_ZN5Shelf"), "{name}: {first}");
        let (certainty, _) = on_object(&program, "_ZN3Bag4openEi", "_Z10call_closeP3Bag", "3Bag");
        assert_eq!(certainty, Some(Certainty::Ambiguous), "{name}");
    }
}

/// Without type information nothing shows that `Gift` inherits a method of `Parcel`.
#[test]
fn the_only_method_of_a_class_in_a_group_is_not_at_two_words() {
    let program = Program::new("bases.typed.set/untyped");
    for caller in CALLS {
        let (certainty, _) = on_object(&program, WEIGH, caller, "4Gift");
        assert_eq!(certainty, Some(Certainty::Ambiguous), "{caller}");
    }
}

/// `Parcel` overrides `Base::get() const`. The other overload, `Base::get()`, has the code of that overrider.
#[test]
fn a_const_method_does_not_override_an_overload_that_is_not_const() {
    const BOTH: [&str; 2] = ["_ZN4Base3getEv", "_ZNK6Parcel3getEv"];
    for level in ["-gdwarf-5", "-gmlt", "-g0"] {
        let program = Program::new(&format!("overloads.const.set/program{level}"));
        let pc = program.symbol(BOTH[0]).0;
        assert_eq!(pc, program.symbol(BOTH[1]).0);
        // The table of `Base` in that of `Parcel` follows two methods and two words.
        let tables = [program.symbol("_ZTV4Base").0 + 16, program.symbol("_ZTV6Parcel").0 + 48];
        let first = |caller, table| {
            program.likeliest_first(pc, &[program.indirect_call(caller)], Some(table)).1[0].clone()
        };
        assert_eq!(tables.map(|table| first("_Z8call_getP4Base", table)), [BOTH[0]; 2], "{level}");
        assert_eq!(first("_Z10call_constPK4Base", tables[1]), BOTH[1], "{level}");
    }
}

/// An object with two parts of one class: a method that one part overrides is not that of the other part.
#[test]
fn each_part_of_an_object_has_its_own_overrider() {
    let program = Program::new("twice.lld");
    let who = |methods: [&str; 2], caller, table| {
        let pc = program.symbol(methods[0]).0;
        assert_eq!(pc, program.symbol(methods[1]).0);
        let (certainty, names) = program.likeliest_first(pc, &[program.indirect_call(caller)], Some(table));
        (certainty, names[0].clone())
    };
    let is_right = |found: &(Option<Certainty>, String), method: &str| {
        found.0 == Some(Certainty::Ambiguous) || found.1 == method
    };
    // After the first table, of three methods, and two words.
    let letter = program.symbol("_ZTV4Both").0 + 56;
    let found = who(["_ZN4Item5weighEv", "_ZN6Parcel5weighEv"], "_Z10call_weighP4Item", letter);
    assert!(is_right(&found, "_ZN4Item5weighEv"), "{found:?}");
    let all = program.symbol("_ZTV3All").0;
    for (table, method) in [(56, "_ZN3One3getEv"), (112, "_ZN3Two3getEv")] {
        let found = who(["_ZN3One3getEv", "_ZN3Two3getEv"], "_Z8call_getP4Base", all + table);
        assert!(is_right(&found, method), "{method}: {found:?}");
    }
}

/// LLVM made `weigh` a jump to `price`. The thunk to `price` is at the words of both: as an address, or as its name in relocations.
#[test]
fn a_word_of_a_table_may_mean_a_method_that_llvm_merged() {
    for name in ["merged_slots.lld", "merged_slots.shared.set/program"] {
        let program = Program::new(name);
        for class in ["6Parcel", "6Letter"] {
            let pc = program.symbol(&format!("_ZN{class}5priceEi")).0;
            // After two words, then after four methods and two words.
            let tables = [16, 64].map(|offset| program.symbol(&format!("_ZTV{class}")).0 + offset);
            for caller in SCALE_CALLS {
                let call = program.indirect_call(caller);
                let with_object = tables.map(|table| program.likeliest_first(pc, &[call], Some(table)));
                for (certainty, names) in with_object.into_iter().chain([program.by_slot(pc, call)]) {
                    assert_eq!(certainty, Some(Certainty::Ambiguous), "{name}, {class}, {caller}: {names:?}");
                    assert_eq!(names.len(), 2, "{names:?}");
                }
            }
        }
    }
}

/// The linker folded `weigh` and `price`, and nothing shows which word is whose: the order of declarations, or that of the symbols, does
/// not make one `likely`, but the right one comes first.
#[test]
fn methods_are_in_the_order_of_their_declarations() {
    for name in ["merged_slots.folded", "merged_slots.lines.set/program"] {
        let program = Program::new(name);
        for class in ["6Parcel", "6Letter"] {
            let methods = ["5weigh", "5price"].map(|method| format!("_ZN{class}{method}Ei"));
            let pc = program.symbol(&methods[0]).0;
            assert_eq!(pc, program.symbol(&methods[1]).0);
            let table = program.symbol(&format!("_ZTV{class}")).0 + 16;
            for (caller, method) in SCALE_CALLS.into_iter().zip(&methods) {
                let call = program.indirect_call(caller);
                let (certainty, names) = program.likeliest_first(pc, &[call], Some(table));
                assert_eq!((certainty, &names[0]), (Some(Certainty::Ambiguous), method), "{name}, {caller}");
                assert_eq!(program.ranked_first(pc, call, table), *method, "{name}, {caller}");
            }
        }
    }
}

/// Slot 0 of the first table leads to another function, so a call through it reached the code by the thunk of the second table.
#[test]
fn a_thunk_in_a_second_table_shows_the_method() {
    for name in ["second_tables.lld", "second_tables.lines.set/program"] {
        let program = Program::new(name);
        let is_described = name.ends_with("lld");
        // `Crate` has two offsets of virtual bases and two of functions before the two words of its first table.
        let tables = [
            ("6Parcel", "6Parcel", 16),
            ("6Letter", "6Letter", 16),
            ("3Box", "6Parcel", 16),
            ("5Crate", "5Crate", 48),
        ];
        // Without descriptions nothing shows the base of `Box`, nor where the tables of `Crate` begin.
        for (class, of, offset) in tables.into_iter().filter(|of| is_described || of.0 == of.1 && of.2 == 16)
        {
            let table = program.symbol(&format!("_ZTV{class}")).0 + offset;
            let pc = program.symbol(&format!("_ZN{of}5weighEi")).0;
            assert_eq!(pc, program.symbol(&format!("_ZN{of}6secondEi")).0);
            for (caller, method) in
                [("_Z10call_weighP5Scale", "5weigh"), ("_Z11call_secondP5First", "6second")]
            {
                let first = program.ranked_first(pc, program.indirect_call(caller), table);
                assert_eq!(first, format!("_ZN{of}{method}Ei"), "{name}, {class}, {caller}");
            }
        }
    }
}

/// The callers of `weigh` and of `price`.
const SCALE_CALLS: [&str; 2] = ["_Z12before_priceP5Scale", "_Z11after_weighP5Scale"];

/// Each word of the type information of `Item` and `Parcel` and of the tables, damaged in several ways: no answer is wrong.
#[test]
fn damaged_type_information_tells_nothing() {
    let whole = Program::new("bases.typed.set/program");
    let file = object::File::parse(&*whole.bytes).unwrap();
    let offset_of = |address: u64| {
        let section =
            file.sections().find(|s| (s.address()..s.address() + s.size()).contains(&address)).unwrap();
        (section.file_range().unwrap().0 + address - section.address()) as usize
    };
    let [item, parcel] = ["_ZTI4Item", "_ZTI6Parcel"].map(|name| whole.symbol(name).0);
    let [listed, single] =
        ["_ZTVN10__cxxabiv121__vmi_class_type_infoE", "_ZTVN10__cxxabiv120__si_class_type_infoE"]
            .map(|name| whole.symbol(name).0 + 16);
    // Bytes that are written, at an address.
    let long = [listed, whole.symbol("_ZTS4Item").0, u64::MAX].map(u64::to_le_bytes).concat();
    let cases = [
        (parcel + 16, parcel.to_le_bytes().to_vec()),
        (parcel + 16, u64::MAX.to_le_bytes().to_vec()),
        (parcel + 16, 1_u64.to_le_bytes().to_vec()),
        (parcel, u64::MAX.to_le_bytes().to_vec()),
        (parcel + 8, u64::MAX.to_le_bytes().to_vec()),
        (parcel, listed.to_le_bytes().to_vec()),
        (item, long),
        (item, [single, item, item].map(u64::to_le_bytes).concat()),
        (whole.symbol("_ZTV6Parcel").0 + 8, 3_u64.to_le_bytes().to_vec()),
    ];
    for (address, bytes) in cases {
        let mut program =
            Program { bytes: whole.bytes.clone(), fsym: Vec::new(), report: whole.report.clone() };
        let at = offset_of(address);
        program.bytes[at..at + bytes.len()].copy_from_slice(&bytes);
        let folder = tempfile::tempdir().unwrap();
        let (input, output) = (folder.path().join("program"), folder.path().join("out.fsym"));
        std::fs::write(&input, &program.bytes).unwrap();
        convert(&input, &output, &Options::default(), &NoProgress).unwrap();
        program.fsym = std::fs::read(output).unwrap();
        for (caller, method) in CALLS.into_iter().zip([WEIGH, "_ZN6Parcel5priceEi"]) {
            let (certainty, first) = on_object(&program, WEIGH, caller, "6Parcel");
            let right = certainty == Some(Certainty::Ambiguous) || first == method;
            assert!(right, "{address:#x}: {certainty:?} {first}");
        }
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
    // Four damaged parts, a length, and two calls without a callee; the dead calls of `right`, and calls at addresses without code.
    assert_eq!((program.count(Kind::BadCallTable), program.count(Kind::BadCallee)), (5, 2));
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
        // Nothing shows which function jumped there from `two`.
        let (certainty, names) = program.who(one, &[]);
        assert_eq!(certainty, Some(Certainty::Ambiguous));
        for callee in ["one", "three", "four"] {
            assert!(names.iter().any(|name| name == callee), "{name}: {names:?}");
        }
    }
}

/// The rows of a function that shares its code are in the file that declares it, unless they are of inlined code or of line 0. (Bodies from
/// `#include` or `#line` would be exceptions: these programs have none.)
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

/// clang at `-g1` records the callee as `area` or `volume`. Two of the three members are called `area`: only a kept relocation shows which one.
#[test]
fn a_plain_name_makes_its_callee_likely_if_one_member_has_it() {
    const ALL: [&str; 3] = ["_Z4areaPKci", "_Z4areaPKli", "_Z6volumePKci"];
    for (name, told) in
        [("plain_names.lines.set", [false, false, true]), ("plain_names.relocs.set", [true; 3])]
    {
        let program = Program::new(&format!("{name}/program"));
        let pc = program.symbol(ALL[0]).0;
        assert_eq!([pc; 3], ALL.map(|function| program.symbol(function).0));
        let calls = program.calls("start");
        assert_eq!(calls.len(), 3);
        for ((call, callee), told) in calls.iter().zip(ALL).zip(told) {
            let (certainty, mut names) = program.likeliest_first(pc, &[call.0], None);
            assert_eq!(call.1, pc);
            let word = if told { Certainty::Likely } else { Certainty::Ambiguous };
            assert_eq!(certainty, Some(word), "{name}, {callee}");
            if told {
                assert_eq!(names[0], callee, "{name}");
            }
            names.sort();
            assert_eq!(names, ALL, "{name}, {callee}");
        }
    }
}

/// Two words of the tables of `Parcel` lead to one thunk. It is a thunk to `price`, and to a method of a base that nothing describes.
#[test]
fn a_folded_thunk_of_an_unknown_base_makes_no_method_likely() {
    let program = Program::new("plain_names.base.set/program");
    let pc = program.symbol("_ZN6Parcel5priceEi").0;
    assert_eq!(pc, program.symbol("_ZN3Mid5weighEi").0);
    let tables = program.symbol("_ZTV6Parcel").0;
    // The second and the fourth table of the object, each after the two words before its functions.
    for (caller, table) in [("_Z10call_priceP5Price", tables + 48), ("_Z10call_weighP5Scale", tables + 104)] {
        let call = program.indirect_call(caller);
        let (certainty, names) = program.likeliest_first(pc, &[call], Some(table));
        assert_eq!((certainty, names.len()), (Some(Certainty::Ambiguous), 2), "{caller}: {names:?}");
    }
}

/// The record names `area`. The linker (a strong definition, `--wrap`) or a label put another function of the same code in its place.
#[test]
fn a_record_of_a_replaced_function_proves_nothing() {
    let word = |name: &str, function: &str| {
        let program = Program::new(&format!("replaced.{name}.set/program"));
        let pc = program.symbol(function).0;
        let call = program.calls("start").into_iter().find(|call| call.1 == pc).unwrap();
        program.who(pc, &[call.0]).0
    };
    assert_eq!(word("weak", "_Z4areai"), Some(Certainty::Ambiguous));
    assert_eq!(word("wrap", "_Z4areai"), Some(Certainty::Ambiguous));
    // A label that renames a function is rare.
    assert_eq!(word("label", "area"), Some(Certainty::Likely));
}

/// gold gives the DIEs of both copies of an inline function the address of the one that it kept.
#[test]
fn copies_of_an_inline_function_are_one_function() {
    const BOTH: [&str; 2] = ["_Z4areaILi5EEii", "_Z6volumei"];
    let program = Program::new("replaced.copies.set/program");
    let pc = program.symbol(BOTH[0]).0;
    assert_eq!(pc, program.symbol(BOTH[1]).0);
    let calls = program.calls("start").into_iter().filter(|call| call.1 == pc);
    for ((call, _), callee) in calls.zip(BOTH) {
        let (certainty, names) = program.likeliest_first(pc, &[call], None);
        assert_eq!((certainty, names.len(), &*names[0]), (Some(Certainty::Likely), 2, callee));
    }
    let file = SymbolFile::open(&program.fsym).unwrap();
    let other = ImageAddr(program.symbol("_Z4areaILi6EEii").0);
    let Lookup::Found(found) = file.lookup(other, &mut Frames::new()).unwrap() else { panic!() };
    assert!(found.group.is_none());
}

/// Two files have a local `area`, and only the files of their lines and of their callers' lines tell them apart.
#[test]
fn a_local_function_of_the_callers_file_comes_first() {
    let program = Program::new("replaced.locals.set/program");
    let pc = program.symbol("_ZL4areai").0;
    for (caller, name) in [("start", "/src/replaced.cpp"), ("_Z6secondi", "/src/second.cpp")] {
        let (back, _) = program.calls(caller).into_iter().find(|call| call.1 == pc).unwrap();
        assert_eq!(program.file_of_first(pc, back), name);
    }
}

/// `Box` has operators, a template and a method with an ABI tag. (g++ and clang tag each method that returns a `std::string`.)
#[test]
fn other_methods_of_a_class_do_not_hide_its_virtual_ones() {
    for name in ["tagged.clang.set/program", "tagged.simple.set/program"] {
        let program = Program::new(name);
        for (caller, method, class) in [
            ("_Z10call_weighP3Box", "_ZN3Box5weighEi", "_ZTV3Box"),
            ("_Z10call_priceP3Box", "_ZN3Box5priceEi", "_ZTV3Box"),
            ("_Z8call_oneP9part_note", "_ZN9part_note3oneEi", "_ZTV9part_note"),
            ("_Z8call_twoP9part_note", "_ZN9part_note3twoEi", "_ZTV9part_note"),
        ] {
            let (pc, call) = (program.symbol(method).0, program.indirect_call(caller));
            let found = program.who_of(pc, &[call], Some(program.symbol(class).0 + 16));
            assert_eq!(found, answer(Certainty::Exact, &[method]), "{name}");
        }
    }
}
