//! Programs with split DWARF: how conversion scales with the number of `.dwo` files, from generated sources.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use crate::{Options, Result, median, run};

/// Sources that one call of the compiler gets.
const AT_ONCE: usize = 50;

/// Functions of each source.
const FUNCTIONS: usize = 24;

/// One program's medians.
struct Row {
    files: usize,
    program_bytes: u64,
    dwo_bytes: u64,
    cpu_s: f64,
    wall_2_s: f64,
    peak_mb: f64,
    output_bytes: u64,
}

/// Makes and measures a program for each number of files. Returns the table.
pub(crate) fn measure(options: &Options, dir: &Path) -> Result<String> {
    let most = options.split.iter().copied().max().unwrap_or(0);
    let folder = dir.join("split");
    std::fs::create_dir_all(&folder)?;
    let sources: Vec<PathBuf> = (0..most).map(|number| folder.join(format!("u{number}.cpp"))).collect();
    for (number, path) in sources.iter().enumerate() {
        std::fs::write(path, source(number))?;
    }
    compile(options, &folder, &sources)?;
    let rows: Result<Vec<Row>> = options.split.iter().map(|&files| row(options, &folder, files)).collect();
    Ok(table(&rows?, options.runs))
}

/// A source with classes, templates and inlined calls.
fn source(number: usize) -> String {
    let mut text = format!(
        "namespace n{number} {{\n\
         template <int N> struct Row {{ int at[N]; int sum(int k) const {{ int s = {number}; for (int v : at) s += v * k; return s; }} }};\n\
         struct Shape {{ virtual int area(int); int x = {number}; }};\n\
         int Shape::area(int k) {{ return x * k + {number}; }}\n\
         static inline int mix(int a, int b) {{ return a * {number} + (b ^ {number}); }}\n"
    );
    for function in 0..FUNCTIONS {
        let line = writeln!(
            text,
            "int f{function}(int a, Shape &shape) {{\n  Row<{size}> row{{{{a, {function}}}}};\n  int b = mix(a, row.sum({function}));\n  \
             return b > {number} ? shape.area(b) : mix(b, a);\n}}",
            size = function % 7 + 2,
        );
        line.expect("writing to a string does not fail");
    }
    text.push_str("}\n");
    text
}

/// Compiles the sources, in as many processes as there are processors.
fn compile(options: &Options, folder: &Path, sources: &[PathBuf]) -> Result<()> {
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let compiler = options.link.split_whitespace().next().ok_or("--link is empty")?;
    let chunks: Vec<&[PathBuf]> = sources.chunks(AT_ONCE).collect();
    let work = |worker: usize| -> std::result::Result<(), String> {
        for chunk in chunks.iter().skip(worker).step_by(workers) {
            let mut command = Command::new(compiler);
            command.current_dir(folder).args([
                "-g",
                "-gsplit-dwarf",
                "-O1",
                "-fPIC",
                "-ffunction-sections",
                "-c",
            ]);
            let status = command.args(*chunk).status().map_err(|error| format!("{compiler}: {error}"))?;
            if !status.success() {
                return Err(format!("{compiler} failed"));
            }
        }
        Ok(())
    };
    thread::scope(|scope| {
        let all: Vec<_> = (0..workers).map(|worker| scope.spawn(move || work(worker))).collect();
        all.into_iter()
            .try_for_each(|one| one.join().map_err(|_| "a compiler's thread panicked".to_owned())?)
    })
    .map_err(Into::into)
}

fn row(options: &Options, folder: &Path, files: usize) -> Result<Row> {
    let program = folder.join(format!("split-{files}.so"));
    let objects: Vec<PathBuf> = (0..files).map(|number| folder.join(format!("u{number}.o"))).collect();
    super::link(options, &program, &objects, 1)?;
    let mut dwo_bytes = 0;
    for number in 0..files {
        dwo_bytes += std::fs::metadata(folder.join(format!("u{number}.dwo")))?.len();
    }
    let output = folder.join("out.fsym");
    let (mut ones, mut twos) = (Vec::new(), Vec::new());
    for _ in 0..options.runs {
        for (threads, costs) in [("1", &mut ones), ("2", &mut twos)] {
            let mut command = Command::new(&options.foldsym);
            command.arg("convert").arg(&program).arg("-o").arg(&output);
            costs.push(run(command.args(["--threads", threads, "--quiet", "--require-debug-info"]))?.cost);
        }
    }
    Ok(Row {
        files,
        program_bytes: std::fs::metadata(&program)?.len(),
        dwo_bytes,
        cpu_s: median(&ones, |cost| cost.cpu_s),
        wall_2_s: median(&twos, |cost| cost.wall_s),
        peak_mb: median(&ones, |cost| cost.peak_kb as f64 / 1024.0),
        output_bytes: std::fs::metadata(&output)?.len(),
    })
}

fn table(rows: &[Row], runs: usize) -> String {
    let mut text = format!(
        "Programs with split DWARF, from generated sources of {FUNCTIONS} functions each: medians of {runs} runs; CPU and peak memory \
         with one thread.\n\n\
         | `.dwo` files | their MB | program MB | CPU s | us a file | wall s, 2 threads | peak MiB | output MB |\n\
         |---|---|---|---|---|---|---|---|\n"
    );
    for row in rows {
        let line = writeln!(
            text,
            "| {} | {:.1} | {:.1} | {:.3} | {:.0} | {:.3} | {:.1} | {:.2} |",
            row.files,
            row.dwo_bytes as f64 / 1e6,
            row.program_bytes as f64 / 1e6,
            row.cpu_s,
            row.cpu_s * 1e6 / row.files as f64,
            row.wall_2_s,
            row.peak_mb,
            row.output_bytes as f64 / 1e6,
        );
        line.expect("writing to a string does not fail");
    }
    text
}
