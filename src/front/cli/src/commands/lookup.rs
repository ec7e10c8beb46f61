//! `foldsym lookup`: answers addresses, one by one.

use crate::answer::resolver::Resolver;
use crate::answer::session::{LineError, Session};
use crate::args::Lookup;
use crate::io::failure::{Failure, complain};
use crate::io::mapped::Mapped;

/// Answers each argument, or else each line of standard input.
pub(crate) fn run(args: &Lookup) -> Result<u8, Failure> {
    let mapped = Mapped::open(&args.file)?;
    let file = crate::answer::open::open(&mapped)?;
    let mut resolver = Resolver::new(file, args.answering.json);
    if args.blocks {
        let blocks = crate::commands::blocks::map(&mapped, &file)?;
        if blocks.is_none() {
            complain(&crate::commands::blocks::none(&mapped));
        }
        resolver = resolver.with_blocks(blocks);
    }
    let mut session = Session::new(&mapped, &file, &args.answering);
    session.run(args.addresses.clone(), |session, line| {
        let address = session.space.parse(line.trim()).map_err(LineError::usage)?;
        let answer = resolver.lookup(address).map_err(|error| LineError::damaged(&mapped, error))?;
        session.put(answer)?;
        if session.json {
            session.out.text.push(b'\n');
        }
        Ok(())
    })
}
