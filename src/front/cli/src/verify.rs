//! `foldsym verify`: checks a whole file, and compares it with the program that it was made of.

use crate::args::Verify;
use crate::failure::Failure;
use crate::mapped::Mapped;

/// Checks every byte; with a program, every answer.
pub(crate) fn run(args: &Verify) -> Result<u8, Failure> {
    let mapped = Mapped::open(&args.file)?;
    let file = crate::open::open(&mapped)?;
    file.verify().map_err(|error| crate::open::damaged(&mapped, error))?;
    if args.against.is_some() {
        return Err(Failure::not_in_this_version("--against"));
    }
    let mut line = Vec::new();
    crate::text::push_escaped(&mut line, args.file.as_os_str().as_encoded_bytes());
    line.extend_from_slice(
        format!(": sound, {} functions, {} bytes\n", file.function_count(), mapped.len()).as_bytes(),
    );
    std::io::Write::write_all(&mut std::io::stdout().lock(), &line)?;
    Ok(0)
}
