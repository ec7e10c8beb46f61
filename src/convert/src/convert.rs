//! The functions that convert a program.

use std::io::{self, Write};
use std::path::Path;

use foldsym_format::header::MAGIC;

use crate::encode::Encoded;
use crate::error::ConvertError;
use crate::open::{Files, ProgramSource};
use crate::options::{Options, Progress};
use crate::pipeline::produce;
use crate::report::Report;
use crate::util::output::{replaceable, write_whole};

/// Converts one program into one `.fsym` file, written beside its final name and renamed. If that name is a symbolic
/// link, the link stays and its target is replaced. With the feature `import` the program may be a Breakpad symbol file.
///
/// ```
/// use std::path::Path;
///
/// use foldsym_convert::{NoProgress, Options, convert};
///
/// let folder = tempfile::tempdir()?;
/// let output = folder.path().join("demo.fsym");
/// let program = Path::new("../../testbins/built/demo.elf");
/// let report = convert(program, &output, &Options::default(), &NoProgress)?;
/// assert_eq!(report.file_len, output.metadata()?.len());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The program cannot be opened, or the file cannot be written. A device, a FIFO, a folder, and a file that is no
/// `.fsym` are not overwritten. Damage inside the debug information is no error: everything readable is kept, and the
/// report counts the rest.
pub fn convert(
    input: &Path,
    output: &Path,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Report, ConvertError> {
    let unwritable = |error| ConvertError::Write { path: output.to_owned(), error };
    // Checked before the work, which may take long.
    replaceable(output, &MAGIC, "symbol file").map_err(unwritable)?;
    let write = |encoded: &Encoded| write_whole(output, |file| encoded.write_to(file)).map_err(unwritable);
    // The parent of a bare name (`demo.fsym`) is the empty path, which no system call takes for the current folder.
    let folder = output.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    produce(ProgramSource::Path(input), Files::with_scratch(folder.to_owned()), write, options, progress)
}

/// Converts one program and writes the bytes of its `.fsym` file to `out`.
///
/// ```
/// use std::path::Path;
///
/// use foldsym_convert::{NoProgress, Options, convert_to};
///
/// let mut symbols = Vec::new();
/// let program = Path::new("../../testbins/built/fold.clang-lld.set/program");
/// let report = convert_to(program, &mut symbols, &Options::default(), &NoProgress)?;
/// assert!(report.decided.folded_functions > report.decided.folded_addresses);
/// assert_eq!(report.file_len, symbols.len() as u64);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`convert`]; an error of `out` comes back as [`ConvertError::Write`], after a part of the file may have been written.
pub fn convert_to(
    input: &Path,
    out: &mut (dyn Write + Send),
    options: &Options,
    progress: &dyn Progress,
) -> Result<Report, ConvertError> {
    produce(ProgramSource::Path(input), Files::new(), writer(input, out), options, progress)
}

/// Converts a program from its bytes and writes the bytes of its `.fsym` file to `out`. It opens no file, so a
/// separate debug file, a dwz file, `.dwo` files and a `.dwp` are missing, and the report shows that. `name` is the
/// program's name in messages and in the report; the file does not store it. The crate's documentation has an example.
///
/// # Errors
/// As [`convert_to`].
pub fn convert_bytes(
    name: &Path,
    bytes: &[u8],
    out: &mut (dyn Write + Send),
    options: &Options,
    progress: &dyn Progress,
) -> Result<Report, ConvertError> {
    produce(ProgramSource::Bytes(name, bytes), Files::new(), writer(name, out), options, progress)
}

fn writer<'o>(
    name: &'o Path,
    out: &'o mut (dyn Write + Send),
) -> impl FnOnce(&Encoded) -> Result<(), ConvertError> + Send + 'o {
    move |encoded| {
        // A buffered writer would lose the error of its last bytes when it is dropped.
        let written: io::Result<()> = encoded.write_to(&mut *out).and_then(|()| out.flush());
        written.map_err(|error| ConvertError::Write { path: name.to_owned(), error })
    }
}
