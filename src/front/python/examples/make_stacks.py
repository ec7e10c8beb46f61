"""Writes `stacks.parquet`: the stacks that the programs of `testbins/built/fold.*.set` printed when they ran, one a row.

A fleet in small: one program, built by several compilers and linkers. `build` says by which, `module_id` is the build id,
`frames` are link-time addresses, innermost first. Made anew, the file has the same rows (`tests/test_examples.py`).
"""

import pathlib
import sys
import tempfile

import foldsym
import pyarrow
import pyarrow.parquet

HERE = pathlib.Path(__file__).parent
BUILT = HERE.parents[3] / "testbins" / "built"


def programs():
    """The programs, by the name of their build."""
    return {path.name.removeprefix("fold.").removesuffix(".set"): path / "program" for path in sorted(BUILT.glob("fold.*.set"))}


def stacks(build, program):
    """The rows of a program. Its lines are `stack BIAS VPTR ADDRESS... | what ran`, innermost address first."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "program.fsym"
        foldsym.convert(program, out)
        id = foldsym.SymbolFile(out).info()["BuildId"]
    for line in (program.parent / "stacks").read_text().splitlines():
        bias, _, *addresses = (word for word in line.split("|")[0].split()[1:])
        yield {"build": build, "module_id": id, "frames": [int(at, 16) - int(bias, 16) for at in addresses]}


def table():
    """All rows."""
    schema = {"build": pyarrow.string(), "module_id": pyarrow.string(), "frames": pyarrow.list_(pyarrow.int64())}
    rows = [row for build, program in programs().items() for row in stacks(build, program)]
    return pyarrow.Table.from_pylist(rows, pyarrow.schema(schema))


if __name__ == "__main__":
    out = sys.argv[1] if len(sys.argv) > 1 else HERE / "stacks.parquet"
    pyarrow.parquet.write_table(table(), out, compression="zstd")
