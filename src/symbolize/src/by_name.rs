//! Turns the name of a module without an identity into its file in a store, if the store has one build of that name, or into the builds to
//! choose from.
//!
//! Stores in folders have an index by name. A remote store has none: listing it may take minutes.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use foldsym_store::{BuildId, LocalStore, Store, StoreError, SymbolMap};

use crate::fits::level;
use crate::unknown::{Unknown, is_passing_error, of_error};

/// A message lists so many builds.
const LISTED: usize = 20;

/// The file of a module that is known by name alone, and the store that has it. `why` is the reason why the search paths have none.
/// `is_passing` is set if another search may find one at once.
pub(crate) fn find(
    stores: &[Store],
    name: &str,
    why: Unknown,
    is_passing: &mut bool,
) -> Result<(SymbolMap, String), Unknown> {
    let Unknown::Absent(searched) = &why else { return Err(why) };
    if stores.is_empty() {
        return Err(why);
    }
    match one_of(stores, name) {
        Ok(Named::One(map, location)) => Ok((map, location)),
        Ok(Named::Several(text)) => Err(Unknown::Absent(text.into())),
        Ok(Named::None(text)) => Err(Unknown::Absent(format!("{searched}; {text}").into())),
        Err(error) => {
            *is_passing |= is_passing_error(&error);
            Err(of_error(&error))
        }
    }
}

/// The builds of a name.
enum Named {
    /// Its file, and the store that has it.
    One(SymbolMap, String),
    /// The text names them.
    Several(String),
    /// The text says where there is none.
    None(String),
}

fn one_of(stores: &[Store], name: &str) -> Result<Named, StoreError> {
    // Several stores may have the same build.
    let mut builds: BTreeMap<BuildId, (Vec<&LocalStore>, SystemTime)> = BTreeMap::new();
    let mut absent = Vec::new();
    for store in stores {
        let Store::Local(local) = store else {
            absent.push(format!("{} is not searched by name: give the build id", store.location()));
            continue;
        };
        let found = local.builds_named(name)?;
        if found.is_empty() {
            absent.push(format!("no build of this name in {}", store.location()));
        }
        for listed in found {
            builds.entry(listed.id).or_insert((Vec::new(), listed.published)).0.push(local);
        }
    }
    let mut builds: Vec<_> = builds.into_iter().collect();
    if let [(id, (stores, _))] = &builds[..] {
        // The best of its files.
        let mut best: Option<(SymbolMap, String)> = None;
        let mut failed = None;
        for store in stores {
            let map = match store.get(id) {
                Ok(Some(map)) => map,
                Ok(None) => continue,
                Err(error) => {
                    failed.get_or_insert(error);
                    continue;
                }
            };
            if best.as_ref().is_none_or(|(best, _)| level(best) < level(&map)) {
                best = Some((map, store.root().display().to_string()));
            }
        }
        if let (None, Some(error)) = (&best, failed) {
            return Err(error);
        }
        // A collection may have removed it since it was listed.
        let gone = || Named::None(format!("{id} is no longer in the stores"));
        return Ok(best.map_or_else(gone, |(map, location)| Named::One(map, location)));
    }
    if builds.is_empty() {
        return Ok(Named::None(absent.join("; ")));
    }
    // The newest first.
    builds.sort_by_key(|(id, (_, published))| (std::cmp::Reverse(*published), id.clone()));
    let listed =
        builds.iter().take(LISTED).map(|(id, (_, published))| format!("{id} ({})", date(*published)));
    let listed = listed.collect::<Vec<_>>().join(", ");
    let more = builds.len().saturating_sub(LISTED);
    let more = if more == 0 { String::new() } else { format!(" and {more} older ones") };
    let count = builds.len();
    Ok(Named::Several(format!(
        "{name}: {count} builds of this name, give the id of one (ID:OFFSET): {listed}{more}"
    )))
}

/// The day of a time, in UTC: `2026-11-28`.
fn date(time: SystemTime) -> String {
    let days = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs() / 86_400;
    // Years that begin in March have their leap day at the end. An era of 400 years has 146,097 days, and 1970 is 719,468 days
    // after the first of March of the year 0.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    // Five months from March on have 153 days.
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, year) = if month < 10 { (month + 3, year) } else { (month - 9, year + 1) };
    format!("{:04}-{month:02}-{day:02}", era * 400 + year)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_dates() {
        let on = |days: u64| date(UNIX_EPOCH + std::time::Duration::from_secs(days * 86_400));
        let cases = [(0, "1970-01-01"), (59, "1970-03-01"), (11_016, "2000-02-29"), (20_785, "2026-11-28")];
        for (days, text) in cases {
            assert_eq!(on(days), text);
        }
    }
}
