//! Rule on manifests: a dependency, and a lint that is allowed, has its reason beside it.

use super::tracked::{Finding, Tracked};

/// In the workspace's manifest every external dependency and every allowed lint has a `#` reason on its line. Members take dependencies
/// from there, or give the reason for one that only they have.
pub(super) fn reasons(files: &[Tracked]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files {
        // Crates apart (their own workspaces) give their reasons in their own way.
        let apart = file.below("benches/compare") || file.below("testbins/fuzz");
        let Some(text) = file.text().filter(|_| file.path.ends_with("Cargo.toml") && !apart) else {
            continue;
        };
        let mut table = "";
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.starts_with('[') {
                table = line.trim_matches(['[', ']']);
                continue;
            }
            let Some((_, value)) = line.split_once('=').filter(|_| !line.starts_with('#')) else { continue };
            let reason = line.split_once('#').is_some_and(|(_, reason)| !reason.trim().is_empty());
            let wrong = if table == "workspace.dependencies" {
                (!reason && !value.contains("path ="))
                    .then_some("a dependency needs a `#` reason on its line")
            } else if table.starts_with("workspace.lints") {
                (!reason && value.contains("\"allow\""))
                    .then_some("an allowed lint needs a `#` reason on its line")
            } else if table.ends_with("dependencies") {
                let shared = line.contains("workspace = true") || line.contains("path =");
                (!reason && !shared)
                    .then_some("a dependency of one crate alone needs a `#` reason on its line")
            } else {
                None
            };
            findings.extend(wrong.map(|message| Finding::new(&file.path, index + 1, message)));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::tests::{NONE, lines};
    use super::*;

    #[test]
    fn reasons_are_asked_for() {
        let good = "[workspace.dependencies]\na = { path = \"a\" }\nb = \"1\" # why\n# c = \"1\"\n\
                    [workspace.lints.rust]\nd = \"deny\"\ne = \"allow\" # why\n[profile.dev]\nf = 1\n";
        assert_eq!(lines(reasons, "Cargo.toml", good), NONE);
        let bad =
            "[workspace.dependencies]\nb = \"1\"\nc = \"1\" #\n[workspace.lints.clippy]\ne = \"allow\"\n";
        assert_eq!(lines(reasons, "Cargo.toml", bad), [2, 3, 5]);
        assert_eq!(
            lines(reasons, "src/a/Cargo.toml", "[dependencies]\na.workspace = true\nb = \"1\"\n"),
            [2, 3][1..]
        );
        assert_eq!(
            lines(
                reasons,
                "src/a/Cargo.toml",
                "[dev-dependencies]\na = { workspace = true }\nb = \"1\" # why\n"
            ),
            NONE
        );
        assert_eq!(lines(reasons, "benches/compare/Cargo.toml", "[dependencies]\nb = \"1\"\n"), NONE);
    }
}
