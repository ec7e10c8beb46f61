//! Walks the entries of one unit by a plan for each abbreviation: what is wanted of it, and how far it is to what
//! comes next.
//!
//! Nearly all entries of a program describe types, variables and parameters, that nobody asks for. An abbreviation
//! says of each attribute in which form it is written, so that most entries have a size that is known before
//! any of them is read (DWARF 5 7.5.6): such an entry is stepped over at once. In the others, runs of attributes
//! of known size are stepped over at once. Plans are made when an abbreviation is first met.
//!
//! Forms that compilers hardly write are left to `gimli`, one attribute at a time.

mod forms;

use gimli::{AttributeSpecification, AttributeValue, DwAt, Reader as _, UnitOffset};
use rustc_hash::FxHashMap;

use super::unit::MAX_ATTRIBUTES;
use super::{Bytes, Endianity};
use forms::{past, ranges, take, value};

/// What a walk asks for.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<R> {
    /// What an entry of this abbreviation is to the walk; `None` steps over it, but not over its children.
    pub(crate) role: fn(&gimli::Abbreviation) -> Option<R>,
    /// Abbreviations that [`Entries::has_noted`] tells of.
    pub(crate) noted: fn(&gimli::Abbreviation) -> bool,
    /// The attributes that [`Entries::attribute`] gives; others are stepped over.
    pub(crate) attributes: &'static [DwAt],
}

/// An entry that is wanted, while it is read: its attributes, or [`Entries::skip`], come next.
#[derive(Clone, Copy)]
pub(crate) struct Entry<R> {
    pub(crate) role: R,
    pub(crate) offset: UnitOffset,
    pub(crate) depth: isize,
    /// The least depth of this entry and of those that were stepped over since the last one: what encloses an
    /// entry ends before the first one that is not deeper.
    pub(crate) closes: isize,
    skip: u32,
    steps: (u32, u32),
    fields: (u32, u32),
}

/// An attribute that is wanted.
pub(crate) struct Attribute<'f, E: Endianity> {
    pub(crate) name: DwAt,
    /// Constants that are not negative are [`AttributeValue::Udata`], whatever their form.
    pub(crate) value: AttributeValue<Bytes<'f, E>>,
}

impl<'f, E: Endianity> Attribute<'f, E> {
    /// An attribute as `gimli` reads it.
    pub(crate) fn of(attribute: &gimli::Attribute<Bytes<'f, E>>) -> Self {
        let value = match (attribute.raw_value(), attribute.udata_value()) {
            (_, Some(number)) => AttributeValue::Udata(number),
            (AttributeValue::SecOffset(offset), _) if attribute.name() == gimli::DW_AT_ranges => {
                ranges(offset)
            }
            (value, _) => value,
        };
        Attribute { name: attribute.name(), value }
    }

    /// A constant that is not negative.
    pub(crate) fn number(&self) -> Option<u64> {
        match self.value {
            AttributeValue::Udata(number) => Some(number),
            _ => None,
        }
    }

    pub(crate) fn is_set(&self) -> bool {
        self.value == AttributeValue::Flag(true)
    }
}

/// How to get past a value whose size is not known.
#[derive(Clone, Copy)]
enum Past {
    Nothing,
    /// A LEB128.
    Leb,
    /// A block, after its length as a LEB128.
    Block,
    /// A block, after its length in so many bytes.
    Sized(u8),
    /// A string that ends in 0.
    Text,
    /// What only `gimli` knows: an index into [`Plans::specs`].
    Other(u32),
}

/// A value of unknown size, and the bytes of known size behind it.
#[derive(Clone, Copy)]
struct Step {
    past: Past,
    then: u32,
}

/// How a wanted value is written.
#[derive(Clone, Copy)]
enum Form {
    /// In so many bytes: 1 to 8.
    Bytes(u8),
    Leb,
    /// An expression, after its length as a LEB128.
    Expression,
    /// In the abbreviation: an index into [`Plans::specs`].
    Given(u32),
    /// As only `gimli` knows: an index into [`Plans::specs`].
    Other(u32),
}

/// What a wanted value means.
#[derive(Clone, Copy)]
enum Class {
    Address,
    AddressIndex,
    Number,
    Flag,
    UnitRef,
    InfoRef,
    Offset,
    Ranges,
    RangesIndex,
    Text,
    TextIndex,
}

/// Bytes of known size, and then an attribute that is wanted or whose size is not known.
#[derive(Clone, Copy)]
struct Field {
    skip: u32,
    name: DwAt,
    action: Action,
}

#[derive(Clone, Copy)]
enum Action {
    Pass(Past),
    Take(Form, Class),
}

/// What is known of an abbreviation.
#[derive(Clone, Copy)]
struct Plan<R> {
    /// False before the abbreviation was met.
    known: bool,
    children: bool,
    role: Option<R>,
    /// Bytes up to the first value of unknown size, and the way from there to the end of the entry.
    skip: u32,
    steps: (u32, u32),
    /// The same way with a stop at each wanted attribute.
    fields: (u32, u32),
}

/// Codes below this one, that compilers number densely, are found without a hash.
const DENSE: u64 = 1 << 14;

/// The plans of a unit's abbreviations.
struct Plans<R> {
    /// By code.
    dense: Vec<Plan<R>>,
    sparse: FxHashMap<u64, Plan<R>>,
    steps: Vec<Step>,
    fields: Vec<Field>,
    /// Attributes that are not read by their plan alone.
    specs: Vec<AttributeSpecification>,
}

/// A place among the entries of one unit.
pub(crate) struct Entries<'a, 'f, E: Endianity, R> {
    unit: &'a gimli::Unit<Bytes<'f, E>>,
    wanted: Wanted<R>,
    /// The entries, and the offset of the first in the unit.
    bytes: &'f [u8],
    root: usize,
    at: usize,
    depth: isize,
    endian: E,
    plans: Plans<R>,
    refused: bool,
    has_noted: bool,
}

impl<'a, 'f, E: Endianity, R: Copy> Entries<'a, 'f, E, R> {
    /// Stands before the unit's first entry.
    pub(crate) fn new(unit: &'a gimli::Unit<Bytes<'f, E>>, wanted: Wanted<R>) -> Self {
        let root = unit.header.root_offset();
        // A unit without a root was refused when it was parsed.
        let input = unit.header.range_from(root..).unwrap_or_default();
        let plans = Plans {
            dense: Vec::new(),
            sparse: FxHashMap::default(),
            steps: Vec::new(),
            fields: Vec::new(),
            specs: Vec::new(),
        };
        let (bytes, endian) = (input.slice(), input.endian());
        Entries {
            unit,
            wanted,
            bytes,
            root: root.0,
            at: 0,
            depth: 0,
            endian,
            plans,
            refused: false,
            has_noted: false,
        }
    }

    /// Where reading stands: behind an entry whose attributes were all read or skipped.
    pub(crate) fn next_offset(&self) -> UnitOffset {
        UnitOffset(self.root + self.at)
    }

    /// True where an entry of a noted abbreviation was met.
    pub(crate) fn has_noted(&self) -> bool {
        self.has_noted
    }

    /// True where the last error is that an entry has more attributes than are read.
    pub(crate) fn is_refused(&self) -> bool {
        self.refused
    }

    /// Goes to an entry; `None` where no wanted one is there.
    pub(crate) fn entry_at(&mut self, offset: UnitOffset) -> gimli::Result<Option<Entry<R>>> {
        let at = offset.0.checked_sub(self.root).filter(|&at| at < self.bytes.len());
        self.at = at.ok_or(gimli::Error::OffsetOutOfBounds(offset.0 as u64))?;
        let code = self.leb()?;
        if code == 0 {
            return Ok(None);
        }
        let &Plan { role, skip, steps, fields, .. } = self.plan(code)?;
        let depth = self.depth;
        Ok(role.map(|role| Entry { role, offset, depth, closes: depth, skip, steps, fields }))
    }

    /// The next entry that is wanted; `None` at the end of the unit.
    pub(crate) fn next(&mut self) -> gimli::Result<Option<Entry<R>>> {
        let mut closes = isize::MAX;
        while self.at < self.bytes.len() {
            let offset = UnitOffset(self.root + self.at);
            let code = self.leb()?;
            if code == 0 {
                self.depth -= 1;
                continue;
            }
            let &Plan { role, children, skip, steps, fields, .. } = match self.plans.dense.get(code as usize)
            {
                Some(plan) if plan.known => plan,
                _ => self.plan(code)?,
            };
            let depth = self.depth;
            closes = closes.min(depth);
            self.depth += isize::from(children);
            if let Some(role) = role {
                return Ok(Some(Entry { role, offset, depth, closes, skip, steps, fields }));
            }
            self.walk(skip, steps)?;
        }
        if self.at == self.bytes.len() { Ok(None) } else { Err(self.ended()) }
    }

    /// Steps over an entry of which nothing was read.
    pub(crate) fn skip(&mut self, entry: &Entry<R>) -> gimli::Result<()> {
        self.walk(entry.skip, entry.steps)
    }

    #[inline(always)]
    fn walk(&mut self, skip: u32, (first, last): (u32, u32)) -> gimli::Result<()> {
        self.at += skip as usize;
        for index in first..last {
            let Step { past, then } = self.plans.steps[index as usize];
            self.pass(past)?;
            self.at += then as usize;
        }
        Ok(())
    }

    /// The next wanted attribute of an entry; `None` behind the last one.
    pub(crate) fn attribute(&mut self, entry: &mut Entry<R>) -> gimli::Result<Option<Attribute<'f, E>>> {
        while entry.fields.0 < entry.fields.1 {
            let Field { skip, name, action } = self.plans.fields[entry.fields.0 as usize];
            entry.fields.0 += 1;
            self.at += skip as usize;
            let (form, class) = match action {
                Action::Take(form, class) => (form, class),
                Action::Pass(past) => {
                    self.pass(past)?;
                    continue;
                }
            };
            let raw = match form {
                Form::Bytes(size) => self.integer(size)?,
                Form::Leb => self.leb()?,
                Form::Expression => {
                    let len = self.leb()?;
                    let start = self.at;
                    self.advance(len)?;
                    let bytes = Bytes::new(&self.bytes[start..self.at], self.endian);
                    let value = AttributeValue::Exprloc(gimli::Expression(bytes));
                    return Ok(Some(Attribute { name, value }));
                }
                Form::Given(spec) => match self.plans.specs[spec as usize].implicit_const_value() {
                    Some(number @ ..0) => {
                        return Ok(Some(Attribute { name, value: AttributeValue::Sdata(number) }));
                    }
                    // A flag that is present is set.
                    number => number.unwrap_or(1) as u64,
                },
                Form::Other(spec) => return self.by_gimli(spec).map(Some),
            };
            return Ok(Some(Attribute { name, value: value(class, raw) }));
        }
        Ok(None)
    }

    /// The plan of an abbreviation, made where it is met for the first time.
    fn plan(&mut self, code: u64) -> gimli::Result<&Plan<R>> {
        if !self.plans.knows(code) {
            let unit = self.unit;
            let abbreviation = unit.abbreviations.get(code);
            let abbreviation = abbreviation.ok_or(gimli::Error::InvalidAbbreviationCode(code))?;
            if abbreviation.attributes().len() > MAX_ATTRIBUTES {
                self.refused = true;
                return Err(gimli::Error::InvalidAbbreviationCode(code));
            }
            let role = (self.wanted.role)(abbreviation);
            self.has_noted |= (self.wanted.noted)(abbreviation);
            let plan = self.plans.make(&unit.header, abbreviation, role, self.wanted.attributes);
            self.plans.insert(code, plan);
        }
        let plan =
            if code < DENSE { self.plans.dense.get(code as usize) } else { self.plans.sparse.get(&code) };
        plan.ok_or(gimli::Error::InvalidAbbreviationCode(code))
    }

    /// Steps over a value.
    #[inline(always)]
    fn pass(&mut self, past: Past) -> gimli::Result<()> {
        match past {
            Past::Nothing => {}
            Past::Leb => loop {
                let byte = *self.bytes.get(self.at).ok_or_else(|| self.ended())?;
                self.at += 1;
                if byte < 0x80 {
                    break;
                }
            },
            Past::Block => {
                let len = self.leb()?;
                self.advance(len)?;
            }
            Past::Sized(bytes) => {
                let len = self.integer(bytes)?;
                self.advance(len)?;
            }
            Past::Text => {
                let rest = self.bytes.get(self.at..).ok_or_else(|| self.ended())?;
                let len = rest.iter().position(|&byte| byte == 0).ok_or_else(|| self.ended())?;
                self.at += len + 1;
            }
            Past::Other(spec) => self.pass_by_gimli(spec)?,
        }
        Ok(())
    }

    #[cold]
    fn pass_by_gimli(&mut self, spec: u32) -> gimli::Result<()> {
        let mut entries = self.unit.entries_raw(Some(UnitOffset(self.root + self.at)))?;
        entries.skip_attributes(&[self.plans.specs[spec as usize]])?;
        self.at = entries.next_offset().0 - self.root;
        Ok(())
    }

    /// Reads an attribute of any form.
    #[cold]
    fn by_gimli(&mut self, spec: u32) -> gimli::Result<Attribute<'f, E>> {
        let mut entries = self.unit.entries_raw(Some(UnitOffset(self.root + self.at)))?;
        let attribute = entries.read_attribute(self.plans.specs[spec as usize])?;
        self.at = entries.next_offset().0 - self.root;
        Ok(Attribute::of(&attribute))
    }

    #[inline]
    fn advance(&mut self, len: u64) -> gimli::Result<()> {
        let left = self.bytes.len().checked_sub(self.at).ok_or_else(|| self.ended())?;
        if len > left as u64 {
            return Err(self.ended());
        }
        self.at += len as usize;
        Ok(())
    }

    #[cold]
    fn ended(&self) -> gimli::Error {
        gimli::Error::UnexpectedEof(Bytes::new(self.bytes, self.endian).offset_id())
    }

    /// An integer of 1 to 8 bytes.
    #[inline]
    fn integer(&mut self, size: u8) -> gimli::Result<u64> {
        let rest = self.bytes.get(self.at..).ok_or_else(|| self.ended())?;
        let little = self.endian.is_little_endian();
        let number = match rest.first_chunk() {
            Some(word) if little => u64::from_le_bytes(*word) & (u64::MAX >> (64 - 8 * u32::from(size))),
            _ => {
                let bytes = rest.get(..usize::from(size)).ok_or_else(|| self.ended())?;
                let byte = |sum: u64, byte: &u8| sum << 8 | u64::from(*byte);
                if little { bytes.iter().rev().fold(0, byte) } else { bytes.iter().fold(0, byte) }
            }
        };
        self.at += usize::from(size);
        Ok(number)
    }

    #[inline(always)]
    fn leb(&mut self) -> gimli::Result<u64> {
        match (self.bytes.get(self.at), self.bytes.get(self.at + 1)) {
            (Some(&byte @ ..0x80), _) => {
                self.at += 1;
                Ok(byte.into())
            }
            (Some(&low), Some(&high @ ..0x80)) => {
                self.at += 2;
                Ok(u64::from(low & 0x7f) | u64::from(high) << 7)
            }
            _ => self.long_leb(),
        }
    }

    #[cold]
    fn long_leb(&mut self) -> gimli::Result<u64> {
        let rest = self.bytes.get(self.at..).ok_or_else(|| self.ended())?;
        let mut input = Bytes::new(rest, self.endian);
        let value = input.read_uleb128()?;
        self.at = self.bytes.len() - input.len();
        Ok(value)
    }
}

impl<R: Copy> Plans<R> {
    fn knows(&self, code: u64) -> bool {
        if code < DENSE {
            self.dense.get(code as usize).is_some_and(|plan| plan.known)
        } else {
            self.sparse.contains_key(&code)
        }
    }

    fn insert(&mut self, code: u64, plan: Plan<R>) {
        if code >= DENSE {
            self.sparse.insert(code, plan);
            return;
        }
        if self.dense.len() <= code as usize {
            self.dense.resize(code as usize + 1, Plan { known: false, ..plan });
        }
        self.dense[code as usize] = plan;
    }

    /// Plans an abbreviation.
    fn make<'f, E: Endianity>(
        &mut self,
        header: &gimli::UnitHeader<Bytes<'f, E>>,
        abbreviation: &gimli::Abbreviation,
        role: Option<R>,
        attributes: &[DwAt],
    ) -> Plan<R> {
        let (first_step, first_field) = (self.steps.len(), self.fields.len());
        // Bytes before the first step, and since the last field. Sums that saturate lead past the end of any unit.
        let (mut skip, mut since) = (0u32, 0u32);
        for &spec in abbreviation.attributes() {
            let size = spec.size(header).and_then(|size| u8::try_from(size).ok());
            let index = self.specs.len() as u32;
            let past = size.map_or_else(|| past(spec.form(), index), |_| Past::Nothing);
            let wanted = role.is_some() && attributes.contains(&spec.name());
            let take = wanted.then(|| take(spec, header.encoding(), size, index));
            if matches!((past, take), (Past::Other(_), _) | (_, Some((Form::Given(_) | Form::Other(_), _)))) {
                self.specs.push(spec);
            }
            let bytes = size.map_or(0, u32::from);
            match self.steps[first_step..].last_mut() {
                _ if size.is_none() => self.steps.push(Step { past, then: 0 }),
                Some(step) => step.then = step.then.saturating_add(bytes),
                None => skip = skip.saturating_add(bytes),
            }
            let action = match take {
                Some((form, class)) => Action::Take(form, class),
                None if size.is_none() => Action::Pass(past),
                None => {
                    since = since.saturating_add(bytes);
                    continue;
                }
            };
            self.fields.push(Field { skip: since, name: spec.name(), action });
            since = 0;
        }
        if since > 0 {
            let action = Action::Pass(Past::Nothing);
            self.fields.push(Field { skip: since, name: gimli::DW_AT_null, action });
        }
        Plan {
            known: true,
            children: abbreviation.has_children(),
            role,
            skip,
            steps: (first_step as u32, self.steps.len() as u32),
            fields: (first_field as u32, self.fields.len() as u32),
        }
    }
}

#[cfg(test)]
mod tests;
