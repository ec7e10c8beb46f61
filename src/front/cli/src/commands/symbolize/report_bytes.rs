//! Turns the path of a report into its bytes, which are mapped if the report is a regular file.

use std::io::Read;
use std::path::Path;

/// Reports are not larger; cores of the kernel are mapped, and do not count.
const MAX_REPORT: u64 = 4 << 30;

/// Passes the bytes of a file to a function.
pub(super) fn read<T>(path: &Path, parse: impl FnOnce(&[u8]) -> Result<T, String>) -> Result<T, String> {
    let failed = |error: std::io::Error| error.to_string();
    let mut bytes = Vec::new();
    if path.as_os_str() == "-" {
        std::io::stdin().lock().take(MAX_REPORT + 1).read_to_end(&mut bytes).map_err(failed)?;
    } else {
        let file = std::fs::File::open(path).map_err(failed)?;
        if file.metadata().map_err(failed)?.is_file() {
            let mapped = crate::io::mapped::Mapped::open(path).map_err(|failure| failure.message)?;
            return parse(&mapped);
        }
        // A pipe has no size. Reading one byte more than the limit shows that the limit was exceeded.
        file.take(MAX_REPORT + 1).read_to_end(&mut bytes).map_err(failed)?;
    }
    if bytes.len() as u64 > MAX_REPORT {
        return Err(format!("more than {MAX_REPORT} bytes"));
    }
    parse(&bytes)
}
