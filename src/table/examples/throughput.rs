//! What a batch of an Arrow table costs beside a loop of the library over the same stacks, each in turn. Prints an object of JSON for
//! each round: seconds of the loop, and of the batch with each number of threads.
//!
//! `cargo run --release -p foldsym-table --example throughput -- STORE STACKS ROWS [ROUNDS [THREADS,...]]`: `STACKS` is what
//! `benches/tables/recorder.cpp` prints, and its stacks are repeated up to so many rows. `benches/tables/tables.py` calls it.

use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use arrow_array::builder::{Int64Builder, ListBuilder, StringBuilder, StructBuilder};
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, ListArray, RecordBatch};
use arrow_schema::{DataType, Field, Fields};
use foldsym_store::{ModuleId, Store, StoreOptions};
use foldsym_symbolize::{Form, Innermost, Module, Modules, Query, StackFrame, Symbolizer};
use foldsym_table::{TableOptions, symbolize_batch};

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

/// Modules (id, base, name) and stacks of a process.
struct Recorded {
    modules: Vec<(String, u64, String)>,
    stacks: Vec<Vec<u64>>,
}

fn hex(word: &str) -> Result<u64, std::num::ParseIntError> {
    u64::from_str_radix(word.trim_start_matches("0x"), 16)
}

fn recorded(text: &str) -> Result<Recorded, Box<dyn Error>> {
    let mut recorded = Recorded { modules: Vec::new(), stacks: Vec::new() };
    for line in text.lines() {
        match line.split(' ').collect::<Vec<_>>().as_slice() {
            ["module", base, id, name] => {
                recorded.modules.push(((*id).to_owned(), hex(base)?, (*name).to_owned()));
            }
            ["stack", addresses @ ..] => {
                recorded.stacks.push(addresses.iter().map(|word| hex(word)).collect::<Result<_, _>>()?);
            }
            other => return Err(format!("no line of the recorder: {other:?}").into()),
        }
    }
    Ok(recorded)
}

/// The columns of so many rows.
fn table(recorded: &Recorded, rows: usize) -> Result<RecordBatch, Box<dyn Error>> {
    let text = |name| Field::new(name, DataType::Utf8, true);
    let fields = Fields::from(vec![text("id"), Field::new("base", DataType::Int64, true), text("name")]);
    let mut modules = ListBuilder::new(StructBuilder::from_fields(fields, 0));
    for _ in 0..rows {
        let each = modules.values();
        for (id, base, name) in &recorded.modules {
            each.field_builder::<StringBuilder>(0).ok_or("id")?.append_value(id);
            each.field_builder::<Int64Builder>(1).ok_or("base")?.append_value(base.cast_signed());
            each.field_builder::<StringBuilder>(2).ok_or("name")?.append_value(name);
            each.append(true);
        }
        modules.append(true);
    }
    let stacks = recorded.stacks.iter().cycle().take(rows);
    let stacks = stacks.map(|stack| Some(stack.iter().map(|address| Some(address.cast_signed()))));
    let frames: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(stacks));
    let modules: ArrayRef = Arc::new(modules.finish());
    Ok(RecordBatch::try_from_iter([("modules", modules), ("frames", frames)])?)
}

/// The stacks as a program has them that calls the library.
fn queried(recorded: &Recorded) -> (Modules, Vec<Vec<StackFrame>>) {
    let module = |(id, base, name): &(String, u64, String)| {
        let mut module = Module::new(name).at(*base);
        module.id = ModuleId::parse(id).ok();
        module
    };
    let frame = |(at, &address): (usize, &u64)| match at {
        0 => StackFrame::exact(address),
        _ => StackFrame::returns_to(address),
    };
    let stacks = recorded.stacks.iter().map(|stack| stack.iter().enumerate().map(frame).collect());
    (Modules::new(recorded.modules.iter().map(module).collect()), stacks.collect())
}

/// Answers every stack by itself, and counts the bytes of its names.
fn each_alone(symbolizer: &Symbolizer, modules: &Modules, stacks: &[Vec<StackFrame>], rows: usize) -> usize {
    let mut worker = symbolizer.worker();
    let mut bytes = 0;
    for frames in stacks.iter().cycle().take(rows) {
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
    bytes
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [store, stacks, rows, rest @ ..] = arguments.as_slice() else {
        return Err("usage: throughput STORE STACKS ROWS [ROUNDS [THREADS,...]]".into());
    };
    let rows: usize = rows.parse()?;
    let rounds: usize = rest.first().map_or(Ok(5), |rounds| rounds.parse())?;
    let threads = rest.get(1).map_or("1", String::as_str).split(',').map(str::parse);
    let threads: Vec<usize> = threads.collect::<Result<_, _>>()?;
    let recorded = recorded(&std::fs::read_to_string(stacks)?)?;
    let table = table(&recorded, rows)?;
    let (modules, stacks) = queried(&recorded);
    let symbolizer = Symbolizer::builder().store(Store::open(store, StoreOptions::default())?).build()?;
    // The first round opens files and reads their pages, and is not counted.
    for round in 0..=rounds {
        let clock = Clock::start();
        if each_alone(&symbolizer, &modules, &stacks, rows) == 0 {
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
