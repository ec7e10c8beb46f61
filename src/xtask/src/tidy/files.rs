//! Rules on all tracked files: no path of one machine in them, and binaries that stay small.

use super::tracked::{Finding, Tracked};

/// Split, so that this file does not contain the text that it searches for.
const MACHINE: &[&str] =
    &[concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/fa", "rm/"), concat!("/ho", "me/")];

const LARGEST: usize = 300_000;
const ALL_BUILT: usize = 7_000_000;

/// No file, text or binary, names a folder that only one machine has.
pub(super) fn machine_paths(files: &[Tracked]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files {
        for path in MACHINE {
            // One finding a file and path: a binary may hold thousands.
            if let Some(at) = find(&file.bytes, path.as_bytes()) {
                let line = file.bytes.iter().take(at).filter(|byte| **byte == b'\n').count() + 1;
                findings.push(Finding::new(
                    &file.path,
                    line,
                    format!("names a path of one machine, {path}..."),
                ));
            }
        }
    }
    findings
}

/// No text holds what git leaves of a merge that was not resolved.
pub(super) fn merged(files: &[Tracked]) -> Vec<Finding> {
    let marker = |line: &str| ["<<<<<<< ", ">>>>>>> "].iter().any(|marker| line.starts_with(marker));
    let lines = |file: &Tracked| {
        let found = file.text()?.lines().position(marker)?;
        Some(Finding::new(&file.path, found + 1, "is left of a merge that was not resolved"))
    };
    files.iter().filter_map(lines).collect()
}

/// The place of `needle` at the start of an absolute path: `a/b` and `./b` hold no `/b`.
fn find(bytes: &[u8], needle: &[u8]) -> Option<usize> {
    let inside = |byte: u8| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'~' | b'/' | b'}' | b')')
    };
    let starts = |at: usize| at == 0 || !inside(bytes[at - 1]);
    // The first byte alone is compared first: this is built without optimization, and looks at each byte of all files.
    (0..bytes.len()).find(|&at| bytes[at] == needle[0] && bytes[at..].starts_with(needle) && starts(at))
}

/// Committed binaries are small, and so are all built test programs together.
pub(super) fn binary_sizes(files: &[Tracked]) -> Vec<Finding> {
    let mut findings: Vec<Finding> = files
        .iter()
        .filter(|file| file.text().is_none() && file.bytes.len() >= LARGEST)
        .map(|file| {
            Finding::new(
                &file.path,
                1,
                format!("{} bytes; a binary must stay under {LARGEST}", file.bytes.len()),
            )
        })
        .collect();
    let built: usize =
        files.iter().filter(|file| file.below("testbins/built")).map(|file| file.bytes.len()).sum();
    if built >= ALL_BUILT {
        let message = format!("{built} bytes together; they must stay under {ALL_BUILT}");
        findings.push(Finding::new("testbins/built", 1, message));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(path: &str, bytes: Vec<u8>) -> Tracked {
        Tracked { path: path.to_owned(), bytes }
    }

    #[test]
    fn machine_paths_are_found() {
        for path in MACHINE {
            let text = bytes("a.txt", format!("x\nsee {path}x\n").into_bytes());
            assert_eq!(machine_paths(&[text])[0].line, 2);
            let binary = bytes("a.out", [&[0, 1], path.as_bytes()].concat());
            assert_eq!(machine_paths(&[binary]).len(), 1);
            let relative = bytes("a.txt", format!("frame{path}x ../a{path}").into_bytes());
            assert_eq!(machine_paths(&[relative]).len(), 0);
        }
    }

    #[test]
    fn what_is_left_of_a_merge_is_found() {
        let text = bytes("run", format!("a\n{} HEAD\nb\n", "<".repeat(7)).into_bytes());
        assert_eq!(merged(&[text])[0].line, 2);
        assert!(merged(&[bytes("run", b"a <<<<<<< b\n=======\n".to_vec())]).is_empty());
    }

    #[test]
    fn large_binaries_are_found() {
        assert_eq!(binary_sizes(&[bytes("a", vec![0; LARGEST - 1])]).len(), 0);
        assert_eq!(binary_sizes(&[bytes("a", vec![0; LARGEST])]).len(), 1);
        assert_eq!(binary_sizes(&[bytes("a.json", vec![b' '; LARGEST])]).len(), 0);
        let many: Vec<Tracked> =
            (0..25).map(|n| bytes(&format!("testbins/built/{n}"), vec![0; 290_000])).collect();
        assert_eq!(binary_sizes(&many).len(), 1);
    }
}
