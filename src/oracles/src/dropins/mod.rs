//! `cargo xtask dropins`: `llvm-symbolizer`, `llvm-addr2line` and `addr2line` as foldsym speaks them, beside the tools themselves:
//! equal bytes for the same options, requests and errors, but for differences that have a name.

mod causes;
mod options;
mod protocol;
mod shown;
mod split;
mod sweep;
mod tally;
mod tools;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::ci;
use crate::diff::{self, Program};
use causes::Knowledge;
use sweep::Sweep;
use tally::DropinTally;
use tools::{Personality, Sides};
use xtask::sh;

const HELP: &str = "cargo xtask dropins [PROGRAM]... [OPTIONS]
  runs llvm-symbolizer 22, llvm-addr2line 22 and GNU addr2line beside foldsym under the same name with the same options and
  requests, and compares what they print, their errors and exit codes; fails where a difference has no name
  without a program: programs of testbins/built, a kernel module made of them, the C library, and the list of requests that clients send and get wrong
  --protocol      that list alone
  --tenth         a fixed tenth of the programs, and the list
  --addresses N   of each program (40)
  --lines N       lines of options drawn for each tool and program, besides the list of each spelling (4)
  --seed S        other addresses and lines (1)
  --foldsym BIN   another build of foldsym than this checkout's";

/// Programs that are tested with each spelling of each option.
const EVERY_SPELLING: &[&str] = &["demo.elf", "inline.clang-dwarf5-o1"];

struct Settings {
    programs: Vec<PathBuf>,
    addresses: usize,
    lines: usize,
    seed: u64,
    foldsym: Option<PathBuf>,
    protocol: bool,
    tenth: bool,
}

/// See `HELP`.
///
/// # Errors
/// A usage error, a tool that fails, differences without a name.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let settings = parse(args)?;
    let foldsym = crate::fold::Foldsym::build(settings.foldsym.clone())?;
    let folder = sh::scratch("dropins")?;
    std::fs::remove_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    sh::create_dir(&folder)?;
    let pair = Sides::new(foldsym.path(), &folder)?;
    let mut tally = DropinTally::default();
    let mut programs = settings.programs.clone();
    if programs.is_empty() {
        protocol::run(&pair, &folder, &mut tally)?;
    }
    if programs.is_empty() && !settings.protocol {
        programs = ci::test_programs()?;
        programs.push(kernel_module(&folder)?);
        programs.extend(ci::c_library());
        programs.extend(ci::libc());
        if settings.tenth {
            programs = programs.into_iter().step_by(ci::TENTH).collect();
        }
    }
    let (next, total, failure) = (AtomicUsize::new(0), Mutex::new(tally), Mutex::new(None));
    std::thread::scope(|scope| {
        for worker in 0..std::thread::available_parallelism().map_or(1, |count| count.get()) {
            let (next, programs, pair, total, failure) = (&next, &programs, &pair, &total, &failure);
            let (settings, foldsym) = (&settings, foldsym.path());
            scope.spawn(move || {
                while let Some(path) = programs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let one = sweep(pair, foldsym, path, settings, worker);
                    match (one, total.lock(), failure.lock()) {
                        (Ok(one), Ok(mut total), _) => total.join(one),
                        (Err(error), _, Ok(mut failure)) => {
                            failure.get_or_insert(format!("{}: {error}", path.display()));
                        }
                        _ => return,
                    }
                }
            });
        }
    });
    if let Ok(Some(error)) = failure.into_inner() {
        return Err(error);
    }
    let tally = total.into_inner().map_err(|_| "a thread panicked")?;
    print!("{}", tally.report());
    match tally.bad() {
        0 => Ok(()),
        bad => Err(format!("{bad} differences without a name")),
    }
}

fn parse(args: &[String]) -> Result<Settings, String> {
    let mut settings = Settings {
        programs: Vec::new(),
        addresses: 40,
        lines: 4,
        seed: 1,
        foldsym: None,
        protocol: false,
        tenth: false,
    };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let mut number = || args.next().and_then(|number| number.parse::<u64>().ok()).ok_or(HELP);
        match arg.as_str() {
            "--addresses" => settings.addresses = number()? as usize,
            "--lines" => settings.lines = number()? as usize,
            "--seed" => settings.seed = number()?,
            "--protocol" => settings.protocol = true,
            "--tenth" => settings.tenth = true,
            "--foldsym" => settings.foldsym = Some(args.next().ok_or(HELP)?.into()),
            other if other.starts_with('-') => return Err(HELP.to_owned()),
            other => settings
                .programs
                .push(std::fs::canonicalize(other).map_err(|error| format!("{other}: {error}"))?),
        }
    }
    Ok(settings)
}

/// A relocatable program as a kernel's module is one: a note before the code, and code in `.text` and `.init.text`.
fn kernel_module(folder: &Path) -> Result<PathBuf, String> {
    let built = sh::root().join("testbins/built");
    let (init, module) = (folder.join("init.o"), folder.join("module.ko"));
    let mut rename = Command::new(sh::tool("objcopy", "binutils")?);
    rename.args(["--weaken-symbol=_start", "--rename-section", ".text=.init.text"]);
    sh::run(rename.arg(built.join("inline.clang.o")).arg(&init))?;
    let mut link = Command::new(sh::tool("ld", "binutils")?);
    link.args(["-r", "--build-id"]).arg(built.join("units.relocatable-link.o")).arg(init);
    sh::run(link.arg("-o").arg(&module))?;
    Ok(module)
}

/// Compares all tools on one program. A tool that cannot read the program is left out.
fn sweep(
    pair: &Sides,
    foldsym: &Path,
    path: &Path,
    settings: &Settings,
    worker: usize,
) -> Result<DropinTally, String> {
    let mut tally = DropinTally::default();
    let scratch = sh::scratch(&format!("dropins-{worker}"))?;
    let program = Program::open(path, None)?;
    // If a file has several architectures, the tools answer for one.
    let several = Program::architectures(path)?.len() > 1;
    if program.code.is_empty() || program.legacy_compressed || several {
        return Ok(tally);
    }
    let options = diff::DiffOptions {
        addresses: settings.addresses,
        seed: settings.seed,
        ..diff::DiffOptions::default()
    };
    let mut addresses = diff::choose(&program, &options)?;
    // Addresses of nothing, before the others and between them.
    addresses.insert(0, 0x3);
    addresses.push(0x7fff_ffff_f000);
    // The installed C library has its symbols in another file.
    let library =
        ci::c_library().is_some_and(|library| library.canonicalize().ok() == path.canonicalize().ok());
    let debug = ci::libc().filter(|_| library);
    let described = Program::open(debug.as_deref().unwrap_or(path), None)?;
    let known = Knowledge::of(foldsym, &program, &described, &addresses, &scratch)?;
    let cache = scratch.join("cache");
    let _ = std::fs::remove_dir_all(&cache);
    let sweep = Sweep { cache: &cache, pair, program: &program, known: &known, addresses: &addresses };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    for tool in Personality::ALL {
        if tool == Personality::GnuAddr2line && !known.gnu_reads_it() {
            continue;
        }
        let mut lines = options::combinations(tool, settings.lines, settings.seed);
        if EVERY_SPELLING.contains(&&*name) {
            lines.extend(options::singles(tool));
        }
        for (number, line) in lines.iter().enumerate() {
            sweep.ask(tool, line, number, &mut tally)?;
        }
    }
    Ok(tally)
}
