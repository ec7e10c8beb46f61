//! Reads the bytes at a location: composites are followed part by part, down to memory and registers.

use crate::context::Context;
use crate::evaluation::Evaluation;
use crate::location::{Location, Node, Storage};
use crate::problem::{Missing, Problem};

/// Bits of a location in one storage that is not a composite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaf<'e> {
    /// Where they begin.
    pub location: Location<'e>,
    /// How many follow there without a gap; `None`: nothing that the expression says ends them.
    pub bits: Option<u64>,
}

impl<'e> Evaluation<'_, 'e> {
    /// The storage at bit `at` of a location. Beyond the end of a composite it is undefined, without an end.
    ///
    /// Takes at most as many steps as there are nodes: a node refers only to older ones.
    pub fn leaf(&self, location: Location<'e>, at: u64) -> Leaf<'e> {
        let mut place = advanced(location, at);
        let mut bits: Option<u64> = None;
        while let Storage::Composite(id) = place.storage {
            // The length of a composite fits 64 bits, so an offset that does not fit is in no part.
            let offset = place.in_bits().unwrap_or(u64::MAX);
            let (of, within, left) = match self.node(id) {
                Node::Piece { start, bits: len, of, .. } if offset >= start => {
                    let within = offset.saturating_sub(start);
                    // 0 if the offset is after this part. Earlier parts end before it, so none of them has the offset.
                    let left = len.saturating_sub(within);
                    if left == 0 {
                        break;
                    }
                    (of, within, left)
                }
                Node::Piece { before: Some(before), .. } => {
                    // Earlier parts: the same offset in the composite that this one extends.
                    place.storage = Storage::Composite(before);
                    continue;
                }
                Node::Extend { of, bits: each, count } => match nth(offset, each, count) {
                    Some((_, within)) => (of, within, each.saturating_sub(within)),
                    None => break,
                },
                Node::Select { zero, one, mask, bits: each, count } => match nth(offset, each, count) {
                    // Part N is taken from bit N x each of the location that the mask chose.
                    Some((index, within)) => {
                        // `compose` allows no more parts than the mask has bits, so the shift is in range.
                        let set =
                            u32::try_from(index).ok().and_then(|by| mask.checked_shr(by)).unwrap_or(0) & 1;
                        (if set == 1 { one } else { zero }, offset, each.saturating_sub(within))
                    }
                    None => break,
                },
                _ => break,
            };
            // A part of a part ends where either of the two ends.
            bits = Some(bits.map_or(left, |bits| bits.min(left)));
            place = advanced(of, within);
        }
        // At a composite the loop ends only if no part has the offset, and then no part follows. So the undefined bits have no end, and
        // a reader takes them in one step.
        match place.storage {
            Storage::Composite(_) => Leaf { location: Location::start(Storage::Undefined), bits: None },
            _ => Leaf { location: place, bits },
        }
    }

    /// Reads the bytes at a location.
    ///
    /// # Errors
    /// Some of the bytes are undefined, beyond the end of their storage, or unknown to the context. Parts that begin or end within a byte
    /// are read in little-endian programs only.
    pub fn read(
        &self,
        location: Location<'e>,
        bytes: &mut [u8],
        context: &dyn Context<'e>,
    ) -> Result<(), Problem> {
        self.read_behind(location, 0, bytes, context)
    }

    /// Reads the bytes `skip` bits after a location: an element of the object there.
    ///
    /// # Errors
    /// As [`Evaluation::read`].
    pub fn read_behind(
        &self,
        location: Location<'e>,
        skip: u64,
        bytes: &mut [u8],
        context: &dyn Context<'e>,
    ) -> Result<(), Problem> {
        let whole = u64::try_from(bytes.len()).unwrap_or(u64::MAX).saturating_mul(8);
        // `read_bits` sets bits and clears none, since a byte may have bits of several parts.
        bytes.fill(0);
        let mut at = 0u64;
        // Each turn advances, since a leaf has at least one bit.
        while at < whole {
            let leaf = self.leaf(location, skip.saturating_add(at));
            let len = leaf.bits.unwrap_or(u64::MAX).min(whole.saturating_sub(at));
            let aligned = leaf.location.bit == 0 && at & 7 == 0 && len & 7 == 0;
            if aligned {
                let start = usize::try_from(at.wrapping_shr(3)).unwrap_or(usize::MAX);
                let end = start.saturating_add(usize::try_from(len.wrapping_shr(3)).unwrap_or(usize::MAX));
                let part = bytes.get_mut(start..end).ok_or(Problem::OutOfStorage)?;
                self.read_leaf(leaf.location, part, context)?;
                at = at.saturating_add(len);
            } else if self.settings.big_endian {
                return Err(Problem::BadSize(len));
            } else {
                // A 64-bit word has room for 32 bits with up to 7 bits before them, and for their shift by up to 7 bits.
                at = at.saturating_add(self.read_bits(leaf.location, len.min(32), at, bytes, context)?);
            }
        }
        Ok(())
    }

    /// Reads up to 32 bits to bit `at` of `bytes`, and gives their number.
    fn read_bits(
        &self,
        from: Location<'e>,
        len: u64,
        at: u64,
        bytes: &mut [u8],
        context: &dyn Context<'e>,
    ) -> Result<u64, Problem> {
        let mut room = [0u8; 8];
        let needed = usize::try_from(len.saturating_add(u64::from(from.bit)).div_ceil(8)).unwrap_or(8);
        let part = room.get_mut(..needed).ok_or(Problem::OutOfStorage)?;
        self.read_leaf(Location { bit: 0, ..from }, part, context)?;
        let mask = u64::MAX.wrapping_shr(64u32.saturating_sub(u32::try_from(len).unwrap_or(0)));
        let value = u64::from_le_bytes(room).wrapping_shr(u32::from(from.bit)) & mask;
        let value = value.wrapping_shl(u32::try_from(at & 7).unwrap_or(0));
        let start = usize::try_from(at.wrapping_shr(3)).unwrap_or(usize::MAX);
        for (to, byte) in bytes.iter_mut().skip(start).zip(value.to_le_bytes()) {
            *to |= byte;
        }
        Ok(len)
    }

    /// Reads bytes from a storage that is no composite, at a whole byte.
    fn read_leaf(
        &self,
        from: Location<'e>,
        bytes: &mut [u8],
        context: &dyn Context<'e>,
    ) -> Result<(), Problem> {
        match from.storage {
            Storage::Memory { space } => context
                .read_memory(space, from.byte, bytes)
                .ok_or(Problem::Missing(Missing::Memory { space, address: from.byte })),
            Storage::Register(register) => {
                // If the size is unknown, the context checks the range.
                let end = from.byte.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
                if context.register_size(register).is_some_and(|size| end > size) {
                    return Err(Problem::OutOfStorage);
                }
                context
                    .read_register(register, from.byte, bytes)
                    .ok_or(Problem::Missing(Missing::Register(register)))
            }
            Storage::Bytes(all) => copy(all, from.byte, bytes),
            Storage::Value(value) => {
                let size = usize::from(value.ty().size);
                let (little, big) = (value.bits().to_le_bytes(), value.bits().to_be_bytes());
                // These are the bytes of the value as memory would hold them. In big-endian order the unused high bytes come first.
                let all = if self.settings.big_endian {
                    big.get(8usize.saturating_sub(size)..)
                } else {
                    little.get(..size)
                };
                copy(all.unwrap_or_default(), from.byte, bytes)
            }
            // An implicit pointer has no bytes: the object that it points to is not in memory (DWARF 5 2.6.1.1.4).
            Storage::Pointer { .. } => Err(Problem::NotConvertible),
            Storage::Undefined | Storage::Composite(_) => Err(Problem::Undefined),
        }
    }
}

/// The index of the element of `each` bits, of `count`, that contains an offset, and the offset in it.
fn nth(offset: u64, each: u64, count: u64) -> Option<(u64, u64)> {
    let index = offset.checked_div(each)?;
    (index < count).then(|| (index, offset.checked_rem(each).unwrap_or(0)))
}

fn copy(all: &[u8], at: u64, bytes: &mut [u8]) -> Result<(), Problem> {
    let start = usize::try_from(at).unwrap_or(usize::MAX);
    let part = all.get(start..start.saturating_add(bytes.len())).ok_or(Problem::OutOfStorage)?;
    bytes.copy_from_slice(part);
    Ok(())
}

/// The location `bits` further on. What is too far to count stays at the end of the numbers.
fn advanced(location: Location<'_>, bits: u64) -> Location<'_> {
    let bit = u64::from(location.bit).saturating_add(bits & 7);
    let byte = bits.wrapping_shr(3).saturating_add(bit.wrapping_shr(3));
    // Addresses wrap around. In any other storage an offset that wraps would be inside the storage again, so it saturates.
    let byte = match location.storage {
        Storage::Memory { .. } => location.byte.wrapping_add(byte),
        Storage::Undefined => 0,
        _ => location.byte.saturating_add(byte),
    };
    let bit = if location.storage == Storage::Undefined { 0 } else { u8::try_from(bit & 7).unwrap_or(0) };
    Location { storage: location.storage, byte, bit }
}
