//! Looks addresses up, for counting instructions: the difference of two runs is that of their numbers of lookups.
//!
//! `lookups FILE.fsym ADDRESSES COUNT cursor|plain|names` takes the first COUNT lines of ADDRESSES, which are hexadecimal, and prints how
//! many frames they have. `cursor` and `plain` pass on the function, file and line of each frame as ids; `names` writes name and path.

use std::hint::black_box;
use std::process::ExitCode;

use foldsym_lookup::{Frame, Frames, ImageAddr, Lookup, SymbolFile};

const USAGE: &str = "usage: lookups FILE.fsym ADDRESSES COUNT cursor|plain|names";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args) {
        Ok(frames) => {
            println!("{frames}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

fn run(args: &[String]) -> Result<usize, String> {
    let [file, addresses, count, how] = args else { return Err(USAGE.into()) };
    let count = count.parse().map_err(|_| USAGE)?;
    let bytes = std::fs::read(file).map_err(|error| format!("{file}: {error}"))?;
    let file = SymbolFile::open(&bytes).map_err(|error| format!("{file}: {error}"))?;
    let text = std::fs::read_to_string(addresses).map_err(|error| format!("{addresses}: {error}"))?;
    let parse = |line: &str| u64::from_str_radix(line.trim_start_matches("0x"), 16).map(ImageAddr);
    // All lines are read, whatever COUNT is, so that runs differ in their lookups alone.
    let all: Vec<ImageAddr> = text.lines().map(parse).collect::<Result<_, _>>().map_err(|e| e.to_string())?;
    let found = all.iter().take(count);
    match how.as_str() {
        "cursor" => {
            let mut cursor = file.cursor();
            let look_up = |&address: &ImageAddr| match cursor.lookup(address) {
                Ok(Lookup::Found(_)) => cursor.frames().map_while(Result::ok).map(use_ids).sum(),
                _ => 0,
            };
            Ok(found.map(look_up).sum())
        }
        "plain" => {
            let mut frames = Frames::new();
            let look_up = |&address: &ImageAddr| match file.lookup(address, &mut frames) {
                Ok(Lookup::Found(_)) => file.frames(&frames).map_while(Result::ok).map(use_ids).sum(),
                _ => 0,
            };
            Ok(found.map(look_up).sum())
        }
        "names" => {
            let (mut cursor, mut texts, mut buffer) =
                (file.cursor(), Box::new(file.texts()), vec![0; 1 << 20]);
            let look_up = |&address: &ImageAddr| {
                let Ok(Lookup::Found(_)) = cursor.lookup(address) else { return 0 };
                let frames = || cursor.frames().map_while(Result::ok);
                frames().filter_map(|frame| frame.name).for_each(|name| texts.soon(name));
                let write = |frame: Frame| {
                    black_box(frame.name.map(|name| texts.write_name(name, &mut buffer)));
                    black_box(frame.file.map(|path| texts.write_path(path, &mut buffer)));
                    use_ids(frame)
                };
                frames().map(write).sum()
            };
            Ok(found.map(look_up).sum())
        }
        _ => Err(USAGE.into()),
    }
}

fn use_ids(frame: Frame) -> usize {
    black_box((frame.name, frame.file, frame.line));
    1
}
