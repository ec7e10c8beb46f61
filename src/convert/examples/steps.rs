//! Converts one program on one thread and prints the report: what to run under a profiler.

use foldsym_convert::{NoProgress, Options, convert};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (Some(input), Some(output)) = (arguments.next(), arguments.next()) else {
        eprintln!("usage: steps PROGRAM OUT.fsym [THREADS]");
        std::process::exit(2);
    };
    let threads = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(1);
    let options = Options::default().with(|options| options.threads = threads);
    match convert(input.as_ref(), output.as_ref(), &options, &NoProgress) {
        Ok(report) => println!("{:#}", report.to_json()),
        Err(error) => {
            eprintln!("error: {error}");
            std::process::exit(if error.is_usage() { 2 } else { 3 });
        }
    }
}
