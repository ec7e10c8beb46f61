//! Paints address ranges over each other: if several cover an address, the one with the highest node wins.
//!
//! The nodes of an inline tree are in the order of their DIEs: a later DIE that covers the same code is the inner one. The
//! pieces of a program are in the order of how far they are trusted. The result is a list of segments with one node each;
//! adjacent segments have different nodes.
//!
//! In nearly all trees the ranges nest: a range that begins inside another ends inside it. The ranges that are open at an
//! address then form a stack. If ranges do not nest, a heap holds the open ones. A range that ended under a higher node is
//! dropped when it comes to the top of the heap. Each range is pushed and popped once.

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

/// A range that has begun.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct OpenRange {
    node: u32,
    end: u64,
}

/// Paints ranges over each other; memory is kept between functions.
#[derive(Default)]
pub(crate) struct Painter {
    /// The innermost is last.
    nested: Vec<OpenRange>,
    active: BinaryHeap<OpenRange>,
}

impl Painter {
    /// The segments of a function, by address. Code before the first segment belongs to node 0. Takes O(n log n) time for n ranges,
    /// however they overlap.
    pub(crate) fn paint(&mut self, ranges: &mut [PaintRange], segments: &mut Vec<Segment>) {
        // Ranges come in the order of their nodes, which is mostly that of their addresses.
        // Stable: of two ranges that begin together, that of the lower node comes first and is the outer one.
        ranges.sort_by_key(|range| range.start);
        if !self.paint_nested(ranges, segments) {
            self.paint_any(ranges, segments);
        }
    }

    /// Paints ranges, which are in the order of their starts. False if one is empty, or if it begins inside another and ends outside
    /// of it or has a lower node.
    fn paint_nested(&mut self, ranges: &[PaintRange], segments: &mut Vec<Segment>) -> bool {
        segments.clear();
        let open = &mut self.nested;
        open.clear();
        for range in ranges {
            close(open, segments, range.start);
            let fits = open.last().is_none_or(|outer| outer.node <= range.node && range.end <= outer.end);
            if !fits || range.end <= range.start {
                return false;
            }
            open.push(OpenRange { node: range.node, end: range.end });
            emit(segments, range.start, range.node);
        }
        close(open, segments, u64::MAX);
        true
    }

    fn paint_any(&mut self, ranges: &[PaintRange], segments: &mut Vec<Segment>) {
        segments.clear();
        self.active.clear();
        let Some(first) = ranges.first() else { return };
        let mut at = first.start;
        let mut next = 0;
        loop {
            while next < ranges.len() && ranges[next].start <= at {
                self.active.push(OpenRange { node: ranges[next].node, end: ranges[next].end });
                next += 1;
            }
            // A range that ended under a higher node is dropped only now.
            while self.active.peek().is_some_and(|active| active.end <= at) {
                self.active.pop();
            }
            // Each turn moves `at` on: ranges that begin at or before it were pushed, and the range on top ends after it.
            let start = ranges.get(next).map(|range| range.start);
            match self.active.peek() {
                Some(&OpenRange { node, end }) => {
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

/// Closes the ranges that end at or before `start`. The next range begins there, so this does not paint `start` itself.
fn close(open: &mut Vec<OpenRange>, segments: &mut Vec<Segment>, start: u64) {
    while let Some(&OpenRange { end, .. }) = open.last()
        && end <= start
    {
        open.pop();
        if end < start && open.last().is_none_or(|outer| outer.end > end) {
            emit(segments, end, open.last().map_or(0, |outer| outer.node));
        }
    }
}

fn emit(segments: &mut Vec<Segment>, start: u64, node: u32) {
    match segments.last_mut() {
        Some(last) if last.start == start => {
            last.node = node;
            if let [.., before, last] = &segments[..]
                && before.node == last.node
            {
                segments.pop();
            }
        }
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
            proptest::prop_assert!(segments.windows(2).all(|w| w[0].node != w[1].node));
        }

        /// If the stack does not refuse the ranges, it gives the same segments as the heap.
        #[test]
        fn a_stack_equals_a_heap(
            given in proptest::collection::vec((0u64..12, 1u64..12, 1u32..6), 0..8)
        ) {
            let mut ranges: Vec<PaintRange> =
                given.iter().map(|&(start, len, node)| PaintRange { start, node, end: start + len }).collect();
            ranges.sort_by_key(|range| (range.start, range.node));
            let (mut by_stack, mut by_heap) = (Vec::new(), Vec::new());
            let mut painter = Painter::default();
            if painter.paint_nested(&ranges, &mut by_stack) {
                painter.paint_any(&ranges, &mut by_heap);
                proptest::prop_assert_eq!(by_stack, by_heap);
            }
        }
    }
}
