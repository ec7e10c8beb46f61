"""Turns gdb's frames in folded code into the functions that ran, by the command foldsym.

At a stop the command is asked once, for all frames of a thread. `source foldsym_gdb.py` in gdb or in ~/.gdbinit.
"""

import itertools
import json
import subprocess

import gdb
from gdb.FrameDecorator import FrameDecorator

# Frames of one request, and how many seconds the command may take.
MAX_FRAMES = 1024
TIMEOUT = 60


class Text(gdb.Parameter):
    """A setting that is a text; the class of each has its name and meaning."""

    def __init__(self, name, value):
        super().__init__(name, gdb.COMMAND_STACK, gdb.PARAM_STRING)
        self.value = value

    def get_set_string(self):
        forget()
        return ""

    def get_show_string(self, value):
        return value


class Program(Text):
    """The command foldsym, a path or a name."""

    set_doc = show_doc = __doc__


class Options(Text):
    """Options of foldsym, such as --store DIR. Without any the program that gdb debugs is searched."""

    set_doc = show_doc = __doc__


def words():
    # Quotes and backslashes as in a shell.
    import shlex

    options = shlex.split(OPTIONS.value or "")
    program = gdb.current_progspace().filename
    if not options and program is None:
        raise ValueError("gdb has no program: say where to search, `set foldsym-options --search DIR`")
    return [PROGRAM.value, "stack", "--json", *(options or ["--search", program])]


def mappings():
    """The lowest address of each mapped file. gdb has no interface for it; its command lists a process and a core alike."""
    starts = {}
    for line in gdb.execute("info proc mappings", to_string=True).splitlines():
        parts = line.split()
        path = line[line.find("/") :].strip() if "/" in line else ""
        if len(parts) >= 5 and parts[0].startswith("0x") and path:
            start, end = int(parts[0], 16), int(parts[1], 16)
            first, last = starts.get(path, (start, end))
            starts[path] = (min(first, start), max(last, end))
    return starts


def modules():
    build_ids = {one.filename: one.build_id for one in gdb.objfiles() if one.filename}
    found = []
    for path, (start, end) in sorted(mappings().items(), key=lambda one: one[1]):
        module = {"name": path, "base": hex(start), "size": end - start}
        # The path of the process may be a link that gdb has resolved.
        if build_ids.get(path):
            module["id"] = build_ids[path]
        found.append(module)
    return found


def frames(newest):
    """The frames of the machine: gdb also has one for each inlined function, with the same pc. Each with how many are inlined in it."""
    inlined, after_signal, found = 0, True, []
    while newest is not None and len(found) < MAX_FRAMES:
        kind = newest.type()
        if kind == gdb.INLINE_FRAME:
            inlined += 1
        else:
            # `pc` is the raw return address, but of the newest frame, and of the one that a signal interrupted.
            exact = after_signal or kind == gdb.SIGTRAMP_FRAME
            found.append((newest, newest.pc(), "exact" if exact else "return", inlined))
            inlined, after_signal = 0, kind == gdb.SIGTRAMP_FRAME
        newest = newest.older()
    return found


class Stop:
    """The answers for the stack of a thread while it is stopped."""

    def __init__(self):
        self.answers, self.listed, found = {}, [], []
        # Whatever goes wrong here, gdb must go on to print the frames as it does without this script.
        try:
            found = frames(gdb.newest_frame())
            request = {
                "modules": modules(),
                "frames": [{"address": hex(pc), "kind": kind} for _, pc, kind, _ in found],
            }
            ran = subprocess.run(
                words(), input=json.dumps(request) + "\n", capture_output=True, text=True, timeout=TIMEOUT
            )
            answer = json.loads(ran.stdout) if ran.stdout else {"Error": ran.stderr.strip()}
        except Exception as error:
            answer = {"Error": str(error)}
        self.error = answer.get("Error")
        for (frame, pc, _, inlined), one in zip(found, answer.get("Frames", [])):
            if one.get("CandidateCount"):
                self.answers[(pc, int(frame.read_register("sp")))] = (one, inlined)
                self.listed.append((frame, one))

    def of(self, frame):
        """The location of a frame in folded code, and the answer; None for other frames."""
        above = 0
        # Those that are inlined in a function are newer than it.
        machine = frame
        while machine is not None and machine.type() == gdb.INLINE_FRAME:
            machine, above = machine.older(), above + 1
        if machine is None:
            return None
        found = self.answers.get((machine.pc(), int(machine.read_register("sp"))))
        if found is None:
            return None
        answer, _ = found
        # The innermost is first, and the function itself last.
        places = answer["Symbol"]
        return (places[-1 - above], answer) if above < len(places) else None


STOPS = {}


def forget(_=None):
    STOPS.clear()


def stop():
    thread = gdb.selected_thread()
    key = (gdb.selected_inferior().num, thread.num if thread else 0)
    if key not in STOPS:
        STOPS[key] = Stop()
        if STOPS[key].error:
            gdb.write("foldsym: %s\n" % STOPS[key].error, gdb.STDERR)
    return STOPS[key]


def candidates_of(answer):
    """The functions that may have run. One that is alone is the answer itself, without a list."""
    return answer.get("Candidates") or [{"Symbol": answer["Symbol"], "How": answer["How"]}]


def mark(answer):
    evidence = answer["Evidence"]
    if evidence is None:
        return "[%s: %d candidates]" % (answer["Certainty"], answer["CandidateCount"])
    return "[%s: %s]" % (answer["Certainty"], evidence)


class Folded(FrameDecorator):
    """A frame with the function that ran, its file and line."""

    def __init__(self, base, place, answer):
        super().__init__(base)
        self.place, self.answer = place, answer

    def function(self):
        return "%s %s" % (self.place["FunctionName"], mark(self.answer))

    def filename(self):
        return self.place["FileName"] or super().filename()

    def line(self):
        return self.place["Line"] or super().line()


class Filter:
    """Of gdb's frame filters: replaces frames in folded code."""

    def __init__(self):
        self.name, self.priority, self.enabled = "foldsym", 100, True
        gdb.frame_filters[self.name] = self

    def filter(self, decorators):
        # The command runs when the first frame is wanted.
        return itertools.chain.from_iterable(map(self.decorated, decorators))

    def decorated(self, decorator):
        found = stop().of(decorator.inferior_frame())
        yield Folded(decorator, *found) if found else decorator


class Candidates(gdb.Command):
    """Lists the functions that may have run in the selected frame, and what shows it. With `all`, of all frames in folded code."""

    def __init__(self):
        super().__init__("foldsym-candidates", gdb.COMMAND_STACK)

    def invoke(self, argument, _):
        stopped = stop()
        if argument.strip() == "all":
            for frame, answer in stopped.listed:
                gdb.write("#%d  " % frame.level())
                self.put(answer)
            return
        found = stopped.of(gdb.selected_frame())
        if found is None:
            raise gdb.GdbError("The selected frame is not in folded code.")
        self.put(found[1])

    def put(self, answer):
        gdb.write("%s\n" % mark(answer))
        for one in candidates_of(answer):
            place = one["Symbol"][-1]
            gdb.write("  %s at %s:%d (%s)\n" % (place["FunctionName"], place["FileName"], place["Line"], one["How"]))


PROGRAM = Program("foldsym-program", "foldsym")
OPTIONS = Options("foldsym-options", "")
gdb.events.cont.connect(forget)
gdb.events.new_objfile.connect(forget)
gdb.events.clear_objfiles.connect(forget)
gdb.events.memory_changed.connect(forget)
gdb.events.register_changed.connect(forget)
gdb.events.exited.connect(forget)
Filter()
Candidates()
