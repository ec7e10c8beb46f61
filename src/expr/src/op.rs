//! Decodes an expression, one operation at a time (DWARF 5 7.7.1, and the heterogeneous extensions).
//!
//! The extensions have had three sets of codes. The third set uses the prefix `DW_OP_LLVM_user`, so it conflicts with no other code.
//! The first set uses codes that other producers use as well. It is decoded only in a unit whose producer declares it by
//! `DW_AT_LLVM_augmentation`. The second set is not decoded, since its codes are uncertain.

use crate::bytes::Bytes;
use crate::problem::Problem;
use crate::settings::{Dialect, Settings};
use crate::value::{Binary, Unary};

/// A debugging information entry that an operation refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DieRef {
    /// An offset from the unit's header.
    Unit(u64),
    /// An offset in `.debug_info`.
    Section(u64),
}

/// One operation with its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op<'e> {
    Nop,
    Address(u64),
    AddressIndex(u64),
    ConstantIndex(u64),
    Constant(u64),
    Pick(u8),
    Drop,
    Swap,
    Rot,
    Deref { size: u8, space: bool, ty: Option<u64> },
    Unary(Unary),
    Binary(Binary),
    PlusConstant(u64),
    Branch(i64),
    Skip(i64),
    Register(u64),
    BaseRegister { register: u64, offset: i64 },
    RegisterValue { register: u64, ty: u64 },
    FrameBase(i64),
    FrameCfa,
    Object,
    Tls,
    Call(DieRef),
    Piece { bits: u64, offset: u64 },
    ImplicitValue(&'e [u8]),
    StackValue,
    ImplicitPointer { die: u64, offset: i64 },
    EntryValue(&'e [u8]),
    ParameterRef(u64),
    TypedConstant { ty: u64, bytes: &'e [u8] },
    Convert(u64),
    Reinterpret(u64),
    FormAspaceAddress,
    PushLane,
    Offset,
    OffsetConstant(u64),
    BitOffset,
    CallFrameEntryRegister(u64),
    Undefined,
    AspaceBaseRegister { register: u64, offset: i64 },
    AspaceImplicitPointer { die: u64, offset: i64 },
    PieceEnd,
    Extend { bits: u64, count: u64 },
    SelectBitPiece { bits: u64, count: u64 },
}

/// Reads the next operation.
///
/// # Errors
/// An unknown code, one without a value, or an operand that is cut off.
pub(crate) fn next<'e>(bytes: &mut Bytes<'e>, settings: &Settings) -> Result<Op<'e>, Problem> {
    let at = bytes.position();
    let code = bytes.u8().ok_or(Problem::Truncated)?;
    let opaque = |op: u16| Problem::Opaque { op, offset: u32::try_from(at).unwrap_or(u32::MAX) };
    // The first set is tried before all other codes, since it has its own operation at 0xe9.
    if settings.dialect == Dialect::First
        && let Some(op) = first_generation(code, bytes, settings)
    {
        return op.ok_or(Problem::Truncated);
    }
    if code == 0xe9 {
        let number = bytes.uleb().ok_or(Problem::Truncated)?;
        // The number has up to 64 bits, but the error has only 8 bits for it. Larger numbers show as 0xff.
        let code = u16::try_from(number).ok().filter(|number| *number < 0x100).unwrap_or(0xff) | 0xe900;
        return user(number, bytes).ok_or(opaque(code))?.ok_or(Problem::Truncated);
    }
    // `DW_OP_WASM_location`, `DW_OP_GNU_uninit` and `DW_OP_GNU_variable_value`: the codes are known, so the expression is not
    // opaque.
    if matches!(code, 0xed | 0xf0 | 0xfd) {
        return Err(Problem::Unsupported(u16::from(code)));
    }
    let op = match code {
        0x03..=0x19 => constants(code, bytes, settings),
        0x1a..=0x2f => plain(code, bytes),
        0x30..=0x4f => Some(Some(Op::Constant(u64::from(code.wrapping_sub(0x30))))),
        0x50..=0x6f => Some(Some(Op::Register(u64::from(code.wrapping_sub(0x50))))),
        0x70..=0x8f => {
            let register = u64::from(code.wrapping_sub(0x70));
            Some(bytes.sleb().map(|offset| Op::BaseRegister { register, offset }))
        }
        _ => others(code, bytes, settings),
    };
    op.ok_or(opaque(u16::from(code)))?.ok_or(Problem::Truncated)
}

/// `None`: no such code; `Some(None)`: an operand is cut off. So in all functions below.
type Found<'e> = Option<Option<Op<'e>>>;

fn constants<'e>(code: u8, bytes: &mut Bytes<'e>, settings: &Settings) -> Found<'e> {
    let unsigned = |value: Option<u64>| Some(value.map(Op::Constant));
    let signed = |value: Option<i64>| Some(value.map(|value| Op::Constant(value.cast_unsigned())));
    match code {
        0x03 => Some(bytes.number(usize::from(settings.address_size)).map(Op::Address)),
        0x06 => Some(Some(Op::Deref { size: settings.address_size, space: false, ty: None })),
        0x08 => unsigned(bytes.number(1)),
        0x09 => signed(bytes.signed(1)),
        0x0a => unsigned(bytes.number(2)),
        0x0b => signed(bytes.signed(2)),
        0x0c => unsigned(bytes.number(4)),
        0x0d => signed(bytes.signed(4)),
        0x0e => unsigned(bytes.number(8)),
        0x0f => signed(bytes.signed(8)),
        0x10 => unsigned(bytes.uleb()),
        0x11 => signed(bytes.sleb()),
        0x12 => Some(Some(Op::Pick(0))),
        0x13 => Some(Some(Op::Drop)),
        0x14 => Some(Some(Op::Pick(1))),
        0x15 => Some(bytes.u8().map(Op::Pick)),
        0x16 => Some(Some(Op::Swap)),
        0x17 => Some(Some(Op::Rot)),
        0x18 => Some(Some(Op::Deref { size: settings.address_size, space: true, ty: None })),
        0x19 => Some(Some(Op::Unary(Unary::Abs))),
        _ => None,
    }
}

fn plain<'e>(code: u8, bytes: &mut Bytes<'e>) -> Found<'e> {
    let op = match code {
        0x1a => Op::Binary(Binary::And),
        0x1b => Op::Binary(Binary::Div),
        0x1c => Op::Binary(Binary::Minus),
        0x1d => Op::Binary(Binary::Mod),
        0x1e => Op::Binary(Binary::Mul),
        0x1f => Op::Unary(Unary::Neg),
        0x20 => Op::Unary(Unary::Not),
        0x21 => Op::Binary(Binary::Or),
        0x22 => Op::Binary(Binary::Plus),
        0x23 => return Some(bytes.uleb().map(Op::PlusConstant)),
        0x24 => Op::Binary(Binary::Shl),
        0x25 => Op::Binary(Binary::Shr),
        0x26 => Op::Binary(Binary::Shra),
        0x27 => Op::Binary(Binary::Xor),
        0x28 => return Some(bytes.signed(2).map(Op::Branch)),
        0x29 => Op::Binary(Binary::Eq),
        0x2a => Op::Binary(Binary::Ge),
        0x2b => Op::Binary(Binary::Gt),
        0x2c => Op::Binary(Binary::Le),
        0x2d => Op::Binary(Binary::Lt),
        0x2e => Op::Binary(Binary::Ne),
        _ => return Some(bytes.signed(2).map(Op::Skip)),
    };
    Some(Some(op))
}

fn others<'e>(code: u8, bytes: &mut Bytes<'e>, settings: &Settings) -> Found<'e> {
    let offset_size = usize::from(settings.offset_size);
    Some(match code {
        0x90 => bytes.uleb().map(Op::Register),
        0x91 => bytes.sleb().map(Op::FrameBase),
        0x92 => register_and_offset(bytes).map(|(register, offset)| Op::BaseRegister { register, offset }),
        // In bits, so that this and `DW_OP_bit_piece` make the same kind of part.
        0x93 => bytes.uleb().and_then(|size| Some(Op::Piece { bits: size.checked_mul(8)?, offset: 0 })),
        0x94 => bytes.u8().map(|size| Op::Deref { size, space: false, ty: None }),
        0x95 => bytes.u8().map(|size| Op::Deref { size, space: true, ty: None }),
        0x96 => Some(Op::Nop),
        0x97 => Some(Op::Object),
        0x98 => bytes.number(2).map(|offset| Op::Call(DieRef::Unit(offset))),
        0x99 => bytes.number(4).map(|offset| Op::Call(DieRef::Unit(offset))),
        0x9a => bytes.number(offset_size).map(|offset| Op::Call(DieRef::Section(offset))),
        // Here and below, the second of two codes is GNU's code for the same operation.
        0x9b | 0xe0 => Some(Op::Tls),
        0x9c => Some(Op::FrameCfa),
        0x9d => bytes.uleb().and_then(|bits| Some(Op::Piece { bits, offset: bytes.uleb()? })),
        0x9e => sized(bytes).map(Op::ImplicitValue),
        0x9f => Some(Op::StackValue),
        // DWARF 2 had addresses where later versions have offsets.
        0xa0 | 0xf2 => {
            let size = if settings.version == 2 { usize::from(settings.address_size) } else { offset_size };
            bytes.number(size).and_then(|die| Some(Op::ImplicitPointer { die, offset: bytes.sleb()? }))
        }
        0xa1 | 0xfb => bytes.uleb().map(Op::AddressIndex),
        0xa2 | 0xfc => bytes.uleb().map(Op::ConstantIndex),
        0xa3 | 0xf3 => sized(bytes).map(Op::EntryValue),
        0xa4 | 0xf4 => bytes.uleb().and_then(|ty| {
            let len = bytes.u8()?;
            Some(Op::TypedConstant { ty, bytes: bytes.take(usize::from(len))? })
        }),
        0xa5 | 0xf5 => {
            bytes.uleb().and_then(|register| Some(Op::RegisterValue { register, ty: bytes.uleb()? }))
        }
        0xa6 | 0xf6 => typed_deref(bytes, false),
        0xa7 => typed_deref(bytes, true),
        0xa8 | 0xf7 => bytes.uleb().map(Op::Convert),
        0xa9 | 0xf9 => bytes.uleb().map(Op::Reinterpret),
        0xfa => bytes.number(4).map(Op::ParameterRef),
        _ => return None,
    })
}

/// The operation that follows `DW_OP_LLVM_user`.
fn user<'e>(number: u64, bytes: &mut Bytes<'e>) -> Found<'e> {
    Some(match number {
        1 => Some(Op::Nop),
        2 => Some(Op::FormAspaceAddress),
        3 => Some(Op::PushLane),
        4 => Some(Op::Offset),
        5 => bytes.uleb().map(Op::OffsetConstant),
        6 => Some(Op::BitOffset),
        7 => bytes.uleb().map(Op::CallFrameEntryRegister),
        8 => Some(Op::Undefined),
        9 => register_and_offset(bytes).map(|(register, offset)| Op::AspaceBaseRegister { register, offset }),
        10 => Some(Op::PieceEnd),
        11 => pair(bytes).map(|(bits, count)| Op::Extend { bits, count }),
        12 => pair(bytes).map(|(bits, count)| Op::SelectBitPiece { bits, count }),
        _ => return None,
    })
}

fn first_generation<'e>(code: u8, bytes: &mut Bytes<'e>, settings: &Settings) -> Found<'e> {
    Some(match code {
        0xe1 => Some(Op::FormAspaceAddress),
        0xe2 => Some(Op::PushLane),
        0xe3 => Some(Op::Offset),
        0xe4 => bytes.uleb().map(Op::OffsetConstant),
        0xe5 => Some(Op::BitOffset),
        0xe6 => bytes.uleb().map(Op::CallFrameEntryRegister),
        0xe7 => Some(Op::Undefined),
        0xe8 => {
            register_and_offset(bytes).map(|(register, offset)| Op::AspaceBaseRegister { register, offset })
        }
        0xe9 => bytes
            .number(usize::from(settings.offset_size))
            .and_then(|die| Some(Op::AspaceImplicitPointer { die, offset: bytes.sleb()? })),
        0xea => Some(Op::PieceEnd),
        0xeb => pair(bytes).map(|(bits, count)| Op::Extend { bits, count }),
        0xec => pair(bytes).map(|(bits, count)| Op::SelectBitPiece { bits, count }),
        _ => return None,
    })
}

fn typed_deref<'e>(bytes: &mut Bytes<'e>, space: bool) -> Option<Op<'e>> {
    let size = bytes.u8()?;
    Some(Op::Deref { size, space, ty: Some(bytes.uleb()?) })
}

fn register_and_offset(bytes: &mut Bytes<'_>) -> Option<(u64, i64)> {
    Some((bytes.uleb()?, bytes.sleb()?))
}

fn pair(bytes: &mut Bytes<'_>) -> Option<(u64, u64)> {
    Some((bytes.uleb()?, bytes.uleb()?))
}

fn sized<'e>(bytes: &mut Bytes<'e>) -> Option<&'e [u8]> {
    let len = usize::try_from(bytes.uleb()?).ok()?;
    bytes.take(len)
}

/// Which set of codes an expression is written in, of a unit that has this `DW_AT_LLVM_augmentation`.
///
/// `None`: the expression stays opaque, since its set is ambiguous, or is the second one.
pub fn dialect(expression: &[u8], augmentation: Option<&[u8]>, settings: &Settings) -> Option<Dialect> {
    let first = |text: &[u8]| text.starts_with(b"[llvm:v0.0") || text.starts_with(b"[amdgpu:v0.0");
    let parses = |dialect| {
        let settings = Settings { dialect, ..*settings };
        let mut bytes = Bytes::new(expression, settings.big_endian);
        let (mut highest, mut told) = (0, false);
        while !bytes.is_empty() {
            let code = expression.get(bytes.position()).copied().unwrap_or(0);
            highest = highest.max(code);
            // Codes up to 0xe8 are only in the first set. 0xeb and 0xec have operands there, which end with the expression; and pieces come
            // before their end.
            told |= matches!(code, 0xe1..=0xe8 | 0xeb | 0xec | 0x93 | 0x9d);
            // Operations are decoded and not evaluated, so no branch repeats one.
            next(&mut bytes, &settings).ok()?;
        }
        Some((highest, told))
    };
    if !augmentation.is_some_and(first) {
        return Some(Dialect::User);
    }
    match (parses(Dialect::User), parses(Dialect::First)) {
        // With that augmentation, codes from 0xf4 on may be the second set's or GNU's.
        (_, Some((highest, _))) | (Some((highest, _)), None) if highest >= 0xf4 => None,
        // The current set knows only 0xe9 of the first set's codes, so an expression that parses has none of the others.
        (Some(_), _) => Some(Dialect::User),
        // The second set has 0xe9 and 0xea for other operations.
        (None, Some((highest, told))) => (told || highest < 0xe9).then_some(Dialect::First),
        (None, None) => None,
    }
}
