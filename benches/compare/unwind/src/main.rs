//! Steps from frames at random addresses of a program to their callers, by section UNWIND and by framehop: nanoseconds a step, and whether both
//! come to the same registers. `steps PROGRAM FILE.fsym [--count N] [--once]`; x86-64. `--once`: each address once by each, without times, for a
//! profiler that counts what [`ours`] and [`Peer::step`] take.
//!
//! Memory is a function of the address, so that neither side waits for a stack. framehop keeps rules by address: the addresses are many more than
//! its 509 slots, and a second figure asks the same few again and again.

use std::hint::black_box;
use std::time::Instant;

use foldsym_lookup::SymbolFile;
use foldsym_unwind::{Cfa, Frame, Machine, Process, Registers, Rule, Step, Unwind};
use framehop::x86_64::{CacheX86_64, UnwindRegsX86_64, UnwinderX86_64};
use framehop::{ExplicitModuleSectionInfo, FrameAddress, Module, Unwinder};
use object::{Object, ObjectSection};

const ROUNDS: usize = 15;
/// Addresses of the second figure: the frames of a few stacks.
const FEW: usize = 100;
/// DWARF's numbers.
const RBP: u64 = 6;
const RSP: u64 = 7;
const RIP: u64 = 16;

fn word(address: u64) -> u64 {
    address.rotate_left(9) | 1
}

struct Memory;

impl Process for Memory {
    #[inline]
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Option<()> {
        bytes.copy_from_slice(&word(address).to_le_bytes()[..bytes.len()]);
        Some(())
    }
}

/// Program counter, stack pointer and frame pointer.
type State = [u64; 3];

fn state(address: u64) -> State {
    let sp = 0x7ffc_0000_0000 + (address & 0xfff0);
    [address, sp, sp + 0x400]
}

#[inline(never)]
fn ours(unwind: &Unwind<'_>, [pc, sp, fp]: State) -> Option<State> {
    let mut registers = Registers::new(Machine::X86_64);
    registers.set(RSP, sp);
    registers.set(RBP, fp);
    registers.set(RIP, pc);
    let mut frame = Frame::innermost(registers);
    if frame.step(unwind, 0, &mut Memory) != Ok(Step::Caller) {
        return None;
    }
    let get = |register| frame.registers().get(register).unwrap_or(0);
    Some([frame.pc(), get(RSP), get(RBP)])
}

struct Peer {
    unwinder: UnwinderX86_64<Vec<u8>>,
    cache: CacheX86_64,
}

impl Peer {
    fn new(program: &[u8]) -> Result<Self, Box<dyn std::error::Error>> {
        let file = object::File::parse(program)?;
        let section = |name| {
            let section = file.section_by_name(name)?;
            let range = section.address()..section.address() + section.size();
            Some((range, section.data().ok()?.to_vec()))
        };
        let (eh_frame_svma, eh_frame) = section(".eh_frame").ok_or("no .eh_frame")?;
        let (hdr_svma, hdr) = section(".eh_frame_hdr").ok_or("no .eh_frame_hdr")?;
        let end = file.sections().map(|section| section.address() + section.size()).max().unwrap_or(0);
        let info = ExplicitModuleSectionInfo {
            base_svma: 0,
            text_svma: section(".text").map(|(range, _)| range),
            eh_frame_svma: Some(eh_frame_svma),
            eh_frame: Some(eh_frame),
            eh_frame_hdr_svma: Some(hdr_svma),
            eh_frame_hdr: Some(hdr),
            ..Default::default()
        };
        let mut unwinder = UnwinderX86_64::new();
        unwinder.add_module(Module::new("program".to_owned(), 0..end, 0, info));
        Ok(Self { unwinder, cache: CacheX86_64::new() })
    }

    #[inline(never)]
    fn step(&mut self, [pc, sp, fp]: State) -> Option<State> {
        let mut registers = UnwindRegsX86_64::new(pc, sp, fp);
        let mut read = |address| Ok(word(address));
        let address = FrameAddress::from_instruction_pointer(pc);
        let caller = self.unwinder.unwind_frame(address, &mut registers, &mut self.cache, &mut read);
        Some([caller.ok()??, registers.sp(), registers.bp()])
    }
}

/// Addresses in rows whose frame is found by the stack or frame pointer, and whose caller is in memory: each once, in random order.
fn addresses(unwind: &Unwind<'_>, count: usize) -> Vec<u64> {
    let mut rows = Vec::new();
    let _ = unwind.each_row(&mut |row| {
        let plain = matches!(row.cfa, Cfa::Register { register: RBP | RSP, .. });
        let returns = row.rules().any(|(register, rule)| register == RIP && matches!(rule, Rule::Offset(_)));
        let simple = row.rules().all(|(_, rule)| matches!(rule, Rule::Offset(_)));
        if plain && returns && simple {
            rows.push((row.start, row.end));
        }
    });
    let mut random = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    // By bytes of code: long rows are met more often.
    let mut ends = Vec::with_capacity(rows.len());
    let mut total = 0;
    for (start, end) in &rows {
        total += end - start;
        ends.push(total);
    }
    (0..count)
        .map(|_| {
            let at = next() % total;
            let row = ends.partition_point(|end| *end <= at);
            rows[row].1 - (ends[row] - at)
        })
        .collect()
}

/// Nanoseconds a step, of the quickest round of each.
fn time(states: &[State], mut one: impl FnMut(State) -> Option<State>) -> f64 {
    let start = Instant::now();
    for state in states {
        black_box(one(black_box(*state)));
    }
    start.elapsed().as_secs_f64() * 1e9 / states.len() as f64
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [program, symbols, rest @ ..] = args.as_slice() else {
        return Err("usage: steps PROGRAM FILE.fsym [--count N] [--once]".into());
    };
    let (mut count, mut once) = (100_000, false);
    let mut rest = rest.iter();
    while let Some(option) = rest.next() {
        match (option.as_str(), rest.clone().next()) {
            ("--once", _) => once = true,
            ("--count", Some(given)) => {
                count = given.parse()?;
                rest.next();
            }
            _ => return Err("usage: steps PROGRAM FILE.fsym [--count N] [--once]".into()),
        }
    }
    let bytes = std::fs::read(symbols)?;
    let file = SymbolFile::open(&bytes).map_err(|error| error.to_string())?;
    let unwind = file.unwind().map_err(|error| error.to_string())?.ok_or("no section UNWIND")?;
    let states: Vec<State> = addresses(&unwind, count).into_iter().map(state).collect();
    let mut peer = Peer::new(&std::fs::read(program)?)?;
    let mut differ = 0;
    for &state in &states {
        let (mine, others) = (ours(&unwind, state), peer.step(state));
        if mine != others {
            differ += 1;
            if differ <= 3 {
                eprintln!("{:#x}: {mine:x?}, framehop {others:x?}", state[0]);
            }
        }
    }
    if once {
        println!("{count} addresses; {differ} steps differ.");
        return Ok(());
    }
    let few: Vec<State> = states.iter().take(FEW).copied().cycle().take(count).collect();
    let program = std::path::Path::new(program).file_name().unwrap_or_default().to_string_lossy();
    println!("| {program} | random, ns | the same {FEW}, ns |\n|---|---|---|");
    let mut best = [[f64::MAX; 2]; 2];
    for _ in 0..ROUNDS {
        for (slot, states) in [&states, &few].into_iter().enumerate() {
            best[0][slot] = best[0][slot].min(time(states, |state| ours(&unwind, state)));
            best[1][slot] = best[1][slot].min(time(states, |state| peer.step(state)));
        }
    }
    for (name, [random, few]) in ["foldsym-unwind", "framehop 0.16.0"].iter().zip(best) {
        println!("| {name} | {random:.0} | {few:.0} |");
    }
    println!("\n{count} addresses, the quickest of {ROUNDS} rounds; {differ} steps differ.");
    Ok(())
}
