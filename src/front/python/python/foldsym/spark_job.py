"""Jobs for `spark-submit`: Parquet of stacks to Parquet of frames, and programs to a store.

    spark-submit spark_job.py symbolize --input STACKS --output FRAMES --store STORE [--metrics M.json]
    spark-submit spark_job.py convert --list PROGRAMS.txt --store STORE

`python -c 'import foldsym.spark_job as job; print(job.__file__)'` says where this file is.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import sys
import time
from collections.abc import Sequence

import foldsym.spark


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="spark_job.py", description="Stacks to frames, or programs to symbols, in Spark.")
    tasks = parser.add_subparsers(dest="task", required=True)
    task = tasks.add_parser("symbolize", help="Parquet of stacks to Parquet with a column of frames")
    task.add_argument("--input", required=True, nargs="+", help="Parquet files or folders, of any file system that Spark reads")
    task.add_argument("--output", required=True, help="folder to write")
    task.add_argument("--store", required=True, help="store, at the same place on every executor")
    task.add_argument("--mode", default="error", choices=["error", "overwrite", "append"], help="if the output is there")
    task.add_argument("--partition-by", nargs="*", help="columns by which rows are moved (default: the module); none: rows stay")
    task.add_argument("--partitions", type=int, help="how many tasks (default: spark.sql.shuffle.partitions)")
    task.add_argument("--fields", nargs="+", help="fields of the answers (default: all)")
    task.add_argument("--keep", nargs="*", help="columns of the input that the output has (default: all)")
    task.add_argument("--signature", action="store_true", help="adds the columns of signatures, which name the bucket of each stack")
    task.add_argument("--signature-rules", type=pathlib.Path, help="file on the driver with rules for signatures")
    task.add_argument("--metrics", type=pathlib.Path, help="file on the driver for the metrics, as JSON")
    task = tasks.add_parser("convert", help="programs to a store, a task each")
    task.add_argument("--list", required=True, type=pathlib.Path, help="file with a path a line")
    task.add_argument("--store", required=True, help="store, at the same place on every executor")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a job. Gives the exit code: 4 if some of the programs were not converted."""
    from pyspark.sql import SparkSession

    arguments = _arguments(argv)
    spark = SparkSession.builder.appName(f"foldsym {arguments.task}").getOrCreate()
    try:
        if arguments.task == "convert":
            paths = [line for line in arguments.list.read_text().splitlines() if line]
            rows = foldsym.spark.convert(paths, arguments.store, spark=spark).collect()
            failed = [row for row in rows if row["error"]]
            for row in failed:
                print(row["error"], file=sys.stderr)
            print(json.dumps({"converted": len(rows) - len(failed), "failed": len(failed)}))
            return 4 if failed else 0
        start = time.perf_counter()
        metrics = foldsym.spark.Metrics(spark.sparkContext)
        stacks = spark.read.parquet(*arguments.input)
        answers = foldsym.spark.symbolize(
            stacks,
            arguments.store,
            partition_by=arguments.partition_by,
            partitions=arguments.partitions,
            metrics=metrics,
            fields=arguments.fields,
            keep=arguments.keep,
            signature=arguments.signature,
            signature_rules=arguments.signature_rules,
        )
        answers.write.mode(arguments.mode).parquet(arguments.output)
        done = {**metrics.value(), "wall_seconds": time.perf_counter() - start}
        print(json.dumps(done))
        if unread := {word: count for word, count in done["unknown"].items() if word != "absent"}:
            print(f"frames without a function, as symbol files could not be read: {unread}", file=sys.stderr)
        if arguments.metrics:
            arguments.metrics.write_text(json.dumps(done, indent=2) + "\n")
        return 0
    finally:
        spark.stop()


if __name__ == "__main__":
    sys.exit(main())
