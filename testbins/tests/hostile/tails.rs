//! Programs in which a function ends in a jump to another, and the compiler's record of that is incomplete: no answer is more certain than
//! machine code and records together show.

use foldsym_lookup::{Certainty, ImageAddr, Resolved, ReturnAddr, StackAddr, SymbolFile};
use gimli::{
    DW_AT_call_all_calls, DW_AT_call_origin, DW_AT_call_return_pc, DW_AT_call_tail_call, DW_AT_declaration,
    DW_AT_external, DW_AT_high_pc, DW_AT_low_pc, DW_AT_name, DW_AT_producer, DW_TAG_call_site,
    DW_TAG_subprogram,
};

use crate::build::{CODE, Info, STUBS, Symbol, Value, elf_with};
use crate::harness::Bench;
use Value::{Address, Flag, Label, Number, Text};

/// `caller` is here and calls `ends`, and that jumps to `f` or `g`, which share code.
const ENDS: u64 = CODE + 0x80;
/// The range of a two-byte jump.
const NEAR: u64 = CODE + 0x60;
const SHARED: u64 = CODE + 0x100;
const BACK: u64 = CODE + 0x10;
/// A stub of the linker's.
const STUB: u64 = CODE + 0x800;

/// Bytes of a jump of x86-64, or of a call, at an address.
fn to(opcode: u8, at: u64, target: u64) -> (u64, Vec<u8>) {
    let by = target.wrapping_sub(at + 5) as u32;
    (at, [&[opcode][..], &by.to_le_bytes()].concat())
}

const CALL: u8 = 0xe8;
const JUMP: u8 = 0xe9;

/// The certainty for [`SHARED`] below `caller`, in a program where `ends` has these recorded tail calls and this code.
fn certainty(tails: &[&str], code: &[(u64, Vec<u8>)], machine: u16, producer: &'static str) -> Certainty {
    certainty_with(&[], tails, code, machine, producer)
}

/// The same with symbols in [`STUBS`].
fn certainty_with(
    stubs: &[Symbol<'_>],
    tails: &[&str],
    code: &[(u64, Vec<u8>)],
    machine: u16,
    producer: &'static str,
) -> Certainty {
    let mut info = Info::new(5, &[(DW_AT_producer, Text(producer))]);
    let mut function = |name: &'static str, start: u64, calls: &[Vec<(gimli::DwAt, Value<'_>)>]| {
        let attributes = [
            (DW_AT_name, Text(name)),
            (DW_AT_external, Flag),
            (DW_AT_low_pc, Address(start)),
            (DW_AT_high_pc, Number(0x20)),
            (DW_AT_call_all_calls, Flag),
        ];
        info.label(name).open(DW_TAG_subprogram, &attributes);
        for call in calls {
            info.open(DW_TAG_call_site, call).close();
        }
        info.close();
    };
    function("near", NEAR, &[]);
    function("f", SHARED, &[]);
    function("g", SHARED, &[]);
    let ends = |name: &&str| {
        let label = ["f", "g", "apply", "memcpy", "near"].into_iter().find(|known| known == name).unwrap();
        vec![(DW_AT_call_tail_call, Flag), (DW_AT_call_origin, Label(label))]
    };
    function("ends", ENDS, &tails.iter().map(ends).collect::<Vec<_>>());
    function(
        "caller",
        CODE,
        &[vec![(DW_AT_call_return_pc, Address(BACK)), (DW_AT_call_origin, Label("ends"))]],
    );
    for name in ["apply", "memcpy"] {
        let attributes = [(DW_AT_name, Text(name)), (DW_AT_external, Flag), (DW_AT_declaration, Flag)];
        info.label(name).open(DW_TAG_subprogram, &attributes).close();
    }
    let symbols = [("caller", CODE, 0x20), ("ends", ENDS, 0x20), ("f", SHARED, 0x20), ("g", SHARED, 0x20)];
    let mut sections = info.sections();
    sections.push((STUBS.0, vec![0x90; 0x20]));
    let symbols = [&symbols.map(Symbol::Global)[..], stubs].concat();
    let mut program = elf_with(CODE, &sections, &symbols);
    // The ELF header is 64 bytes long, and the code follows it.
    program[18..20].copy_from_slice(&machine.to_le_bytes());
    for (at, bytes) in code {
        let from = 64 + (at - CODE) as usize;
        program[from..from + bytes.len()].copy_from_slice(bytes);
    }
    let kept = Bench::new().kept(&program);
    let file = SymbolFile::open(&kept.bytes).unwrap();
    let stack = [StackAddr::Exact(ImageAddr(SHARED)), StackAddr::Return(ReturnAddr(BACK))];
    let mut resolved = [Resolved::NONE; 2];
    file.resolve_stack(&stack, &mut resolved).unwrap();
    assert_eq!(
        resolved[0].candidate_count(),
        if resolved[0].certainty == Some(Certainty::Exact) { 1 } else { 2 }
    );
    resolved[0].certainty.unwrap()
}

const EM_X86_64: u16 = 62;
const EM_LOONGARCH: u16 = 258;
const CLANG: &str = "clang version 22";
const GNU: &str = "GNU C17 14.2.0 -O2";

fn on_x86(tails: &[&str], code: &[(u64, Vec<u8>)]) -> Certainty {
    let call = to(CALL, BACK - 5, ENDS);
    certainty(tails, &[&[call][..], code].concat(), EM_X86_64, CLANG)
}

/// clang records no call of a function that it has no declaration of.
#[test]
fn one_jump_more_than_calls_of_an_address_may_be_another_functions() {
    let jump = to(JUMP, ENDS + 8, SHARED);
    let other = to(JUMP, ENDS + 0x10, SHARED);
    assert_eq!(on_x86(&["f"], std::slice::from_ref(&jump)), Certainty::Exact);
    assert_eq!(on_x86(&["f"], &[jump.clone(), other.clone()]), Certainty::Ambiguous);
    assert_eq!(on_x86(&["f", "f"], &[jump, other]), Certainty::Exact);
}

#[test]
fn what_another_module_is_given_it_may_jump_to() {
    let jumps = [to(JUMP, ENDS + 8, SHARED), to(JUMP, ENDS + 0x10, STUB)];
    assert_eq!(on_x86(&["f", "apply"], &jumps), Certainty::Ambiguous);
    assert_eq!(on_x86(&["f", "memcpy"], &jumps), Certainty::Exact);
    // No compiler recorded this one, and a second stub is not that of the first name.
    assert_eq!(on_x86(&["f"], &jumps), Certainty::Ambiguous);
    let second = to(JUMP, ENDS + 0x18, STUB + 0x10);
    assert_eq!(on_x86(&["f", "memcpy", "memcpy"], &[&jumps[..], &[second]].concat()), Certainty::Ambiguous);
}

/// mold gives stubs of its own names.
#[test]
fn a_stub_may_have_a_symbol() {
    let stub = [Symbol::Stub(("stub$plt", STUBS.1, 0x10))];
    let code = [to(CALL, BACK - 5, ENDS), to(JUMP, ENDS + 8, SHARED), to(JUMP, ENDS + 0x10, STUBS.1)];
    let of = |tails: &[&str]| certainty_with(&stub, tails, &code, EM_X86_64, CLANG);
    assert_eq!(of(&["f", "memcpy"]), Certainty::Exact);
    assert_eq!(of(&["f", "apply"]), Certainty::Ambiguous);
    assert_eq!(of(&["f"]), Certainty::Ambiguous);
}

/// clang does not record a jump through a table without a base, and no compiler records what inline assembly does.
#[test]
fn a_jump_that_nobody_recorded_may_go_anywhere() {
    // The instructions before the jump to `f`.
    let with = |code: &[u8]| {
        let filled = [code, &[0x90; 0x20][code.len()..]].concat();
        on_x86(&["f"], &[(ENDS, filled), to(JUMP, ENDS + 0x19, SHARED)])
    };
    // lea; movslq (%rcx,%rax,4),%rax; add %rcx,%rax; jmp *%rax
    let switch = [0x48, 0x8d, 0x0d, 0, 1, 0, 0, 0x48, 0x63, 0x04, 0x81, 0x48, 0x01, 0xc8, 0xff, 0xe0];
    // A call backwards before another instruction, whose bytes look like a jump; bytes like those of one to `f`.
    for code in [&[][..], &switch, &[0xe8, 0, 0, 0, 0xff, 0x66, 0x90], &[0xb8, 0xe3, 0x7d, 0, 0]] {
        assert_eq!(with(code), Certainty::Exact, "{code:x?}");
    }
    // jmp *%rax; jmp *table(,%rax,8), of a table that is not in the program; jmp *table(%rip); jrcxz to `f`
    for code in [
        &[0xff, 0xe0][..],
        &[0xff, 0x24, 0xc5, 0, 0, 0x40, 0],
        &[0xff, 0x25, 0, 0, 0, 0],
        &[0xe3, 0x7e],
        // No instruction, and what looks like a jump.
        &[0x06, 0xff, 0xe0],
    ] {
        assert_eq!(with(code), Certainty::Ambiguous, "{code:x?}");
    }
}

/// `--wrap` and its like: the record names one function, and the code calls another.
#[test]
fn a_call_that_goes_elsewhere_calls_nobody_that_was_recorded() {
    let jump = to(JUMP, ENDS + 8, SHARED);
    let call = |target: u64| certainty(&["f"], &[to(CALL, BACK - 5, target), jump.clone()], EM_X86_64, CLANG);
    assert_eq!(call(ENDS), Certainty::Exact);
    assert_eq!(call(CODE + 0x40), Certainty::Ambiguous);
}

/// On a machine whose code is not decoded only the records are left, and a linker may have redirected each call, whatever the compiler
/// promises.
#[test]
fn a_promise_counts_only_beside_code() {
    for producer in [CLANG, GNU] {
        assert_eq!(certainty(&["f"], &[], EM_LOONGARCH, producer), Certainty::Ambiguous);
    }
    let code = [to(CALL, BACK - 5, ENDS), to(JUMP, ENDS + 8, SHARED)];
    assert_eq!(certainty(&["f"], &code, EM_X86_64, GNU), Certainty::Exact);
}

/// clang does not record the call of a function that it knows only by name, so the code shows more jumps through stubs than there are
/// names. A short jump to a function that is called directly is not a jump through a stub.
#[test]
fn a_short_jump_needs_no_stub() {
    let to_f = to(JUMP, ENDS + 8, SHARED);
    let far = to(JUMP, ENDS + 0x10, STUB);
    let at = ENDS + 0x18;
    let short = (at, vec![0xeb, NEAR.wrapping_sub(at + 2) as u8]);
    let jumps = [to_f.clone(), short];
    assert_eq!(on_x86(&["f", "near"], &jumps), Certainty::Exact);
    assert_eq!(
        on_x86(&["f", "near"], &[&jumps[..], std::slice::from_ref(&far)].concat()),
        Certainty::Ambiguous
    );
    // A function to which no jump leads may be called through the stub.
    assert_eq!(on_x86(&["f", "near"], &[to_f, far]), Certainty::Exact);
}

/// The recorded name may be one that the linker replaced by another function (`--wrap`).
#[test]
fn a_jump_that_nobody_recorded_may_be_that_of_a_name() {
    let jumps = [to(JUMP, ENDS + 8, SHARED), to(JUMP, ENDS + 0x10, NEAR)];
    assert_eq!(on_x86(&["f", "memcpy"], &jumps), Certainty::Exact);
    let stub = to(JUMP, ENDS + 0x18, STUB);
    assert_eq!(on_x86(&["f", "memcpy"], &[jumps[0].clone(), stub.clone()]), Certainty::Exact);
    assert_eq!(on_x86(&["f", "memcpy"], &[&jumps[..], &[stub]].concat()), Certainty::Ambiguous);
}
