//! `cargo xtask doors`: the same addresses by every way to ask: `llvm-symbolizer` itself, `foldsym llvm-symbolizer`, `foldsym
//! lookup`, and what `foldsym export` writes as the readers of others answer from it.

mod readback;
mod shown;
mod why;

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::ci;
use crate::fold::Foldsym;
use crate::llvm::readelf;
use shown::{Frames, Shown, frames};
use xtask::sh;

const HELP: &str = "cargo xtask doors [PROGRAM]... [--foldsym BIN] [--count N]
  asks llvm-symbolizer, foldsym llvm-symbolizer, foldsym lookup, and llvm-symbolizer with our GSYM file beside the program
  about N random addresses of code (2000; every one where a program has fewer than 16 N), and prints how many answers differ
  from the first, by cause, and the CPU time of each over llvm-symbolizer's
  then has what `foldsym export` writes read by others, and compares with foldsym lookup: GSYM 1 by llvm-symbolizer,
  llvm-gsymutil, gsym-rs and blazesym, GSYM 2 by gsym-rs, Breakpad by symbolic and by breakpad-symbols (the reader of
  minidump-stackwalk)
  fails where our own doors differ from each other or a reader differs, in both cases for a reason that has no name, and where
  our GSYM file is larger than llvm-gsymutil's, but for a program with folded functions, of which llvm-gsymutil has one each
  without a program: programs of testbins/built, the C library with its debug file, and the program that holds the readers
  --foldsym BIN   another build of foldsym than this checkout's";

/// Programs of `testbins/built` that are compared if none is named.
const COMMITTED: &[&str] = &[
    "demo.elf",
    "fold.clang-lld.set/program",
    "fold.gcc-gold.set/program",
    "inline.clang-dwarf5",
    "inline.gcc-dwarf5",
];

/// A program whose code is smaller than this many times the count is compared at every address.
const ALL_BELOW: usize = 16;

/// See `HELP`.
///
/// # Errors
/// A usage error, a tool that fails, a difference between our doors.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let (mut programs, mut foldsym, mut count) = (Vec::new(), None, 2000);
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--foldsym" => foldsym = Some(PathBuf::from(args.next().ok_or(HELP)?)),
            "--count" => {
                count = args.next().and_then(|n| n.parse().ok()).filter(|&n| n > 0).ok_or(HELP)?;
            }
            other if other.starts_with('-') => return Err(HELP.to_owned()),
            other => programs.push(PathBuf::from(other)),
        }
    }
    let foldsym = Foldsym::build(foldsym)?;
    let readers = readback::build()?;
    if programs.is_empty() {
        programs.extend(COMMITTED.iter().map(|name| sh::root().join("testbins/built").join(name)));
        programs.extend(ci::c_library());
        programs.extend(ci::libc());
        programs.push(readers.clone());
    }
    let mut apart = 0;
    for program in &programs {
        apart += ask(&foldsym, &readers, program, count)?;
    }
    if apart == 0 {
        Ok(())
    } else {
        Err(format!("{apart} answers differ for no known reason, or files are too large"))
    }
}

/// Compares all interfaces on a program. Returns how many answers differ that must not; a file that is too large counts as one.
fn ask(foldsym: &Foldsym, readers: &Path, program: &Path, count: usize) -> Result<usize, String> {
    let folder = sh::scratch("doors")?;
    // The name that llvm-symbolizer looks for beside the program; a link would be followed to another folder.
    let copy = folder.join("program");
    let gsym = folder.join("program.gsym");
    let _ = std::fs::remove_file(&gsym);
    std::fs::copy(program, &copy).map_err(|error| format!("{}: {error}", program.display()))?;
    let cache = folder.join("cache");
    let _ = std::fs::remove_dir_all(&cache);
    let file = folder.join("program.fsym");
    sh::run(
        Command::new(foldsym.path()).args(["convert", "--quiet", "--columns", "-o"]).arg(&file).arg(&copy),
    )?;
    let asked = addresses_of(program, count)?;
    println!("{}, {} addresses", program.display(), asked.len());
    let exported = readback::Exported {
        foldsym,
        readers,
        folder: &folder,
        program: &copy,
        file: &file,
        addresses: &asked,
    };
    let (bad, folded) = exported.ask()?;
    let addresses = folder.join("addresses");
    let list: String = asked.iter().map(|address| format!("{address:#x}\n")).collect();
    std::fs::write(&addresses, list).map_err(|error| format!("{}: {error}", addresses.display()))?;

    let llvm = sh::llvm("llvm-symbolizer")?;
    let symbolizer = |command: &mut Command| timed(command.arg("--obj").arg(&copy), &addresses);
    let real = symbolizer(&mut Command::new(&llvm))?;
    let mut stand_in = Command::new(foldsym.path());
    let (ours, seconds) = symbolizer(stand_in.arg("llvm-symbolizer").env("FOLDSYM_CACHE", &cache))?;
    let ours = Shown { readable: ours, linkage: timed(stand_in.arg("--no-demangle"), &addresses)?.0 };
    let mut lookup = Command::new(foldsym.path());
    let lookup = Shown {
        readable: timed(lookup.arg("lookup").arg(&file), &addresses)?.0,
        linkage: timed(lookup.arg("--no-demangle"), &addresses)?.0,
    };
    sh::run(Command::new(foldsym.path()).args(["export", "--gsym", "-o"]).arg(&gsym).arg(&file))?;
    let by_gsym = symbolizer(&mut Command::new(&llvm))?;
    let doors = [
        ("foldsym llvm-symbolizer", &ours.readable, seconds),
        ("llvm-symbolizer with our GSYM", &by_gsym.0, by_gsym.1),
    ];
    for (name, answers, seconds) in doors {
        let columns = name.starts_with("foldsym");
        let causes = compare(&real.0, answers, columns);
        let ratio = seconds / real.1.max(0.001);
        println!("  {name}: {} of its CPU time; differ: {causes:?}", format_args!("{ratio:.3}"));
    }
    let size = std::fs::metadata(&gsym).map_err(|error| format!("{}: {error}", gsym.display()))?.len();
    // For folded code llvm-gsymutil writes one function; ours writes all of them, and the calls that distinguish them.
    let larger = size_beside(size, of_gsymutil(program, &folder)?) && !folded;
    let apart = shown::judge(&asked, &real.0, &ours, &lookup, &foldsym.lookup(&file, &asked)?)?;
    Ok(apart + bad + usize::from(larger))
}

/// Prints the size of our GSYM file beside llvm-gsymutil's. True if it is larger.
fn size_beside(own: u64, other: Option<u64>) -> bool {
    match other {
        Some(other) => {
            println!(
                "  GSYM: {own} bytes, {:.3} of llvm-gsymutil's {other}",
                own as f64 / other.max(1) as f64
            );
        }
        None => println!("  GSYM: {own} bytes; llvm-gsymutil refuses the program"),
    }
    other.is_some_and(|other| own > other)
}

/// The size of llvm-gsymutil's file of the same program.
fn of_gsymutil(program: &Path, folder: &Path) -> Result<Option<u64>, String> {
    let out = folder.join("gsymutil.gsym");
    let mut command = Command::new(sh::llvm("llvm-gsymutil")?);
    command.args(["--quiet", "--merged-functions", "--convert"]).arg(program).arg("--out-file").arg(&out);
    // It refuses programs that it cannot read.
    Ok(match sh::output(&mut command) {
        Ok(_) => Some(std::fs::metadata(&out).map_err(|error| format!("{}: {error}", out.display()))?.len()),
        Err(_) => None,
    })
}

/// Runs a command over the addresses. Returns its answers, and its CPU time in seconds.
fn timed(command: &mut Command, addresses: &Path) -> Result<(Vec<Frames>, f64), String> {
    let mut shell = Command::new("bash");
    shell.args(["-c", "TIMEFORMAT='%U %S'; { time \"$@\" 2>/dev/null; } 2>&1", "bash"]);
    shell.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        shell.env(name, value.unwrap_or_default());
    }
    let text = sh::filter(&mut shell, addresses)?;
    let (answers, times) = text.trim_end().rsplit_once('\n').ok_or("nothing was printed")?;
    let seconds: f64 = times.split(' ').filter_map(|word| word.parse::<f64>().ok()).sum();
    Ok((answers.split("\n\n").map(frames).collect(), seconds))
}

/// True if two answers have the same functions, files and lines.
fn same(one: &Frames, other: &Frames, columns: bool) -> bool {
    let place = |place: &str| match columns {
        true => place.to_owned(),
        false => place.rsplit_once(':').map_or(place, |(place, _)| place).to_owned(),
    };
    one.len() == other.len() && one.iter().zip(other).all(|(a, b)| a.0 == b.0 && place(&a.1) == place(&b.1))
}

/// Counts the answers that differ, by what differs.
fn compare(real: &[Frames], ours: &[Frames], columns: bool) -> BTreeMap<&'static str, usize> {
    let mut causes = BTreeMap::new();
    let mut count = |cause| *causes.entry(cause).or_insert(0) += 1;
    if real.len() != ours.len() {
        count("number of answers");
    }
    for (real, ours) in real.iter().zip(ours).filter(|(real, ours)| !same(real, ours, columns)) {
        let names = |frames: &Frames| frames.iter().map(|frame| frame.0.clone()).collect::<Vec<_>>();
        count(match (real.last(), ours.last()) {
            _ if real.len() != ours.len() => "inlined calls",
            (Some(a), Some(b)) if a.0 != b.0 && a.0 == "??" => "a name that llvm-symbolizer lacks",
            (Some(a), Some(b)) if a.0 != b.0 && b.0 == "??" => "a name that we lack",
            (Some(a), Some(b)) if a.0 != b.0 => "name of the function",
            _ if names(real) != names(ours) => "name of an inlined function",
            _ => "line",
        });
    }
    causes
}

/// Every address of a small program's executable sections, else random ones: the same for each run.
fn addresses_of(program: &Path, count: usize) -> Result<Vec<u64>, String> {
    let has_code = |section: &readelf::Section| {
        let has_addresses = matches!(section.kind.as_str(), "PROGBITS" | "NOBITS");
        section.is_code && has_addresses && !section.name.starts_with(".plt")
    };
    let sections = readelf::sections(program)?.into_iter().filter(has_code);
    let sections: Vec<(u64, u64)> = sections.map(|section| (section.start, section.size)).collect();
    let total: u64 = sections.iter().map(|section| section.1).sum();
    if total == 0 {
        return Err(format!("{}: no executable section", program.display()));
    }
    // Numbers of Knuth's MMIX generator.
    let mut state = 1_u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) % total
    };
    let place = |mut at: u64| {
        for (start, size) in &sections {
            match at.checked_sub(*size) {
                Some(rest) => at = rest,
                None => return start + at,
            }
        }
        0
    };
    if total < (ALL_BELOW * count) as u64 {
        return Ok((0..total).map(place).collect());
    }
    let mut seen = HashSet::new();
    Ok((0..count).map(|_| place(random())).filter(|address| seen.insert(*address)).collect())
}

#[cfg(test)]
mod tests {
    use super::shown::frames;
    use super::{compare, same};

    #[test]
    fn answers_are_compared_by_cause() {
        let real = vec![frames("a\nf.c:1:2\nb\nf.c:3:4"), frames("c\nf.c:1:1"), frames("d\nf.c:1:1")];
        let ours = vec![frames("a\nf.c:1:2\nb\nf.c:3:4"), frames("x\nf.c:1:1"), frames("d\nf.c:2:1")];
        let causes = compare(&real, &ours, true);
        assert_eq!(causes.into_iter().collect::<Vec<_>>(), [("line", 1), ("name of the function", 1)]);
        assert!(same(&frames("a\nf:1:2"), &frames("a\nf:1:0"), false));
        assert!(!same(&frames("a\nf:1:2"), &frames("a\nf:1:0"), true));
    }
}
