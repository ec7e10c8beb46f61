//! Counts what the functions of a program name as their line sequences (`DW_AT_LLVM_stmt_sequence`), by unit.
//!
//! Compilers write the value, and tools that rewrite a program may leave it as it was. Three things may be found: a value at which no
//! sequence begins, a value that names the sequence of another function, and a value that several functions have. The second is known by
//! the code that the sequence covers, or by its rows: they fit the declaration of another function at the address, and not this one's.
//! A value that several functions have is not wrong by itself: dsymutil merges the sequences of adjacent functions, and each function
//! has the rows at its own addresses.

use std::path::Path;

use crate::diagnostics::Kind;
use crate::error::ConvertError;
use crate::model::Unit;
use crate::open::{Files, ProgramSource, open_program};
use crate::options::Options;
use crate::read::options::ReadOptions;
use crate::read::read;
use crate::read::units::queue::Take;
use crate::read::units::split_files::SplitFiles;

/// What the functions of one unit, or of several, name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SequenceCounts {
    /// Functions with a `DW_AT_LLVM_stmt_sequence`, but for those that say that they have no row.
    pub values: u64,
    /// Values at which no sequence begins.
    pub no_sequence: u64,
    /// Values that name the sequence of another function.
    pub of_another: u64,
    /// Values that several functions of the unit have.
    pub shared: u64,
}

impl SequenceCounts {
    /// True if a value is wrong.
    pub fn is_wrong(&self) -> bool {
        self.no_sequence > 0 || self.of_another > 0
    }

    fn add(&mut self, other: SequenceCounts) {
        self.values += other.values;
        self.no_sequence += other.no_sequence;
        self.of_another += other.of_another;
        self.shared += other.shared;
    }
}

/// A unit with a value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SequenceUnit {
    /// The offset of its header in `.debug_info`; of a split unit, of its skeleton's.
    pub offset: u64,
    /// The last component of its `DW_AT_name`.
    pub name: Vec<u8>,
    /// The beginning of its `DW_AT_producer`.
    pub producer: Vec<u8>,
    /// What its functions name.
    pub counts: SequenceCounts,
}

/// What the functions of a program name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SequenceCheck {
    /// The units with a value, in the order of the file.
    pub units: Vec<SequenceUnit>,
    /// The first wrong value of each kind, in words.
    pub examples: Vec<String>,
}

impl SequenceCheck {
    /// The counts of all units.
    pub fn counts(&self) -> SequenceCounts {
        let mut all = SequenceCounts::default();
        self.units.iter().for_each(|unit| all.add(unit.counts));
        all
    }

    /// The producers with their numbers of units and their counts, by name.
    pub fn producers(&self) -> Vec<(&[u8], u64, SequenceCounts)> {
        let mut units: Vec<&SequenceUnit> = self.units.iter().collect();
        units.sort_by(|one, other| one.producer.cmp(&other.producer));
        let of_one = |units: &[&'_ SequenceUnit]| {
            let mut all = SequenceCounts::default();
            units.iter().for_each(|unit| all.add(unit.counts));
            all
        };
        let groups = units.chunk_by(|one, other| one.producer == other.producer);
        groups
            .map(|group| {
                let producer = self.units.iter().find(|unit| unit.producer == group[0].producer);
                (producer.map_or(&[][..], |unit| &unit.producer), group.len() as u64, of_one(group))
            })
            .collect()
    }
}

impl Take<'_> for SequenceCheck {
    fn take(&mut self, unit: Unit<'_>) {
        let Some(uses) = unit.records.sequences.filter(|uses| uses.values > 0) else { return };
        self.units.push(SequenceUnit {
            offset: unit.head.offset,
            name: unit.head.file_name.into_owned(),
            producer: uses.producer,
            counts: SequenceCounts {
                values: uses.values,
                no_sequence: uses.no_sequence,
                of_another: uses.of_another,
                shared: uses.shared,
            },
        });
    }
}

/// Reads a program and counts what its functions name as their line sequences. Only the units are read: nothing is placed or written.
///
/// ```
/// use std::path::Path;
///
/// use foldsym_convert::{Options, verify_sequences};
///
/// let program = Path::new("../../testbins/built/objects.clang-stmt-sequence");
/// let check = verify_sequences(program, &Options::default())?;
/// assert!(check.counts().values > 0 && !check.counts().is_wrong());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The program cannot be read.
pub fn verify_sequences(program: &Path, options: &Options) -> Result<SequenceCheck, ConvertError> {
    options.on_threads(|| {
        let (files, open_options) = (Files::default(), options.open());
        let (image, package) = open_program(&files, ProgramSource::Path(program), &open_options)?;
        let split = SplitFiles { files: &files, options: &open_options, package };
        let read_options = ReadOptions { sequences: true, ..ReadOptions::default() };
        let mut check = SequenceCheck::default();
        let diagnostics = read(&image, &split, read_options, &|_| (), &mut check);
        let wrong = [Kind::NoSequence, Kind::SequenceElsewhere, Kind::SwappedSequence, Kind::ForeignSequence];
        let seen = diagnostics.iter().filter(|(kind, _)| wrong.contains(kind));
        check.examples = seen.map(|(_, seen)| seen.example.clone()).collect();
        Ok(check)
    })?
}
