//! `foldsym lookup`: answers addresses, one by one.

use std::path::Path;

use foldsym_symbolize::{AddressKind, Innermost, Query, StackFrame, Symbolizer};

use crate::answer::block::BlockFinder;
use crate::answer::process::Process;
use crate::answer::session::{LineError, Session, Source};
use crate::args::Lookup;
use crate::io::failure::{Failure, complain};

/// Answers each argument, or else each line of standard input.
#[inline(never)] // see `perform`
pub(crate) fn run(args: &Lookup) -> Result<u8, Failure> {
    let symbolizer = crate::answer::open::symbolizer(&args.answering, &args.sources)?;
    let words = args.words();
    let code = match words.file {
        Some(path) => of_file(args, &symbolizer, path, words.addresses),
        None => of_process(args, &symbolizer, words.addresses),
    }?;
    crate::answer::open::tell_unused(&symbolizer);
    Ok(code)
}

/// Answers addresses of many modules.
fn of_process(args: &Lookup, symbolizer: &Symbolizer, given: Vec<String>) -> Result<u8, Failure> {
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
fn of_file(args: &Lookup, symbolizer: &Symbolizer, path: &Path, given: Vec<String>) -> Result<u8, Failure> {
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
