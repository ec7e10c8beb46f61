"""Call frame information (section 11): every row of the section UNWIND, and the rules that they keep."""

import struct

from parts import TAIL, Starts, Table, byte, field, need, pad_to_byte, unzigzag, varint

MOST_SAVES = 256
KINDS = ("undefined", "same", "offset", "value_offset", "register", "expression", "value_expression")


class Unwind:
    """UNWIND, read whole; `rows` are [(start, end, rule)], `rules[number]` is None without an entry."""

    def __init__(self, file):
        self.rows, self.rules = [], []
        data = file.sections.get("UNWIND")
        if data is None:
            return
        need(len(data) >= 24, f"UNWIND has {len(data)} bytes")
        *sizes, width, group, unit_log2, reserved = struct.unpack_from("<5I4B", data)
        need(reserved == 0 and width <= 32 and 1 <= group <= 32 and unit_log2 <= 4, "the head of UNWIND")
        starts_len, runs_len, rules_len, count, saves_len = sizes
        parts, at = [], 24
        for size in (starts_len, runs_len, rules_len, saves_len):
            need(at + size <= len(data), "a part of UNWIND leaves the section")
            parts.append(data[at:at + size])
            at += size
        starts, runs = Starts(parts[0]), Table("RUNS", parts[1], "sequence place")
        rules, self.saves = Table("RULES", parts[2], "base offset saves"), parts[3]
        need(starts.count == len(runs), f"{starts.count} starts of {len(runs)} runs")
        bits = 8 * at
        need(bits + count * width <= 8 * len(data), "the sequences leave the section")
        sequences = [field(data, bits + i * width, width) for i in range(count)]
        first = bit = 8 * pad_to_byte(data, bits + count * width)
        self.records = {}
        for number, rule in enumerate(rules):
            need((rule.base == 0) == (number == 0) and (number or not any(rule)), f"rule {number}: base {rule.base}")
            self.rules.append(self.rule(rule) if number else None)
        need(self.rules, "UNWIND has no rules")
        self.cover_saves()
        base, ends = file.header["image_base"], starts.starts[1:] + [starts.end]
        for run, start, end in zip(runs, starts.starts, ends):
            need(run.place == bit - first, f"the run at {start:#x} has place {run.place}")
            left, bit, row = field(data, bit, 5), bit + 5, 0
            while True:
                to = end
                if left:
                    value = shift = 0
                    while True:
                        part, bit = field(data, bit, group + 1), bit + group + 1
                        value, shift = value | part >> 1 << shift, shift + group
                        need(shift < 128, f"a delta of the run at {start:#x}")
                        if not part & 1:
                            break
                    to = start + (value + 1 << unit_log2)
                    need(to < end, f"a row of the run before {end:#x} starts at {to:#x}")
                need(start < to, f"the row at {start:#x} is empty")
                need(0 <= run.sequence and run.sequence + row < count, f"the sequence of the row at {start:#x}")
                number = sequences[run.sequence + row]
                need(number < len(self.rules), f"rule {number} of {len(self.rules)}")
                self.rows.append((base + start, base + to, number))
                if not left:
                    break
                start, left, row = to, left - 1, row + 1
        need(data[pad_to_byte(data, bit):] == bytes(TAIL), "the tail of UNWIND")

    def expression(self, at):
        size, begin = varint(self.saves, at)
        need(begin + size <= len(self.saves), f"the expression at {at} leaves the section")
        return self.saves[begin:begin + size].hex(), begin + size

    def rule(self, rule):
        if rule.base == 2:
            text, end = self.expression(rule.offset)
            self.records[rule.offset] = end
            cfa = ["expression", text]
        else:
            cfa = ["unknown"] if rule.base == 1 else ["register", rule.base - 3, rule.offset]
        head, at = varint(self.saves, rule.saves)
        returned, at = varint(self.saves, at)
        need(head >> 1 <= MOST_SAVES, f"the record at {rule.saves} has {head >> 1} registers")
        registers, before = [], -1
        for _ in range(head >> 1):
            key, at = varint(self.saves, at)
            register, kind = key >> 3, key & 7
            need(register > before, f"the record at {rule.saves}: register {register} is not sorted")
            need(kind < len(KINDS), f"the record at {rule.saves}: kind {kind}")
            before, value = register, []
            if kind >= 5:
                text, at = self.expression(at)
                value = [text]
            elif kind >= 2:
                number, at = varint(self.saves, at)
                value = [number if kind == 4 else unzigzag(number)]
            registers.append([register, KINDS[kind], *value])
        self.records[rule.saves] = at
        return {"cfa": cfa, "return": returned, "signal": bool(head & 1), "registers": registers}

    def cover_saves(self):
        at = 0
        for begin in sorted(self.records):
            need(begin == at, f"bytes of saves from {at} to {begin} belong to no record")
            at = self.records[begin]
        need(at == len(self.saves), f"bytes of saves from {at} on belong to no record")

    def all(self):
        """Every row with an entry."""
        for start, end, number in self.rows:
            if number:
                yield {"start": hex(start), "end": hex(end), **self.rules[number]}
