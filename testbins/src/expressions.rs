//! The oracle of expressions: every location expression of a program, by our evaluator and by gimli's, in one made-up
//! stopped program: registers, memory and whatever else an expression asks for are numbers made from a seed.
//!
//! gimli evaluates DWARF 5, where locations are not on the stack. What both give is compared piece by piece: sizes,
//! registers, addresses, bytes, values with their types. What one refuses the other must refuse, but for
//! [`Tally::extended`] and [`Tally::empty`].

use foldsym_expr::{
    Buffers, Class, Context, DieRef, Entry, Evaluation, Location, Missing, Problem, Settings, Storage, Type,
    Value, Want,
};
use gimli::{EvaluationResult, Reader as _, Section as _};

use crate::program::{Program, Reader};

type Error = Box<dyn std::error::Error + Send + Sync>;
type SourceUnit<'a> = gimli::Unit<Reader<'a>>;
type Found<'a> = Result<Vec<gimli::Piece<Reader<'a>>>, gimli::Error>;

/// What came out of comparing.
#[derive(Debug, Default)]
pub struct Tally {
    /// Expressions compared: attributes, and entries of location lists.
    pub asked: u64,
    /// Both gave the same.
    pub same: u64,
    /// Both refused.
    pub refused: u64,
    /// Empty expressions: nowhere for us, an error for gimli.
    pub empty: u64,
    /// Base types of more than 8 bytes, which neither evaluator has: gimli cannot go on, and ours says why.
    pub wide: u64,
    /// Legal with locations on the stack and not in DWARF 5.
    pub extended: u64,
    /// Differences, the first few written out.
    pub different: u64,
    pub examples: Vec<String>,
}

impl Tally {
    pub fn line(&self) -> String {
        format!(
            "{} expressions: {} the same, {} refused by both, {} empty, {} of wide types, {} extended, {} different",
            self.asked, self.same, self.refused, self.empty, self.wide, self.extended, self.different
        )
    }
}

/// Compares every expression of a program.
///
/// # Errors
/// DWARF that gimli cannot walk.
pub fn compare(program: &Program, seed: u64) -> Result<Tally, Error> {
    let sections = program.dwarf()?;
    let dwarf = sections.borrow();
    let mut tally = Tally::default();
    let mut headers = dwarf.units();
    while let Some(header) = headers.next()? {
        let unit = dwarf.unit(header)?;
        let seeded = Seeded { dwarf: &dwarf, unit: &unit, seed };
        let mut entries = unit.entries();
        while let Some(entry) = entries.next_dfs()? {
            for attr in entry.attrs() {
                let name = attr.name();
                let what = || format!("unit {:#x} entry {:#x} {name}", header.offset().0, entry.offset().0);
                match attr.value() {
                    gimli::AttributeValue::Exprloc(expression) => seeded.one(expression, &what, &mut tally),
                    value @ (gimli::AttributeValue::LocationListsRef(_)
                    | gimli::AttributeValue::DebugLocListsIndex(_)) => {
                        let Some(mut list) = dwarf.attr_locations(&unit, value)? else { continue };
                        while let Some(place) = list.next()? {
                            seeded.one(place.data, &what, &mut tally);
                        }
                    }
                    _ => {}
                }
            }
        }
    }
    Ok(tally)
}

/// The made-up program, seen from one unit.
struct Seeded<'u, 'a> {
    dwarf: &'u gimli::Dwarf<Reader<'a>>,
    unit: &'u SourceUnit<'a>,
    seed: u64,
}

impl<'a> Seeded<'_, 'a> {
    fn number(&self, kind: u64, of: u64) -> u64 {
        // The finalizer of SplitMix64.
        let mut x = self.seed ^ kind.rotate_left(48) ^ of.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^= x >> 31;
        // Small numbers, zero and negative ones too.
        match x >> 60 {
            0 => x & 0xff,
            1 => 0,
            2 => (x as i8 as i64).cast_unsigned(),
            _ => x,
        }
    }

    fn address(&self, kind: u64, of: u64) -> u64 {
        let size = u32::from(self.unit.encoding().address_size);
        self.number(kind, of) & (u64::MAX >> (64 - 8 * size))
    }

    fn bytes(&self, kind: u64, of: u64, at: u64, bytes: &mut [u8]) {
        for (index, byte) in bytes.iter_mut().enumerate() {
            let at = at.wrapping_add(index as u64);
            *byte = self.number(kind, of ^ (at >> 3).rotate_left(20)).to_le_bytes()[(at & 7) as usize];
        }
    }

    fn text(&self, text: &[u8]) -> u64 {
        self.address(9, text.iter().fold(7, |sum: u64, byte| sum.wrapping_mul(31) ^ u64::from(*byte)))
    }

    fn base_type(&self, offset: usize) -> Option<(gimli::DwAte, u64)> {
        let entry = self.unit.entry(gimli::UnitOffset(offset)).ok()?;
        let Some(gimli::AttributeValue::Encoding(encoding)) = entry.attr_value(gimli::DW_AT_encoding) else {
            return None;
        };
        Some((encoding, entry.attr(gimli::DW_AT_byte_size)?.udata_value()?))
    }

    /// gimli's name for a type: it knows numbers alone, so what is held like a number is taken for one.
    fn gimli_type(&self, offset: usize) -> Option<gimli::ValueType> {
        if offset == 0 {
            return Some(gimli::ValueType::Generic);
        }
        let (encoding, size) = self.base_type(offset)?;
        let encoding = match encoding {
            gimli::DW_ATE_boolean
            | gimli::DW_ATE_address
            | gimli::DW_ATE_unsigned_char
            | gimli::DW_ATE_UTF => gimli::DW_ATE_unsigned,
            gimli::DW_ATE_signed_char => gimli::DW_ATE_signed,
            other => other,
        };
        gimli::ValueType::from_encoding(encoding, size)
    }

    fn gimli_value(&self, ty: usize, bytes: &[u8]) -> Option<gimli::Value> {
        let ty = self.gimli_type(ty)?;
        let mut wide = [0; 8];
        wide[..bytes.len()].copy_from_slice(bytes);
        let little = u64::from_le_bytes(wide);
        let bits = if self.little() { little } else { little.swap_bytes() >> (64 - 8 * bytes.len()) };
        match ty {
            gimli::ValueType::F32 => Some(gimli::Value::F32(f32::from_bits(bits as u32))),
            gimli::ValueType::F64 => Some(gimli::Value::F64(f64::from_bits(bits))),
            ty => gimli::Value::from_u64(ty, bits).ok(),
        }
    }

    fn little(&self) -> bool {
        gimli::Endianity::is_little_endian(self.dwarf.debug_info.reader().endian())
    }

    /// `DW_AT_location` of an entry, where it is an expression.
    fn location(&self, offset: gimli::UnitOffset) -> Option<gimli::Expression<Reader<'a>>> {
        match self.unit.entry(offset).ok()?.attr_value(gimli::DW_AT_location) {
            Some(gimli::AttributeValue::Exprloc(expression)) => Some(expression),
            _ => None,
        }
    }

    /// gimli's result; `None` if it asks for what cannot be given.
    fn gimli(&self, expression: gimli::Expression<Reader<'a>>) -> Option<Found<'a>> {
        let size = usize::from(self.unit.encoding().address_size);
        let mut evaluation = expression.evaluation(self.unit.encoding());
        evaluation.set_object_address(self.address(6, 0));
        let mut result = evaluation.evaluate();
        loop {
            let asked = match result {
                Ok(asked) => asked,
                Err(error) => return Some(Err(error)),
            };
            let generic = gimli::Value::Generic;
            result = match asked {
                EvaluationResult::Complete => return Some(Ok(evaluation.result())),
                EvaluationResult::RequiresMemory { address, size, space, base_type } => {
                    let mut room = [0; 8];
                    let room = room.get_mut(..usize::from(size))?;
                    self.bytes(2, space.unwrap_or(0) << 56, address, room);
                    evaluation.resume_with_memory(self.gimli_value(base_type.0, room)?)
                }
                EvaluationResult::RequiresRegister { register, base_type } => {
                    let size = if base_type.0 == 0 { size } else { self.base_type(base_type.0)?.1 as usize };
                    let mut room = [0; 8];
                    let room = room.get_mut(..size)?;
                    self.bytes(1, u64::from(register.0), 0, room);
                    evaluation.resume_with_register(self.gimli_value(base_type.0, room)?)
                }
                EvaluationResult::RequiresFrameBase => evaluation.resume_with_frame_base(self.address(4, 0)),
                EvaluationResult::RequiresTls(at) => evaluation.resume_with_tls(self.address(7, at)),
                EvaluationResult::RequiresCallFrameCfa => {
                    evaluation.resume_with_call_frame_cfa(self.address(5, 0))
                }
                EvaluationResult::RequiresAtLocation(die) => {
                    let gimli::DieReference::UnitRef(offset) = die else { return None };
                    let empty = gimli::EndianSlice::new(&[], self.dwarf.debug_info.reader().endian());
                    let code = self.location(offset).map_or(empty, |expression| expression.0);
                    evaluation.resume_with_at_location(code)
                }
                EvaluationResult::RequiresEntryValue(block) => {
                    let value = self.text(block.0.slice());
                    evaluation.resume_with_entry_value(match is_float(value) {
                        true => gimli::Value::F64(float(value)),
                        false => generic(value),
                    })
                }
                EvaluationResult::RequiresParameterRef(die) => {
                    evaluation.resume_with_parameter_ref(self.address(8, die.0 as u64))
                }
                EvaluationResult::RequiresRelocatedAddress(address) => {
                    evaluation.resume_with_relocated_address(self.relocated(address))
                }
                EvaluationResult::RequiresIndexedAddress { index, relocate } => {
                    let address = self.dwarf.address(self.unit, index).ok()?;
                    let address = if relocate { self.relocated(address) } else { address };
                    evaluation.resume_with_indexed_address(address)
                }
                EvaluationResult::RequiresBaseType(offset) => {
                    evaluation.resume_with_base_type(self.gimli_type(offset.0)?)
                }
                _ => return None,
            };
        }
    }

    fn relocated(&self, address: u64) -> u64 {
        let size = u32::from(self.unit.encoding().address_size);
        address.wrapping_add(0x5500_0000) & (u64::MAX >> (64 - 8 * size))
    }

    fn one(&self, expression: gimli::Expression<Reader<'a>>, what: &dyn Fn() -> String, tally: &mut Tally) {
        tally.asked += 1;
        let encoding = self.unit.encoding();
        let settings = Settings {
            address_size: encoding.address_size,
            offset_size: encoding.format.word_size(),
            version: encoding.version,
            big_endian: !self.little(),
            ..Settings::default()
        };
        let code: &'a [u8] = expression.0.slice();
        let mut buffers: Buffers<'a> = Buffers::new();
        let mut ours = Evaluation::new(code, Want::Location, settings, buffers.scratch());
        let found = ours.run(self);
        let theirs = self.gimli(expression);
        let count = match (&found, &theirs) {
            _ if code.is_empty() => &mut tally.empty,
            (Err(Problem::Missing(Missing::BaseType(_))), None) => &mut tally.wide,
            (Ok(_), Some(Err(gimli::Error::InvalidExpressionTerminator(_) | gimli::Error::InvalidPiece))) => {
                &mut tally.extended
            }
            (Err(_), Some(Err(_))) => &mut tally.refused,
            (Ok(Entry::Location(location)), Some(Ok(pieces))) if self.alike(&ours, *location, pieces) => {
                &mut tally.same
            }
            _ => {
                if tally.examples.len() < 10 {
                    tally.examples.push(format!("{}: {code:x?}: ours {found:?}, gimli {theirs:?}", what()));
                }
                &mut tally.different
            }
        };
        *count += 1;
    }

    fn alike(
        &self,
        ours: &Evaluation<'_, 'a>,
        location: Location<'a>,
        pieces: &[gimli::Piece<Reader<'a>>],
    ) -> bool {
        if let [gimli::Piece { size_in_bits: None, bit_offset: None, location: theirs }] = pieces {
            return self.same_place(location, theirs);
        }
        let mut at = 0;
        for piece in pieces {
            let Some(bits) = piece.size_in_bits else { return false };
            // A part without bits is nowhere in the composite.
            if bits > 0 {
                let leaf = ours.leaf(location, at);
                let start = match leaf.location.storage {
                    Storage::Memory { .. } => u64::from(leaf.location.bit),
                    _ => leaf.location.byte * 8 + u64::from(leaf.location.bit),
                };
                let mut whole = leaf.location;
                whole.bit = 0;
                let offset = piece.bit_offset.unwrap_or(0);
                match whole.storage {
                    // Addresses take the offset's bytes.
                    Storage::Memory { .. } => whole.byte = whole.byte.wrapping_sub(offset / 8),
                    _ => whole.byte = 0,
                }
                let undefined = whole.storage == Storage::Undefined;
                let expected = if undefined {
                    0
                } else if matches!(whole.storage, Storage::Memory { .. }) {
                    offset % 8
                } else {
                    offset
                };
                if leaf.bits != Some(bits) || start != expected || !self.same_place(whole, &piece.location) {
                    return false;
                }
            }
            at += bits;
        }
        let end = ours.leaf(location, at);
        end.bits.is_none() && end.location.storage == Storage::Undefined
    }

    fn same_place(&self, ours: Location<'a>, theirs: &gimli::Location<Reader<'a>>) -> bool {
        let start = ours.byte == 0 && ours.bit == 0;
        match (ours.storage, theirs) {
            (Storage::Undefined, gimli::Location::Empty) => true,
            (Storage::Register(number), gimli::Location::Register { register }) => {
                start && number == u64::from(register.0)
            }
            (Storage::Memory { space: 0 }, gimli::Location::Address { address }) => ours.byte == *address,
            (Storage::Value(value), gimli::Location::Value { value: theirs }) => {
                start && self.same_value(value, *theirs)
            }
            (Storage::Bytes(bytes), gimli::Location::Bytes { value }) => start && bytes == value.slice(),
            (
                Storage::Pointer { die: DieRef::Section(die), offset, space: None },
                gimli::Location::ImplicitPointer { value, byte_offset },
            ) => die == value.0 as u64 && offset == *byte_offset,
            _ => false,
        }
    }

    fn same_value(&self, ours: Value, theirs: gimli::Value) -> bool {
        let size = self.unit.encoding().address_size;
        let mask = u64::MAX >> (64 - 8 * u32::from(size));
        let (class, size) = match theirs.value_type() {
            gimli::ValueType::Generic => (Class::Generic, size),
            gimli::ValueType::I8 => (Class::Signed, 1),
            gimli::ValueType::U8 => (Class::Unsigned, 1),
            gimli::ValueType::I16 => (Class::Signed, 2),
            gimli::ValueType::U16 => (Class::Unsigned, 2),
            gimli::ValueType::I32 => (Class::Signed, 4),
            gimli::ValueType::U32 => (Class::Unsigned, 4),
            gimli::ValueType::I64 => (Class::Signed, 8),
            gimli::ValueType::U64 => (Class::Unsigned, 8),
            gimli::ValueType::F32 => (Class::Float, 4),
            gimli::ValueType::F64 => (Class::Float, 8),
        };
        let bits = match theirs {
            gimli::Value::F32(value) => u64::from(value.to_bits()),
            gimli::Value::F64(value) => value.to_bits(),
            other => other.to_u64(mask).unwrap_or(0) & (u64::MAX >> (64 - 8 * u32::from(size))),
        };
        // Which of many "not a number"s a conversion gives is not defined.
        let nan = |bits: u64| match size {
            4 => f32::from_bits(bits as u32).is_nan(),
            _ => f64::from_bits(bits).is_nan(),
        };
        let equal = ours.bits() == bits || class == Class::Float && nan(bits) && nan(ours.bits());
        ours.ty() == Type { class, size } && equal
    }
}

impl<'a> Context<'a> for Seeded<'_, 'a> {
    fn read_register(&self, register: u64, offset: u64, bytes: &mut [u8]) -> Option<()> {
        self.bytes(1, register, offset, bytes);
        Some(())
    }
    fn read_memory(&self, space: u64, address: u64, bytes: &mut [u8]) -> Option<()> {
        self.bytes(2, space << 56, address, bytes);
        Some(())
    }
    fn frame_base(&self) -> Option<Location<'a>> {
        Some(Location::memory(0, self.address(4, 0)))
    }
    fn frame_cfa(&self) -> Option<Location<'a>> {
        Some(Location::memory(0, self.address(5, 0)))
    }
    fn object(&self) -> Option<Location<'a>> {
        Some(Location::memory(0, self.address(6, 0)))
    }
    fn tls(&self, offset: u64) -> Option<u64> {
        Some(self.address(7, offset))
    }
    fn relocate(&self, address: u64) -> u64 {
        self.relocated(address)
    }
    fn indexed_address(&self, index: u64) -> Option<u64> {
        self.dwarf.address(self.unit, gimli::DebugAddrIndex(usize::try_from(index).ok()?)).ok()
    }
    fn entry_value(&self, block: &'a [u8]) -> Option<foldsym_expr::Value> {
        let value = self.text(block);
        let generic = foldsym_expr::Type::generic(self.unit.encoding().address_size);
        let double = foldsym_expr::Type { class: foldsym_expr::Class::Float, size: 8 };
        Some(match is_float(value) {
            true => foldsym_expr::Value::new(double, float(value).to_bits()),
            false => foldsym_expr::Value::new(generic, value),
        })
    }
    fn parameter(&self, die: u64) -> Option<u64> {
        Some(self.address(8, die))
    }
    fn procedure(&self, die: DieRef) -> Option<&'a [u8]> {
        let DieRef::Unit(offset) = die else { return None };
        let offset = gimli::UnitOffset(usize::try_from(offset).ok()?);
        Some(self.location(offset).map_or(&[], |expression| expression.0.slice()))
    }
    fn base_type(&self, die: u64) -> Option<Type> {
        let (encoding, size) = self.base_type(usize::try_from(die).ok()?)?;
        Type::of_encoding(encoding.0, size)
    }
}

/// One value on entry in eight is a floating-point number, by its own lowest bits.
fn is_float(value: u64) -> bool {
    value & 7 == 0
}

fn float(value: u64) -> f64 {
    (value >> 3) as u32 as f64 / 4.0
}
