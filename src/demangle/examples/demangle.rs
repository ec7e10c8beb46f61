//! Reads linkage names, one a line, and prints their readable names.

use std::io::{self, BufRead, Write};

fn main() -> io::Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    let mut text = String::new();
    for line in io::stdin().lock().lines() {
        let line = line?;
        text.clear();
        let readable = foldsym_demangle::demangle_into(line.as_bytes(), &mut text);
        writeln!(out, "{}", if readable { &text } else { &line })?;
    }
    out.flush()
}
