"""The parts of a `.fsym` file: bits, tables (README.md, section 4), name tables (names.md), row records (5) and scope
records (6). Each is read whole from the bytes of its section, and raises `Damaged` where they break the specification.

`spans` of a part yields (begin, end, lines of text) for all of its bytes, in order.
"""

import collections
import struct
import textwrap

TAIL = 8
NAMES_TAIL = 32
RULES_DEEP = 16
NAME_MAX = 65535


class Damaged(Exception):
    """Bytes that the specification does not allow."""


def need(holds, text):
    if not holds:
        raise Damaged(text)


# --- bits ---------------------------------------------------------------------------------------------------

def field(data, bit, width):
    """The `width` bits from bit `bit` on, numbered from the least significant of byte 0."""
    end = (bit + width + 7) >> 3
    need(end <= len(data), f"bits {bit}..{bit + width} are outside of {len(data)} bytes")
    return int.from_bytes(data[bit >> 3:end], "little") >> (bit & 7) & ((1 << width) - 1)


def fields(data, bit, width, count):
    """`count` fields that follow each other, and the bit behind them."""
    return [field(data, bit + i * width, width) for i in range(count)], bit + count * width


def pad_to_byte(data, bit):
    """The byte after bit `bit`; the bits up to there must be 0."""
    need(field(data, bit, -bit % 8) == 0, f"padding at bit {bit} is not 0")
    return (bit + 7) >> 3


def byte(data, at):
    need(at < len(data), f"byte {at} is outside of {len(data)} bytes")
    return data[at], at + 1


def varint(data, at):
    value = 0
    for i in range(10):
        b, at = byte(data, at)
        value |= (b & 127) << 7 * i
        if b < 128:
            need(value < 1 << 64, f"varint before byte {at} exceeds 64 bits")
            return value, at
    raise Damaged(f"varint before byte {at} has more than 10 bytes")


def unzigzag(n):
    return n >> 1 ^ -(n & 1)


def text(name):
    return name.decode("utf-8", "surrogateescape")


# --- tables (section 4) -------------------------------------------------------------------------------------

class Table:
    """A sequence of named tuples."""

    def __init__(self, name, data, columns):
        self.name, self.data = name, data
        self.record = collections.namedtuple(name.title(), columns)
        width = len(self.record._fields)
        need(len(data) >= 8 + TAIL, f"{len(data)} bytes are too few for a table")
        self.count, k, self.block_log2, reserved = struct.unpack_from("<IBBH", data)
        need(k == width, f"{k} columns instead of {width}")
        need(self.block_log2 <= 12, f"block_log2 {self.block_log2}")
        need(reserved == 0, "reserved is not 0")
        count = (self.count + (1 << self.block_log2) - 1) >> self.block_log2
        end = 8 + 8 * (k + 2) * count
        need(end + TAIL <= len(data), "block headers exceed the section")
        self.blocks = []  # (offset, bits of a record, [(width, base)])
        for at in range(8, end, 8 * (k + 2)):
            word, widths, *bases = struct.unpack_from(f"<Q8s{k}q", data, at)
            need(not any(widths[k:]), "a width of a column that the table does not have")
            self.blocks.append((word & (1 << 48) - 1, word >> 48, list(zip(widths, bases))))
        for number, (offset, bits, lines) in enumerate(self.blocks):
            need(all(w <= 56 for w, _ in lines), "a column is wider than 56 bits")
            need(bits == sum(w for w, _ in lines), f"{bits} bits a record are not the sum of the widths")
            need(offset == end, f"records at {offset} instead of {end}")
            end = pad_to_byte(data, 8 * end + bits * self.records_in(number))
        need(data[end:] == bytes(TAIL), "the tail is not 8 bytes of 0")

    def records_in(self, block):
        return min(1 << self.block_log2, self.count - (block << self.block_log2))

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        need(0 <= index < self.count, f"{self.name} {index} of {self.count}")
        offset, bits, lines = self.blocks[index >> self.block_log2]
        i = index & (1 << self.block_log2) - 1
        bit, values = 8 * offset + i * bits, []
        for width, base in lines:
            values.append(base + field(self.data, bit, width))
            bit += width
        return self.resolved(index, self.record(*values))

    def resolved(self, index, record):
        """The values that a record means."""
        return record

    def __iter__(self):
        return (self[i] for i in range(self.count))

    def spans(self):
        yield 0, 8, [f"{self.count} records, {len(self.record._fields)} columns, "
                     f"blocks of {1 << self.block_log2}"]
        at, step = 8, 8 * (len(self.record._fields) + 2)
        for offset, bits, lines in self.blocks:
            yield at, at + 8, [f"block: records at {offset}, {bits} bits each"]
            yield at + 8, at + 16, ["  widths: " + " ".join(str(width) for width, _ in lines)]
            for i, (name, (_, base)) in enumerate(zip(self.record._fields, lines), 2):
                yield at + 8 * i, at + 8 * i + 8, [f"  {name}: base {base}"]
            at += step
        for block, (offset, bits, _) in enumerate(self.blocks):
            first = block << self.block_log2
            last = min(first + (1 << self.block_log2), self.count)
            lines = [" ".join(self.record._fields)]
            lines += [f"{i}: " + " ".join(map(str, self[i])) for i in range(first, last)]
            yield offset, offset + (bits * (last - first) + 7 >> 3), lines
        yield len(self.data) - TAIL, len(self.data), ["tail"]


class Origins(Table):
    """ORIGINS, whose columns name and edges are stored as distances from lines."""

    def resolved(self, index, record):
        return record._replace(name=record.name + index, edges=record.edges + 2 * index)


# --- names (names.md) ---------------------------------------------------------------------------------------

class Names:
    """A sequence of byte strings."""

    def __init__(self, data):
        self.data = data
        need(len(data) >= 44 + NAMES_TAIL, f"{len(data)} bytes are too few for names")
        (self.count, self.token_count, self.symbol_count, pool_len, blocks_len, self.block_log2,
         self.symbol_bits, self.index_bits) = struct.unpack_from("<5I3B", data)
        need(self.block_log2 <= 4 and self.symbol_bits <= 24 and self.index_bits <= 32,
             "block_log2, symbol_bits or index_bits is too large")
        need(data[43] == 0, "the reserved byte is not 0")
        self.block_count = (self.count + (1 << self.block_log2) - 1) >> self.block_log2
        lens = (44, 4 * self.token_count, self.symbol_count * self.symbol_bits + 7 >> 3,
                self.block_count * self.index_bits + 7 >> 3, pool_len, blocks_len, NAMES_TAIL)
        self.parts, at = [], 0
        for size in lens:
            self.parts.append((at, at + size))
            at += size
        need(at == len(data), f"the parts have {at} bytes, the section {len(data)}")
        _, tokens, self.bodies, self.index, self.pool, self.blocks, tail = (data[a:b] for a, b in self.parts)
        need(tail == bytes(NAMES_TAIL), "the tail is not 0")
        for part, used in ((self.bodies, self.symbol_count * self.symbol_bits),
                           (self.index, self.block_count * self.index_bits)):
            pad_to_byte(part, used)
        self.tokens = struct.unpack(f"<{self.token_count}I", tokens)
        self.codes, front, token = [], 0, 0  # for each length: first code, first token, codes
        for length, count in enumerate(data[23:43], 1):
            short, long = max(6 - length, 0), max(length - 6, 0)
            self.codes.append((front >> short << long, token, count << long))
            front, token = front + (count << short), token + (count << long)
            need(front <= 64, f"too many codes of {length} bits")
        self.bytes_of, self.cached = {}, (None, None)

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        need(0 <= index < self.count, f"name {index} of {self.count}")
        block = index >> self.block_log2
        if self.cached[0] != block:
            self.cached = block, self.block(block)[0]
        return self.cached[1][index & (1 << self.block_log2) - 1]

    def __iter__(self):
        return (name for block in range(self.block_count) for name in self.block(block)[0])

    def token(self, number):
        """(its bytes, how deep its rules nest)."""
        if number not in self.bytes_of:
            self.bytes_of[number] = self.expand(number, 0)
        return self.bytes_of[number]

    def expand(self, number, inside):
        if number in self.bytes_of:
            return self.bytes_of[number]
        need(number < self.token_count, f"token {number} of {self.token_count}")
        word = self.tokens[number]
        first, more = word & 0xffffff, word >> 24 & 127
        if not word >> 31:
            need(first + more + 1 <= len(self.pool), f"leaf {number} is outside of the pool")
            return self.pool[first:first + more + 1], 0
        need(inside < RULES_DEEP, f"rules nest deeper than {RULES_DEEP} at token {number}")
        need(first + more + 2 <= self.symbol_count, f"rule {number} is outside of the bodies")
        symbols, _ = fields(self.bodies, first * self.symbol_bits, self.symbol_bits, more + 2)
        parts = [self.expand(symbol, inside + 1) for symbol in symbols]
        deep = 1 + max(part[1] for part in parts)
        need(deep <= RULES_DEEP, f"rules nest deeper than {RULES_DEEP} at token {number}")
        whole = b"".join(part[0] for part in parts)
        need(len(whole) <= NAME_MAX, f"token {number} is longer than a name")
        self.bytes_of[number] = whole, deep
        return self.bytes_of[number]

    def suffix(self, bit, size):
        """The bytes of the codes in `size` bits from `bit` on, counted from the most significant."""
        end = bit + size + 7 >> 3
        need(end <= len(self.blocks), "a suffix ends outside of the blocks")
        run = int.from_bytes(self.blocks[bit >> 3:end], "big") >> -(bit + size) % 8
        out, code, length = [], 0, 0
        for at in range(size - 1, -1, -1):
            need(length < len(self.codes), "bits that are no code")
            code, length = code << 1 | run >> at & 1, length + 1
            first, token, count = self.codes[length - 1]
            if 0 <= code - first < count:
                out.append(self.token(token + code - first)[0])
                code = length = 0
        need(length == 0, "the codes of a suffix do not end where it ends")
        return b"".join(out)

    def block(self, number):
        """(its names, first byte, byte behind it)."""
        begin = field(self.index, number * self.index_bits, self.index_bits)
        bit, data = 8 * begin, self.blocks
        head = field(data, bit, 16)
        keep_bits, more_keep, size_bits, more_size = head & 31, head >> 5 & 7, head >> 8 & 31, head >> 13
        need(keep_bits <= 16, f"keep_bits {keep_bits}")
        bit += 16
        least = field(data, bit, keep_bits + more_keep)
        bit += keep_bits + more_keep
        rows = [(0, field(data, bit, size_bits + more_size))]
        bit += size_bits + more_size
        for _ in range(min(1 << self.block_log2, self.count - (number << self.block_log2)) - 1):
            rows.append((least + field(data, bit, keep_bits), field(data, bit + keep_bits, size_bits)))
            bit += keep_bits + size_bits
        bit = 8 * pad_to_byte(data, bit)
        names, name = [], b""
        for keep, size in rows:
            need(keep <= len(name), f"block {number}: keeps {keep} of {len(name)} bytes")
            name = name[:keep] + self.suffix(bit, size)
            need(len(name) <= NAME_MAX, f"block {number}: a name of {len(name)} bytes")
            names.append(name)
            bit += size
        end = bit + 7 >> 3
        need(bit % 8 == 0 or data[end - 1] & (255 >> bit % 8) == 0, f"block {number}: padding is not 0")
        return names, begin, end

    def check(self):
        at, before = 0, None
        for number in range(self.block_count):
            names, begin, end = self.block(number)
            need(begin == at, f"block {number} begins at {begin} instead of {at}")
            at = end
            for name in names:
                need(before is None or before < name, f"names are not sorted: {before!r}, {name!r}")
                before = name
        need(at == len(self.blocks), f"the blocks end at {at} of {len(self.blocks)}")
        for number in range(self.token_count):
            self.token(number)

    def spans(self):
        (_, a), tokens, bodies, index, pool, (blocks, _), tail = self.parts
        yield 0, a, [f"{self.count} names, {self.token_count} tokens, {self.symbol_count} symbols",
                     f"blocks of {1 << self.block_log2}; symbol and index bits {self.symbol_bits}, {self.index_bits}",
                     "codes of 1, 2, ... bits: " + " ".join(str(count) for _, _, count in self.codes)]
        for i, word in enumerate(self.tokens):
            kind = "rule" if word >> 31 else "leaf"
            yield tokens[0] + 4 * i, tokens[0] + 4 * i + 4, [f"token {i}, {kind}: {text(self.token(i)[0])}"]
        symbols, _ = fields(self.bodies, 0, self.symbol_bits, self.symbol_count)
        yield *bodies, ["bodies: " + " ".join(map(str, symbols))]
        starts, _ = fields(self.index, 0, self.index_bits, self.block_count)
        yield *index, ["index: " + " ".join(map(str, starts))]
        yield *pool, ["pool: " + text(self.pool)]
        for number in range(self.block_count):
            names, begin, end = self.block(number)
            first = number << self.block_log2
            yield blocks + begin, blocks + end, [f"{i}: {text(name)}" for i, name in enumerate(names, first)]
        yield *tail, ["tail"]


# --- starts and pieces (section 3) ---------------------------------------------------------------------------

class Starts:
    """Where pieces start, as a list; `end` is where the last one ends."""

    def __init__(self, data):
        need(len(data) >= 24 + TAIL, f"{len(data)} bytes are too few for starts")
        (self.count, self.low_width, self.index_width, self.bucket_width, reserved, self.end, buckets,
         self.first_bucket) = struct.unpack_from("<IBBBBQII", data)
        need(reserved == 0 and self.low_width <= 56 and self.index_width <= 32 and buckets > 0, "the head of the starts")
        need(self.bucket_width <= self.low_width <= self.bucket_width + 16, "the widths of the starts")
        need(self.count <= 8 * len(data) + 1 and buckets <= 8 * len(data) + 1, "more starts than bits")
        self.index, bit = fields(data, 8 * 24, self.index_width, buckets + 1)
        self.lows_at = pad_to_byte(data, bit)
        lows, bit = fields(data, 8 * self.lows_at, self.low_width, self.count)
        self.tail_at = pad_to_byte(data, bit)
        need(data[self.tail_at:] == bytes(TAIL), "the tail is not 8 bytes of 0")
        need(self.index == sorted(self.index) and self.index[0] == 0 and self.index[-1] == self.count, "the index")
        self.starts = []
        for bucket, (first, end) in enumerate(zip(self.index, self.index[1:])):
            base, turn = self.first_bucket + bucket << self.bucket_width, 1 << self.low_width
            self.starts += [base + (low - base) % turn for low in lows[first:end]]
            need(all(start >> self.bucket_width == base >> self.bucket_width for start in self.starts[first:]),
                 f"a start of bucket {bucket} is in another")
        need(self.starts == sorted(self.starts), "starts are not sorted")
        need(self.end >= max(self.starts, default=0), "the last piece ends before it starts")
        need(self.count or self.end == 0, "an end without starts")

    def spans(self):
        yield 0, 24, [f"{self.count} starts, the last piece ends at {self.end:#x}; {len(self.index) - 1} buckets of "
                      f"{1 << self.bucket_width} addresses from bucket {self.first_bucket} on, index of {self.index_width} bits"]
        yield 24, self.lows_at, textwrap.wrap("index: " + " ".join(map(str, self.index)), 64, subsequent_indent="  ")
        yield self.lows_at, self.tail_at, textwrap.wrap(
            "starts: " + " ".join(f"{start:#x}" for start in self.starts), 64, subsequent_indent="  ")
        yield self.tail_at, self.tail_at + TAIL, ["tail"]


class Pieces:
    """PIECES with the starts, as named tuples."""

    Piece = collections.namedtuple("Piece", "start body pad skip owner rows name")

    def __init__(self, table, starts):
        need(len(table) == starts.count, f"{len(table)} pieces and {starts.count} starts")
        self.table, self.starts = table, starts

    def __len__(self):
        return len(self.table)

    def __getitem__(self, index):
        record, starts = self.table[index], self.starts.starts
        start, end = starts[index], starts[index + 1] if index + 1 < len(starts) else self.starts.end
        return self.Piece(start, end - start - record.pad - record.gap, *record[1:])

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def spans(self):
        return self.table.spans()


# --- rows (section 5) ---------------------------------------------------------------------------------------

Row = collections.namedtuple("Row", "offset scope line file column")  # line: None, or relative; file: a code


class RowBlock:
    """One block: where it is, what its head says, its rows."""

    def __init__(self, data, at, count, start, of_shared=False):
        self.begin, self.count = at, count
        head, at = field(data, 8 * at, 32), at + 4
        widths, line_base = [head >> 4 * k & 15 for k in range(4)], head >> 17
        flags = scope_base = 0
        if head >> 16 & 1:
            flags, at = byte(data, at)
            need(flags < 32, f"row block at {self.begin}: unknown bits {flags:#x}")
        self.files, self.columns, self.shared, self.wide, self.scopes = (flags >> k & 1 for k in range(5))
        if self.wide:
            need(head == 1 << 16, f"row block at {self.begin}: wide, and {head:#x}")
            for k in range(4):
                widths[k], at = byte(data, at)
                need(widths[k] < 32, f"row block at {self.begin}: width above 31")
            line_base, at = varint(data, at)
        self.low_width, scope_width, line_width, more_width = widths
        line_base = unzigzag(line_base)

        def base(at):
            return varint(data, at) if self.wide else (field(data, 8 * at, 16), at + 2)
        if self.scopes:
            scope_base, at = base(at)
        file_width = file_base = column_width = column_base = self.back = 0
        if self.files:
            file_width, at = byte(data, at)
            file_base, at = base(at)
        if self.columns:
            column_width, at = byte(data, at)
            column_base, at = base(at)
        need(file_width <= 32 and column_width <= 32, f"row block at {self.begin}: width above 32")
        if self.shared:
            self.back, at = varint(data, at)
            need(not of_shared and 0 < self.back < self.begin, f"row block at {self.begin}: bad `back`")
        self.packed, bit = at, 8 * at
        changes, bit = fields(data, bit, scope_width > 0, count - 1)
        has_more, bit = fields(data, bit, more_width > 0, count)
        differs, bit = fields(data, bit, self.files, count)
        low, bit = fields(data, bit, self.low_width, 0 if self.shared else count - 1)
        lines, bit = fields(data, bit, line_width, count)
        runs, bit = fields(data, bit, scope_width, 1 + sum(changes))
        parts, bit = fields(data, bit, more_width, sum(has_more))
        scopes = [runs[sum(changes[:i])] for i in range(count)]
        for i, part in zip((i for i in range(count) if has_more[i]), parts):
            lines[i] |= part << line_width
        columns, bit = fields(data, bit, column_width, count)
        files, bit = fields(data, bit, file_width, sum(differs))
        if self.shared:
            other = RowBlock(data, self.begin - self.back, count, 0, of_shared=True)
            need(other.low_width == self.low_width, f"row block at {self.begin}: shares with another width")
            self.offsets = other.offsets
        else:
            self.offsets, high = [0], bit
            for i in range(count - 1):
                while field(data, bit, 1) == 0:
                    bit += 1
                    need(bit - high < 64, f"row block at {self.begin}: more than 64 bits of high parts")
                self.offsets.append(bit - high - i << self.low_width | low[i])
                bit += 1
                need(bit - high <= 64, f"row block at {self.begin}: more than 64 bits of high parts")
                need(self.offsets[-2] < self.offsets[-1], f"row block at {self.begin}: offsets do not increase")
        self.end = pad_to_byte(data, bit)
        need(all(file_base + code for code in files), f"row block at {self.begin}: file code 0 of a set bit")
        codes = iter(files)
        self.rows = [Row(start + offset, scope_base + scope, line_base + line - 1 if line else None,
                         file_base + next(codes) if differ else 0, column_base + column)
                     for offset, scope, line, column, differ
                     in zip(self.offsets, scopes, lines, columns, differs)]
        self.widths = {"low": self.low_width, "scope": scope_width, "line": line_width,
                       "more": more_width}
        self.bases = {"scope_base": scope_base, "line_base": line_base}
        if self.files:
            self.widths["file"], self.bases["file_base"] = file_width, file_base
        if self.columns:
            self.widths["column"], self.bases["column_base"] = column_width, column_base
        if self.shared:
            self.bases["back"] = self.back

    def best_low_width(self):
        """The smallest width with which low and high parts are shortest, and the high ones fit."""
        def high(width):
            return len(self.offsets) - 1 + (self.offsets[-1] >> width)
        fits = (width for width in range(32) if high(width) <= 64)
        return min(fits, key=lambda width: ((len(self.offsets) - 1) * width + high(width), width))


class RowRecord:
    """The rows of one piece, offsets in units."""

    def __init__(self, data, at):
        self.begin = at
        head, at = varint(data, at)
        count, many = head >> 1, head & 1
        need(count > 0 and many == (count > 32), f"row record at {self.begin}: head {head}")
        need(count <= 64 * len(data), f"row record at {self.begin}: {count} rows")
        self.count, starts, places = count, [0], [0]
        self.widths = 0, 0
        if many:
            start_width, at = byte(data, at)
            place_width, at = byte(data, at)
            need(start_width <= 32 and place_width <= 32, f"row record at {self.begin}: width above 32")
            self.widths, bit = (start_width, place_width), 8 * at
            for _ in range((count - 1) // 32):
                starts.append(field(data, bit, start_width))
                places.append(field(data, bit + start_width, place_width))
                bit += start_width + place_width
            at = pad_to_byte(data, bit)
        self.starts, self.places, self.blocks_at, self.blocks = starts, places, at, []
        for b, (start, place) in enumerate(zip(starts, places)):
            need(place == at - self.blocks_at, f"row record at {self.begin}: block {b} has place {place}")
            self.blocks.append(RowBlock(data, at, min(32, count - 32 * b), start))
            at = self.blocks[-1].end
        self.end = at
        self.rows = [row for block in self.blocks for row in block.rows]
        need(all(a.offset < b.offset for a, b in zip(self.rows, self.rows[1:])),
             f"row record at {self.begin}: offsets do not increase")

    def spans(self):
        head = [f"{self.count} rows"]
        if len(self.blocks) > 1:
            head += [f"widths {self.widths}", f"starts {self.starts}", f"places {self.places}"]
        yield self.begin, self.blocks_at, head
        for block in self.blocks:
            def said(values):
                return ", ".join(f"{name} {value}" for name, value in values.items())
            extended = "".join(f", {n}" for n in
                               ("files", "columns", "shared", "wide", "scopes") if getattr(block, n))
            yield block.begin, block.packed, [f"block of {block.count}{extended}", f"widths: {said(block.widths)}",
                                              said(block.bases)]
            if block.end > block.packed:
                lines = []
                for name, column in zip(Row._fields, zip(*block.rows)):
                    if any(column):
                        values = " ".join("-" if value is None else str(value) for value in column)
                        lines += textwrap.wrap(f"{name}: {values}", 64, subsequent_indent="  ")
                yield block.packed, block.end, lines or ["all 0"]


# --- scopes (section 6) -------------------------------------------------------------------------------------

class ScopeRecord:
    """The inline tree of one function: `nodes[n - 1]` is (parent, edge) of node n."""

    def __init__(self, data, at):
        self.begin = at
        count, at = varint(data, at)
        need(0 < count <= 64 * len(data), f"scope record at {at}: {count} nodes")
        places, self.nodes, self.blocks = [0], [], []
        if count > 64:
            width, at = byte(data, at)
            need(width <= 32, f"scope record at {self.begin}: width above 32")
            more, bit = fields(data, 8 * at, width, (count - 1) // 64)
            places, at = places + more, pad_to_byte(data, bit)
        self.places, self.blocks_at = places, at
        for place in places:
            need(place == at - self.blocks_at, f"scope record at {self.begin}: a block has place {place}")
            begin, first = at, len(self.nodes)
            head = field(data, 8 * at, 16)
            need(head >> 10 == 0, f"scope record at {self.begin}: unknown bits")
            parent_width, edge_width, bit = head & 31, head >> 5, 8 * at + 16
            for node in range(first + 1, min(first + 64, count) + 1):
                parent = node - 1 - field(data, bit, parent_width)
                need(parent >= 0, f"scope record at {self.begin}: node {node} has parent {parent}")
                self.nodes.append((parent, field(data, bit + parent_width, edge_width)))
                bit += parent_width + edge_width
            at = pad_to_byte(data, bit)
            self.blocks.append((begin, at, first, parent_width, edge_width))
        self.end = at

    def depths(self):
        """The depth of each node, node 0 first; damage where the order is not preorder."""
        depths, path = [0], [0]
        for node, (parent, _) in enumerate(self.nodes, 1):
            need(parent in path, f"scope record at {self.begin}: node {node} is not in preorder")
            del path[path.index(parent) + 1:]
            depths.append(len(path))
            path.append(node)
        return depths

    def spans(self):
        yield self.begin, self.blocks_at, [f"{len(self.nodes)} nodes"] + (
            [f"places {self.places}"] if len(self.places) > 1 else [])
        for begin, end, first, parent_width, edge_width in self.blocks:
            lines = [f"parent_width {parent_width}, edge_width {edge_width}", "node: parent edge"]
            lines += [f"{first + i}: {p} {e}" for i, (p, e) in enumerate(self.nodes[first:first + 64], 1)]
            yield begin, end, lines
