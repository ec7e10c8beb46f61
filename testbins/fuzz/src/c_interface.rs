//! Asks a `.fsym` through the C interface and through the reader: both must say the same.

use std::mem::zeroed;

use foldsym_capi::boundary::tier1::{
    foldsym_file_info, foldsym_frame_at, foldsym_lookup, foldsym_open, foldsym_resolve_stack,
    foldsym_write_name, foldsym_write_path,
};
use foldsym_capi::types::{
    Answer, FOLDSYM_E_DAMAGED, FOLDSYM_EXACT, FOLDSYM_NO_FUNCTION, FOLDSYM_NONE, FOLDSYM_OK,
    FOLDSYM_OUTSIDE_CODE, FOLDSYM_RETURN, File, Frame, Frames, Info, Query, Stack, StackEntry,
};
use foldsym_lookup::{ImageAddr, Lookup, PieceId, Resolved, ReturnAddr, StackAddr, SymbolFile};

/// Compares both at some addresses.
///
/// # Panics
/// Where they differ.
pub fn check(bytes: &[u8]) {
    // SAFETY: zeros are valid for structs of numbers and pointers; all pointers are to live values.
    unsafe {
        let (mut file, mut frames): (File, Frames) = (zeroed(), zeroed());
        let opened = foldsym_open(&raw mut file, bytes.as_ptr().cast(), bytes.len(), std::ptr::null_mut());
        let Ok(own) = SymbolFile::open(bytes) else {
            assert_eq!(opened, FOLDSYM_E_DAMAGED);
            return;
        };
        assert_eq!(opened, FOLDSYM_OK);
        let mut info = Info { size: size_of::<Info>(), ..zeroed() };
        assert_eq!(foldsym_file_info(&raw const file, &raw mut info), FOLDSYM_OK);
        assert_eq!(
            (info.build_id_len, info.build_id.is_null()),
            (own.build_id().len(), own.build_id().is_empty())
        );
        assert_eq!((info.max_depth, info.max_group), (own.header().max_depth, own.header().max_group));
        stacks(&file, &own);
        let count = own.records().piece_count();
        for id in (0..count).step_by(1 + count as usize / 12) {
            let Ok(piece) = own.records().piece(PieceId(id)) else { continue };
            for offset in [0, piece.body / 2, piece.len()] {
                at(&file, &mut frames, &own, ImageAddr(piece.start.0.wrapping_add(offset)));
            }
        }
    }
}

/// # Safety
/// `c` is open over the bytes of `file`.
unsafe fn at(c: &File, c_frames: &mut Frames, file: &SymbolFile<'_>, address: ImageAddr) {
    let mut frames = foldsym_lookup::Frames::new();
    let own = file.lookup(address, &mut frames);
    // SAFETY: as above.
    unsafe {
        let mut answer = Answer { size: size_of::<Answer>(), ..zeroed() };
        let query = Query { size: size_of::<Query>(), address: address.0, kind: FOLDSYM_EXACT, ..zeroed() };
        let status = foldsym_lookup(c, &raw const query, c_frames, &raw mut answer);
        let found = match own {
            Err(_) => return assert_eq!(status, FOLDSYM_E_DAMAGED),
            Ok(Lookup::NotFound(_)) => {
                return assert!(matches!(status, FOLDSYM_OUTSIDE_CODE | FOLDSYM_NO_FUNCTION));
            }
            Ok(Lookup::Found(found)) => found,
        };
        assert_eq!(status, FOLDSYM_OK);
        assert_eq!(answer.candidate_count, found.member_count());
        assert_eq!(answer.group, found.group.map_or(FOLDSYM_NONE, |group| group.0));
        assert_eq!(answer.function_start, found.function_start.0);
        for (index, own) in (0u32..).zip(file.frames(&frames)) {
            let mut frame = Frame { size: size_of::<Frame>(), ..zeroed() };
            let status = foldsym_frame_at(c, c_frames, index, &raw mut frame);
            let Ok(own) = own else {
                assert_eq!(status, FOLDSYM_E_DAMAGED);
                break;
            };
            assert_eq!(status, FOLDSYM_OK);
            assert_eq!(frame.name, own.name.map_or(FOLDSYM_NONE, |id| id.0));
            assert_eq!(frame.file, own.file.map_or(FOLDSYM_NONE, |id| id.0));
            assert_eq!((frame.line, frame.column), (own.line, own.column));
            let (mut c_text, mut text) = ([1; 40], [1; 39]);
            let c_len = foldsym_write_name(c, frame.name, c_text.as_mut_ptr(), c_text.len());
            // Of a damaged file a name may have the number that means none: C reads it as that.
            if let Some(id) = own.name.filter(|id| id.0 != FOLDSYM_NONE) {
                let len = file.write_name(id, &mut text);
                assert_eq!(c_len, len.unwrap_or(usize::MAX));
                let fits = len.unwrap_or(0).min(39);
                assert_eq!(c_text[fits], 0, "cut, with a zero behind");
                assert!(c_text[..fits].iter().zip(&text[..fits]).all(|(c, own)| *c as u8 == *own));
            }
            let c_len = foldsym_write_path(c, frame.file, c_text.as_mut_ptr(), c_text.len());
            if let Some(id) = own.file.filter(|id| id.0 != FOLDSYM_NONE) {
                assert_eq!(c_len, file.write_path(id, &mut text).unwrap_or(usize::MAX));
            }
        }
    }
}

/// Stacks of calls that the file knows, with objects of classes that it knows, at a load bias that wraps.
///
/// # Safety
/// `c` is open over the bytes of `file`.
unsafe fn stacks(c: &File, file: &SymbolFile<'_>) {
    const BIAS: u64 = 0_u64.wrapping_sub(0x1000);
    let pieces = (0..file.records().piece_count())
        .take(40)
        .filter_map(|id| Some(file.records().piece(PieceId(id)).ok()?.start));
    let points: Vec<u64> =
        file.records().methods().take(40).filter_map(|method| Some(method.ok()?.point.0)).collect();
    let calls: Vec<u64> =
        file.records().calls().take(40).filter_map(|call| Some(call.ok()?.address.0)).collect();
    for (at, pc) in pieces.enumerate() {
        let some =
            |all: &[u64], step: usize| all.get((at * 7 + step) % all.len().max(1)).copied().unwrap_or(1);
        let addresses = [pc.0, some(&calls, 0), some(&calls, 3)];
        let vptr = some(&points, 0);
        let entries = addresses.map(|address| StackEntry {
            address: address.wrapping_add(BIAS),
            kind: if address == pc.0 { FOLDSYM_EXACT } else { FOLDSYM_RETURN },
            reserved: 0,
        });
        let own: Vec<StackAddr> = entries
            .iter()
            .zip(addresses)
            .map(|(entry, address)| match entry.kind {
                FOLDSYM_EXACT => StackAddr::Exact(ImageAddr(address)),
                _ => StackAddr::Return(ReturnAddr(address)),
            })
            .collect();
        let mut expected = [Resolved::NONE; 3];
        let mut result = file.resolve_stack(&own, &mut expected);
        let given = vptr.wrapping_add(BIAS);
        if result.is_ok() && given != 0 {
            result = file.resolve_object(&mut expected[0], ImageAddr(vptr), own.get(1).copied());
        }
        // SAFETY: as in `check`.
        unsafe {
            let mut resolved: [foldsym_capi::types::Resolved; 3] = zeroed();
            let stack = Stack {
                size: size_of::<Stack>(),
                entries: entries.as_ptr(),
                resolved: resolved.as_mut_ptr(),
                count: entries.len(),
                resolved_size: size_of::<foldsym_capi::types::Resolved>(),
                load_bias: BIAS,
                vptr: given,
                reserved: [0; 3],
            };
            let status = foldsym_resolve_stack(c, &raw const stack);
            assert_eq!(status, if result.is_ok() { FOLDSYM_OK } else { FOLDSYM_E_DAMAGED });
            if result.is_ok() {
                for (c, own) in resolved.iter().zip(&expected) {
                    assert_eq!(c.candidate_count, own.candidate_count());
                    assert_eq!(c.group, own.group.map_or(FOLDSYM_NONE, |group| group.0));
                    assert_eq!(c.certainty == 0, own.certainty.is_none());
                }
            }
        }
    }
}
