"""The examples: run as a reader runs them, over the committed stacks, which are those of the programs."""

import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as xml

import pytest

pa = pytest.importorskip("pyarrow")
pytest.importorskip("polars")
pytest.importorskip("duckdb")

import foldsym
import pyarrow.parquet
from test_files import COMMAND, ROOT

EXAMPLES = pathlib.Path(__file__).parents[1] / "examples"


def run(name, *arguments, **environment):
    environment = {**os.environ, **environment}
    done = subprocess.run([sys.executable, EXAMPLES / name, *map(str, arguments)], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    store = tmp_path_factory.mktemp("examples") / "store"
    assert len(run("store.py", store).splitlines()) == 13
    return store


def test_committed_stacks_are_those_of_the_programs(tmp_path):
    committed = EXAMPLES / "stacks.parquet"
    assert committed.stat().st_size < 300_000
    run("make_stacks.py", tmp_path / "stacks.parquet")
    made = pyarrow.parquet.read_table(tmp_path / "stacks.parquet")
    assert pyarrow.parquet.read_table(committed).equals(made) and made.num_rows > 2000


def test_flame_graph(store, tmp_path):
    run("flame_duckdb.py", store, tmp_path / "flame.svg")
    picture = xml.parse(tmp_path / "flame.svg").getroot()
    titles = [title.text for title in picture.iter("{http://www.w3.org/2000/svg}title")]
    known = [re.fullmatch(r"(.+): (\d+) of 160, (\w+)", title).groups() for title in titles]
    # Every stack was begun by `run`.
    assert ("run", "160", "unique") in known
    assert {"unique", "exact", "ambiguous"} <= {word for _, _, word in known}


def test_certainty_by_build(store, tmp_path):
    shown = run("certainty_polars.py", store, tmp_path / "certainty.svg")
    assert "certainty" in shown and "exact" in shown
    picture = xml.parse(tmp_path / "certainty.svg").getroot()
    texts = [text.text for text in picture.iter("{http://www.w3.org/2000/svg}text")]
    builds = {path.name.removeprefix("fold.").removesuffix(".set") for path in (EXAMPLES.parents[3] / "testbins" / "built").glob("fold.*.set")}
    assert builds <= set(texts) and any(text.endswith("%") for text in texts)


def test_buckets(store, tmp_path):
    shown = run("buckets_polars.py", store, tmp_path / "buckets.svg")
    stacks, buckets = map(int, re.match(r"(\d+) stacks, (\d+) buckets\n", shown).groups())
    assert stacks > 2000 and buckets < stacks / 5
    picture = (tmp_path / "buckets.svg").read_text()
    texts = [text.text for text in xml.fromstring(picture).iter("{http://www.w3.org/2000/svg}text")]
    # Fault by fault, all builds of the program are in one bucket.
    assert sum(text.endswith(" stacks, 13 builds") for text in texts) > 5 and len(texts) == 40
    assert (EXAMPLES / "buckets.svg").read_text() == picture


def test_buckets_in_spark(store):
    pytest.importorskip("pyspark")
    if not shutil.which("java"):
        assert os.environ.get("CI") != "true", "needs Java 17"
        pytest.skip("needs Java 17")
    submitted = "--master local[2] --conf spark.ui.enabled=false --conf spark.sql.shuffle.partitions=4 pyspark-shell"
    shown = run("buckets_spark.py", store, PYSPARK_PYTHON=sys.executable, PYSPARK_SUBMIT_ARGS=submitted)
    answers = foldsym.symbolize_batch(pyarrow.parquet.read_table(EXAMPLES / "stacks.parquet"), store, signature=True)
    rows = pa.record_batch(answers).to_pylist()
    [(text, most)] = collections.Counter(row["signature"] for row in rows).most_common(1)
    assert re.search(rf"\|{re.escape(text)} *\|{most} *\|13 ", shown), shown
    assert re.search(r"\|function +\|certainty\|count\|", shown), shown


def test_readme_goes_from_lines_of_json_to_buckets(tmp_path):
    """README's lines, in a shell and in Python, on stacks of two programs."""
    page = (ROOT / "README.md").read_text()
    blocks = re.findall(r"^```(\w+)\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    [shell] = [text for language, text in blocks if language == "sh" and "signatures.txt" in text]
    [python] = [text for language, text in blocks if language == "python" and "Signature" in text]
    assert len(shell.splitlines()) == len(python.splitlines()) == 5
    (tmp_path / "build").mkdir()
    lines = []
    for name in ("fold.clang-lld", "fold.gcc-gold"):
        folder = ROOT / "testbins" / "built" / f"{name}.set"
        shutil.copy(folder / "program", tmp_path / "build" / name)
        info = foldsym.SymbolFile(folder / "program").info()
        base = int(info["ImageBase"], 16)
        for line in (folder / "stacks").read_text().splitlines():
            _, bias, _, *frames = line.split("|")[0].split()
            addresses = [hex(int(frame, 16) - int(bias, 16)) for frame in frames]
            lines.append(json.dumps({"modules": [{"id": info["BuildId"], "name": name, "base": hex(base)}], "frames": addresses}))
    (tmp_path / "stacks.jsonl").write_text("".join(line + "\n" for line in lines))
    bin = tmp_path / "bin"
    bin.mkdir()
    (bin / "foldsym").symlink_to(pathlib.Path(COMMAND).resolve())
    environment = {**os.environ, "PATH": f"{bin}:{os.environ['PATH']}"}
    ran = subprocess.run(["bash", "-euc", shell], cwd=tmp_path, env=environment, capture_output=True, text=True)
    # The conversion prints lines too.
    shown = re.findall(r"^ *(\d+) [0-9a-f]{16} (.+)$", ran.stdout, re.MULTILINE)
    buckets = [(int(count), text) for count, text in shown]
    assert len(buckets) == 10, ran
    assert len((tmp_path / "signatures.txt").read_text().splitlines()) == len(lines)
    assert re.search(r"^.+ at /src/fold/\w+\.cpp:\d+", ran.stdout, re.MULTILINE), ran
    ran = subprocess.run([sys.executable, "-c", python], cwd=tmp_path, capture_output=True, text=True, check=True)
    counts = [line.split(" ", 1) for line in ran.stdout.splitlines()]
    assert sorted(count for count, _ in buckets) == sorted(int(count) for count, _ in counts)
    # Equal counts may come in any order, and the tenth may be another of the same count.
    assert {(int(count), text) for count, text in counts[:5]} <= set(buckets)
