//! Converts one program built in two ways, such as split and whole debug information, and compares the costs.

use crate::child::{finish, progress, warm};
use crate::figures::Figures;
use crate::options::Options;
use crate::table::{head, row, show};
use crate::tools::Tool;
use foldsym_benches::process::Cost;
use std::path::Path;

/// The largest cost of split debug information, as a multiple of the whole program's CPU time and peak memory.
const CPU_BAR: f64 = 1.15;
const PEAK_BAR: f64 = 1.0;

/// One tool's conversions of the input and of the program beside it, run for run.
struct Pair {
    input: Figures,
    plain: Figures,
}

/// Runs every tool on both programs, then again. A ratio is the median of the ratios of neighbouring runs: a slow minute of
/// the machine falls on both sides.
///
/// # Errors
/// A program that cannot be read. A tool that cannot convert one of them has its reason below the table.
pub(crate) fn measure(options: &Options, input: &Path, plain: &Path, dir: &Path) -> Result<(), String> {
    warm(input)?;
    warm(plain)?;
    // The others do not read `.dwo` files, and would be measured at leaving them out.
    let reads = |tool: &&Tool| matches!(tool, Tool::Foldsym | Tool::LlvmGsymutil | Tool::GsymRs);
    let tools = options.tools.iter().filter(reads);
    let figures = |tool: Tool| Figures::new(tool, tool.version(&options.commands));
    let mut pairs: Vec<Pair> =
        tools.map(|&tool| Pair { input: figures(tool), plain: figures(tool) }).collect();
    // One run before that is not counted: it brings the files that an input names into memory.
    for run in 0..=options.runs {
        for pair in &mut pairs {
            progress(&format!("run {run} of {}: {}", options.runs, pair.input.tool.name()));
            for (figures, program) in [(&mut pair.plain, plain), (&mut pair.input, input)] {
                if figures.error.is_none()
                    && let Err(error) = step(options, figures, program, dir, run > 0)
                {
                    figures.error = Some(error);
                }
            }
        }
    }
    progress("");
    print(input, plain, &pairs);
    Ok(())
}

fn step(
    options: &Options,
    figures: &mut Figures,
    program: &Path,
    dir: &Path,
    counted: bool,
) -> Result<(), String> {
    let tool = figures.tool;
    let output = dir.join(format!("beside.{}", tool.name()));
    warm(program)?;
    for &threads in tool.threads() {
        let cost = finish(&mut tool.convert_command(&options.commands, program, &output, threads)?)?.cost;
        if counted {
            figures.converts.push((threads, cost));
        }
    }
    let size = std::fs::metadata(&output).map_err(|error| format!("no output: {error}"))?.len();
    figures.bytes = Some(size);
    Ok(())
}

impl Pair {
    /// The median over the runs of the input's figure divided by the plain program's.
    fn ratio(&self, threads: usize, figure: fn(&Cost) -> f64) -> Option<f64> {
        let of = |figures: &Figures| -> Vec<f64> {
            let runs = figures.converts.iter().filter(|(count, _)| *count == threads);
            runs.map(|(_, cost)| figure(cost)).collect()
        };
        let (input, plain) = (of(&self.input), of(&self.plain));
        let mut ratios: Vec<f64> = input.iter().zip(&plain).map(|(input, plain)| input / plain).collect();
        ratios.sort_by(f64::total_cmp);
        ratios.get(ratios.len() / 2).copied()
    }
}

fn print(input: &Path, plain: &Path, pairs: &[Pair]) {
    println!("\n## {} beside {}", input.display(), plain.display());
    head(&["tool", "threads", "program", "CPU s", "least", "wall s", "peak MiB", "file MB"]);
    for pair in pairs {
        for &threads in pair.input.tool.threads() {
            for (name, figures) in [("plain", &pair.plain), ("input", &pair.input)] {
                let runs = figures.converts.iter().filter(|(count, _)| *count == threads);
                row(&[
                    figures.tool.name().to_owned(),
                    threads.to_string(),
                    name.to_owned(),
                    show(figures.cpu_s(threads)),
                    show(runs.map(|(_, cost)| cost.cpu_s).min_by(f64::total_cmp)),
                    show(figures.wall_s(threads)),
                    show(figures.peak_kb(threads).map(|kb| kb / 1024.0)),
                    show(figures.bytes.map(|bytes| bytes as f64 / 1e6)),
                ]);
            }
        }
    }
    head(&["input / plain", "threads", "CPU", "wall", "peak memory"]);
    for pair in pairs {
        for &threads in pair.input.tool.threads() {
            row(&[
                pair.input.tool.name().to_owned(),
                threads.to_string(),
                show(pair.ratio(threads, |cost| cost.cpu_s)),
                show(pair.ratio(threads, |cost| cost.wall_s)),
                show(pair.ratio(threads, |cost| cost.peak_kb as f64)),
            ]);
        }
    }
    if let Some(ours) = pairs.iter().find(|pair| pair.input.tool == Tool::Foldsym) {
        let bars = [
            ("CPU", ours.ratio(1, |cost| cost.cpu_s), CPU_BAR),
            ("peak memory", ours.ratio(1, |cost| cost.peak_kb as f64), PEAK_BAR),
        ];
        for (what, ratio, bar) in bars {
            let verdict = ratio.map_or("-", |ratio| if ratio <= bar { "holds" } else { "**missed**" });
            println!("\nBar: {what} {} of the plain program's, at most {bar:.2}: {verdict}", show(ratio));
        }
    }
    for pair in pairs {
        for (name, figures) in [("plain", &pair.plain), ("input", &pair.input)] {
            if let Some(error) = &figures.error {
                println!("\n{}, {name}: {error}", figures.tool.name());
            }
        }
        println!("\n{}: {}", pair.input.tool.name(), pair.input.version);
    }
}
