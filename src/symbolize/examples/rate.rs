//! Measures how many stacks a second the engine answers: stacks of 20 frames over 10 modules, in batches.
//!
//! ```sh
//! cargo run --release -p foldsym-symbolize --features convert --example rate -- app.fsym [STACKS] [THREADS]
//! ```
//!
//! The file is loaded ten times, under ten names. Addresses are spread over its functions, by numbers that look random and are the same in
//! each run.

use std::time::Instant;

use foldsym_lookup::PieceId;
use foldsym_store::SymbolMap;
use foldsym_symbolize::{Module, Modules, Stack, StackFrame, Symbolizer};

const MODULES: u64 = 10;
const FRAMES: usize = 20;
const BATCH: usize = 10_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [file, rest @ ..] = &args[..] else { return Err("usage: rate FILE.fsym [STACKS] [THREADS]".into()) };
    let number = |index: usize, or: usize| rest.get(index).map_or(Ok(or), |text| text.parse());
    let (count, threads) = (number(0, 1_000_000)?, number(1, 1)?);
    let folder = tempfile::tempdir()?;
    let map = SymbolMap::open(file.as_ref())?;
    let base = map.file().image_base().0;
    let pieces: Vec<(u64, u64)> = (0..map.file().records().piece_count())
        .map(|id| {
            map.file().records().piece(PieceId(id)).map(|piece| (piece.start.0 - base, piece.body.max(1)))
        })
        .collect::<Result<_, _>>()?;
    let mut modules = Vec::new();
    for index in 0..MODULES {
        std::fs::copy(file, folder.path().join(format!("lib{index}.so.fsym")))?;
        modules.push(Module::new(&format!("lib{index}.so")).at((index + 1) << 40));
    }
    let modules = Modules::new(modules);
    let symbolizer = Symbolizer::builder().search([folder.path()]).threads(threads).build()?;
    let mut random = 0x5eed_u64;
    let mut below = |bound: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % bound
    };
    let mut address = || {
        let (start, len) = pieces[below(pieces.len() as u64) as usize];
        ((below(MODULES) + 1) << 40) + start + below(len)
    };
    let (mut engine, mut json, mut locations, mut bytes) = (0.0, 0.0, 0usize, 0usize);
    let mut done = 0;
    while done < count {
        let stack = |_| {
            let mut frames = vec![StackFrame::exact(address())];
            frames.extend((1..FRAMES).map(|_| StackFrame::returns_to(address() + 1)));
            Stack::new(&modules, frames)
        };
        let stacks: Vec<Stack> = (0..BATCH.min(count - done)).map(stack).collect();
        let began = Instant::now();
        let answers = symbolizer.symbolize_batch(&stacks);
        engine += began.elapsed().as_secs_f64();
        locations += answers.iter().flatten().map(|frame| frame.functions.len()).sum::<usize>();
        let began = Instant::now();
        let mut out = Vec::new();
        let mut worker = symbolizer.worker();
        stacks.iter().for_each(|stack| worker.write_json(stack, &mut out));
        json += began.elapsed().as_secs_f64();
        bytes += out.len();
        done += stacks.len();
    }
    let rate = |seconds: f64| (done as f64 / seconds) as u64;
    println!(
        "{done} stacks of {FRAMES} frames over {MODULES} modules, {threads} threads, {locations} functions"
    );
    println!("engine: {engine:.2} s, {} stacks a second", rate(engine));
    println!("JSON:   {json:.2} s with one thread, without owned frames, {bytes} bytes",);
    Ok(())
}
