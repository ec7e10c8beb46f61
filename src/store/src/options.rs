//! How a remote store is cached: the folder, its bound, and for how long an answer is awaited.

use std::path::PathBuf;
use std::time::Duration;

/// How a remote store is cached.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StoreOptions {
    /// The folder of the cache; [`default_cache`] if none is given.
    pub cache: Option<PathBuf>,
    /// Most bytes of the folder of the cache, with converted programs; the least recently used files are removed. The default is
    /// [`default_cache_bytes`].
    pub cache_bytes: u64,
    /// How long an absent module is remembered, before the remote store is searched for it again.
    pub missing_for: Duration,
    /// How long a remote store may be silent while a file is read before that is an error; also the time that each MiB may take on average.
    /// S3, Google and Azure are retried several times meanwhile.
    pub patience: Duration,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            cache: None,
            cache_bytes: default_cache_bytes(),
            missing_for: Duration::from_secs(3600),
            patience: Duration::from_secs(60),
        }
    }
}

/// The folder of the cache: `FOLDSYM_CACHE`, else `$XDG_CACHE_HOME/foldsym`, else `~/.cache/foldsym`. `None` if none of the
/// three variables is set.
pub fn default_cache() -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    variable("FOLDSYM_CACHE")
        .or_else(|| variable("XDG_CACHE_HOME").map(|folder| folder.join("foldsym")))
        .or_else(|| variable("HOME").map(|folder| folder.join(".cache/foldsym")))
}

/// Most bytes of the cache: `FOLDSYM_CACHE_BYTES`, as [`parse_bytes`] reads it, else 10 GiB. A value that is not a number counts as not
/// set.
pub fn default_cache_bytes() -> u64 {
    let set = std::env::var("FOLDSYM_CACHE_BYTES").ok();
    set.and_then(|text| parse_bytes(text.trim())).unwrap_or(10 << 30)
}

/// A number of bytes: `1000`, `500M`, `10G`. K, M, G and T are powers of 1024. `None` for any other text.
pub fn parse_bytes(text: &str) -> Option<u64> {
    let units = [("K", 10), ("M", 20), ("G", 30), ("T", 40)];
    let (digits, shift) =
        units.iter().find_map(|(unit, shift)| Some((text.strip_suffix(unit)?, *shift))).unwrap_or((text, 0));
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// The folder in which debuginfod's clients keep fetched files: `DEBUGINFOD_CACHE_PATH`, else `debuginfod_client` in `$XDG_CACHE_HOME` or
/// `~/.cache`. `None` if none of the variables is set.
pub fn debuginfod_cache() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let below = |folder: PathBuf| folder.join("debuginfod_client");
    set("DEBUGINFOD_CACHE_PATH")
        .or_else(|| set("XDG_CACHE_HOME").map(below))
        .or_else(|| set("HOME").map(|home| below(home.join(".cache"))))
}

#[cfg(test)]
mod tests {
    use super::parse_bytes;

    #[test]
    fn bytes_have_units_of_1024() {
        assert_eq!(["7", "2K", "10G"].map(parse_bytes), [Some(7), Some(2048), Some(10 << 30)]);
        assert_eq!(["", "G", "1g", "-1", "1.5G", "18446744073709551615K"].map(parse_bytes), [None; 6]);
    }
}
