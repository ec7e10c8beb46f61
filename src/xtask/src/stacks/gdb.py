# Stops a program at random instructions of its functions and its libraries'. At each stop it writes a core and the program counters of the
# frames that gdb finds. FOLDSYM_STACKS names a folder with `functions` (path, offset from the load address, size; a line each).
import gdb
import os
import random

FOLDER = os.environ["FOLDSYM_STACKS"]
STOPS = int(os.environ["FOLDSYM_STOPS"])
random.seed(1)
for line in ("pagination off", "confirm off", "debuginfod enabled off", "backtrace past-main on", "backtrace limit 200", "print inferior-events off"):
    gdb.execute("set " + line)
gdb.execute("break main", to_string=True)
gdb.execute("run > /dev/null", to_string=True)
bases = {}
for line in open(f"/proc/{gdb.selected_inferior().pid}/maps"):
    words = line.split()
    if len(words) == 6 and int(words[2], 16) == 0:
        bases.setdefault(os.path.realpath(words[5]), int(words[0].split("-")[0], 16))
architecture = gdb.selected_frame().architecture()
for line in open(FOLDER + "/functions"):
    path, offset, size = line.rsplit(" ", 2)
    base = bases.get(os.path.realpath(path))
    if base is None:
        continue
    start, size = base + int(offset), int(size)
    try:
        instructions = architecture.disassemble(start, start + size - 1)
        at = random.choice(instructions)["addr"]
        gdb.execute(f"tbreak *{at}", to_string=True)
    except gdb.error:
        continue
stops = 0
while stops < STOPS:
    try:
        gdb.execute("continue", to_string=True)
        frame = gdb.newest_frame()
    except gdb.error:
        break
    counters = []
    while frame is not None:
        if frame.type() != gdb.INLINE_FRAME:
            counters.append(frame.pc())
        try:
            frame = frame.older()
        except gdb.error:
            break
    gdb.execute(f"generate-core-file {FOLDER}/{stops}.core", to_string=True)
    with open(f"{FOLDER}/{stops}.truth", "w") as out:
        out.write("\n".join(str(counter) for counter in counters))
    stops += 1
print("stops", stops)
gdb.execute("kill")
