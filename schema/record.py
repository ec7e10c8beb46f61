"""The conversion record of section RECORD (README.md, section 12), from the bytes inside of its zstd frame."""

BLOCKS = (("map_bytes", "u64"), ("functions", "u64"), ("ranges", "u64"), ("blocks", "u64"),
          ("not_kept", (("call_ends", "u64"), ("functions_with_profile", "u64"), ("hashes", "u64"))))
RECORD = (
    ("tool", "text"),
    ("counts", tuple((name, "u64") for name in ("units", "functions", "rows", "inlines", "partial_units"))),
    ("decided", (
        ("functions", "u64"), ("unique", "u64"), ("likely", {"text": "u64"}), ("symbol_only", "u64"),
        ("aliases", "u64"), ("folded_addresses", "u64"), ("folded_functions", "u64"),
        ("folded_by_evidence", {"text": "u64"}),
        *((name, "u64") for name in (
            "calls_into_folded", "calls_with_key", "call_keys", "tail_keys", "vtable_keys", "sure_vtable_keys",
            "slot_keys", "inlines_by_rows", "inlines_by_twin", "inlines_lost")),
        ("basic_blocks", ["optional", BLOCKS]))),
    ("diagnostics", {"text": (("count", "u64"), ("first", "offset"), ("example", ["optional", "text"]))}),
    ("notes", ["list", "text"]))


class Bytes:
    """Bytes that are taken from the front."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        if count > len(self.data) - self.at:
            raise ValueError(f"the record ends at {len(self.data)}, inside of a value at {self.at}")
        self.at += count
        return self.data[self.at - count:self.at]

    def integer(self):
        first = self.take(1)[0]
        if first <= 250:
            return first
        if first > 253:
            raise ValueError(f"an integer begins with {first}")
        return int.from_bytes(self.take(2 << (first - 251)), "little")

    def value(self, kind):
        if kind == "u64":
            return self.integer()
        if kind == "offset":
            return hex(self.integer())
        if kind == "text":
            return self.take(self.integer()).decode("utf-8")
        if isinstance(kind, dict):
            (key, value), = kind.items()
            return {self.value(key): self.value(value) for _ in range(self.integer())}
        if kind[0] == "list":
            return [self.value(kind[1]) for _ in range(self.integer())]
        if kind[0] == "optional":
            flag = self.take(1)[0]
            if flag > 1:
                raise ValueError(f"an optional value begins with {flag}")
            return self.value(kind[1]) if flag else None
        values = {name: self.value(of) for name, of in kind}
        return {name: value for name, value in values.items() if value is not None}


def decode(data):
    """The record, with the keys of report.md."""
    source = Bytes(data)
    record = source.value(RECORD)
    if source.at != len(data):
        raise ValueError(f"{len(data) - source.at} bytes behind the record")
    return record
