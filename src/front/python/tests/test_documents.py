"""Examples in documents: docstrings, README's lines in an environment that has the wheel alone, types against the module."""

import doctest
import os
import pathlib
import re
import shutil
import subprocess
import sys
import venv

import pytest

import foldsym
from test_files import BUILT, ROOT

CONFIG = pathlib.Path(__file__).parents[1] / "pyproject.toml"


def documented():
    """Each public name with its docstring, methods too."""
    for name in foldsym.__all__:
        value = getattr(foldsym, name)
        yield name, value.__doc__
        if isinstance(value, type) and not issubclass(value, Exception):
            for method, function in vars(value).items():
                if not method.startswith("_"):
                    yield f"{name}.{method}", function.__doc__


@pytest.mark.parametrize(("name", "text"), list(documented()), ids=lambda value: value.split("\n")[0][:40])
def test_docstrings(name, text, tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    shutil.copy(BUILT / "demo.elf", tmp_path)
    monkeypatch.chdir(tmp_path)
    foldsym.convert("demo.elf", "demo.fsym")
    assert text and text.strip()
    examples = doctest.DocTestParser().get_doctest(text, {"foldsym": foldsym}, name, None, None)
    # What an interface of others calls has no example of its own.
    has_none = ("RecordBatch",)
    assert examples.examples or name.startswith(has_none), name
    result = doctest.DocTestRunner(optionflags=doctest.IGNORE_EXCEPTION_DETAIL).run(examples)
    assert result.failed == 0 and result.attempted == len(examples.examples)


def fenced(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def on_own_lines(functions):
    """The source that the page shows as `FIRST-LAST SIGNATURE { STATEMENT; ... }`: each statement is on a line of its own."""
    lines = {1: "typedef const volatile int grams;"}
    for function in functions.splitlines():
        first, last, signature, body = re.match(r" *(\d+)-(\d+) +(.*?) \{ (.*) \}$", function).groups()
        attribute = "" if " main(" in signature else "__attribute__((noinline)) "
        lines[int(first)] = attribute + signature + " {"
        for at, statement in enumerate(re.findall(r"[^;]+;", body), int(first) + 1):
            lines[at] = statement.strip()
        assert at < int(last)
        lines[int(last)] = "}"
    return "\n".join(lines.get(at, "") for at in range(1, max(lines) + 1)) + "\n"


def test_readme_runs_in_an_environment_with_the_wheel_alone(tmp_path):
    """README's program is that of `src/convert/FOLDING.md`, built by the command there."""
    if not os.environ.get("FOLDSYM_WHEEL") or not shutil.which("clang-22"):
        assert os.environ.get("CI") != "true", "needs clang-22, and FOLDSYM_WHEEL"
        pytest.skip("needs clang-22, and FOLDSYM_WHEEL")
    page = (ROOT / "src" / "convert" / "FOLDING.md").read_text()
    functions = next(block for block in fenced(page, "c") if "weigh_letter" in block)
    (tmp_path / "mail.c").write_text(on_own_lines(functions))
    command = re.search(r"^(clang .* mail\.c -o mail)$", page, re.MULTILINE).group(1)
    subprocess.run(command.replace("clang ", "clang-22 ", 1).split(), cwd=tmp_path, check=True)
    lines, _ = fenced((ROOT / "README.md").read_text(), "python")
    assert len(lines.splitlines()) <= 10
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    install = [python, "-m", "pip", "install", "--quiet", "--no-index", os.environ["FOLDSYM_WHEEL"]]
    subprocess.run(install, check=True)
    run = {"cwd": tmp_path, "check": True, "capture_output": True, "text": True}
    listed = subprocess.run([python, "-m", "pip", "list", "--format=freeze"], **run).stdout
    assert {line.split("==")[0] for line in listed.splitlines()} <= {"foldsym", "pip", "setuptools"}
    ran = subprocess.run([python, "-c", lines], **run)
    assert ran.stdout == "weigh_letter exact\nprice_letter exact\nmain unique\n"


def test_types_are_the_modules(tmp_path):
    pytest.importorskip("mypy")
    captured = {"capture_output": True, "text": True, "cwd": tmp_path}
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file", CONFIG, "--cache-dir", tmp_path, "-p", "foldsym"],
        **captured,
    )
    assert done.returncode == 0, done.stdout
    # Modules in Python have their types in themselves.
    others = tmp_path / "others"
    others.write_text("foldsym\\.spark.*\n")
    done = subprocess.run([sys.executable, "-m", "mypy.stubtest", "foldsym", "--concise", "--allowlist", others, "--ignore-unused-allowlist", "--mypy-config-file", CONFIG], **captured)
    assert done.returncode == 0, done.stdout
    # A program with a mistake is found.
    (tmp_path / "wrong.py").write_text('import foldsym\nfoldsym.SymbolFile("x").lookup("1")\n')
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--cache-dir", tmp_path, tmp_path / "wrong.py"], **captured
    )
    assert done.returncode == 1 and 'incompatible type "str"; expected "int"' in done.stdout, done.stdout
