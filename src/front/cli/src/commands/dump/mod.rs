//! `foldsym dump`: prints the stored record of a function, its inline tree and its rows, with the
//! offsets in the file at which their bytes begin; or the rows by which frames are walked.

mod place;
mod record;
mod rows;

use foldsym_lookup::{FunctionId, Lookup, SymbolFile};

use crate::answer::address::Space;
use crate::answer::open::damaged;
use crate::args::{Dump, Pattern};
use crate::io::failure::{Failure, complain, exit};
use crate::io::mapped::Mapped;
use crate::io::output::Output;
use foldsym_symbolize::{Form, Kept, number};
use record::RecordPrinter;

/// Prints the selected functions.
#[inline(never)] // see `perform`
pub(crate) fn run(args: &Dump) -> Result<u8, Failure> {
    let mapped = Mapped::open(&args.file)?;
    let file = crate::answer::open::open(&mapped)?;
    let wrong = |error| damaged(&mapped, error);
    if args.unwind {
        return rows::run(&file, &mapped, args.address.as_deref());
    }
    let functions = match (&args.function, &args.address) {
        (Some(wanted), _) => by_name_or_number(&file, &mapped, wanted)?,
        (None, Some(address)) => at(&file, address)?.map_err(wrong)?,
        (None, None) => (0..file.records().function_count()).map(FunctionId).collect(),
    };
    if functions.is_empty() {
        if let (None, Some(address)) = (&args.function, &args.address) {
            complain(&format!("{address}: no function at this address"));
        }
        return Ok(exit::NOTHING);
    }
    let mut out = Output::new();
    let mut kept = Kept::new(true, Form::Plain);
    let mut printer = RecordPrinter::new(file, kept.of(&file, &args.file), &functions).map_err(wrong)?;
    for function in functions {
        printer.function(&mut out, function).map_err(|stop| stop.failure(&mapped))?;
        out.give()?;
    }
    out.flush()?;
    Ok(0)
}

/// A number is a function's id, if the file has that many functions; anything else is a name.
fn by_name_or_number(
    file: &SymbolFile<'_>,
    mapped: &Mapped,
    wanted: &str,
) -> Result<Vec<FunctionId>, Failure> {
    if let Some(number) = number(wanted) {
        // Names in C, C++ and Rust do not begin with a digit.
        let id = u32::try_from(number).ok().filter(|id| *id < file.records().function_count());
        let none = || {
            Failure::usage(format!(
                "--function {wanted}: the file has {} functions",
                file.records().function_count()
            ))
        };
        return Ok(vec![FunctionId(id.ok_or_else(none)?)]);
    }
    let pattern = Pattern { name: Some(wanted.to_owned()), prefix: None, regex: None };
    let found = crate::commands::find::functions(file, mapped, &pattern)?;
    if found.is_empty() {
        crate::commands::find::complain_of_none(file, mapped, &pattern)?;
    }
    Ok(found)
}

/// The function at an address, or every function of its group; none if no function contains it.
fn at(
    file: &SymbolFile<'_>,
    address: &str,
) -> Result<Result<Vec<FunctionId>, foldsym_lookup::Error>, Failure> {
    let space = Space { sections: crate::answer::open::sections(file), ..Space::default() };
    let address = space.parse(address).map_err(|error| Failure::usage(format!("--address: {error}")))?;
    let Some(image) = space.image(address) else { return Ok(Ok(Vec::new())) };
    Ok((|| {
        let Lookup::Found(found) = file.lookup(image, &mut foldsym_lookup::Frames::new())? else {
            return Ok(Vec::new());
        };
        // Each member has its own record, so all are printed.
        let Some(group) = found.group else { return Ok(vec![found.function]) };
        let group = file.records().group(group)?;
        let functions: Result<Vec<FunctionId>, _> =
            file.records().members(group).map(|member| Ok(member?.function)).collect();
        functions
    })())
}
