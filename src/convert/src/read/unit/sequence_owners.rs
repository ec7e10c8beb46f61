//! Refuses a `DW_AT_LLVM_stmt_sequence` that refers to the sequence of another function.
//!
//! A folded function begins at the address of the sequence that it names, and has the length of the survivor there, since
//! linkers fold only equal bytes. But a tool that rewrites the line table may not update the attribute, so that it refers to
//! any sequence. The sequence belongs to another function in two cases:
//!
//! - It has the length of another function that begins there, and not the length of this one.
//! - The other function, which kept its address, names it too, and the unit has fewer sequences there than functions.
//!
//! A different length alone proves nothing, since padding and constants after a function may or may not belong to its
//! sequence. If the sequence is refused, the address of this function is unknown: `recover` looks for it by symbol and
//! lines, as for a function without the attribute.

use crate::diagnostics::Kind;
use crate::model::UnitErased;
use crate::read::sections::bytes::Endianity;
use crate::read::unit::assign::{Assign, BySequence};
use crate::read::unit::numbering::Numbering;
use crate::util::hash::{HashMap, HashSet};

/// The functions of the unit that begin at one address.
#[derive(Default)]
struct FunctionsHere {
    /// The lengths of the functions that kept their address.
    remain: HashSet<u32>,
    /// The lengths of the functions that got this address from their sequence.
    folded: HashSet<u32>,
    functions: usize,
    /// The number of sequences that begin there.
    sequences: usize,
}

impl Assign<'_> {
    /// Removes the functions whose sequence belongs to another one, before rows are assigned. Returns them as erased functions.
    pub(crate) fn refuse_foreign<E: Endianity>(&mut self, ids: &mut Numbering<'_, '_, E>) -> Vec<UnitErased> {
        let by_sequence = std::mem::take(&mut self.by_sequence);
        let piece = |reader: &Self, at: &BySequence| {
            reader.code.pieces[reader.code.functions[at.function].pieces.start as usize]
        };
        let sequence_len = |reader: &Self, at: &BySequence| {
            let sequence = &reader.lines.sequences[at.sequence];
            sequence.end - sequence.start
        };
        let other =
            |reader: &Self, at: &BySequence| sequence_len(reader, at) != u64::from(piece(reader, at).len);
        let mut foreign: HashSet<usize> = HashSet::default();
        let named_twice = |reader: &Self, at: &BySequence| reader.named.contains(&at.sequence);
        // The tables below take time for all functions of the unit. In most programs no sequence looks foreign, and they
        // are not made.
        if by_sequence.iter().any(|at| other(self, at) || named_twice(self, at)) {
            let mut here: HashMap<u64, FunctionsHere> = HashMap::default();
            let own: HashSet<usize> = by_sequence.iter().map(|at| at.function).collect();
            for (index, function) in self.code.functions.iter().enumerate() {
                let entry = self.code.pieces[function.pieces.start as usize];
                let here = here.entry(entry.start.0).or_default();
                here.functions += 1;
                if own.contains(&index) { &mut here.folded } else { &mut here.remain }.insert(entry.len);
            }
            // Counted once for each address, since any number of functions may begin at one.
            for (&start, here) in here.iter_mut().filter(|(_, here)| !here.folded.is_empty()) {
                here.sequences = self.lines.starting(start).count();
            }
            let is_foreign = |at: &&BySequence| {
                let (piece, len) = (piece(self, at), sequence_len(self, at));
                let here = &here[&piece.start.0];
                let is_len = |len: u64| u32::try_from(len).is_ok_and(|len| here.folded.contains(&len));
                // A survivor with the length of this function shows that the sequence differs only by padding or
                // constants. If all functions here were folded, only a sequence with the length of another one is foreign.
                let of_another_length = other(self, at)
                    && !here.remain.contains(&piece.len)
                    && (!here.remain.is_empty() || is_len(len));
                // Each function has its own sequence. So if there are fewer sequences than functions, a sequence that two
                // functions name belongs to the one that kept its address.
                of_another_length || (named_twice(self, at) && here.sequences < here.functions)
            };
            foreign = by_sequence.iter().filter(is_foreign).map(|at| at.function).collect();
        }
        for at in by_sequence {
            let function = &self.code.functions[at.function];
            let (die, start) = (function.die, piece(self, &at).start.0);
            if foreign.contains(&at.function) {
                ids.diagnostics.add(Kind::ForeignSequence, die.0, || {
                    format!("the line sequence at {start:#x} is of another function")
                });
            } else {
                ids.diagnostics.add(Kind::FoldedFunction, die.0, || format!("recovered at {start:#x}"));
            }
        }
        if foreign.is_empty() { Vec::new() } else { self.take_addresses(&foreign, ids) }
    }

    /// Removes these functions and their pieces. Each has exactly one piece.
    fn take_addresses<E: Endianity>(
        &mut self,
        foreign: &HashSet<usize>,
        ids: &Numbering<'_, '_, E>,
    ) -> Vec<UnitErased> {
        let mut erased = Vec::new();
        let functions = std::mem::take(&mut self.code.functions);
        let mut gone = vec![false; self.code.pieces.len()];
        let mut kept = Vec::with_capacity(functions.len());
        for (index, function) in functions.into_own().into_iter().enumerate() {
            if !foreign.contains(&index) {
                kept.push(function);
                continue;
            }
            let piece = function.pieces.start as usize;
            gone[piece] = true;
            erased.push(UnitErased {
                die: function.die,
                origin: function.origin,
                instance: function.instance,
                size: self.code.pieces[piece].len.into(),
                part: false,
                external: ids.origins.tables.is_external(function.origin),
                removed: false,
                lost: function.lost,
                calls: function.calls,
            });
        }
        // For each piece, the number of removed pieces up to it.
        let before: Vec<u32> = gone
            .iter()
            .scan(0, |count, gone| {
                *count += u32::from(*gone);
                Some(*count)
            })
            .collect();
        for function in &mut kept {
            // The pieces of a function are consecutive, and none of a kept function is removed, so one shift holds for
            // all.
            let shift = before[function.pieces.start as usize];
            function.pieces = function.pieces.start - shift..function.pieces.end - shift;
        }
        self.code.functions = kept.into();
        self.shared.retain(|shared| !gone[shared.piece]);
        for shared in &mut self.shared {
            shared.piece -= before[shared.piece] as usize;
        }
        let mut gone = gone.into_iter();
        self.code.pieces.own_mut().retain(|_| !gone.next().unwrap_or(false));
        erased
    }
}
