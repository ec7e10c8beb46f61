"""The wheel against the command line and committed answers. FOLDSYM names the command; ROOT is found from here."""

import json
import os
import pathlib
import subprocess

import pytest

import foldsym

ROOT = pathlib.Path(__file__).parents[4]
BUILT = ROOT / "testbins" / "built"
COMMAND = os.environ.get("FOLDSYM", str(ROOT / "target" / "debug" / "foldsym"))


def command(*args, text=""):
    done = subprocess.run([COMMAND, *map(str, args)], input=text, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def nameless(answers):
    return [{key: value for key, value in answer.items() if key != "ModuleName"} for answer in answers]


@pytest.fixture
def demo(tmp_path):
    out = tmp_path / "demo.fsym"
    report = foldsym.convert(BUILT / "demo.elf", out)
    assert report["debug_info"] == "full" and report["counts"]["functions"] > 0
    return out


def stack_of_demo():
    words = (BUILT / "demo.stack").read_text().split("\n")[0].split()
    return [int(word, 16) for word in words if not word.startswith("vptr")]


def test_stack_is_the_commands(demo):
    pcs = stack_of_demo()
    ours = foldsym.SymbolFile(demo).stack(pcs)
    theirs = command("stack", demo, "--json", text=" ".join(map(hex, pcs)) + "\n")[0]["Frames"]
    assert len(ours) == len(pcs) > 1
    assert nameless(ours) == nameless(theirs)
    assert any(answer["Symbol"][0]["FunctionName"] for answer in ours)


def test_lookup_is_the_commands_at_every_byte_around_the_stack(demo):
    file = foldsym.SymbolFile(str(demo))
    addresses = [pc + step for pc in stack_of_demo() for step in range(-8, 9)]
    theirs = command("lookup", demo, "--json", text="".join(f"{at:#x}\n" for at in addresses))
    assert nameless(map(file.lookup, addresses)) == nameless(theirs)


def test_bytes_and_paths_are_one(demo):
    pcs = stack_of_demo()
    from_path = foldsym.SymbolFile(demo).stack(pcs)
    assert nameless(foldsym.SymbolFile(demo.read_bytes()).stack(pcs)) == nameless(from_path)
    assert foldsym.SymbolFile(demo).info()["BuildId"] == foldsym.SymbolFile(demo.read_bytes()).info()["BuildId"]


def test_info_is_the_commands(demo):
    theirs = command("info", demo, "--json")[0]
    for key, value in foldsym.SymbolFile(demo).info().items():
        assert (theirs if key in theirs else theirs["Counts"])[key] == value, key


def test_store_and_modules(demo, tmp_path):
    store = foldsym.Store(tmp_path / "store", create=True)
    id = store.add(demo)
    assert store.get(id).info()["BuildId"] == id
    assert store.get("22" * 20) is None
    base = int(foldsym.SymbolFile(demo).info()["ImageBase"], 16)
    kernel = 0xFFFF_FFFF_8000_0000
    pcs = [pc - base + kernel for pc in stack_of_demo()]
    modules = [{"id": id, "name": "demo", "base": kernel}, {"id": "11" * 20, "name": "other", "base": 0x1000}]
    frames = [*pcs, 0x1010, "?"]
    ours = foldsym.Symbolizer([store]).stack(frames, modules)
    request = json.dumps({"frames": frames, "modules": modules})
    theirs = command("stack", "--store", tmp_path / "store", "--json", text=request + "\n")[0]["Frames"]
    assert ours == theirs
    assert ours[-2]["Unknown"]["Kind"] == "absent"
    assert foldsym.Symbolizer([store]).stack([], modules) == []


def test_errors_are_exceptions(demo, tmp_path):
    with pytest.raises(foldsym.FoldsymError, match="nowhere"):
        foldsym.SymbolFile(tmp_path / "nowhere")
    whole = demo.read_bytes()
    for size in (0, 3, 40, len(whole) // 2):
        with pytest.raises(foldsym.FoldsymError):
            foldsym.SymbolFile(whole[:size])
    with pytest.raises(ValueError, match="one length"):
        foldsym.SymbolFile(demo).stack([1, 2], ["exact"])
    with pytest.raises(ValueError, match="expected"):
        foldsym.SymbolFile(demo).stack([1], ["other"])
    with pytest.raises(OverflowError):
        foldsym.SymbolFile(demo).lookup(-1)


def test_every_run_answers_as_llvm_symbolizer(demo):
    """The committed answers of llvm-symbolizer, at the first and the last byte of each run of equal answers."""
    oracle = json.loads((ROOT / "testbins" / "expected" / "demo.elf.json").read_text())
    strings, frames = oracle["strings"], oracle["frames"]
    file = foldsym.SymbolFile(demo)
    asked = 0
    for start, end, stack in oracle["runs"]:
        known = (frames[frame] for frame in oracle["stacks"][stack])
        theirs = [(strings[name], strings[path], line) for name, path, line, *_ in known]
        for address in {start, end - 1}:
            ours = file.lookup(address)["Symbol"]
            assert [(at["LinkageName"], at["FileName"], at["Line"]) for at in ours] == theirs, hex(address)
            asked += 1
    assert asked > 500


def test_folded_functions_are_named_by_their_callers(tmp_path):
    program = BUILT / "fold.clang-lld.set" / "program"
    out = tmp_path / "fold.fsym"
    foldsym.convert(program, out)
    file = foldsym.SymbolFile(out)
    assert file.info()["Groups"] > 0
    # Recorded when the program ran: `stack BASE VPTR ADDRESS... | what ran`.
    lines = (program.parent / "stacks").read_text().splitlines()
    stacks = [[int(word, 16) for word in line.split("|")[0].split()[3:]] for line in lines]
    assert len(stacks) > 100
    theirs = command("stack", out, "--json", text="".join(" ".join(map(hex, stack)) + "\n" for stack in stacks))
    ours = [file.stack(stack) for stack in stacks]
    assert [nameless(stack) for stack in ours] == [nameless(stack["Frames"]) for stack in theirs]
    words = {answer["Certainty"] for stack in ours for answer in stack}
    assert "exact" in words and "ambiguous" in words, words


def test_bytes_of_mach_o_are_a_program_too():
    path = BUILT / "macho.arm64"
    of_path, of_bytes = foldsym.SymbolFile(path).info(), foldsym.SymbolFile(path.read_bytes()).info()
    assert of_path["BuildId"] == of_bytes["BuildId"] and of_bytes["Functions"] > 0
    with pytest.raises(foldsym.FoldsymError, match="<bytes>"):
        foldsym.SymbolFile(b"neither a program nor a symbol file")


def test_a_name_that_cannot_be_read_is_damage(demo):
    sections = command("info", demo, "--json")[0]["Sections"]
    names = next(section for section in sections if section["Name"] == "NAMES")
    data, end = bytearray(demo.read_bytes()), names["Offset"] + names["Size"]
    data[end - names["Size"] // 2 : end] = b"\xff" * (names["Size"] // 2)
    with pytest.raises(foldsym.FoldsymError, match="<bytes>: damaged: section NAMES: a name that cannot be decoded"):
        foldsym.SymbolFile(bytes(data)).find("demo::crash")
