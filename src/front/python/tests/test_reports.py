"""Crash reports to Parquet: the columns of each format, and the answers that `symbolize --json` gives."""

import json
import os
import pathlib
import subprocess

import pytest

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

ROOT = pathlib.Path(__file__).parents[4]
COMMAND = os.environ.get("FOLDSYM", ROOT / "target" / "debug" / "foldsym")
REPORTS = ROOT / "src" / "reports" / "tests" / "reports"
FILES = [REPORTS / name for name in ("crash.dmp", "asan.txt", "asan-segv.txt", "ubsan.txt", "mail.pb.gz", "go.pb.gz")]
SEARCH = [option for name in ("crash", "mail") for option in ("--search", REPORTS / name)]


def answered(files, out, *options, code=0):
    """The rows of a table of reports, and what was said."""
    done = subprocess.run([COMMAND, "symbolize", *files, *SEARCH, "-o", out, *options], capture_output=True, text=True)
    assert done.returncode == code, done
    return (parquet.read_table(out) if out.exists() else None), done.stderr


def as_json(files, *options):
    command = [COMMAND, "symbolize", *files, *SEARCH, "--json", *options]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return [json.loads(line) for line in lines]


def shown(frame):
    """A frame of JSON as the rows of a table have it: a tuple for each function."""
    symbols = frame["Symbol"] or [{"FunctionName": "", "FileName": "", "Line": 0}]
    return [(one["FunctionName"] or None, one["FileName"] or None, one["Line"] or None) for one in symbols]


def test_rows_have_what_json_has(tmp_path):
    table, _ = answered(FILES, tmp_path / "answers.parquet")
    assert table.schema.metadata[b"foldsym.table"] == b"1"
    rows, reports = table.to_pylist(), as_json(FILES)
    assert len(rows) == sum(len(report["Threads"]) for report in reports) > 20
    named = 0
    of_threads = ((path, report, index, thread) for path, report in zip(FILES, reports) for index, thread in enumerate(report["Threads"]))
    for row, (path, report, index, thread) in zip(rows, of_threads, strict=True):
        assert (row["report"], row["format"], row["thread"]) == (str(path), report["Format"], index)
        assert (row["reason"] or "", row["thread_id"], row["crashed"]) == (report["Reason"], thread["Id"], thread["Crashed"])
        assert row["thread_name"] == (thread["Name"] or None)
        crash = report["CrashAddress"]
        assert (row["crash_address"] is None) == (crash is None)
        assert crash is None or row["crash_address"] % 2**64 == int(crash, 16)
        assert len(row["frames"]) == len(row["kinds"]) == len(thread["Frames"])
        trust = [frame.get("Trust") for frame in thread["Frames"]]
        assert row["trust"] == (trust if any(trust) else None)
        mine = [(one["frame"], (one["function"], one["file"], one["line"])) for one in row["symbols"]]
        theirs = [(at, function) for at, frame in enumerate(thread["Frames"]) for function in shown(frame)]
        assert mine == theirs
        named += sum(one["function"] is not None for one in row["symbols"])
        used = {module["name"] for module in row["modules"]}
        assert used >= {one["module"] for one in row["symbols"] if one["module"]}
        listed = {(module["Name"], module["Id"]) for module in report["Modules"]}
        assert {(module["name"] or "", module["id"]) for module in row["modules"]} <= listed
    assert named > 50


def test_signatures_are_those_of_json(tmp_path):
    rules = tmp_path / "own.rules"
    rules.write_text("frames 2\nversion mine\n")
    for options in (["--signature"], ["--signature", "--signature-rules", rules]):
        rows = answered(FILES, tmp_path / "answers.parquet", *options)[0].to_pylist()
        threads = [thread for report in as_json(FILES, *options) for thread in report["Threads"]]
        for row, thread in zip(rows, threads, strict=True):
            ours = [row["signature"], row["signature_hash"], row["signature_rules"]]
            assert ours == [thread["Signature"][key] for key in ("Text", "Hash", "Rules")]
        assert len({row["signature"] for row in rows}) > 5
    # Such a table has them again, and a table of stacks gets them too.
    again = tmp_path / "again.parquet"
    answered([REPORTS / "crash.dmp"], tmp_path / "answers.parquet", "--signature")
    command = [COMMAND, "symbolize", "--parquet", tmp_path / "answers.parquet", *SEARCH, "-o", again, "--signature"]
    subprocess.run(command, check=True)
    assert parquet.read_table(again).to_pylist() == parquet.read_table(tmp_path / "answers.parquet").to_pylist()
    done = subprocess.run([*command[:-1], "--signature=only"], capture_output=True, text=True)
    assert done.returncode == 2 and "--signature=only" in done.stderr


def test_profiles_have_values(tmp_path):
    rows = answered([REPORTS / "go.pb.gz"], tmp_path / "answers.parquet")[0].to_pylist()
    kinds = {one["type"] for row in rows for one in row["values"]}
    assert kinds == {"samples/count", "cpu/nanoseconds"} and all(len(row["values"]) == 2 for row in rows)
    collapsed = subprocess.run([COMMAND, "symbolize", REPORTS / "go.pb.gz", "--collapsed=cpu"], check=True, capture_output=True, text=True).stdout
    total = sum(int(line.rsplit(" ", 1)[1]) for line in collapsed.splitlines())
    assert sum(one["value"] for row in rows for one in row["values"] if one["type"].startswith("cpu")) == total > 0


def test_a_table_of_reports_can_be_answered_again(tmp_path):
    first, again = tmp_path / "first.parquet", tmp_path / "again.parquet"
    table, _ = answered([REPORTS / "crash.dmp"], first)
    subprocess.run([COMMAND, "symbolize", "--parquet", first, *SEARCH, "-o", again], check=True)
    second = parquet.read_table(again)
    assert second.column_names == table.column_names and second["thread"].equals(table["thread"])
    assert second["symbols"].to_pylist() == table["symbols"].to_pylist()


def test_what_cannot_be_read_is_told_of(tmp_path):
    bad, out = tmp_path / "bad.dmp", tmp_path / "answers.parquet"
    bad.write_bytes(b"MDMP" + bytes(60))
    table, said = answered([bad, REPORTS / "asan.txt"], out, code=4)
    assert str(bad) in said and set(table["report"].to_pylist()) == {str(REPORTS / "asan.txt")}
    # Without a report there is no table, and an older file stays.
    before = out.read_bytes()
    assert str(bad) in answered([bad], out, code=3)[1] and out.read_bytes() == before


@pytest.mark.parametrize("other", [["--pprof", "out"], ["--collapsed"], ["--style", "gdb"], ["--json"], ["--text"]])
def test_one_output_at_a_time(tmp_path, other):
    done = subprocess.run([COMMAND, "symbolize", "in", "-o", tmp_path / "out", *other], capture_output=True, text=True)
    assert done.returncode == 2 and "cannot be used with" in done.stderr, done
