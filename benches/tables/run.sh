#!/bin/bash
# Builds the released wheel and the example of `foldsym-table`, and measures tables of stacks: see `tables.py --help` for options.
# PROFILE=dev measures a build of the profile `dev` (opt-level 1) instead. Needs corpus/rocksdb (`cargo xtask corpus rocksdb`), clang and llvm-symbolizer 22, and Java 17 unless `--no-spark` is given.
set -euo pipefail
cd "$(dirname "$0")/../.."
venv=${FOLDSYM_VENV:-$PWD/target/tables/venv}
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/pip" install --quiet maturin pyarrow 'pandas<3' 'pyspark>=4,<5'
export PROFILE=${PROFILE:-release}
cargo build --profile "$PROFILE" --package foldsym-table --example throughput
wheels=$(mktemp -d)
(cd src/front/python && "$venv/bin/maturin" build --quiet --profile "$PROFILE" --interpreter "$venv/bin/python" --out "$wheels")
"$venv/bin/pip" install --quiet --force-reinstall "$wheels"/*.whl
exec "$venv/bin/python" benches/tables/tables.py "$@"
