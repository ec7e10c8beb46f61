//# about: Rust without std: generics, closures, iterator chains inlined deeply, trait objects, panics, both manglings
//# let: LINK = -C panic=abort -C relocation-model=static -C linker=$CLANG -C link-arg=-fuse-ld=lld -C link-arg=-nostdlib -C link-arg=-static -C link-arg=-Wl,--build-id,--gc-sections,--compress-sections=.debug_*=zstd:19 -C target-feature=+crt-static
//# let: RS = $RUSTC --edition 2021 --crate-name core_case --remap-path-prefix $SRC=/src --remap-path-prefix $T=/tmpdir $LINK core.rs -o $OUT
//# variant: dwarf4: $RS -C opt-level=2 -C debuginfo=2 -C dwarf-version=4 -C codegen-units=1
//# variant: dwarf5: $RS -C opt-level=2 -C debuginfo=2 -C dwarf-version=5 -C codegen-units=1 -C symbol-mangling-version=v0
//# variant: dwarf5-o0: $RS -C opt-level=0 -C debuginfo=2 -C dwarf-version=5 -C codegen-units=2
//# variant: lines: $RS -C opt-level=3 -C debuginfo=line-tables-only -C codegen-units=1
#![no_std]
#![no_main]

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

static SINK: AtomicU32 = AtomicU32::new(0);
static SOURCE: AtomicU32 = AtomicU32::new(9);

#[panic_handler]
fn on_panic(_: &core::panic::PanicInfo) -> ! {
    loop {
        SINK.fetch_add(1, Relaxed);
    }
}

// Unoptimized core wants these, and there is no libc.
#[no_mangle]
unsafe extern "C" fn memcpy(to: *mut u8, from: *const u8, n: usize) -> *mut u8 {
    core::arch::asm!("rep movsb", inout("rcx") n => _, inout("rdi") to => _, inout("rsi") from => _);
    to
}
#[no_mangle]
unsafe extern "C" fn memset(to: *mut u8, byte: i32, n: usize) -> *mut u8 {
    core::arch::asm!("rep stosb", inout("rcx") n => _, inout("rdi") to => _, in("al") byte as u8);
    to
}
#[no_mangle]
extern "C" fn rust_eh_personality() {}

mod shapes {
    pub trait Shape {
        fn area(&self) -> u32;
        #[inline(never)]
        fn twice(&self) -> u32 {
            self.area() * 2 + super::source()
        }
    }
    pub struct Square(pub u32);
    pub struct Rect {
        pub w: u32,
        pub h: u32,
    }
    impl Shape for Square {
        fn area(&self) -> u32 {
            self.0 * self.0
        }
    }
    impl Shape for Rect {
        fn area(&self) -> u32 {
            self.w * self.h
        }
    }
}

#[inline(always)]
fn source() -> u32 {
    SOURCE.load(Relaxed)
}

#[inline(never)]
fn chain(items: &[u32]) -> u32 {
    items.iter().map(|x| x * source()).filter(|x| x & 1 == 0).enumerate().fold(0, |sum, (i, x)| sum ^ (x + i as u32))
}

#[inline(never)]
fn generic<T: Copy + Into<u32>>(items: &[T], at: usize) -> u32 {
    // An index out of bounds and an overflow: two calls that do not return.
    let item: u32 = items[at].into();
    item.checked_mul(source()).expect("fits")
}

#[inline(never)]
fn dynamic(shape: &dyn shapes::Shape) -> u32 {
    shape.twice() + shape.area()
}

#[no_mangle]
pub extern "C" fn _start() -> ! {
    let items = [source(), 2, 3, 4];
    let small = [1u8, 2, 3];
    let wide = [7u16, 8];
    let at = source() as usize;
    SINK.store(chain(&items), Relaxed);
    SINK.store(generic(&small, at) + generic(&wide, at), Relaxed);
    SINK.store(dynamic(&shapes::Square(source())) + dynamic(&shapes::Rect { w: 2, h: source() }), Relaxed);
    panic!()
}
