//! `foldsym wave`: prints the lanes of a stopped GPU wave, grouped by their program counters.

use foldsym_expr::Problem;
use foldsym_lookup::flags;
use foldsym_stopped::{Lane, MAX_LANES, Place, Wave, WaveAt, lane_count, wave};
use foldsym_symbolize::json::{address, list, number, string};
use foldsym_symbolize::{Innermost, Query, StackFrame};
use serde_json::Value;

use crate::answer::session::{LineError, Session, Source};
use crate::answer::stopped::{Stopped, refuse_unknown};
use crate::args::{Answering, Sources, Wave as Args};
use crate::io::failure::Failure;

/// Files of registers are not larger.
const MAX_JSON: u64 = 16 << 20;

/// Prints each group with the frames of its place.
#[inline(never)] // see `perform`
pub(crate) fn run(args: &Args) -> Result<u8, Failure> {
    let answering =
        Answering { json: args.json, no_demangle: args.no_demangle, base: args.base, ..Answering::default() };
    let symbolizer = crate::answer::open::symbolizer(&answering, &Sources::default())?;
    let loaded = crate::answer::open::load(&symbolizer, &args.file)?;
    let mut source = Source::new(loaded, &args.file, args.base);
    let map = source.loaded.map.clone();
    let file = *map.file();
    let damaged = |error| LineError::damaged(&args.file, error).into_failure();
    let mut session = Session::new(&args.file, &file, &answering);
    let mut worker = symbolizer.worker();
    let pc = session.space.parse(&args.pc).map_err(Failure::usage)?;
    let pc = session
        .space
        .image(pc)
        .ok_or_else(|| Failure::usage(format!("--pc {}: no address of this program", args.pc)))?;
    let header = file.header();
    // Any mask fits in 64 lanes, and a shift by 64 would overflow.
    if let Some(lanes) = args.lanes.filter(|&lanes| lanes < 64 && args.exec >> lanes != 0) {
        return Err(Failure::usage(format!("--exec {:#x}: lanes past the {lanes} of --lanes", args.exec)));
    }
    let at = WaveAt { pc, bias: args.base, exec: args.exec, lanes: args.lanes };
    // The meaning of a register's name depends on the wave.
    let lanes = lane_count(&file, at).map_err(damaged)?;
    let wide = lanes.count > 32;
    let stopped = match &args.regs {
        Some(path) => {
            let json = read(path)?;
            refuse_unknown(&json, &["regs", "mem"])
                .and_then(|()| {
                    Stopped::parse(&json, header.machine, header.flags & flags::BIG_ENDIAN != 0, wide)
                })
                .map_err(|error| Failure::input(path, error))?
        }
        None => Stopped::default(),
    };
    let found = wave(&file, at, &stopped).map_err(damaged)?;
    let groups = groups(&found);
    if args.json {
        head(&mut session.out.text, &found, at);
    } else {
        notes(&mut session.out.text, &found);
    }
    for (index, group) in groups.iter().enumerate() {
        if args.json {
            session.out.text.extend_from_slice(if index > 0 { b",{\"Lanes\":" } else { b"{\"Lanes\":" });
            list(&mut session.out.text, group.lanes(), number);
            session.out.text.extend_from_slice(b",\"State\":");
            string(&mut session.out.text, group.state().as_bytes());
        } else {
            let text = format!("lanes {}: {}", group.ranges(), group.state());
            session.out.text.extend_from_slice(text.as_bytes());
        }
        match group.lane.place {
            Place::At(place) => {
                // The user gives addresses with the load bias, so the answer has it too.
                let given = place.0.wrapping_add(args.base);
                let key = if args.json { ",\"Place\":" } else { &format!(" at {given:#x}\n") };
                session.out.text.extend_from_slice(key.as_bytes());
                let frames = [StackFrame::exact(given)];
                let modules = source.modules(args.base);
                let query = Query { modules, frames: &frames, innermost: Innermost::Nothing };
                let put = worker
                    .answer(query, session.form(), |answer, names| session.put(answer, names, modules, None));
                put.map_err(LineError::into_failure)?;
            }
            Place::Inactive if !args.json => session.out.text.extend_from_slice(b"\n\n"),
            Place::Inactive => {}
            Place::Unknown(problem) if args.json => {
                session.out.text.extend_from_slice(b",\"Reason\":");
                string(&mut session.out.text, problem.to_string().as_bytes());
            }
            Place::Unknown(problem) => {
                session.out.text.extend_from_slice(format!(": {problem}\n\n").as_bytes());
            }
        }
        if args.json {
            session.out.text.push(b'}');
        }
    }
    if args.json {
        session.out.text.extend_from_slice(b"]}\n");
    }
    session.out.flush()?;
    Ok(0)
}

fn read(path: &std::path::Path) -> Result<Value, Failure> {
    let wrong = |error: &dyn std::fmt::Display| Failure::input(path, error);
    let size = std::fs::metadata(path).map_err(|error| wrong(&error))?;
    // A pipe has no size, so the limit would not apply to it.
    if !size.is_file() || size.len() > MAX_JSON {
        return Err(wrong(&format!("not a file, or more than {MAX_JSON} bytes")));
    }
    let text = std::fs::read(path).map_err(|error| wrong(&error))?;
    serde_json::from_slice(&text).map_err(|error| wrong(&error))
}

/// Lanes that are at one place in one state.
struct Group {
    lane: Lane,
    mask: u64,
}

impl Group {
    fn state(&self) -> &'static str {
        match self.lane {
            Lane { active: true, .. } => "executing",
            Lane { place: Place::At(_), .. } => "waiting",
            Lane { place: Place::Inactive, .. } => "inactive",
            Lane { place: Place::Unknown(_), .. } => "unknown",
        }
    }

    fn lanes(&self) -> impl Iterator<Item = u64> {
        (0..64).filter(|lane| self.mask >> lane & 1 != 0)
    }

    /// `0-3,7`
    fn ranges(&self) -> String {
        let lanes: Vec<u64> = self.lanes().collect();
        let runs = lanes.chunk_by(|a, b| a + 1 == *b).map(|run| match run {
            [one] => one.to_string(),
            [first, .., last] => format!("{first}-{last}"),
            [] => String::new(),
        });
        runs.collect::<Vec<_>>().join(",")
    }
}

/// The groups, by their lowest lanes.
fn groups(wave: &Wave) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (index, &lane) in wave.lanes().iter().enumerate() {
        // A wave has at most 64 lanes, so a linear search is fast enough.
        match groups.iter_mut().find(|group| group.lane == lane) {
            Some(group) => group.mask |= 1 << index,
            None => groups.push(Group { lane, mask: 1 << index }),
        }
    }
    groups
}

fn head(out: &mut Vec<u8>, wave: &Wave, at: WaveAt) {
    out.extend_from_slice(b"{\"Pc\":");
    address(out, at.pc.0.wrapping_add(at.bias));
    out.extend_from_slice(b",\"Exec\":");
    address(out, at.exec);
    out.extend_from_slice(b",\"LaneCount\":");
    number(out, wave.lanes().len() as u64);
    out.extend_from_slice(if wave.described { b",\"LanePc\":true" } else { b",\"LanePc\":false" });
    let mut notes: Vec<String> = Vec::new();
    each_note(wave, &mut |note| notes.push(note));
    out.extend_from_slice(b",\"Notes\":");
    list(out, notes, |out, note| string(out, note.as_bytes()));
    out.extend_from_slice(b",\"Groups\":[");
}

fn notes(out: &mut Vec<u8>, wave: &Wave) {
    each_note(wave, &mut |note| out.extend_from_slice(format!("{note}\n\n").as_bytes()));
}

/// Data about lanes in the program that cannot be used.
fn each_note(wave: &Wave, put: &mut dyn FnMut(String)) {
    if let Some(lanes) = wave.lanes_refused {
        // A number of lanes below the highest lane of the mask would leave out lanes that execute.
        let what = if lanes as usize > MAX_LANES { "more than a wave has" } else { "fewer than execute" };
        put(format!("the function's number of lanes, {lanes}, is {what}"));
    }
    let because: Option<Problem> = wave.active_problem;
    if let Some(problem) = because {
        put(format!("the function's own mask of active lanes is not known: {problem}"));
    }
}
