//! Numbers with a DWARF base type, and the operations of DWARF 5 2.5.1.4 on them.

use crate::bytes::sign_extend;
use crate::problem::Problem;

/// The meaning of the bits of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// An integer of the size of an address, without a sign of its own (DWARF 5 2.5.1).
    Generic,
    /// An unsigned integer.
    Unsigned,
    /// A signed integer.
    Signed,
    /// An IEEE 754 number.
    Float,
}

/// A base type whose values have at most 8 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Type {
    /// The meaning of the bits.
    pub class: Class,
    /// Bytes: 1, 2, 4 or 8; for [`Class::Float`] 4 or 8.
    pub size: u8,
}

impl Type {
    /// The generic type of a program with addresses of `size` bytes.
    pub const fn generic(size: u8) -> Type {
        Type { class: Class::Generic, size }
    }

    /// The type of a `DW_TAG_base_type` with this `DW_AT_encoding` and `DW_AT_byte_size`; `None` for one that does
    /// not fit into 8 bytes or is not a number (DWARF 5 7.8).
    pub const fn of_encoding(encoding: u8, size: u64) -> Option<Type> {
        let class = match encoding {
            // address, boolean, unsigned, unsigned_char, UTF
            0x01 | 0x02 | 0x07 | 0x08 | 0x10 => Class::Unsigned,
            // signed, signed_char
            0x05 | 0x06 => Class::Signed,
            0x04 => Class::Float,
            _ => return None,
        };
        let size = match size {
            // `_Float16` has 2 bytes, but [`Value::float`] reads only f32 and f64.
            1 if !matches!(class, Class::Float) => 1,
            2 if !matches!(class, Class::Float) => 2,
            4 => 4,
            8 => 8,
            _ => return None,
        };
        Some(Type { class, size })
    }

    const fn bits(self) -> u32 {
        (self.size as u32).saturating_mul(8)
    }
}

/// A value on the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value {
    ty: Type,
    /// Only the low `8 * ty.size` bits can be set.
    bits: u64,
}

/// Operations of one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unary {
    /// `DW_OP_abs`
    Abs,
    /// `DW_OP_neg`
    Neg,
    /// `DW_OP_not`
    Not,
}

/// Operations of two operands; the right one is the top of the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // each is the operation of its name
pub enum Binary {
    And,
    Div,
    Minus,
    Mod,
    Mul,
    Or,
    Plus,
    Shl,
    Shr,
    Shra,
    Xor,
    Eq,
    Ge,
    Gt,
    Le,
    Lt,
    Ne,
}

impl Value {
    /// The low bits of `bits` as a value of the type.
    pub const fn new(ty: Type, bits: u64) -> Value {
        let unused = 64u32.saturating_sub(ty.bits());
        // A shift by 64 wraps to a shift by 0 and would keep all bits of a type without any.
        Value { ty, bits: if unused >= 64 { 0 } else { bits.wrapping_shl(unused).wrapping_shr(unused) } }
    }

    /// Its type.
    pub const fn ty(self) -> Type {
        self.ty
    }

    /// The bits, extended with zeros; of a float, its representation.
    pub const fn bits(self) -> u64 {
        self.bits
    }

    /// The number, extended with its sign; a generic one counts as signed. `None` for a float.
    pub fn signed(self) -> Option<i64> {
        match self.ty.class {
            Class::Generic | Class::Signed => Some(sign_extend(self.bits, self.ty.bits())),
            Class::Unsigned => Some(self.bits.cast_signed()),
            Class::Float => None,
        }
    }

    /// The number as an address, an index or a condition; `None` for a float.
    pub fn integer(self) -> Option<u64> {
        match self.ty.class {
            Class::Generic | Class::Unsigned => Some(self.bits),
            Class::Signed => self.signed().map(i64::cast_unsigned),
            Class::Float => None,
        }
    }

    fn float(self) -> f64 {
        if self.ty.size == 4 {
            // Always fits: [`Value::new`] keeps no bit above the 32nd.
            f64::from(f32::from_bits(u32::try_from(self.bits).unwrap_or(0)))
        } else {
            f64::from_bits(self.bits)
        }
    }

    fn of_float(ty: Type, value: f64) -> Value {
        // Rounding a result of f64 to f32 gives what f32 arithmetic gives: for + - * / the double rounding is harmless.
        #[allow(clippy::cast_possible_truncation)] // that is the conversion
        let bits = if ty.size == 4 { u64::from((value as f32).to_bits()) } else { value.to_bits() };
        Value::new(ty, bits)
    }

    /// `DW_OP_convert`.
    ///
    /// An integer is cut or extended with its sign; a float that does not fit becomes the nearest integer that does.
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)] // that is the conversion
    pub fn convert(self, ty: Type) -> Value {
        match (self.ty.class, ty.class) {
            (Class::Float, Class::Float) => Value::of_float(ty, self.float()),
            (Class::Float, Class::Signed) => {
                // `as` saturates at the bounds of i64 and makes 0 of NaN. The clamp saturates at the bounds of narrower types.
                let most = i64::MAX.wrapping_shr(64u32.saturating_sub(ty.bits()));
                let number = (self.float() as i64).clamp(most.wrapping_neg().wrapping_sub(1), most);
                Value::new(ty, number.cast_unsigned())
            }
            (Class::Float, _) => {
                let most = u64::MAX.wrapping_shr(64u32.saturating_sub(ty.bits()));
                Value::new(ty, (self.float() as u64).min(most))
            }
            (Class::Signed, Class::Float) => {
                let number = sign_extend(self.bits, self.ty.bits());
                // A conversion by way of f64 would round the number twice.
                if ty.size == 4 {
                    Value::new(ty, u64::from((number as f32).to_bits()))
                } else {
                    Value::of_float(ty, number as f64)
                }
            }
            (_, Class::Float) => {
                if ty.size == 4 {
                    Value::new(ty, u64::from((self.bits as f32).to_bits()))
                } else {
                    Value::of_float(ty, self.bits as f64)
                }
            }
            _ => Value::new(ty, self.integer().unwrap_or(self.bits)),
        }
    }

    /// `DW_OP_reinterpret`.
    ///
    /// # Errors
    /// The sizes differ.
    pub fn reinterpret(self, ty: Type) -> Result<Value, Problem> {
        if self.ty.size == ty.size { Ok(Value::new(ty, self.bits)) } else { Err(Problem::TypeMismatch) }
    }

    /// Applies an operation of one operand.
    ///
    /// # Errors
    /// The operation is not defined for the type.
    pub fn unary(self, op: Unary) -> Result<Value, Problem> {
        let float = self.ty.class == Class::Float;
        Ok(match op {
            // Of the arithmetic and logical operations, only abs, div, minus, mul, neg and plus take floats (DWARF 5 2.5.1.4).
            Unary::Not if float => return Err(Problem::TypeMismatch),
            Unary::Not => Value::new(self.ty, !self.bits),
            Unary::Neg if self.ty.class == Class::Unsigned => return Err(Problem::TypeMismatch),
            Unary::Neg if float => Value::of_float(self.ty, -self.float()),
            Unary::Abs if float => {
                let value = self.float();
                Value::of_float(self.ty, if value < 0.0 { -value } else { value })
            }
            Unary::Neg => Value::new(self.ty, self.bits.wrapping_neg()),
            Unary::Abs if self.ty.class == Class::Unsigned => self,
            Unary::Abs => Value::new(self.ty, sign_extend(self.bits, self.ty.bits()).unsigned_abs()),
        })
    }

    /// Applies an operation to `self` and the operand on top of it.
    ///
    /// Division (DWARF 5 2.5.1.4) and comparison (2.5.1.5) of generic values are signed. `DW_OP_mod` of them is unsigned here.
    ///
    /// # Errors
    /// The types differ or the operation is not defined for them, or the division is by zero.
    pub fn binary(self, op: Binary, right: Value, generic: Type) -> Result<Value, Problem> {
        // The count of a shift need not have the type of the shifted number, so this comes before the comparison of types.
        if matches!(op, Binary::Shl | Binary::Shr | Binary::Shra) {
            return self.shift(op, right);
        }
        if self.ty != right.ty {
            return Err(Problem::TypeMismatch);
        }
        if self.ty.class == Class::Float {
            return self.of_floats(op, right, generic);
        }
        // In two's complement the low bits of a sum, difference or product do not depend on the sign. [`Value::new`] keeps only
        // those.
        let (a, b) = (self.bits, right.bits);
        let bits = match op {
            Binary::And => a & b,
            Binary::Or => a | b,
            Binary::Xor => a ^ b,
            Binary::Plus => a.wrapping_add(b),
            Binary::Minus => a.wrapping_sub(b),
            Binary::Mul => a.wrapping_mul(b),
            Binary::Div | Binary::Mod => return self.divide(op, b, right),
            _ => {
                let order = match self.ty.class {
                    Class::Unsigned => a.cmp(&b),
                    _ => self.signed().cmp(&right.signed()),
                };
                return Ok(truth(op, order.is_lt(), order.is_eq(), order.is_gt(), generic));
            }
        };
        Ok(Value::new(self.ty, bits))
    }

    fn divide(self, op: Binary, divisor: u64, right: Value) -> Result<Value, Problem> {
        let unsigned = match op {
            Binary::Mod => self.ty.class != Class::Signed,
            _ => self.ty.class == Class::Unsigned,
        };
        let bits = if unsigned {
            let quotient = if op == Binary::Div {
                self.bits.checked_div(divisor)
            } else {
                self.bits.checked_rem(divisor)
            };
            quotient.ok_or(Problem::DivisionByZero)?
        } else {
            let (a, b) = (sign_extend(self.bits, self.ty.bits()), sign_extend(right.bits, self.ty.bits()));
            if b == 0 {
                return Err(Problem::DivisionByZero);
            }
            // The one overflow, the least number divided by -1, wraps.
            let quotient =
                if op == Binary::Div { a.checked_div(b).unwrap_or(a) } else { a.checked_rem(b).unwrap_or(0) };
            quotient.cast_unsigned()
        };
        Ok(Value::new(self.ty, bits))
    }

    fn shift(self, op: Binary, by: Value) -> Result<Value, Problem> {
        let count = match by.ty.class {
            Class::Float => return Err(Problem::TypeMismatch),
            Class::Signed => {
                by.signed().and_then(|count| u64::try_from(count).ok()).ok_or(Problem::TypeMismatch)?
            }
            Class::Generic | Class::Unsigned => by.bits,
        };
        let allowed = match op {
            Binary::Shr => matches!(self.ty.class, Class::Generic | Class::Unsigned),
            Binary::Shra => matches!(self.ty.class, Class::Generic | Class::Signed),
            _ => self.ty.class != Class::Float,
        };
        if !allowed {
            return Err(Problem::TypeMismatch);
        }
        let width = self.ty.bits();
        // The count saturates: the low 32 bits of 2^32 would give a shift by 0.
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        let bits = match op {
            Binary::Shra => {
                // A shift by 63 already leaves only copies of the sign.
                let count = count.min(63);
                sign_extend(self.bits, width).wrapping_shr(count).cast_unsigned()
            }
            // Every bit is shifted out. `wrapping_shl` would take the count modulo 64.
            _ if count >= width => 0,
            Binary::Shr => self.bits.wrapping_shr(count),
            _ => self.bits.wrapping_shl(count),
        };
        Ok(Value::new(self.ty, bits))
    }

    fn of_floats(self, op: Binary, right: Value, generic: Type) -> Result<Value, Problem> {
        let (a, b) = (self.float(), right.float());
        let result = match op {
            Binary::Plus => a + b,
            Binary::Minus => a - b,
            Binary::Mul => a * b,
            // A division by zero is no error here: its result is an infinity or NaN (IEEE 754).
            Binary::Div => a / b,
            Binary::Eq | Binary::Ne | Binary::Lt | Binary::Le | Binary::Gt | Binary::Ge => {
                return Ok(truth(op, a < b, a == b, a > b, generic));
            }
            _ => return Err(Problem::TypeMismatch),
        };
        Ok(Value::of_float(self.ty, result))
    }
}

/// The result of a comparison: 0 or 1 of the generic type.
fn truth(op: Binary, less: bool, equal: bool, greater: bool, generic: Type) -> Value {
    // With NaN none of the three flags is true, so only `Ne` holds.
    let holds = match op {
        Binary::Eq => equal,
        Binary::Ne => !equal,
        Binary::Lt => less,
        Binary::Le => less | equal,
        Binary::Gt => greater,
        _ => greater | equal,
    };
    Value::new(generic, u64::from(holds))
}
