//! Walks the entries of one unit with a plan for each abbreviation. A plan says which attributes are wanted, and how many
//! bytes to skip between them.
//!
//! Nearly all entries of a program describe types, variables and parameters, which are not needed. An abbreviation gives
//! the form of each attribute. If all its forms have a fixed size (DWARF 5 7.5.6), all its entries have the same size, and
//! each is skipped in one step. In other entries, runs of attributes with fixed sizes are skipped in one step. A plan is made
//! when the walk first meets an abbreviation. Units that declare the same abbreviation again reuse it.
//!
//! `gimli` reads forms that compilers seldom write, one attribute at a time.

mod forms;
mod plan;
mod plan_cache;
#[cfg(test)]
mod tests;

use gimli::{AttributeValue, DwAt, Reader as _, UnitOffset};

use crate::read::sections::abbreviations::{Abbreviation, Abbreviations, Declaration};
use crate::read::sections::bytes::{Bytes, Endianity};
use crate::read::sections::entries::forms::{Form, Past};
use crate::read::sections::entries::forms::{ranges, value};
pub(crate) use crate::read::sections::entries::plan::Plans;
use crate::read::sections::entries::plan::{EntryPlan, Field, FieldAction, ListPart, VariableStep};

/// The entries and attributes that a walk wants.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<R> {
    /// The role of an entry with this abbreviation. `None` skips the entry, but not its children.
    pub(crate) role: fn(&Abbreviation) -> Option<R>,
    /// True for a role that is wanted only inside an entry that is open (see [`Entries::next`]).
    pub(crate) inner: fn(R) -> bool,
    /// True for an attribute that [`Entries::attribute`] returns. Other attributes are skipped.
    pub(crate) attribute: fn(DwAt) -> bool,
}

/// A wanted entry. The caller must read all its attributes or call [`Entries::skip`] before the next entry.
#[derive(Clone, Copy)]
pub(crate) struct Entry<R> {
    pub(crate) role: R,
    pub(crate) offset: UnitOffset,
    pub(crate) depth: isize,
    /// The least depth of this entry and of all entries skipped since the last wanted one. An open entry of depth `d` has
    /// ended if `closes <= d`.
    pub(crate) closes: isize,
    skip: u32,
    steps: ListPart,
    fields: ListPart,
}

/// A wanted attribute.
pub(crate) struct Attribute<'f, E: Endianity> {
    pub(crate) name: DwAt,
    /// Constants of 0 and more are [`AttributeValue::Udata`], whatever their form.
    pub(crate) value: AttributeValue<Bytes<'f, E>>,
}

impl<'f, E: Endianity> Attribute<'f, E> {
    /// Converts an attribute that `gimli` read.
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

    /// The value, if it is a constant of 0 or more.
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

/// Why [`Entries::scan`] stopped.
enum ScanStop<R> {
    /// After the code of a wanted entry.
    Entry(Entry<R>),
    /// Before an entry whose abbreviation has no plan yet; this is its code.
    New(u64),
    End,
}

/// A cursor over the entries of one unit.
pub(crate) struct Entries<'a, 'f, E: Endianity, R> {
    unit: &'a gimli::Unit<Bytes<'f, E>>,
    abbreviations: Abbreviations<'a, 'f>,
    wanted: Wanted<R>,
    /// The bytes of the entries, and the unit offset of the first one.
    bytes: &'f [u8],
    root: usize,
    at: usize,
    depth: isize,
    endian: E,
    plans: Plans<R>,
    refused: bool,
}

impl<'a, 'f, E: Endianity, R: Copy> Entries<'a, 'f, E, R> {
    /// A cursor before the unit's first entry. `plans` must come from a walk with the same `wanted`.
    pub(crate) fn new(
        unit: &'a gimli::Unit<Bytes<'f, E>>,
        abbreviations: Abbreviations<'a, 'f>,
        wanted: Wanted<R>,
        mut plans: Plans<R>,
    ) -> Self {
        let root = unit.header.root_offset();
        // A unit without a root does not get here: parsing it failed.
        let input = unit.header.range_from(root..).unwrap_or_default();
        plans.begin();
        let (bytes, endian) = (input.slice(), input.endian());
        let (root, refused) = (root.0, false);
        Entries { unit, abbreviations, wanted, bytes, root, at: 0, depth: 0, endian, plans, refused }
    }

    /// Returns the plans, for the next unit.
    pub(crate) fn into_plans(self) -> Plans<R> {
        self.plans
    }

    /// The offset of the next entry. All attributes of the current entry must have been read or skipped.
    pub(crate) fn next_offset(&self) -> UnitOffset {
        UnitOffset(self.root + self.at)
    }

    /// True if the last error was that an abbreviation has too many attributes.
    pub(crate) fn is_refused(&self) -> bool {
        self.refused
    }

    /// Moves before the entry at this offset. Its depth is 0 then.
    ///
    /// # Errors
    /// The offset is outside of the unit.
    pub(crate) fn start(&mut self, offset: UnitOffset) -> gimli::Result<()> {
        let at = offset.0.checked_sub(self.root).filter(|&at| at < self.bytes.len());
        (self.at, self.depth) = (at.ok_or(gimli::Error::OffsetOutOfBounds(offset.0 as u64))?, 0);
        Ok(())
    }

    /// Skips null entries that end lists of siblings inside an entry of depth `outer`. False if this entry itself has ended.
    pub(crate) fn is_inside(&mut self, outer: isize) -> bool {
        // A null entry ends a list of siblings (DWARF 5 2.3). There is one for each level that ends here.
        while self.depth > outer && self.bytes.get(self.at) == Some(&0) {
            (self.at, self.depth) = (self.at + 1, self.depth - 1);
        }
        self.depth > outer && self.at < self.bytes.len()
    }

    /// Moves to the entry at this offset; `None` if it is not wanted.
    pub(crate) fn entry_at(&mut self, offset: UnitOffset) -> gimli::Result<Option<Entry<R>>> {
        let at = offset.0.checked_sub(self.root).filter(|&at| at < self.bytes.len());
        let code;
        (code, self.at) = self.leb(at.ok_or(gimli::Error::OffsetOutOfBounds(offset.0 as u64))?)?;
        if code == 0 {
            return Ok(None);
        }
        let EntryPlan { role, skip, steps, fields, .. } = match self.plans.get(code) {
            Some(plan) => *plan,
            None => self.plan(code)?,
        };
        // The depth of an entry that was not reached by a walk is not known. Its caller reads only its attributes and
        // does not need it.
        let depth = self.depth;
        Ok(role.map(|role| Entry { role, offset, depth, closes: depth, skip, steps, fields }))
    }

    /// The next wanted entry; `None` at the end of the unit. `outer` is the depth of an open entry: after its end, entries
    /// with a role of [`Wanted::inner`] are skipped.
    pub(crate) fn next(&mut self, outer: isize) -> gimli::Result<Option<Entry<R>>> {
        let mut closes = isize::MAX;
        loop {
            let found;
            (self.at, self.depth, closes, found) = self.scan(outer, closes)?;
            match found {
                ScanStop::Entry(entry) => return Ok(Some(entry)),
                ScanStop::New(code) => {
                    self.plan(code)?;
                }
                // Skipping an entry does not check the end of the unit. A position past the end shows that the last entry
                // is cut off.
                ScanStop::End if self.at == self.bytes.len() => return Ok(None),
                ScanStop::End => return Err(self.ended()),
            }
        }
    }

    /// Finds the next wanted entry or the next abbreviation without a plan. Returns position, depth and least depth so far. It
    /// takes `&self`, so that the state of this loop over millions of entries stays in registers.
    fn scan(&self, outer: isize, mut closes: isize) -> gimli::Result<(usize, isize, isize, ScanStop<R>)> {
        let (bytes, plans) = (self.bytes, &self.plans);
        let (mut at, mut depth) = (self.at, self.depth);
        while let Some(&byte) = bytes.get(at) {
            let start = at;
            at += 1;
            let code = match byte {
                0 => {
                    depth -= 1;
                    continue;
                }
                // Compilers number the abbreviations of a unit from 1 on, so nearly all codes have one byte, and the
                // others two.
                1..0x80 => u64::from(byte),
                _ => match bytes.get(at) {
                    Some(&high @ 1..0x80) => {
                        at += 1;
                        u64::from(byte & 0x7f) | u64::from(high) << 7
                    }
                    _ => {
                        let code;
                        (code, at) = self.long_leb(start)?;
                        // A padded 0 has several bytes.
                        if code == 0 {
                            depth -= 1;
                            continue;
                        }
                        code
                    }
                },
            };
            // This case is more than half of all entries.
            if let Some((past, children)) = plans.quick(code) {
                closes = closes.min(depth);
                depth += children;
                at += past;
                continue;
            }
            let Some(plan) = plans.get(code) else { return Ok((start, depth, closes, ScanStop::New(code))) };
            closes = closes.min(depth);
            // If `closes` is not deeper than the open entry, that entry has ended, although the caller does not know it
            // yet.
            if let Some(role) = plan.role
                && (!plan.inner || closes > outer)
            {
                let &EntryPlan { skip, steps, fields, .. } = plan;
                let offset = UnitOffset(self.root + start);
                let entry = Entry { role, offset, depth, closes, skip, steps, fields };
                return Ok((at, depth + isize::from(plan.children), closes, ScanStop::Entry(entry)));
            }
            depth += isize::from(plan.children);
            at = self.past_all(at, plan.skip, plan.steps)?;
        }
        Ok((at, depth, closes, ScanStop::End))
    }

    /// Skips an entry of which no attribute was read.
    pub(crate) fn skip(&mut self, entry: &Entry<R>) -> gimli::Result<()> {
        self.at = self.past_all(self.at, entry.skip, entry.steps)?;
        Ok(())
    }

    /// The position after an entry. `at` is the position after its code.
    #[inline(always)]
    fn past_all(&self, at: usize, skip: u32, steps: ListPart) -> gimli::Result<usize> {
        // Not checked against the end of the unit: reads at a position past the end fail, and `next` compares the
        // position.
        let mut at = at + skip as usize;
        if !steps.is_empty() {
            for &VariableStep { past, then } in &self.plans.steps[steps.first as usize..steps.end as usize] {
                at = self.past(past, at)? + then as usize;
            }
        }
        Ok(at)
    }

    /// The next wanted attribute of an entry; `None` after the last one.
    #[inline(always)]
    pub(crate) fn attribute(&mut self, entry: &mut Entry<R>) -> gimli::Result<Option<Attribute<'f, E>>> {
        while !entry.fields.is_empty() {
            let Field { skip, name, action } = self.plans.fields[entry.fields.first as usize];
            entry.fields.first += 1;
            self.at += skip as usize;
            let (form, class) = match action {
                FieldAction::Take(form, class) => (form, class),
                FieldAction::Pass(past) => {
                    self.at = self.past(past, self.at)?;
                    continue;
                }
            };
            let raw;
            (raw, self.at) = match form {
                Form::Bytes(size) => self.integer(self.at, size)?,
                Form::Leb => self.leb(self.at)?,
                Form::Expression => {
                    let (len, start) = self.leb(self.at)?;
                    self.at = self.behind(start, len)?;
                    let bytes = Bytes::new(&self.bytes[start..self.at], self.endian);
                    let value = AttributeValue::Exprloc(gimli::Expression(bytes));
                    return Ok(Some(Attribute { name, value }));
                }
                Form::AddressOffset => {
                    let start = self.at;
                    self.at = self.past_long(Past::LebAndWord, start)?;
                    let value = AttributeValue::Block(Bytes::new(&self.bytes[start..self.at], self.endian));
                    return Ok(Some(Attribute { name, value }));
                }
                Form::Given(spec) => match self.plans.specs[spec as usize].implicit_const_value() {
                    // As gimli gives it: a negative constant must not become a number near 2^64, which `number` would
                    // return.
                    Some(number @ ..0) => {
                        return Ok(Some(Attribute { name, value: AttributeValue::Sdata(number) }));
                    }
                    // Without a constant it is `DW_FORM_flag_present`, which means true.
                    number => (number.unwrap_or(1) as u64, self.at),
                },
                Form::Other(spec) => return self.by_gimli(spec).map(Some),
            };
            return Ok(Some(Attribute { name, value: value(class, raw) }));
        }
        Ok(None)
    }

    /// The plan of an abbreviation whose code this unit uses for the first time.
    #[inline(never)]
    fn plan(&mut self, code: u64) -> gimli::Result<EntryPlan<R>> {
        let (declaration, encoding) = (self.abbreviations.get(code)?, self.unit.encoding());
        // The encoding is a part of the key: the sizes of addresses and of offsets give the number of bytes to skip
        // (DWARF 5 7.5.6).
        let plan = match self.plans.kept.get(declaration.bytes(), encoding) {
            Some(plan) => plan,
            None => self.new_plan(code, declaration)?,
        };
        self.plans.insert(code, plan);
        Ok(plan)
    }

    #[cold]
    fn new_plan(&mut self, code: u64, declaration: Declaration<'f>) -> gimli::Result<EntryPlan<R>> {
        let Some(abbreviation) = declaration.read() else {
            self.refused = true;
            return Err(gimli::Error::InvalidAbbreviationCode(code));
        };
        let role = (self.wanted.role)(&abbreviation);
        let mut plan = self.plans.make(&self.unit.header, &abbreviation, role, self.wanted.attribute);
        plan.inner = role.is_some_and(self.wanted.inner);
        self.plans.kept.keep(declaration.bytes(), self.unit.encoding(), plan);
        Ok(plan)
    }

    /// The position after the value at `at`.
    #[inline(always)]
    fn past(&self, past: Past, mut at: usize) -> gimli::Result<usize> {
        match past {
            Past::Nothing => Ok(at),
            Past::Leb => loop {
                let byte = *self.bytes.get(at).ok_or_else(|| self.ended())?;
                at += 1;
                if byte < 0x80 {
                    return Ok(at);
                }
            },
            // Nearly all blocks have fewer than 128 bytes.
            Past::Block => match self.bytes.get(at) {
                Some(&len @ ..0x80) if usize::from(len) < self.bytes.len() - at => {
                    Ok(at + 1 + usize::from(len))
                }
                _ => self.past_long(past, at),
            },
            _ => self.past_long(past, at),
        }
    }

    #[inline(never)]
    fn past_long(&self, past: Past, at: usize) -> gimli::Result<usize> {
        let (len, at) = match past {
            Past::Nothing | Past::Leb => (0, at),
            Past::Block => self.leb(at)?,
            Past::Sized(bytes) => self.integer(at, bytes)?,
            Past::LebAndWord => (4, self.leb(at)?.1),
            Past::Text => {
                let rest = self.bytes.get(at..).ok_or_else(|| self.ended())?;
                let len = rest.iter().position(|&byte| byte == 0).ok_or_else(|| self.ended())?;
                (len as u64 + 1, at)
            }
            Past::Other(spec) => {
                let mut entries = self.unit.entries_raw(Some(UnitOffset(self.root + at)))?;
                // Such as `DW_FORM_indirect`, which has the real form in the entry (DWARF 5 7.5.3).
                entries.skip_attributes(&[self.plans.specs[spec as usize]])?;
                (0, entries.next_offset().0 - self.root)
            }
        };
        self.behind(at, len)
    }

    /// The position after `len` bytes at `at`; an error if the unit ends before.
    fn behind(&self, at: usize, len: u64) -> gimli::Result<usize> {
        let left = self.bytes.len().checked_sub(at).ok_or_else(|| self.ended())?;
        if len > left as u64 {
            return Err(self.ended());
        }
        Ok(at + len as usize)
    }

    /// Reads an attribute of any form with `gimli`.
    #[cold]
    fn by_gimli(&mut self, spec: u32) -> gimli::Result<Attribute<'f, E>> {
        let mut entries = self.unit.entries_raw(Some(UnitOffset(self.root + self.at)))?;
        let attribute = entries.read_attribute(self.plans.specs[spec as usize])?;
        self.at = entries.next_offset().0 - self.root;
        Ok(Attribute::of(&attribute))
    }

    #[cold]
    fn ended(&self) -> gimli::Error {
        gimli::Error::UnexpectedEof(Bytes::new(self.bytes, self.endian).offset_id())
    }

    /// The integer of 1 to 8 bytes at `at`, and the position after it.
    #[inline]
    fn integer(&self, at: usize, size: u8) -> gimli::Result<(u64, usize)> {
        let rest = self.bytes.get(at..).ok_or_else(|| self.ended())?;
        let little = self.endian.is_little_endian();
        // Mostly one load of 8 bytes, whose surplus is masked. The last 7 bytes of a unit, and big-endian input, take
        // the slow way.
        let number = match rest.first_chunk() {
            Some(word) if little => u64::from_le_bytes(*word) & (u64::MAX >> (64 - 8 * u32::from(size))),
            _ => {
                let bytes = rest.get(..usize::from(size)).ok_or_else(|| self.ended())?;
                let byte = |sum: u64, byte: &u8| sum << 8 | u64::from(*byte);
                if little { bytes.iter().rev().fold(0, byte) } else { bytes.iter().fold(0, byte) }
            }
        };
        Ok((number, at + usize::from(size)))
    }

    /// The LEB128 number at `at`, and the position after it.
    #[inline(always)]
    fn leb(&self, at: usize) -> gimli::Result<(u64, usize)> {
        match (self.bytes.get(at), self.bytes.get(at + 1)) {
            (Some(&byte @ ..0x80), _) => Ok((byte.into(), at + 1)),
            (Some(&low), Some(&high @ ..0x80)) => Ok((u64::from(low & 0x7f) | u64::from(high) << 7, at + 2)),
            _ => self.long_leb(at),
        }
    }

    #[cold]
    fn long_leb(&self, at: usize) -> gimli::Result<(u64, usize)> {
        let rest = self.bytes.get(at..).ok_or_else(|| self.ended())?;
        let mut input = Bytes::new(rest, self.endian);
        let value = input.read_uleb128()?;
        Ok((value, self.bytes.len() - input.len()))
    }
}
