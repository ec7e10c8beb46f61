#!/usr/bin/env python3
"""An independent reader of `.fsym` files, written from README.md and names.md of this folder.

    reader.py FILE --check              everything that must hold; prints each breach, exit code 1 if any
    reader.py FILE --dump               the whole content as JSON
    reader.py FILE --lookup ADDR...     one JSON a line for each address (hexadecimal with 0x, or decimal);
                                        without ADDR the addresses are read from standard input
    reader.py FILE --stack              the same for each line of standard input, a stack (see stacks.py)
    reader.py FILE --blocks             every basic block, one JSON a line
    reader.py FILE --locations          every function's expressions, one JSON a line
    reader.py FILE --unwind             every row of call frame information, one JSON a line
    reader.py FILE --annotate           every byte of the file with its meaning, as Markdown

An answer is {"address", "frames": [[name, file, line, column], ...]}, innermost frame first; null is a name or
file that is not known, 0 a line or column. Folded code adds "members": [{"how", "frames"}, ...], and the frames
are the first member's. Bytes of names that are not UTF-8 are lone surrogates (Python's `surrogateescape`).

Needs Python 3.9 and its standard library. `parts.py` reads what a section consists of, `stacks.py` tells which function
of a group ran, `blocks.py` reads basic blocks, `locations.py` expressions, `unwind.py` call frame information; here are the file (sections 2, 3, 7 and 8), then what is asked of it.
"""

import argparse
import bisect
import json
import os
import struct
import sys
import zlib

sys.dont_write_bytecode = True  # no `__pycache__` beside the specification

import blocks  # noqa: E402
import locations  # noqa: E402
import record  # noqa: E402
import stacks  # noqa: E402
import unwind  # noqa: E402
from parts import (TAIL, Damaged, Names, Origins, Pieces, RowRecord, ScopeRecord, Starts, Table, byte, field, need,  # noqa: E402
                   text, varint)

MAGIC = b"\x7ffsym\r\n\x1a"
HEADER = struct.Struct("<8sIIQQQHBBB3sIIII")
HEADER_FIELDS = ("magic version directory_len file_len features image_base machine address_size flags unit_log2 "
                 "reserved section_count max_depth max_group checksum").split()
HEADER_OFFSETS = (0, 8, 12, 16, 24, 32, 40, 42, 43, 44, 45, 48, 52, 56, 60, 64)
ENTRY = struct.Struct("<IIQQII")
SECTION_IDS = {
    1: "BUILD_ID", 2: "PIECES", 3: "FUNCTIONS", 4: "ORIGINS", 5: "EDGES", 6: "ROWS", 7: "SCOPES", 8: "NAMES",
    9: "FILES", 10: "GROUPS", 11: "MEMBERS", 12: "ALIASES", 13: "SECTIONS", 34: "SEGMENTS", 35: "UNWIND", 14: "NAME_INDEX", 15: "RECORD",
    16: "CALLS", 17: "BLOCKS", 18: "LOCATIONS", 19: "TAILS", 20: "STARTS", 21: "VTABLES", 22: "SLOTS",
    30: "BLOCK_STARTS", 32: "BLOCK_RANGES", 33: "LOCATED", 36: "OVERRIDERS", 38: "IMPORTS", 39: "DATA", 40: "GUESSES",
    41: "DISPATCHES", 42: "TARGETS"}
REQUIRED = (*range(2, 10), 20)
MOST_SEGMENTS = 65536
COLUMNS = {
    "PIECES": "gap pad skip owner rows name",
    "FUNCTIONS": "origin scopes flags name aliases",
    "ORIGINS": "name file line edges",
    "EDGES": "callee line file",
    "GROUPS": "first",
    "MEMBERS": "function rows how name",
    "ALIASES": "name last",
    "CALLS": "address caller callee how",
    "TAILS": "function target",
    "VTABLES": "point function slot doubtful",
    "SLOTS": "address slot",
    "OVERRIDERS": "slot function doubtful",
    "GUESSES": "address caller callee",
    "DISPATCHES": "address set how",
    "TARGETS": "set point function doubtful",
    "IMPORTS": "address name",
    "DATA": "address size name file line",
    "BLOCK_RANGES": "first entry next shared id flags",
    "LOCATED": "function kind place unit"}
HOW = ("live_range", "stmt_sequence", "relocation", "symbol", "line_sequence", "call_site", "symbol_only",
       "symbol_order")


# --- the file (sections 2, 3, 7, 8) -------------------------------------------------------------------------

class File:
    """A file whose header and directory are sound. The sections' content is read when asked for."""

    def __init__(self, data):
        need(len(data) >= HEADER.size, f"{len(data)} bytes are too few for a header")
        self.data = data
        self.header = h = dict(zip(HEADER_FIELDS, HEADER.unpack_from(data)))
        need(h["magic"] == MAGIC, "not a .fsym file")
        need(h["version"] == 3, f"version {h['version']}")
        need(h["features"] < 2, f"unknown features {h['features']:#x}")
        need(h["file_len"] == len(data), f"{len(data)} bytes instead of {h['file_len']}")
        count, self.directory_end = h["section_count"], HEADER.size + h["directory_len"]
        need(count <= 64 and 32 * count <= h["directory_len"] <= len(data) - HEADER.size,
             f"{count} sections in a directory of {h['directory_len']} bytes")
        zeroed = data[:60] + bytes(4) + data[64:self.directory_end]
        need(h["checksum"] == zlib.crc32(zeroed), "checksum of header and directory")
        need(h["address_size"] in (4, 8) and h["flags"] < 128 and h["unit_log2"] <= 4 and h["max_depth"] <= 255
             and not any(h["reserved"]), "address_size, flags, unit_log2, max_depth or reserved")
        self.columns = bool(h["features"] & 1)
        self.directory, self.sections = [], {}  # (id, name, crc, offset, len, head_len); name -> bytes
        end, last = self.directory_end, -1
        heads = HEADER.size + ENTRY.size * count
        for at in range(HEADER.size, heads, ENTRY.size):
            number, crc, offset, size, head, reserved = ENTRY.unpack_from(data, at)
            name = SECTION_IDS.get(number, str(number))
            need(number > last and reserved == 0, f"directory entry {name}: id or reserved")
            need(offset % 8 == 0 and end <= offset <= len(data) and size <= len(data) - offset,
                 f"directory entry {name}: {size} bytes at {offset}")
            need(offset - end < 8 and not any(data[end:offset]), f"bytes before section {name}")
            need(head <= min(size, 128) and data[heads:heads + head] == data[offset:offset + head],
                 f"directory entry {name}: its head of {head} bytes at {heads}")
            heads += head
            self.directory.append((number, name, crc, offset, size, head))
            self.sections[name] = data[offset:offset + size]
            last, end = number, offset + size
        need(heads == self.directory_end, f"the heads end at {heads}, the directory at {self.directory_end}")
        need(end == len(data), f"the last section ends at {end} of {len(data)}")
        for number in REQUIRED:
            need(SECTION_IDS[number] in self.sections, f"section {SECTION_IDS[number]} is missing")
        self.tables, self.row_records, self.scope_records, self.trees = {}, {}, {}, {}

    def table(self, name):
        """A table or list of names; one that the file does not have is empty."""
        if name not in self.tables:
            if name in ("NAMES", "FILES"):
                self.tables[name] = Names(self.sections[name])
            elif name in self.sections:
                columns = COLUMNS[name] + (" column" if name == "EDGES" and self.columns else "")
                table = Origins if name == "ORIGINS" else Table
                self.tables[name] = table(name, self.sections[name], columns)
                if name == "PIECES":
                    self.tables[name] = Pieces(self.tables[name], Starts(self.sections["STARTS"]))
            else:
                self.tables[name] = ()
        return self.tables[name]

    def record(self, section, kind, known, offset):
        """The record at `offset` of ROWS or SCOPES, read once."""
        if offset not in known:
            data = self.sections[section]
            need(0 < offset < len(data) - TAIL, f"{section}: no record at {offset}")
            known[offset] = kind(data[:-TAIL] + bytes(TAIL), offset)
            need(known[offset].end <= len(data) - TAIL, f"{section}: the record at {offset} is in the tail")
        return known[offset]

    def rows(self, offset):
        """The rows of the record at `offset`, offsets in bytes; none for offset 0."""
        if offset == 0:
            return []
        record = self.record("ROWS", RowRecord, self.row_records, offset)
        return [row._replace(offset=row.offset << self.header["unit_log2"]) for row in record.rows]

    def scopes(self, function):
        """(parent, edge as an index of EDGES, origin) of each node of a function; node 0 has no parent, no edge."""
        nodes = self.trees.setdefault((function.origin, function.scopes), [(None, None, function.origin)])
        if function.scopes and len(nodes) == 1:
            for parent, edge in self.record("SCOPES", ScopeRecord, self.scope_records, function.scopes).nodes:
                begin, end = self.edges_of(nodes[parent][2])
                need(edge < end - begin, f"edge {edge} of the {end - begin} of origin {nodes[parent][2]}")
                nodes.append((parent, begin + edge, self.table("EDGES")[begin + edge].callee))
        return nodes

    def run(self, table, index, column, of):
        """Where the records of `of` begin and end that belong to record `index` of `table`."""
        table, of = self.table(table), self.table(of)
        begin = getattr(table[index], column)
        end = getattr(table[index + 1], column) if index + 1 < len(table) else len(of)
        need(0 <= begin <= end <= len(of), f"{column} of record {index}: {begin}..{end} of {len(of)}")
        return begin, end

    def edges_of(self, origin):
        return self.run("ORIGINS", origin, "edges", "EDGES")

    def members_of(self, group):
        begin, end = self.run("GROUPS", group, "first", "MEMBERS")
        return [self.table("MEMBERS")[i] for i in range(begin, end)]

    def aliases_of(self, function):
        """The names of a function's aliases, as numbers."""
        out, at = [], function.aliases - 1
        while at >= 0:
            alias = self.table("ALIASES")[at]
            out.append(alias.name)
            at = -1 if alias.last else at + 1
        return out

    def name_of(self, function, piece_name=0):
        """The number of the name of a function's outermost frame."""
        own = self.table("ORIGINS")[function.origin].name + function.name
        return piece_name - 1 if piece_name else own

    def program_sections(self):
        """(address, size, flags, name) of each."""
        data, out = self.sections.get("SECTIONS", b"\0"), []
        count, at = varint(data, 0)
        for _ in range(count):
            address, at = varint(data, at)
            size, at = varint(data, at)
            flags, at = byte(data, at)
            length, at = varint(data, at)
            need(flags < 2 and length <= len(data) - at, "SECTIONS: flags or name")
            out.append((self.header["image_base"] + address, size, flags, text(data[at:at + length])))
            at += length
        need(at == len(data), f"SECTIONS: {len(data) - at} bytes too many")
        return out

    def segments(self):
        """(program may be loaded anywhere, [(address, size, file offset, file size, flags)]); None without the section."""
        if "SEGMENTS" not in self.sections:
            return None
        data, out = self.sections["SEGMENTS"], []
        anywhere, at = byte(data, 0)
        need(anywhere < 2, "SEGMENTS: flags")
        count, at = varint(data, at)
        need(count <= MOST_SEGMENTS, f"SEGMENTS: {count} segments")
        for _ in range(count):
            values = []
            for _ in range(4):
                value, at = varint(data, at)
                values.append(value)
            flags, at = byte(data, at)
            need(flags < 2, "SEGMENTS: flags of a segment")
            out.append(((self.header["image_base"] + values[0]) % 2**64, *values[1:], flags))
        need(at == len(data), f"SEGMENTS: {len(data) - at} bytes too many")
        return bool(anywhere), out

    def name_index(self):
        """(bytes of the map, lists of functions)."""
        data = self.sections["NAME_INDEX"]
        size, at, lists = field(data, 0, 64), 8, []
        need(size <= len(data) - 8, "NAME_INDEX: the map exceeds the section")
        at += size
        while at < len(data):
            count, at = varint(data, at)
            need(count <= len(data), f"NAME_INDEX: a list of {count}")
            lists.append([])
            for _ in range(count):
                function, at = varint(data, at)
                need(function < len(self.table("FUNCTIONS")), f"NAME_INDEX: function {function}")
                lists[-1].append(function)
        return size, lists

    # Answers.

    def name(self, number):
        return text(self.table("NAMES")[number])

    def path(self, number):
        return None if number is None else text(self.table("FILES")[number])

    def origin_file(self, origin):
        code = self.table("ORIGINS")[origin].file
        return code - 1 if code else None

    def frame(self, origin, code, line, column):
        """A frame of an origin; `code` is a file code, `line` relative to the declaration or None."""
        number = self.origin_file(origin) if code == 0 else None if code == 1 else code - 2
        record = self.table("ORIGINS")[origin]
        line = 0 if line is None else record.line + line
        need(0 <= line < 1 << 32, f"origin {origin}: line {line}")
        return [self.name(record.name) or None, self.path(number), line, column]

    def frames(self, function, row, name=0):
        """The frames of a row of a function, innermost first. Without a row: the function's name alone."""
        last = self.name(self.name_of(function, name)) or None
        if row is None:
            return [[last, None, 0, 0]]
        nodes = self.scopes(function)
        need(row.scope < len(nodes), f"scope {row.scope} of {len(nodes)}")
        parent, edge, origin = nodes[row.scope]
        out = [self.frame(origin, row.file, row.line, row.column)]
        while edge is not None:
            call = self.table("EDGES")[edge]
            parent, edge, origin = nodes[parent]
            out.append(self.frame(origin, call.file, call.line, getattr(call, "column", 0)))
        out[-1][0] = last
        return out

    def lookup(self, address):
        """The piece at a link-time address and its answers, as (how, frames); (None, []) where none is."""
        offset, pieces = address - self.header["image_base"], self.table("PIECES")
        low, high = 0, len(pieces)
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if pieces[middle].start <= offset else (low, middle)
        piece = pieces[low - 1] if low else None
        if piece is None or offset >= piece.start + piece.body + piece.pad:
            return None, []
        offset, answers = offset - piece.start, []
        for how, function, rows, name in self.owners(piece):
            rows = self.rows(rows)
            at = bisect.bisect_right([row.offset for row in rows], offset)
            frames = self.frames(function, rows[at - 1] if at else None, name)
            if offset >= piece.body:
                frames = [[None] + frames[0][1:]]
            answers.append((how, frames))
        return piece, answers

    def owners(self, piece):
        """(how, function, rows, name) of the functions that a piece belongs to."""
        functions = self.table("FUNCTIONS")
        if piece.owner & 1:
            members = self.members_of(piece.owner >> 1)
            return [(m.how, functions[m.function], m.rows, m.name) for m in members]
        return [(0, functions[piece.owner >> 1], piece.rows, piece.name)]


# --- what is asked: check -----------------------------------------------------------------------------------

class Check:
    """Every `check_...` raises `Damaged` at the first breach of its own; `breaches` collects one of each."""

    def __init__(self, file):
        self.file = file

    def breaches(self):
        out = [f"{name}: checksum" for _, name, crc, *_ in self.file.directory
               if crc != zlib.crc32(self.file.sections[name])]
        for name in list(COLUMNS) + ["NAMES", "FILES"]:
            try:
                setattr(self, name.lower(), self.file.table(name))
            except Damaged as damage:
                out.append(f"{name}: {damage}")
        if out:
            return out
        for name in [name for name in dir(self) if name.startswith("check_")]:
            try:
                getattr(self, name)()
            except Damaged as damage:
                out.append(f"{name[6:].upper()}: {damage}")
        return out

    def check_names(self):
        self.names.check()
        empty = len(self.names) > 0 and not self.names[0]
        need(empty == bool(self.file.header["flags"] & 16), "flags: whether the first name is empty")

    def check_files(self):
        self.files.check()

    def name_or_0(self, code):
        need(0 <= code <= len(self.names), f"name {code - 1} of {len(self.names)}")

    def check_pieces(self):
        table, end, groups = self.pieces, 0, set()
        for i, piece in enumerate(table):
            need(min(piece) >= 0 and min(table.table[i]) >= 0, f"piece {i}: a negative value")
            need(piece.start >= end and piece.body + piece.pad > 0, f"piece {i} begins before {end} or is empty")
            end, owner = piece.start + piece.body + piece.pad, piece.owner >> 1
            need(owner < len(self.groups if piece.owner & 1 else self.functions), f"piece {i}: owner {piece.owner}")
            self.name_or_0(piece.name)
            if piece.owner & 1:
                need(piece.rows == 0 and owner not in groups, f"piece {i}: rows or a second piece of group {owner}")
                groups.add(owner)
        need(len(groups) == len(self.groups), "a group without a piece")

    def check_functions(self):
        starts = {}
        for piece in self.pieces:
            if not piece.owner & 1:
                starts.setdefault(piece.owner >> 1, piece.start)
        order = [starts.get(i, 1 << 64) for i in range(len(self.functions))]
        need(order == sorted(order), "functions are not sorted by their first piece")
        of_members = {member.function for member in self.members}
        for i, function in enumerate(self.functions):
            need(min(function._replace(name=0)) >= 0 and function.flags >> 1 < len(stacks.REASONS),
                 f"function {i}: a negative value or unknown flags")
            need(function.origin < len(self.origins), f"function {i}: origin {function.origin}")
            need(function.aliases <= len(self.aliases), f"function {i}: alias {function.aliases - 1}")
            need(i in starts or i in of_members, f"function {i} has no code")
            need(0 <= self.file.name_of(function) < len(self.names), f"function {i}: name {function.name}")

    def check_origins(self):
        before = (-1,)
        for i, origin in enumerate(self.origins):
            need(min(origin) >= 0 and origin.line < 1 << 32, f"origin {i}: a value out of range")
            need(origin.name < len(self.names) and origin.file <= len(self.files), f"origin {i}: name or file")
            need(before < origin[:3], f"origin {i} is not after the one before it")
            before = origin[:3]
            self.file.edges_of(i)
        need(not self.origins or self.origins[0].edges == 0, "the first origin's edges do not begin at 0")

    def check_edges(self):
        for i, origin in enumerate(self.origins):
            before = ()
            for edge in (self.edges[e] for e in range(*self.file.edges_of(i))):
                key = edge.line, edge.file, getattr(edge, "column", 0), edge.callee
                need(before < key, f"origin {i}: edges are not sorted")
                need(0 <= edge.callee < len(self.origins), f"origin {i}: callee {edge.callee}")
                need(0 <= edge.file < len(self.files) + 2 and key[2] >= 0, f"origin {i}: file or column of an edge")
                need(0 <= edge.line + origin.line < 1 << 32, f"origin {i}: line of an edge")
                before = key

    def check_groups(self):
        largest, first = 0, 0
        for i in range(len(self.groups)):
            begin, end = self.file.run("GROUPS", i, "first", "MEMBERS")
            need(begin == first and end > begin, f"group {i} has members {begin}..{end}")
            largest, first = max(largest, end - begin), end
        need(first == len(self.members), "members without a group")
        need(largest == self.file.header["max_group"], f"the largest group has {largest} members")

    def check_members(self):
        for member in self.members:
            need(0 <= member.function < len(self.functions) and 0 <= member.how < len(HOW), f"{member}")
            self.name_or_0(member.name)
        for group in range(len(self.groups)):
            members = self.file.members_of(group)[1:]
            names = [self.file.name_of(self.functions[m.function], m.name) for m in members]
            by_name = sorted(names, key=lambda name: (not self.file.table("NAMES")[name], name))
            need(names == by_name, f"group {group}: members are not sorted")

    def check_aliases(self):
        used = 0
        for function in sorted((f for f in self.functions if f.aliases), key=lambda f: f.aliases):
            need(function.aliases - 1 == used, f"aliases {used} are nobody's or shared")
            names = self.file.aliases_of(function)
            need(names == sorted(set(names)) and names[-1] < len(self.names), f"names of alias {used}")
            used += len(names)
        need(used == len(self.aliases) and all(a.last in (0, 1) for a in self.aliases), "aliases of no function")

    def tiles(self, section, records):
        """The records are all of the section but its first byte and its tail."""
        data, at = self.file.sections[section], 1
        need(len(data) > TAIL and data[0] == 0 and data[-TAIL:] == bytes(TAIL), "first byte or tail is not 0")
        for record in sorted(records, key=lambda record: record.begin):
            need(record.begin == at, f"record at {record.begin} instead of {at}")
            at = record.end
        need(at == len(data) - TAIL, f"{len(data) - TAIL - at} bytes without a record")

    def check_scopes(self):
        for function in self.functions:
            self.file.scopes(function)
        records = self.file.scope_records.values()
        self.tiles("SCOPES", records)
        deepest = max([max(record.depths()) for record in records], default=0)
        need(deepest == self.file.header["max_depth"], f"the deepest scope has depth {deepest}")

    def check_rows(self):
        unique = {}
        for i, piece in enumerate(self.pieces):
            for _, function, rows, _ in self.file.owners(piece):
                unique.setdefault((function, rows), []).append(i)
        for (function, offset), of in unique.items():
            rows, nodes = self.file.rows(offset), self.file.scopes(function)
            shortest = min(self.pieces[i].body + self.pieces[i].pad for i in of)
            need(not rows or rows[-1].offset < shortest, f"record {offset}: a row behind piece {of[0]}")
            for row in rows:
                need(row.scope < len(nodes), f"record {offset}: scope {row.scope} of {len(nodes)}")
                need(row.file < len(self.files) + 2, f"record {offset}: file code {row.file}")
                need(self.file.columns or row.column == 0, f"record {offset}: a column")
                line = 0 if row.line is None else row.line + self.origins[nodes[row.scope][2]].line
                need(0 <= line < 1 << 32, f"record {offset}: line {line}")
        self.tiles("ROWS", self.file.row_records.values())
        blocks = {b.begin: b for record in self.file.row_records.values() for b in record.blocks}
        for at, block in blocks.items():
            need(self.file.columns or not block.columns, f"block at {at} has columns, the file has none")
            if block.shared:
                other = blocks.get(at - block.back)
                need(other and not other.shared and other.count == block.count, f"block at {at}: bad `back`")
            else:
                need(block.low_width == block.best_low_width(), f"block at {at}: low_width {block.low_width}")

    def check_sections(self):
        self.file.program_sections()
        self.file.segments()

    def check_calls(self):
        stacks.check_calls(self.file)

    def check_tails(self):
        stacks.check_tails(self.file)

    def check_blocks(self):
        found = blocks.Blocks(self.file).blocks
        for a, b in zip(found, found[1:]):
            need(a.start + a.size <= b.start, f"block at {b.start:#x} begins before {a.start + a.size:#x}")

    def check_vtables(self):
        stacks.check_vtables(self.file)

    def check_slots(self):
        stacks.check_slots(self.file)

    def check_overriders(self):
        stacks.check_overriders(self.file)

    def check_dispatches(self):
        stacks.check_dispatches(self.file)

    def check_targets(self):
        stacks.check_targets(self.file)

    def check_guesses(self):
        stacks.check_guesses(self.file)

    def check_imports(self):
        before, names = -1, len(self.names)
        for i, call in enumerate(self.file.table("IMPORTS")):
            need(before < call.address, f"import {i} is not after the one before it")
            need(0 <= call.name < names, f"import {i}: name")
            before = call.address

    def check_data(self):
        before, names, files = -1, len(self.names), len(self.files)
        for i, variable in enumerate(self.file.table("DATA")):
            need(before < variable.address, f"variable {i} is not after the one before it")
            need(0 <= variable.size and 0 <= variable.name < names, f"variable {i}: size or name")
            need(0 <= variable.file <= files and 0 <= variable.line < 1 << 32, f"variable {i}: file or line")
            before = variable.address

    def check_locations(self):
        locations.Locations(self.file)

    def check_unwind(self):
        unwind.Unwind(self.file)

    def check_name_index(self):
        if "NAME_INDEX" in self.file.sections:
            self.file.name_index()


# --- what is asked: dump ------------------------------------------------------------------------------------

def record_of(file):
    """The section RECORD, decoded where this Python has a zstd decoder."""
    data = file.sections.get("RECORD")
    if data is None:
        return None
    try:
        from compression.zstd import decompress
    except ImportError:
        return f"{len(data)} bytes"
    return record.decode(decompress(data))


def dump(file):
    """The content as plain data."""
    base = file.header["image_base"]
    tables = {name: [record._asdict() for record in file.table(name)] for name in COLUMNS}
    for piece, out in zip(file.table("PIECES"), tables["PIECES"]):
        out["start"] += base
        out["owners"] = [{"how": HOW[how], "name": file.name(file.name_of(function, name)), "rows": [
            [base + piece.start + row.offset, *row[1:]] for row in file.rows(rows)]}
            for how, function, rows, name in file.owners(piece)]
    for function, out in zip(file.table("FUNCTIONS"), tables["FUNCTIONS"]):
        out["scopes"] = [list(node) for node in file.scopes(function)]
        out["aliases"] = [file.name(number) for number in file.aliases_of(function)]
    header = {k: v for k, v in file.header.items() if k not in ("magic", "reserved")}
    return {
        "header": header,
        "directory": [dict(zip(("id", "name", "checksum", "offset", "len", "head_len"), entry))
                      for entry in file.directory],
        "counts": {name: len(file.table(name)) for name in [*COLUMNS, "NAMES", "FILES"]},
        "build_id": file.sections.get("BUILD_ID", b"").hex(),
        **{name.lower(): records for name, records in tables.items()},
        "names": [text(name) for name in file.table("NAMES")],
        "files": [text(name) for name in file.table("FILES")],
        "program_sections": file.program_sections(),
        "segments": file.segments(),
        "name_index": dict(zip(("map_len", "lists"), file.name_index())) if "NAME_INDEX" in file.sections else None,
        "record": record_of(file),
    }


# --- what is asked: annotate --------------------------------------------------------------------------------

def spans_of(file, name):
    """The spans of a section."""
    data = file.sections[name]
    if name in COLUMNS or name in ("NAMES", "FILES"):
        yield from file.table(name).spans()
    elif name == "STARTS":
        yield from file.table("PIECES").starts.spans()
    elif name in ("ROWS", "SCOPES"):
        yield 0, 1, ["no record"]
        known = file.row_records if name == "ROWS" else file.scope_records
        for offset in sorted(known):
            yield from known[offset].spans()
        yield len(data) - TAIL, len(data), ["tail"]
    elif name == "BLOCK_STARTS":
        yield from Starts(data).spans()
    elif name == "BLOCKS":
        yield from blocks.Blocks(file).spans
    elif name == "SECTIONS":
        yield 0, len(data), ["address, size, flags, name"] + [
            f"{address:#x} {size:#x} {flags} {name}" for address, size, flags, name in file.program_sections()]
    elif name == "SEGMENTS":
        anywhere, segments = file.segments()
        yield 0, len(data), [f"may be loaded anywhere: {anywhere}; address, size, file offset, file size, flags"] + [
            f"{address:#x} {size:#x} {offset:#x} {file_size:#x} {flags}"
            for address, size, offset, file_size, flags in segments]
    elif name == "NAME_INDEX":
        size, lists = file.name_index()
        yield 0, 8, [f"the map has {size} bytes"]
        yield 8, 8 + size, ["map"]
        yield 8 + size, len(data), [f"lists {lists}"]
    else:
        yield 0, len(data), ["a zstd frame"] if name == "RECORD" else [""]


def annotate(file, title):
    """Lines of Markdown: a listing for the header and for each section."""
    Check(file).breaches()  # reads all records
    data, at = file.data, 0
    yield f"# {title}"

    def shown(value):
        return value.hex(" ") if isinstance(value, bytes) else value if value < 1 << 16 else hex(value)

    def listing(title, base, spans):
        nonlocal at
        yield from ("", f"## {title}", "", "```text")
        for begin, end, lines in spans:
            need(base + begin == at, f"{title}: bytes from {at} to {base + begin} have no meaning")
            at = base + end
            rows = [data[i:min(i + 16, at)].hex(" ") for i in range(base + begin, at, 16)]
            for i in range(max(len(rows), len(lines)) if rows else 0):
                here = f"{base + begin + 16 * i:04x}" if i < len(rows) else ""
                row, line = rows[i] if i < len(rows) else "", lines[i] if i < len(lines) else ""
                yield f"{here:4}  {row:47}  {line}".rstrip()
        yield "```"

    fields = zip(HEADER_FIELDS, HEADER_OFFSETS, HEADER_OFFSETS[1:])
    yield from listing("Header", 0, ((a, b, [f"{n} {shown(file.header[n])}"]) for n, a, b in fields))
    entries = ((HEADER.size + 32 * i, HEADER.size + 32 * i + 32,
                [f"{number} {name}: checksum {crc:#010x}", f"offset {offset:#x}, len {size:#x}, head_len {head:#x}"])
               for i, (number, name, crc, offset, size, head) in enumerate(file.directory))
    yield from listing("Directory", 0, entries)
    heads, begin = [], at
    for _, name, _, _, _, head in file.directory:
        if head:
            heads.append((begin, begin + head, [f"head of {name}"]))
            begin += head
    yield from listing("Heads", 0, heads)
    for _, name, _, offset, size, _ in file.directory:
        gap = [(at - offset, 0, ["between sections"])] if at < offset else []
        yield from listing(name, offset, [*gap, *spans_of(file, name)])
    need(at == len(data), f"bytes from {at} on have no meaning")


# --- the command line ---------------------------------------------------------------------------------------

def answer(file, address):
    piece, answers = file.lookup(address)
    out = {"address": hex(address), "frames": answers[0][1] if answers else []}
    if piece and piece.owner & 1:
        out["members"] = [{"how": HOW[how], "frames": frames} for how, frames in answers]
    return out


def main():
    parser = argparse.ArgumentParser(
        usage=__doc__.split("\n\n")[1], formatter_class=argparse.RawDescriptionHelpFormatter, add_help=True)
    parser.add_argument("file")
    what = parser.add_mutually_exclusive_group(required=True)
    for name in ("check", "dump", "annotate", "stack", "blocks", "locations", "unwind"):
        what.add_argument("--" + name, action="store_true")
    what.add_argument("--lookup", nargs="*", metavar="ADDR")
    arguments = parser.parse_args()
    try:
        with open(arguments.file, "rb") as opened:
            file = File(opened.read())
        if arguments.check:
            breaches = Check(file).breaches()
            for breach in breaches:
                print(f"{arguments.file}: {breach}", file=sys.stderr)
            return 1 if breaches else 0
        if arguments.dump:
            json.dump(dump(file), sys.stdout, indent=1)
            print()
        elif arguments.annotate:
            sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace", newline="\n")
            print("\n".join(annotate(file, os.path.basename(arguments.file))))
        elif arguments.locations:
            for located in locations.Locations(file).all():
                print(json.dumps(located))
        elif arguments.unwind:
            for row in unwind.Unwind(file).all():
                print(json.dumps(row))
        elif arguments.blocks:
            for block in blocks.Blocks(file).all():
                print(json.dumps(block))
        elif arguments.stack:
            resolver = stacks.Stacks(file)
            for line in sys.stdin:
                print(json.dumps(resolver.resolve(*stacks.parse(line))))
        else:
            addresses = arguments.lookup or (word for line in sys.stdin for word in line.split())
            for address in addresses:
                print(json.dumps(answer(file, int(address, 0))))
    except (Damaged, OSError) as error:
        print(f"{arguments.file}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
