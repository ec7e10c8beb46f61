//! `cargo xtask noicf`: a program whose functions are folded against the same objects linked without folding.
//!
//! Without folding each function has an address of its own. So `llvm-symbolizer` gives the frames at each of its offsets, without knowledge
//! of folding. Folding keeps bytes, so the offsets are the same in the folded program, and every member of a group must have those frames
//! there. The disassembly gives the callee of every direct call, since the call's bytes contain its target.

mod calls;
mod compare;
mod counts;
mod macho;
mod members;
mod names;
mod pair;
mod vtables;

use std::path::PathBuf;

use compare::compare;
use pair::{Asker, NoicfOptions};

use xtask::sh;

const HELP: &str = "cargo xtask noicf [FOLDED UNFOLDED | --macho SEEDS] [OPTIONS]
  compares every function that is folded in FOLDED (corpus/rocksdb/librocksdb.so) with the same function in UNFOLDED, the
  same objects linked without folding (`cargo xtask corpus rocksdb noicf`), the callee of every direct call, and what
  stands in each slot of each table of virtual functions; fails for
  a wrong line, a wrong frame, an `exact` that is wrong, or an answer without the right callee
  --macho SEEDS   so many generated programs (`cargo xtask fold`) as Mach-O instead: arm64 and x86_64 by ld64.lld and dsymutil
  --only TEXT     of those, only builds whose name contains TEXT (`arm64-4-O2-safe`)
  --seed N        another random choice of offsets, and the first generated program (1)
  --offsets N     offsets in each group, with its start (4)
  --functions N   so many members, chosen at random (all)
  --no-members    not the members
  --no-calls      not the calls
  --no-vtables    not the tables of virtual functions
  --examples N    of each kind (1)
  --foldsym BIN   another build of foldsym than this checkout's";

fn parse(args: &[String]) -> Result<NoicfOptions, String> {
    let mut options = NoicfOptions {
        paths: Vec::new(),
        seed: 1,
        offsets: 4,
        functions: usize::MAX,
        members: true,
        calls: true,
        vtables: true,
        examples: 1,
        foldsym: None,
        macho: None,
        only: None,
    };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value\n{HELP}"));
        let number =
            |text: &String| text.parse::<u64>().map_err(|_| format!("{arg}: `{text}` is not a number"));
        match arg.as_str() {
            "--seed" => options.seed = number(value()?)?,
            "--macho" => options.macho = Some(number(value()?)?),
            "--only" => options.only = Some(value()?.clone()),
            "--offsets" => options.offsets = number(value()?)?.max(1) as usize,
            "--functions" => options.functions = number(value()?)? as usize,
            "--no-members" => options.members = false,
            "--no-calls" => options.calls = false,
            "--no-vtables" => options.vtables = false,
            "--examples" => options.examples = number(value()?)? as usize,
            "--foldsym" => options.foldsym = Some(value()?.into()),
            other if other.starts_with('-') || options.paths.len() == 2 => return Err(HELP.to_owned()),
            other => options.paths.push(PathBuf::from(other)),
        }
    }
    if options.macho.is_some() && options.paths.is_empty() {
        return Ok(options);
    }
    if options.paths.is_empty() {
        let corpus = sh::root().join("corpus/rocksdb");
        options.paths = vec![corpus.join("librocksdb.so"), corpus.join("librocksdb.noicf.so")];
    }
    if options.paths.len() == 2 && options.macho.is_none() { Ok(options) } else { Err(HELP.to_owned()) }
}

/// # Errors
/// A usage error, a program or tool that is missing or fails, or a defect.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let options = parse(args)?;
    if let Some(missing) = options.paths.iter().find(|path| !path.is_file()) {
        return Err(format!("{} is not there: cargo xtask corpus rocksdb main noicf", missing.display()));
    }
    let scratch = sh::scratch(&format!("noicf-{}", std::process::id()))?;
    let result = match options.macho {
        Some(seeds) => macho::compare(&options, seeds, &scratch),
        None => Asker::new(options.foldsym.as_ref())
            .and_then(|asker| compare(&asker, &options, (&options.paths[0], &options.paths[1]), &scratch))
            .map(|found| found.print()),
    };
    std::fs::remove_dir_all(&scratch).map_err(|e| format!("{}: {e}", scratch.display()))?;
    match result? {
        0 => Ok(()),
        count => Err(format!("{count} defects")),
    }
}
