#!/bin/bash
# Builds the wheel into a virtual environment outside the repository, and tests it against the command line.
set -euo pipefail
cd "$(dirname "$0")"
if ! python3 -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    echo "skipped: needs python3 of version 3.11 or later, with venv"
    [ "${CI:-}" != true ] || exit 1
    exit 0
fi
venv=${FOLDSYM_VENV:-$(mktemp -d)/venv}
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/pip" install --quiet maturin pytest pyarrow 'pandas<3' polars duckdb nanoarrow 'pyspark>=4,<5'
(cd ../../.. && cargo build --package foldsym --features parquet)
wheels=$(mktemp -d)
"$venv/bin/maturin" build --quiet --profile dev --interpreter "$venv/bin/python" --out "$wheels"
"$venv/bin/pip" install --quiet --force-reinstall "$wheels"/*.whl
"$venv/bin/python" -m pytest --quiet tests
