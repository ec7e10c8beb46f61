"""Tables of stacks against the command line: every answer as `foldsym stack --json` has it, through each library."""

import json
import os
import subprocess

import pytest

import foldsym
from test_files import BUILT, COMMAND

pa = pytest.importorskip("pyarrow")

KERNEL = 0xFFFF_FFFF_8000_0000
SCHEMA = pa.schema(
    [
        ("row", pa.int64()),
        (
            "modules",
            pa.list_(pa.struct([("id", pa.string()), ("base", pa.int64()), ("name", pa.string())])),
        ),
        ("frames", pa.list_(pa.int64())),
    ]
)


def signed(value):
    return value - (1 << 64) if value >= 1 << 63 else value


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    """A store of three programs, and stacks that ran in them, at user and kernel addresses."""
    folder = tmp_path_factory.mktemp("fleet")
    store = foldsym.Store(folder / "store", create=True)
    rows = []
    for number, name in enumerate(["fold.clang-lld.set", "fold.gcc-gold.set", "fold.clang-mold.set"]):
        program = BUILT / name / "program"
        out = folder / f"{name}.fsym"
        foldsym.convert(program, out)
        id = store.add(out)
        image = int(foldsym.SymbolFile(out).info()["ImageBase"], 16)
        lines = (program.parent / "stacks").read_text().splitlines()
        for at, line in enumerate(lines):
            pcs = [int(word, 16) for word in line.split("|")[0].split()[3:]]
            base = KERNEL if at % 3 else 0x10_0000
            modules = [
                {"id": id, "name": name, "base": signed(base)},
                {"id": "11" * 20, "name": "absent.so", "base": 0x1000},
            ]
            frames = [signed(pc - image + base) for pc in pcs]
            frames += [[], [0x1010], [None], [5]][at % 4]
            rows.append({"modules": modules, "frames": frames})
    rows += [{"modules": rows[0]["modules"], "frames": []}, {"modules": None, "frames": [1]}]
    rows += [{"modules": rows[0]["modules"], "frames": None}]
    for at, row in enumerate(rows):
        row["row"] = at
    return folder / "store", rows


def lines(store, rows, *options):
    """What the command says of each row."""
    requests = [
        {
            "modules": [{**module, "base": module["base"] % 2**64} for module in row["modules"] or []],
            "frames": ["?" if frame is None else frame % 2**64 for frame in row["frames"] or []],
        }
        for row in rows
    ]
    text = "".join(json.dumps(request) + "\n" for request in requests)
    command = [COMMAND, "stack", "--store", str(store), "--json", *options]
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def elements(row, line):
    """The same as the elements of the row's column."""
    if row["frames"] is None:
        return None
    out = []
    for index, answer in enumerate(line["Frames"]):
        for at, symbol in enumerate(answer["Symbol"]):
            inlined = at + 1 < len(answer["Symbol"])
            # The only candidate is the answer, which is not repeated.
            alone = answer["Symbol"][-1:] if answer.get("CandidateCount") == 1 else []
            candidates = [] if inlined else [one["LinkageName"] or None for one in answer.get("Candidates", alone)]
            out.append(
                {
                    "frame": index,
                    "address": row["frames"][index],
                    "function": symbol["FunctionName"] or None,
                    "linkage_name": symbol["LinkageName"] or None,
                    "file": symbol["FileName"] or None,
                    "line": symbol["Line"] or None,
                    "column": symbol["Column"] or None,
                    "inlined": inlined,
                    "module": answer["ModuleName"] or None,
                    "certainty": answer["Certainty"],
                    "evidence": answer["Evidence"],
                    "reason": answer.get("Reason"),
                    "candidate_count": answer.get("CandidateCount"),
                    "candidates": candidates,
                    "source": answer.get("Source"),
                }
            )
    return out


def expected(store, rows):
    """What the command says: for each row the elements of its column."""
    return [elements(row, line) for row, line in zip(rows, lines(store, rows), strict=True)]


def test_signatures_are_those_of_the_command(fleet, tmp_path):
    store, rows = fleet
    rules = tmp_path / "own.rules"
    rules.write_text("frames 2\nversion mine\n")
    engine = foldsym.Symbolizer([foldsym.Store(store)])
    for given in ([], ["--signature-rules", str(rules)]):
        answers = [line.get("Signature") for line in lines(store, rows, "--signature", *given)]
        arguments = {"signature_rules": rules} if given else {}
        made = foldsym.symbolize_batch(table(rows), store, signature=True, **arguments)
        made = pa.record_batch(made).to_pylist()
        columns = ("signature", "signature_hash", "signature_rules")
        for row, answer, ours in zip(rows, answers, made, strict=True):
            expected = [answer[key] for key in ("Text", "Hash", "Rules")] if row["frames"] is not None else [None] * 3
            assert [ours[name] for name in columns] == expected
        assert len({row["signature"] for row in made}) > 10
        for row, answer in list(zip(rows, answers, strict=True))[:40]:
            modules = [{**module, "base": module["base"] % 2**64} for module in row["modules"]]
            frames = ["?" if frame is None else frame % 2**64 for frame in row["frames"]]
            stack = engine.stack(frames, modules, signature=True, **arguments)
            assert stack["Signature"] == answer and stack["Frames"] == engine.stack(frames, modules)
    # The bytes of a file of rules do the same.
    same = foldsym.symbolize_batch(table(rows), store, signature=True, signature_rules=rules.read_bytes())
    assert pa.record_batch(same).to_pylist() == made
    with pytest.raises(ValueError, match="without signature"):
        foldsym.symbolize_batch(table(rows), store, signature_rules=rules)
    with pytest.raises(ValueError, match="<bytes>:1: "):
        foldsym.symbolize_batch(table(rows), store, signature=True, signature_rules=b"no such rule")
    with pytest.raises(foldsym.FoldsymError, match="gone"):
        foldsym.symbolize_batch(table(rows), store, signature=True, signature_rules=tmp_path / "gone")
    few = foldsym.Symbolizer([foldsym.Store(store)], candidates=False)
    with pytest.raises(ValueError, match="candidates"):
        foldsym.symbolize_batch(table(rows), few, signature=True)
    with pytest.raises(ValueError, match="candidates"):
        few.stack([1], [], signature=True)


def without_reasons(column):
    """The elements without why there is no function, which JSON says for modules alone."""
    return [
        row and [{k: v for k, v in one.items() if k not in ("unknown", "message")} for one in row]
        for row in column
    ]


def table(rows):
    return pa.Table.from_pylist(rows, SCHEMA)


def test_batches_answer_as_the_command(fleet):
    store, rows = fleet
    batch = table(rows).to_batches()[0]
    ours = pa.record_batch(foldsym.symbolize_batch(batch, store))
    assert ours.schema.metadata[b"foldsym.table"] == b"1"
    assert without_reasons(ours["symbols"].to_pylist()) == expected(store, rows)
    words = {one["certainty"] for row in ours["symbols"].to_pylist() if row for one in row}
    assert {"unique", "exact", "ambiguous", None} <= words
    unknown = {one["unknown"] for row in ours["symbols"].to_pylist() if row for one in row}
    assert {None, "absent", "no_address", "no_module"} <= unknown


def test_answers_do_not_depend_on_batches(fleet):
    store, rows = fleet
    engine = foldsym.Symbolizer([foldsym.Store(store)])

    def answers(rows, size):
        out = {}
        for at in range(0, len(rows), size):
            made = pa.record_batch(foldsym.symbolize_batch(table(rows[at : at + size]), engine))
            out.update(zip(made["row"].to_pylist(), made["symbols"].to_pylist(), strict=True))
        return out

    whole = answers(rows, len(rows))
    assert answers(rows[::-1], 7) == whole
    assert answers(rows, 64) == whole


def test_slices_answer_as_their_rows_do(fleet):
    """A slice has the values of the whole table behind it."""
    store, rows = fleet
    whole = pa.record_batch(foldsym.symbolize_batch(table(rows), store))["symbols"].to_pylist()
    unsigned = pa.schema([SCHEMA.field("row"), SCHEMA.field("modules"), pa.field("frames", pa.list_(pa.uint64()))])
    wrapped = [{**row, "frames": row["frames"] and [frame and frame % 2**64 for frame in row["frames"]]} for row in rows]
    for given in (table(rows), pa.Table.from_pylist(wrapped, unsigned)):
        for at in range(0, len(rows), 97):
            part = pa.record_batch(foldsym.symbolize_batch(given.slice(at, 97), store))
            assert part["symbols"].to_pylist() == whole[at : at + 97]


def test_a_module_that_is_null_is_none(fleet):
    """Whatever its fields hold."""
    store, rows = fleet
    row = next(row for row in rows if row["frames"] and row["frames"][0] > 0)
    whole = table([row])
    modules = whole["modules"].combine_chunks()
    fields = [modules.values.field(name) for name in ("id", "base", "name")]
    none = pa.StructArray.from_arrays(fields, ["id", "base", "name"], mask=pa.array([True] * len(modules.values)))
    lists = pa.ListArray.from_arrays(modules.offsets, none)
    ours = pa.record_batch(foldsym.symbolize_batch(whole.set_column(1, "modules", lists), store))
    assert {one["unknown"] for one in ours["symbols"].to_pylist()[0]} <= {"no_module", "no_address"}


def test_keys_of_dictionaries_are_of_text(fleet):
    store, rows = fleet
    numbers = pa.array([[1] * len(rows[0]["frames"])]).values.dictionary_encode()
    kinds = pa.ListArray.from_arrays([0, len(numbers)], numbers)
    with pytest.raises(ValueError, match="kinds.*expected text"):
        foldsym.symbolize_batch(table(rows[:1]).append_column("kinds", kinds), store)


def test_unsigned_addresses_and_kinds(fleet):
    store, rows = fleet
    row = next(row for row in rows if row["frames"] and row["frames"][0] < 0 and len(row["frames"]) > 1)
    unsigned = [{**row, "frames": [frame and frame % 2**64 for frame in row["frames"]]}]
    fields = [SCHEMA.field("row"), SCHEMA.field("modules"), pa.field("frames", pa.list_(pa.uint64()))]
    ours = pa.record_batch(foldsym.symbolize_batch(pa.Table.from_pylist(unsigned, pa.schema(fields)), store))
    same = pa.record_batch(foldsym.symbolize_batch(table([row]), store))
    assert ours["symbols"].to_pylist() == same["symbols"].to_pylist()
    kinds = ["exact"] + ["return"] * (len(row["frames"]) - 1)
    with_kinds = table([row]).append_column("kinds", pa.array([kinds]))
    told = pa.record_batch(foldsym.symbolize_batch(with_kinds, store))
    assert told["symbols"].to_pylist() == same["symbols"].to_pylist()
    with pytest.raises(ValueError, match="expected"):
        foldsym.symbolize_batch(table([row]).append_column("kinds", pa.array([["x"] * len(kinds)])), store)
    with pytest.raises(ValueError, match="frames"):
        foldsym.symbolize_batch(table([row]).select(["modules"]), store)


def test_one_module_a_row(fleet):
    store, rows = fleet
    module, pc = rows[0]["modules"][0], rows[0]["frames"][0]
    file = foldsym.Store(store).get(module["id"])
    image = (pc - module["base"] + int(file.info()["ImageBase"], 16)) % 2**64
    names = file.lookup(image)["Symbol"]
    one = pa.table({"module_id": [module["id"]], "frames": pa.array([[image]], pa.list_(pa.int64()))})
    ours = pa.record_batch(foldsym.symbolize_batch(one, store))["symbols"].to_pylist()[0]
    assert [at["linkage_name"] for at in ours] == [at["LinkageName"] for at in names]


def test_a_damaged_file_is_told_of(fleet, tmp_path):
    import shutil

    store, rows = fleet
    shutil.copytree(store, tmp_path / "store")
    broken = rows[0]["modules"][0]["id"]
    for path in (tmp_path / "store" / broken[:2] / broken[2:]).glob("*.fsym"):
        path.chmod(0o644)
        path.write_bytes(path.read_bytes()[:4096])
    ours = pa.record_batch(foldsym.symbolize_batch(table(rows), tmp_path / "store"))["symbols"].to_pylist()
    assert {one["unknown"] for one in ours[0]} <= {"damaged", "absent", "no_module", "no_address"}
    assert ours[0][0]["unknown"] == "damaged" and "fsym" in ours[0][0]["message"]
    whole = pa.record_batch(foldsym.symbolize_batch(table(rows), store))["symbols"].to_pylist()
    others = [at for at, row in enumerate(rows) if row["modules"] and row["modules"][0]["id"] != broken]
    # Messages name the store.
    ours, whole = without_reasons(ours), without_reasons(whole)
    assert len(others) > 100 and all(ours[at] == whole[at] for at in others)


def test_many_modules_without_files(fleet):
    store, _ = fleet
    rows = [
        {"row": at, "modules": [{"id": f"{at + 1:040x}", "name": f"m{at}", "base": 0x1000}], "frames": [0x1001]}
        for at in range(2000)
    ]
    ours = pa.record_batch(foldsym.symbolize_batch(table(rows), store))["symbols"].to_pylist()
    assert {row[0]["unknown"] for row in ours} == {"absent"}
    assert [row[0]["module"] for row in ours] == [f"m{at}" for at in range(2000)]


def test_an_identity_that_cannot_be_read_is_its_rows_own(fleet):
    store, rows = fleet
    bad = {"row": 1, "modules": [{"id": "not hex", "name": "bad.so", "base": 0x1000}], "frames": [0x1010]}
    ours = pa.record_batch(foldsym.symbolize_batch(table([rows[0], bad]), store))["symbols"].to_pylist()
    assert without_reasons(ours[:1]) == expected(store, rows[:1])
    assert (ours[1][0]["unknown"], ours[1][0]["module"]) == ("absent", "bad.so")
    assert '"not hex"' in ours[1][0]["message"]
    # A file of its name is of another build, as far as anybody knows.
    engine = foldsym.Symbolizer(search=[BUILT.parent.parent / "schema" / "golden" / "demo.fsym"])
    named = {"row": 0, "modules": [{"id": None, "name": "demo", "base": 0x200000}], "frames": [0x20129B]}
    unreadable = {**named, "modules": [{**named["modules"][0], "id": "not hex"}]}
    ours = pa.record_batch(foldsym.symbolize_batch(table([named, unreadable]), engine))["symbols"].to_pylist()
    assert ours[0][0]["function"] and (ours[1][0]["function"], ours[1][0]["unknown"]) == (None, "absent")
    one = pa.table({"module_id": ["xyz"], "frames": pa.array([[16]], pa.list_(pa.int64()))})
    ours = pa.record_batch(foldsym.symbolize_batch(one, store))["symbols"].to_pylist()
    assert ours[0][0]["unknown"] == "absent" and '"xyz"' in ours[0][0]["message"]


def test_the_command_answers_parquet_as_stack_does(fleet, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    store, rows = fleet
    given, out = tmp_path / "stacks.parquet", tmp_path / "answers.parquet"
    parquet.write_table(table(rows), given)
    command = [COMMAND, "symbolize", "--parquet", given, "--store", store, "-o"]
    subprocess.run([*command, out], check=True)
    answers = parquet.read_table(out)
    assert answers.schema.metadata[b"foldsym.table"] == b"1"
    assert answers["row"].to_pylist() == [row["row"] for row in rows]
    ours = without_reasons(answers["symbols"].to_pylist())
    assert len(rows) > 100 and ours == without_reasons(expected(store, rows))
    # What cannot be written is named, and not the input.
    missing = tmp_path / "none" / "answers.parquet"
    done = subprocess.run([*command, missing], capture_output=True, text=True)
    assert done.returncode != 0 and str(missing) in done.stderr and str(given) not in done.stderr
    # An older table is replaced, through a symbolic link too; nothing else is.
    (tmp_path / "link.parquet").symlink_to(out)
    subprocess.run([*command, tmp_path / "link.parquet"], check=True)
    assert (tmp_path / "link.parquet").is_symlink() and parquet.read_table(out).num_rows == len(rows)
    (tmp_path / "main.c").write_text("int main;")
    for other in (tmp_path / "main.c", tmp_path, "/dev/null"):
        done = subprocess.run([*command, other], capture_output=True, text=True)
        assert done.returncode != 0 and f"{other}: cannot write: " in done.stderr, done
    assert (tmp_path / "main.c").read_text() == "int main;" and not os.path.isfile("/dev/null")
    shown = subprocess.run([*command, "-"], check=True, capture_output=True).stdout
    assert parquet.read_table(pa.BufferReader(shown)).equals(answers)


def test_rows_of_errors_count_in_the_file(fleet, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    store, rows = fleet
    many = [{**rows[0], "row": at} for at in range(20_000)]
    kinds = [["exact"] + ["return"] * (len(rows[0]["frames"]) - 1)] * len(many)
    kinds[17_000] = ["no kind"] * len(rows[0]["frames"])
    given, out = tmp_path / "stacks.parquet", tmp_path / "answers.parquet"
    parquet.write_table(table(many).append_column("kinds", pa.array(kinds)), given)
    command = [COMMAND, "symbolize", "--parquet", given, "--store", store, "-o", out]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode != 0 and "row 17000: " in done.stderr and not out.exists(), done


@pytest.mark.parametrize("compression", ["none", "snappy", "gzip", "brotli", "lz4", "zstd"])
def test_parquet_of_any_compression(fleet, tmp_path, compression):
    parquet = pytest.importorskip("pyarrow.parquet")
    store, rows = fleet
    given, out = tmp_path / "stacks.parquet", tmp_path / "answers.parquet"
    parquet.write_table(table(rows[:10]), given, compression=compression)
    subprocess.run([COMMAND, "symbolize", "--parquet", given, "--store", store, "-o", out], check=True)
    assert parquet.read_table(out).num_rows == 10


def test_other_libraries(fleet):
    store, rows = fleet
    given = table(rows)
    ours = foldsym.symbolize_batch(given, store)
    whole = pa.record_batch(ours)["symbols"].to_pylist()
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(foldsym.symbolize_batch(polars.from_arrow(given), store, dictionaries=False))
    assert frame["symbols"].to_list() == whole
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as connection:
        result = connection.sql("select * from given order by row").to_arrow_table()
        plain = pa.table(foldsym.symbolize_batch(result, store, dictionaries=False))
        assert plain["symbols"].to_pylist() == whole
        query = "select count(*) from (select unnest(symbols) as s from plain) where s.certainty = 'exact'"
        exact = sum(one["certainty"] == "exact" for row in whole if row for one in row)
        assert connection.sql(query).fetchall() == [(exact,)] and exact > 0
        # A relation is a stream of its own.
        relation = connection.sql("select * from given order by row")
        assert pa.table(foldsym.symbolize_batch(relation, store))["symbols"].to_pylist() == whole
    nanoarrow = pytest.importorskip("nanoarrow")
    assert pa.array(nanoarrow.Array(ours)).field("symbols").to_pylist() == whole
    again = foldsym.symbolize_batch(nanoarrow.ArrayStream(given), store)
    assert pa.record_batch(again)["symbols"].to_pylist() == whole
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"module_id": [rows[0]["modules"][0]["id"]] * 2, "frames": [[1, 2], [3]]})
    answered = foldsym.symbolize_batch(pa.Table.from_pandas(frame), store)
    assert pa.record_batch(answered).to_pandas()["symbols"].map(len).tolist() == [2, 1]


@pytest.mark.parametrize("other", [["--pprof", "out"], ["--collapsed"], ["--style", "gdb"], ["--json"], ["--callers", "return"], ["report"]])
def test_the_command_refuses_what_tables_do_not_have(other):
    done = subprocess.run([COMMAND, "symbolize", "--parquet", "in", "-o", "out", *other], capture_output=True, text=True)
    assert done.returncode == 2 and "cannot be used with" in done.stderr, done
