"""Spark against tables: the same answers, however the rows are partitioned, and whichever tasks run again. FOLDSYM_SPARK_MASTER names another
cluster than `local[2,2]`: two threads, and a task may fail once."""

import collections
import json
import os
import random
import subprocess
import sys

import pytest

pa = pytest.importorskip("pyarrow")
pyspark = pytest.importorskip("pyspark")

import foldsym
import foldsym.spark
import foldsym.spark_job
from test_files import BUILT
from test_tables import fleet, table  # noqa: F401

MASTER = os.environ.get("FOLDSYM_SPARK_MASTER", "local[2,2]")


@pytest.fixture(scope="module")
def spark():
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(MASTER).config("spark.ui.enabled", "false")
    builder = builder.config("spark.executor.memory", "512m").config("spark.sql.shuffle.partitions", "4")
    session = builder.getOrCreate()
    yield session
    session.stop()


@pytest.fixture
def stacks(fleet, tmp_path):  # noqa: F811
    """The rows as Parquet, and what they are answered."""
    import pyarrow.parquet

    store, rows = fleet
    pyarrow.parquet.write_table(table(rows), tmp_path / "stacks.parquet")
    whole = pa.record_batch(foldsym.symbolize_batch(table(rows), store))["symbols"].to_pylist()
    return store, rows, whole, str(tmp_path / "stacks.parquet")


def same(found, whole):
    assert sorted(row["row"] for row in found) == list(range(len(whole)))
    for row in found:
        ours = None if row["symbols"] is None else [one.asDict() for one in row["symbols"]]
        assert ours == whole[row["row"]], row["row"]


def test_answers_do_not_depend_on_partitions(spark, stacks):
    store, _, whole, path = stacks
    df = spark.read.parquet(path)
    for arguments in ({}, {"partition_by": []}, {"partition_by": ["row"], "partitions": 7}, {"partitions": 1}):
        same(foldsym.spark.symbolize(df, store, **arguments).collect(), whole)


def test_signatures_are_columns(spark, stacks, tmp_path):
    store, rows, _, path = stacks
    df = spark.read.parquet(path)
    columns = ["signature", "signature_hash", "signature_rules"]
    (tmp_path / "own.rules").write_text("frames 1\nversion mine\n")
    for rules in (None, tmp_path / "own.rules", b"frames 1\nversion mine\n"):
        whole = pa.record_batch(foldsym.symbolize_batch(table(rows), store, signature=True, signature_rules=rules))
        expected = {row["row"]: [row[name] for name in columns] for row in whole.to_pylist()}
        signed = foldsym.spark.symbolize(df, store, fields=["function"], keep=["row"], signature=True, signature_rules=rules)
        assert signed.columns == ["row", "symbols", *columns]
        assert {row["row"]: [row[name] for name in columns] for row in signed.collect()} == expected
    # A table that has them already gets them anew.
    again = foldsym.spark.symbolize(signed.join(df, "row"), store, signature=True)
    assert sorted(again.columns) == sorted([*df.columns, "symbols", *columns])
    assert {row["signature_rules"] for row in again.select("signature_rules").collect()} == {"1", None}
    with pytest.raises(ValueError, match="without signature"):
        foldsym.spark.symbolize(df, store, signature_rules=b"")


def test_fields_and_columns_that_are_asked_for(spark, stacks):
    store, rows, whole, path = stacks
    df = spark.read.parquet(path)
    for metrics in (None, foldsym.spark.Metrics(spark.sparkContext)):
        some = foldsym.spark.symbolize(df, store, fields=["line", "function", "frame"], keep=["row"], metrics=metrics)
        assert some.columns == ["row", "symbols"]
        found = {row["row"]: row["symbols"] for row in some.collect()}
        assert len(found) == len(whole)
        for at, answer in enumerate(whole):
            names = ("frame", "function", "line")
            expected = answer and [{name: one[name] for name in names} for one in answer]
            assert ([one.asDict() for one in found[at]] if found[at] is not None else None) == expected
        assert some.schema["symbols"].dataType.elementType.names == ["frame", "function", "line"]
    assert metrics.value()["unknown_modules"].keys() == {"absent.so"}
    for wrong in ({"fields": []}, {"fields": ["name"]}, {"keep": ["nothing"]}):
        with pytest.raises(ValueError, match="fields: expected|no column 'nothing'"):
            foldsym.spark.symbolize(df, store, **wrong)


def test_texts_cross_as_views_or_plain(spark, stacks, monkeypatch):
    """The same answers, where Spark reads views and where it does not."""
    store, _, whole, path = stacks
    df = spark.read.parquet(path)
    assert foldsym.spark._reads_views(spark) == (tuple(map(int, pyspark.__version__.split(".")[:2])) >= (4, 3))
    for reads in (False, foldsym.spark._reads_views(spark)):
        monkeypatch.setattr(foldsym.spark, "_reads_views", lambda session, reads=reads: reads)
        same(foldsym.spark.symbolize(df, store).collect(), whole)


def test_names_of_modules_are_read_where_an_answer_has_them(spark, stacks):
    """They are most of what a stack takes. Rows without modules, and modules without an id or a base, are answered as with names."""
    store, rows, whole, path = stacks
    df = spark.read.parquet(path)
    metrics = foldsym.spark.Metrics(spark.sparkContext)
    for has, options in (
        (False, {"fields": ["function", "line", "unknown"]}),
        (False, {"fields": ["function"], "partition_by": []}),
        (True, {"fields": ["function", "module"]}),
        (True, {"fields": ["message"]}),
        (True, {"fields": ["function"], "partition_by": ["modules.name"]}),
        (True, {"fields": ["function"], "metrics": metrics}),
        (True, {"fields": ["function"], "keep": ["row", "modules"]}),
        (True, {}),
    ):
        answered = foldsym.spark.symbolize(df, store, **{"keep": ["row"], **options})
        assert answered.columns == [*options.get("keep", ["row"]), "symbols"]
        plan = answered._jdf.queryExecution().executedPlan().toString()
        assert ("name:string" in plan.split("ReadSchema", 1)[1]) == has, options
        names = options.get("fields", whole[0][0].keys())
        for row in answered.collect():
            expected = whole[row["row"]]
            expected = expected and [{name: one[name] for name in one if name in names} for one in expected]
            assert (row["symbols"] and [one.asDict() for one in row["symbols"]]) == expected


def test_a_column_with_a_dot_is_refused_where_it_is_kept(spark, stacks):
    """Spark's mapInArrow cannot pass it."""
    store, _, whole, path = stacks
    from pyspark.sql import functions as f

    df = spark.read.parquet(path).withColumn("the.row", f.col("row"))
    with pytest.raises(ValueError, match="the.row"):
        foldsym.spark.symbolize(df, store)
    with pytest.raises(ValueError, match="the.row"):
        foldsym.spark.symbolize(df, store, keep=["the.row"])
    assert foldsym.spark.symbolize(df, store, keep=["row"]).count() == len(whole)


def test_a_key_may_be_a_field_of_a_column(spark, stacks):
    store, _, whole, path = stacks
    from pyspark.sql import functions as f

    df = spark.read.parquet(path).withColumn("crash", f.struct(f.col("row").alias("build")))
    some = foldsym.spark.symbolize(df, store, partition_by=["crash.build"], keep=["row"])
    assert some.columns == ["row", "symbols"]
    same(some.collect(), whole)


def test_addresses_that_spark_read_as_decimals_are_refused(spark, stacks):
    """On the driver, before any task."""
    store, _, _, path = stacks
    df = spark.read.parquet(path).selectExpr("row", "modules", "cast(frames as array<decimal(20,0)>) as frames")
    with pytest.raises(ValueError, match="frames: expected addresses as bigint"):
        foldsym.spark.symbolize(df, store)


def test_rows_go_where_their_values_say(spark, stacks):
    """Not where their order says: a task that runs again may read its rows in another."""
    from pyspark.sql import functions as f

    store, _, _, path = stacks
    df = spark.read.parquet(path)
    parts = []
    for one in df.orderBy("row").coalesce(1), df.orderBy(f.col("row").desc()).coalesce(1):
        # The bounds of ranges are of a sample of each order; what goes to one place must do so wherever the bounds are.
        moved = foldsym.spark._moved(foldsym.spark._salted(one), None, 4).select("row", f.spark_partition_id().alias("part"))
        parts.append({row["row"]: row["part"] for row in moved.collect()})
    assert len(set(parts[0].values())) == 4
    # Where the bounds agree a row is in the same part; few rows lie between two bounds.
    differ = sum(parts[1][row] != part for row, part in parts[0].items())
    assert differ < len(parts[0]) / 4, differ


def fails_once(how, marker):
    """A step that copies batches, in another order each time, and whose tasks fail at their first attempt after some of their rows went on."""

    def parent_of(process):
        """The process that started another, and its name."""
        status = dict(line.split(":", 1) for line in open(f"/proc/{process}/status") if ":" in line)
        parent = int(status["PPid"])
        return parent, open(f"/proc/{parent}/comm").read().strip()

    def copied(batches):
        import os
        import random
        import signal

        from pyspark import TaskContext

        for batch in batches:
            order = list(range(batch.num_rows))
            random.SystemRandom().shuffle(order)
            yield batch.take(order[: len(order) // 2])
            if how == "executor":
                # One executor of the cluster is lost, with what its tasks wrote for others to read.
                try:
                    os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
                except FileExistsError:
                    pass
                else:
                    process, name = parent_of(os.getpid())
                    while name != "java":
                        process, name = parent_of(process)
                    os.kill(process, signal.SIGKILL)
            elif TaskContext.get().attemptNumber() == 0:
                open(marker, "a").write("x")
                if how == "worker":
                    os.kill(os.getpid(), signal.SIGKILL)
                raise RuntimeError("the first attempt")
            yield batch.take(order[len(order) // 2 :])

    return copied


@pytest.mark.parametrize("partitions", [1, 5])
@pytest.mark.parametrize("stage", ["before", "after"])
@pytest.mark.parametrize("how", ["error", "worker", "executor"])
def test_answers_do_not_depend_on_retries(spark, stacks, tmp_path, how, stage, partitions):
    """Tasks fail before rows are moved, and while they are answered. Each row is answered once, whatever order its task read it in."""
    if how == "executor" and not MASTER.startswith("local-cluster"):
        pytest.skip("an executor can be lost in a cluster alone: test.sh slow")
    store, _, whole, path = stacks
    marker = str(tmp_path / "failed")
    df = spark.read.parquet(path)
    step = fails_once(how, marker)
    if stage == "before":
        moved = df.repartition(3).mapInArrow(step, df.schema)
        answered = foldsym.spark.symbolize(moved, store, partitions=partitions)
    else:
        answered = foldsym.spark.symbolize(df, store, partitions=partitions)
        answered = answered.mapInArrow(step, answered.schema)
    same(answered.collect(), whole)
    assert os.path.exists(marker), "no task failed"


def test_metrics_count_what_was_done(spark, stacks):
    store, rows, whole, path = stacks
    metrics = foldsym.spark.Metrics(spark.sparkContext)
    same(foldsym.spark.symbolize(spark.read.parquet(path), store, metrics=metrics).collect(), whole)
    counts = metrics.value()
    assert counts["rows"] == len(rows)
    assert counts["frames"] == sum(len(row["frames"] or []) for row in rows)
    assert counts["seconds"] > 0
    absent = [one["module"] for row in whole if row for one in row if one["unknown"] == "absent"]
    assert counts["unknown_frames"] == len(absent) > 0
    assert counts["unknown_modules"] == {"absent.so": len(absent)}
    assert counts["unknown"] == {"absent": len(absent)}


def test_metrics_tell_what_a_store_could_not_give(spark, stacks, tmp_path):
    """A damaged file is no module that the store does not know."""
    import shutil

    store, rows, _, path = stacks
    shutil.copytree(store, tmp_path / "store")
    for file in (tmp_path / "store").rglob("*.fsym"):
        file.chmod(0o644)
        file.write_bytes(file.read_bytes()[:4096])
    metrics = foldsym.spark.Metrics(spark.sparkContext)
    foldsym.spark.symbolize(spark.read.parquet(path), tmp_path / "store", metrics=metrics, fields=["function"]).collect()
    counts = metrics.value()
    assert counts["unknown"].keys() == {"absent", "damaged"} and counts["unknown"]["damaged"] > 100
    assert sum(counts["unknown"].values()) == counts["unknown_frames"]
    assert set(counts["unknown_modules"]) == {"absent.so", *(row["modules"][0]["name"] for row in rows if row["modules"])}


def test_workers_count_the_files_that_they_open(spark, fleet, tmp_path):  # noqa: F811
    """A store that no task has opened before: each worker opens each of its files once."""
    import shutil

    store, rows = fleet
    shutil.copytree(store, tmp_path / "store")
    metrics = foldsym.spark.Metrics(spark.sparkContext)
    df = spark.createDataFrame(table(rows).to_pylist(), "row long, modules array<struct<id:string,base:long,name:string>>, frames array<long>")
    foldsym.spark.symbolize(df, tmp_path / "store", metrics=metrics).collect()
    sizes = [path.stat().st_size for path in (tmp_path / "store").rglob("*.fsym")]
    counts = metrics.value()
    assert len(sizes) == 3 <= counts["files"] <= 3 * 4
    assert sum(sizes) <= counts["bytes"] <= 4 * sum(sizes)


@pytest.mark.parametrize("one_module", [False, True], ids=["modules", "module_id"])
def test_a_module_that_most_rows_have_is_cut(spark, fleet, one_module):  # noqa: F811
    """A hash of the module would put nearly all rows into one task."""
    from pyspark.sql import functions as f

    store, rows = fleet
    real = [row for row in rows if row["modules"] and row["frames"]]
    most, chosen = real[0]["modules"][0]["id"], random.Random(1)
    many = []
    for at in range(4000):
        row = chosen.choice(real)
        if chosen.randrange(10) and row["modules"][0]["id"] != most:
            row = next(other for other in real if other["modules"][0]["id"] == most)
            row = {**row, "frames": [*row["frames"], chosen.randrange(1 << 40)]}
        many.append({**row, "row": at})
    schema = "row long, modules array<struct<id:string,base:long,name:string>>, frames array<long>"
    df = spark.createDataFrame(many, schema)
    if one_module:
        df = df.withColumn("module_id", f.col("modules.id")[0]).drop("modules")
    moved = foldsym.spark.symbolize(df, store, partitions=8).select(f.spark_partition_id().alias("part"))
    sizes = [row["count"] for row in moved.groupBy("part").count().collect()]
    assert sum(sizes) == len(many) and len(sizes) == 8
    assert max(sizes) < 2 * len(many) / 8, sizes


def test_a_stack_that_many_rows_have_is_cut(spark, fleet):  # noqa: F811
    """An idle process: 40 of 100 rows are equal in all but their number."""
    from pyspark.sql import functions as f

    store, rows = fleet
    real = [row for row in rows if row["modules"] and row["frames"]]
    chosen = random.Random(2)
    many = [{**(real[0] if at % 5 < 2 else chosen.choice(real)), "row": at} for at in range(4000)]
    schema = "row long, modules array<struct<id:string,base:long,name:string>>, frames array<long>"
    answered = foldsym.spark.symbolize(spark.createDataFrame(many, schema), store, partitions=8)
    found = answered.withColumn("part", f.spark_partition_id()).collect()
    sizes = collections.Counter(row["part"] for row in found)
    assert len(sizes) == 8 and max(sizes.values()) < 2 * len(many) / 8, sizes
    assert "__foldsym_salt" not in answered.columns
    # Columns that are not kept cut equal stacks too.
    alone = foldsym.spark.symbolize(spark.createDataFrame(many, schema), store, partitions=8, keep=[])
    assert alone.columns == ["symbols"]
    sizes = collections.Counter(row["part"] for row in alone.select(f.spark_partition_id().alias("part")).collect())
    assert len(sizes) == 8 and max(sizes.values()) < 2 * len(many) / 8, sizes
    same(found, pa.record_batch(foldsym.symbolize_batch(table(many), store))["symbols"].to_pylist())


def test_programs_are_converted_into_a_store(spark, tmp_path):
    paths = [BUILT / "fold.clang-lld.set" / "program", BUILT / "demo.elf", tmp_path / "nowhere"]
    answered = foldsym.spark.convert(paths, tmp_path / "store", spark=spark)
    # It is done before anybody asks for a row, and is not done again by an action.
    files = {file: file.stat().st_mtime_ns for file in (tmp_path / "store").rglob("*.fsym")}
    assert len(files) == 2
    rows = answered.collect()
    assert answered.count() == 3 and files == {file: file.stat().st_mtime_ns for file in (tmp_path / "store").rglob("*.fsym")}
    by_path = {row["path"]: row for row in rows}
    assert len(by_path) == 3 and "nowhere" in by_path[str(paths[2])]["error"]
    for path in paths[:2]:
        id = by_path[str(path)]["id"]
        assert foldsym.Store(tmp_path / "store").get(id).info()["BuildId"] == id


def test_jobs_are_submitted(stacks, tmp_path):
    """As a user does: `spark-submit` in a process of its own."""
    import pyarrow.parquet

    store, rows, whole, path = stacks
    submit = [os.path.join(pyspark.__path__[0], "bin", "spark-submit"), "--master", MASTER]
    for setting in ("spark.ui.enabled=false", "spark.sql.shuffle.partitions=3", f"spark.pyspark.python={sys.executable}"):
        submit += ["--conf", setting]
    submit += ["--conf", "spark.executor.memory=512m", foldsym.spark_job.__file__]
    out, metrics = tmp_path / "frames", tmp_path / "metrics.json"
    arguments = ["symbolize", "--input", path, "--output", str(out), "--store", str(store), "--metrics", str(metrics)]
    done = subprocess.run([*submit, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    answers = pyarrow.parquet.read_table(out).to_pylist()
    assert len(answers) == len(rows)
    for row in answers:
        assert row["symbols"] == whole[row["row"]]
    counts = json.loads(metrics.read_text())
    assert counts == json.loads(done.stdout.splitlines()[-1])
    assert counts["rows"] == len(rows) and counts["bytes"] > 0 and counts["unknown_modules"].keys() == {"absent.so"}


def test_job_converts_and_tells_of_what_it_could_not(spark, tmp_path, monkeypatch, capfd):
    """In this process: the job takes the session that is there, and would stop it."""
    monkeypatch.setattr(type(spark), "stop", lambda self: None)
    (tmp_path / "list").write_text(f"{BUILT / 'demo.elf'}\n{tmp_path / 'nowhere'}\n")
    assert foldsym.spark_job.main(["convert", "--list", str(tmp_path / "list"), "--store", str(tmp_path / "store")]) == 4
    shown = capfd.readouterr()
    assert json.loads(shown.out.splitlines()[-1]) == {"converted": 1, "failed": 1} and "nowhere" in shown.err
    with pytest.raises(SystemExit):
        foldsym.spark_job.main(["symbolize", "--input", "x"])
