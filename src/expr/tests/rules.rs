//! Each rule of evaluation, each reason for having no result, and expressions that were made to hurt.

mod common;

use common::{Known, bytes, run, steps, value};
use foldsym_expr::{
    Buffers, Class, Dialect, Entry, Evaluation, Location, Missing, Problem, Settings, Storage, Type, Value,
    Want, amdgpu, dialect,
};

const USER: u8 = 0xe9;

fn nothing() -> Known<'static> {
    Known::default()
}

#[test]
fn arithmetic_of_generic_numbers() {
    for (code, expected) in [
        // -7 / 2, -7 mod 2 unsigned, 7 - 9, 3 * -1
        (&[0x11, 0x79, 0x32, 0x1b][..], (-3i64).cast_unsigned()),
        (&[0x11, 0x79, 0x32, 0x1d], 1),
        (&[0x37, 0x39, 0x1c], (-2i64).cast_unsigned()),
        (&[0x33, 0x11, 0x7f, 0x1e], (-3i64).cast_unsigned()),
        // shifts: 1 << 63, 1 << 64, -1 >> 1 logical and arithmetic, arithmetic by 200
        (&[0x31, 0x08, 63, 0x24], 1 << 63),
        (&[0x31, 0x08, 64, 0x24], 0),
        (&[0x09, 0xff, 0x31, 0x25], u64::MAX >> 1),
        (&[0x09, 0xff, 0x31, 0x26], u64::MAX),
        (&[0x09, 0xff, 0x08, 200, 0x26], u64::MAX),
        // comparisons are signed: -1 < 1, -1 >= 1
        (&[0x09, 0xff, 0x31, 0x2d], 1),
        (&[0x09, 0xff, 0x31, 0x2a], 0),
        // abs, neg, not, and, or, xor
        (&[0x09, 0xfe, 0x19], 2),
        (&[0x35, 0x1f], (-5i64).cast_unsigned()),
        (&[0x30, 0x20], u64::MAX),
        (&[0x3c, 0x3a, 0x1a], 8),
        (&[0x3c, 0x3a, 0x21], 14),
        (&[0x3c, 0x3a, 0x27], 6),
        // dup, over, pick, swap, rot, drop
        (&[0x35, 0x12, 0x22], 10),
        (&[0x35, 0x37, 0x14, 0x1c], 2),
        (&[0x31, 0x32, 0x33, 0x15, 2], 1),
        (&[0x35, 0x37, 0x16, 0x1c], 2),
        (&[0x31, 0x32, 0x33, 0x17], 2),
        (&[0x31, 0x32, 0x13], 1),
        // bra over a literal, and not
        (&[0x31, 0x32, 0x28, 1, 0, 0x33], 1),
        (&[0x31, 0x30, 0x28, 1, 0, 0x33], 3),
        (&[0x31, 0x2f, 1, 0, 0x35], 1),
    ] {
        assert_eq!(value(code, &nothing()), Ok(expected), "{code:x?}");
    }
}

#[test]
fn addresses_are_as_wide_as_the_program() {
    let settings = Settings { address_size: 4, ..Settings::default() };
    // lit0; lit1; minus; and an address in memory: both wrap at 32 bits.
    assert_eq!(steps(&[0x30, 0x31, 0x1c], &nothing(), settings).last().unwrap(), "= memory 0xffffffff");
    let big = Settings { big_endian: true, ..settings };
    assert_eq!(steps(&[0x03, 1, 2, 3, 4], &nothing(), big).last().unwrap(), "= memory 0x1020304");
}

#[test]
fn conversions_between_numbers_and_places() {
    // breg is a place; plus takes it for a number; the result is a place again.
    let known = nothing().register(7, 0x1000);
    assert_eq!(
        steps(&[0x77, 8, 0x23, 8], &known, Settings::default()),
        ["memory 0x1008", "0x1010", "= memory 0x1010"]
    );
    // A place in another space is not a number, a register is none either.
    for code in [&[0x31, 0x33, USER, 2, 0x23, 8][..], &[0x50, 0x23, 8], &[USER, 8, 0x23, 1]] {
        assert_eq!(run(code, Want::Location, &known), Err(Problem::NotConvertible), "{code:x?}");
    }
    // An empty expression is nowhere, and no number.
    assert_eq!(run(&[], Want::Location, &known), Ok(Entry::Location(Location::start(Storage::Undefined))));
    assert_eq!(run(&[], Want::Value, &known), Err(Problem::StackEmpty));
    assert_eq!(bytes(&[], 1, &known), Err(Problem::Undefined));
    // stack_value does not end an expression.
    assert_eq!(bytes(&[0x08, 0x2a, 0x9f, USER, 5, 1, 0x96], 1, &known), Ok(vec![0]));
}

#[test]
fn typed_numbers() {
    let mut known = nothing().register(0, 0xffff_fff0);
    let ty = |class, size| Type { class, size };
    known.types.insert(0x20, ty(Class::Signed, 4));
    known.types.insert(0x30, ty(Class::Unsigned, 4));
    known.types.insert(0x40, ty(Class::Signed, 8));
    known.types.insert(0x50, ty(Class::Float, 4));
    // regval_type i32; convert i64: the sign is kept; from u32 it is not.
    assert_eq!(value(&[0xa5, 0, 0x20, 0xa8, 0x40], &known), Ok((-16i64).cast_unsigned()));
    assert_eq!(value(&[0xa5, 0, 0x30, 0xa8, 0x40], &known), Ok(0xffff_fff0));
    // -16 as a float, times itself, as an integer
    let code = [0xa5, 0, 0x20, 0xa8, 0x50, 0x12, 0x1e, 0xa8, 0x40];
    assert_eq!(value(&code, &known), Ok(256));
    // const_type of 4 bytes; mixed types do not add up
    assert_eq!(value(&[0xa4, 0x20, 4, 1, 0, 0, 0x80], &known), Ok(0x8000_0001));
    assert_eq!(value(&[0xa5, 0, 0x20, 0x31, 0x22], &known), Err(Problem::TypeMismatch));
    assert_eq!(value(&[0xa4, 0x20, 2, 1, 0], &known), Err(Problem::BadSize(2)));
    assert_eq!(value(&[0xa5, 0, 0x21], &known), Err(Missing::BaseType(0x21).into()));
    assert_eq!(Type::of_encoding(4, 16), None);
    assert_eq!(Type::of_encoding(8, 1), Some(ty(Class::Unsigned, 1)));
    // Floats that do not fit, and what is not a number.
    let f64 = |x: f64| Value::new(ty(Class::Float, 8), x.to_bits());
    assert_eq!(f64(1e30).convert(ty(Class::Signed, 4)).signed(), Some(i64::from(i32::MAX)));
    assert_eq!(f64(-1e30).convert(ty(Class::Signed, 4)).signed(), Some(i64::from(i32::MIN)));
    assert_eq!(f64(-3.0).convert(ty(Class::Unsigned, 8)).bits(), 0);
    assert_eq!(f64(f64::NAN).convert(ty(Class::Signed, 8)).bits(), 0);
}

#[test]
fn what_is_missing_has_its_reason() {
    for (code, missing) in [
        (&[0x70, 0][..], Missing::Register(0)),
        (&[0x31, 0x06], Missing::Memory { space: 0, address: 1 }),
        (&[0x33, 0x31, 0x18], Missing::Memory { space: 3, address: 1 }),
        (&[USER, 3], Missing::Lane),
        (&[0x91, 0], Missing::FrameBase),
        (&[0x9c], Missing::FrameCfa),
        (&[0x97], Missing::Object),
        (&[0x31, 0x9b], Missing::Tls),
        (&[0xa3, 1, 0x50], Missing::EntryValue),
        (&[USER, 7, 5], Missing::EntryRegister(5)),
        (&[0xfa, 1, 0, 0, 0], Missing::Parameter(1)),
        (&[0xa1, 7], Missing::AddressIndex(7)),
        (&[0xa2, 8], Missing::AddressIndex(8)),
        (&[0x98, 1, 2], Missing::Procedure(0x201)),
    ] {
        let code = [code, &[0x96]].concat();
        assert_eq!(run(&code, Want::Location, &nothing()), Err(Problem::Missing(missing)), "{missing}");
    }
}

#[test]
fn what_is_wrong_is_told_apart() {
    for (code, problem) in [
        (&[0x03, 1, 2][..], Problem::Truncated),
        (&[0x10, 0x80], Problem::Truncated),
        (&[0x9e, 4, 1], Problem::Truncated),
        (&[0x93, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f], Problem::Truncated),
        (&[0x13], Problem::StackEmpty),
        (&[0x31, 0x17], Problem::StackEmpty),
        (&[0x31, 0x30, 0x1b], Problem::DivisionByZero),
        (&[0x31, 0x30, 0x1d], Problem::DivisionByZero),
        (&[0x2f, 0, 0x80], Problem::BadBranch),
        (&[0x2f, 1, 0], Problem::BadBranch),
        (&[0x31, 0x94, 9], Problem::BadSize(9)),
        (&[0x31, 0x94, 0], Problem::BadSize(0)),
        (&[0xf0], Problem::Unsupported(0xf0)),
        (&[0xfd, 0, 0, 0, 0], Problem::Unsupported(0xfd)),
        (&[0x96, 0x02], Problem::Opaque { op: 0x02, offset: 1 }),
        (&[0x96, 0xff], Problem::Opaque { op: 0xff, offset: 1 }),
        (&[USER, 0], Problem::Opaque { op: 0xe900, offset: 0 }),
        (&[USER, 13, 0], Problem::Opaque { op: 0xe90d, offset: 0 }),
        (&[USER, 0x80, 0x80, 1], Problem::Opaque { op: 0xe9ff, offset: 0 }),
        (&[USER], Problem::Truncated),
        (&[0x31, USER, 10], Problem::NotConvertible),
        (&[0x93, 4, 0x9f], Problem::Incomplete),
        (&[0x50, USER, 11, 0, 4], Problem::BadSize(0)),
        (&[0x50, USER, 11, 4, 0], Problem::BadSize(0)),
        (&[0x50, 0x51, 0x31, USER, 12, 8, 65], Problem::BadSize(65)),
        (&[0x9e, 2, 1, 2, USER, 5, 2], Problem::OutOfStorage),
        (&[0x50, 0x11, 0x7f, USER, 4], Problem::OutOfStorage),
    ] {
        assert_eq!(run(code, Want::Location, &nothing()), Err(problem), "{code:x?}");
    }
    // A size that is checked once the register's is known, when the location is made and when it is read.
    let known = nothing().register(0, 1);
    assert_eq!(run(&[0x50, USER, 5, 8], Want::Location, &known), Err(Problem::OutOfStorage));
    assert_eq!(bytes(&[0x50, USER, 5, 4], 8, &known), Err(Problem::OutOfStorage));
}

#[test]
fn composites_of_every_making() {
    let known = nothing().register(0, 0x1111).register(1, 0x2222);
    // extend: three times the low 16 bits of reg0
    assert_eq!(bytes(&[0x50, USER, 11, 16, 3], 6, &known), Ok(vec![0x11; 6]));
    // select: bits 0b0110 of the mask take reg1's bytes 1 and 2
    let code = [0x50, 0x51, 0x36, USER, 12, 8, 4];
    assert_eq!(bytes(&code, 4, &known), Ok(vec![0x11, 0x22, 0, 0]));
    // piece_end makes it whole, offset moves in it, and it can be a part itself
    let code = [0x50, 0x93, 2, 0x51, 0x93, 2, USER, 10, USER, 5, 1, 0x93, 3];
    assert_eq!(bytes(&code, 3, &known), Ok(vec![0x11, 0x22, 0x22]));
    // beyond its end it is undefined
    assert_eq!(bytes(&code, 4, &known), Err(Problem::Undefined));
    // A duplicate of an unfinished composite goes its own way.
    let code = [0x50, 0x93, 1, 0x12, 0x51, 0x93, 1, USER, 10, 0x16, USER, 10];
    assert_eq!(steps(&code, &known, Settings::default()).last().unwrap(), "= [1 of reg0]");
    // deref gathers bytes across parts: 1 byte of each
    let code = [0x50, 0x93, 1, 0x51, 0x93, 1, USER, 10, 0x94, 2];
    assert_eq!(value(&code, &known), Ok(0x2211));
    // Bits: 4 of reg0 from bit 4, 12 of reg1.
    let code = [0x50, 0x9d, 4, 4, 0x51, 0x9d, 12, 0];
    assert_eq!(bytes(&code, 2, &known), Ok(vec![0x21, 0x22]));
}

#[test]
fn calls_share_the_stack() {
    let mut known = nothing().register(3, 0x40);
    // double: dup; plus
    known.procedures.insert(0x100, &[0x12, 0x22]);
    // lit5; call2 double; call4 double
    assert_eq!(value(&[0x35, 0x98, 0, 1, 0x99, 0, 1, 0, 0], &known), Ok(20));
    // A composite that is being built is not completed by the end of a call.
    known.procedures.insert(0x200, &[0x53, 0x93, 2]);
    let all = steps(&[0x98, 0, 2, 0x98, 0, 2], &known, Settings::default());
    assert_eq!(all.last().unwrap(), "= [2 of reg3, 2 of reg3]");
}

#[test]
fn an_expression_that_loops() {
    // skip -3; and one that grows the stack; and a call of itself
    assert_eq!(run(&[0x2f, 0xfd, 0xff], Want::Value, &nothing()), Err(Problem::TooManySteps));
    assert_eq!(run(&[0x31, 0x2f, 0xfc, 0xff], Want::Value, &nothing()), Err(Problem::StackFull));
    let mut known = nothing();
    known.procedures.insert(1, &[0x98, 1, 0]);
    assert_eq!(run(&[0x98, 1, 0], Want::Value, &known), Err(Problem::TooDeep));
    // A procedure that is called last of all, again and again, needs room as well: returns are not dropped early.
    known.procedures.insert(2, &[0x96, 0x98, 2, 0]);
    assert_eq!(run(&[0x98, 2, 0], Want::Value, &known), Err(Problem::TooDeep));
    // A composite that grows by a part each time around.
    assert_eq!(run(&[0x93, 1, 0x2f, 0xfb, 0xff], Want::Location, &nothing()), Err(Problem::TooManyParts));
}

#[test]
fn nested_composites_end() {
    // Composites of composites as deep as there are nodes, 2^200 bytes if they were written out.
    let code: Vec<u8> = std::iter::once(0x50).chain((0..120).flat_map(|_| [USER, 11, 8, 2])).collect();
    let known = nothing().register(0, 7);
    assert_eq!(bytes(&code, 2, &known), Ok(vec![7, 7]));
    let deep: Vec<u8> = std::iter::once(0x50).chain((0..200).flat_map(|_| [USER, 11, 8, 2])).collect();
    assert_eq!(run(&deep, Want::Location, &known), Err(Problem::TooManyParts));
}

#[test]
fn no_bytes_make_it_panic() {
    // Every expression of 3 bytes with a few continuations, and pseudo-random longer ones, in both dialects.
    let known = nothing().register(0, 1).memory(0, 0, &[1; 64]);
    let mut seed = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = move || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed
    };
    let mut ran = 0u32;
    for round in 0..60_000u32 {
        let len = 1 + (random() % 24) as usize;
        let code: Vec<u8> = (0..len)
            .map(|_| match random() % 4 {
                0 => 0x30 + (random() % 32) as u8,
                1 => USER,
                _ => random() as u8,
            })
            .collect();
        let dialect = if round % 2 == 0 { Dialect::User } else { Dialect::First };
        let settings = Settings {
            dialect,
            address_size: (random() % 10) as u8,
            big_endian: round % 3 == 0,
            max_steps: 200,
            ..Settings::default()
        };
        let mut buffers: Buffers<'_, 8, 8, 2> = Buffers::new();
        let mut evaluation = Evaluation::new(&code, Want::Location, settings, buffers.scratch());
        if let Ok(Entry::Location(location)) = evaluation.run(&known) {
            ran += 1;
            let _ = evaluation.read(location, &mut [0; 16], &known);
            let _ = evaluation.leaf(location, random());
        }
    }
    assert!(ran > 2000, "only {ran} of them gave a location");
}

#[test]
fn xderef_as_llvm_writes_it_for_gpus() {
    // fbreg 16; lit5; swap; xderef, with the frame base in SGPR32
    let code = [0x91, 16, 0x35, 0x16, 0x18];
    let mut known = nothing().memory(5, 0x50, &[9, 0, 0, 0, 0, 0, 0, 0]);
    known.base = Some(Location::memory(0, 0x40));
    known.sizes.insert(5, 4);
    let gpu = Settings { xderef_is_place: true, ..Settings::default() };
    assert_eq!(steps(&code, &known, gpu).last().unwrap(), "= memory 5:0x50");
    // By the standard it reads, and what it read is an address in space 0.
    assert_eq!(steps(&code, &known, Settings::default()).last().unwrap(), "= memory 0x9");
    // In the middle of an expression it reads in both.
    assert_eq!(steps(&[0x91, 16, 0x35, 0x16, 0x18, 0x31, 0x22], &known, gpu).last().unwrap(), "= memory 0xa");
    // A part of a composite, as clang 22 writes pointers in two registers: piece 4 of nowhere, then of the lane's memory.
    let code = [0x93, 4, 0x91, 16, 0x35, 0x16, 0x18, 0x93, 4];
    assert_eq!(steps(&code, &known, gpu).last().unwrap(), "= [4 of undefined, 4 of memory 5:0x50]");
    // It is the same as swap; form_aspace_address; deref.
    let long = [0x91, 16, 0x35, 0x16, 0x16, USER, 2, 0x06];
    assert_eq!(steps(&long, &known, Settings::default()).last().unwrap(), "= memory 0x9");
}

#[test]
fn numbers_of_the_architecture() {
    assert_eq!(amdgpu::swizzled(0x20, 3, 64), Some(0x20 * 64 + 12));
    assert_eq!(amdgpu::swizzled(0x22, 3, 64), Some(0x20 * 64 + 14));
    assert_eq!(amdgpu::swizzled(0x22, 64, 64), None);
    assert_eq!((amdgpu::register_size(2560), amdgpu::register_size(1536)), (Some(256), Some(128)));
    assert_eq!((amdgpu::register_size(32), amdgpu::register_size(31)), (Some(4), None));
    assert_eq!((amdgpu::address_size(0), amdgpu::address_size(5)), (8, 4));
    assert_eq!(amdgpu::space_of_class(1), Some(5));
}

#[test]
fn a_register_narrower_than_an_address_is_unsigned() {
    // bregx 64 0: of 4 bytes.
    let known = Known { registers: [(64, vec![0xf0, 0xff, 0xff, 0xff])].into(), ..nothing() };
    let stack = steps(&[0x92, 0xc0, 0, 0x10], &known, Settings::default());
    assert_eq!(stack.last().unwrap(), "= memory 0x100000000");
}

#[test]
fn which_generation_an_expression_is_of() {
    let settings = Settings::default();
    let rocm = Some(&b"[amdgpu:v0.0]"[..]);
    for (code, augmentation, expected) in [
        // Third: whatever the unit says.
        (&[0x50, USER, 5, 4][..], None, Some(Dialect::User)),
        (&[0x50, USER, 5, 4], rocm, Some(Dialect::User)),
        // First: only with the augmentation.
        (&[0x50, 0xe2, 0xe3], rocm, Some(Dialect::First)),
        (&[0x50, 0xe2, 0xe3], Some(b"[other:v1.0]"), Some(Dialect::User)),
        // 0xea alone is the second's as well: piece_end there, push_lane here.
        (&[0x90, 66, 0xea, 0x34, 0x1e], rocm, None),
        // Second, or GNU's: not certain.
        (&[0x50, 0xf7, 0, 0], rocm, None),
        (&[0x50, 0xfd], rocm, None),
        (&[0x50, 0xfe], rocm, None),
    ] {
        assert_eq!(dialect(code, augmentation, &settings), expected, "{code:x?}");
    }
}

#[test]
fn a_value_on_entry_keeps_its_type() {
    let double = Type { class: Class::Float, size: 8 };
    let types = [(7, Type { class: Class::Signed, size: 4 }), (8, double)].into();
    let on_entry = Some(Value::new(double, 1.5f64.to_bits()));
    let known = Known { types, on_entry, ..nothing() };
    // entry_value(reg0); convert to int; stack_value
    let stack = steps(&[0xa3, 1, 0x50, 0xa8, 7, 0x9f], &known, Settings::default());
    assert_eq!(stack[1], "0x1", "{stack:?}");
    // The constant of plus_uconst is a number of the operand's type.
    let stack = steps(&[0xa3, 1, 0x50, 0x23, 2, 0xa8, 7, 0x9f], &known, Settings::default());
    assert_eq!(stack[2], "0x3", "{stack:?}");
}
