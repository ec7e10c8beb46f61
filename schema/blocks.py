"""Basic blocks (section 9): every block of a file, and the rules that they keep."""

import collections
import struct

from parts import TAIL, Starts, fields, need, pad_to_byte

FLAGS = ("HasReturn", "HasTailCall", "IsEHPad", "CanFallThrough", "HasIndirectBranch")
NAMES = ("BLOCKS", "BLOCK_STARTS", "BLOCK_GROUPS", "BLOCK_RANGES")
Block = collections.namedtuple("Block", "start size id flags range")


class Blocks:
    """The four sections, read whole."""

    def __init__(self, file):
        there = [name for name in NAMES if name in file.sections]
        need(len(there) in (0, 4), f"of the sections of basic blocks only {', '.join(there)}")
        self.blocks, self.spans, self.ranges = [], [], file.table("BLOCK_RANGES")
        if not there:
            return
        data = file.sections["BLOCKS"]
        need(len(data) >= 8 + TAIL, f"{len(data)} bytes are too few")
        count, kinds = struct.unpack_from("<II", data)
        at = 8 + 8 * kinds
        need(count > 0 and at + TAIL <= len(data), f"{count} blocks, {kinds} kinds")
        self.kinds = [(word & 255, word >> 8) for word, in struct.iter_unpack("<Q", data[8:at])]
        need(len(set(self.kinds)) == kinds and all(flags < 32 for flags, _ in self.kinds), "kinds")
        self.spans.append((0, at, [f"{count} blocks"] + [f"kind {i}: flags {f}, gap {g}"
                                                         for i, (f, g) in enumerate(self.kinds)]))
        groups = file.table("BLOCK_GROUPS")
        need(len(groups) == (count + 31) // 32, f"{len(groups)} groups of {count} blocks")
        starts = Starts(file.sections["BLOCK_STARTS"])
        need(starts.count == len(groups), f"{starts.count} starts of {len(groups)} groups")
        begun = 0
        for number, group in enumerate(groups):
            need(group.place == at, f"group {number} at {group.place} instead of {at}")
            n = min(32, count - 32 * number)
            cells, firsts, end = self.group(data, at, n)
            need(group.range == begun - (1 - (firsts & 1)), f"group {number}: range {group.range}")
            start, lines = starts.starts[number], []
            for i, (span, ident, (flags, gap)) in enumerate(cells):
                begun += firsts >> i & 1
                need(gap <= span, f"group {number}: gap {gap} of {span} bytes")
                self.blocks.append(Block(file.header["image_base"] + start, span - gap, ident, flags, begun - 1))
                lines.append(f"{32 * number + i}: start {start:#x}, span {span}, id {ident}, flags {flags}, gap {gap}")
                start += span
            following = starts.starts[number + 1] if number + 1 < len(groups) else starts.end
            need(start == following, f"group {number} ends at {start:#x} instead of {following:#x}")
            need(number + 1 < len(groups) or cells[-1][2][1] == 0, "the last block has a gap")
            self.spans.append((at, end, lines))
            at = end
        need(data[at:] == bytes(TAIL), "the tail is not 8 bytes of 0")
        self.spans.append((at, len(data), ["tail"]))
        need(begun == len(self.ranges), f"{begun} ranges of {len(self.ranges)}")
        self.check_ranges(count)

    def group(self, data, at, n):
        need(at + 20 <= len(data), f"group at {at} exceeds the section")
        *widths, zero, base, changes, others, firsts = struct.unpack_from("<4B4I", data, at)
        need(zero == 0 and max(widths) <= 56, f"group at {at}: widths")
        need(changes & 1 and max(changes, others, firsts) < 1 << n, f"group at {at}: bits")
        spans, bit = fields(data, 8 * (at + 20), widths[0], n)
        stored, bit = fields(data, bit, widths[1], bin(changes).count("1"))
        kinds, bit = fields(data, bit, widths[2], bin(others).count("1"))
        stored, kinds, ident, cells = iter(stored), iter(kinds), 0, []
        for i in range(n):
            ident = base + next(stored) if changes >> i & 1 else ident + 1
            kind = next(kinds) if others >> i & 1 else 0
            need(kind < len(self.kinds) and ident < 1 << 32, f"group at {at}: kind {kind}, id {ident}")
            cells.append((spans[i], ident, self.kinds[kind]))
        return cells, firsts, pad_to_byte(data, bit)

    def check_ranges(self, count):
        for i, r in enumerate(self.ranges):
            end = self.ranges[i + 1].first if i + 1 < len(self.ranges) else count
            need(r.first < end, f"range {i} has no block")
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
            first = self.blocks[self.ranges[entry - 1 if entry else block.range].first]
            yield {"Id": block.id, "Start": hex(block.start), "Size": block.size,
                   "Flags": [name for i, name in enumerate(FLAGS) if block.flags >> i & 1],
                   "FunctionStart": hex(first.start)}
