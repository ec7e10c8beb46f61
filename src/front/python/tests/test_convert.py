"""`convert`: its options against the command's, progress, the interpreter lock, and what is left where it fails."""

import json
import os
import subprocess
import sys
import threading

import pytest

import foldsym
from test_files import BUILT, COMMAND

DEMO = BUILT / "demo.elf"

OPTIONS = [
    ({}, []),
    ({"columns": True}, ["--columns"]),
    ({"locations": True}, ["--locations"]),
    ({"unwind": True}, ["--unwind"]),
    ({"name_index": True}, ["--name-index"]),
    ({"demangled": True}, ["--demangled"]),
    ({"threads": 2}, ["--threads", "2"]),
    ({"remap_path": {"/src": "/other"}}, ["--remap-path", "/src=/other"]),
]


@pytest.mark.parametrize(("options", "words"), OPTIONS, ids=lambda value: next(iter(value), "none"))
def test_options_are_the_commands(options, words, tmp_path):
    theirs, ours, of_bytes = tmp_path / "theirs.fsym", tmp_path / "ours.fsym", tmp_path / "bytes.fsym"
    subprocess.run([COMMAND, "convert", DEMO, "-o", theirs, "--quiet", *words], check=True)
    foldsym.convert(DEMO, ours, **options)
    assert ours.read_bytes() == theirs.read_bytes()
    foldsym.convert(DEMO.read_bytes(), of_bytes, **options)
    assert foldsym.SymbolFile(of_bytes).info()["Functions"] == foldsym.SymbolFile(ours).info()["Functions"]
    if options and options != {"threads": 2}:
        plain = tmp_path / "plain.fsym"
        foldsym.convert(DEMO, plain)
        assert options == {"locations": True} or plain.read_bytes() != ours.read_bytes()


def test_imports_are_not_kept_with_readable_names(tmp_path):
    with pytest.raises(ValueError, match="not with demangled"):
        foldsym.convert(DEMO, tmp_path / "x.fsym", imports=True, demangled=True)
    assert not (tmp_path / "x.fsym").exists()


def test_other_files_of_a_program(tmp_path):
    """Separate `.dwo` files and a package, which are not beside the program."""
    folder = BUILT / "split.clang-dwarf5.set"
    alone = tmp_path / "program"
    alone.write_bytes((folder / "split").read_bytes())
    missing = foldsym.convert(alone, tmp_path / "missing.fsym", dwo_dirs=[tmp_path])
    assert missing["debug_info"] != "full"
    for options in ({"dwo_dirs": [folder]}, {"dwp": folder / "split.dwp"}):
        assert foldsym.convert(alone, tmp_path / "x.fsym", **options)["debug_info"] == "full", options
    with pytest.raises(ValueError, match="of bytes no other file"):
        foldsym.convert(alone.read_bytes(), tmp_path / "x.fsym", dwo_dirs=[folder])


def test_another_architecture_is_refused(tmp_path):
    with pytest.raises(foldsym.FoldsymError) as error:
        foldsym.convert(DEMO, tmp_path / "x.fsym", arch="arm64")
    assert str(DEMO) in str(error.value)


def test_reports_are_the_commands(tmp_path):
    subprocess.run([COMMAND, "convert", DEMO, "-o", tmp_path / "a.fsym", "--quiet", "--report", tmp_path / "r.json"], check=True)
    theirs, ours = json.loads((tmp_path / "r.json").read_text()), foldsym.convert(DEMO, tmp_path / "b.fsym")

    def timeless(report):
        return {key: value for key, value in report.items() if not key.startswith(("seconds", "peak_kib", "output"))}

    assert timeless(ours) == timeless(theirs) and set(ours) == set(theirs)


@pytest.mark.parametrize("content", [None, b"", b"no program", b"\x7fELF"])
def test_messages_are_the_commands(content, tmp_path):
    path = tmp_path / "input"
    if content is not None:
        path.write_bytes(content)
    done = subprocess.run([COMMAND, "convert", path, "-o", tmp_path / "x.fsym"], capture_output=True, text=True)
    with pytest.raises(foldsym.FoldsymError) as error:
        foldsym.convert(path, tmp_path / "y.fsym")
    assert str(path) in str(error.value)
    assert str(error.value) in done.stderr and done.returncode == 3
    assert not list(tmp_path.glob("*.fsym")) and not list(tmp_path.glob(".fsym*"))


def test_what_cannot_be_written_is_named(tmp_path):
    for output in (tmp_path / "none" / "x.fsym", tmp_path):
        with pytest.raises(foldsym.FoldsymError) as error:
            foldsym.convert(DEMO, output)
        assert str(output) in str(error.value)
    # Another kind of file stays.
    other = tmp_path / "other.txt"
    other.write_text("theirs")
    for source in (DEMO, DEMO.read_bytes()):
        with pytest.raises(foldsym.FoldsymError, match=r"other\.txt.*is not a symbol file"):
            foldsym.convert(source, other)
    assert other.read_text() == "theirs"


@pytest.mark.parametrize("threads", [1, 2])
def test_progress(threads, tmp_path):
    told = []
    program = BUILT / "fold.clang-lld.set" / "program"
    foldsym.convert(program, tmp_path / "x.fsym", threads=threads, progress=lambda *step: told.append(step))
    assert list(dict.fromkeys(step for step, _, _ in told)) == ["open", "read", "recover", "place", "encode", "write"]
    read = [(done, total) for step, done, total in told if step == "read"]
    assert len(read) > 2 and read[0][0] == 0 < read[0][1]
    assert [done for done, _ in read] == sorted(done for done, _ in read)
    assert read[-1][0] == read[0][1], "all of it is read at last"
    assert len(told) < 250
    # It changes nothing.
    foldsym.convert(program, tmp_path / "y.fsym")
    assert (tmp_path / "x.fsym").read_bytes() == (tmp_path / "y.fsym").read_bytes()


@pytest.mark.parametrize("step", ["open", "read", "recover", "place", "encode", "write"])
@pytest.mark.parametrize("of_bytes", [False, True], ids=["path", "bytes"])
def test_progress_that_raises_ends_it(step, of_bytes, tmp_path):
    class Enough(BaseException):
        pass

    calls = []

    def progress(name, done, total):
        calls.append(name)
        if name == step:
            raise Enough(name)

    out = tmp_path / "x.fsym"
    foldsym.convert(DEMO, out, columns=True)
    before = out.read_bytes()
    with pytest.raises(Enough, match=step):
        foldsym.convert(DEMO.read_bytes() if of_bytes else DEMO, out, progress=progress)
    assert calls.count(step) == 1 and calls[-1] == step
    assert out.read_bytes() == before and os.listdir(tmp_path) == ["x.fsym"]
    with pytest.raises(TypeError):
        foldsym.convert(DEMO, out, progress=7)
    assert out.read_bytes() == before


def runs_meanwhile(work):
    """Whether another thread of Python runs while `work` does: the interpreter hands its lock over nowhere else."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e6)
    try:
        # A thread may be slow to wake; if the lock were held, it would never come.
        for _ in range(50):
            begin, ran = threading.Event(), []
            other = threading.Thread(target=lambda begin=begin, ran=ran: (begin.wait(), ran.append(True)))
            other.start()
            begin.set()
            ran.clear()
            work()
            seen = bool(ran)
            other.join()
            if seen:
                return True
        return False
    finally:
        sys.setswitchinterval(before)


def test_the_interpreter_lock_is_free(tmp_path):
    pa = pytest.importorskip("pyarrow")
    program = BUILT / "fold.clang-lld.set" / "program"
    # The measure itself: a call that keeps the lock, and one that gives it away.
    assert not runs_meanwhile(lambda: sum(range(300_000)))
    out = tmp_path / "x.fsym"
    assert runs_meanwhile(lambda: foldsym.convert(program, out))
    store = foldsym.Store(tmp_path / "store", create=True)
    id = store.add(out)
    engine = foldsym.Symbolizer([store])
    stacks = pa.table({"module_id": [id] * 20_000, "frames": [[0x20AC42, 0x20989B, 0x20A7D6]] * 20_000})
    assert runs_meanwhile(lambda: foldsym.symbolize_batch(stacks, engine))


def test_convert_replaces_a_file_whole(tmp_path):
    out = tmp_path / "x.fsym"
    for source in (DEMO, DEMO.read_bytes()):
        foldsym.convert(DEMO, out, columns=True)
        old = out.read_bytes()
        with open(out, "rb") as reader:
            foldsym.convert(source, out)
            # Whoever has the old file open keeps it.
            assert reader.read() == old
        new = out.read_bytes()
        assert new != old
        with pytest.raises(foldsym.FoldsymError):
            foldsym.convert(b"no program", out)
        assert out.read_bytes() == new and os.listdir(tmp_path) == ["x.fsym"]


def test_ctrl_c_ends_a_conversion(tmp_path):
    """The handler of a signal runs during the work, what it raises is raised, and nothing is written."""
    import subprocess
    import sys

    script = """if True:
        import os, signal, sys, threading
        import foldsym
        # Threads change places only where they wait: the handler is done before the callable goes on.
        sys.setswitchinterval(1000)
        seen = threading.Event()
        def handler(number, frame):
            seen.set()
            raise KeyboardInterrupt
        signal.signal(signal.SIGINT, handler)
        def progress(step, done, total):
            if step == "read" and not seen.is_set():
                os.kill(os.getpid(), signal.SIGINT)
                assert seen.wait(60), "the handler did not run"
        try:
            foldsym.convert(sys.argv[1], sys.argv[2], progress=progress)
        except KeyboardInterrupt:
            print("interrupted", os.path.exists(sys.argv[2]), os.listdir(os.path.dirname(sys.argv[2])))
    """
    command = [sys.executable, "-c", script, str(BUILT / "demo.elf"), str(tmp_path / "out.fsym")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout == "interrupted False []\n", done
