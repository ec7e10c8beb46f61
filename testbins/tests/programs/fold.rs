//! Converts the programs that know who is on their stacks, resolves every recorded stack, and judges every frame.
//!
//! Never allowed: an `exact` that is another function, an answer without the function that ran, a wrong line. `cases/fold.txt` has the
//! percentage of frames that must be `exact`, one number per program: raise it as the resolution improves, up to 100.

use std::path::Path;

use foldsym_convert::{NoProgress, Options, convert};
use foldsym_lookup::{Frames, How, ImageAddr, Lookup, Resolved, ReturnAddr, StackAddr, SymbolFile};
use foldsym_testbins::cases;
use foldsym_testbins::root;
use foldsym_testbins::stacks::{Answer, Candidate, Lines, Stack, Truth};

/// Reads a `.fsym` as stacks are judged.
struct Reader<'f> {
    file: SymbolFile<'f>,
    frames: Frames,
}

impl Reader<'_> {
    /// The answers to one stack.
    fn stack(&mut self, stack: &Stack, vptr: Option<ImageAddr>) -> Vec<Answer> {
        let entry = |(at, address): (usize, &u64)| match address - stack.bias {
            address if at == 0 => StackAddr::Exact(ImageAddr(address)),
            address => StackAddr::Return(ReturnAddr(address)),
        };
        let entries: Vec<StackAddr> = stack.addresses.iter().enumerate().map(entry).collect();
        let mut resolved = vec![Resolved::NONE; entries.len()];
        self.file.resolve_stack(&entries, &mut resolved).unwrap();
        if let Some(vptr) = vptr {
            self.file.resolve_object(&mut resolved[0], vptr, entries.get(1).copied()).unwrap();
        }
        entries.iter().zip(resolved).map(|(entry, resolved)| self.answer(*entry, &resolved)).collect()
    }

    fn answer(&mut self, entry: StackAddr, resolved: &Resolved) -> Answer {
        let Some(address) = entry.lookup_address() else { return Answer::default() };
        let Lookup::Found(found) = self.file.lookup(address, &mut self.frames).unwrap() else {
            return Answer::default();
        };
        let Some(certainty) = resolved.certainty else { return Answer::default() };
        let mut candidates = Vec::new();
        if found.group.is_some() {
            for index in (0..resolved.candidate_count()).map_while(|index| resolved.candidate(index)) {
                let member = self.file.member_frames(&found, index, &mut self.frames).unwrap();
                let guessed_lines = member.how == How::SymbolOrder;
                candidates.push(Candidate { guessed_lines, ..self.candidate(member.function) });
            }
        } else {
            candidates.push(self.candidate(found.function));
        }
        Answer { certainty: certainty.text().to_owned(), candidates }
    }

    /// The function whose frames were read last.
    fn candidate(&self, function: foldsym_lookup::FunctionId) -> Candidate {
        let mut buffer = vec![0; 1 << 16];
        let mut text = |write: &dyn Fn(&mut [u8]) -> Option<usize>| {
            let len = write(&mut buffer).unwrap_or(0);
            String::from_utf8(buffer[..len].to_vec()).unwrap()
        };
        let mut frames = Vec::new();
        for frame in self.file.frames(&self.frames) {
            let frame = frame.unwrap();
            let name = text(&|buffer| self.file.write_name(frame.name?, buffer));
            let path = text(&|buffer| self.file.write_path(frame.start_file.or(frame.file)?, buffer));
            frames.push((name, path, u64::from(frame.line)));
        }
        let mut names: Vec<String> = frames.last().map(|(name, ..)| name.clone()).into_iter().collect();
        let function = self.file.records().function(function).unwrap();
        for alias in self.file.records().aliases(&function) {
            names.push(text(&|buffer| self.file.write_name(alias.unwrap(), buffer)));
        }
        Candidate { names, frames, guessed_lines: false }
    }
}

/// The results for the frames of one program.
#[derive(Debug, Default)]
struct Outcome {
    frames: usize,
    /// Frames that the caller decides, and frames that the object's class decides: the number answered so, and the number of all.
    exact: (u32, u32),
    /// Among those, the frames that the object's class decides.
    objects: (u32, u32),
    lines: [usize; 2],
    lost: Vec<String>,
}

impl Outcome {
    fn frame(&mut self, truth: &Truth, answer: &Answer, merging: bool) {
        let (verdict, lines) = truth.judge(answer, merging);
        self.frames += 1;
        if !verdict.is_allowed() || lines == Lines::Wrong {
            self.lost.push(format!("{verdict:?}, lines {lines:?}: {truth:?} is answered {answer:?}"));
        }
        if truth.sure {
            self.exact.0 += u32::from(verdict.names_it());
            self.exact.1 += 1;
        }
        match lines {
            Lines::Right | Lines::LineOnly => self.lines[0] += 1,
            Lines::Wrong => self.lines[1] += 1,
            Lines::WrongGuess | Lines::None => {}
        }
    }

    fn percent(&self) -> u32 {
        100 * self.exact.0 / self.exact.1.max(1)
    }
}

fn outcome(file: &str, folder: &Path) -> Outcome {
    let set = root().join("built").join(file);
    let output = folder.join(file);
    convert(
        &set.join("program"),
        &output,
        &Options::default().with(|options| options.threads = 2),
        &NoProgress,
    )
    .unwrap_or_else(|error| panic!("{file}: {error}"));
    let bytes = std::fs::read(&output).unwrap();
    let mut reader = Reader { file: SymbolFile::open(&bytes).unwrap(), frames: Frames::new() };
    let merging = file.contains("merged");
    let text = std::fs::read_to_string(set.join("stacks")).unwrap();
    let mut outcome = Outcome::default();
    for line in text.lines() {
        let stack = Stack::parse(line).unwrap().unwrap();
        let answers = reader.stack(&stack, None);
        assert_eq!(answers.len(), stack.frames.len());
        for (truth, answer) in stack.frames.iter().zip(&answers) {
            outcome.frame(truth, answer, merging);
        }
        if let Some(vptr) = stack.vptr {
            let answers = reader.stack(&stack, Some(ImageAddr(vptr - stack.bias)));
            let truth = Truth { sure: stack.frames[0].by_class, ..stack.frames[0].clone() };
            let before = outcome.exact;
            outcome.frame(&truth, &answers[0], merging);
            outcome.objects.0 += outcome.exact.0 - before.0;
            outcome.objects.1 += outcome.exact.1 - before.1;
        }
    }
    outcome
}

#[test]
fn no_frame_is_answered_wrong_and_as_many_exact_as_claimed() {
    let folder = tempfile::tempdir().unwrap();
    let cases = cases::read_all(&root().join("cases")).unwrap();
    let case = cases.iter().find(|case| case.name == "fold").unwrap();
    let claim = |claims: &[(String, u32)], file: &str| claims.iter().find(|(f, _)| f == file).unwrap().1;
    let mut wrong = String::new();
    for variant in &case.variants {
        let file = variant.file.as_str();
        let outcome = outcome(file, folder.path());
        let (exact, lost) = (claim(&case.exact, file), claim(&case.lost, file));
        println!(
            "{file}: {} frames; of those that can be exact {} of {} are ({}%); of objects {} of {}; lines right {}, wrong {}; lost {}",
            outcome.frames,
            outcome.exact.0,
            outcome.exact.1,
            outcome.percent(),
            outcome.objects.0,
            outcome.objects.1,
            outcome.lines[0],
            outcome.lines[1],
            outcome.lost.len()
        );
        assert!(outcome.frames > 500 && outcome.exact.1 > 300, "{file}: few frames");
        if outcome.percent() < exact {
            wrong += &format!("{file}: {}% exact, claimed are {exact}%\n", outcome.percent());
        }
        if outcome.lost.len() > lost as usize {
            wrong += &format!("{file}: {} lost, known are {lost}: {}\n", outcome.lost.len(), outcome.lost[0]);
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
