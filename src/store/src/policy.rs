//! Decides which entries a garbage collection removes, for folders and for remote stores.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::id::BuildId;
use crate::release::Release;

/// Temporary files, and index entries without a file, are removed at this age.
pub(crate) const LITTER_AGE: Duration = Duration::from_secs(24 * 3600);

/// Limits of a garbage collection.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct GcOptions {
    /// Files that were not used for this long are removed.
    pub max_age: Option<Duration>,
    /// Files that were published longer ago than this are removed, whether or not they were used since.
    pub older_than: Option<Duration>,
    /// The files of so many newest releases of each product stay, as if they were pinned. Those of its older releases are removed: at once,
    /// or with [`GcOptions::max_age`] or [`GcOptions::older_than`] at that age. Files of no release are not concerned.
    pub keep_releases: Option<usize>,
    /// Then the least recently used files are removed, until the rest has at most this many bytes.
    pub max_bytes: Option<u64>,
    /// Temporary files and index entries without a file are removed at this age. The default is a day.
    pub litter_age: Duration,
    /// Counts the files that would be removed, and removes nothing.
    pub dry_run: bool,
}

impl Default for GcOptions {
    fn default() -> Self {
        let litter_age = LITTER_AGE;
        Self {
            max_age: None,
            older_than: None,
            keep_releases: None,
            max_bytes: None,
            litter_age,
            dry_run: false,
        }
    }
}

/// The facts about an entry on which its fate depends.
pub(crate) struct Facts<'e> {
    pub(crate) id: &'e BuildId,
    pub(crate) releases: &'e [Release],
    /// The time since it was used.
    pub(crate) idle: Duration,
    /// The time since it was published.
    pub(crate) age: Duration,
    /// Bytes of all entries that are there by now.
    pub(crate) left: u64,
}

/// What becomes of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Goes,
    Stays,
    /// It would go, but a pin names it, or it is of a release that is kept.
    Kept,
}

/// What a collection removes, and what it must not.
pub(crate) struct Policy<'o> {
    options: &'o GcOptions,
    pinned: BTreeSet<BuildId>,
    /// The newest releases of each product.
    newest: BTreeSet<(String, Option<String>)>,
}

impl<'o> Policy<'o> {
    /// `releases` are those of all entries.
    pub(crate) fn new<'r>(
        options: &'o GcOptions,
        pinned: BTreeSet<BuildId>,
        releases: impl Iterator<Item = &'r Release>,
    ) -> Self {
        // A release is as new as the last program that was published for it.
        let mut products: BTreeMap<&str, BTreeMap<Option<&str>, u64>> = BTreeMap::new();
        for release in releases {
            let published = products.entry(&release.product).or_default().entry(release.name()).or_default();
            *published = (*published).max(release.published);
        }
        let mut newest = BTreeSet::new();
        for (product, releases) in products {
            let mut releases: Vec<_> = releases.into_iter().collect();
            // Releases of one second: the greater name counts as the newer one, so that the order is the same each time.
            releases.sort_by_key(|(name, published)| std::cmp::Reverse((*published, *name)));
            let kept = releases.into_iter().take(options.keep_releases.unwrap_or(0));
            newest.extend(kept.map(|(name, _)| (product.to_owned(), name.map(str::to_owned))));
        }
        Self { options, pinned, newest }
    }

    pub(crate) fn fate(&self, entry: &Facts<'_>) -> Fate {
        let options = self.options;
        let is_over = |limit: Option<Duration>, time| limit.is_some_and(|limit| time >= limit);
        let is_old = is_over(options.max_age, entry.idle) || is_over(options.older_than, entry.age);
        // With an age, older releases stay until they have that age.
        let has_age = options.max_age.is_some() || options.older_than.is_some();
        let is_released = options.keep_releases.is_some() && !entry.releases.is_empty();
        let many = options.max_bytes.is_some_and(|most| entry.left > most);
        if !(is_old || many || (is_released && !has_age)) {
            return Fate::Stays;
        }
        let is_new = |release: &Release| {
            self.newest.contains(&(release.product.clone(), release.name().map(str::to_owned)))
        };
        if self.pinned.contains(entry.id) || entry.releases.iter().any(is_new) {
            Fate::Kept
        } else {
            Fate::Goes
        }
    }
}
