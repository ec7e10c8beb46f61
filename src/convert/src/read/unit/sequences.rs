//! Assigns line sequences to functions that begin at the same address.
//!
//! The sequences of folded functions start at one address. `DW_AT_LLVM_stmt_sequence` says which sequence belongs to which
//! function. Without it, the lines of the declarations decide (see [`pair`]), after all functions of the unit are known. If
//! nothing decides, a function gets no lines, so that it never gets the lines of another.
//!
//! Tools that rewrite linked programs may swap these attributes. If a function has no row in the sequence that it names, but
//! has one in another sequence there, the declarations of all functions at the address decide as well.
//!
//! Each function has one sequence. A sequence that is left over shows that there are more functions than the unit
//! describes, so it is kept for `recover` (`unclaimed`). If it may also belong to a function that got no lines, it is kept
//! without its rows (`in_doubt`).

use std::ops::Range;

use crate::diagnostics::{Cap, Kind};
use crate::model::{AddressRange, ImageAddr, LocalOrigin, NONE16, Unit};
use crate::read::limits::MAX_FOLDED;
use crate::read::sections::bytes::Endianity;
use crate::read::sections::line::LineRow;
use crate::read::unit::assign::{Assign, InlinedFirst, RowOwner, SharedPiece};
use crate::read::unit::numbering::Numbering;
use crate::toolchain::itanium_abi::is_thunk;
use crate::util::budget::STEPS_PER_ITEM;
use crate::util::hash::HashMap;
use crate::util::pair::{Fit, Paired, SourcePlace, pair};

/// The erased functions of the unit that may have been folded into functions of the same size.
#[derive(Default)]
pub(crate) struct FoldedHere<'u, 'f> {
    unit: Option<&'u Unit<'f>>,
    /// (size, index into [`UnitRecords::erased`](crate::model::UnitRecords::erased)) of the functions that were not removed, sorted.
    by_size: Vec<(u64, usize)>,
}

impl<'u, 'f> FoldedHere<'u, 'f> {
    pub(crate) fn new(unit: &'u Unit<'f>) -> FoldedHere<'u, 'f> {
        let erased = unit.records.erased.iter().enumerate();
        let mut by_size: Vec<(u64, usize)> = erased
            .filter(|(_, erased)| !erased.removed)
            .map(|(index, erased)| (erased.size, index))
            .collect();
        by_size.sort_unstable();
        FoldedHere { unit: Some(unit), by_size }
    }

    /// Place and size of an erased function.
    fn function<E: Endianity>(
        &self,
        ids: &Numbering<'_, '_, E>,
        index: usize,
    ) -> Option<(SourcePlace<u16>, u64)> {
        let unit = self.unit?;
        let erased = unit.records.erased.get(index)?;
        let inlined = unit
            .traces
            .lost
            .get(erased.lost.scopes.start as usize)
            .filter(|_| !erased.lost.scopes.is_empty());
        let call = inlined.and_then(|scope| unit.tables.edges.get(scope.edge.index()));
        let first = call.map(|call| InlinedFirst { file: call.file, line: call.line });
        Some((place_of(ids, erased.origin, first, !erased.lost.any()), erased.size))
    }
}

impl Assign<'_> {
    /// True if several sequences start or have a row at an address.
    pub(crate) fn is_shared(&self, start: u64) -> bool {
        // Two are enough to know. Looking for joined sequences costs more, so it comes second.
        let here = self.lines.starting(start).take(2).count();
        here > 1 || here + self.lines.passing(start, &self.limits.compared).len() > 1
    }

    /// Assigns rows to the pieces that waited for the end of the walk.
    pub(crate) fn settle<E: Endianity>(&mut self, ids: &mut Numbering<'_, '_, E>, unit: &Unit<'_>) {
        let mut shared = std::mem::take(&mut self.shared);
        // `by_start` needs the pieces of an address side by side. Those of one address stay in the order of their DIEs.
        shared.sort_by_key(|shared| (self.code.pieces[shared.piece].start, shared.piece));
        let (named, shared): (Vec<_>, Vec<_>) = shared.into_iter().partition(|shared| shared.named.is_some());
        // Sequences that functions name come first: they are claimed then, and the other functions are compared with the rest.
        for group in self.by_start(&named) {
            self.settle_named(ids, &named[group]);
        }
        let groups = self.by_start(&shared);
        let folded = FoldedHere::new(unit);
        for group in groups {
            self.settle_one(ids, &shared[group], &folded);
        }
        if self.limits.compared.is_short() {
            let offset = self.unit_offset;
            ids.diagnostics.add(Kind::Cap(Cap::SequenceComparisons), offset, || {
                format!("the unit at {offset:#x} takes over {STEPS_PER_ITEM} steps for each of its rows to find whose they are: some functions have no lines")
            });
        }
    }

    /// Groups pieces by address, as index ranges.
    fn by_start(&self, shared: &[SharedPiece]) -> Vec<Range<usize>> {
        let start_of = |shared: &SharedPiece| self.code.pieces[shared.piece].start;
        let groups = shared.chunk_by(|a, b| start_of(a) == start_of(b)).scan(0, |at, group| {
            *at += group.len();
            Some(*at - group.len()..*at)
        });
        groups.collect()
    }

    /// Assigns to each piece the sequence that its function names, or its own if the attributes were swapped.
    fn settle_named<E: Endianity>(&mut self, ids: &mut Numbering<'_, '_, E>, here: &[SharedPiece]) {
        let start = self.code.pieces[here[0].piece].start.0;
        let named = |shared: &SharedPiece| shared.named.unwrap_or_default();
        let end = here.iter().map(|shared| self.lines.sequences[named(shared)].end).max().unwrap_or(start);
        let range = AddressRange::new(ImageAddr(start), ImageAddr(end));
        // Linkers fold equal bytes only, so the sequences of folded functions end together. A sequence with another end
        // is no swapped one.
        let of_end = |&index: &usize| self.lines.sequences[index].end == end;
        let sequences: Vec<usize> =
            self.lines.starting(start).map(|(index, _)| index).filter(of_end).take(MAX_FOLDED).collect();
        let mut of = Vec::new();
        // Almost always each function has a row in its own sequence, and then the sequences are not compared with each
        // other.
        if here.len() <= MAX_FOLDED && here.iter().any(|shared| self.names_another(ids, shared, &sequences)) {
            let kinds = self.kinds(&sequences, range);
            // Kinds that are not whole prove no swap.
            if !self.limits.compared.is_short() {
                of = self.told_apart(ids, here, &FoldedHere::default(), kinds, range).0;
            }
        }
        for (at, shared) in here.iter().enumerate() {
            let named = named(shared);
            // Without a proof of a swap the attribute counts.
            let own = of.get(at).copied().flatten().unwrap_or(named);
            let rows = |index: usize| &self.lines.rows[self.lines.rows_within(index, range)];
            if own != named && rows(own) != rows(named) {
                ids.diagnostics.add(Kind::SwappedSequence, start, || {
                    format!(
                        "the DW_AT_LLVM_stmt_sequence of a function at {start:#x} refers to the sequence of another: the one that fits \
                         its declaration was used"
                    )
                });
            }
            self.settle_rows(ids, shared, RowOwner::Sequence(own));
        }
    }

    /// True if a function has no row in the sequence that it names, but has one in another.
    fn names_another<E: Endianity>(
        &mut self,
        ids: &mut Numbering<'_, '_, E>,
        shared: &SharedPiece,
        sequences: &[usize],
    ) -> bool {
        let mut has_row = |index: usize| {
            let rows = self.lines.sequences[index].rows.clone();
            self.distance(ids, place_of(ids, shared.origin, None, false), rows).is_some()
        };
        shared.named.is_some_and(|named| !has_row(named)) && sequences.iter().any(|&index| has_row(index))
    }

    fn settle_one<E: Endianity>(
        &mut self,
        ids: &mut Numbering<'_, '_, E>,
        here: &[SharedPiece],
        folded: &FoldedHere<'_, '_>,
    ) {
        let start = self.code.pieces[here[0].piece].start.0;
        // If dsymutil joined sequences, only the part at these functions counts, and another function may have claimed the
        // sequence already.
        let passing = self.lines.passing(start, &self.limits.compared);
        let lens = here.iter().map(|shared| u64::from(self.code.pieces[shared.piece].len));
        let end = lens.max().map_or(u64::MAX, |len| start + len);
        let mut joined = !passing.is_empty();
        let mut sequences: Vec<usize> = Vec::new();
        for (index, sequence) in self.lines.starting(start) {
            let longer = sequence.end > end;
            // True if the sequence has a row at the end of these functions, so that another function begins there.
            let rows = &self.lines.rows[sequence.rows.clone()];
            let goes_on = || rows.binary_search_by_key(&end, |row| row.address).is_ok();
            joined |= longer && (self.claimed[index] || goes_on());
            if longer || !self.claimed[index] {
                sequences.push(index);
            }
        }
        let range = AddressRange::new(ImageAddr(start), ImageAddr(if joined { end } else { u64::MAX }));
        sequences.extend(passing);
        if sequences.len() > MAX_FOLDED {
            ids.diagnostics.add(Kind::Cap(Cap::SequencesTogether), self.unit_offset, || {
                format!(
                    "over {MAX_FOLDED} line sequences of one unit at {start:#x}: no function has the lines of the later ones"
                )
            });
            // They may belong to these functions, so `recover` must not give them to an erased one.
            sequences.drain(MAX_FOLDED.min(sequences.len())..).for_each(|index| self.claimed[index] = true);
        }
        let kinds = self.kinds(&sequences, range);
        if self.limits.compared.is_short() {
            // Not all sequences were compared, so any assignment could be wrong, that to an erased function too.
            sequences.iter().for_each(|&index| self.claimed[index] = true);
            return;
        }
        if let [] | [_] = &kinds[..] {
            // All sequences have the same rows, so any assignment is right.
            for (at, shared) in here.iter().enumerate() {
                // Each function claims a sequence of its own, so that only the surplus remains unclaimed and shows
                // further functions.
                let own = sequences.get(at).or(sequences.first());
                self.settle_rows(ids, shared, own.map_or(RowOwner::Any, |&own| RowOwner::Sequence(own)));
            }
            return;
        }
        if here.len() > MAX_FOLDED {
            ids.diagnostics.add(Kind::Cap(Cap::FunctionsTogether), self.unit_offset, || {
                format!("over {MAX_FOLDED} functions of one unit at {start:#x}: the later ones have no lines")
            });
        }
        let waiting = &here[..here.len().min(MAX_FOLDED)];
        let (of, free) = self.told_apart(ids, waiting, folded, kinds, range);
        let mut unknown = 0;
        for (at, shared) in here.iter().enumerate() {
            match of.get(at).copied().flatten() {
                Some(own) => self.settle_rows(ids, shared, RowOwner::Sequence(own)),
                None => unknown += 1,
            }
        }
        if unknown > 0 {
            ids.diagnostics.add(Kind::AmbiguousLines, start, || {
                format!(
                    "{unknown} of {} functions at {start:#x} have no lines: no evidence shows which line sequence belongs to which",
                    here.len()
                )
            });
            // The free sequences belong to these functions, so `recover` must not give them to an erased one. If there are more
            // sequences than functions without lines, more functions exist than the unit describes.
            free.iter().for_each(|&index| self.claimed[index] = true);
            self.in_doubt.extend(free.iter().skip(unknown));
        }
    }

    fn settle_rows<E: Endianity>(
        &mut self,
        ids: &mut Numbering<'_, '_, E>,
        shared: &SharedPiece,
        own: RowOwner,
    ) {
        let range = self.code.pieces[shared.piece].range();
        self.code.pieces[shared.piece].rows = self.rows(ids, own, &shared.segments, range, shared.joined);
    }

    /// Groups sequences that have the same rows in the file. In a group, the first sequence is last. Each row is a step.
    fn kinds(&self, sequences: &[usize], range: AddressRange) -> Vec<Vec<usize>> {
        let mut numbers: HashMap<(u64, Vec<LineRow>), usize> = HashMap::default();
        let mut kinds: Vec<Vec<usize>> = Vec::new();
        for &index in sequences.iter().rev() {
            let rows = self.lines.rows_within(index, range);
            if !self.limits.compared.spend(rows.len() + 1) {
                break;
            }
            let kind = *numbers
                .entry((
                    self.lines.sequences[index].end.min(range.end.0),
                    self.stored(&self.lines.rows[rows]),
                ))
                .or_insert_with(|| {
                    kinds.push(Vec::new());
                    kinds.len() - 1
                });
            kinds[kind].push(index);
        }
        kinds
    }

    /// Rows as the file will have them: without columns if it has none, and without rows that repeat the one before.
    fn stored(&self, rows: &[LineRow]) -> Vec<LineRow> {
        let column = |row: &LineRow| if self.columns { row.column } else { 0 };
        let mut kept: Vec<LineRow> = rows.iter().map(|row| LineRow { column: column(row), ..*row }).collect();
        kept.dedup_by_key(|row| (row.file, row.line, row.column));
        kept
    }

    /// Pairs functions with sequences. Erased functions that may have been folded here take part too. Returns the sequence
    /// of each function in `here`, and the sequences that no function got.
    fn told_apart<E: Endianity>(
        &mut self,
        ids: &mut Numbering<'_, '_, E>,
        here: &[SharedPiece],
        folded: &FoldedHere<'_, '_>,
        mut kinds: Vec<Vec<usize>>,
        range: AddressRange,
    ) -> (Vec<Option<usize>>, Vec<usize>) {
        let lens: Vec<u64> = here.iter().map(|shared| self.code.pieces[shared.piece].len.into()).collect();
        let len_of = |reader: &Self, kind: &[usize]| {
            reader.lines.sequences[kind[0]].end.min(range.end.0) - range.start.0
        };
        // If no sequence is as long as a function here, lengths show nothing: an assembler ends a sequence with its section.
        let any_of_len = kinds.iter().any(|kind| lens.contains(&len_of(self, kind)));
        // (place, length) of the functions here, then of the erased functions that may have been folded into them.
        let place = |shared: &SharedPiece| {
            let first = shared.inlined.filter(|_| shared.named.is_none());
            place_of(ids, shared.origin, first, shared.inlined.is_none())
        };
        let mut functions: Vec<(SourcePlace<u16>, u64)> =
            here.iter().zip(&lens).map(|(shared, &len)| (place(shared), len)).collect();
        let mut sizes = lens.clone();
        sizes.sort_unstable();
        sizes.dedup();
        let of_size = |&size: &u64| {
            let first = folded.by_size.partition_point(|erased| erased.0 < size);
            folded.by_size[first..].iter().take_while(move |erased| erased.0 == size).map(|erased| erased.1)
        };
        let mut erased: Vec<usize> = sizes.iter().flat_map(of_size).take(MAX_FOLDED).collect();
        erased.sort_unstable();
        functions.extend(erased.into_iter().filter_map(|index| folded.function(ids, index)));
        let mut fits = Vec::new();
        for (sequence, kind) in kinds.iter().enumerate() {
            let rows = self.lines.rows_within(kind[0], range);
            let own = len_of(self, kind);
            for (function, &(place, len)) in functions.iter().enumerate() {
                if (!any_of_len || own == len)
                    && let Some(distance) = self.distance(ids, place, rows.clone())
                {
                    fits.push(Fit { function, sequence, distance });
                }
            }
        }
        let first =
            first_of_nearest(&fits, &kinds).filter(|_| here.len() == 1 && !self.limits.compared.is_short());
        let mut room: Vec<usize> = kinds.iter().map(Vec::len).collect();
        let mut of = vec![None; functions.len()];
        // An erased function without a sequence may be the owner of one that remains.
        let mut contested = functions.len() - here.len();
        for Paired { function, sequence: kind } in pair(fits, &mut room, &self.limits.compared) {
            of[function] = kinds[kind].pop();
            contested -= usize::from(function >= here.len());
        }
        of.truncate(here.len());
        // If one function and one sequence remain, they belong together, even if no row fits: the body may come from another file.
        let mut free: Vec<usize> = kinds.concat();
        if let (Some(first), [None]) = (first, &of[..])
            && let Some(at) = free.iter().position(|&index| index == first)
        {
            of[0] = Some(free.remove(at));
        }
        let mut open = of.iter_mut().filter(|of| of.is_none());
        if let (Some(open), None, [last], 0) = (open.next(), open.next(), &free[..], contested) {
            *open = Some(*last);
            free.clear();
        }
        (of, free)
    }

    /// How far a sequence is from a function (see [`SourcePlace::distance`]).
    pub(crate) fn distance<E: Endianity>(
        &mut self,
        ids: &mut Numbering<'_, '_, E>,
        place: SourcePlace<u16>,
        rows: Range<usize>,
    ) -> Option<u32> {
        if place == SourcePlace::Unknown || !self.limits.compared.spend(rows.len() + 1) {
            return None;
        }
        place.distance(rows.map(|at| {
            let row = self.lines.rows[at];
            (self.file(ids, row.file), row.line)
        }))
    }
}

/// Where the source has a function. `first`: the first call that was inlined into it, if that is known. `is_bare`: no call was.
pub(crate) fn place_of<E: Endianity>(
    ids: &Numbering<'_, '_, E>,
    origin: LocalOrigin,
    first: Option<InlinedFirst>,
    is_bare: bool,
) -> SourcePlace<u16> {
    let declared = ids.origins.tables.origins[origin.index()];
    let known = |file| Some(file).filter(|file| *file != NONE16);
    let is_bare_thunk = is_bare && is_thunk(ids.origins.tables.names[declared.name as usize].bytes());
    let call = first.map(|call| (known(call.file), call.line));
    SourcePlace::of(is_bare_thunk, (known(declared.file), declared.line), call)
}

/// The first sequence in the program, if no other is nearer to the declaration of the first function. Linkers fold into the
/// first function, so this sequence belongs to the only function that kept its address.
fn first_of_nearest(fits: &[Fit], kinds: &[Vec<usize>]) -> Option<usize> {
    let own = fits.iter().filter(|fit| fit.function == 0);
    let least = own.clone().map(|fit| fit.distance).min()?;
    let (kind, first) = kinds
        .iter()
        .enumerate()
        .filter_map(|(kind, all)| Some((kind, *all.iter().min()?)))
        .min_by_key(|of| of.1)?;
    own.clone().any(|fit| fit.sequence == kind && fit.distance == least).then_some(first)
}
