"""Many stacks and many modules: a few thousand here, a million with FOLDSYM_STACKS=1000000 (`test.sh slow`)."""

import os
import random
import resource

import pytest

import foldsym
from test_files import BUILT
from test_tables import KERNEL, elements, expected, fleet, lines, signed, table, without_reasons  # noqa: F401

pa = pytest.importorskip("pyarrow")

STACKS = int(os.environ.get("FOLDSYM_STACKS", "4000"))
MODULES = int(os.environ.get("FOLDSYM_MODULES", str(STACKS)))


def stacks(rows, count, seed):
    """Stacks of the fleet, moved, cut, put together and damaged at random."""
    chosen = random.Random(seed)
    real = [row for row in rows if row["frames"] and row["modules"]]
    absent = {"id": "11" * 20, "name": "absent.so", "base": 0x1000}
    for at in range(count):
        row = chosen.choice(real)
        module, frames = row["modules"][0], list(row["frames"])
        base = chosen.choice([0x10_0000, 0x7F00_0000_0000, KERNEL, module["base"]])
        # Rows without the absent module have frames that are no module's.
        modules = [{**module, "base": signed(base % 2**64)}, absent][: chosen.choice([1, 2, 2, 2])]
        moved = [None if frame is None else signed((frame - module["base"] + base) % 2**64) for frame in frames]
        match chosen.randrange(8):
            case 0:
                moved = moved[chosen.randrange(len(moved)) :]
            case 1:
                moved = moved[: chosen.randrange(len(moved) + 1)]
            case 2:
                moved.insert(chosen.randrange(len(moved) + 1), None)
            case 3:
                other = chosen.choice(real)
                end = other["frames"][chosen.randrange(len(other["frames"])) :]
                modules.append({**other["modules"][0], "base": signed((base + (1 << 32)) % 2**64)})
                shift = base + (1 << 32) - other["modules"][0]["base"]
                moved += [None if frame is None else signed((frame + shift) % 2**64) for frame in end]
            case 4:
                moved[0] = signed((base + chosen.randrange(0x1_0000)) % 2**64)
        yield {"row": at, "modules": modules, "frames": moved}


def test_as_the_command_answers(fleet):  # noqa: F811
    store, rows = fleet
    chosen = random.Random(7)
    engine = foldsym.Symbolizer([foldsym.Store(store)])
    words, part = set(), []
    asked = 0
    for row in stacks(rows, STACKS, 1):
        part.append(row)
        if len(part) < 20_000 and row["row"] + 1 < STACKS:
            continue
        theirs = expected(store, part)
        ours, at = [], 0
        while at < len(part):
            size = chosen.choice([1, 17, 1000, 20_000])
            threads = chosen.choice([1, 2, 3])
            made = foldsym.symbolize_batch(table(part[at : at + size]), engine, threads=threads)
            ours += without_reasons(pa.record_batch(made)["symbols"].to_pylist())
            at += size
        for row, mine, other in zip(part, ours, theirs, strict=True):
            assert mine == other, row
        words |= {one["certainty"] for row in ours for one in row or []}
        asked += len(part)
        part = []
    assert asked == STACKS and {"unique", "exact", "ambiguous", None} <= words


def test_order_does_not_matter(fleet):  # noqa: F811
    store, rows = fleet
    all_rows = list(stacks(rows, min(STACKS, 20_000), 2))

    def answers(rows, size):
        out = {}
        for at in range(0, len(rows), size):
            made = pa.record_batch(foldsym.symbolize_batch(table(rows[at : at + size]), store))
            out.update(zip(made["row"].to_pylist(), made["symbols"].to_pylist(), strict=True))
        return out

    whole = answers(all_rows, len(all_rows))
    random.Random(3).shuffle(all_rows)
    assert answers(all_rows, 501) == whole


def test_many_distinct_modules(fleet):  # noqa: F811
    """Each row has a module of its own, which no store has, beside one that is there."""
    store, rows = fleet
    real = next(row for row in rows if row["frames"] and row["modules"][0]["base"] > 0)
    engine = foldsym.Symbolizer([foldsym.Store(store)])
    [same] = pa.record_batch(foldsym.symbolize_batch(table([real]), engine))["symbols"].to_pylist()
    same = [one for one in same if one["frame"] == 0]
    far = 0x7000_0000_0000
    peaks = []
    for start in range(0, MODULES, 10_000):
        part = [
            {
                "row": at,
                "modules": [{"id": f"{at + 1:040x}", "name": f"m{at}", "base": far}, real["modules"][0]],
                "frames": [real["frames"][0], far + 16],
            }
            for at in range(start, min(start + 10_000, MODULES))
        ]
        ours = pa.record_batch(foldsym.symbolize_batch(table(part), engine))["symbols"].to_pylist()
        for row, answer in zip(part, ours, strict=True):
            assert answer[-1]["unknown"] == "absent" and answer[-1]["module"] == f"m{row['row']}"
            assert [one["function"] for one in answer[:-1]] == [one["function"] for one in same]
        peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    # Modules are not kept for ever: KiB, after the first parts.
    assert len(peaks) < 10 or peaks[-1] < peaks[4] + (100 << 10), peaks


def test_damaged_files(fleet, tmp_path):  # noqa: F811
    """Bytes of a file in the store are changed: the batch says what the command says, and never more."""
    import shutil

    store, rows = fleet
    broken = rows[0]["modules"][0]["id"]
    mine = [row for row in rows if row["modules"] and row["modules"][0]["id"] == broken][:60]
    shutil.copytree(store, tmp_path / "store")
    [path] = (tmp_path / "store" / broken[:2] / broken[2:]).glob("*.fsym")
    whole = path.read_bytes()
    path.chmod(0o644)
    chosen = random.Random(5)
    kinds = set()
    for _ in range(12):
        damaged = bytearray(whole)
        for _ in range(chosen.choice([1, 10, 300])):
            damaged[chosen.randrange(len(damaged))] = chosen.randrange(256)
        # As another file, so that no map of the one before is changed under its reader.
        path.unlink()
        path.write_bytes(damaged)
        made = foldsym.symbolize_batch(table(mine), tmp_path / "store")
        ours = pa.record_batch(made)["symbols"].to_pylist()
        for row, answer, line in zip(mine, ours, lines(tmp_path / "store", mine), strict=True):
            # JSON has texts that the table has not, so that a frame may lack an answer there alone: no other frame does.
            known = [frame for frame, of_line in enumerate(line["Frames"]) if of_line["Certainty"] is not None]
            [mine_too], [table_says] = [elements(row, line)], without_reasons([answer])
            for frame in range(len(row["frames"] or [])):
                in_table = [one for one in table_says or [] if one["frame"] == frame]
                in_json = [one for one in mine_too or [] if one["frame"] == frame]
                assert in_table == in_json or (frame not in known and in_table[0]["certainty"] is not None)
        kinds |= {one["unknown"] for row in ours for one in row or []}
    assert "damaged" in kinds and None in kinds, kinds
