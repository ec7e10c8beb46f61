//! The stack machine: one operation, one step.
//!
//! DWARF 5 keeps locations off the stack: an operation that gives one must be the last, or `DW_OP_piece` must follow.
//! Here a location is an entry like a number, so that one can be offset, put together and handed to a procedure. An
//! expression that is legal in DWARF 5 has the same result:
//!
//! - a number that is used as a location is that address in the program's memory;
//! - a location in the program's memory that is used as a number is its address;
//! - a composite that is still being built becomes whole where the outermost expression ends.

use crate::bytes::{Bytes, number};
use crate::context::Context;
use crate::evaluation::Evaluation;
use crate::location::{Entry, Location, Node, NodeId, Storage};
use crate::op::{self, DieRef, Op};
use crate::problem::{Missing, Problem};
use crate::scratch::Return;
use crate::settings::Want;
use crate::value::{Class, Type, Value};

impl<'e> Evaluation<'_, 'e> {
    /// Evaluates all operations and gives the result.
    ///
    /// Ends after [`crate::Settings::max_steps`] operations at the latest.
    ///
    /// # Errors
    /// See [`Problem`].
    pub fn run(&mut self, context: &dyn Context<'e>) -> Result<Entry<'e>, Problem> {
        while self.step(context)? {}
        self.result()
    }

    /// Evaluates one operation. False if none is left.
    ///
    /// # Errors
    /// See [`Problem`]. The stack is then as the operation left it.
    pub fn step(&mut self, context: &dyn Context<'e>) -> Result<bool, Problem> {
        // A loop, since a call may be the last operation of the code that it returns to.
        while self.at >= self.code.len() {
            let Some(last) = self.called.checked_sub(1) else { return Ok(false) };
            let Some(back) = self.calls.get(last) else { return Ok(false) };
            (self.code, self.at, self.called) = (back.code, back.at, last);
        }
        // The count bounds branches that go back, and procedures that each call the next one twice.
        self.steps = self.steps.saturating_add(1);
        if self.steps > self.settings.max_steps {
            return Err(Problem::TooManySteps);
        }
        let mut bytes = Bytes::new(self.code, self.settings.big_endian);
        bytes.seek(self.at).ok_or(Problem::BadBranch)?;
        let op = op::next(&mut bytes, &self.settings)?;
        // The position moves before the operation is applied: a branch counts from the next operation (DWARF 5 2.5.1.5), and a call
        // returns there.
        self.at = bytes.position();
        self.apply(op, context)?;
        Ok(true)
    }

    /// The result of an evaluation that has ended: the top of the stack, in the requested form.
    ///
    /// # Errors
    /// There is no value, or it is no value or no location.
    pub fn result(&self) -> Result<Entry<'e>, Problem> {
        match (self.want, self.stack().last().copied()) {
            (Want::Location, None) => Ok(Entry::Location(Location::start(Storage::Undefined))),
            (Want::Value, None) => Err(Problem::StackEmpty),
            (Want::Location, Some(top)) => {
                let whole = match top {
                    Entry::Incomplete(id) => Entry::Location(Location::start(Storage::Composite(id))),
                    other => other,
                };
                self.location_of(whole).map(Entry::Location)
            }
            (Want::Value, Some(top)) => self.value_of(top).map(Entry::Value),
        }
    }

    fn apply(&mut self, op: Op<'e>, context: &dyn Context<'e>) -> Result<(), Problem> {
        let generic = self.generic();
        match op {
            Op::Nop => Ok(()),
            Op::Address(address) => self.push_address(context.relocate(address)),
            Op::AddressIndex(index) => {
                let address = context.indexed_address(index).ok_or(Missing::AddressIndex(index))?;
                self.push_address(context.relocate(address))
            }
            Op::ConstantIndex(index) => {
                // Not relocated: the linker relocates the constant, but it is no address of the loaded program. An example is an offset
                // in thread-local storage (DWARF 5 2.5.1.1).
                let value = context.indexed_address(index).ok_or(Missing::AddressIndex(index))?;
                self.push_generic(value)
            }
            Op::Constant(value) => self.push_generic(value),
            Op::Pick(_) | Op::Drop | Op::Swap | Op::Rot => self.shuffle(op),
            Op::Deref { size, space, ty } => self.deref(size, space, ty, context),
            Op::Unary(op) => {
                let value = self.pop_value()?.unary(op)?;
                self.push(Entry::Value(value))
            }
            Op::Binary(op) => {
                let right = self.pop_value()?;
                let value = self.pop_value()?.binary(op, right, generic)?;
                self.push(Entry::Value(value))
            }
            Op::PlusConstant(more) => {
                let value = self.pop_value()?;
                // An operand that is a whole number of the type (DWARF 5 2.5.1.4).
                let more = Value::new(Type { class: Class::Unsigned, size: 8 }, more).convert(value.ty());
                self.push(Entry::Value(value.binary(crate::value::Binary::Plus, more, generic)?))
            }
            Op::Branch(by) => match self.pop_integer()? {
                0 => Ok(()),
                _ => self.jump(by),
            },
            Op::Skip(by) => self.jump(by),
            Op::Call(die) => self.call(die, context),
            Op::Piece { .. } | Op::PieceEnd | Op::Extend { .. } | Op::SelectBitPiece { .. } => {
                self.compose(op)
            }
            Op::TypedConstant { ty, bytes } => {
                let ty = base_type(ty, context, generic)?;
                // The operand repeats the size of the type, so that an expression can be decoded without the type's entry (DWARF 5
                // 2.5.1.1).
                if bytes.len() != usize::from(ty.size) {
                    return Err(Problem::BadSize(u64::try_from(bytes.len()).unwrap_or(u64::MAX)));
                }
                self.push(Entry::Value(Value::new(ty, number(bytes, self.settings.big_endian))))
            }
            Op::Convert(ty) => {
                let ty = base_type(ty, context, generic)?;
                let value = self.pop_value()?.convert(ty);
                self.push(Entry::Value(value))
            }
            Op::Reinterpret(ty) => {
                let ty = base_type(ty, context, generic)?;
                let value = self.pop_value()?.reinterpret(ty)?;
                self.push(Entry::Value(value))
            }
            Op::RegisterValue { register, ty } => {
                let ty = base_type(ty, context, generic)?;
                let value = self.register_value(register, ty, context)?;
                self.push(Entry::Value(value))
            }
            Op::EntryValue(block) => {
                let value = context.entry_value(block).ok_or(Missing::EntryValue)?;
                self.push(Entry::Value(value))
            }
            Op::ParameterRef(die) => {
                let value = context.parameter(die).ok_or(Missing::Parameter(die))?;
                self.push_generic(value)
            }
            Op::PushLane => self.push_generic(context.lane().ok_or(Missing::Lane)?),
            Op::Tls => {
                let offset = self.pop_integer()?;
                self.push_address(context.tls(offset).ok_or(Missing::Tls)?)
            }
            _ => self.locate(op, context),
        }
    }

    /// The operations that push a location and do not change the flow of control.
    fn locate(&mut self, op: Op<'e>, context: &dyn Context<'e>) -> Result<(), Problem> {
        let location = match op {
            Op::Register(register) => Location::start(Storage::Register(register)),
            Op::BaseRegister { register, offset } => {
                // A location, as the extensions define it. An operation of DWARF 5 that needs a number gets the address.
                let value = self.register_value(register, self.generic(), context)?;
                self.memory(0, value.bits().wrapping_add(offset.cast_unsigned()), context)
            }
            Op::AspaceBaseRegister { register, offset } => {
                let space = self.pop_integer()?;
                // The register is read as wide as an address of the space, which may be narrower than the generic type.
                let value = self.register_value(register, self.address_type(space, context), context)?;
                self.memory(space, value.bits().wrapping_add(offset.cast_unsigned()), context)
            }
            Op::FrameBase(offset) => {
                let base = context.frame_base().ok_or(Missing::FrameBase)?;
                // The frame base may be in another address space, so the offset moves a location, not a number.
                self.displaced(base, i128::from(offset).wrapping_mul(8), context)?
            }
            Op::FrameCfa => context.frame_cfa().ok_or(Missing::FrameCfa)?,
            Op::Object => context.object().ok_or(Missing::Object)?,
            Op::ImplicitValue(bytes) => Location::start(Storage::Bytes(bytes)),
            Op::StackValue => Location::start(Storage::Value(self.pop_value()?)),
            Op::ImplicitPointer { die, offset } => {
                Location::start(Storage::Pointer { die: DieRef::Section(die), offset, space: None })
            }
            Op::AspaceImplicitPointer { die, offset } => {
                let space = Some(self.pop_integer()?);
                Location::start(Storage::Pointer { die: DieRef::Section(die), offset, space })
            }
            Op::CallFrameEntryRegister(register) => {
                context.entry_register(register).ok_or(Missing::EntryRegister(register))?
            }
            Op::FormAspaceAddress => {
                let space = self.pop_integer()?;
                let address = self.pop_integer()?;
                self.memory(space, address, context)
            }
            Op::Offset | Op::BitOffset => {
                // 128 bits, since a 64-bit byte offset is converted into bits below.
                let by = i128::from(self.pop_value()?.signed().ok_or(Problem::TypeMismatch)?);
                let of = self.pop_location()?;
                self.displaced(of, if op == Op::Offset { by.wrapping_mul(8) } else { by }, context)?
            }
            Op::OffsetConstant(by) => {
                let of = self.pop_location()?;
                self.displaced(of, i128::from(by).wrapping_mul(8), context)?
            }
            // `Op::Undefined`; `apply` has all others.
            _ => Location::start(Storage::Undefined),
        };
        self.push(Entry::Location(location))
    }

    fn shuffle(&mut self, op: Op<'e>) -> Result<(), Problem> {
        match op {
            Op::Pick(index) => {
                let from_top = usize::from(index).saturating_add(1);
                let at = self.depth.checked_sub(from_top).ok_or(Problem::StackEmpty)?;
                let entry = *self.stack.get(at).ok_or(Problem::StackEmpty)?;
                self.push(entry)
            }
            Op::Drop => self.pop().map(|_| ()),
            Op::Swap => {
                let (top, next) = (self.pop()?, self.pop()?);
                self.push(top)?;
                self.push(next)
            }
            _ => {
                let (top, second, third) = (self.pop()?, self.pop()?, self.pop()?);
                self.push(top)?;
                self.push(third)?;
                self.push(second)
            }
        }
    }

    fn jump(&mut self, by: i64) -> Result<(), Problem> {
        let target =
            i64::try_from(self.at).ok().and_then(|at| at.checked_add(by)).ok_or(Problem::BadBranch)?;
        self.at =
            // A branch to the end of the code is allowed: it ends the expression.
            usize::try_from(target).ok().filter(|at| *at <= self.code.len()).ok_or(Problem::BadBranch)?;
        Ok(())
    }

    fn call(&mut self, die: DieRef, context: &dyn Context<'e>) -> Result<(), Problem> {
        let (DieRef::Unit(offset) | DieRef::Section(offset)) = die;
        let code = context.procedure(die).ok_or(Missing::Procedure(offset))?;
        // A procedure may call itself, so the room that `Scratch` gives for calls bounds the depth.
        let room = self.calls.get_mut(self.called).ok_or(Problem::TooDeep)?;
        *room = Return { code: self.code, at: self.at };
        self.called = self.called.saturating_add(1);
        // The stack stays: the called expression takes operands from it and leaves its results there (DWARF 5 2.5.1.5).
        (self.code, self.at) = (code, 0);
        Ok(())
    }

    fn deref(
        &mut self,
        size: u8,
        space: bool,
        ty: Option<u64>,
        context: &dyn Context<'e>,
    ) -> Result<(), Problem> {
        if size == 0 || size > self.settings.address_size {
            return Err(Problem::BadSize(u64::from(size)));
        }
        let from = if space {
            // The address is on top, the space below it (DWARF 5 2.5.1.3).
            let address = self.pop_integer()?;
            let space = self.pop_integer()?;
            let place = self.memory(space, address, context);
            if self.settings.xderef_is_place && self.want == Want::Location && self.ends_here() {
                return self.push(Entry::Location(place));
            }
            place
        } else {
            self.pop_location()?
        };
        let ty = match ty {
            Some(die) => base_type(die, context, self.generic())?,
            None => self.generic(),
        };
        let mut room = [0; 8];
        let bytes = room.get_mut(..usize::from(size)).unwrap_or_default();
        self.read(from, bytes, context)?;
        self.push(Entry::Value(Value::new(ty, number(bytes, self.settings.big_endian))))
    }

    /// True if a location is due: no operation is left, in the expression or those that called it, or the next one
    /// makes a part of a composite.
    fn ends_here(&self) -> bool {
        if matches!(self.code.get(self.at), Some(0x93 | 0x9d)) {
            return true;
        }
        let callers = self.calls.get(..self.called).unwrap_or_default();
        self.at >= self.code.len() && callers.iter().all(|back| back.at >= back.code.len())
    }

    fn compose(&mut self, op: Op<'e>) -> Result<(), Problem> {
        match op {
            Op::Piece { bits, offset } => {
                let top = self.stack().last().copied();
                let of = match top {
                    // No location was pushed for this part, so it is undefined (DWARF 5 2.6.1.2).
                    None | Some(Entry::Incomplete(_)) => Location::start(Storage::Undefined),
                    Some(_) => {
                        let of = self.pop_location()?;
                        shifted(of, i128::from(offset), self.settings.address_size)?
                    }
                };
                // The part's own location is on top of the composite that it extends, so the composite is popped second.
                let before = match self.stack().last() {
                    Some(Entry::Incomplete(id)) => Some(*id),
                    _ => None,
                };
                if before.is_some() {
                    self.pop()?;
                }
                let start = before.map_or(0, |id| self.node(id).len());
                // This check keeps the length of a composite in 64 bits ([`Node::len`]).
                start.checked_add(bits).ok_or(Problem::BadSize(bits))?;
                let id = self.make(Node::Piece { before, start, bits, of })?;
                self.push(Entry::Incomplete(id))
            }
            Op::PieceEnd => match self.pop()? {
                Entry::Incomplete(id) => self.push(Entry::Location(Location::start(Storage::Composite(id)))),
                _ => Err(Problem::NotConvertible),
            },
            Op::Extend { bits, count } => {
                let of = self.pop_location()?;
                parts(bits, count)?;
                let id = self.make(Node::Extend { of, bits, count })?;
                self.push(Entry::Location(Location::start(Storage::Composite(id))))
            }
            // `Op::SelectBitPiece`; `apply` has all others.
            other => {
                let Op::SelectBitPiece { bits, count } = other else { return Ok(()) };
                // The extensions define this order: the mask is on top, below it the location for 1 bits, then the location for 0 bits.
                let mask = self.pop_value()?;
                let one = self.pop_location()?;
                let zero = self.pop_location()?;
                parts(bits, count)?;
                if count > u64::from(mask.ty().size).saturating_mul(8) {
                    return Err(Problem::BadSize(count));
                }
                let mask = mask.integer().ok_or(Problem::TypeMismatch)?;
                let id = self.make(Node::Select { zero, one, mask, bits, count })?;
                self.push(Entry::Location(Location::start(Storage::Composite(id))))
            }
        }
    }

    fn make(&mut self, node: Node<'e>) -> Result<NodeId, Problem> {
        // A node gets its id after the nodes that it refers to, so ids fall along a walk, and the walk ends.
        let id = u32::try_from(self.made).map_err(|_| Problem::TooManyParts)?;
        *self.nodes.get_mut(self.made).ok_or(Problem::TooManyParts)? = node;
        self.made = self.made.saturating_add(1);
        Ok(NodeId(id))
    }

    fn pop(&mut self) -> Result<Entry<'e>, Problem> {
        let last = self.depth.checked_sub(1).ok_or(Problem::StackEmpty)?;
        self.depth = last;
        self.stack.get(last).copied().ok_or(Problem::StackEmpty)
    }

    fn pop_value(&mut self) -> Result<Value, Problem> {
        let entry = self.pop()?;
        self.value_of(entry)
    }

    fn pop_integer(&mut self) -> Result<u64, Problem> {
        self.pop_value()?.integer().ok_or(Problem::TypeMismatch)
    }

    fn pop_location(&mut self) -> Result<Location<'e>, Problem> {
        let entry = self.pop()?;
        self.location_of(entry)
    }

    fn push_generic(&mut self, value: u64) -> Result<(), Problem> {
        self.push(Entry::Value(Value::new(self.generic(), value)))
    }

    fn push_address(&mut self, address: u64) -> Result<(), Problem> {
        // `relocate` adds in 64 bits, but an address of 4 bytes wraps at 2^32.
        let address = Value::new(self.generic(), address).bits();
        self.push(Entry::Location(Location::memory(0, address)))
    }

    fn value_of(&self, entry: Entry<'e>) -> Result<Value, Problem> {
        match entry {
            Entry::Value(value) => Ok(value),
            // Only a location in space 0 becomes a number: the generic type has the size of its addresses. Another space may have
            // another size.
            Entry::Location(Location { storage: Storage::Memory { space: 0 }, byte, bit: 0 }) => {
                Ok(Value::new(self.generic(), byte))
            }
            Entry::Location(_) => Err(Problem::NotConvertible),
            Entry::Incomplete(_) => Err(Problem::Incomplete),
        }
    }

    fn location_of(&self, entry: Entry<'e>) -> Result<Location<'e>, Problem> {
        match entry {
            Entry::Location(location) => Ok(location),
            Entry::Value(value) => {
                let address = value.integer().ok_or(Problem::NotConvertible)?;
                Ok(Location::memory(0, Value::new(self.generic(), address).bits()))
            }
            Entry::Incomplete(_) => Err(Problem::Incomplete),
        }
    }

    fn address_type(&self, space: u64, context: &dyn Context<'e>) -> Type {
        match space {
            0 => self.generic(),
            space => {
                // The context may answer anything, but a value has 1 to 8 bytes.
                Type::generic(context.address_size(space).unwrap_or(self.settings.address_size).clamp(1, 8))
            }
        }
    }

    fn memory(&self, space: u64, address: u64, context: &dyn Context<'e>) -> Location<'e> {
        Location::memory(space, Value::new(self.address_type(space, context), address).bits())
    }

    fn register_value(&self, register: u64, ty: Type, context: &dyn Context<'e>) -> Result<Value, Problem> {
        let mut room = [0; 8];
        // A register that is narrower than an address is an unsigned number.
        let narrow = context.register_size(register).and_then(|size| u8::try_from(size).ok());
        let size = match (narrow, ty.class) {
            (Some(size), Class::Generic) => ty.size.min(size),
            _ => ty.size,
        };
        let bytes = room.get_mut(..usize::from(size)).unwrap_or_default();
        context.read_register(register, 0, bytes).ok_or(Missing::Register(register))?;
        Ok(Value::new(ty, number(bytes, self.settings.big_endian)))
    }

    /// The location `by` bits further on, in its storage.
    fn displaced(
        &self,
        of: Location<'e>,
        by: i128,
        context: &dyn Context<'e>,
    ) -> Result<Location<'e>, Problem> {
        let size = match of.storage {
            Storage::Memory { space } => {
                return shifted(of, by, self.address_type(space, context).size);
            }
            // No byte of it can be read, so its offset means nothing.
            Storage::Undefined => return Ok(of),
            Storage::Register(register) => {
                context.register_size(register).and_then(|size| size.checked_mul(8))
            }
            Storage::Bytes(bytes) => u64::try_from(bytes.len()).ok().and_then(|len| len.checked_mul(8)),
            Storage::Value(value) => Some(u64::from(value.ty().size).saturating_mul(8)),
            Storage::Pointer { .. } => Some(u64::from(self.settings.address_size).saturating_mul(8)),
            Storage::Composite(id) => Some(self.node(id).len()),
        };
        let moved = shifted(of, by, self.settings.address_size)?;
        // If the size of a register is unknown, any offset may be valid. A later read decides.
        let inside = moved.in_bits().is_some_and(|at| size.is_none_or(|size| at < size));
        if inside { Ok(moved) } else { Err(Problem::OutOfStorage) }
    }
}

/// The location `by` bits further on; addresses of memory wrap around, all other offsets must not be negative.
fn shifted(of: Location<'_>, by: i128, address_size: u8) -> Result<Location<'_>, Problem> {
    // 67 bits each at most, so the sum does not wrap.
    let bits = i128::from(of.byte).wrapping_mul(8).wrapping_add(i128::from(of.bit)).wrapping_add(by);
    // Euclidean, so that bit -1 is bit 7 of the byte before.
    let bit = u8::try_from(bits.rem_euclid(8)).unwrap_or(0);
    let byte = bits.div_euclid(8);
    let byte = match of.storage {
        Storage::Memory { .. } => {
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // addresses wrap around
            let byte = byte as u64;
            Value::new(Type::generic(address_size), byte).bits()
        }
        Storage::Undefined => 0,
        _ => u64::try_from(byte).map_err(|_| Problem::OutOfStorage)?,
    };
    Ok(Location { storage: of.storage, byte, bit })
}

/// The type at an offset in the unit; 0 is the generic type (DWARF 5 2.5.1.6).
fn base_type<'e>(die: u64, context: &dyn Context<'e>, generic: Type) -> Result<Type, Problem> {
    match die {
        0 => Ok(generic),
        die => context.base_type(die).ok_or(Problem::Missing(Missing::BaseType(die))),
    }
}

/// Checks the size of a composite of equal parts.
fn parts(bits: u64, count: u64) -> Result<(), Problem> {
    // `nth` divides an offset by the size of a part, so a part needs at least one bit.
    if bits == 0 {
        return Err(Problem::BadSize(bits));
    }
    if count == 0 {
        return Err(Problem::BadSize(count));
    }
    bits.checked_mul(count).map(|_| ()).ok_or(Problem::BadSize(count))
}
