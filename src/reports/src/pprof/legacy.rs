//! Reads the files that gperftools itself writes into the records of `profile.proto`, as pprof does: profiles of the processor (words of 4 or
//! 8 bytes) and of the heap (text). Both end with the text of `/proc/self/maps`.
//!
//! Callers are return addresses in these files. 1 is subtracted from each, so that they are adjusted as in every other profile. In a profile of
//! the heap the first address is that of a caller too.

use std::mem::size_of;
use std::ops::Range;

use foldsym_symbolize::{number, parse_maps};

use super::profile::{Location, Mapping, ProfileRecord, Sample, ValueType};

/// Words of the header of a profile of the processor: 0, the number of words that follow, the version 0, the period, 0.
const HEADER: usize = 5;
/// The same for the words that later versions may append.
const MAX_HEADER: u64 = 64;
/// The longest period, in microseconds: an hour.
const MAX_PERIOD: u64 = 3_600_000_000;
const HEAP: &[u8] = b"heap profile: ";

/// Why a file cannot be read.
pub(super) enum Problem {
    /// Its records take so many bytes of memory.
    Memory(u64),
    Damaged(String),
}

/// Whether bytes begin as one of these files.
pub(super) fn is_one(bytes: &[u8]) -> bool {
    HeapHeader::parse(bytes).is_some() || Words::of(bytes).is_some()
}

/// Reads a file. `most` is how many bytes of memory its records may take.
///
/// # Errors
/// See [`Problem`].
pub(super) fn read(bytes: &[u8], most: u64) -> Result<ProfileRecord, Problem> {
    match (HeapHeader::parse(bytes), Words::of(bytes)) {
        (Some(header), _) => heap(bytes, header, most),
        (None, Some(words)) => cpu(words, most),
        (None, None) => Err(Problem::Damaged("not a profile of gperftools".to_owned())),
    }
}

/// How often a stack was there, and which words are its addresses.
struct Counted {
    count: u64,
    words: Range<usize>,
}

/// The words of a profile of the processor, in the byte order of its machine.
#[derive(Clone, Copy)]
struct Words<'b> {
    bytes: &'b [u8],
    size: usize,
    is_big: bool,
}

impl<'b> Words<'b> {
    fn of(bytes: &'b [u8]) -> Option<Self> {
        let orders = [(4, false), (4, true), (8, false), (8, true)];
        let mut all = orders.into_iter().map(|(size, is_big)| Self { bytes, size, is_big });
        all.find(|words| {
            let header: Vec<u64> = (0..HEADER).map_while(|at| words.get(at)).collect();
            matches!(header[..], [0, 3..=MAX_HEADER, 0, 1..=MAX_PERIOD, 0])
        })
    }

    fn get(self, at: usize) -> Option<u64> {
        let start = at.checked_mul(self.size)?;
        let bytes = self.bytes.get(start..start.checked_add(self.size)?)?;
        let byte = |value: u64, &byte: &u8| value << 8 | u64::from(byte);
        Some(if self.is_big { bytes.iter().fold(0, byte) } else { bytes.iter().rev().fold(0, byte) })
    }

    /// The stacks up to the trailer, and the place of the text.
    fn stacks(self) -> Result<(Vec<Counted>, usize), String> {
        let mut at = 2 + self.get(1).unwrap_or(0) as usize;
        let mut stacks = Vec::new();
        loop {
            let cut_off = || format!("cut off after {} stacks: the profiler had not ended", stacks.len());
            let (count, depth) = self.get(at).zip(self.get(at + 1)).ok_or_else(cut_off)?;
            let start = at + 2;
            let end = usize::try_from(depth).ok().and_then(|depth| start.checked_add(depth));
            let end = end.filter(|&end| end <= self.bytes.len() / self.size).ok_or_else(cut_off)?;
            if count == 0 && depth == 1 && self.get(start) == Some(0) {
                return Ok((stacks, end * self.size));
            }
            stacks.push(Counted { count, words: start..end });
            at = end;
        }
    }
}

fn cpu(words: Words<'_>, most: u64) -> Result<ProfileRecord, Problem> {
    let (stacks, text) = words.stacks().map_err(Problem::Damaged)?;
    let period = words.get(3).unwrap_or(0).saturating_mul(1000).cast_signed();
    let addresses = |stack: &Counted| {
        let frames = stack.words.clone().filter_map(move |at| words.get(at));
        frames.enumerate().map(|(index, address)| address.wrapping_sub(u64::from(index > 0)))
    };
    let locations = Locations::of(stacks.iter().flat_map(addresses), stacks.len(), most)?;
    let mut record = ProfileRecord::default();
    let mut strings = vec![String::new()];
    record.sample_type =
        vec![kind(&mut strings, "samples", "count"), kind(&mut strings, "cpu", "nanoseconds")];
    (record.period_type, record.period) = (Some(record.sample_type[1]), period);
    record.sample.reserve_exact(stacks.len());
    for stack in &stacks {
        let mut location_id: Vec<u64> = addresses(stack).map(|address| locations.id(address)).collect();
        // The profiler may get the innermost address both from the signal and from the walk, as pprof knows too.
        let mut first = addresses(stack);
        if let (Some(innermost), Some(next)) = (first.next(), first.next())
            && innermost.wrapping_sub(1) == next
        {
            location_id.remove(1);
        }
        let count = i64::try_from(stack.count).unwrap_or(i64::MAX);
        record.sample.push(Sample {
            location_id,
            value: vec![count, count.saturating_mul(period)],
            label: Vec::new(),
        });
    }
    finish(&mut record, strings, locations, words.bytes.get(text..).unwrap_or_default(), most)?;
    Ok(record)
}

/// The addresses of all stacks, each once, in order. The id of a location is its index here and 1.
struct Locations(Vec<u64>);

impl Locations {
    fn of(all: impl Iterator<Item = u64> + Clone, stacks: usize, most: u64) -> Result<Self, Problem> {
        let count = all.clone().count();
        let mut addresses = Vec::new();
        addresses.reserve_exact(count);
        addresses.extend(all);
        addresses.sort_unstable();
        addresses.dedup();
        // A location is found by a table of its id.
        let of_location = size_of::<Location>() + 3 * size_of::<(u64, usize)>();
        let of_stack = size_of::<Sample>() + 4 * size_of::<i64>() + 64;
        let memory = 2 * count * size_of::<u64>() + addresses.len() * of_location + stacks * of_stack;
        if memory as u64 > most {
            return Err(Problem::Memory(memory as u64));
        }
        Ok(Self(addresses))
    }

    fn id(&self, address: u64) -> u64 {
        self.0.binary_search(&address).map_or(0, |at| at as u64 + 1)
    }
}

fn kind(strings: &mut Vec<String>, name: &str, unit: &str) -> ValueType {
    ValueType { r#type: push(strings, name), unit: push(strings, unit) }
}

fn push(strings: &mut Vec<String>, text: &str) -> i64 {
    strings.push(text.to_owned());
    strings.len() as i64 - 1
}

/// Memory for a mapping: its record, its name, and the module that it becomes; twice, as locations take some too.
const MAPPING_BYTES: u64 = 2 << 10;

/// Adds the mappings of the text, and the locations.
///
/// # Errors
/// The mappings take too much memory.
fn finish(
    record: &mut ProfileRecord,
    mut strings: Vec<String>,
    locations: Locations,
    maps: &[u8],
    most: u64,
) -> Result<(), Problem> {
    let mut memory = 0;
    for line in maps.split(|byte| *byte == b'\n') {
        // A line may be damaged, and others be words of gperftools' own.
        let line = String::from_utf8_lossy(line);
        let entry = parse_maps(line.trim()).ok().and_then(|mut entries| entries.pop());
        let Some(entry) = entry.filter(|entry| entry.executable) else { continue };
        memory += MAPPING_BYTES + 8 * entry.path.len() as u64;
        if memory > most {
            return Err(Problem::Memory(memory));
        }
        record.mapping.push(Mapping {
            id: record.mapping.len() as u64 + 1,
            memory_start: entry.start,
            memory_limit: entry.end,
            file_offset: entry.file_offset,
            filename: push(&mut strings, &entry.path),
            ..Mapping::default()
        });
    }
    let mut starts: Vec<(u64, u64, u64)> =
        record.mapping.iter().map(|one| (one.memory_start, one.memory_limit, one.id)).collect();
    starts.sort_unstable();
    let mapping_of = |address: u64| {
        let before = starts.partition_point(|(start, ..)| *start <= address).checked_sub(1)?;
        let &(_, limit, id) = starts.get(before)?;
        (address < limit).then_some(id)
    };
    let location = |(index, &address): (usize, &u64)| Location {
        id: index as u64 + 1,
        mapping_id: mapping_of(address).unwrap_or(0),
        address,
        ..Location::default()
    };
    record.location = locations.0.iter().enumerate().map(location).collect();
    record.string_table = strings;
    Ok(())
}

/// The first line of a profile of the heap: `heap profile: 1: 2 [ 3: 4] @ heap_v2/524288`.
#[derive(Clone, Copy)]
struct HeapHeader {
    /// Objects and bytes that are in use differ from those that were allocated.
    has_freed: bool,
    /// Of samples: the mean number of bytes from one to the next. Counts are whole without it.
    rate: Option<u64>,
}

impl HeapHeader {
    fn parse(bytes: &[u8]) -> Option<Self> {
        let line = bytes.strip_prefix(HEAP)?.split(|byte| *byte == b'\n').next()?;
        let (counts, kind) = counts(std::str::from_utf8(line).ok()?)?;
        let (word, rate) = kind.trim().split_once('/').unwrap_or((kind.trim(), ""));
        let rate: u64 = rate.parse().unwrap_or(0);
        let rate = match word {
            "heap_v2" | "heapz_v2" => rate,
            "heap" => rate / 2,
            "heapprofile" => 0,
            _ => return None,
        };
        let has_freed = counts[..2] != counts[2..];
        Some(Self { has_freed, rate: Some(rate).filter(|rate| *rate > 1) })
    }
}

/// Reads `1: 2 [ 3: 4] @ REST`: objects and bytes in use, then those that were allocated.
fn counts(line: &str) -> Option<([i64; 4], &str)> {
    let (counts, rest) = line.split_once('@')?;
    let (used, all) = counts.trim().strip_suffix(']')?.split_once('[')?;
    let pair = |text: &str| -> Option<[i64; 2]> {
        let (objects, bytes) = text.split_once(':')?;
        let count = |text: &str| text.trim().parse().ok().filter(|count: &i64| *count >= 0);
        Some([count(objects)?, count(bytes)?])
    };
    let ([a, b], [c, d]) = (pair(used)?, pair(all)?);
    Some(([a, b, c, d], rest))
}

fn heap(bytes: &[u8], header: HeapHeader, most: u64) -> Result<ProfileRecord, Problem> {
    let stacks_end = b"MAPPED_LIBRARIES:";
    let at = bytes.windows(stacks_end.len()).position(|text| text == stacks_end);
    let (stacks, maps) = bytes.split_at(at.unwrap_or(bytes.len()));
    let lines = stacks.split(|byte| *byte == b'\n').skip(1);
    let lines = lines.filter_map(|line| counts(std::str::from_utf8(line).ok()?));
    // Each of them is what a call of the allocator returns to.
    let addresses = |rest| {
        let words = str::split_ascii_whitespace(rest);
        words.map_while(number).map(|address| address.wrapping_sub(1))
    };
    let all = lines.clone().flat_map(|(_, rest)| addresses(rest));
    let locations = Locations::of(all, lines.clone().count(), most)?;
    let mut record = ProfileRecord::default();
    let mut strings = vec![String::new()];
    let kinds: &[[&str; 2]] = match header.has_freed {
        // The last is what pprof shows.
        true => &[
            ["alloc_objects", "count"],
            ["alloc_space", "bytes"],
            ["inuse_objects", "count"],
            ["inuse_space", "bytes"],
        ],
        false => &[["objects", "count"], ["space", "bytes"]],
    };
    record.sample_type = kinds.iter().map(|[name, unit]| kind(&mut strings, name, unit)).collect();
    record.period_type = Some(kind(&mut strings, "space", "bytes"));
    record.period = header.rate.unwrap_or(1).cast_signed();
    record.sample.reserve_exact(lines.clone().count());
    for ([used, used_bytes, objects, bytes], rest) in lines {
        let ((objects, bytes), used) =
            (scaled(objects, bytes, header.rate), scaled(used, used_bytes, header.rate));
        let mut value = if header.has_freed { vec![objects, bytes] } else { Vec::new() };
        value.extend([used.0, used.1]);
        let location_id = addresses(rest).map(|address| locations.id(address)).collect();
        record.sample.push(Sample { location_id, value, label: Vec::new() });
    }
    finish(&mut record, strings, locations, maps, most)?;
    Ok(record)
}

/// The objects and bytes that a sample stands for, as pprof estimates them: a larger object is the more likely to be a sample.
fn scaled(objects: i64, bytes: i64, rate: Option<u64>) -> (i64, i64) {
    let Some(rate) = rate.filter(|_| objects > 0 && bytes > 0) else { return (objects, bytes) };
    let mean = bytes as f64 / objects as f64;
    let scale = 1.0 / (1.0 - (-mean / rate as f64).exp());
    ((objects as f64 * scale) as i64, (bytes as f64 * scale) as i64)
}
