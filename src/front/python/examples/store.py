"""Makes the store of the examples: converts the programs whose stacks `stacks.parquet` has.

    python store.py STORE
"""

import pathlib
import sys
import tempfile

import foldsym
from make_stacks import programs

if __name__ == "__main__":
    store = foldsym.Store(sys.argv[1], create=True)
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "program.fsym"
        for build, program in programs().items():
            foldsym.convert(program, out)
            print(f"{store.add(out)} {build}")
