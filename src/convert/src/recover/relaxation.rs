//! Gives folded functions the survivor's length if the linker shortened its code (RISC-V relaxation).
//!
//! A linker shortens the calls in the code that it keeps. A folded function still has the length of its object file:
//! by `high_pc` and a kept relocation, mold's function at `0x220360..0x2203a4` is folded into the one at
//! `0x220360..0x2203a0`. Functions of different lengths do not form a group: the folded function would be dropped as
//! overlapping, and calls of it would count as calls of the survivor only. A folded function has the code of the
//! survivor that begins at its address, and so the survivor's length.
//!
//! Its offsets still count the longer code. Rows are valid up to the end of the first instruction that a linker may have made
//! shorter; the code after it has no lines and no inlined frames. Its calls are dropped, since their return
//! addresses may be those of other calls.

use crate::diagnostics::{Diagnostics, Kind};
use crate::model::{AddressRange, Calls, How, ImageAddr, Lost, NONE16, Row, UnitCode};
use crate::util::hash::HashMap;

/// ELF `e_machine` of processors with linker relaxation.
const RELAXED: [u16; 2] = [243 /* EM_RISCV */, 258 /* EM_LOONGARCH */];

/// True for processors whose linkers shorten code. mold leaves symbols the sizes that they have in the object.
pub(crate) fn is_relaxed(machine: u16) -> bool {
    RELAXED.contains(&machine)
}

/// Bytes of the shortest instruction.
const MIN_INSTRUCTION: u32 = 2;

/// Shortens the functions that were folded into shorter code. `first` gives the end of the first instruction in a range that a linker
/// may have made shorter, where it is known.
pub(crate) fn fit<'f>(
    machine: u16,
    mut code: Vec<UnitCode<'f>>,
    first: impl Fn(AddressRange) -> Option<ImageAddr>,
    diagnostics: &mut Diagnostics,
) -> Vec<UnitCode<'f>> {
    if !is_relaxed(machine) {
        return code;
    }
    // By start: the length of the functions that kept their address; 0 if there are several lengths.
    let mut lens: HashMap<ImageAddr, u32> = HashMap::default();
    for piece in code.iter().flat_map(|unit| unit.pieces.iter()).filter(|piece| piece.how == How::LiveRange) {
        let len = lens.entry(piece.start).or_insert(piece.len);
        if *len != piece.len {
            *len = 0;
        }
    }
    for UnitCode { functions, pieces, rows, .. } in &mut code {
        for function in functions.iter_mut().filter(|function| function.how != How::LiveRange) {
            for piece in &mut pieces[function.pieces.start as usize..function.pieces.end as usize] {
                // 0 (several lengths), an equal and a larger length are no evidence that the linker made the code shorter.
                let len = lens.get(&piece.start).filter(|len| (1..piece.len).contains(*len));
                let Some(&len) = len else { continue };
                let start = piece.start;
                // If the code shows no such instruction, only the first instruction is certain to begin at the same offset in
                // both versions.
                let same = first(AddressRange::of(piece.start, len))
                    .map_or(MIN_INSTRUCTION, |at| (at - start) as u32);
                let own = piece.rows.start as usize..(piece.rows.start + piece.rows.len) as usize;
                let kept = rows[own.clone()].partition_point(|row| row.offset < same.min(len));
                piece.rows.len = kept as u32;
                if kept > 0 && same < len {
                    // Other functions may share the rows.
                    piece.rows.start = rows.len() as u32;
                    piece.rows.len += 1;
                    let unknown = Row { offset: same, scope: 0, line: 0, file: NONE16, column: 0 };
                    let kept = rows[own.start..own.start + kept].to_vec();
                    rows.own_mut().extend(kept.into_iter().chain([unknown]));
                    diagnostics.add(Kind::ShortenedFold, function.die.0, || {
                        format!(
                            "folded into shorter code at {start:#x}: lines for its first {same} bytes alone"
                        )
                    });
                }
                piece.len = len;
                let start = function.calls.range.start;
                function.calls = Calls { range: start..start, all_tail_calls: false, all_calls: false };
                function.lost = Lost { scopes: 0..0, beyond: function.lost.any() };
            }
        }
    }
    code
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{DieOffset, Instance, LocalOrigin, RowRange, UnitFunction, UnitPiece};

    fn code(pieces: &[(u64, u32, How)]) -> UnitCode<'static> {
        let row = |offset| Row { offset, scope: 0, line: 1, file: 0, column: 0 };
        let rows = RowRange { start: 0, len: 3 };
        let piece =
            |&(start, len, how): &(u64, u32, How)| UnitPiece { start: ImageAddr(start), len, how, rows };
        let function = |(at, &(.., how)): (usize, &(u64, u32, How))| UnitFunction {
            die: DieOffset(at as u64),
            origin: LocalOrigin(at as u32),
            instance: Instance::default(),
            how,
            external: true,
            pieces: at as u32..at as u32 + 1,
            scopes: 0..0,
            lost: Lost::default(),
            calls: Calls { range: 0..2, all_tail_calls: true, all_calls: true },
        };
        UnitCode {
            rows: [0, 0x20, 0x30].map(row).to_vec().into(),
            pieces: pieces.iter().map(piece).collect(),
            functions: pieces.iter().enumerate().map(function).collect(),
            ..UnitCode::default()
        }
    }

    #[test]
    fn a_folded_function_is_as_long_as_what_remains() {
        let live = code(&[
            (0x1000, 0x40, How::LiveRange),
            (0x2000, 0x40, How::LiveRange),
            (0x2000, 0x20, How::LiveRange),
        ]);
        let folded = code(&[
            (0x1000, 0x44, How::Relocation),
            (0x2000, 0x44, How::Relocation),
            (0x3000, 0x44, How::Relocation),
        ]);
        let units = vec![live, folded];
        let mut diagnostics = Diagnostics::default();
        // The first call is behind the second row, and becomes shorter.
        let first = |code: AddressRange| Some(code.start + 0x26);
        let units = fit(62, units, first, &mut diagnostics);
        assert_eq!(units[1].pieces[0].len, 0x44);
        let units = fit(243, units, first, &mut diagnostics);
        let lens = |unit: &UnitCode| unit.pieces.iter().map(|piece| piece.len).collect::<Vec<_>>();
        // Of two lengths nothing tells which is that of the code, and where nothing remains there is none.
        assert_eq!((lens(&units[0]), lens(&units[1])), (vec![0x40, 0x40, 0x20], vec![0x40, 0x44, 0x44]));
        let [shorter, same, _] = units[1].functions.whole() else { panic!() };
        let lines = |piece: &UnitPiece| {
            let RowRange { start, len } = piece.rows;
            let rows = &units[1].rows[start as usize..(start + len) as usize];
            rows.iter().map(|row| (row.offset, row.line)).collect::<Vec<_>>()
        };
        assert_eq!(lines(&units[1].pieces[0]), [(0, 1), (0x20, 1), (0x26, 0)]);
        assert_eq!(lines(&units[1].pieces[1]), [(0, 1), (0x20, 1), (0x30, 1)]);
        assert_eq!(diagnostics.count(Kind::ShortenedFold), 1);
        assert_eq!((shorter.calls.range.len(), shorter.calls.all_calls), (0, false));
        assert_eq!((same.calls.range.len(), same.calls.all_calls), (2, true));
        assert_eq!(units[0].functions[0].calls.range.len(), 2);
    }

    /// Where no instruction of the code tells what became shorter, the first one alone has the lines.
    #[test]
    fn without_a_call_that_may_be_shorter_the_first_instruction_has_lines() {
        let units = vec![code(&[(0x1000, 0x40, How::LiveRange)]), code(&[(0x1000, 0x44, How::Relocation)])];
        let units = fit(258, units, |_| None, &mut Diagnostics::default());
        let RowRange { start, len } = units[1].pieces[0].rows;
        let rows = &units[1].rows[start as usize..(start + len) as usize];
        assert_eq!(rows.iter().map(|row| (row.offset, row.line)).collect::<Vec<_>>(), [(0, 1), (2, 0)]);
    }
}
