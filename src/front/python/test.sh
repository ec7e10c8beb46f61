#!/bin/bash
# Builds the wheel into a virtual environment outside the repository, and tests it against the command line. `test.sh slow` runs what
# takes long in its place: a million stacks, a million modules, and Spark as a cluster of two executors.
set -euo pipefail
cd "$(dirname "$0")"
skip() {
    echo "skipped: needs $1"
    [ "${CI:-}" != true ] || exit 1
    exit 0
}
python3 -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null ||
    skip "python3 of version 3.11 or later, with venv"
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
venv=${FOLDSYM_VENV:-$made/venv}
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/pip" install --quiet -r requirements.txt
# The command that the wheel is compared with, unless FOLDSYM names it.
[ -n "${FOLDSYM:-}" ] || (cd ../../.. && cargo build --package foldsym --features parquet)
wheels=$made/wheels
# Crates of others that the command has built are not built again.
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/../../../target}
"$venv/bin/maturin" build --quiet --profile dev --interpreter "$venv/bin/python" --out "$wheels"
"$venv/bin/pip" install --quiet --force-reinstall "$wheels"/*.whl
FOLDSYM_WHEEL=$(echo "$wheels"/*.whl)
export FOLDSYM_WHEEL
case ${1:-} in
    '') "$venv/bin/python" -m pytest --quiet tests ;;
    slow)
        command -v java >/dev/null || skip "Java 17"
        FOLDSYM_STACKS=1000000 "$venv/bin/python" -m pytest --quiet tests/test_many.py
        FOLDSYM_SPARK_MASTER='local-cluster[2,1,1024]' "$venv/bin/python" -m pytest --quiet tests/test_spark.py
        ;;
    *)
        echo "usage: test.sh [slow]" >&2
        exit 2
        ;;
esac
