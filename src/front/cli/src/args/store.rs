//! The arguments of `foldsym store`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

#[derive(Args)]
pub(crate) struct StoreArgs {
    #[command(subcommand)]
    pub(crate) command: Task,
}

#[derive(Subcommand)]
pub(crate) enum Task {
    /// Lists the files of a store
    List(Folder),
    /// Verifies every file of a store; exit code 1 if one is damaged or misplaced
    Check(Folder),
    /// Removes files by age and size, and leftovers of killed writers
    Gc(Gc),
    /// Publishes .fsym files under the build ids inside them; creates the store if missing
    Add(Add),
    /// Removes files by build id or debug id; exit code 1 if one is missing
    Remove(Remove),
}

#[derive(Args)]
pub(crate) struct Folder {
    /// Folder of the store
    pub(crate) store: PathBuf,
    /// Prints JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct Gc {
    #[command(flatten)]
    pub(crate) folder: Folder,
    /// Removes files that were not used for this long (`30d`, `12h`, `90m`, `45s`)
    #[arg(long, value_name = "AGE", value_parser = duration)]
    pub(crate) max_age: Option<Duration>,
    /// Then removes the least recently used files until at most N bytes are left (`500M`, `10G`)
    #[arg(long, value_name = "N", value_parser = bytes)]
    pub(crate) max_bytes: Option<u64>,
    /// Prints what would be removed without removing it
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Args)]
pub(crate) struct Add {
    /// Folder or address of the store
    pub(crate) store: String,
    /// Files to publish
    #[arg(required = true, value_name = "FILE.fsym")]
    pub(crate) files: Vec<PathBuf>,
    /// Replaces a file of the same build id that has other bytes
    #[arg(long)]
    pub(crate) replace: bool,
    /// Prints JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct Remove {
    /// Folder of the store
    pub(crate) store: PathBuf,
    /// Build ids or debug ids
    #[arg(required = true, value_name = "ID")]
    pub(crate) ids: Vec<String>,
    /// Prints JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `30d`, `12h`, `90m`, `45s`.
fn duration(text: &str) -> Result<Duration, String> {
    let units = [("d", 86_400), ("h", 3600), ("m", 60), ("s", 1)];
    let parsed = units.iter().find_map(|(unit, seconds)| {
        let count: u64 = text.strip_suffix(unit)?.parse().ok()?;
        // An age in days may overflow in seconds.
        count.checked_mul(*seconds).map(Duration::from_secs)
    });
    parsed.ok_or_else(|| "expected a number and d, h, m or s".to_owned())
}

/// `1000`, `500M`, `10G`: K, M, G and T are powers of 1024.
fn bytes(text: &str) -> Result<u64, String> {
    let parsed = foldsym_store::parse_bytes(text);
    parsed.ok_or_else(|| "expected a number of bytes, or a number and K, M, G or T".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_and_sizes() {
        assert_eq!(duration("30d"), Ok(Duration::from_secs(30 * 86_400)));
        assert_eq!(duration("0s"), Ok(Duration::ZERO));
        assert_eq!(bytes("10G"), Ok(10 << 30));
        assert_eq!(bytes("7"), Ok(7));
        for wrong in ["", "d", "1", "1w", "-1d", "99999999999999999999d", "18446744073709551615d"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
        for wrong in ["", "G", "1g", "-1", "1.5G", "18446744073709551615K"] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
    }
}
