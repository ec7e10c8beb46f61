//! Explains why `foldsym lookup` and `foldsym llvm-symbolizer` show different answers for one address: each known reason has a name. Only the
//! outermost frame may differ, since each command chooses among what is known of the function. What is known is read from
//! `foldsym lookup --json`. A difference without a reason is a fault.

use std::collections::BTreeMap;

use serde_json::Value;

use super::why::EXAMPLES;
use crate::fold::answer;
use crate::json::Answered;

/// The line with the function and the line with the place.
type FrameText = (String, String);
/// The frames of an answer, innermost first.
pub(super) type Frames = Vec<FrameText>;

/// `lookup` shows the name that other modules can see (`abort`), the stand-in the symbol that llvm-symbolizer chooses (`__GI_abort`).
const OTHER_NAME: &str = "another name of the function";
/// `lookup` shows the symbol (`f.part.0`), the stand-in the name in the debug information (`f`), as llvm-symbolizer does.
const CLONE: &str = "the symbol of a clone or a part";
/// The stand-in shows the file of the symbol (`STT_FILE`) of a function without lines, as llvm-symbolizer does.
const SYMBOL_FILE: &str = "the file of the symbol";

/// What one command shows, an answer for each address.
pub(super) struct Shown {
    pub(super) readable: Vec<Frames>,
    /// The same with `--no-demangle`.
    pub(super) linkage: Vec<Frames>,
}

/// The frames of the text that a command prints for one address.
pub(super) fn frames(answer: &str) -> Frames {
    let lines: Vec<&str> = answer.lines().filter(|line| !line.is_empty()).collect();
    lines
        .chunks(2)
        .map(|pair| (pair[0].to_owned(), pair.get(1).copied().unwrap_or_default().to_owned()))
        .collect()
}

/// Compares and prints how many answers differ, by reason. `tool` are the answers of llvm-symbolizer itself, and `answers` those of
/// `foldsym lookup --json --no-demangle`. Returns how many differ without a reason.
///
/// # Errors
/// A command that shows more or fewer answers than there are addresses.
pub(super) fn judge(
    addresses: &[u64],
    tool: &[Frames],
    stand_in: &Shown,
    lookup: &Shown,
    answers: &[Value],
) -> Result<usize, String> {
    let shown = [&stand_in.readable, &stand_in.linkage, &lookup.readable, &lookup.linkage].map(Vec::as_slice);
    for shown in shown.into_iter().chain([tool]) {
        if shown.len() != addresses.len() {
            return Err(format!("{} answers to {} addresses", shown.len(), addresses.len()));
        }
    }
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut unnamed = Vec::new();
    for (at, (address, answer)) in addresses.iter().zip(answers).enumerate() {
        let readable = (&stand_in.readable[at], &lookup.readable[at]);
        let linkage = (&stand_in.linkage[at], &lookup.linkage[at]);
        match why(readable, linkage, &tool[at], answer) {
            Some(reasons) => reasons.into_iter().for_each(|reason| *counts.entry(reason).or_insert(0) += 1),
            None => unnamed.push((address, readable, linkage)),
        }
    }
    println!(
        "  foldsym lookup beside foldsym llvm-symbolizer: {} differ without a reason; with one: {counts:?}",
        unnamed.len()
    );
    for (address, readable, linkage) in unnamed.iter().take(EXAMPLES) {
        println!("    {address:#x}\n      stand-in {:?} {:?}", readable.0, linkage.0);
        println!("      lookup   {:?} {:?}", readable.1, linkage.1);
    }
    Ok(unnamed.len())
}

/// The reasons why the answers of the stand-in and of `lookup` differ: none if they are the same. `None` for a difference without a reason.
fn why(
    readable: (&Frames, &Frames),
    linkage: (&Frames, &Frames),
    tool: &Frames,
    answer: &Value,
) -> Option<Vec<&'static str>> {
    if readable.0 == readable.1 && linkage.0 == linkage.1 {
        return Some(Vec::new());
    }
    let (stand_in, lookup) = outermost(linkage)?;
    let (stand_in_readable, lookup_readable) = outermost(readable)?;
    // The place is the same with both kinds of names, and one linkage name has one readable name.
    let one_place = stand_in.1 == stand_in_readable.1 && lookup.1 == lookup_readable.1;
    let one_name = stand_in.0 != lookup.0 || stand_in_readable.0 == lookup_readable.0;
    if !one_place || !one_name {
        return None;
    }
    let as_tool = |of: fn(&FrameText) -> &String| tool.last().map(of) == Some(of(stand_in_readable));
    let mut reasons = Vec::new();
    if stand_in.0 != lookup.0 {
        reasons.push(why_name(&stand_in.0, &lookup.0, as_tool(|frame| &frame.0), answer)?);
    }
    if stand_in.1 != lookup.1 {
        reasons.push(why_place(&stand_in.1, &lookup.1, as_tool(|frame| &frame.1), answer)?);
    }
    Some(reasons)
}

/// Both outermost frames, if the frames that are inlined into them are the same.
fn outermost<'f>((one, other): (&'f Frames, &'f Frames)) -> Option<(&'f FrameText, &'f FrameText)> {
    let ((one, one_inner), (other, other_inner)) = (one.split_last()?, other.split_last()?);
    (one_inner == other_inner).then_some((one, other))
}

fn why_name(stand_in: &str, lookup: &str, is_tools: bool, json: &Value) -> Option<&'static str> {
    let has = |names: &[String], name: &str| names.iter().any(|own| own == name);
    let mut functions = answer(json).candidates.into_iter();
    if functions.any(|function| has(&function.names, stand_in) && has(&function.names, lookup)) {
        return Some(OTHER_NAME);
    }
    let is_clone = lookup.strip_prefix(stand_in).is_some_and(|ending| ending.starts_with('.'));
    (is_clone && is_tools).then_some(CLONE)
}

fn why_place(stand_in: &str, lookup: &str, is_tools: bool, json: &Value) -> Option<&'static str> {
    let described = json["Symbol"].items().last().is_none_or(|function| function["StartLine"].number() > 0);
    let is_file_alone = stand_in.ends_with(":0:0") && lookup == "??:0:0";
    (is_file_alone && is_tools && !described).then_some(SYMBOL_FILE)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{CLONE, OTHER_NAME, SYMBOL_FILE, Shown, frames, judge, why};

    /// The reasons why two answers differ that have the same names with `--no-demangle`, where llvm-symbolizer shows what the stand-in does.
    fn plain(stand_in: &str, lookup: &str, answer: &Value) -> Option<Vec<&'static str>> {
        beside(stand_in, stand_in, lookup, answer)
    }

    fn beside(tool: &str, stand_in: &str, lookup: &str, answer: &Value) -> Option<Vec<&'static str>> {
        let (stand_in, lookup) = (frames(stand_in), frames(lookup));
        why((&stand_in, &lookup), (&stand_in, &lookup), &frames(tool), answer)
    }

    #[test]
    fn only_the_outermost_name_differs_and_only_by_a_name_of_its_function() {
        let answer = json!({ "Symbol": [
            { "LinkageName": "in", "Aliases": ["in2"] },
            { "LinkageName": "abort", "Aliases": ["__GI_abort"] },
        ] });
        let of = |stand_in: &str| plain(stand_in, "in\na.h:1:2\nabort\na.c:3:4", &answer);
        assert_eq!(of("in\na.h:1:2\nabort\na.c:3:4"), Some(vec![]));
        assert_eq!(of("in\na.h:1:2\n__GI_abort\na.c:3:4"), Some(vec![OTHER_NAME]));
        for other in [
            "in\na.h:1:2\nexit\na.c:3:4",
            "in\na.h:1:2\n??\na.c:3:4",
            "in\na.h:1:2\nabort\na.c:3:5",
            "in\na.h:1:2\n__GI_abort\nb.c:3:4",
            "in\na.h:2:2\n__GI_abort\na.c:3:4",
            "in2\na.h:1:2\nabort\na.c:3:4",
            "__GI_abort\na.c:3:4",
            "",
        ] {
            assert_eq!(of(other), None, "{other}");
        }
    }

    #[test]
    fn lookup_shows_the_symbol_of_a_clone() {
        let answer = json!({ "Symbol": [{ "LinkageName": "f.part.0" }] });
        assert_eq!(plain("f\na.c:1:1", "f.part.0\na.c:1:1", &answer), Some(vec![CLONE]));
        assert_eq!(plain("f.part.0\na.c:1:1", "f\na.c:1:1", &answer), None);
        assert_eq!(plain("f\na.c:1:1", "f_part\na.c:1:1", &answer), None);
        assert_eq!(beside("g\na.c:1:1", "f\na.c:1:1", "f.part.0\na.c:1:1", &answer), None);
    }

    #[test]
    fn the_stand_in_shows_the_file_of_a_symbol() {
        let answer = |line| json!({ "Symbol": [{ "StartLine": line }] });
        assert_eq!(plain("f\ncrt.c:0:0", "f\n??:0:0", &answer(0)), Some(vec![SYMBOL_FILE]));
        assert_eq!(plain("f\ncrt.c:0:0", "f\n??:0:0", &answer(7)), None);
        assert_eq!(plain("f\ncrt.c:7:0", "f\n??:0:0", &answer(0)), None);
        assert_eq!(plain("f\n??:0:0", "f\ncrt.c:0:0", &answer(0)), None);
        assert_eq!(plain("f\ncrt.c:0:0", "f\na.c:0:0", &answer(0)), None);
        assert_eq!(beside("f\n??:0:0", "f\ncrt.c:0:0", "f\n??:0:0", &answer(0)), None);
    }

    #[test]
    fn readable_names_differ_only_with_linkage_names() {
        let answer = json!({ "Symbol": [{ "LinkageName": "abort", "Aliases": ["_Z1av", "_Z1bv"] }] });
        let of = |name: &str| frames(&format!("{name}\na.c:3:4"));
        let compared = |readable: [&str; 2], linkage: [&str; 2]| {
            let [readable, linkage] = [readable, linkage].map(|names| names.map(of));
            why((&readable[0], &readable[1]), (&linkage[0], &linkage[1]), &frames(""), &answer)
        };
        assert_eq!(compared(["abort", "a()"], ["abort", "_Z1av"]), Some(vec![OTHER_NAME]));
        assert_eq!(compared(["a()", "a()"], ["_Z1av", "_Z1bv"]), Some(vec![OTHER_NAME]));
        assert_eq!(compared(["abort", "a()"], ["abort", "abort"]), None);
        assert_eq!(compared(["c()", "c()"], ["_Z1cv", "_Z1av"]), None);
    }

    #[test]
    fn names_of_two_folded_functions_are_not_names_of_one() {
        let answers = [json!({ "Candidates": [
            { "LinkageName": "f", "Aliases": ["f2"] },
            { "LinkageName": "g", "Aliases": [] },
        ] })];
        let shown = |name: &str| {
            let shown = vec![frames(&format!("{name}\na.c:1:1"))];
            Shown { readable: shown.clone(), linkage: shown }
        };
        let judged = |addresses: &[u64], stand_in: &str, lookup: &str| {
            judge(addresses, &shown(stand_in).readable, &shown(stand_in), &shown(lookup), &answers)
        };
        assert_eq!(judged(&[0x10], "f2", "f"), Ok(0));
        assert_eq!(judged(&[0x10], "g", "f"), Ok(1));
        assert!(judged(&[0x10, 0x20], "f", "f").is_err());
    }
}
