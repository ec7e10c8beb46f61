//! Measures how `foldsym convert` scales: time and memory against the size of the input, with the
//! floor beside them, as a Markdown table and an SVG plot.
//!
//! `scale [options] FILE...` converts the given programs. `scale [options] --objects DIR` first
//! links programs of an eighth, a quarter, a half and all of the object files of DIR; with `--copies N` also programs of N
//! copies of them, whose symbols have other prefixes, so that the linker keeps each copy. At least four
//! sizes are wanted: a line through fewer says nothing. `--split N,...` adds programs of N `.dwo` files.

mod split;

use foldsym_benches::process::{self, Cost};
use serde_json::Value;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const USAGE: &str = "\
usage: scale [--foldsym PATH] [--runs N] [--out DIR] (FILE... | --objects DIR [--link COMMAND])
  --runs N        the median of N runs counts (default 3)
  --out DIR       where scale.md and scale.svg go (default benches/results)
  --link COMMAND  words before `-o OUT OBJECT...` (default: clang++ -shared -fuse-ld=lld -Wl,--icf=all)
  --copies N,...  programs of N times all objects too: each copy needs as much room in DIR as the objects
  --split N,...   programs with N `.dwo` files too, from generated sources; the compiler is the first word of --link
  --objcopy PATH  what prefixes the symbols of copies (default: llvm-objcopy)
  --work DIR      where programs are linked (default: the system's temporary folder)";

struct Options {
    foldsym: PathBuf,
    runs: usize,
    out: PathBuf,
    files: Vec<PathBuf>,
    objects: Option<PathBuf>,
    link: String,
    copies: Vec<usize>,
    split: Vec<usize>,
    objcopy: PathBuf,
    work: PathBuf,
}

/// One input's medians.
struct Point {
    name: String,
    bytes: u64,
    entries: f64,
    floor_cpu_s: f64,
    floor_peak_mb: f64,
    cpu_s: f64,
    wall_2_s: f64,
    peak_mb: f64,
    output_bytes: u64,
}

fn main() -> ExitCode {
    let Some(options) = parse(std::env::args().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match scale(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(3)
        }
    }
}

fn parse(mut args: impl Iterator<Item = String>) -> Option<Options> {
    let benches = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut options = Options {
        foldsym: benches.join("../target/release/foldsym"),
        runs: 3,
        out: benches.join("results"),
        files: Vec::new(),
        objects: None,
        link: "clang++ -shared -fuse-ld=lld -Wl,--icf=all".into(),
        copies: Vec::new(),
        split: Vec::new(),
        objcopy: "llvm-objcopy".into(),
        work: std::env::temp_dir(),
    };
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--foldsym" => options.foldsym = args.next()?.into(),
            "--runs" => options.runs = args.next()?.parse().ok().filter(|&runs| runs > 0)?,
            "--out" => options.out = args.next()?.into(),
            "--objects" => options.objects = Some(args.next()?.into()),
            "--link" => options.link = args.next()?,
            "--copies" => options.copies = numbers(&args.next()?)?,
            "--split" => options.split = numbers(&args.next()?)?,
            "--objcopy" => options.objcopy = args.next()?.into(),
            "--work" => options.work = args.next()?.into(),
            _ if arg.starts_with('-') => return None,
            _ => options.files.push(arg.into()),
        }
    }
    let fits = options.files.is_empty() != options.objects.is_none();
    (fits && (options.copies.is_empty() || options.objects.is_some())).then_some(options)
}

fn numbers(text: &str) -> Option<Vec<usize>> {
    text.split(',').map(|one| one.parse().ok().filter(|number| *number > 0)).collect()
}

fn scale(options: &Options) -> Result<()> {
    let dir = options.work.join(format!("foldsym-scale-{}", std::process::id()));
    std::fs::create_dir_all(&dir)?;
    let measured = measure_all(options, &dir).and_then(|points| {
        Ok((points, if options.split.is_empty() { None } else { Some(split::measure(options, &dir)?) }))
    });
    std::fs::remove_dir_all(&dir)?;
    let (mut points, split) = measured?;
    points.sort_by(|one, other| one.entries.total_cmp(&other.entries));
    if points.len() < 4 {
        eprintln!("only {} sizes: give at least 4", points.len());
    }
    std::fs::create_dir_all(&options.out)?;
    let mut table = table(&points, options.runs);
    if let Some(split) = split {
        table.push('\n');
        table.push_str(&split);
    }
    print!("{table}");
    std::fs::write(options.out.join("scale.md"), table)?;
    std::fs::write(options.out.join("scale.svg"), plot(&points))?;
    Ok(())
}

fn measure_all(options: &Options, dir: &Path) -> Result<Vec<Point>> {
    let Some(folder) = &options.objects else {
        return options.files.iter().map(|file| measure(options, file, dir)).collect();
    };
    let objects = objects(folder)?;
    let mut points = Vec::new();
    // The first eighth, quarter, half and all of the object files, in the order of their names.
    for part in [8, 4, 2, 1] {
        let file = dir.join(format!("part-{part}"));
        link(options, &file, objects.get(..objects.len().div_ceil(part)).unwrap_or_default(), 1)?;
        points.push(measure(options, &file, dir)?);
        std::fs::remove_file(&file)?;
    }
    let mut copied = objects.clone();
    for &copies in &options.copies {
        while copied.len() < copies * objects.len() {
            let copy = copied.len() / objects.len();
            copied.extend(prefixed(options, &objects, &dir.join(copy.to_string()), copy)?);
        }
        let file = dir.join(format!("copies-{copies}"));
        link(options, &file, &copied[..copies * objects.len()], copies)?;
        points.push(measure(options, &file, dir)?);
        std::fs::remove_file(&file)?;
    }
    Ok(points)
}

/// The object files of a folder, by name.
fn objects(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path()));
    let mut objects: Vec<PathBuf> = entries.collect::<std::io::Result<_>>()?;
    objects.retain(|path| path.extension().is_some_and(|end| end == "o" || end == "bc"));
    objects.sort();
    Ok(objects)
}

/// The same object files, with the number of the copy in front of each symbol.
fn prefixed(options: &Options, objects: &[PathBuf], folder: &Path, copy: usize) -> Result<Vec<PathBuf>> {
    std::fs::create_dir_all(folder)?;
    let mut made = Vec::new();
    for object in objects {
        let to = folder.join(object.file_name().ok_or("an object has no name")?);
        let mut objcopy = Command::new(&options.objcopy);
        let status = objcopy.arg(format!("--prefix-symbols=copy{copy}_")).arg(object).arg(&to).status()?;
        if !status.success() {
            return Err(format!("{} failed on {}", options.objcopy.display(), object.display()).into());
        }
        made.push(to);
    }
    Ok(made)
}

/// Links a program of some copies of the objects. The names of the objects go through a file, as a command line has no room
/// for thousands.
fn link(options: &Options, file: &Path, objects: &[PathBuf], copies: usize) -> Result<()> {
    let mut words = options.link.split_whitespace();
    let program = words.next().ok_or("--link is empty")?;
    let list = file.with_extension("rsp");
    let mut names: Vec<String> = objects.iter().map(|object| format!("\"{}\"", object.display())).collect();
    // The start-up objects define `__dso_handle` and no copy of it; as a hidden symbol it has to be in the program.
    names.extend((1..copies).map(|copy| format!("-Wl,--defsym=copy{copy}___dso_handle=0")));
    std::fs::write(&list, names.join("\n"))?;
    let response = format!("@{}", list.display());
    let status = Command::new(program).args(words).arg("-o").arg(file).arg(response).status()?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{program} failed on {} objects", objects.len()).into())
    }
}

fn measure(options: &Options, file: &Path, dir: &Path) -> Result<Point> {
    let output = dir.join("out.fsym");
    let floor = std::env::current_exe()?.with_file_name("floor");
    let mut entries = 0.0;
    let (mut floors, mut ones, mut twos) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..options.runs {
        let finished = run(Command::new(&floor).args(["--worker", "--threads", "1"]).arg(file))?;
        let said: Value = serde_json::from_slice(&finished.stdout)?;
        entries = said["dies"].as_f64().ok_or("the floor counts no entries")?;
        floors.push(finished.cost);
        for (threads, costs) in [("1", &mut ones), ("2", &mut twos)] {
            let mut command = Command::new(&options.foldsym);
            command.arg("convert").arg(file).arg("-o").arg(&output);
            costs.push(run(command.args(["--threads", threads, "--quiet"]))?.cost);
        }
    }
    Ok(Point {
        name: file.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        bytes: std::fs::metadata(file)?.len(),
        entries,
        floor_cpu_s: median(&floors, |cost| cost.cpu_s),
        floor_peak_mb: median(&floors, |cost| cost.peak_kb as f64 / 1024.0),
        cpu_s: median(&ones, |cost| cost.cpu_s),
        wall_2_s: median(&twos, |cost| cost.wall_s),
        peak_mb: median(&ones, |cost| cost.peak_kb as f64 / 1024.0),
        output_bytes: std::fs::metadata(&output)?.len(),
    })
}

fn run(command: &mut Command) -> Result<process::Finished> {
    let finished = process::run(command).map_err(|error| format!("{command:?}: {error}"))?;
    if finished.success {
        return Ok(finished);
    }
    Err(format!("{command:?} failed:\n{}", String::from_utf8_lossy(&finished.stderr)).into())
}

fn median(costs: &[Cost], figure: fn(&Cost) -> f64) -> f64 {
    let mut values: Vec<f64> = costs.iter().map(figure).collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn table(points: &[Point], runs: usize) -> String {
    let mut text = format!(
        "How `foldsym convert` scales: medians of {runs} runs; CPU and peak memory with one thread.\n\n\
         | input | MB | entries, millions | floor CPU s | CPU s | ns an entry | wall s, 2 threads | \
         floor peak MiB | peak MiB | output MB |\n|---|---|---|---|---|---|---|---|---|---|\n"
    );
    for point in points {
        let row = writeln!(
            text,
            "| {} | {:.1} | {:.3} | {:.3} | {:.3} | {:.0} | {:.3} | {:.1} | {:.1} | {:.2} |",
            point.name,
            point.bytes as f64 / 1e6,
            point.entries / 1e6,
            point.floor_cpu_s,
            point.cpu_s,
            point.cpu_s * 1e9 / point.entries,
            point.wall_2_s,
            point.floor_peak_mb,
            point.peak_mb,
            point.output_bytes as f64 / 1e6,
        );
        row.expect("writing to a string does not fail");
    }
    text
}

/// Name, colour, and the figure of a point that a line shows.
type Line = (&'static str, &'static str, fn(&Point) -> f64);

/// Two panels over the number of entries: seconds, and MiB.
fn plot(points: &[Point]) -> String {
    let mut svg = String::from(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 760 320\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"760\" height=\"320\" fill=\"white\"/>\n",
    );
    let time: [Line; 3] = [
        ("CPU, 1 thread", "#1f5fa8", |point| point.cpu_s),
        ("wall, 2 threads", "#5b9e3c", |point| point.wall_2_s),
        ("floor, CPU", "#888888", |point| point.floor_cpu_s),
    ];
    let memory: [Line; 2] = [
        ("peak memory", "#1f5fa8", |point| point.peak_mb),
        ("floor, peak", "#888888", |point| point.floor_peak_mb),
    ];
    panel(&mut svg, 50.0, "seconds", points, &time);
    panel(&mut svg, 430.0, "MiB", points, &memory);
    svg.push_str("</svg>\n");
    svg
}

fn panel(svg: &mut String, left: f64, unit: &str, points: &[Point], lines: &[Line]) {
    const WIDTH: f64 = 300.0;
    const TOP: f64 = 40.0;
    const BOTTOM: f64 = 270.0;
    let most = |figure: &dyn Fn(&Point) -> f64| points.iter().map(figure).fold(1e-9, f64::max);
    let most_x = most(&|point| point.entries);
    let most_y = lines.iter().map(|(_, _, figure)| most(figure)).fold(1e-9, f64::max);
    let x = |value: f64| left + WIDTH * value / most_x;
    let y = |value: f64| BOTTOM - (BOTTOM - TOP) * value / most_y;
    let mut add = |text: String| {
        svg.push_str(&text);
        svg.push('\n');
    };
    add(format!("<path d=\"M{left} {TOP}V{BOTTOM}H{}\" fill=\"none\" stroke=\"black\"/>", left + WIDTH));
    for part in [0.25, 0.5, 0.75, 1.0] {
        let (value_x, value_y) = (most_x * part, most_y * part);
        let digits = if most_y < 10.0 { 2 } else { 0 };
        add(format!(
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{:.2}</text>",
            x(value_x),
            BOTTOM + 16.0,
            value_x / 1e6
        ));
        add(format!(
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{value_y:.digits$}</text>",
            left - 5.0,
            y(value_y) + 4.0
        ));
    }
    add(format!(
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">entries, millions</text>",
        left + WIDTH / 2.0,
        BOTTOM + 36.0
    ));
    add(format!("<text x=\"{left}\" y=\"20\" text-anchor=\"middle\">{unit}</text>"));
    for (index, (name, colour, figure)) in lines.iter().enumerate() {
        let places: Vec<String> =
            points.iter().map(|point| format!("{:.1},{:.1}", x(point.entries), y(figure(point)))).collect();
        add(format!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
            places.join(" ")
        ));
        for point in points {
            add(format!(
                "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\" fill=\"{colour}\"/>",
                x(point.entries),
                y(figure(point))
            ));
        }
        add(format!(
            "<text x=\"{:.1}\" y=\"{:.1}\" fill=\"{colour}\">{name}</text>",
            left + 30.0,
            TOP + 16.0 * index as f64
        ));
    }
}
