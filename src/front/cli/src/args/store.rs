//! The arguments of `foldsym store`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

#[derive(Args)]
#[command(after_help = REMOTE)]
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
    /// Removes files by age, release and size, and leftovers of killed writers
    #[command(after_help = "\
Examples:
  foldsym store gc /srv/symbols --keep-releases 10 --older-than 90d --dry-run
  foldsym store gc s3://bucket/symbols --max-bytes 500G")]
    Gc(Gc),
    /// Publishes .fsym files under the build ids inside them; creates the store if missing
    Add(Add),
    /// Removes files by build id or debug id; exit code 1 if one is missing
    Remove(Remove),
    /// Keeps files from `gc`, for example those of a release, until `unpin`; lists all pins if only the store is given
    #[command(after_help = "\
Examples:
  foldsym store pin /srv/symbols 2026.11 8f3c2a90d1 41b7e05c22
  foldsym store pin /srv/symbols lts --product mail --version 4.2     all files of that release
  foldsym store pin /srv/symbols                                      lists the pins")]
    Pin(Pin),
    /// Removes a pin, or files from it; exit code 1 if there is none
    Unpin(Unpin),
}

/// How remote stores are reached.
pub(crate) const REMOTE: &str = "\
A store is a folder, or in a build with the feature `remote` an address:
  s3://BUCKET/PREFIX     AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION; AWS_ENDPOINT for storage of
                         others (MinIO), with AWS_ALLOW_HTTP=true if it begins with http://; AWS_SKIP_SIGNATURE=true if anybody
                         may read it; AWS_METADATA_ENDPOINT=http://169.254.169.254 takes the credentials of the machine (EC2)
  gs://BUCKET/PREFIX     GOOGLE_APPLICATION_CREDENTIALS or GOOGLE_SERVICE_ACCOUNT: a file
  az://CONTAINER/PREFIX  AZURE_STORAGE_ACCOUNT_NAME, and AZURE_STORAGE_ACCOUNT_KEY or AZURE_STORAGE_SAS_TOKEN
  https://HOST/PATH      a folder behind an HTTP server, or http://: is only read, and cannot be listed or changed
FOLDSYM_CACHE is the folder for what is fetched, FOLDSYM_CACHE_BYTES its bound.";

#[derive(Args)]
pub(crate) struct Folder {
    /// Folder or address of the store
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
    /// Removes files that were published longer ago than this, whether or not they were used
    #[arg(long, value_name = "AGE", value_parser = duration)]
    pub(crate) older_than: Option<Duration>,
    /// Keeps the files of the N newest releases of each product (convert --product --version), and removes those of its older
    /// releases: at once, or with --max-age or --older-than at that age. Files of no release are not concerned
    #[arg(long, value_name = "N")]
    pub(crate) keep_releases: Option<usize>,
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
#[command(disable_version_flag = true)]
pub(crate) struct Pin {
    /// Folder or address of the store
    pub(crate) store: PathBuf,
    /// Name of the pin
    pub(crate) name: Option<String>,
    /// Build ids or debug ids
    #[arg(value_name = "ID")]
    pub(crate) ids: Vec<String>,
    /// Pins the files of this product too
    #[arg(long, value_name = "P", requires = "name")]
    pub(crate) product: Option<String>,
    /// Only those of this version
    #[arg(long, value_name = "V", requires = "product")]
    pub(crate) version: Option<String>,
    /// Prints JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct Unpin {
    /// Folder or address of the store
    pub(crate) store: PathBuf,
    /// Name of the pin
    pub(crate) name: String,
    /// Build ids or debug ids; without any, the whole pin
    #[arg(value_name = "ID")]
    pub(crate) ids: Vec<String>,
    /// Prints JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct Remove {
    /// Folder or address of the store
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
