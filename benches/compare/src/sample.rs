//! Turns a program into random code addresses: uniform over the bytes of its functions.
//!
//! The bytes are those that a sized function symbol covers, in executable sections; each byte
//! counts once, however many symbols cover it. Without any such symbol (Mach-O symbols have no
//! sizes) they are the executable sections. The same seed gives the same addresses everywhere.

use object::{Object, ObjectSection, ObjectSymbol, SectionFlags, SymbolKind};
use std::ops::Range;

/// SplitMix64: each state gives one number, and all states are visited.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }
}

/// `count` addresses of the program in `bytes`, in random order, as link-time virtual addresses.
pub(crate) fn addresses(bytes: &[u8], count: usize, seed: u64) -> Result<Vec<u64>, String> {
    let object = object::File::parse(bytes).map_err(|error| error.to_string())?;
    if object.kind() == object::ObjectKind::Relocatable {
        return Err("a relocatable file: its tools agree on no addresses".into());
    }
    let ranges = code_ranges(&object);
    let total: u64 = ranges.iter().map(|range| range.end - range.start).sum();
    if total == 0 {
        return Err("no code".into());
    }
    let mut ends = Vec::with_capacity(ranges.len());
    let mut sum = 0;
    for range in &ranges {
        sum += range.end - range.start;
        ends.push(sum);
    }
    let mut random = Random(seed);
    let pick = || {
        let place = random.below(total);
        let index = ends.partition_point(|&end| end <= place);
        ranges[index].end - (ends[index] - place)
    };
    Ok(std::iter::repeat_with(pick).take(count).collect())
}

fn code_ranges(object: &object::File<'_>) -> Vec<Range<u64>> {
    let sections: Vec<Range<u64>> = object
        .sections()
        .filter(|section| is_code(section) && section.size() > 0 && section.address() > 0)
        .map(|section| section.address()..section.address() + section.size())
        .collect();
    let inside = |address: u64| sections.iter().find(|section| section.contains(&address)).cloned();
    let symbols = object.symbols().chain(object.dynamic_symbols());
    let functions: Vec<Range<u64>> = symbols
        .filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.size() > 0)
        .filter_map(|symbol| {
            let section = inside(symbol.address())?;
            Some(symbol.address()..section.end.min(symbol.address().saturating_add(symbol.size())))
        })
        .collect();
    union(if functions.is_empty() { sections } else { functions })
}

fn is_code(section: &object::Section<'_, '_>) -> bool {
    match section.flags() {
        SectionFlags::Elf { sh_flags, .. } => {
            let wanted = object::elf::SHF_ALLOC | object::elf::SHF_EXECINSTR;
            sh_flags & wanted == wanted
        }
        _ => section.kind() == object::SectionKind::Text,
    }
}

fn union(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_by_key(|range| (range.start, range.end));
    let mut merged: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}
