"""Measures what `.llvm.callgraph` of clang 22 and 23 says of calls through pointers.

Writes a C program whose functions are folded, and whose callers call them through pointers. The source says which function each call calls. The
program is converted with the section and without it, and each call is asked for: the address of the folded code, and the return address.

    python3 benches/call_types/call_types.py --llvm corpus/sid-llvm --foldsym target/debug/foldsym --linker lld --seed 1
"""

import argparse
import json
import os
import random
import re
import subprocess
import tempfile

FLAGS = ("-std=c17 --target=x86_64-linux-gnu -O2 -gdwarf-5 -fno-pic -ffunction-sections -fno-asynchronous-unwind-tables "
         "-fexperimental-call-graph-section").split()
TYPES = 40
FILES = 4
CALLERS = (("one, by the callee's own type", 120), ("two, of members of one group", 60), ("one, all members have its type", 60),
           ("one, by a cast, as a type of no member", 40))


class Generated:
    """The program: its files, the functions of each group, and the calls."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.files = [[] for _ in range(FILES)]
        self.types, self.groups, self.calls = {}, [], []
        self.head = "#define KEPT __attribute__((noinline))\ntypedef int FV(void *);\n"
        for number in range(TYPES):
            self.head += f"struct T{number} {{ int a; }};\ntypedef int F{number}(struct T{number} *);\n"
        for body in range(20):
            types = self.random.sample(range(TYPES), self.random.randint(2, 8))
            self.group([(f"get{body}_{number}", number) for number in types], f"of->a * {body + 3} + {(body + 3) % 7}")
        for body in range(10):
            names = [(f"back{body}_{copy}", "V") for copy in range(self.random.randint(2, 4))]
            self.group(names, f"*(int *)of * {50 + body}")
        for kind, count in CALLERS:
            for _ in range(count):
                self.caller(kind)
        every = " + ".join(f"{caller}(of)" for caller, _, _ in self.calls)
        self.files[0].append(f"int start(void *of) {{ return {every}; }}\n")

    def group(self, members, value):
        for name, of in members:
            self.types[name] = of
            parameter = "void *" if of == "V" else f"struct T{of} *"
            self.head += f"int {name}({parameter});\n"
            self.random.choice(self.files).append(f"KEPT int {name}({parameter}of) {{ return {value}; }}\n")
        self.groups.append([name for name, _ in members])

    def caller(self, kind):
        typed = [group for group in self.groups if self.types[group[0]] != "V"]
        plain = [group for group in self.groups if self.types[group[0]] == "V"]
        number = len(self.calls) + 1
        group = self.random.choice(plain if kind == CALLERS[2][0] else typed)
        callees = self.random.sample(group, 2 if kind == CALLERS[1][0] else 1)
        where = self.random.randrange(FILES)
        body = f"int sum = {number};"
        for place, callee in enumerate(callees):
            of = "V" if kind == CALLERS[3][0] else self.types[callee]
            pointer = f"pointer{number}_{place}"
            # The pointer is in another file, so that the compiler does not know what it points to.
            self.files[where].append(f"extern void *volatile {pointer};\n")
            self.files[(where + 1) % FILES].append(f"void *volatile {pointer} = (void *){callee};\n")
            body += f" sum += ((F{of} *){pointer})((void *)of) * {number + 3};"
        self.head += f"int call{number}(void *);\n"
        self.files[where].append(f"KEPT int call{number}(void *of) {{ {body} return sum; }}\n")
        self.calls.append((f"call{number}", kind, callees))


def run(*command, **options):
    return subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True, **options).stdout


def build(generated, tools, linker, folder):
    objects = []
    for number, lines in enumerate(generated.files):
        source = os.path.join(folder, f"f{number}.c")
        with open(source, "w", encoding="utf-8") as file:
            file.write(generated.head + "".join(lines))
        run(os.path.join(tools, "clang"), *FLAGS, "-c", source, "-o", source + ".o")
        objects.append(source + ".o")
    program = os.path.join(folder, "program")
    name = {"lld": os.path.join(tools, "ld.lld"), "mold": os.path.join(tools, "mold"), "gold": "ld.gold"}[linker]
    run(name, "-e", "start", "--icf=all", *objects, "-o", program)
    run(os.path.join(tools, "llvm-objcopy"), "--remove-section", ".llvm.callgraph", program, program + ".without")
    return program


def addresses(program, tools):
    """The addresses of symbols, and where the indirect calls of each function return to."""
    symbols, returns, function, is_after = {}, {}, None, False
    for line in run(os.path.join(tools, "llvm-objdump"), "-d", "--no-show-raw-insn", program).splitlines():
        if begin := re.fullmatch(r"([0-9a-f]+) <(.*)>:", line):
            function, is_after = begin[2], False
        elif instruction := re.match(r" *([0-9a-f]+):", line):
            if is_after:
                returns.setdefault(function, []).append(int(instruction[1], 16))
            is_after = re.search(r"callq?\s+\*", line) is not None
    for line in run(os.path.join(tools, "llvm-nm"), program).splitlines():
        words = line.split()
        if len(words) == 3:
            symbols[words[2]] = int(words[0], 16)
    return symbols, returns


def judge(generated, program, tools, foldsym):
    symbols, returns = addresses(program, tools)
    output = program + ".fsym"
    run(foldsym, "convert", program, "-o", output, "--quiet")
    asked, of_group = [], {name: group for group in generated.groups for name in group}
    for caller, kind, callees in generated.calls:
        for callee, back in zip(callees, returns[caller], strict=True):
            # mold drops the symbols of folded functions.
            start = next(symbols[name] for name in of_group[callee] if name in symbols)
            asked.append((kind, callee, f"{start:#x} {back:#x}\n"))
    answers = run(foldsym, "stack", output, "--json", input="".join(stack for _, _, stack in asked)).splitlines()
    found = {kind: dict.fromkeys(("calls", "likely", "exact", "narrowed", "ambiguous", "first", "wrong", "lacking"), 0) for kind, _ in CALLERS}
    for (kind, callee, _), answer in zip(asked, answers, strict=True):
        frame = json.loads(answer)["Frames"][0]
        names = [of["LinkageName"] for of in frame.get("Candidates", frame["Symbol"])]
        counts = found[kind]
        counts["calls"] += 1
        counts[frame["Certainty"]] += 1
        counts["first"] += names[0] == callee
        counts["wrong"] += frame["Certainty"] != "ambiguous" and names[0] != callee
        counts["lacking"] += callee not in names
    return found, os.path.getsize(output)


def sizes(program, tools):
    table = run(os.path.join(tools, "llvm-readelf"), "-S", "-W", program)
    found = dict(re.findall(r"\[ *\d+\] (\S+) +\S+ +[0-9a-f]+ [0-9a-f]+ ([0-9a-f]+)", table))
    debug = sum(int(size, 16) for name, size in found.items() if name.startswith(".debug"))
    return int(found[".llvm.callgraph"], 16), debug


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--llvm", required=True)
    options.add_argument("--foldsym", required=True)
    options.add_argument("--linker", choices=("lld", "mold", "gold"), default="lld")
    options.add_argument("--seed", type=int, required=True)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        generated = Generated(given.seed)
        program = build(generated, given.llvm, given.linker, folder)
        graph, debug = sizes(program, given.llvm)
        print(f"{given.linker}: .llvm.callgraph {graph} bytes, {100 * graph / debug:.1f} % of {debug} bytes of debug sections")
        for label, file in (("section read", program), ("ignored", program + ".without")):
            found, size = judge(generated, file, given.llvm, given.foldsym)
            print(f"{label}: .fsym {size} bytes")
            for kind, counts in found.items():
                print(f"  {kind}: " + ", ".join(f"{name} {count}" for name, count in counts.items()))


if __name__ == "__main__":
    main()
