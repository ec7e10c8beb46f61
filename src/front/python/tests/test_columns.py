"""Columns as libraries make them: every type that is read, types that are not, slices, no rows, and capsules that are wrong."""

import pytest

import foldsym
from test_tables import KERNEL, expected, fleet, signed, table, without_reasons  # noqa: F401

pa = pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def some(fleet):  # noqa: F811
    """A few stacks of user space, and what they are answered."""
    store, rows = fleet
    chosen = [row for row in rows if row["frames"] and all(frame is not None and 0 <= frame < 2**31 for frame in row["frames"])]
    chosen = chosen[:40]
    assert len(chosen) == 40
    return store, chosen, answers(table(chosen), store)


def answers(stacks, store, **options):
    return pa.record_batch(foldsym.symbolize_batch(stacks, store, **options))["symbols"].to_pylist()


def replaced(stacks, name, column):
    at = stacks.column_names.index(name)
    return stacks.set_column(at, name, column)


LISTS = {
    "list": pa.list_,
    "large_list": pa.large_list,
    "list_view": pa.list_view,
    "large_list_view": pa.large_list_view,
}


@pytest.mark.parametrize("kind", ["int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("lists", LISTS)
def test_frames_of_each_type(some, kind, lists):
    store, rows, whole = some
    frames = pa.array([row["frames"] for row in rows], LISTS[lists](getattr(pa, kind)()))
    assert answers(replaced(table(rows), "frames", frames), store) == whole


def test_frames_of_one_length(some):
    store, rows, _ = some
    cut = [{**row, "frames": row["frames"][:2]} for row in rows if len(row["frames"]) > 1]
    frames = pa.array([row["frames"] for row in cut], pa.list_(pa.int64(), 2))
    assert len(cut) > 20 and answers(replaced(table(cut), "frames", frames), store) == answers(table(cut), store)


@pytest.mark.parametrize("kind", ["large_string", "string_view", "dictionary", "dictionary of large"])
def test_ids_of_each_type(some, kind):
    store, rows, whole = some
    types = {
        "large_string": pa.large_string(),
        "string_view": pa.string_view(),
        "dictionary": pa.dictionary(pa.int16(), pa.string()),
        "dictionary of large": pa.dictionary(pa.uint8(), pa.large_string()),
    }
    ids = [[module["id"] for module in row["modules"]] for row in rows]
    values = pa.array([id for row in ids for id in row]).cast(
        types[kind] if not kind.startswith("dictionary") else pa.string()
    )
    if kind.startswith("dictionary"):
        values = values.cast(types[kind].value_type).dictionary_encode().cast(types[kind])
    flat = [module for row in rows for module in row["modules"]]
    bases = pa.array([module["base"] for module in flat], pa.int64())
    names = pa.array([module["name"] for module in flat])
    structs = pa.StructArray.from_arrays([values, bases, names], ["id", "base", "name"])
    offsets = [0]
    for row in ids:
        offsets.append(offsets[-1] + len(row))
    modules = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), structs)
    assert answers(replaced(table(rows), "modules", modules), store) == whole


@pytest.mark.parametrize(
    ("column", "values", "told"),
    [
        ("frames", pa.array([[1.5]]), "expected int64 or uint64, found Float64"),
        ("frames", pa.array([["1"]]), "expected int64 or uint64, found Utf8"),
        ("frames", pa.array([[1]], pa.list_(pa.decimal128(20, 0))), "found Decimal128"),
        ("frames", pa.array([1]), "expected a list, found Int64"),
        ("modules", pa.array([[1]]), "expected structs, found Int64"),
        ("modules", pa.array([[{"id": "11" * 20}]]), 'has no field "base"'),
        ("modules", pa.array([[{"id": 7, "base": 1}]]), "expected text, found Int64"),
        ("modules", pa.array([[{"base": "x"}]]), "expected int64 or uint64, found Utf8"),
        ("kinds", pa.array([[1]]), "expected text, found Int64"),
        ("kinds", pa.array([["exact", "return"]]), "not of one length"),
    ],
    ids=lambda value: value if isinstance(value, str) and " " not in value else "",
)
def test_other_columns_are_refused(fleet, column, values, told):  # noqa: F811
    store, _ = fleet
    columns = {
        "frames": pa.array([[1]], pa.list_(pa.int64())),
        "modules": pa.array([[{"id": "11" * 20, "base": 1}]]),
        column: values,
    }
    with pytest.raises(ValueError) as error:
        foldsym.symbolize_batch(pa.table(columns), store)
    assert told in str(error.value) and (column in str(error.value) or "row 0" in str(error.value))


def test_columns_without_a_value(fleet):  # noqa: F811
    store, _ = fleet
    nothing = pa.nulls(3)
    assert answers(pa.table({"frames": nothing, "modules": nothing}), store) == [None] * 3
    frames = pa.array([[5], [], None], pa.list_(pa.int64()))
    given = answers(pa.table({"frames": frames, "modules": nothing}), store)
    assert [row and row[0]["unknown"] for row in given] == ["no_module", [], None]
    empty = pa.array([[], None, []])
    given = answers(pa.table({"frames": frames, "modules": empty}), store)
    assert [row and row[0]["unknown"] for row in given] == ["no_module", [], None]


def test_no_rows(fleet):  # noqa: F811
    store, rows = fleet
    batch = table(rows).to_batches()[0]
    for dictionaries in (True, False):
        for threads in (1, 3):
            none = pa.record_batch(
                foldsym.symbolize_batch(batch.slice(0, 0), store, dictionaries=dictionaries, threads=threads)
            )
            assert none.num_rows == 0
            some = pa.record_batch(foldsym.symbolize_batch(batch.slice(0, 3), store, dictionaries=dictionaries))
            assert none.schema.equals(some.schema, check_metadata=True)
    assert pa.record_batch(foldsym.symbolize_batch(table([]), store)).num_rows == 0


def test_slices(fleet):  # noqa: F811
    """A slice has the whole array behind it, and says where it begins."""
    store, rows = fleet
    batch = table(rows).to_batches()[0]
    whole = answers(batch, store)
    for start, length in ((0, 1), (1, 5), (100, 64), (len(rows) - 3, 3)):
        assert answers(batch.slice(start, length), store) == whole[start : start + length]
    # Batches of several lengths are one table.
    parts = pa.Table.from_batches([batch.slice(0, 7), batch.slice(7, 0), batch.slice(7)])
    assert answers(parts, store) == whole


def test_threads(fleet):  # noqa: F811
    store, rows = fleet
    many = rows * 5
    for dictionaries in (True, False):
        one = answers(table(many), store, dictionaries=dictionaries)
        for threads in (0, 2, 3, 2000):
            assert answers(table(many), store, dictionaries=dictionaries, threads=threads) == one
    # The parts share their dictionary, which has each name once.
    made = pa.record_batch(foldsym.symbolize_batch(table(many), store, threads=4))
    symbols = made["symbols"].values
    names = symbols.field("function").dictionary.to_pylist()
    assert len(names) == len(set(names)) > 50
    assert symbols.field("file").dictionary.equals(symbols.field("function").dictionary)
    # The first wrong row is told of, whichever thread met it.
    kinds = [None] * len(many)
    for at in (len(many) - 1, 700, 650):
        if many[at]["frames"]:
            kinds[at] = ["other"] * len(many[at]["frames"])
    first = next(at for at, row in enumerate(kinds) if row)
    with_kinds = table(many).append_column("kinds", pa.array(kinds, pa.list_(pa.string())))
    for threads in (1, 2, 4):
        with pytest.raises(ValueError, match=f"row {first}: kind"):
            foldsym.symbolize_batch(with_kinds, store, threads=threads)


class Given:
    """What a library that is wrong gives."""

    def __init__(self, array):
        self.array = array

    def __arrow_c_array__(self, requested_schema=None):
        return self.array


def test_wrong_capsules_are_errors(fleet):  # noqa: F811
    store, rows = fleet
    batch = table(rows[:3]).to_batches()[0]
    schema, array = batch.__arrow_c_array__()
    others = pa.array([1, 2]).__arrow_c_array__()
    wrong = [
        None,
        (),
        ("schema", "array"),
        # In the wrong order.
        (array, schema),
        (schema, schema),
        # Numbers in place of a struct of columns.
        others,
        # The columns of one with the schema of another.
        (batch.schema.__arrow_c_schema__(), pa.array([1, 2]).__arrow_c_array__()[1]),
        # No column that is read.
        pa.record_batch({"other": [1]}).__arrow_c_array__(),
    ]
    for given in wrong:
        with pytest.raises(Exception) as error:
            foldsym.symbolize_batch(Given(given), store)
        assert not isinstance(error.value, SystemError) and str(error.value)
    used = Given(batch.__arrow_c_array__())
    assert pa.record_batch(foldsym.symbolize_batch(used, store)).num_rows == 3
    # What was taken out of a capsule is not there a second time.
    with pytest.raises(Exception) as error:
        foldsym.symbolize_batch(used, store)
    assert str(error.value)
    for other in (None, 7, "x", b"x", object()):
        with pytest.raises(Exception):
            foldsym.symbolize_batch(other, store)


def test_kernel_addresses_are_negative_and_come_back(fleet):  # noqa: F811
    store, rows = fleet
    kernel = [row for row in rows if row["frames"] and row["modules"] and row["modules"][0]["base"] == signed(KERNEL)][:20]
    given = answers(table(kernel), store)
    assert without_reasons(given) == expected(store, kernel)
    found = [one for row in given for one in row if one["function"]]
    assert len(found) > 20 and all(one["address"] is not None for one in found)
    assert any(one["address"] < 0 for one in found)
    for row, symbols in zip(kernel, given, strict=True):
        assert all(one["address"] == row["frames"][one["frame"]] for one in symbols)


def from_buffers(name, kind, length, buffers, children=None):
    """A table of one row with a column that pyarrow did not check; the others are right."""
    columns = {"module_id": pa.array(["11" * 20] * length), "frames": pa.array([[1]] * length, pa.list_(pa.int64()))}
    columns[name] = pa.Array.from_buffers(kind, length, [None, *buffers], children=children)
    return pa.table(columns)


def offsets(*numbers):
    import struct

    return pa.py_buffer(struct.pack(f"<{len(numbers)}i", *numbers))


def from_file():
    """A file whose last offset of text is beyond the data: pyarrow reads it without a check."""
    import struct

    stacks = from_buffers("module_id", pa.string(), 2, [offsets(0, 3, 7), pa.py_buffer(b"abcdefg")])
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, stacks.schema) as writer:
        writer.write_table(stacks)
    written, right = out.getvalue().to_pybytes(), struct.pack("<3i", 0, 3, 7)
    assert written.count(right) == 1
    return pa.ipc.open_stream(written.replace(right, struct.pack("<3i", 0, 3, 1 << 30))).read_all()


VALUES = pa.array([1, 2], pa.int64())
DAMAGED = {
    "text beyond its data": lambda: from_buffers("module_id", pa.string(), 2, [offsets(0, 1 << 30, 2), pa.py_buffer(b"ab")]),
    "text of a file beyond its data": from_file,
    "text that is not UTF-8": lambda: from_buffers("module_id", pa.string(), 1, [offsets(0, 2), pa.py_buffer(b"\xff\xfe")]),
    "list beyond its values": lambda: from_buffers("frames", pa.list_(pa.int64()), 2, [offsets(0, 1 << 30, 2)], [VALUES]),
}


@pytest.mark.parametrize("kind", DAMAGED)
def test_damaged_columns_are_named(some, kind):
    store, _, _ = some
    damaged = DAMAGED[kind]()
    name = "module_id" if "text" in kind else "frames"
    for stacks in (damaged, damaged.to_batches()[0]):
        with pytest.raises(ValueError, match=f'column "{name}": is damaged'):
            foldsym.symbolize_batch(stacks, store)


def test_damaged_columns_of_other_libraries_are_named(some):
    """A stream has no check of pyarrow."""

    class Stream:
        def __init__(self, table):
            self.table = table

        def __arrow_c_stream__(self, requested_schema=None):
            return self.table.__arrow_c_stream__(requested_schema)

    store, _, _ = some
    for kind, name in (("text that is not UTF-8", "module_id"), ("list beyond its values", "frames")):
        with pytest.raises(ValueError, match=f'column "{name}": is damaged'):
            foldsym.symbolize_batch(Stream(DAMAGED[kind]()), store)


def test_names_as_views(fleet):  # noqa: F811
    """As plain text, to the value; each column has its own texts once."""
    store, rows = fleet
    plain = answers(table(rows), store, dictionaries=False)
    for threads in (1, 3):
        made = pa.record_batch(foldsym.symbolize_batch(table(rows), store, views=True, threads=threads))["symbols"]
        made.validate(full=True)
        assert made.to_pylist() == plain
        assert made.values.field("function").type == pa.string_view() == made.values.field("candidates").type.value_type
    for name in ("function", "file", "certainty"):
        column = pa.record_batch(foldsym.symbolize_batch(table(rows), store, views=True, fields=[name]))["symbols"].values.field(name)
        # Texts of up to 12 bytes are inside of their views.
        long = sum(len(text.encode()) for text in set(column.to_pylist()) - {None} if len(text.encode()) > 12)
        assert sum(buffer.size for buffer in column.buffers()[2:]) <= long + 64


def test_fields_that_are_asked_for(fleet):  # noqa: F811
    store, rows = fleet
    whole = answers(table(rows), store)
    for dictionaries in (True, False):
        some = pa.record_batch(foldsym.symbolize_batch(table(rows), store, fields=["line", "function"], dictionaries=dictionaries))
        found = some["symbols"].to_pylist()
        assert found == [row and [{"function": one["function"], "line": one["line"]} for one in row] for row in whole]
    for wrong in ([], ["functions"]):
        with pytest.raises(ValueError, match="symbols"):
            foldsym.symbolize_batch(table(rows), store, fields=wrong)
