"""Stacks in Spark data frames. Needs pyspark 4 and pyarrow on the driver and the executors; the module `foldsym` needs neither.

Every executor must see the store at the same place, and must have the wheel installed: `src/front/python/README.md` of the
source says how.
"""

from __future__ import annotations

import functools
import pathlib
import time
from collections.abc import Iterable, Iterator, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow
    from pyspark.core.context import SparkContext
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import DataType, StructField, StructType

    import foldsym

#: A column while rows are moved.
_SALT = "__foldsym_salt"

#: `modules` without names, as two lists, which Spark moves for less than a list of structs.
_IDS, _BASES = "__foldsym_ids", "__foldsym_bases"

#: Names of modules without a file that `Metrics` remembers; a fleet may have any number.
MAX_UNKNOWN = 1000


#: Words of `unknown` that say that a module has no symbol file.
_WITHOUT_FILE = ("absent", "failed", "damaged")

#: Columns of signatures, as `foldsym.symbolize_batch` makes them.
_SIGNATURE = ("signature", "signature_hash", "signature_rules")

#: Columns of stacks, as `foldsym.symbolize_batch` reads them.
_STACKS = ("frames", "kinds", "modules", "module_id", "module_name", "base")


def _symbol_fields() -> list[StructField]:
    """The fields of an answer, in their order."""
    from pyspark.sql import types as t

    text, number = t.StringType(), t.IntegerType()
    fields: list[tuple[str, t.DataType]] = [
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
        ("source", text),
    ]
    return [t.StructField(name, kind) for name, kind in fields]


def _quoted(name: str) -> str:
    """The name of a column, which may have dots, as Spark reads it."""
    return "`" + name.replace("`", "``") + "`"


def _schema(
    df: DataFrame, fields: Sequence[str] | None = None, keep: Sequence[str] | None = None, signature: bool = False
) -> StructType:
    from pyspark.sql import types as t

    made = ("symbols", *(_SIGNATURE if signature else ()))
    symbols = t.ArrayType(t.StructType([field for field in _symbol_fields() if fields is None or field.name in fields]))
    kept = [field for field in df.schema.fields if field.name not in made and (keep is None or field.name in keep)]
    signed = [t.StructField(name, t.StringType()) for name in made[1:]]
    return t.StructType([*kept, t.StructField("symbols", symbols), *signed])


class Metrics:
    """What a job did, as Spark accumulators. Read `value` after an action; a task that Spark runs twice counts twice.

    `frames` and `rows` are counts, `seconds` is the time of the engine summed over the tasks, `files` and `bytes` are the symbol files
    that were opened and their sizes: each Python worker counts each file once, also where it came from the machine's cache.
    `unknown_frames` counts the frames whose module has no symbol file, `unknown` counts them by cause (`absent`: no store has the file,
    `failed`: a store could not be read, `damaged`: the file is damaged), and `unknown_modules` has the names of up to `MAX_UNKNOWN` such modules, each with its frames.
    """

    def __init__(self, context: SparkContext) -> None:
        from pyspark.accumulators import AccumulatorParam

        class Counts(AccumulatorParam[dict[str, int]]):
            def zero(self, value: dict[str, int]) -> dict[str, int]:
                return {}

            def addInPlace(self, value1: dict[str, int], value2: dict[str, int]) -> dict[str, int]:
                for name, count in value2.items():
                    if name in value1 or len(value1) < MAX_UNKNOWN:
                        value1[name] = value1.get(name, 0) + count
                return value1

        self.rows = context.accumulator(0)
        self.frames = context.accumulator(0)
        self.seconds = context.accumulator(0.0)
        self.files = context.accumulator(0)
        self.bytes = context.accumulator(0)
        self.unknown_frames = context.accumulator(0)
        self.unknown = context.accumulator({}, Counts())
        self.unknown_modules = context.accumulator({}, Counts())

    def value(self) -> dict[str, Any]:
        """All of them."""
        return {name: accumulator.value for name, accumulator in vars(self).items()}

    def count(self, answers: pyarrow.RecordBatch, seconds: float) -> None:
        """Adds what a task has of a batch."""
        import pyarrow
        import pyarrow.compute as pc

        self.rows.add(answers.num_rows)
        self.frames.add(pc.sum(pc.list_value_length(answers["frames"])).as_py() or 0)
        self.seconds.add(seconds)
        symbols = pc.list_flatten(answers["symbols"])
        # pyarrow computes with plain text alone.
        unknown = symbols.field("unknown").cast(pyarrow.string())
        without_file = pc.is_in(unknown, pyarrow.array(_WITHOUT_FILE))
        lost = pc.sum(without_file).as_py() or 0
        self.unknown_frames.add(lost)
        if lost:
            modules = symbols.field("module").cast(pyarrow.string())
            for accumulator, values in ((self.unknown_modules, modules), (self.unknown, unknown)):
                values = values.filter(without_file)
                counts = pc.value_counts(values)
                named: dict[str, int] = {}
                for name, number in zip(counts.field("values").to_pylist(), counts.field("counts").to_pylist(), strict=True):
                    named[name or "?"] = named.get(name or "?", 0) + number
                accumulator.add(named)


@functools.cache
def _symbolizer(store: str) -> foldsym.Symbolizer:
    """The engine of a Python worker: tasks that follow each other share its open files."""
    import foldsym

    return foldsym.Symbolizer([foldsym.Store(store)])


def _only(symbols: pyarrow.ListArray, fields: Sequence[str]) -> pyarrow.ListArray:
    """The column with some of its fields, in their order."""
    import pyarrow

    elements = symbols.values
    names = [field.name for field in elements.type if field.name in fields]
    some = pyarrow.StructArray.from_arrays([elements.field(name) for name in names], names)
    return pyarrow.ListArray.from_arrays(symbols.offsets, some, mask=symbols.is_null())


def _joined(batch: pyarrow.RecordBatch) -> pyarrow.RecordBatch:
    """With the column `modules` that `_without_names` took apart. Copies nothing."""
    import pyarrow

    names = batch.schema.names
    if _IDS not in names:
        return batch
    ids, bases = batch[_IDS], batch[_BASES]
    each = pyarrow.StructArray.from_arrays([ids.values, bases.values], ["id", "base"])
    modules = type(ids).from_arrays(ids.offsets, each, mask=ids.is_null() if ids.null_count else None)
    others = [name for name in names if name not in (_IDS, _BASES)]
    return pyarrow.record_batch([*(batch[name] for name in others), modules], [*others, "modules"])


def _answer(
    store: str,
    metrics: Metrics | None,
    fields: Sequence[str] | None,
    kept: Sequence[str],
    views: bool,
    signature: bool,
    rules: bytes | None,
    batches: Iterable[pyarrow.RecordBatch],
) -> Iterator[pyarrow.RecordBatch]:
    import pyarrow

    import foldsym

    # What the metrics count is made too, and left out of what goes to the JVM.
    made = None if fields is None else [*fields, *({"module", "unknown"} - set(fields) if metrics else ())]
    engine = _symbolizer(store)
    before = engine.opened()
    # A worker may have an older pyarrow than the driver; those before 18 make no plain text of views, which the metrics need.
    views = views and int(pyarrow.__version__.split(".")[0]) >= 18
    for batch in batches:
        start = time.perf_counter()
        answered = foldsym.symbolize_batch(
            _joined(batch), engine, dictionaries=False, views=views, fields=made, signature=signature, signature_rules=rules
        )
        answers = pyarrow.record_batch(answered)
        if metrics:
            metrics.count(answers, time.perf_counter() - start)
        symbols = answers["symbols"]
        if made is not None and len(made) > len(set(fields or ())):
            symbols = _only(symbols, fields or ())
        signed = _SIGNATURE if signature else ()
        columns = [*(answers[name] for name in kept), symbols, *(answers[name] for name in signed)]
        yield pyarrow.record_batch(columns, [*kept, "symbols", *signed])
    if metrics:
        after = engine.opened()
        metrics.files.add(after["files"] - before["files"])
        metrics.bytes.add(after["bytes"] - before["bytes"])


def _reads_views(session: SparkSession) -> bool:
    """Whether this Spark reads string views, as from 4.3 on. Names then cross to the JVM once a batch and not once a frame."""
    try:
        machine: Any = session.sparkContext._jvm
        machine.java.lang.Class.forName("org.apache.spark.sql.vectorized.ArrowColumnVector$StringViewAccessor")
    except Exception:
        # No such class; or a session of Spark Connect, which has no JVM to ask.
        return False
    return True


def _without_names(df: DataFrame) -> DataFrame:
    """With two lists, of identities and of bases, in place of `modules`. Parquet then reads no names."""
    from pyspark.sql import functions as f
    from pyspark.sql import types as t

    kind = df.schema["modules"].dataType if "modules" in df.columns else None
    if not (isinstance(kind, t.ArrayType) and isinstance(kind.elementType, t.StructType) and {"id", "base"} <= set(kind.elementType.names)):
        return df
    others = [f.col(_quoted(name)) for name in df.columns if name != "modules"]
    return df.select(*others, f.col("modules.id").alias(_IDS), f.col("modules.base").alias(_BASES))


def _has_map(kind: DataType) -> bool:
    """Maps have no order, so Spark refuses to hash them."""
    return "map<" in kind.simpleString() or "variant" in kind.simpleString()


def _moved(df: DataFrame, partition_by: Sequence[str] | None, partitions: int | None) -> DataFrame:
    """Rows of one module together, and those of one part of it."""
    from pyspark.sql import functions as f

    if partition_by is not None and not partition_by:
        return df
    keys: list[Column]
    if partition_by is not None:
        keys = [f.col(_quoted(name) if name in df.columns else name) for name in partition_by]
    elif "module_id" in df.columns:
        keys = [f.col("module_id")]
    else:
        keys = [f.try_element_at(f.col(_IDS if _IDS in df.columns else "modules.id"), f.lit(1))]
    if partitions is None:
        partitions = int(df.sparkSession.conf.get("spark.sql.shuffle.partitions") or 200)
    # Ranges, not hashes: a fleet has builds that most rows are of. Spark samples the keys, and cuts such a build by its frames. Ranges
    # do not cut equal keys, and an idle process has the same stack again and again: a hash of the other columns makes keys differ.
    # A row's number would too, but a task that runs again after its input came in another order would number rows anew, and
    # rows would be lost or doubled.
    keys.append(f.col("frames"))
    moved = df.repartitionByRange(partitions, *keys, f.col(_SALT))
    # By module alone: to compare frames takes longer than it saves, since the engine sorts each batch itself.
    return moved.sortWithinPartitions(*keys[:-1])


def _salted(df: DataFrame) -> DataFrame:
    """With a hash of the columns that are no part of a stack, which cuts equal stacks: `_moved` needs it."""
    from pyspark.sql import functions as f

    others = [field.name for field in df.schema.fields if field.name not in _STACKS and not _has_map(field.dataType)]
    salt = f.xxhash64(*(f.col(_quoted(name)) for name in others)) if others else f.lit(0)
    return df.withColumn(_SALT, salt)


def symbolize(
    df: DataFrame,
    store: str | PathLike[str],
    *,
    partition_by: Sequence[str] | None = None,
    partitions: int | None = None,
    metrics: Metrics | None = None,
    fields: Sequence[str] | None = None,
    keep: Sequence[str] | None = None,
    signature: bool = False,
    signature_rules: str | PathLike[str] | bytes | None = None,
) -> DataFrame:
    """The data frame with a column `symbols`; the columns of stacks are those of `foldsym.symbolize_batch`.

    `store` is the folder of a store. Rows are moved so that those of one module are together and each task opens few files:
    by `partition_by`, the names of columns; without it by `module_id`, or else by the first of `modules`. A module with many
    rows is cut by its frames, and equal stacks are cut too where other columns differ, so that no task has much more than its share. An empty list moves nothing. `partitions` says how
    many tasks there are, without it `spark.sql.shuffle.partitions`. The order of the rows is not kept.

    `fields` names the fields of `symbols` that are made, and `keep` the columns of `df` that the answer has; without them all are. Most of a
    job's time is spent on moving texts between Python and the JVM, so a job that needs `["function", "file", "line"]` and the
    column `["crash"]` takes about half of the time with these two. The names of modules are not read where no answer has them.

    With `signature` there are the columns `signature`, `signature_hash` and `signature_rules` too: the bucket of each stack.
    `signature_rules` is a file of rules on the driver, its path or its bytes.
    """
    if "frames" in df.columns and "decimal" in df.schema["frames"].dataType.simpleString():
        raise ValueError("frames: expected addresses as bigint, found decimal, as which Spark reads uint64 of Parquet")
    if signature_rules is not None and not signature:
        raise ValueError("signature_rules without signature=True")
    # Tasks get the text: an executor need not see the file.
    rules = signature_rules if signature_rules is None or isinstance(signature_rules, bytes) else pathlib.Path(signature_rules).read_bytes()
    given = df
    # Before columns are left out: they too cut equal stacks.
    df = _salted(df)
    if keep is not None:
        if missing := [name for name in keep if name not in given.columns]:
            raise ValueError(f"keep: the data frame has no column {missing[0]!r}")
        # A key may be a field of a column.
        keys = (name if name in given.columns else name.split(".", 1)[0] for name in partition_by or ())
        needed = {*keep, *keys, *_STACKS, _SALT}
        import pyspark.sql.functions as f

        df = df.select([f.col(_quoted(name)) for name in df.columns if name in needed])
        # Names of modules are in these fields, and in what the metrics count. A key may be a field of a module.
        has_names = signature or fields is None or metrics or "modules" in keep or {"module", "message"} & set(fields)
        if not has_names and not partition_by:
            df = _without_names(df)
    # Spark's own mapInArrow asks for each column by its name without quotes.
    if unfit := [name for name in df.columns if "." in name or "`" in name]:
        raise ValueError(f"Spark passes no column whose name has a dot or a backtick to Python: rename {unfit[0]!r}, or keep others")
    schema = _schema(given, fields, keep, signature)
    names = [field.name for field in _symbol_fields()]
    if fields is not None and (not fields or not set(fields) <= set(names)):
        raise ValueError(f"fields: expected some of {names}, found {list(fields)}")
    kept = [field.name for field in schema if field.name != "symbols" and not (signature and field.name in _SIGNATURE)]
    df = _moved(df, partition_by, partitions).drop(_SALT)
    views = _reads_views(df.sparkSession)
    answer = functools.partial(_answer, str(store), metrics, None if fields is None else list(fields), kept, views, signature, rules)
    return df.mapInArrow(answer, schema)


def _convert(store: str, paths: Iterable[str]) -> Iterator[tuple[str, str | None, str | None]]:
    import foldsym

    opened = foldsym.Store(store)
    for path in paths:
        try:
            yield (path, opened.convert(path, threads=1), None)
        except (foldsym.FoldsymError, OSError, ValueError) as error:
            yield (path, None, str(error))


def convert(
    paths: Iterable[str | PathLike[str]], store: str | PathLike[str], *, spark: SparkSession | None = None
) -> DataFrame:
    """Converts programs, a task each, and publishes them in a store, before it returns. Gives a data frame of path, id and error.

    A program whose file is in the store already is not converted again. One that cannot be converted has an error and no id."""
    from pyspark.sql import SparkSession

    import foldsym

    foldsym.Store(str(store), create=True)
    session = spark or SparkSession.builder.getOrCreate()
    names = [str(path) for path in paths]
    tasks = session.sparkContext.parallelize(names, max(1, len(names)))
    rows = tasks.mapPartitions(functools.partial(_convert, str(store))).collect()
    return session.createDataFrame(rows, "path string, id string, error string")
