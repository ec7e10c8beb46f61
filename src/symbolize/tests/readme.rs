//! The example in Rust of the repository's front page is one that cargo compiles.

/// What is between two texts, each line without blanks at its ends: rustfmt breaks lines that the page leaves whole.
fn between(text: &str, start: &str, end: &str) -> String {
    let (_, rest) = text.split_once(start).unwrap_or_else(|| panic!("no {start:?}"));
    let (code, _) = rest.split_once(end).unwrap_or_else(|| panic!("no {end:?} behind {start:?}"));
    let code: String = code.split_whitespace().collect();
    code.replace(",)", ")").replace(",]", "]")
}

#[test]
fn the_front_page_has_the_example() {
    let page = include_str!("../../../README.md");
    let example = include_str!("../examples/readme.rs");
    let shown = between(page, "(`foldsym-symbolize`):\n\n```rust\n", "```");
    assert!(shown.contains("Symbolizer::builder()"), "{shown}");
    assert_eq!(shown, between(example, "are on the page.\n", "    Ok(())\n}"));
}
