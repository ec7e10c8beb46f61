"""Stores as the command has them: lists, pins, collections. Reports and stacks with their signatures, and what calls refuse."""

import json
import os
import pathlib
import subprocess

import pytest

import foldsym
from test_files import BUILT, COMMAND, ROOT

REPORTS = ROOT / "src" / "reports" / "tests" / "reports"


def command(*words, code=0):
    done = subprocess.run([COMMAND, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == code, done
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture
def store(tmp_path):
    store = foldsym.Store(tmp_path / "store", create=True)
    ids = [store.convert(BUILT / name) for name in ("demo.elf", "inline.clang-dwarf4", "fold.clang-lld.set/program")]
    return store, ids, tmp_path / "store"


def test_a_store_is_listed_and_checked_as_the_command_does(store):
    opened, ids, folder = store
    assert opened.list() == command("store", "list", "--json", folder)
    assert {file["BuildId"] for file in opened.list()} == set(ids)
    assert [opened.check()] == command("store", "check", "--json", folder)
    damaged = pathlib.Path(opened.list()[0]["Path"])
    damaged.chmod(0o644)
    damaged.write_bytes(damaged.read_bytes()[:-1])
    [problem] = opened.check()["Problems"]
    assert problem["Path"] == str(damaged) and problem["Message"]


def test_pins_keep_files_from_a_collection(store):
    opened, ids, folder = store
    opened.pin("release", ids[:2])
    opened.pin("release", [ids[0]])
    assert opened.pins() == {"release": sorted(ids[:2])}
    assert command("store", "pin", "--json", folder) == [{"Pin": "release", "BuildId": id} for id in sorted(ids[:2])]
    dry = opened.gc(max_bytes=0, dry_run=True)
    assert dry["DryRun"] and dry["Removed"] == [ids[2]] and len(opened.list()) == 3
    assert [dry] == command("store", "gc", "--json", "--max-bytes", "0", "--dry-run", folder)
    done = opened.gc(max_bytes=0)
    assert done == {**dry, "DryRun": False} and {file["BuildId"] for file in opened.list()} == set(ids[:2])
    assert opened.unpin("release", [ids[1]]) and opened.pins() == {"release": [ids[0]]}
    assert opened.unpin("release") and not opened.unpin("release")
    assert opened.gc(max_age_days=1)["Removed"] == [] and set(opened.gc(max_bytes=0)["Removed"]) == set(ids[:2])
    for wrong in ({"max_age_days": -1.0}, {"older_than_days": float("nan")}):
        with pytest.raises(ValueError, match="expected days"):
            opened.gc(**wrong)
    with pytest.raises(foldsym.FoldsymError, match="not in the store"):
        # A pin by a build id may come before the file.
        opened.pin("release", ["11" * 16 + "0"])
    with pytest.raises(ValueError, match="expected ids"):
        opened.pin("release", [])


def test_files_are_removed_by_any_of_their_ids(store):
    opened, ids, _ = store
    debug_id = next(file["DebugId"] for file in opened.list() if file["BuildId"] == ids[0])
    assert opened.remove(debug_id) and not opened.remove(ids[0]) and opened.remove(ids[1])
    assert [file["BuildId"] for file in opened.list()] == [ids[2]]
    with pytest.raises(ValueError):
        opened.remove("no id")


def test_conversion_into_a_store_keeps_what_is_asked_for(store):
    opened, ids, folder = store
    before = opened.list()
    path = next(pathlib.Path(file["Path"]) for file in before if file["BuildId"] == ids[0])
    [plain] = command("info", "--json", path)
    assert opened.convert(BUILT / "demo.elf", unwind=True) == ids[0]
    [unwinding] = command("info", "--json", path)
    sections = lambda info: {section["Name"] for section in info["Sections"]}
    assert "UNWIND" in sections(unwinding) and "UNWIND" not in sections(plain)


def test_reports_are_those_of_the_command(store):
    opened, _, _ = store
    crash = REPORTS / "crash"
    engine = foldsym.Symbolizer(search=[crash])
    for name in ("crash.dmp", "asan.txt", "mail.pb.gz", "perf-events.txt"):
        report = REPORTS / name
        [expected] = command("symbolize", "--search", crash, "--json", report)
        assert foldsym.read_report(report, engine) == expected
        assert foldsym.read_report(report.read_bytes(), engine) == {**expected, "File": "<bytes>"}
        [expected] = command("symbolize", "--search", crash, "--json", "--signature", report)
        assert foldsym.read_report(report, engine, signature=True) == expected
        [expected] = command("symbolize", "--search", crash, "--json", "--fields", "function,line,trust", report)
        assert foldsym.read_report(report, engine, fields=["function", "line", "trust"]) == expected
    [expected] = command("symbolize", "--json", "--event", "page-faults", "--store", store[2], REPORTS / "perf-events.txt")
    assert foldsym.read_report(REPORTS / "perf-events.txt", opened, event="page-faults") == expected
    with pytest.raises(foldsym.FoldsymError, match="gone"):
        foldsym.read_report(REPORTS / "gone")
    with pytest.raises(foldsym.FoldsymError, match="<bytes>"):
        foldsym.read_report(b"no report")
    with pytest.raises(ValueError, match="no field `lines`"):
        foldsym.read_report(REPORTS / "asan.txt", fields=["lines"])
    with pytest.raises(ValueError, match="expected one of .*minidump"):
        foldsym.read_report(b"", format="dmp")
    with pytest.raises(foldsym.FoldsymError):
        foldsym.read_report((REPORTS / "asan.txt").read_bytes(), format="minidump")
    with pytest.raises(foldsym.FoldsymError, match="event"):
        foldsym.read_report(REPORTS / "asan.txt", event="cycles")


def test_keys_that_are_not_known_are_errors(store):
    engine = foldsym.Symbolizer([store[0]])
    module = {"name": "demo", "base": 0x20_0000}
    assert len(engine.stack([0x20129B, {"address": 1, "kind": "exact"}], [module])) == 2
    for frames, modules in (([1], [{**module, "bsae": 1}]), ([{"address": 1, "kinds": "exact"}], [module])):
        with pytest.raises(ValueError, match="unknown key"):
            engine.stack(frames, modules)
    for call in (lambda: engine.stack([1], [module], signatures=True), lambda: store[0].gc(max_size=1)):
        with pytest.raises(TypeError):
            call()


def test_the_version_is_that_of_the_command():
    assert subprocess.run([COMMAND, "--version"], capture_output=True, text=True).stdout.split()[1] == foldsym.__version__
