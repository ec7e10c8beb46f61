//! Turns pointers from C into references, and back: the one module of this crate with unsafe code.
//!
//! The C caller promises the following for every function, and each safety proof below relies on it:
//!
//! - A pointer is null, or points to memory of the stated size, aligned for its type. No other thread writes that memory during the
//!   call, and none reads it if the function writes it.
//! - The bytes of a file live as long as its opened `foldsym_file`.
//! - A struct whose `tag` says that it is set up was set up by this library. A tag catches an uninitialized struct; it is not a
//!   security check.

pub mod tier1;
#[cfg(feature = "std")]
pub mod tier2;

use core::mem::{MaybeUninit, align_of, size_of};
use core::{ptr, slice};

use foldsym_lookup::{Frames, Resolved, SymbolFile};

use crate::tier1::Status;
use crate::types::{self, FOLDSYM_E_ARGUMENT, FOLDSYM_E_RESERVED, FOLDSYM_E_SIZE, Input, Output};

/// Marks a `foldsym_file` that is open ("fsymopen").
const FILE_TAG: u64 = u64::from_le_bytes(*b"fsymopen");
/// Marks `foldsym_frames` that hold frames.
const FRAMES_TAG: u64 = u64::from_le_bytes(*b"fsymfram");
/// Marks a `foldsym_resolved` that was written.
const RESOLVED_TAG: u64 = u64::from_le_bytes(*b"fsymreso");

/// A C struct whose `opaque` field holds a value of a Rust type, after its `tag`.
///
/// # Safety
/// `opaque` is entirely within the struct; [`hold`] proves at compile time that it has room for the value.
unsafe trait Holds<T> {
    const TAG: u64;
    /// The two fields, without reading them: they may be uninitialized.
    fn fields(this: *mut Self) -> (*mut u64, *mut T);
}

macro_rules! hold {
    ($c:ty, $value:ty, $tag:expr) => {
        const _: () = {
            let opaque = size_of::<$c>() - core::mem::offset_of!($c, opaque);
            assert!(size_of::<$value>() <= opaque && align_of::<$value>() <= align_of::<u64>());
            assert!(core::mem::offset_of!($c, opaque).is_multiple_of(align_of::<u64>()));
        };
        // SAFETY: the field is one of the struct's, and the assertions above compare it with the value.
        unsafe impl Holds<$value> for $c {
            const TAG: u64 = $tag;
            fn fields(this: *mut Self) -> (*mut u64, *mut $value) {
                // wrapping_byte_add needs no safety promise on `this`; the code that reads or writes through it makes one.
                let at = |offset| this.cast::<u8>().wrapping_add(offset);
                (at(core::mem::offset_of!($c, tag)).cast(), at(core::mem::offset_of!($c, opaque)).cast())
            }
        }
    };
}

hold!(types::File, SymbolFile<'static>, FILE_TAG);
hold!(types::Frames, Frames, FRAMES_TAG);
hold!(types::Resolved, Resolved, RESOLVED_TAG);

/// Puts a value into a struct of C and marks it.
///
/// # Safety
/// `at` is valid for writes of its type.
unsafe fn put<C: Holds<T>, T: Copy>(at: *mut C, value: &T) {
    let (tag, place) = C::fields(at);
    // SAFETY: both are fields of `*at`, which the caller may write; `Holds` has proved size and alignment.
    unsafe {
        place.write(*value);
        tag.write(C::TAG);
    }
}

/// The value in a struct of C; `None` if the pointer is null or the struct was not set up.
///
/// # Safety
/// `at` is null or valid for reads, its `tag` is initialized, and it stays unchanged for `'a`.
unsafe fn get<'a, C: Holds<T>, T>(at: *const C) -> Option<&'a T> {
    if at.is_null() {
        return None;
    }
    let (tag, place) = C::fields(at.cast_mut());
    // SAFETY: the tag is initialized; if it is ours, `put` or `scratch` has written the value too.
    unsafe { if tag.read() == C::TAG { Some(&*place) } else { None } }
}

/// The file that a pointer points to.
///
/// # Safety
/// As for [`get`]; the bytes that it was opened over are there for `'a`.
unsafe fn open_file<'a>(file: *const types::File) -> Option<&'a SymbolFile<'static>> {
    // SAFETY: the caller's promise. The lifetime of the bytes ends at the boundary: no answer keeps them.
    unsafe { get(file) }
}

/// The scratch that a pointer points to, set up at its first use.
///
/// # Safety
/// `frames` is null or valid for reads and writes for `'a`, and its tag is initialized.
unsafe fn scratch<'a>(frames: *mut types::Frames) -> Option<&'a mut Frames> {
    if frames.is_null() {
        return None;
    }
    let (tag, place) = types::Frames::fields(frames);
    // SAFETY: both are fields of memory that the caller may write; after the first branch `place` holds
    // `Frames`, from here or from an earlier call.
    unsafe {
        if tag.read() != FRAMES_TAG {
            place.write(Frames::new());
            tag.write(FRAMES_TAG);
        }
        Some(&mut *place)
    }
}

/// The largest struct that a caller of a later version may hand over.
const LARGEST: usize = 4096;

/// Reads a struct that begins with its size: the caller's bytes, and zeros for fields that an older caller lacks.
///
/// # Safety
/// `at` is null or points to as many readable bytes as its first field says.
unsafe fn read_input<T: Input>(at: *const T) -> Result<T, Status> {
    // SAFETY: the caller's promise.
    let size = unsafe { size_of_callers(at, T::FIRST) }?;
    let mut value = MaybeUninit::<T>::zeroed();
    // SAFETY: the caller has `size` readable bytes there, and at most the bytes of `T` are copied; every bit pattern is a `T`.
    let (value, bytes) = unsafe {
        ptr::copy_nonoverlapping(at.cast::<u8>(), value.as_mut_ptr().cast(), size.min(size_of::<T>()));
        (value.assume_init(), slice::from_raw_parts(at.cast::<MaybeUninit<u8>>(), size))
    };
    let rest = bytes.get(size_of::<T>()..).unwrap_or(&[]);
    // SAFETY: fields of a later version: the caller has zeroed or set all `size` bytes.
    let clear = rest.iter().all(|byte| unsafe { byte.assume_init() } == 0);
    if clear && value.is_clear() { Ok(value) } else { Err(FOLDSYM_E_RESERVED) }
}

/// The size that the caller's output struct has.
///
/// # Safety
/// `at` is null or points to a struct that begins with its size.
unsafe fn output_size<T: Output>(at: *const T) -> Result<usize, Status> {
    // SAFETY: the caller's promise.
    unsafe { size_of_callers(at, T::FIRST) }
}

/// The size that a caller's struct begins with: at least that of the struct's first version.
///
/// # Safety
/// As for [`output_size`].
unsafe fn size_of_callers<T>(at: *const T, first: usize) -> Result<usize, Status> {
    if at.is_null() {
        return Err(FOLDSYM_E_ARGUMENT);
    }
    // SAFETY: the caller has set it.
    let size = unsafe { at.cast::<usize>().read() };
    if size < first || size > LARGEST { Err(FOLDSYM_E_SIZE) } else { Ok(size) }
}

/// Writes the fields that the caller's version of an output struct has, and zeros to fields of a later version; the first field stays the
/// caller's.
///
/// # Safety
/// `at` is valid for writes of `size` bytes, `size` is from [`output_size`], and `value` begins with it.
unsafe fn write_output<T: Output>(at: *mut T, size: usize, value: &T) {
    let written = size.min(size_of::<T>());
    // SAFETY: no more than the caller has is written, nor than `value` has read.
    unsafe {
        ptr::copy_nonoverlapping(ptr::from_ref(value).cast::<u8>(), at.cast(), written);
        ptr::write_bytes(at.cast::<u8>().wrapping_add(written), 0, size.wrapping_sub(written));
    }
}

/// A caller's array; null only where it is empty, `None` if it cannot be one.
///
/// # Safety
/// `at` is null or points to `count` initialized values that stay unchanged for `'a`.
unsafe fn array<'a, T>(at: *const T, count: usize) -> Option<&'a [T]> {
    if count == 0 {
        return Some(&[]);
    }
    let len = count.checked_mul(size_of::<T>())?;
    if at.is_null() || len > isize::MAX as usize {
        return None;
    }
    // SAFETY: not null, as the caller promises initialized, and not longer than an object can be.
    Some(unsafe { slice::from_raw_parts(at, count) })
}

/// A caller's buffer for text; empty if the pointer is null.
///
/// # Safety
/// `out` is null or valid for writes of `len` bytes for `'a`.
unsafe fn buffer<'a>(out: *mut core::ffi::c_char, len: usize) -> &'a mut [u8] {
    if out.is_null() || len > isize::MAX as usize {
        return &mut [];
    }
    // SAFETY: the caller may write `len` bytes there. They need not be initialized: what reads them does so
    // only after writing, and zeroing first makes that a fact.
    unsafe {
        ptr::write_bytes(out, 0, len);
        slice::from_raw_parts_mut(out.cast(), len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A struct whose second version has a field more.
    #[repr(C)]
    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Grown {
        size: usize,
        old: u64,
        new: u64,
    }

    const FIRST: usize = core::mem::offset_of!(Grown, new);

    impl Input for Grown {
        const FIRST: usize = FIRST;
        fn is_clear(&self) -> bool {
            true
        }
    }

    impl Output for Grown {
        const FIRST: usize = FIRST;
    }

    /// A caller's memory: the struct, and the bytes after it.
    fn memory(size: usize) -> [u64; 6] {
        let mut memory = [7; 6];
        memory[0] = size as u64;
        memory
    }

    #[test]
    fn an_older_and_a_newer_caller_are_read() {
        let read = |memory: &[u64; 6]| unsafe { read_input::<Grown>(memory.as_ptr().cast()) };
        let whole = size_of::<Grown>();
        assert_eq!(read(&memory(FIRST)), Ok(Grown { size: FIRST, old: 7, new: 0 }));
        assert_eq!(read(&memory(whole)), Ok(Grown { size: whole, old: 7, new: 7 }));
        // Additional fields of a newer caller must be zero.
        assert_eq!(read(&memory(whole + 8)), Err(FOLDSYM_E_RESERVED));
        let mut clear = memory(whole + 8);
        clear[3] = 0;
        assert_eq!(read(&clear), Ok(Grown { size: whole + 8, old: 7, new: 7 }));
        assert_eq!(read(&memory(FIRST - 8)), Err(FOLDSYM_E_SIZE));
        assert_eq!(read(&memory(LARGEST + 1)), Err(FOLDSYM_E_SIZE));
        assert_eq!(unsafe { read_input::<Grown>(ptr::null()) }, Err(FOLDSYM_E_ARGUMENT));
    }

    #[test]
    fn an_older_and_a_newer_caller_are_written() {
        let written = |size: usize| {
            let mut memory = memory(size);
            let at: *mut Grown = memory.as_mut_ptr().cast();
            unsafe {
                assert_eq!(output_size(at), Ok(size));
                write_output(at, size, &Grown { size, old: 1, new: 2 });
            }
            memory
        };
        // The bytes after the caller's struct stay unchanged.
        assert_eq!(written(FIRST), [FIRST as u64, 1, 7, 7, 7, 7]);
        assert_eq!(written(size_of::<Grown>()), [24, 1, 2, 7, 7, 7]);
        assert_eq!(written(size_of::<Grown>() + 16), [40, 1, 2, 0, 0, 7]);
        let mut small = memory(FIRST - 8);
        assert_eq!(unsafe { output_size(small.as_mut_ptr().cast::<Grown>()) }, Err(FOLDSYM_E_SIZE));
    }
}
