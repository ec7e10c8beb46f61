//! A thread writes through a null pointer.
//
//# build: rustc -O -C link-arg=-fuse-ld=lld -C link-arg=-Wl,--icf=all
//# stack: segfault::weigh segfault::post segfault::main::{closure#0}

struct Mail {
    weight: *mut u64,
}

// SAFETY: there is nothing behind the pointer.
unsafe impl Send for Mail {}

#[inline(never)]
fn weigh(mail: &Mail) -> u64 {
    // SAFETY: none: this is the crash.
    unsafe {
        mail.weight.write_volatile(3);
        mail.weight.read_volatile() + 1
    }
}

#[inline(never)]
fn post(mail: &Mail) -> u64 {
    weigh(mail) * 2
}

fn main() {
    let mail = Mail { weight: std::ptr::null_mut() };
    let thread = std::thread::spawn(move || {
        let mail = mail;
        post(&mail) + 1
    });
    std::process::exit(thread.join().map_or(1, |weight| weight as i32));
}
