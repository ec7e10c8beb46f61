//! Programs whose compiler merged functions and rewrote the calls of the removed ones, also in the recorded calls: no call of a function
//! that replaced another is exact.

use foldsym_lookup::{Certainty, ImageAddr, Resolved, ReturnAddr, StackAddr, SymbolFile};
use gimli::{
    DW_AT_call_origin, DW_AT_call_return_pc, DW_AT_decl_line, DW_AT_external, DW_AT_language, DW_AT_name,
    DW_AT_producer, DW_TAG_call_site, DW_TAG_subprogram,
};

use crate::build::{CODE, Info, Symbol, Value, elf, elf_with, two_units, with_code};
use crate::folds::{described, members};
use crate::harness::{Bench, Kept};
use Value::{Address, Flag, Label, Number, Text};

/// Where functions share code.
const SHARED: u64 = CODE + 0x100;
/// Functions that call those, and that share code too.
const CALLERS: u64 = CODE + 0x200;
/// A function that only jumps to another.
const GOES_ON: u64 = CODE + 0x400;
const GCC: &str = "GNU C17 12.2.0 -O2";

type Call = (u64, Option<&'static str>);

fn unit(producer: &'static str, language: gimli::DwLang) -> Info {
    Info::new(4, &[(DW_AT_producer, Text(producer)), (DW_AT_language, Number(language.0.into()))])
}

/// A function with an address, 0 of which is a tombstone, and with these calls: return address, callee.
fn function(info: &mut Info, name: &'static str, line: u64, start: u64, calls: &[Call]) {
    info.label(name).open(DW_TAG_subprogram, &described(name, line, start, 0x40));
    for &(address, callee) in calls {
        let call =
            [(DW_AT_call_return_pc, Address(address)), (DW_AT_call_origin, Label(callee.unwrap_or("")))];
        info.open(DW_TAG_call_site, &call[..1 + usize::from(callee.is_some())]).close();
    }
    info.close();
}

/// The certainty of the innermost frame, and its candidates.
fn stack(kept: &Kept, innermost: u64, returns: &[u64]) -> (Certainty, Vec<String>) {
    let file = SymbolFile::open(&kept.bytes).unwrap();
    let returns = returns.iter().map(|&address| StackAddr::Return(ReturnAddr(address)));
    let stack: Vec<StackAddr> = [StackAddr::Exact(ImageAddr(innermost))].into_iter().chain(returns).collect();
    let mut resolved = vec![Resolved::NONE; stack.len()];
    file.resolve_stack(&stack, &mut resolved).unwrap();
    let names = members(kept, innermost);
    let of = |index| names[resolved[0].candidate(index).unwrap() as usize].0.clone();
    (resolved[0].certainty.unwrap(), (0..resolved[0].candidate_count()).map(of).collect())
}

fn called(kept: &Kept) -> (Certainty, Vec<String>) {
    stack(kept, SHARED, &[CODE + 8])
}

fn some(certainty: Certainty, names: &[&str]) -> (Certainty, Vec<String>) {
    (certainty, names.iter().map(|&name| name.to_owned()).collect())
}

/// x86-64's, to another place.
fn to(opcode: u8, at: u64, target: u64) -> Vec<u8> {
    let by = target.wrapping_sub(at + 5) as u32;
    [&[opcode][..], &by.to_le_bytes()].concat()
}

/// gcc lets a function whose address is taken jump to the function that it was merged with, and describes it without an address. Calls of
/// it are recorded as calls of the other.
#[test]
fn a_function_that_gcc_made_jump_to_another_may_be_meant() {
    let made = |codeless: Option<&'static str>, code: &[u8]| {
        let mut info = unit(GCC, gimli::DW_LANG_C11);
        function(&mut info, "f", 10, SHARED, &[]);
        function(&mut info, "g", 20, SHARED, &[]);
        function(&mut info, "caller", 40, CODE, &[(CODE + 8, Some("f"))]);
        if let Some(name) = codeless {
            let attributes =
                [(DW_AT_name, Text(name)), (DW_AT_external, Flag), (DW_AT_decl_line, Number(30))];
            info.open(DW_TAG_subprogram, &attributes).close();
        }
        let len = code.len() as u64;
        let symbols =
            [("caller", CODE, 0x40), ("f", SHARED, 0x40), ("g", SHARED, 0x40), ("wrap", GOES_ON, len)];
        Bench::new().kept(&with_code(elf(&info.sections(), &symbols), GOES_ON, code))
    };
    let jump = to(0xe9, GOES_ON, SHARED);
    let call = [&[0x48, 0x83, 0xec, 8][..], &to(0xe8, GOES_ON + 4, SHARED), &[0x48, 0x83, 0xc4, 8, 0xc3]];
    let either = some(Certainty::Narrowed, &["f", "wrap"]);
    assert_eq!(called(&made(Some("wrap"), &jump)), either);
    assert_eq!(called(&made(Some("wrap"), &call.concat())), either);
    // It is not a function of the unit, goes into the middle of one, or gives the other an argument of its own: xor %esi,%esi.
    let exact = some(Certainty::Exact, &["f"]);
    let own = [&[0x31, 0xf6][..], &to(0xe9, GOES_ON + 2, SHARED)].concat();
    assert_eq!(called(&made(Some("wrap"), &own)), exact);
    assert_eq!(called(&made(None, &jump)), exact);
    assert_eq!(called(&made(Some("other"), &jump)), exact);
    assert_eq!(called(&made(Some("wrap"), &to(0xe9, GOES_ON, SHARED + 1))), exact);
}

/// If gcc knows the whole program it leaves no trace of a merged function, and rustc never does.
#[test]
fn what_compilers_remove_without_a_trace_may_be_meant() {
    let made = |producer: &'static str, language: gimli::DwLang, apart: bool| {
        let (mut first, mut second) = (unit(producer, language), unit(producer, language));
        let functions = |info: &mut Info| {
            function(info, "f", 10, SHARED, &[]);
            function(info, "g", 20, SHARED, &[]);
        };
        // A call of another unit goes by the name.
        if apart {
            functions(&mut second);
            let declared =
                [(DW_AT_name, Text("f")), (DW_AT_external, Flag), (gimli::DW_AT_declaration, Flag)];
            first.label("f").open(DW_TAG_subprogram, &declared).close();
        } else {
            functions(&mut first);
        }
        function(&mut first, "caller", 40, CODE, &[(CODE + 8, Some("f"))]);
        let symbols = [("caller", CODE, 0x40), ("f", SHARED, 0x40), ("g", SHARED, 0x40)];
        called(&Bench::new().kept(&elf(&two_units(&mut first, &mut second), &symbols)))
    };
    let (exact, both) = (some(Certainty::Exact, &["f"]), some(Certainty::Ambiguous, &["f", "g"]));
    let (c, rust) = (gimli::DW_LANG_C11, gimli::DW_LANG_Rust);
    for apart in [false, true] {
        assert_eq!(made(GCC, c, apart), exact, "{apart}");
        assert_eq!(made("clang version 22", c, apart), exact, "{apart}");
        assert_eq!(made("GNU GIMPLE 12.2.0 -O2", c, apart), both, "{apart}");
    }
    assert_eq!(made("clang LLVM (rustc version 1.95.0)", rust, false), both);
    assert_eq!(made("clang LLVM (rustc version 1.95.0)", gimli::DW_LANG_Swift, false), both);
    // Another object, as its own table of abbreviations shows.
    assert_eq!(made("clang LLVM (rustc version 1.95.0)", rust, true), exact);
}

/// The code does not show the callees of calls through registers (`-mcmodel=large`). The calls of a folded caller are those of the survivor
/// only if both have the same number, and all their callees were recorded.
#[test]
fn calls_that_no_code_shows_are_paired_only_if_all_are_known() {
    const RETURNS: [u64; 2] = [CALLERS + 8, CALLERS + 0x10];
    let made = |producer: &'static str, erased: &[Option<&'static str>]| {
        let mut info = unit(producer, gimli::DW_LANG_C11);
        for (name, line) in [("f", 10), ("g", 20), ("h", 30)] {
            function(&mut info, name, line, SHARED, &[]);
        }
        function(&mut info, "kept", 40, CALLERS, &[(RETURNS[0], Some("f")), (RETURNS[1], Some("g"))]);
        let erased: Vec<Call> = erased.iter().map(|&callee| (0, callee)).collect();
        function(&mut info, "gone", 50, 0, &erased);
        function(&mut info, "caller", 60, CODE, &[(CODE + 8, Some("gone"))]);
        let folded = ["f", "g", "h"].map(|name| (name, SHARED, 0x40));
        let callers = [("caller", CODE, 0x40), ("kept", CALLERS, 0x40), ("gone", CALLERS, 0x40)];
        let kept = Bench::new().kept(&elf(&info.sections(), &[&folded[..], &callers].concat()));
        assert_eq!(stack(&kept, CALLERS, &[CODE + 8]), some(Certainty::Exact, &["gone"]));
        RETURNS.map(|address| stack(&kept, SHARED, &[address, CODE + 8]))
    };
    let all = || some(Certainty::Ambiguous, &["f", "g", "h"]);
    let h = || some(Certainty::Exact, &["h"]);
    assert_eq!(made(GCC, &[Some("h"), Some("h")]), [h(), h()]);
    assert_eq!(made(GCC, &[Some("h"), None]), [all(), all()]);
    assert_eq!(made(GCC, &[Some("h")]), [all(), all()]);
    // Each of the two may be either.
    assert_eq!(made(GCC, &[Some("h"), Some("g")]), [all(), all()]);
    // clang leaves calls out.
    assert_eq!(made("clang version 22", &[Some("h"), Some("h")]), [all(), all()]);
}

/// LLVM leaves a jump, and no description, at the end of its unit's code or elsewhere: its unit merges functions then.
#[test]
fn what_llvm_made_jump_shows_that_its_unit_merges() {
    const FAR: u64 = GOES_ON + 0x100;
    let made_with = |symbols: &[Symbol<'static>], code: &[(u64, Vec<u8>)], named: bool| {
        let mut first = unit("clang version 22", gimli::DW_LANG_C11);
        let mut second = unit("clang version 22", gimli::DW_LANG_C11);
        function(&mut first, "f", 10, SHARED, &[]);
        function(&mut first, "caller", 40, CODE, &[(CODE + 8, Some("f"))]);
        function(&mut second, "g", 20, SHARED, &[]);
        function(&mut second, "__stack_chk_fail", 30, FAR + 0x100, &[]);
        let own = [
            Symbol::File("unit.c"),
            Symbol::Local(("own", CODE + 0x80, 0x10)),
            Symbol::Global(("caller", CODE, 0x40)),
            Symbol::Global(("__stack_chk_fail", FAR + 0x100, 0x40)),
        ];
        let shared = [Symbol::Global(("f", SHARED, 0x40)), Symbol::Global(("g", SHARED, 0x40))];
        let shared = if named { &shared[..] } else { &[] };
        let all = [&own[..], shared, symbols].concat();
        let mut program = elf_with(CODE, &two_units(&mut first, &mut second), &all);
        for (address, code) in code {
            program = with_code(program, *address, code);
        }
        called(&Bench::new().kept(&program))
    };
    let made = |symbols: &[Symbol<'static>], code: &[(u64, Vec<u8>)]| made_with(symbols, code, true);
    let wrap = |len| Symbol::Global(("wrap", GOES_ON, len));
    let jump = |from: u64, to_address: u64| (from, to(0xe9, from, to_address));
    let all = some(Certainty::Ambiguous, &["f", "g", "wrap"]);
    let exact = some(Certainty::Exact, &["f"]);
    assert_eq!(made(&[wrap(5)], &[]), exact);
    assert_eq!(made(&[wrap(5)], &[jump(GOES_ON, SHARED)]), all);
    // Over other code that only jumps; into the middle of a function.
    assert_eq!(made(&[wrap(5)], &[jump(GOES_ON, FAR), jump(FAR, SHARED)]), all);
    assert_eq!(made(&[wrap(5)], &[jump(GOES_ON, SHARED + 1)]), exact);
    // With a guard of the stack that is described, and what comes before it.
    let guarded = [to(0xe8, GOES_ON, FAR + 0x100), to(0xe9, GOES_ON + 5, SHARED), vec![0xc3]].concat();
    assert_eq!(made(&[wrap(11)], &[(GOES_ON, guarded)]), all);
    assert_eq!(made(&[wrap(200)], &[jump(GOES_ON + 190, SHARED)]), all);
    // It certainly belongs to another file, so it is none of the functions there. This does not hold after the last file symbol, where
    // symbols that became local are.
    let of_file = [Symbol::File("asm.s"), Symbol::Local(("wrap", GOES_ON, 5))];
    assert_eq!(made(&of_file, &[jump(GOES_ON, SHARED)]), all);
    let of_file = [&of_file[..], &[Symbol::File("last.s")]].concat();
    assert_eq!(made(&of_file, &[jump(GOES_ON, SHARED)]), some(Certainty::Ambiguous, &["f", "g"]));
    // Where types are checked, a jump has the name of its own body; of such a table a label has another.
    let bodies = ["f.cfi", "g.cfi"].map(|name| Symbol::Global((name, SHARED, 0x40)));
    let label = Symbol::Label(("__typeid_x_global_addr", GOES_ON, 0));
    let table = [bodies[0], bodies[1], Symbol::Global(("f", GOES_ON, 5)), label];
    let body = some(Certainty::Exact, &["f.cfi"]);
    assert_eq!(made_with(&table, &[jump(GOES_ON, SHARED)], false), body);
    let other = [bodies[0], bodies[1], Symbol::Global(("wrap", GOES_ON, 5))];
    let all = some(Certainty::Ambiguous, &["f.cfi", "g.cfi", "wrap"]);
    assert_eq!(made_with(&other, &[jump(GOES_ON, SHARED)], false), all);
}

/// If one unit of LLVM shows that it merges functions, another may have merged functions without a trace: its recorded calls may mean
/// those.
#[test]
fn a_unit_may_have_merged_silently_where_another_shows_that_it_merges() {
    let made = |producers: [&'static str; 2], code: &[u8]| {
        let mut first = unit(producers[0], gimli::DW_LANG_C11);
        let mut second = unit(producers[1], gimli::DW_LANG_C11);
        function(&mut first, "f", 10, SHARED, &[]);
        function(&mut first, "g", 20, SHARED, &[]);
        function(&mut first, "caller", 40, CODE, &[(CODE + 8, Some("f"))]);
        function(&mut second, "kept", 10, CALLERS, &[]);
        let symbols = [
            ("caller", CODE, 0x40),
            ("f", SHARED, 0x40),
            ("g", SHARED, 0x40),
            ("kept", CALLERS, 0x40),
            ("wrap", GOES_ON, 5),
        ];
        let program = elf(&two_units(&mut first, &mut second), &symbols);
        called(&Bench::new().kept(&with_code(program, GOES_ON, code)))
    };
    let jump = to(0xe9, GOES_ON, CALLERS);
    let (clang, exact) = ("clang version 22", some(Certainty::Exact, &["f"]));
    assert_eq!(made([clang, clang], &jump), some(Certainty::Ambiguous, &["f", "g"]));
    assert_eq!(made([clang, clang], &[]), exact);
    // gcc's units record their callees, whatever LLVM's do; a jump that gcc made says nothing about LLVM's units.
    assert_eq!(made([GCC, clang], &jump), exact);
    assert_eq!(made([clang, GCC], &jump), exact);
}

/// Such a jump may be folded with a described function that does the same. A function that calls another with an argument of its own is not
/// such a jump: else every caller of a common function would be one.
#[test]
fn a_function_that_calls_with_arguments_of_its_own_is_no_jump() {
    let made = |is_described: bool, code: &[u8]| {
        let mut info = unit("clang version 22", gimli::DW_LANG_C11);
        function(&mut info, "f", 10, SHARED, &[]);
        function(&mut info, "g", 20, SHARED, &[]);
        function(&mut info, "caller", 40, CODE, &[(CODE + 8, Some("f"))]);
        let mut functions = vec![("caller", CODE), ("f", SHARED), ("g", SHARED)];
        if is_described {
            function(&mut info, "described", 50, GOES_ON, &[]);
            functions.push(("described", GOES_ON));
        }
        let other = ("other", GOES_ON, 0x40);
        let symbols: Vec<_> =
            functions.into_iter().map(|(name, at)| (name, at, 0x40)).chain([other]).collect();
        called(&Bench::new().kept(&with_code(elf(&info.sections(), &symbols), GOES_ON, code)))
    };
    let jump = to(0xe9, GOES_ON, SHARED);
    // xor %esi,%esi; and after another call: mov %rax,%rdi; a call back with a function: lea mem(%rip),%rdi
    let own = [&[0x31, 0xf6][..], &to(0xe9, GOES_ON + 2, SHARED)].concat();
    let after = [to(0xe8, GOES_ON, CODE), vec![0x48, 0x89, 0xc7], to(0xe9, GOES_ON + 8, SHARED)].concat();
    let back = [&[0x48, 0x8d, 0x3d, 0, 1, 0, 0][..], &to(0xe9, GOES_ON + 7, SHARED)].concat();
    // Code that -finstrument-functions adds, with the address of the function: lea; call; and its frame.
    let enter = [&[0x50, 0x48, 0x8d, 0x3d, 0xf8, 0xff, 0xff, 0xff][..], &to(0xe8, GOES_ON + 8, CODE + 0x80)];
    let profiled = [&enter.concat()[..], &[0x58], &to(0xe9, GOES_ON + 14, SHARED)].concat();
    for is_described in [true, false] {
        for code in [&jump, &profiled] {
            let all = some(Certainty::Ambiguous, &["f", "g", "other"]);
            assert_eq!(made(is_described, code), all, "{is_described} {code:x?}");
        }
        for code in [&own, &after, &back] {
            let exact = some(Certainty::Exact, &["f"]);
            assert_eq!(made(is_described, code), exact, "{is_described} {code:x?}");
        }
    }
}
