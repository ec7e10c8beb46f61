//! The samples of a report: its stacks, each with how often it was there.

use foldsym_reports::{Opened, Report, Thread};

/// Gives each stack of a report with its count to a function; of a profile the values of a kind, by its type or `TYPE/UNIT`, "" for the
/// profile's own choice.
///
/// With `one_event` only samples of the report's first event count. Returns what was lost, one sentence each.
///
/// # Errors
/// The profile has no such kind.
pub(super) fn each(
    opened: &mut Opened<'_>,
    kind: &str,
    one_event: bool,
    mut take: impl FnMut(&Report, &Thread, i64),
) -> Result<Vec<String>, String> {
    let report = opened.report();
    let types = &report.value_types;
    let value = match kind {
        "" => report.default_value,
        _ => {
            let is_kind =
                |known: &String| known == kind || known.split_once('/').is_some_and(|(name, _)| name == kind);
            let found = types.iter().position(is_kind);
            found.ok_or_else(|| format!("no value {kind:?}: the profile has {}", types.join(", ")))?
        }
    };
    let has_values = !types.is_empty();
    // Counts of different events have no sum.
    let mut lost = Vec::new();
    let event = match &report.events[..] {
        [first, others @ ..] if one_event && !others.is_empty() => {
            lost.push(format!(
                "only samples of the event {first} were counted; --event chooses another: {}",
                others.join(", ")
            ));
            Some(first.clone())
        }
        _ => None,
    };
    while let Some(thread) = opened.next_thread() {
        if event.is_some() && thread.event != event {
            continue;
        }
        // A crash report has no values: each of its stacks counts once.
        let count = if !has_values { 1 } else { thread.values.get(value).copied().unwrap_or(0) };
        if count != 0 && !thread.frames.is_empty() {
            take(opened.report(), &thread, count);
        }
    }
    lost.extend_from_slice(&opened.report().warnings);
    Ok(lost)
}
