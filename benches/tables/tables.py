"""What tables of stacks cost, beside a loop of the library and beside Spark with llvm-symbolizer. `run.sh` calls this.

Records stacks of a program that works with RocksDB, converts its modules, and measures, each beside the other in turn: the batch
of Rust and of Python beside the loop; Spark with `foldsym.spark` beside Spark with a pandas UDF that asks llvm-symbolizer. Writes one
page of results.
"""

import argparse
import collections
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import time

import foldsym
import pyarrow
import pyarrow.parquet

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[1]
PROFILE = os.environ.get("PROFILE", "release")
EXAMPLE = ROOT / "target" / PROFILE.replace("dev", "debug") / "examples" / "throughput"
SCHEMA = pyarrow.schema(
    [
        ("modules", pyarrow.list_(pyarrow.struct([("id", pyarrow.string()), ("base", pyarrow.int64()), ("name", pyarrow.string())]))),
        ("frames", pyarrow.list_(pyarrow.int64())),
    ]
)


def run(*command, **options):
    return subprocess.run([str(word) for word in command], check=True, text=True, capture_output=True, **options).stdout


def recorded(work, count, reuse):
    """What the recorder printed: the modules of its process, and its stacks."""
    text = work / "stacks.txt"
    if not (reuse and text.exists()):
        rocksdb = ROOT / "corpus" / "rocksdb"
        library = pathlib.Path(os.environ.get("FOLDSYM_ROCKSDB", rocksdb)) / "librocksdb.so"
        include = library.parent / "src" / "rocksdb" / "include"
        build = ["clang++-22", "-std=c++20", "-O2", "-g", "-ffunction-sections", "-fuse-ld=lld", "-Wl,--icf=all", "-Wl,--build-id"]
        run(*build, "-I", include, HERE / "recorder.cpp", library, f"-Wl,-rpath,{library.parent}", "-o", work / "recorder")
        text.write_text(run(work / "recorder", work / "database", count))
    modules, stacks = [], []
    for line in text.read_text().splitlines():
        word, *rest = line.split()
        if word == "module":
            modules.append({"id": rest[1], "base": int(rest[0], 16), "name": rest[2]})
        else:
            stacks.append([int(address, 16) for address in rest])
    return modules, stacks


def converted(work, modules):
    """A store with the files of the modules, as far as they have debug information."""
    store = work / "store"
    opened = foldsym.Store(store, create=True)
    for module in modules:
        if pathlib.Path(module["name"]).is_file() and opened.get(module["id"]) is None:
            foldsym.convert(module["name"], work / "module.fsym")
            opened.add(work / "module.fsym")
    return store


def written(path, modules, stacks, count):
    """A Parquet file of so many stacks: those recorded, again and again. Gives its frames."""
    many = [stacks[at % len(stacks)] for at in range(count)]
    table = pyarrow.table({"modules": [modules] * count, "frames": many}, SCHEMA)
    pyarrow.parquet.write_table(table, path, compression="zstd", row_group_size=100_000)
    return sum(map(len, many))


def rust(store, stacks, rows, rounds, threads):
    """Rounds of the example of `foldsym-table`."""
    out = run(EXAMPLE, store, stacks, rows, rounds, ",".join(map(str, threads)))
    return [json.loads(line) for line in out.splitlines()]


def python(store, stacks, path, rounds):
    """Seconds of processor time of `symbolize_batch`, capsules included, in this process; each beside a loop in Rust."""
    table = pyarrow.parquet.read_table(path).combine_chunks()
    engine = foldsym.Symbolizer([foldsym.Store(store)])
    pairs = []
    for round in range(rounds + 1):
        start = time.thread_time()
        answers = pyarrow.record_batch(foldsym.symbolize_batch(table, engine))
        seconds = time.thread_time() - start
        assert answers.num_rows == table.num_rows
        if round:
            pairs.append(seconds / rust(store, stacks, table.num_rows, 1, [1])[0]["loop_cpu"])
    return pairs


def session(executors, python):
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = python
    builder = SparkSession.builder.master(f"local-cluster[{executors},1,1024]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.shuffle.partitions", "8").config("spark.executor.memory", "1g")
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def ask_llvm(symbolizer, form):
    """A pandas UDF over batches: one process of llvm-symbolizer a task, asked for whole batches. Gives what `spark` calls `form`:
    `names` is a JSON text a stack, with the names of functions alone; `fields` is an array of frames with function, file and line."""
    from collections.abc import Iterator

    import pandas
    from pyspark.sql.functions import pandas_udf

    # pyspark reads the kind of the function off its types.
    @pandas_udf("string" if form == "names" else "array<struct<frame: int, function: string, file: string, line: int>>")
    def udf(batches: Iterator[tuple[pandas.Series, pandas.Series]]) -> Iterator[pandas.Series]:
        import json
        import subprocess
        import threading

        process = subprocess.Popen([symbolizer, "--output-style=JSON"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for modules, frames in batches:
            asked, ends = [], []
            for of_row, addresses in zip(modules, frames, strict=True):
                known = sorted((module["base"], module["name"]) for module in of_row)
                for at, address in enumerate(addresses):
                    base, name = max((one for one in known if one[0] <= address), default=(0, ""))
                    # The modules of this process are linked to 0.
                    asked.append(f"CODE {name or '?'} {address - base - (at > 0):#x}\n")
                ends.append(len(asked))
            writer = threading.Thread(target=lambda asked=asked: (process.stdin.writelines(asked), process.stdin.flush()))
            writer.start()
            answers = [json.loads(process.stdout.readline()).get("Symbol", []) for _ in asked]
            writer.join()
            rows, start = [], 0
            for end in ends:
                stack = answers[start:end]
                if form == "names":
                    rows.append(json.dumps([[one.get("FunctionName", "") for one in frame] for frame in stack]))
                else:
                    rows.append([(at, one["FunctionName"], one["FileName"], one["Line"]) for at, frame in enumerate(stack) for one in frame])
                start = end
            yield pandas.Series(rows)
        process.stdin.close()
        process.wait()

    return udf


def processor_seconds():
    """Processor time of this process and of all that it started: the driver, executors, Python workers, llvm-symbolizer."""
    parents, times = {}, {}
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        process = int(path.parent.name)
        # Of its own, and of the processes that it started and that have ended.
        parents[process], times[process] = int(fields[1]), sum(map(int, fields[11:15]))

    def is_ours(process):
        while process and process != os.getpid():
            process = parents.get(process)
        return bool(process)

    return sum(time for process, time in times.items() if is_ours(process)) / os.sysconf("SC_CLK_TCK")


def spark(executors, store, large, small, warm, symbolizer):
    """Seconds, and seconds of processor time, of Spark jobs by foldsym over a large table, with all fields and columns and with some, and by
    llvm-symbolizer over a small one, with the same fields and with names alone; each after one over a third table that is not counted."""
    import foldsym.spark

    made = session(executors, sys.executable)
    try:
        def timed(frame):
            start, before = time.perf_counter(), processor_seconds()
            frame.write.format("noop").mode("overwrite").save()
            return time.perf_counter() - start, processor_seconds() - before

        def ours(path, **options):
            return foldsym.spark.symbolize(made.read.parquet(str(path)), store, **options)

        def theirs(path, form):
            return made.read.parquet(str(path)).repartition(executors).select(ask_llvm(symbolizer, form)("modules", "frames"))

        some = {"fields": ["frame", "function", "file", "line"], "keep": []}
        unmoved = {**some, "partition_by": []}
        timed(ours(warm))
        timed(theirs(warm, "fields"))
        timed(theirs(warm, "names"))
        return {
            "all": timed(ours(large)),
            "fields": timed(theirs(small, "fields")),
            "some": timed(ours(large, **some)),
            "unmoved": timed(foldsym.spark.symbolize(made.read.parquet(str(large)).repartition(executors), store, **unmoved)),
            "names": timed(theirs(small, "names")),
        }
    finally:
        made.stop()


def agreement(store, small, symbolizer):
    """Of frames at code that nobody shares: how many, how many have llvm-symbolizer's files and lines, and its names too."""
    table = pyarrow.parquet.read_table(small)
    answers = pyarrow.record_batch(foldsym.symbolize_batch(table, store))
    asked, ours = [], []
    for row in pyarrow.Table.from_batches([answers]).to_pylist():
        known = sorted((module["base"], module["name"]) for module in row["modules"])
        for at, address in enumerate(row["frames"]):
            mine = [one for one in row["symbols"] if one["frame"] == at]
            base, name = max((one for one in known if one[0] <= address), default=(0, ""))
            if name and mine[-1]["candidate_count"] is None and mine[-1]["function"]:
                asked.append(f"CODE {name} {address - base - (at > 0):#x}\n")
                ours.append(mine)
    text = run(symbolizer, "--output-style=JSON", "--no-demangle", input="".join(asked))
    lines, names = 0, 0
    for mine, line in zip(ours, text.splitlines(), strict=True):
        theirs = json.loads(line)["Symbol"]
        same = [(one["file"] or "", one["line"] or 0) for one in mine] == [(one["FileName"], one["Line"]) for one in theirs]
        lines += same
        names += same and [one["linkage_name"] for one in mine] == [one["FunctionName"] for one in theirs]
    return len(ours), lines, names


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "target" / "tables")
    parser.add_argument("--out", type=pathlib.Path, help="page to write (default: standard output)")
    parser.add_argument("--stacks", type=int, default=100_000)
    parser.add_argument("--spark-stacks", type=int, default=2_000_000)
    parser.add_argument("--llvm-stacks", type=int, default=80_000, help="so many that both sides take about as long")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--reuse", action="store_true", help="the stacks of the last run")
    parser.add_argument("--executors", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--no-spark", action="store_true")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    symbolizer = "/usr/lib/llvm-22/bin/llvm-symbolizer"

    modules, stacks = recorded(options.work, 20_000, options.reuse)
    store = converted(options.work, modules)
    batch, large, small = (options.work / f"{name}.parquet" for name in ("batch", "large", "small"))
    warm = options.work / "warm.parquet"
    distinct = len({tuple(stack) for stack in stacks})
    addresses = collections.Counter(address for stack in stacks for address in stack)
    once, rows = sum(map(len, stacks)), options.stacks
    frames = written(batch, modules, stacks, rows)
    out = [f"# Tables of stacks, {time.strftime('%Y-%m-%d')}", ""]
    told = {name: value for name, value in vars(options).items() if name not in ("work", "out", "reuse")}
    told = " ".join(f"--{name.replace('_', '-')} {' '.join(map(str, value)) if isinstance(value, list) else value}" for name, value in told.items() if value)
    out += [f"`PROFILE={PROFILE} benches/tables/run.sh {told}`", ""]
    cpu = next(line.split(": ")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name"))
    out += [f"{cpu}, {os.cpu_count()} cores; load before the run {os.getloadavg()[0]:.1f}, which wall times suffer from. Python {platform.python_version()}, pyarrow {pyarrow.__version__}.", ""]
    out += [f"{len(stacks):,} stacks of a program that works with RocksDB, recorded by a timer; {distinct:,} are distinct, with {len(addresses):,} addresses;"
            f" {once / len(stacks):.1f} frames a stack, over {len(modules)} modules. Larger tables have them again and again.", ""]

    median = statistics.median
    text = options.work / "stacks.txt"
    rounds = rust(store, text, len(stacks), options.rounds, [1])
    first = median(one["batch_1_cpu"] / one["loop_cpu"] for one in rounds)
    rounds = rust(store, text, rows, options.rounds, [1, 2])
    ratio = median(one["batch_1_cpu"] / one["loop_cpu"] for one in rounds)
    through = median(python(store, text, batch, options.rounds))
    out += ["## A batch beside a loop of the library", "", "Processor time of one thread, batch over loop, each in turn; the median of the rounds. Bar: 1.3.", ""]
    out += ["| table | batch / loop |", "|---|---|"]
    out += [f"| Rust, {len(stacks):,} stacks, each once | {first:.2f} |", f"| Rust, {rows:,} stacks | {ratio:.2f} |"]
    out += [f"| Python, {rows:,} stacks, through capsules | {through:.2f} |", ""]
    out += ["## Threads", "", "| threads | million frames a second, wall time | of one thread's |", "|---|---|---|"]
    walls = {n: median(one[f"batch_{n}_wall"] for one in rounds) for n in (1, 2)}
    speedup = median(one["batch_1_wall"] / one["batch_2_wall"] for one in rounds)
    for n, wall in walls.items():
        out.append(f"| {n} | {frames / wall / 1e6:.1f} | {1.0 if n == 1 else speedup:.2f} |")
    one_core = frames / median(one["batch_1_cpu"] for one in rounds)
    loop = frames / median(one["loop_cpu"] for one in rounds)
    out += ["", f"One core answers {one_core / 1e6:.1f} million frames a second of processor time in batches, and {loop / 1e6:.1f} million in the loop.", ""]
    billion = 30e9 / one_core / 3600
    cost = [f"A billion stacks of 30 frames take {billion:.2f} core hours in batches"]

    if not options.no_spark:
        asked = written(small, modules, stacks, options.llvm_stacks)
        answered = written(large, modules, stacks, options.spark_stacks)
        written(warm, modules, stacks, 1000)
        out += ["## Spark", "", f"`foldsym.spark.symbolize` over {options.spark_stacks:,} stacks, and a pandas UDF that keeps one llvm-symbolizer 22 open a task over"
                f" {options.llvm_stacks:,} of them; wall time of the whole action, shuffle included, after an action of the same kind over 1,000 stacks. There are so many stacks on"
                " each side that both run for about as long, since the start of a job costs both the same. Processor time is that of all processes: driver, executors,"
                " Python workers, llvm-symbolizer. Bar: 20 times the rate.", ""]
        out += ["The same fields on both sides are `frame`, `function`, `file` and `line`, without a column of the stacks. All fields of ours are sixteen, with the"
                " columns of the stacks; llvm-symbolizer has no more than the four. Rows of the UDF are moved by `repartition`, ours by ranges of their modules and"
                " frames, but for the row that says so: a table of one process gains nothing by that. With names alone the UDF gives a JSON text a stack, the least that it can give.", ""]
        out += ["| executors of one core | foldsym | seconds | processor seconds | frames a second | llvm-symbolizer | seconds | processor seconds | frames a second | ratio | ratio by processor time |"]
        out += ["|---|---|---|---|---|---|---|---|---|---|---|"]
        words = {"all": "all fields", "some": "four fields", "unmoved": "four fields, moved as the UDF's rows", "fields": "four fields", "names": "names alone"}
        for executors in options.executors:
            walls = spark(executors, store, large, small, warm, symbolizer)
            ours = answered / walls["all"][0]
            for mine, other in (("unmoved", "fields"), ("some", "fields"), ("all", "fields"), ("some", "names"), ("all", "names")):
                (wall, processor), (their_wall, their_processor) = walls[mine], walls[other]
                rate, theirs = answered / wall, asked / their_wall
                by_processor = answered / processor / (asked / their_processor)
                out.append(f"| {executors} | {words[mine]} | {wall:.0f} | {processor:.0f} | {rate:,.0f} | {words[other]} | {their_wall:.0f} | {their_processor:.0f} | {theirs:,.0f}"
                           f" | {rate / theirs:.0f} | {by_processor:.0f} |")
        cost.append(f"and with all fields {30e9 / ours * executors / 3600:.1f} in Spark with {executors} executor{'s' if executors > 1 else ''} by wall time")
        frames, lines, names = agreement(store, small, symbolizer)
        out += ["", f"Of {frames:,} frames at code that no other function shares, {lines:,} have llvm-symbolizer's files and lines, inlined functions too;"
                f" {names:,} of these have its names as well, and the others have another symbol of the same function (`write`, `__GI___libc_write`).", ""]
    out += ["## A billion stacks", "", f"{', '.join(cost)}, at the rates above."]
    page = "\n".join(out) + "\n"
    if options.out:
        options.out.write_text(page)
    print(page)


if __name__ == "__main__":
    main()
