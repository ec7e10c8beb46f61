//! Turns rules of other call frame information, such as a mapped `.eh_frame`, into the rules of a [`Row`].

use foldsym_format::records::unwind as layout;
use foldsym_format::varint;

use crate::row::{Cfa, Row, Rule};

/// Bytes of rules: more than a signal frame's expressions for 33 registers take.
const ROOM: usize = 512;

/// The rules of one row, in the caller's memory, encoded as in the section.
///
/// ```
/// use foldsym_unwind::{Cfa, Row, Rule, Saves};
///
/// let mut saves = Saves::new();
/// saves.push(6, Rule::Offset(-16)).unwrap(); // rbp
/// saves.push(16, Rule::Offset(-8)).unwrap(); // the return address
/// let row = Row::new(Cfa::Register { register: 7, offset: 16 }, 16, false, &saves);
/// assert_eq!(row.rules().collect::<Vec<_>>(), [(6, Rule::Offset(-16)), (16, Rule::Offset(-8))]);
/// ```
#[derive(Clone, Debug)]
pub struct Saves {
    bytes: [u8; ROOM],
    len: usize,
    count: u64,
}

impl Saves {
    /// No rule.
    pub const fn new() -> Self {
        Saves { bytes: [0; ROOM], len: 0, count: 0 }
    }

    /// Adds the rule of a register, whose number is above those of all before it; `None` if there is no room for it.
    pub fn push(&mut self, register: u64, rule: Rule<'_>) -> Option<()> {
        let (kind, value) = match rule {
            Rule::Undefined => (layout::UNDEFINED, None),
            Rule::SameValue => (layout::SAME, None),
            Rule::Offset(offset) => (layout::OFFSET, Some(varint::zigzag(offset))),
            Rule::ValueOffset(offset) => (layout::VALUE_OFFSET, Some(varint::zigzag(offset))),
            Rule::Register(other) => (layout::REGISTER, Some(other)),
            Rule::Expression(bytes) => (layout::EXPRESSION, u64::try_from(bytes.len()).ok()),
            Rule::ValueExpression(bytes) => (layout::VALUE_EXPRESSION, u64::try_from(bytes.len()).ok()),
        };
        let before = self.len;
        let mut put = || {
            self.number(register.wrapping_shl(layout::KIND_BITS) | kind)?;
            value.map_or(Some(()), |value| self.number(value))?;
            if let Rule::Expression(bytes) | Rule::ValueExpression(bytes) = rule {
                self.copy(bytes)?;
            }
            Some(())
        };
        if put().is_none() {
            self.len = before;
            return None;
        }
        self.count = self.count.wrapping_add(1);
        Some(())
    }

    fn number(&mut self, value: u64) -> Option<()> {
        let mut bytes = [0; varint::MAX_LEN];
        let len = varint::write(value, &mut bytes);
        self.copy(bytes.get(..len)?)
    }

    fn copy(&mut self, from: &[u8]) -> Option<()> {
        let end = self.len.checked_add(from.len())?;
        for (to, from) in self.bytes.get_mut(self.len..end)?.iter_mut().zip(from) {
            *to = *from;
        }
        self.len = end;
        Some(())
    }
}

impl Default for Saves {
    fn default() -> Self {
        Self::new()
    }
}

impl<'d> Row<'d> {
    /// A row that a reader of other call frame information has found, for [`crate::Frame::step_by`]; it holds for all addresses.
    pub const fn new(cfa: Cfa<'d>, return_register: u64, signal: bool, saves: &'d Saves) -> Self {
        // All bytes: the reader of a rule looks at a whole word.
        Row {
            start: 0,
            end: u64::MAX,
            cfa,
            return_register,
            signal,
            saves: &saves.bytes,
            at: 0,
            count: saves.count,
        }
    }
}
