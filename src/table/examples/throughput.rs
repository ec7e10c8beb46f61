//! What a batch of an Arrow table costs beside a loop of the library over the same stacks, each in turn. Prints an object of JSON for
//! each round: seconds of the loop, and of the batch with each number of threads.
//!
//! `cargo run --release -p foldsym-table --features parquet --example throughput -- STORE STACKS.parquet [ROUNDS [THREADS,...]]`. The
//! table has the columns `modules` and `frames`. `benches/tables/tables.py` calls it.

use std::error::Error;
use std::fs::File;
use std::time::Instant;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, RecordBatch};
use foldsym_store::{ModuleId, Store, StoreOptions};
use foldsym_symbolize::{Form, Innermost, Module, Modules, Query, StackFrame, Symbolizer};
use foldsym_table::{TableOptions, concat, symbolize_batch};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

/// Seconds that this thread was on a processor, and seconds that went by.
struct Clock {
    cpu: f64,
    wall: Instant,
}

fn cpu() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}

impl Clock {
    fn start() -> Self {
        Self { cpu: cpu(), wall: Instant::now() }
    }

    /// Both as members of a JSON object.
    fn stop(self, name: &str) -> String {
        let (cpu, wall) = (cpu() - self.cpu, self.wall.elapsed().as_secs_f64());
        format!("\"{name}_cpu\":{cpu:.6},\"{name}_wall\":{wall:.6}")
    }
}

/// The stacks of a process.
struct Process {
    modules: Modules,
    stacks: Vec<Vec<StackFrame>>,
}

/// Stacks as a program has them that calls the library: those of a process together.
fn processes(table: &RecordBatch) -> Result<Vec<Process>, Box<dyn Error>> {
    let column = |name: &str| table.column_by_name(name).ok_or_else(|| format!("no column {name}"));
    let (modules, frames) = (column("modules")?.as_list::<i32>(), column("frames")?.as_list::<i32>());
    let mut found: Vec<(arrow_array::ArrayRef, Process)> = Vec::new();
    for row in 0..table.num_rows() {
        let of_row = modules.value(row);
        let place = found.iter().position(|(known, _)| known == &of_row);
        let place = place.unwrap_or_else(|| {
            let each = of_row.as_struct();
            let (ids, bases) =
                (each.column(0).as_string::<i32>(), each.column(1).as_primitive::<Int64Type>());
            let names = each.column(2).as_string::<i32>();
            let made = (0..of_row.len()).map(|at| {
                let mut module = Module::new(names.value(at)).at(bases.value(at).cast_unsigned());
                module.id = ModuleId::parse(ids.value(at)).ok();
                module
            });
            let process = Process { modules: Modules::new(made.collect()), stacks: Vec::new() };
            found.push((of_row.clone(), process));
            found.len() - 1
        });
        let addresses = frames.value(row);
        let addresses = addresses.as_primitive::<Int64Type>().values().iter().enumerate();
        let frames = addresses.map(|(at, address)| match at {
            0 => StackFrame::exact(address.cast_unsigned()),
            _ => StackFrame::returns_to(address.cast_unsigned()),
        });
        found[place].1.stacks.push(frames.collect());
    }
    Ok(found.into_iter().map(|(_, process)| process).collect())
}

/// Answers every stack by itself, and counts the bytes of its names.
fn each_alone(symbolizer: &Symbolizer, processes: &[Process]) -> usize {
    let mut worker = symbolizer.worker();
    let mut bytes = 0;
    for Process { modules, stacks } in processes {
        for frames in stacks {
            let query = Query { modules, frames, innermost: Innermost::Nothing };
            let Ok(()) = worker.answer(query, Form::Plain, |answer, names| {
                for frame in &answer.symbol.frames {
                    bytes += names.linkage(frame.name).len() + names.function(frame.name).len();
                    bytes += names.path(frame.file).len();
                }
                for member in &answer.candidates {
                    bytes += names.linkage(member.symbol.name()).len();
                }
                Ok::<(), std::convert::Infallible>(())
            });
        }
    }
    bytes
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [store, stacks, rest @ ..] = arguments.as_slice() else {
        return Err("usage: throughput STORE STACKS.parquet [ROUNDS [THREADS,...]]".into());
    };
    let rounds: usize = rest.first().map_or(Ok(5), |rounds| rounds.parse())?;
    let threads = rest.get(1).map_or("1", String::as_str).split(',').map(str::parse);
    let threads: Vec<usize> = threads.collect::<Result<_, _>>()?;
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(stacks)?)?;
    let schema = reader.schema().clone();
    let batches = reader.build()?.collect::<Result<Vec<_>, _>>()?;
    let table = concat(&schema, &batches)?;
    let processes = processes(&table)?;
    let symbolizer = Symbolizer::builder().store(Store::open(store, StoreOptions::default())?).build()?;
    // The first round opens files and reads their pages, and is not counted.
    for round in 0..=rounds {
        let clock = Clock::start();
        if each_alone(&symbolizer, &processes) == 0 {
            return Err("nothing was answered".into());
        }
        let mut line = clock.stop("loop");
        for &threads in &threads {
            let mut options = TableOptions::default();
            options.threads = threads;
            let clock = Clock::start();
            let answered = symbolize_batch(&symbolizer, &table, options)?;
            line = format!("{line},{}", clock.stop(&format!("batch_{threads}")));
            if answered.num_rows() != table.num_rows() {
                return Err("rows are missing".into());
            }
        }
        if round > 0 {
            println!("{{{line}}}");
        }
    }
    Ok(())
}
