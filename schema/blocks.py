"""Basic blocks (section 9): every block of a file, and the rules that they keep."""

import collections
import struct

from parts import TAIL, Starts, fields, need, pad_to_byte

FLAGS = ("HasReturn", "HasTailCall", "IsEHPad", "CanFallThrough", "HasIndirectBranch")
NAMES = ("BLOCKS", "BLOCK_STARTS", "BLOCK_RANGES")
Block = collections.namedtuple("Block", "start size id flags range")


class Blocks:
    """The three sections, read whole."""

    def __init__(self, file):
        there = [name for name in NAMES if name in file.sections]
        need(len(there) in (0, 3), f"of the sections of basic blocks only {', '.join(there)}")
        self.blocks, self.spans, self.ranges = [], [], file.table("BLOCK_RANGES")
        if not there:
            return
        data = file.sections["BLOCKS"]
        need(len(data) >= 12 + TAIL, f"{len(data)} bytes are too few")
        count, kinds, kind_bits = struct.unpack_from("<3I", data)
        groups = (count + 63) // 64
        at = 12 + 4 * groups
        need(count > 0 and kind_bits <= 56 and at + TAIL <= len(data), f"{count} blocks, kinds of {kind_bits} bits")
        places = struct.unpack_from(f"<{groups}I", data, 12)
        words, bit = fields(data, 8 * at, kind_bits, kinds)
        begin, at = at, pad_to_byte(data, bit)
        self.kinds = [(word & 255, word >> 8) for word in words]
        need(kinds > 0 and len(set(self.kinds)) == kinds and all(flags < 32 for flags, _ in self.kinds), "kinds")
        self.spans.append((0, begin, [f"{count} blocks, {kinds} kinds of {kind_bits} bits, {groups} groups"]))
        self.spans.append((begin, at, [f"kind {i}: flags {f}, gap {g}" for i, (f, g) in enumerate(self.kinds)]))
        starts = Starts(file.sections["BLOCK_STARTS"])
        need(starts.count == count, f"{starts.count} starts of {count} blocks")
        ends, first, begun = [*starts.starts[1:], starts.end], at, -1
        for number, place in enumerate(places):
            need(first + place == at, f"group {number} at {first + place} instead of {at}")
            cells, end = self.group(data, at, min(64, count - 64 * number))
            lines = []
            for i, (ident, range_, (flags, gap)) in enumerate(cells, 64 * number):
                start, span = starts.starts[i], ends[i] - starts.starts[i]
                need(gap <= span, f"block {i}: gap {gap} of {span} bytes")
                need(begun <= range_ <= begun + 1, f"block {i}: range {range_} behind {begun}")
                begun = range_
                self.blocks.append(Block(file.header["image_base"] + start, span - gap, ident, flags, range_))
                lines.append(f"{i}: start {start:#x}, id {ident}, range {range_}, flags {flags}, gap {gap}")
            self.spans.append((at, end, lines))
            at = end
        need(cells[-1][2][1] == 0, "the last block has a gap")
        need(data[at:] == bytes(TAIL), "the tail is not 8 bytes of 0")
        self.spans.append((at, len(data), ["tail"]))
        need(begun < len(self.ranges), f"{begun + 1} ranges of {len(self.ranges)}")
        self.check_ranges(count, begun + 1)

    def group(self, data, at, n):
        need(at + 20 <= len(data), f"group at {at} exceeds the section")
        id_base, range_base, *widths, zero, stored = struct.unpack_from("<2I4BQ", data, at)
        need(zero == 0 and max(widths[0], widths[2]) <= 32 and widths[1] <= 6, f"group at {at}: widths")
        need(stored & 1 and stored < 1 << n, f"group at {at}: bits")
        bit, cells = 8 * (at + 20), []
        for i in range(n):
            if stored >> i & 1:
                record = []
                for width in widths:
                    (value,), bit = fields(data, bit, width, 1)
                    record.append(value)
                ident, range_, kind = id_base + record[0], range_base + record[1], record[2]
            else:
                ident, kind = ident + 1, 0
            need(kind < len(self.kinds) and ident < 1 << 32, f"group at {at}: kind {kind}, id {ident}")
            cells.append((ident, range_, self.kinds[kind]))
        return cells, pad_to_byte(data, bit)

    def check_ranges(self, count, own):
        for i, r in enumerate(self.ranges):
            if i >= own:
                need(r.first == count and 0 < r.shared <= count, f"range {i}: shared {r.shared}")
                need(0 <= r.id < 1 << 32 and 0 <= r.flags < 32, f"range {i}: id {r.id}, flags {r.flags}")
                continue
            end = self.ranges[i + 1].first if i + 1 < len(self.ranges) else count
            need(r.first < end and r.shared == r.id == r.flags == 0, f"range {i} has no block")
            need(all(block.range == i for block in self.blocks[r.first:end]), f"range {i}: its blocks")
        seen = []
        for entry, r in enumerate(self.ranges):
            if r.entry == 0:
                seen.append(entry)
                while r.next:
                    need(len(seen) < len(self.ranges), f"range {seen[-1]}: more ranges than there are")
                    seen.append(r.next - 1)
                    r = self.ranges[r.next - 1]
                    need(r.entry == entry + 1, f"range {seen[-1]} is not of the function of range {entry}")
        need(sorted(seen) == list(range(len(self.ranges))), "ranges that no function begins with or leads to")

    def all(self):
        """Every block, by address, as JSON has it."""
        for block in self.blocks:
            entry = self.ranges[block.range].entry
            begin = self.ranges[entry - 1 if entry else block.range]
            first = self.blocks[begin.shared - 1 if begin.shared else begin.first]
            yield {"Id": block.id, "Start": hex(block.start), "Size": block.size,
                   "Flags": [name for i, name in enumerate(FLAGS) if block.flags >> i & 1],
                   "FunctionStart": hex(first.start)}
