"""The examples: run as a reader runs them, over the committed stacks, which are those of the programs."""

import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree as xml

import pytest

pa = pytest.importorskip("pyarrow")
pytest.importorskip("polars")
pytest.importorskip("duckdb")

import pyarrow.parquet

EXAMPLES = pathlib.Path(__file__).parents[1] / "examples"


def run(name, *arguments):
    done = subprocess.run([sys.executable, EXAMPLES / name, *map(str, arguments)], capture_output=True, text=True)
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
