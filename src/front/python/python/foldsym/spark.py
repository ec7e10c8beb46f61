"""Stacks in Spark data frames. Needs pyspark 4 and pyarrow on the driver and the executors; the module `foldsym` needs neither.

Every executor must see the store at the same path (a shared folder), and must have the wheel installed.
"""

from __future__ import annotations

import functools


def _schema(df):
    from pyspark.sql import types as t

    text, number = t.StringType(), t.IntegerType()
    fields = [
        ("frame", number),
        ("address", t.LongType()),
        ("function", text),
        ("linkage_name", text),
        ("file", text),
        ("line", number),
        ("column", number),
        ("inlined", t.BooleanType()),
        ("module", text),
        ("certainty", text),
        ("evidence", text),
        ("reason", text),
        ("candidate_count", number),
        ("candidates", t.ArrayType(text)),
        ("unknown", text),
        ("message", text),
    ]
    symbols = t.ArrayType(t.StructType([t.StructField(name, kind) for name, kind in fields]))
    kept = [field for field in df.schema.fields if field.name != "symbols"]
    return t.StructType([*kept, t.StructField("symbols", symbols)])


@functools.cache
def _symbolizer(store):
    """The engine of a Python worker: tasks that follow each other share its open files."""
    import foldsym

    return foldsym.Symbolizer([foldsym.Store(store)])


def _answer(store, batches):
    import pyarrow

    import foldsym

    for batch in batches:
        yield pyarrow.record_batch(foldsym.symbolize_batch(batch, _symbolizer(store), dictionaries=False))


def symbolize(df, store, *, partition_by=None, partitions=None):
    """The data frame with a column `symbols`; the columns of stacks are those of `foldsym.symbolize_batch`.

    `store` is the folder of a store. Rows are moved so that those of one module are together and each task opens few files:
    by `partition_by`, the names of columns; without it by `module_id`, or else by the first of `modules`. An empty list moves nothing.
    The order of the rows is not kept.
    """
    from pyspark.sql import functions as f

    if partition_by is None:
        is_one = "module_id" in df.columns
        keys = [f.col("module_id")] if is_one else [f.try_element_at(f.col("modules.id"), f.lit(1))]
    else:
        keys = [f.col(name) for name in partition_by]
    if keys:
        df = df.repartition(partitions, *keys) if partitions else df.repartition(*keys)
        df = df.sortWithinPartitions(*keys)
    return df.mapInArrow(functools.partial(_answer, str(store)), _schema(df))


def _convert(store, paths):
    import os
    import tempfile

    import foldsym

    opened = foldsym.Store(store)
    for path in paths:
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "converted.fsym")
            try:
                foldsym.convert(path, out, threads=1)
                yield (path, opened.add(out), None)
            except foldsym.FoldsymError as error:
                yield (path, None, str(error))


def convert(paths, store, *, spark=None):
    """Converts programs, a task each, and publishes them in a store. Gives a data frame of path, id and error."""
    from pyspark.sql import SparkSession

    import foldsym

    foldsym.Store(str(store), create=True)
    spark = spark or SparkSession.builder.getOrCreate()
    paths = [str(path) for path in paths]
    tasks = spark.sparkContext.parallelize(paths, max(1, len(paths)))
    rows = tasks.mapPartitions(functools.partial(_convert, str(store)))
    return spark.createDataFrame(rows, "path string, id string, error string")
