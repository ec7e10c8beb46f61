//! Refuses line sequences that functions name and that are another's.
//!
//! A function that was folded begins where its `DW_AT_LLVM_stmt_sequence` says, and is as long as the function that
//! remains there: linkers fold what has the same bytes. A tool that rewrote the line table may have left the attribute
//! behind, so that it names any sequence. Where the sequence has the length of another function that begins there, and
//! not of this one, it is that function's; so it is where the other function names it too, and the unit has fewer
//! sequences there than functions. Then nothing is known yet of where this one went: `resolve` looks for it by its symbol
//! and its lines, as for those without the attribute. A length alone tells nothing: what stands behind a function
//! (padding, constants) may belong to its sequence or not.

use rustc_hash::{FxHashMap, FxHashSet};

use super::super::Endianity;
use super::UnitReader;
use super::ranges::DeadRange;
use crate::report::Kind;

/// A function that has its address of its sequence alone.
#[derive(Clone, Copy)]
pub(super) struct BySequence {
    /// Index into the unit's functions.
    pub(super) function: usize,
    pub(super) sequence: usize,
}

/// The functions that begin at an address.
#[derive(Default)]
struct Here {
    /// Lengths of those that kept their address.
    remain: Vec<u32>,
    /// Those of the others.
    folded: Vec<u32>,
}

impl<E: Endianity> UnitReader<'_, '_, E> {
    /// Takes the address of functions whose sequence is another's, before rows are given out.
    pub(super) fn refuse_foreign(&mut self) {
        let by_sequence = std::mem::take(&mut self.by_sequence);
        let piece = |reader: &Self, at: &BySequence| {
            reader.out.pieces[reader.out.functions[at.function].pieces.start as usize]
        };
        let sequence_len = |reader: &Self, at: &BySequence| {
            let sequence = &reader.lines.sequences[at.sequence];
            sequence.end - sequence.start
        };
        let other =
            |reader: &Self, at: &BySequence| sequence_len(reader, at) != u64::from(piece(reader, at).len);
        let mut foreign: FxHashSet<usize> = FxHashSet::default();
        let named_twice = |reader: &Self, at: &BySequence| reader.named.contains(&at.sequence);
        if by_sequence.iter().any(|at| other(self, at) || named_twice(self, at)) {
            let mut here: FxHashMap<u64, Here> = FxHashMap::default();
            let own: FxHashSet<usize> = by_sequence.iter().map(|at| at.function).collect();
            for (index, function) in self.out.functions.iter().enumerate() {
                let entry = self.out.pieces[function.pieces.start as usize];
                let here = here.entry(entry.start.0).or_default();
                if own.contains(&index) { &mut here.folded } else { &mut here.remain }.push(entry.len);
            }
            let is_foreign = |at: &&BySequence| {
                let (piece, len) = (piece(self, at), sequence_len(self, at));
                let Here { remain, folded } = &here[&piece.start.0];
                let of_another_length = other(self, at)
                    && !remain.contains(&piece.len)
                    && (!remain.is_empty() || folded.iter().any(|&other| u64::from(other) == len));
                // Each function has a sequence: one that is named twice is that of the function which remains, if there
                // are not as many as functions.
                let few = || self.lines.starting(piece.start.0).count() < remain.len() + folded.len();
                of_another_length || (named_twice(self, at) && few())
            };
            foreign = by_sequence.iter().filter(is_foreign).map(|at| at.function).collect();
        }
        for at in by_sequence {
            let function = &self.out.functions[at.function];
            let (die, start) = (function.die, piece(self, &at).start.0);
            if foreign.contains(&at.function) {
                self.diagnostics.add(Kind::ForeignSequence, die.0, || {
                    format!("the line sequence at {start:#x} is of another function")
                });
            } else {
                self.diagnostics.add(Kind::FoldedFunction, die.0, || format!("recovered at {start:#x}"));
            }
        }
        if !foreign.is_empty() {
            self.take_addresses(&foreign);
        }
    }

    /// Makes erased functions of these, of which each has one piece.
    fn take_addresses(&mut self, foreign: &FxHashSet<usize>) {
        let functions = std::mem::take(&mut self.out.functions);
        let mut gone = vec![false; self.out.pieces.len()];
        let mut kept = Vec::with_capacity(functions.len());
        for (index, function) in functions.into_iter().enumerate() {
            if !foreign.contains(&index) {
                kept.push(function);
                continue;
            }
            let piece = function.pieces.start as usize;
            gone[piece] = true;
            let (named, dead) = (
                (function.origin, function.instance),
                DeadRange { len: self.out.pieces[piece].len.into(), part: false },
            );
            self.erased(function.die, named, dead, false, function.lost, function.calls);
        }
        // How many are gone before each.
        let before: Vec<u32> = gone
            .iter()
            .scan(0, |count, gone| {
                *count += u32::from(*gone);
                Some(*count)
            })
            .collect();
        for function in &mut kept {
            let shift = before[function.pieces.start as usize];
            function.pieces = function.pieces.start - shift..function.pieces.end - shift;
        }
        self.out.functions = kept;
        self.shared.retain(|shared| !gone[shared.piece]);
        for shared in &mut self.shared {
            shared.piece -= before[shared.piece] as usize;
        }
        let mut gone = gone.into_iter();
        self.out.pieces.retain(|_| !gone.next().unwrap_or(false));
    }
}
