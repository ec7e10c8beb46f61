//! `foldsym verify`: checks a whole file, and compares it with the program that it was made of.

use crate::args::Verify;
use crate::failure::{Failure, exit};
use crate::find::index::NameIndex;
use crate::mapped::Mapped;

/// Checks every byte; with a program, every answer.
pub(crate) fn run(args: &Verify) -> Result<u8, Failure> {
    let mapped = Mapped::open(&args.file)?;
    let file = crate::open::open(&mapped)?;
    file.verify().map_err(|error| crate::open::damaged(&mapped, error))?;
    if let Some(index) = NameIndex::of(&file) {
        index.verify().map_err(|what| Failure::input(mapped.path(), what))?;
    }
    if let Some(program) = &args.against {
        return against(args, program);
    }
    let mut line = Vec::new();
    crate::text::push_escaped(&mut line, args.file.as_os_str().as_encoded_bytes());
    line.extend_from_slice(
        format!(": sound, {} functions, {} bytes\n", file.function_count(), mapped.len()).as_bytes(),
    );
    std::io::Write::write_all(&mut std::io::stdout().lock(), &line)?;
    Ok(0)
}

/// Compares the file with a program: exit code 1 where an answer differs.
fn against(args: &Verify, program: &std::path::Path) -> Result<u8, Failure> {
    let options = crate::convert::options(&args.reading);
    let found = foldsym_convert::verify_against(&args.file, program, &options)
        .map_err(|error| Failure { code: error.exit_code(), message: error.to_string() })?;
    let mut text = Vec::new();
    for line in &found.examples {
        crate::text::push_escaped(&mut text, line.as_bytes());
        text.push(b'\n');
    }
    text.extend_from_slice(format!("{} addresses asked, {} differ\n", found.asked, found.count).as_bytes());
    std::io::Write::write_all(&mut std::io::stdout().lock(), &text)?;
    Ok(if found.count > 0 { exit::NOTHING } else { 0 })
}
