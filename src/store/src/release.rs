//! Turns the report of an entry into the releases that it was published for, and back.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value, json};

/// A release of a product that a program was published for. A program that does not change from one release to the next has several.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Release {
    /// The product.
    pub product: String,
    /// Its version.
    pub version: Option<String>,
    /// The revision of its sources.
    pub revision: Option<String>,
    /// When the program was published for it: seconds since 1970.
    pub published: u64,
}

impl Release {
    /// A release that is published now.
    pub fn now(product: &str, version: Option<&str>, revision: Option<&str>) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            product: product.to_owned(),
            version: version.map(str::to_owned),
            revision: revision.map(str::to_owned),
            published: now.as_secs(),
        }
    }

    /// The releases in a report, in the order in which they were published.
    pub fn of_report(report: &Value) -> Vec<Self> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let release = |value: &Value| {
            let (version, revision) = (text(&value["version"]), text(&value["revision"]));
            let published = value["published"].as_u64().unwrap_or(0);
            Some(Self { product: text(&value["product"])?, version, revision, published })
        };
        report["releases"].as_array().into_iter().flatten().filter_map(release).collect()
    }

    /// What distinguishes the releases of a product: the version, or without one the revision.
    pub(crate) fn name(&self) -> Option<&str> {
        self.version.as_deref().or(self.revision.as_deref())
    }

    /// Whether it is the same release, whenever it was published.
    fn is(&self, other: &Self) -> bool {
        (&self.product, &self.version, &self.revision) == (&other.product, &other.version, &other.revision)
    }

    fn json(&self) -> Value {
        let Self { product, version, revision, published } = self;
        json!({ "product": product, "version": version, "revision": revision, "published": published })
    }
}

/// The text of a report with these releases added, and with this name if it is the better one. `None` if that changes nothing, or the text
/// is not a report.
pub(crate) fn adding(report: &str, name: Option<&str>, releases: &[Release]) -> Option<String> {
    let mut report = serde_json::from_str::<Map<String, Value>>(report).ok()?;
    let old = Release::of_report(&Value::Object(report.clone()));
    let all = joined(&old, releases);
    let old_name = report.get("name").and_then(Value::as_str);
    let name = name.filter(|name| old_name.is_none_or(|old| is_better_name(name, old)));
    if all.len() == old.len() && name.is_none() {
        return None;
    }
    if all.len() != old.len() {
        report.insert("releases".into(), to_json(&all));
    }
    if let Some(name) = name {
        report.insert("name".into(), json!(name));
    }
    Some(format!("{}\n", Value::Object(report)))
}

/// Whether a program with both names is called by the first: the shorter one, so `mail` and not `mail-420e38ebd8bb4667`, a link to it that
/// Cargo makes. The order in which a store meets the names does not count.
fn is_better_name(name: &str, other: &str) -> bool {
    (name.len(), name) < (other.len(), other)
}

/// Releases in one list, each once.
pub(crate) fn joined(old: &[Release], new: &[Release]) -> Vec<Release> {
    let mut all = old.to_vec();
    for release in new {
        if !all.iter().any(|there| there.is(release)) {
            all.push(release.clone());
        }
    }
    all
}

pub(crate) fn to_json(releases: &[Release]) -> Value {
    releases.iter().map(Release::json).collect()
}
