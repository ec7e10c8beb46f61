# Stops a program at random instructions of its functions and its libraries'. At each stop it writes a core, and of each frame that gdb finds the
# program counter, the link-time address of its instruction, and the file. FOLDSYM_STACKS names a folder with `functions` (path, link-time address, size; a line each); the script writes
# `modules` there: the path of each file of which the process has code.
import gdb
import os
import random
import struct

FOLDER = os.environ["FOLDSYM_STACKS"]
STOPS = int(os.environ["FOLDSYM_STOPS"])
AT_ENTRY = 9
PT_LOAD = 1
PF_X = 1
random.seed(1)


def quietly(command):
    return gdb.execute(command, to_string=True)


def code_segments(path):
    """Page of the file, and page of link-time addresses, of each segment with code."""
    with open(path, "rb") as file:
        head = file.read(64)
        at, = struct.unpack_from("<Q", head, 32)
        size, count = struct.unpack_from("<HH", head, 54)
        file.seek(at)
        table = file.read(size * count)
    segments = [struct.unpack_from("<IIQQ", table, size * nth) for nth in range(count)]
    return [(offset & ~0xfff, address & ~0xfff) for kind, flags, offset, address in segments if kind == PT_LOAD and flags & PF_X]


def mappings():
    """Ranges of code of the process: start, end, file, and what runtime addresses are more than the file's own."""
    found = []
    with open(f"/proc/{gdb.selected_inferior().pid}/maps") as maps:
        for line in maps:
            words = line.split()
            if len(words) != 6 or not words[5].startswith("/") or "x" not in words[1]:
                continue
            path = os.path.realpath(words[5])
            start, end = (int(word, 16) for word in words[0].split("-"))
            for offset, address in code_segments(path):
                if offset == int(words[2], 16):
                    found.append((start, end, path, start - address))
                    break
    return found


def frames(code):
    """The program counters from the innermost frame on, each with its file and its address there, but those of frames that have no memory of
    their own. What is no code, which has no file, ends them: gdb goes on where a program's first function has no caller."""
    frame, lines, signal = gdb.newest_frame(), [], True
    while frame is not None:
        if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
            counter = frame.pc()
            place = [(path, counter - bias) for start, end, path, bias in code if start <= counter < end]
            if not place:
                if lines:
                    lines.append(f"{counter} 0 -")
                break
            path, address = place[0]
            # A return address may be that of the next function.
            lines.append(f"{counter} {address - (not signal)} {path}")
            signal = frame.type() == gdb.SIGTRAMP_FRAME
        try:
            frame = frame.older()
        except gdb.error:
            break
    return lines


for line in ("pagination off", "confirm off", "debuginfod enabled off", "backtrace past-main on", "backtrace limit 200",
             "print inferior-events off", "print thread-events off"):
    quietly("set " + line)
# A program that never ends is stopped by its time.
quietly("set exec-wrapper sh -c 'ulimit -t 6; exec \"$0\" \"$@\" > /dev/null'")
quietly("starti")
# At its entry all libraries that it names are there.
auxiliary = [line.split() for line in quietly("info auxv").splitlines()]
entry = next(int(words[-1], 16) for words in auxiliary if int(words[0]) == AT_ENTRY)
if gdb.newest_frame().pc() != entry:
    quietly(f"tbreak *{entry}")
    quietly("continue")
    if gdb.newest_frame().pc() != entry:
        # Its loader crashes.
        print("stops 0")
        gdb.execute("quit")
biases = {path: bias for _, _, path, bias in mappings()}
architecture = gdb.newest_frame().architecture()
for line in open(FOLDER + "/functions"):
    path, address, size = line.rsplit(" ", 2)
    bias = biases.get(os.path.realpath(path))
    if bias is None:
        continue
    start, size = bias + int(address), int(size)
    try:
        at = random.choice(architecture.disassemble(start, start + size - 1))["addr"]
        quietly(f"tbreak *{at}")
    except gdb.error:
        continue
stops, code = 0, set()
while stops < STOPS:
    try:
        quietly("continue")
        here = mappings()
        lines = frames(here)
    except (gdb.error, OSError):
        break
    if not lines:
        # The program jumped to where no code is.
        continue
    code.update(path for _, _, path, _ in here)
    quietly(f"generate-core-file {FOLDER}/{stops}.core")
    with open(f"{FOLDER}/{stops}.truth", "w") as out:
        out.write("\n".join(lines))
    stops += 1
with open(FOLDER + "/modules", "w") as out:
    out.write("\n".join(sorted(code)))
print("stops", stops)
try:
    quietly("kill")
except gdb.error:
    pass
