//! Finds the expressions of a function: where the lanes of a thread are, and where a method has its object (schema, section 10).
//!
//! This module finds the expressions; `foldsym-stopped` evaluates them. A lookup of frames reads none of this.

use foldsym_format::records::locations as code;
use foldsym_format::sections::located as columns;
use foldsym_format::{SectionId, Table, What, steps, varint};

use crate::error::{Error, InSection, large, small};
use crate::file::SymbolFile;
use crate::ids::{FunctionId, ImageAddr, ReturnAddr};

const LOCATIONS: SectionId = SectionId::LOCATIONS;
const LOCATED: SectionId = SectionId::LOCATED;

/// What an expression of a function gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LocationKind {
    /// The lanes that execute (`DW_AT_LLVM_active_lane`).
    ActiveLane,
    /// The program counter of each lane (`DW_AT_LLVM_lane_pc`).
    LanePc,
    /// Where the pointer to a method's object is.
    Object,
    /// `DW_AT_frame_base`.
    FrameBase,
}

impl LocationKind {
    const fn number(self) -> u64 {
        match self {
            LocationKind::ActiveLane => columns::ACTIVE_LANE,
            LocationKind::LanePc => columns::LANE_PC,
            LocationKind::Object => columns::OBJECT,
            LocationKind::FrameBase => columns::FRAME_BASE,
        }
    }
}

/// The expressions of a program's functions.
#[derive(Clone, Copy)]
pub struct Locations<'d> {
    data: &'d [u8],
    table: Table<'d>,
    image_base: u64,
}

/// A list of expressions, each with the addresses at which it holds.
#[derive(Clone, Copy)]
pub struct LocationList<'d> {
    locations: Locations<'d>,
    at: usize,
    count: u64,
}

/// What the expressions of a unit have in common.
#[derive(Clone, Copy)]
pub struct LocationUnit<'d> {
    locations: Locations<'d>,
    /// The unit's version.
    pub version: u16,
    /// 4, or 8 in 64-bit DWARF.
    pub offset_size: u8,
    /// Operations of the heterogeneous extensions have the codes of 2020.
    pub first_codes: bool,
    at: usize,
    count: u64,
}

/// An entry of a list: where it begins, its bytes, and the expression.
type ListEntry<'d> = (u64, u64, &'d [u8]);

/// What an expression may refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LocationKey {
    /// The expressions of an entry, by its offset from the unit's header.
    InUnit(u64),
    /// The expressions of an entry, by its offset in `.debug_info`.
    InSection(u64),
    /// A base type, by its offset from the unit's header.
    BaseType(u64),
    /// An address, by its index in the unit's part of `.debug_addr`.
    Address(u64),
}

/// What is found there.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum LocationTarget<'d> {
    /// Expressions.
    List(LocationList<'d>),
    /// Encoding (DWARF 5 7.8) and bytes of a base type.
    BaseType(u8, u8),
    /// A link-time address.
    Address(u64),
}

impl<'d> SymbolFile<'d> {
    /// Opens the expressions of functions; `None` if the file has none. Takes constant time.
    ///
    /// # Errors
    /// Sections that break the format, or one of the two missing.
    pub fn locations(&self) -> Result<Option<Locations<'d>>, Error> {
        let Some(data) = self.section_bytes(LOCATED) else { return Ok(None) };
        let table = Table::open(data, LOCATED.column_count(self.header().features)).within(LOCATED)?;
        let data = self.section_bytes(LOCATIONS).ok_or(Error::new(LOCATIONS, What::Missing, 0))?;
        Ok(Some(Locations { data, table, image_base: self.image_base().0 }))
    }
}

fn early(at: usize) -> Error {
    Error::new(LOCATIONS, What::Truncated, at as u64)
}

impl<'d> Locations<'d> {
    fn number(&self, at: &mut usize) -> Result<u64, Error> {
        let (value, behind) = varint::read(self.data, *at).ok_or(early(*at))?;
        *at = behind;
        Ok(value)
    }

    fn byte(&self, at: &mut usize) -> Result<u8, Error> {
        let byte = *self.data.get(*at).ok_or(early(*at))?;
        *at = at.saturating_add(1);
        Ok(byte)
    }

    /// The record of a function and kind: place and unit.
    fn find(&self, function: FunctionId, kind: u64) -> Result<Option<(i64, i64)>, Error> {
        let key = (i64::from(function.0), kind.cast_signed());
        let (mut first, mut end) = (0, self.table.len());
        while first < end {
            steps::step();
            let middle = first.saturating_add(end.saturating_sub(first) / 2);
            let [function, kind, place, unit] = self.table.record(middle).within(LOCATED)?;
            match (function, kind).cmp(&key) {
                core::cmp::Ordering::Equal => return Ok(Some((place, unit))),
                core::cmp::Ordering::Less => first = middle.saturating_add(1),
                core::cmp::Ordering::Greater => end = middle,
            }
        }
        Ok(None)
    }

    /// How many lanes a thread has in a function (`DW_AT_LLVM_lanes`); `None` if it does not say.
    ///
    /// # Errors
    /// Damage.
    pub fn lanes(&self, function: FunctionId) -> Result<Option<u32>, Error> {
        let Some((lanes, _)) = self.find(function, columns::LANES)? else { return Ok(None) };
        // For this kind the column has the number itself and no offset (schema, section 3).
        small(lanes, LOCATED, function.0).map(Some)
    }

    /// True if the compiler did not know the callee of the call that returns to an address, in the code of a function that kept its
    /// address. Always false for a file without object pointers. Takes log2 of the records of LOCATED and as many steps as the function has
    /// such calls.
    ///
    /// # Errors
    /// Damage.
    pub fn is_unknown_call(&self, function: FunctionId, call: ReturnAddr) -> Result<bool, Error> {
        let Some((place, _)) = self.find(function, columns::UNKNOWN_CALLS)? else { return Ok(false) };
        let mut list = self.list(usize::try_from(place).map_err(|_| early(usize::MAX))?)?;
        while let Some((start, len, _)) = list.next()? {
            // The entries cover the byte before a return address. One comparison checks both ends, since an address before `start` wraps.
            if call.lookup_address().0.wrapping_sub(start) < len {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The expressions of a function, and what they have in common; `None` if it has none of this kind.
    ///
    /// # Errors
    /// Damage.
    pub fn of(
        &self,
        function: FunctionId,
        kind: LocationKind,
    ) -> Result<Option<(LocationList<'d>, LocationUnit<'d>)>, Error> {
        let Some((place, unit)) = self.find(function, kind.number())? else { return Ok(None) };
        let offset = |place: i64| usize::try_from(place).map_err(|_| early(usize::MAX));
        Ok(Some((self.list(offset(place)?)?, self.unit(offset(unit)?)?)))
    }

    fn list(&self, mut at: usize) -> Result<LocationList<'d>, Error> {
        let count = self.number(&mut at)?;
        Ok(LocationList { locations: *self, at, count })
    }

    fn unit(&self, mut at: usize) -> Result<LocationUnit<'d>, Error> {
        let (version, offset_size) = (self.byte(&mut at)?, self.byte(&mut at)?);
        let wrong = Error::new(LOCATIONS, What::Value, at as u64);
        let first_codes = match self.byte(&mut at)? {
            code::USER_CODES => false,
            code::FIRST_CODES => true,
            _ => return Err(wrong),
        };
        if !matches!(offset_size, 4 | 8) {
            return Err(wrong);
        }
        let count = self.number(&mut at)?;
        Ok(LocationUnit { locations: *self, version: version.into(), offset_size, first_codes, at, count })
    }

    /// One entry of a list: the start, the bytes and the expression.
    fn entry(&self, at: &mut usize) -> Result<ListEntry<'d>, Error> {
        let (start, len, size) = (self.number(at)?, self.number(at)?, self.number(at)?);
        // In a damaged list the count does not bound the entries. The end of the section does, since each entry takes bytes.
        let end = usize::try_from(size).ok().and_then(|size| at.checked_add(size)).ok_or(early(*at))?;
        let expression = self.data.get(*at..end).ok_or(early(*at))?;
        *at = end;
        Ok((self.image_base.wrapping_add(start), len, expression))
    }

    /// One reference of a unit: its kind, key and value.
    fn reference(&self, at: &mut usize) -> Result<(u8, u64, u64), Error> {
        Ok((self.byte(at)?, self.number(at)?, self.number(at)?))
    }

    /// Checks every record that a function leads to; `spend` counts steps.
    pub(crate) fn verify(
        &self,
        functions: u32,
        spend: &mut dyn FnMut() -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.table.verify().within(LOCATED)?;
        // Below every record: a function is not negative.
        let mut before = (-1, 0);
        let mut checked = None;
        for record in 0..self.table.len() {
            let wrong = Error::new(LOCATED, What::Value, record.into());
            let [function, kind, place, unit] = self.table.record(record).within(LOCATED)?;
            if (function, kind) <= before {
                return Err(Error::new(LOCATED, What::Order, record.into()));
            }
            before = (function, kind);
            if function < 0
                || function >= functions.into()
                || kind < 0
                || kind > columns::UNKNOWN_CALLS.cast_signed()
            {
                return Err(wrong);
            }
            let (place, unit) = (large(place, LOCATED, record)?, large(unit, LOCATED, record)?);
            if kind == columns::LANES.cast_signed() {
                if unit != 0 || place == 0 || u32::try_from(place).is_err() {
                    return Err(wrong);
                }
                continue;
            }
            // A list of unknown calls has the same coding, with empty expressions.
            self.verify_list(place, spend)?;
            if kind == columns::UNKNOWN_CALLS.cast_signed() {
                if unit != 0 {
                    return Err(wrong);
                }
                continue;
            }
            // Functions of one unit are mostly adjacent.
            if checked != Some(unit) {
                self.verify_unit(unit, spend)?;
                checked = Some(unit);
            }
        }
        Ok(())
    }

    fn verify_list(&self, place: u64, spend: &mut dyn FnMut() -> Result<(), Error>) -> Result<(), Error> {
        let mut list = self.list(usize::try_from(place).map_err(|_| early(usize::MAX))?)?;
        // Functions and references may share a list, so its entries count at each use.
        while list.next()?.is_some() {
            spend()?;
        }
        Ok(())
    }

    fn verify_unit(&self, place: u64, spend: &mut dyn FnMut() -> Result<(), Error>) -> Result<(), Error> {
        let LocationUnit { mut at, count, .. } =
            self.unit(usize::try_from(place).map_err(|_| early(usize::MAX))?)?;
        let mut before = None;
        for _ in 0..count {
            spend()?;
            let (kind, key, value) = self.reference(&mut at)?;
            if before.is_some_and(|before| before >= (kind, key)) {
                return Err(Error::new(LOCATIONS, What::Order, at as u64));
            }
            before = Some((kind, key));
            match kind {
                code::BY_UNIT | code::BY_SECTION => self.verify_list(value, spend)?,
                // Encoding and size are a byte each (schema, section 10). `find` takes no more of the number.
                code::BASE_TYPE if value < 1 << 16 => {}
                code::ADDRESS => {}
                _ => return Err(Error::new(LOCATIONS, What::Value, at as u64)),
            }
        }
        Ok(())
    }
}

impl<'d> LocationList<'d> {
    fn next(&mut self) -> Result<Option<ListEntry<'d>>, Error> {
        let Some(left) = self.count.checked_sub(1) else { return Ok(None) };
        self.count = left;
        steps::step();
        self.locations.entry(&mut self.at).map(Some)
    }

    /// The expression that holds at an address: of the first entry with it in its range, else of one that holds wherever
    /// no other does; `None` if there is none.
    ///
    /// Takes a step for each entry.
    ///
    /// # Errors
    /// Damage.
    pub fn at(mut self, address: ImageAddr) -> Result<Option<&'d [u8]>, Error> {
        let mut fallback = None;
        while let Some((start, len, expression)) = self.next()? {
            // A default location description (DWARF 5 2.6.2) or a single expression: a bounded entry has precedence, even a later one.
            if len == 0 {
                fallback = fallback.or(Some(expression));
            } else if address.0.wrapping_sub(start) < len {
                return Ok(Some(expression));
            }
        }
        Ok(fallback)
    }

    /// Every entry: where it begins, its bytes (0: it holds wherever no other does), and the expression. Ends at the
    /// first damaged one.
    pub fn entries(mut self) -> impl Iterator<Item = (ImageAddr, u64, &'d [u8])> + use<'d> {
        core::iter::from_fn(move || {
            let (start, len, expression) = self.next().ok().flatten()?;
            Some((ImageAddr(start), len, expression))
        })
    }
}

impl<'d> LocationUnit<'d> {
    /// What an operation refers to; `None` if it is not kept: it was not there.
    ///
    /// Takes a step for each reference of the unit.
    ///
    /// # Errors
    /// Damage.
    pub fn find(&self, key: LocationKey) -> Result<Option<LocationTarget<'d>>, Error> {
        let wanted = match key {
            LocationKey::InUnit(key) => (code::BY_UNIT, key),
            LocationKey::InSection(key) => (code::BY_SECTION, key),
            LocationKey::BaseType(key) => (code::BASE_TYPE, key),
            LocationKey::Address(key) => (code::ADDRESS, key),
        };
        // References are sorted but have no fixed size, so a search has to read all references before the one that it seeks.
        let mut at = self.at;
        for _ in 0..self.count {
            steps::step();
            let (kind, key, value) = self.locations.reference(&mut at)?;
            if (kind, key) != wanted {
                continue;
            }
            return Ok(Some(match kind {
                code::BASE_TYPE => {
                    let [encoding, size, ..] = value.to_le_bytes();
                    LocationTarget::BaseType(encoding, size)
                }
                code::ADDRESS => LocationTarget::Address(value),
                _ => {
                    let place = usize::try_from(value).map_err(|_| early(usize::MAX))?;
                    LocationTarget::List(self.locations.list(place)?)
                }
            }));
        }
        Ok(None)
    }
}
