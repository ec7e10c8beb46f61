//! Decodes the DWARF of one program into [`Unit`]s, one unit at a time, in parallel over units.
//!
//! Of all entries only subprograms with code and what is inlined into them are kept; names, files and
//! lines of declaration are looked up where such a function refers to them. Only this module names
//! `gimli`. The order of the result is the order of the file, whatever the number of threads.

mod file;
mod line;
mod origin;
mod rows;
mod space;
mod unit;

use rayon::prelude::*;

use crate::model::Unit;
use crate::open::{AddressRange, Image};
use crate::report::{Diagnostics, Kind};
use space::Space;

/// The bytes of a debug section, with their byte order.
pub(crate) type Bytes<'f, E> = gimli::EndianSlice<'f, E>;
pub(crate) type Dwarf<'f, E> = gimli::Dwarf<Bytes<'f, E>>;

/// A byte order known at compile time, so that the decoding of every form is inlined.
pub(crate) trait Endianity: gimli::Endianity + Send + Sync {}
impl Endianity for gimli::LittleEndian {}
impl Endianity for gimli::BigEndian {}

/// What the reader should keep.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReadOptions {
    /// Keep the columns of rows and calls.
    pub columns: bool,
}

/// Everything that was read, in the order of the file.
pub struct Read<'f> {
    pub units: Vec<Unit<'f>>,
    pub diagnostics: Diagnostics,
}

/// Reads every unit of the image's debug information. An image without any gives no unit.
pub fn read<'f>(image: &Image<'f>, options: ReadOptions, advance: &(dyn Fn(u64) + Sync)) -> Read<'f> {
    if image.arch.big_endian {
        read_with(image, gimli::BigEndian, options, advance)
    } else {
        read_with(image, gimli::LittleEndian, options, advance)
    }
}

fn read_with<'f, E: Endianity>(
    image: &Image<'f>,
    endian: E,
    options: ReadOptions,
    advance: &(dyn Fn(u64) + Sync),
) -> Read<'f> {
    let mut diagnostics = Diagnostics::default();
    let space = Space::new(image, endian, &mut diagnostics);
    let code = Code::new(image);
    let read: Vec<(Unit<'f>, Diagnostics)> = (0..space.main.headers.len())
        .into_par_iter()
        .filter_map(|index| {
            let header = &space.main.headers[index];
            let unit = unit::read(&space, &code, index, options);
            advance(header.length_including_self() as u64);
            unit
        })
        .collect();
    let mut units = Vec::with_capacity(read.len());
    for (unit, counted) in read {
        units.push(unit);
        diagnostics.merge(counted);
    }
    Read { units, diagnostics }
}

/// The executable sections of the image: what tells a live address from a tombstone.
pub(crate) struct Code {
    /// Sorted and disjoint.
    ranges: Vec<AddressRange>,
}

impl Code {
    fn new(image: &Image<'_>) -> Code {
        let mut ranges: Vec<AddressRange> = image
            .sections
            .iter()
            .filter(|s| s.executable)
            .map(|s| s.range)
            .filter(|r| r.start < r.end)
            .collect();
        ranges.sort();
        let mut merged: Vec<AddressRange> = Vec::with_capacity(ranges.len());
        for range in ranges {
            match merged.last_mut() {
                Some(last) if range.start < last.end => last.end = last.end.max(range.end),
                _ => merged.push(range),
            }
        }
        Code { ranges: merged }
    }

    /// True where `address` lies in an executable section.
    pub(crate) fn contains(&self, address: u64) -> bool {
        self.section(address).is_some()
    }

    /// The executable section that `address` lies in.
    pub(crate) fn section(&self, address: u64) -> Option<AddressRange> {
        let after = self.ranges.partition_point(|r| r.start <= address);
        let range = *self.ranges.get(after.checked_sub(1)?)?;
        (address < range.end).then_some(range)
    }
}

/// Counts the damage of a unit's header walk.
fn bad_unit(diagnostics: &mut Diagnostics, offset: u64, error: gimli::Error) {
    diagnostics.add(Kind::BadUnit, offset, || format!("unit at .debug_info+{offset:#x}: {error}"));
}
