//! `foldsym blocks`: lists the basic blocks of the functions of a name.

use std::path::Path;

use foldsym_lookup::basic_blocks::{BasicBlock, BasicBlocks};
use foldsym_lookup::{Frames, FunctionId, ImageAddr, Lookup, SymbolFile};

use crate::answer::block::{block_members, block_range};
use crate::answer::open::damaged;
use crate::args::{Blocks, Pattern};
use crate::commands::find::functions;
use crate::io::escape::push_escaped;
use crate::io::failure::{Failure, complain, exit};
use crate::io::mapped::Mapped;
use crate::io::output::Output;
use foldsym_symbolize::json::address;
use foldsym_symbolize::json::list;
use foldsym_symbolize::places::{Places, places};
use foldsym_symbolize::{Form, Kept, Names};

/// The map of basic blocks, if the file has one.
fn map<'f>(mapped: &Mapped, file: &SymbolFile<'f>) -> Result<Option<BasicBlocks<'f>>, Failure> {
    file.basic_blocks().map_err(|error| damaged(mapped, error))
}

/// The message for a file without basic blocks.
pub(crate) fn none(path: &Path) -> String {
    format!("{}: no basic blocks: the program has no address map of them", path.display())
}

/// Prints the blocks of each function of the name that has some.
#[inline(never)] // see `perform`
pub(crate) fn run(args: &Blocks) -> Result<u8, Failure> {
    let mapped = Mapped::open(&args.file)?;
    let file = crate::answer::open::open(&mapped)?;
    let Some(blocks) = map(&mapped, &file)? else {
        return Err(Failure { message: none(&args.file), code: exit::NOTHING });
    };
    let pattern = Pattern { name: Some(args.function.clone()), prefix: None, regex: None };
    let found = functions(&file, &mapped, &pattern)?;
    let places = places(&file, &found).map_err(|error| damaged(&mapped, error))?;
    let mut kept = Kept::new(!args.no_demangle, if args.json { Form::Json } else { Form::Plain });
    let mut names = kept.of(&file, &args.file);
    let mut out = Output::new();
    let mut code = exit::NOTHING;
    let known = !found.is_empty();
    for function in found {
        // A function without code has no blocks.
        let Some(place) = places.get(&function) else { continue };
        let listed = listed(&blocks, place).map_err(|error| damaged(&mapped, error))?;
        let Some(start) = listed.first().map(|block| block.start) else { continue };
        code = 0;
        let name = file.records().function_name(function).map_err(|error| damaged(&mapped, error))?;
        let shared = |block: &BasicBlock| is_shared(&file, block);
        let listed: Result<Vec<_>, _> = listed.iter().map(|block| Ok((*block, shared(block)?))).collect();
        let listed = listed.map_err(|error| damaged(&mapped, error))?;
        // A part of a function may be shared even if its entry is not.
        let folded = listed.first().is_some_and(|(_, shared)| *shared);
        let shown = Shown { function, name, start, folded, listed };
        if args.json {
            object(&mut out.text, &shown, &mut names);
        } else {
            text(&mut out.text, &shown, &mut names);
        }
        if let Some(error) = names.take_error() {
            return Err(damaged(&mapped, error));
        }
        out.give()?;
    }
    out.flush()?;
    if code == exit::NOTHING {
        let what = if known { "no basic blocks of" } else { "no function of the name" };
        complain(&format!("{}: {what} {}", mapped.path().display(), args.function));
    }
    Ok(code)
}

/// A function with its blocks.
struct Shown {
    function: FunctionId,
    name: Option<foldsym_lookup::NameId>,
    start: ImageAddr,
    /// Its entry is shared: the blocks are those of the survivor.
    folded: bool,
    /// Each with whether other functions share its code.
    listed: Vec<(BasicBlock, bool)>,
}

/// Whether several functions share the code of a block.
fn is_shared(file: &SymbolFile<'_>, block: &BasicBlock) -> Result<bool, foldsym_lookup::Error> {
    Ok(match file.lookup(block.start, &mut Frames::new())? {
        Lookup::Found(found) => found.group.is_some(),
        _ => false,
    })
}

/// The blocks of the function that has these places. If the function shares all its code with others, these are the blocks of the
/// survivor, at the same addresses.
fn listed(blocks: &BasicBlocks<'_>, place: &Places) -> Result<Vec<BasicBlock>, foldsym_lookup::Error> {
    let starts =
        |shared: bool| place.pieces.iter().filter(move |piece| (piece.1 > 1) == shared).map(|piece| piece.0);
    // Code that the function does not share has the function's own blocks.
    for start in starts(false) {
        if let Some(block) = blocks.at(ImageAddr(start))? {
            return blocks.of_range(block.range).collect();
        }
    }
    let holds = |block: &BasicBlock| {
        let end = block.start.0.saturating_add(block.size);
        place.ranges.iter().any(|range| range.0 <= block.start.0 && end <= range.1)
    };
    let mut most = Vec::new();
    for start in starts(true) {
        let listed: Result<Vec<_>, _> = blocks.of_function(ImageAddr(start)).collect();
        let listed = listed?;
        // A survivor may be longer than the function: then some of its blocks are not in the function.
        if listed.len() > most.len() && listed.iter().all(holds) {
            most = listed;
        }
    }
    Ok(most)
}

fn object(out: &mut Vec<u8>, shown: &Shown, names: &mut Names<'_>) {
    out.extend_from_slice(b"{\"Function\":");
    out.extend_from_slice(names.function(shown.name));
    out.extend_from_slice(b",\"LinkageName\":");
    out.extend_from_slice(names.linkage(shown.name));
    out.extend_from_slice(b",\"Start\":");
    address(out, shown.start.0);
    if shown.folded {
        out.extend_from_slice(b",\"Folded\":true");
    }
    out.extend_from_slice(b",\"Blocks\":");
    list(out, &shown.listed, |out, (block, shared)| {
        out.push(b'{');
        block_members(out, block);
        if *shared {
            out.extend_from_slice(b",\"Folded\":true");
        }
        out.push(b'}');
    });
    out.extend_from_slice(b"}\n");
}

fn text(out: &mut Vec<u8>, shown: &Shown, names: &mut Names<'_>) {
    match names.function(shown.name) {
        b"" => out.extend_from_slice(format!("function {}", shown.function.0).as_bytes()),
        name => push_escaped(out, name),
    }
    if shown.folded {
        out.extend_from_slice(b" (folded: the blocks are of the function that remained)");
    }
    out.push(b'\n');
    for (block, shared) in &shown.listed {
        out.extend_from_slice(format!("{:>6}  ", block.id).as_bytes());
        block_range(out, block);
        if *shared && !shown.folded {
            out.extend_from_slice(b" (folded with another function's)");
        }
        out.push(b'\n');
    }
}
