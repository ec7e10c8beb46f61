//! `foldsym find`: finds functions and their places by a name, a prefix or a regular expression.

pub(crate) mod index;
mod keys;
mod regex;
mod scan;
#[cfg(test)]
mod shared_nodes;

use foldsym_lookup::{FunctionId, SymbolFile};

use crate::answer::open::damaged;
use crate::args::{Find, Pattern};
use crate::io::escape::push_escaped;
use crate::io::failure::{Failure, complain, exit};
use crate::io::mapped::Mapped;
use crate::io::output::Output;
use foldsym_symbolize::json::{hex, number};
use foldsym_symbolize::places::{Places, places};
use foldsym_symbolize::{Form, Kept, Names};
pub(crate) use keys::Keys;
use keys::Wanted;

/// Prints a line for each function that has a matching name: readable, linkage, or an alias.
#[inline(never)] // see `perform`
pub(crate) fn run(args: &Find) -> Result<u8, Failure> {
    let mapped = Mapped::open(&args.file)?;
    let file = crate::answer::open::open(&mapped)?;
    let found = functions(&file, &mapped, &args.pattern)?;
    if found.is_empty() {
        complain_of_none(&file, &mapped, &args.pattern)?;
        return Ok(exit::NOTHING);
    }
    let places = places(&file, &found).map_err(|error| damaged(&mapped, error))?;
    let mut kept = Kept::new(!args.no_demangle, Form::Plain);
    let mut names = kept.of(&file, &args.file);
    let mut out = Output::new();
    for function in found {
        // The names of one line may have a limited number of bytes, counted from here.
        names.begin(out.text.len());
        line(&mut out.text, &file, function, places.get(&function), &mut names)
            .map_err(|error| damaged(&mapped, error))?;
        if let Some(error) = names.take_error() {
            return Err(damaged(&mapped, error));
        }
        out.give()?;
    }
    out.flush()?;
    Ok(0)
}

/// The functions that have a matching name, each once.
pub(crate) fn functions(
    file: &SymbolFile<'_>,
    mapped: &Mapped,
    pattern: &Pattern,
) -> Result<Vec<FunctionId>, Failure> {
    let mut wanted = Wanted::new(pattern)?;
    match (index::NameIndex::of(file), &wanted) {
        // A key is a whole name, with all that a name may be given without.
        (Some(index), Wanted::Keys(keys)) => {
            index.find(keys).map_err(|what| Failure::input(mapped.path(), what))
        }
        _ => scan::functions(file, &mut wanted).map_err(|error| damaged(mapped, error)),
    }
}

/// Says on standard error that no name matches, and which ones are near.
pub(crate) fn complain_of_none(
    file: &SymbolFile<'_>,
    mapped: &Mapped,
    pattern: &Pattern,
) -> Result<(), Failure> {
    let message = match Wanted::new(pattern)? {
        Wanted::Name(mut query) => {
            let near = scan::near(file, &mut query).map_err(|error| damaged(mapped, error))?;
            let none = format!("no function is named {}", pattern.name.as_deref().unwrap_or_default());
            if near.is_empty() { none } else { format!("{none}; there are: {}", near.join("; ")) }
        }
        Wanted::Keys(Keys::Prefix(_)) => "no function has a name with this prefix".to_owned(),
        Wanted::Keys(Keys::Regex(_)) => "no function has a name that matches".to_owned(),
    };
    complain(&message);
    Ok(())
}

/// `NAME <tab> START-END,START-END <tab> FILE:LINE`, and a last column for folded functions and aliases.
fn line(
    out: &mut Vec<u8>,
    file: &SymbolFile<'_>,
    id: FunctionId,
    places: Option<&Places>,
    names: &mut Names<'_>,
) -> Result<(), foldsym_lookup::Error> {
    let function = file.records().function(id)?;
    let origin = file.records().origin(function.origin)?;
    shown(out, names.function(file.records().function_name(id)?));
    out.push(b'\t');
    let ranges = places.map_or(&[][..], |places| &places.ranges);
    for (at, (start, end)) in ranges.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        hex(out, *start);
        out.push(b'-');
        hex(out, *end);
    }
    out.push(b'\t');
    shown(out, names.path(origin.file));
    out.push(b':');
    number(out, origin.line);
    let mut separator = b'\t';
    // `sharing` counts this function too, so a folded function has at least 2.
    if let Some(others) = places.and_then(|places| places.sharing.checked_sub(2)) {
        out.push(separator);
        out.extend_from_slice(b"folded with ");
        number(out, others + 1);
        separator = b' ';
    }
    for (at, alias) in file.records().aliases(&function).enumerate() {
        let alias = alias?;
        if at == 0 {
            out.push(separator);
        }
        out.extend_from_slice(if at == 0 { b"also: " } else { b", " });
        // A damaged file may give a function any number of long aliases.
        if !names.has_room(out.len()) {
            break;
        }
        shown(out, names.linkage(Some(alias)));
    }
    out.push(b'\n');
    Ok(())
}

/// Tabs and line ends must stay separators, so control characters are escaped on any output.
fn shown(out: &mut Vec<u8>, text: &[u8]) {
    if text.is_empty() { out.extend_from_slice(b"??") } else { push_escaped(out, text) }
}
