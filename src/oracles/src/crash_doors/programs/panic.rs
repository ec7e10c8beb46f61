//! A panic that ends the process, in a function that is inlined.
//
//# build: rustc -O -C panic=abort
//# stack: panic::read_weight panic::weigh panic::main

#[inline(always)]
fn read_weight(text: &str) -> u32 {
    text.parse().unwrap()
}

#[inline(never)]
fn weigh(text: &str) -> u32 {
    read_weight(text) + 1
}

fn main() {
    let text = std::env::args().nth(1).unwrap_or_else(|| "heavy".to_owned());
    std::process::exit(weigh(&text) as i32);
}
