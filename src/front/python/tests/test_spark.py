"""Spark against tables: the same answers, however the rows are partitioned."""

import os
import sys

import pytest

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")

import foldsym
import foldsym.spark
from test_files import BUILT
from test_tables import fleet, table  # noqa: F401


@pytest.fixture(scope="module")
def spark():
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    master = os.environ.get("FOLDSYM_SPARK_MASTER", "local[2]")
    builder = SparkSession.builder.master(master).config("spark.ui.enabled", "false")
    session = builder.config("spark.sql.shuffle.partitions", "4").getOrCreate()
    yield session
    session.stop()


def test_answers_do_not_depend_on_partitions(spark, fleet, tmp_path):  # noqa: F811
    import pyarrow.parquet

    store, rows = fleet
    pyarrow.parquet.write_table(table(rows), tmp_path / "stacks.parquet")
    whole = pa.record_batch(foldsym.symbolize_batch(table(rows), store))["symbols"].to_pylist()
    df = spark.read.parquet(str(tmp_path / "stacks.parquet"))
    for arguments in ({}, {"partition_by": []}, {"partition_by": ["row"], "partitions": 7}):
        found = foldsym.spark.symbolize(df, store, **arguments).collect()
        assert len(found) == len(rows)
        for row in found:
            ours = row["symbols"] and [one.asDict() for one in row["symbols"]]
            assert (ours or None) == (whole[row["row"]] or None), (arguments, row["row"])


def test_programs_are_converted_into_a_store(spark, tmp_path):
    paths = [BUILT / "fold.clang-lld.set" / "program", BUILT / "demo.elf", tmp_path / "nowhere"]
    rows = foldsym.spark.convert(paths, tmp_path / "store", spark=spark).collect()
    by_path = {row["path"]: row for row in rows}
    assert len(by_path) == 3 and "nowhere" in by_path[str(paths[2])]["error"]
    for path in paths[:2]:
        id = by_path[str(path)]["id"]
        assert foldsym.Store(tmp_path / "store").get(id).info()["BuildId"] == id
