"""Expressions of functions (section 10): every list and unit that a function leads to, and the rules that they keep."""

from parts import byte, need, varint

KINDS = ("Lanes", "ActiveLane", "LanePc", "Object", "FrameBase", "UnknownCalls")


class Locations:
    """LOCATIONS and LOCATED, read whole."""

    def __init__(self, file):
        there = [name for name in ("LOCATIONS", "LOCATED") if name in file.sections]
        need(len(there) in (0, 2), f"of the sections of expressions only {', '.join(there)}")
        self.base, self.rows, self.records = file.header["image_base"], [], {}
        if not there:
            return
        self.data, functions = file.sections["LOCATIONS"], len(file.table("FUNCTIONS"))
        need(self.data[:1] == b"\0", "LOCATIONS does not begin with 0")
        before = (-1, 0)
        for row in file.table("LOCATED"):
            need((row.function, row.kind) > before, f"function {row.function}, kind {row.kind}: not sorted")
            before = (row.function, row.kind)
            need(0 <= row.function < functions, f"function {row.function} of {functions}")
            need(0 <= row.kind < len(KINDS), f"function {row.function}: kind {row.kind}")
            if row.kind == 0:
                need(row.unit == 0 and 0 < row.place < 1 << 32, f"function {row.function}: {row.place} lanes")
                self.rows.append((row, row.place, None))
            elif row.kind == 5:
                need(row.unit == 0, f"function {row.function}: unit {row.unit}")
                self.rows.append((row, self.list(row.place), None))
            else:
                self.rows.append((row, self.list(row.place), self.unit(row.unit)))
        at = 1
        for begin in sorted(self.records):
            need(begin == at, f"bytes from {at} to {begin} belong to no record")
            at = self.records[begin][0]
        need(at == len(self.data), f"bytes from {at} on belong to no record")

    def list(self, at):
        """[(start, bytes, expression)]; 0 bytes: it holds wherever no other does."""
        if at in self.records:
            return self.records[at][1]
        begin, entries = at, []
        count, at = varint(self.data, at)
        for _ in range(count):
            start, at = varint(self.data, at)
            size, at = varint(self.data, at)
            length, at = varint(self.data, at)
            need(at + length <= len(self.data), f"list at {begin}: an expression leaves the section")
            entries.append((self.base + start & (1 << 64) - 1, size, self.data[at:at + length].hex()))
            at += length
        self.records[begin] = (at, entries)
        return entries

    def unit(self, at):
        """(version, offset size, codes, [(kind, key, value)])"""
        if at in self.records:
            return self.records[at][1]
        begin = at
        version, at = byte(self.data, at)
        offset_size, at = byte(self.data, at)
        codes, at = byte(self.data, at)
        need(offset_size in (4, 8) and codes in (0, 1), f"unit at {begin}: {offset_size}, {codes}")
        count, at = varint(self.data, at)
        references = []
        for _ in range(count):
            kind, at = byte(self.data, at)
            key, at = varint(self.data, at)
            value, at = varint(self.data, at)
            need(kind < 4 and (not references or references[-1][:2] < (kind, key)), f"unit at {begin}: references")
            need(kind != 2 or value < 1 << 16, f"unit at {begin}: base type {value:#x}")
            references.append((kind, key, self.list(value) if kind < 2 else value))
        self.records[begin] = (at, (version, offset_size, codes, references))
        return self.records[begin][1]

    def all(self):
        """What each function has, as JSON has it."""
        for row, value, unit in self.rows:
            yield {"Function": row.function, "Kind": KINDS[row.kind], "Value": value, "Unit": unit}
