//! Prints measurements: Markdown tables for people, one JSON object a measurement for machines.

use crate::bars::{BARS, Measured};
use crate::figures::Figures;
use serde_json::{Value, json};

/// A number with as many digits as it needs, or a dash.
pub(crate) fn show(value: Option<f64>) -> String {
    match value {
        None => "-".into(),
        Some(value) if value.abs() >= 100.0 => format!("{value:.0}"),
        Some(value) if value.abs() >= 10.0 => format!("{value:.1}"),
        Some(value) => format!("{value:.2}"),
    }
}

pub(crate) fn row(cells: &[String]) {
    println!("| {} |", cells.join(" | "));
}

pub(crate) fn head(cells: &[&str]) {
    println!("\n| {} |", cells.join(" | "));
    println!("|{}", "---|".repeat(cells.len()));
}

pub(crate) fn print(input: &str, bytes: u64, all: &[Figures]) {
    println!("\n## {input} ({:.1} MB)", bytes as f64 / 1e6);
    convert(all);
    lookup(all);
    cold(all);
    bars(all);
    for figures in all {
        if let Some(error) = &figures.error {
            println!("\n{}: {error}", figures.tool.name());
        }
        if !figures.note.is_empty() {
            println!("\n{}: {}", figures.tool.name(), figures.note);
        }
    }
}

fn convert(all: &[Figures]) {
    println!("\nConversion");
    head(&[
        "tool",
        "CPU s",
        "wall s",
        "peak MiB",
        "2 threads: CPU s",
        "wall s",
        "peak MiB",
        "file MB",
        "zstd -19 MB",
    ]);
    for figures in all.iter().filter(|figures| !figures.tool.threads().is_empty()) {
        let mut cells = vec![figures.tool.name().to_owned()];
        for threads in [1, 2] {
            cells.push(show(figures.cpu_s(threads)));
            cells.push(show(figures.wall_s(threads)));
            cells.push(show(figures.peak_kb(threads).map(|kb| kb / 1024.0)));
        }
        cells.push(show(figures.bytes.map(|bytes| bytes as f64 / 1e6)));
        cells.push(show(figures.zstd19_bytes.map(|bytes| bytes as f64 / 1e6)));
        row(&cells);
    }
}

fn lookup(all: &[Figures]) {
    println!("\nLookup: ns for all frames with function, file and line");
    head(&[
        "tool",
        "random",
        "sorted",
        "random, names written",
        "batch",
        "p50",
        "p99.9",
        "slowest",
        "the clock itself",
        "answered %",
        "frames an address",
    ]);
    for figures in all.iter().filter(|figures| figures.tool.reads()) {
        let mut cells = vec![figures.tool.name().to_owned()];
        for key in ["ns_random", "ns_sorted", "ns_names", "ns_batch"] {
            cells.push(show(figures.lookup(key)));
        }
        for key in ["ns_p50", "ns_p999", "ns_max", "ns_clock"] {
            cells.push(show(figures.tail(key)));
        }
        let addresses = figures.lookup("addresses");
        let share = |key: &str| Some(figures.lookup(key)? / addresses?);
        cells.push(show(share("answered").map(|share| share * 100.0)));
        cells.push(show(share("frames")));
        row(&cells);
    }
}

fn cold(all: &[Figures]) {
    println!("\nCold start: a fresh process opens the file and answers one address, names written");
    head(&[
        "tool",
        "open us",
        "mapping alone us",
        "open again us",
        "lookup us",
        "minor faults",
        "from disk: open + lookup us",
        "major faults",
        "own command: ms",
        "minor faults",
        "major faults",
    ]);
    for figures in all.iter().filter(|figures| figures.tool.reads()) {
        let sum = match (figures.cold_disk("us_open"), figures.cold_disk("us_first")) {
            (Some(open), Some(first)) => Some(open + first),
            _ => None,
        };
        row(&[
            figures.tool.name().to_owned(),
            show(figures.cold("us_open")),
            show(figures.cold("us_map")),
            show(figures.cold("us_open_again")),
            show(figures.cold("us_first")),
            show(figures.cold("minor_faults")),
            show(sum),
            show(figures.cold_disk("major_faults")),
            show(figures.command(|cost| cost.wall_s * 1e3)),
            show(figures.command(|cost| cost.minor_faults as f64)),
            show(figures.command(|cost| cost.major_faults as f64)),
        ]);
    }
}

fn bars(all: &[Figures]) {
    let all = Measured(all);
    println!("\nBars: foldsym's figure over what it must not exceed (1 or less holds)");
    head(&["", "foldsym", "bar", "", "ratio", "", "aim", "", "ratio"]);
    for bar in &BARS {
        let value = (bar.value)(&all);
        let (limit, aim) = ((bar.bar)(&all), (bar.aim)(&all));
        let ratio = |limit: Option<f64>| Some(value? / limit?);
        let verdict = match ratio(limit) {
            None => "",
            Some(ratio) if ratio <= 1.0 => "holds",
            Some(_) => "**missed**",
        };
        row(&[
            format!("{}, {}", bar.what, bar.unit),
            show(value),
            bar.bar_text.to_owned(),
            show(limit),
            show(ratio(limit)),
            verdict.to_owned(),
            bar.aim_text.to_owned(),
            show(aim),
            show(ratio(aim)),
        ]);
    }
}

/// One object for each thread count of the conversion; only the first has what does not depend on that count. A tool without a conversion
/// has one object, with null for it.
pub(crate) fn print_json(input: &str, all: &[Figures]) {
    for figures in all {
        let threads = figures.tool.threads();
        if threads.is_empty() {
            println!("{}", object(input, figures, None, true));
        }
        for (index, &count) in threads.iter().enumerate() {
            println!("{}", object(input, figures, Some(count), index == 0));
        }
    }
}

fn object(input: &str, figures: &Figures, threads: Option<usize>, first: bool) -> Value {
    let of = |figure: fn(&Figures, usize) -> Option<f64>| figure(figures, threads?);
    let once = |value: Option<f64>| if first { value } else { None };
    let mut object = json!({
        "input": input,
        "tool": figures.tool.name(),
        "cpu_s": of(Figures::cpu_s),
        "wall_s": of(Figures::wall_s),
        "threads": threads,
        "peak_kb": of(Figures::peak_kb).map(|kb| kb as u64),
        "bytes": figures.bytes,
        "zstd19_bytes": figures.zstd19_bytes,
        "version": figures.version,
        "runs": figures.converts.len().max(figures.averages.len()) / figures.tool.threads().len().max(1),
        "error": figures.error,
    });
    for key in ["ns_random", "ns_sorted", "ns_names", "ns_batch", "addresses", "answered", "frames"] {
        object[key] = json!(once(figures.lookup(key)));
    }
    for key in ["ns_p50", "ns_p999", "ns_max", "ns_clock"] {
        object[key] = json!(once(figures.tail(key)));
    }
    for key in ["us_open", "us_map", "us_open_again", "us_first", "minor_faults"] {
        object[format!("cold_{key}")] = json!(once(figures.cold(key)));
    }
    for key in ["us_open", "us_first", "major_faults"] {
        object[format!("disk_{key}")] = json!(once(figures.cold_disk(key)));
    }
    object["command_ms"] = json!(once(figures.command(|cost| cost.wall_s * 1e3)));
    object["command_minor_faults"] = json!(once(figures.command(|cost| cost.minor_faults as f64)));
    object["command_major_faults"] = json!(once(figures.command(|cost| cost.major_faults as f64)));
    object
}
