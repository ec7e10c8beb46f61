"""Buckets of stacks in Spark: a row for each bucket, and for each function of a stack by `explode`.

    spark-submit buckets_spark.py STORE
"""

import pathlib
import sys

from foldsym.spark import symbolize
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

if __name__ == "__main__":
    spark = SparkSession.builder.appName("buckets").getOrCreate()
    stacks = spark.read.parquet(str(pathlib.Path(__file__).parent / "stacks.parquet"))
    # A row is a stack still; `symbols` is the list of its functions.
    fields = ["frame", "function", "line", "inlined", "certainty"]
    answered = symbolize(stacks, sys.argv[1], fields=fields, keep=["build"], signature=True).cache()

    buckets = answered.groupBy("signature_hash", "signature").agg(f.count("*").alias("stacks"), f.countDistinct("build").alias("builds"))
    buckets.orderBy(f.desc("stacks"), "signature").show(10, truncate=False)

    # A row is a function of a frame from here on.
    functions = answered.select("build", f.explode("symbols").alias("at")).select("build", "at.*")
    innermost = functions.where("frame = 0 and not inlined").groupBy("function", "certainty").count()
    innermost.orderBy(f.desc("count"), "function", "certainty").show(10, truncate=False)
    spark.stop()
