//! Asks a `.fsym` through the C interface and through the reader: both must say the same.

use std::mem::zeroed;

use foldsym_capi::boundary::tier1::{foldsym_frame_at, foldsym_lookup, foldsym_open, foldsym_write_name};
use foldsym_capi::types::{
    Answer, FOLDSYM_E_DAMAGED, FOLDSYM_EXACT, FOLDSYM_NO_FUNCTION, FOLDSYM_NONE, FOLDSYM_OK,
    FOLDSYM_OUTSIDE_CODE, File, Frame, Frames, Query,
};
use foldsym_lookup::{ImageAddr, Lookup, PieceId, SymbolFile};

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
        let count = own.piece_count();
        for id in (0..count).step_by(1 + count as usize / 12) {
            let Ok(piece) = own.piece(PieceId(id)) else { continue };
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
        }
    }
}
