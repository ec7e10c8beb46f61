//! Members of groups to counts: whether each has, at random offsets, the frames that it has without folding.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::counts::Counts;
use super::pair::{Group, Programs, unnumbered};
use crate::diff::Oracle;
use crate::diff::answer::{Answer, Candidate, Frame};
use crate::fold::stacks::same_function;
use crate::llvm::Symbol;

/// What a member's answer at one offset is worth, the best last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Worth {
    WrongLine,
    WrongFrames,
    NameOnly,
    LinesOnly,
    /// As we answer without folding; llvm-symbolizer does not. `cargo xtask diff` has the reasons for such.
    AsOurs,
    Equal,
}

impl Worth {
    fn kind(self) -> &'static str {
        match self {
            Worth::WrongLine => "DEFECT wrong line",
            Worth::WrongFrames => "DEFECT wrong frames",
            Worth::NameOnly => "known by name alone",
            Worth::LinesOnly => "lines only, right",
            Worth::AsOurs => "frames as ours without folding, not as llvm-symbolizer's",
            Worth::Equal => "frames equal",
        }
    }
}

/// A member at one offset.
struct AskedMember<'a> {
    group: u64,
    offset: u64,
    candidate: &'a Candidate,
    /// Where it may be without folding.
    places: Vec<u64>,
}

/// Compares and counts; each offset that is wrong is a defect, and not the member again.
pub(super) fn compare(pair: &Programs<'_>, groups: &BTreeMap<u64, Group>) -> Result<Counts, String> {
    let mut counts = Counts::keeping(pair.options.examples);
    let mut random = pair.random();
    let places: Vec<(u64, u64)> = groups
        .iter()
        .flat_map(|(address, group)| {
            let drawn = (1..pair.options.offsets).map(|_| random.next() % group.size);
            let mut offsets: BTreeSet<u64> = drawn.collect();
            offsets.insert(0);
            offsets.into_iter().map(|offset| (*address, offset)).collect::<Vec<_>>()
        })
        .collect();
    let addresses: Vec<u64> = places.iter().map(|(group, offset)| group + offset).collect();
    let answers =
        pair.asker.tools.ours(&pair.folded.program, &pair.folded.fsym, &addresses, &pair.scratch)?;
    // Members are chosen by name, so that each keeps all its offsets.
    let chosen = |name: &str| {
        let hash = name
            .bytes()
            .fold(pair.options.seed, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        let all: usize = groups.values().map(|group| group.members).sum();
        (hash >> 20) as usize % all.max(1) < pair.options.functions
    };
    let mut asked: Vec<AskedMember<'_>> = Vec::new();
    let mut not_found = BTreeMap::new();
    for ((group, offset), answer) in places.iter().zip(&answers) {
        for candidate in &answer.candidates {
            let Some(name) = candidate.frames.last().map(|frame| &frame.name).filter(|name| chosen(name))
            else {
                continue;
            };
            let places = unfolded(pair, *group, candidate);
            if places.is_empty() {
                not_found.insert((*group, name.clone()), candidate);
            } else {
                asked.push(AskedMember { group: *group, offset: *offset, candidate, places });
            }
        }
    }
    let truths = Truths::ask(pair, &asked)?;
    let mut worst: HashMap<(u64, &str, u64), (Worth, &str)> = HashMap::new();
    for one in &asked {
        property(&mut counts, one, &truths);
        let worth = truths.worth(one);
        let last = one.candidate.frames.last();
        let (name, line) = last.map_or(("", 0), |frame| (frame.name.as_str(), frame.start_line));
        let how = one.candidate.how.as_str();
        let member = worst.entry((one.group, name, line)).or_insert((worth, how));
        member.0 = member.0.min(worth);
        let example =
            || format!("{name} at {:#x}+{:#x} ({how}): {}", one.group, one.offset, truths.show(one));
        counts.add(&format!("offsets: {}", worth.kind()), example);
    }
    for ((group, name), candidate) in &not_found {
        counts.add("members: not found without folding", || {
            format!("{name} at {group:#x} ({})", candidate.how)
        });
    }
    for ((group, name, _), (worth, how)) in &worst {
        let kind = worth.kind().trim_start_matches("DEFECT ");
        counts.add(&format!("members by {how}, worst offset: {kind}"), || format!("{name} at {group:#x}"));
    }
    counts.sum("members compared", worst.len());
    counts.sum("offsets compared", asked.len());
    Ok(counts)
}

/// Rows outside every inlined scope and not of line 0 are in the file where the function is declared.
fn property(counts: &mut Counts, one: &AskedMember<'_>, truths: &Truths) {
    let [frame] = one.candidate.frames.as_slice() else { return };
    let inlined = |place: &u64| truths.llvm.get(&(place + one.offset)).is_none_or(|t| t.frames.len() != 1);
    if frame.line == 0 || frame.start_file.is_empty() || one.places.iter().any(inlined) {
        return;
    }
    let kind = if frame.file == frame.start_file {
        "rows outside inlined code: in the file of the declaration"
    } else {
        "rows outside inlined code: in another file than the declaration (`#include`, `#line`?)"
    };
    counts.add(kind, || {
        format!(
            "{} at {:#x}+{:#x}: {}, declared in {}",
            frame.name, one.group, one.offset, frame.file, frame.start_file
        )
    });
}

/// The possible addresses of a member without folding: symbols of its name with the size that it has here. If several units have a
/// function, LLVM adds a number to each symbol, but all their debug information has the one name.
fn unfolded(pair: &Programs<'_>, group: u64, candidate: &Candidate) -> Vec<u64> {
    let here: Vec<&Symbol> = pair.folded.program.symbols.at(group).iter().collect();
    let of = |name: &str| -> Vec<u64> {
        let name = unnumbered(name);
        let sizes: BTreeSet<u64> =
            here.iter().filter(|s| unnumbered(&s.name) == name).map(|s| s.size).collect();
        let fits = |symbol: &&Symbol| sizes.is_empty() || sizes.contains(&symbol.size);
        pair.unfolded.unnumbered(name).filter(fits).map(|symbol| symbol.address).collect()
    };
    let name = candidate.frames.last().map_or("", |frame| frame.name.as_str());
    let names = std::iter::once(name).chain(candidate.aliases.iter().map(String::as_str));
    let mut places: Vec<u64> = names.map(of).find(|places| !places.is_empty()).unwrap_or_default();
    places.sort_unstable();
    places.dedup();
    places
}

/// The answers at each address without folding, by llvm-symbolizer and by us.
struct Truths {
    llvm: HashMap<u64, Answer>,
    ours: HashMap<u64, Answer>,
}

impl Truths {
    fn ask(pair: &Programs<'_>, asked: &[AskedMember<'_>]) -> Result<Truths, String> {
        let places = asked.iter().flat_map(|one| one.places.iter().map(|place| place + one.offset));
        let addresses: Vec<u64> = places.collect::<BTreeSet<u64>>().into_iter().collect();
        let (side, scratch) = (&pair.unfolded, &pair.scratch);
        let llvm = pair.asker.tools.theirs(Oracle::Llvm, &side.program, &addresses, scratch)?;
        let ours = pair.asker.tools.ours(&side.program, &side.fsym, &addresses, scratch)?;
        let keyed = |answers: Vec<Answer>| addresses.iter().copied().zip(answers).collect();
        Ok(Truths { llvm: keyed(llvm), ours: keyed(ours) })
    }

    fn worth(&self, one: &AskedMember<'_>) -> Worth {
        let candidate = one.candidate;
        let of = |answers: &HashMap<u64, Answer>| {
            let all = one.places.iter().filter_map(|place| answers.get(&(place + one.offset)));
            // Several local functions of one name: the one that is declared where the member is.
            let declared = |answer: &&Answer| match (answer.frames.last(), candidate.frames.last()) {
                (Some(a), Some(b)) if one.places.len() > 1 && !b.start_file.is_empty() => {
                    (&a.start_file, a.start_line) == (&b.start_file, b.start_line)
                }
                _ => true,
            };
            all.filter(declared).map(|answer| worth(candidate, answer)).max()
        };
        let by_llvm = of(&self.llvm).unwrap_or(Worth::WrongFrames);
        if by_llvm == Worth::Equal {
            return by_llvm;
        }
        match of(&self.ours) {
            Some(Worth::Equal) => Worth::AsOurs,
            Some(by_ours) => by_ours.max(by_llvm),
            None => by_llvm,
        }
    }

    fn show(&self, one: &AskedMember<'_>) -> String {
        let text = |frames: &[Frame]| -> String {
            let texts: Vec<String> =
                frames.iter().map(|f| format!("{} {}:{}", f.name, f.file, f.line)).collect();
            texts.join(" <- ")
        };
        let truths: Vec<String> = one
            .places
            .iter()
            .filter_map(|place| self.llvm.get(&(place + one.offset)))
            .take(2)
            .map(|answer| text(&answer.frames))
            .collect();
        format!("[{}], truth [{}]", text(&one.candidate.frames), truths.join(" or "))
    }
}

fn worth(candidate: &Candidate, truth: &Answer) -> Worth {
    let (found, truth) = (candidate.frames.as_slice(), truth.frames.as_slice());
    if found.iter().all(|frame| frame.line == 0 && frame.file.is_empty()) {
        return if truth.iter().all(|frame| frame.line == 0) { Worth::Equal } else { Worth::NameOnly };
    }
    let (Some(inner), Some(true_inner)) = (found.first(), truth.first()) else { return Worth::WrongFrames };
    if (&inner.file, inner.line) != (&true_inner.file, true_inner.line) {
        return Worth::WrongLine;
    }
    let same = |a: &Frame, b: &Frame, outermost: bool| {
        let named = a.name == b.name
            || outermost && (same_function(&a.name, &b.name) || candidate.aliases.contains(&b.name));
        named && (&a.file, a.line) == (&b.file, b.line)
    };
    let all = || (0..found.len()).all(|at| same(&found[at], &truth[at], at + 1 == found.len()));
    match (found.len(), truth.len()) {
        (a, b) if a == b && all() => Worth::Equal,
        (1, b) if b > 1 => Worth::LinesOnly,
        _ => Worth::WrongFrames,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(name: &str, line: u64) -> Frame {
        let file = if line == 0 { String::new() } else { "a.cc".to_owned() };
        Frame { name: name.to_owned(), file, line, ..Frame::default() }
    }

    #[test]
    fn every_worth() {
        let truth = Answer { frames: vec![frame("in", 3), frame("out", 9)], ..Answer::default() };
        let of = |frames: Vec<Frame>| {
            worth(&Candidate { frames, aliases: vec!["other".into()], how: String::new() }, &truth)
        };
        assert_eq!(of(vec![frame("in", 3), frame("out", 9)]), Worth::Equal);
        assert_eq!(of(vec![frame("out", 3)]), Worth::LinesOnly);
        assert_eq!(of(vec![frame("out", 9)]), Worth::WrongLine);
        assert_eq!(of(vec![frame("out", 0)]), Worth::NameOnly);
        assert_eq!(of(vec![frame("on", 3), frame("out", 9)]), Worth::WrongFrames);
        assert_eq!(of(vec![frame("in", 3), frame("out", 8)]), Worth::WrongFrames);
        assert_eq!(of(vec![frame("in", 3), frame("x", 1), frame("out", 9)]), Worth::WrongFrames);
        assert_eq!(of(vec![frame("in", 4), frame("out", 9)]), Worth::WrongLine);
        assert!(Worth::WrongLine < Worth::NameOnly && Worth::LinesOnly < Worth::Equal);
    }
}
