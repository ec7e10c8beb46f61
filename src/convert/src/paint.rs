//! Paints address ranges over each other: of several that cover an address, the highest node wins.
//!
//! Inline trees are painted in the order of their DIEs, where a later DIE that covers the same code is
//! the inner one; pieces of a program in the order of how far they are trusted. The result is a list of
//! segments with one node each. A heap holds the ranges that are open at the current address; one that
//! ended below another is dropped when it comes to the top. Each range enters and leaves once.

use std::collections::BinaryHeap;

/// A half-open range of addresses that belongs to a node, numbered from 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PaintRange {
    pub(crate) start: u64,
    pub(crate) node: u32,
    pub(crate) end: u64,
}

/// From `start` on, code belongs to `node`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) start: u64,
    pub(crate) node: u32,
}

/// Paints ranges over each other; memory is kept between functions.
#[derive(Default)]
pub(crate) struct Painter {
    active: BinaryHeap<(u32, u64)>,
}

impl Painter {
    /// The segments of a function, by address; before the first one code belongs to node 0.
    /// Takes time in n log n of the ranges, however they overlap.
    pub(crate) fn paint(&mut self, ranges: &mut [PaintRange], segments: &mut Vec<Segment>) {
        segments.clear();
        self.active.clear();
        // Ranges come in the order of their nodes, and mostly of their addresses.
        ranges.sort_by_key(|range| range.start);
        let Some(first) = ranges.first() else { return };
        let mut at = first.start;
        let mut next = 0;
        loop {
            while next < ranges.len() && ranges[next].start <= at {
                self.active.push((ranges[next].node, ranges[next].end));
                next += 1;
            }
            // A range that ended while a later one covered it is dropped only now.
            while self.active.peek().is_some_and(|&(_, end)| end <= at) {
                self.active.pop();
            }
            let start = ranges.get(next).map(|range| range.start);
            match self.active.peek() {
                Some(&(node, end)) => {
                    emit(segments, at, node);
                    at = start.map_or(end, |start| start.min(end));
                }
                None => {
                    emit(segments, at, 0);
                    match start {
                        Some(start) => at = start,
                        None => return,
                    }
                }
            }
        }
    }
}

fn emit(segments: &mut Vec<Segment>, start: u64, node: u32) {
    match segments.last_mut() {
        Some(last) if last.start == start => last.node = node,
        Some(last) if last.node == node => {}
        None if node == 0 => {}
        _ => segments.push(Segment { start, node }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn naive(ranges: &[PaintRange], address: u64) -> u32 {
        ranges.iter().filter(|r| r.start <= address && address < r.end).map(|r| r.node).max().unwrap_or(0)
    }

    fn node_at(segments: &[Segment], address: u64) -> u32 {
        segments.iter().take_while(|s| s.start <= address).last().map_or(0, |s| s.node)
    }

    proptest::proptest! {
        /// Whatever the ranges, each address belongs to the highest node that covers it.
        #[test]
        fn painting_equals_the_highest_node(
            given in proptest::collection::vec((0u64..60, 1u64..30, 1u32..40), 0..24)
        ) {
            let mut ranges: Vec<PaintRange> =
                given.iter().map(|&(start, len, node)| PaintRange { start, node, end: start + len }).collect();
            let expected: Vec<u32> = (0..100).map(|address| naive(&ranges, address)).collect();
            let mut segments = Vec::new();
            Painter::default().paint(&mut ranges, &mut segments);
            let found: Vec<u32> = (0..100).map(|address| node_at(&segments, address)).collect();
            proptest::prop_assert_eq!(found, expected);
            proptest::prop_assert!(segments.windows(2).all(|w| w[0].start < w[1].start));
        }
    }
}
