//! `foldsym lookup`: answers addresses, one by one.

use std::path::Path;

use foldsym_lookup::{Frames, ImageAddr, Lookup, SymbolFile};
use foldsym_symbolize::{AddressKind, Innermost, Query, StackFrame, Symbolizer};

use crate::answer::block::BlockFinder;
use crate::answer::open::{Extra, symbolizer_with};
use crate::answer::process::Process;
use crate::answer::session::{LineError, Session, Source};
use crate::answer::variable::Variable;
use crate::args::{Answering, Lookup as Args};
use crate::io::failure::{Failure, complain};

/// Answers each argument, or else each line of standard input.
#[inline(never)] // see `perform`
pub(crate) fn run(args: &Args) -> Result<u8, Failure> {
    let symbolizer =
        symbolizer_with(&args.answering, &args.sources, Extra { data: args.data, ..Extra::default() })?;
    let words = args.words();
    let code = match words.file {
        Some(path) => of_file(args, &symbolizer, path, words.addresses),
        None => of_process(args, &symbolizer, words.addresses),
    }?;
    crate::answer::open::tell_unused(&symbolizer);
    Ok(code)
}

/// The variable at an address outside of code.
fn variable(
    file: &SymbolFile<'_>,
    address: ImageAddr,
    args: &Answering,
) -> Result<Option<Variable>, foldsym_lookup::Error> {
    // Some code has tables of constants, which have symbols of their own: there the code counts.
    match file.lookup(address, &mut Frames::new())? {
        Lookup::Found(_) => Ok(None),
        _ => Variable::at(file, address, !args.no_demangle),
    }
}

/// Answers addresses of many modules.
fn of_process(args: &Args, symbolizer: &Symbolizer, given: Vec<String>) -> Result<u8, Failure> {
    let mut process = Process::new(&args.sources)?;
    let mut session = Session::of_process(&args.answering);
    let mut worker = symbolizer.worker();
    session.run(given, |session, line| {
        let place = process.line(line).map_err(LineError::usage)?;
        let frames = [StackFrame { place, kind: AddressKind::Exact }];
        let modules = process.modules();
        let query = Query { modules, frames: &frames, innermost: Innermost::Nothing };
        worker.answer(query, session.form(), |answer, names| session.put(answer, names, modules, None))?;
        if session.json {
            session.out.text.push(b'\n');
        }
        Ok(())
    })
}

/// Answers addresses of one file.
fn of_file(args: &Args, symbolizer: &Symbolizer, path: &Path, given: Vec<String>) -> Result<u8, Failure> {
    let loaded = crate::answer::open::load(symbolizer, path)?;
    let mut source = Source::new(loaded, path, args.answering.base);
    let map = source.loaded.map.clone();
    let mut blocks = None;
    if args.blocks {
        let found = map.file().basic_blocks();
        let found = found.map_err(|error| LineError::damaged(path, error).into_failure())?;
        if found.is_none() {
            // This is printed once. Each answer then only says that its address has no block.
            complain(&crate::commands::blocks::none(path));
        }
        blocks = Some(BlockFinder::new(*map.file(), found));
    }
    let mut session = Session::new(path, map.file(), &args.answering);
    let mut worker = symbolizer.worker();
    session.run(given, |session, line| {
        // Mostly there is nothing to trim.
        let is_bare = line.as_bytes().first().is_some_and(u8::is_ascii_graphic)
            && line.as_bytes().last().is_some_and(u8::is_ascii_graphic);
        let word = if is_bare { line } else { line.trim() };
        let place = session.space.parse(word).map_err(LineError::usage)?;
        if args.data
            && let Some(address) = session.space.image(place)
            && let Some(variable) = variable(map.file(), address, &args.answering)
                .map_err(|error| LineError::damaged(path, error))?
        {
            session.put_variable(address.0.wrapping_add(session.space.base), &variable);
            return Ok(());
        }
        let frames = [StackFrame { place, kind: AddressKind::Exact }];
        let modules = source.modules(session.space.base);
        let query = Query { modules, frames: &frames, innermost: Innermost::Nothing };
        worker.answer(query, session.form(), |answer, names| {
            let found = blocks.as_mut().map(|blocks| blocks.of(answer)).transpose();
            let found = found.map_err(|error| LineError::damaged(path, error))?;
            session.put(answer, names, modules, found.as_ref())
        })?;
        if session.json {
            session.out.text.push(b'\n');
        }
        Ok(())
    })
}
