"""Turns lldb's frames in folded code into the functions that ran, by the command foldsym.

At a stop the command is asked once, for all frames of a thread. `command script import foldsym_lldb.py` in lldb or in ~/.lldbinit.
"""

import json
import os
import shlex
import subprocess

import lldb

# Frames of one request, and how many seconds the command may take.
MAX_FRAMES = 1024
TIMEOUT = 60

# What `foldsym-options` sets.
SETTINGS = {"program": os.environ.get("FOLDSYM", "foldsym"), "options": []}

# The name of a frame, then its line, both from this file; the rest is lldb's own format.
FORMAT = (
    "frame #${frame.index}: ${ansi.fg.yellow}${frame.pc}${ansi.normal}"
    "{ ${module.file.basename}{`${script.frame:foldsym_lldb.name}}}"
    "{${frame.is-artificial} [artificial]}\\n"
)


def modules(target):
    found = []
    for module in target.module_iter():
        loads = [
            section.GetLoadAddress(target)
            for section in module.section_iter()
            if section.GetLoadAddress(target) != lldb.LLDB_INVALID_ADDRESS
        ]
        # The header is at the address of the first segment.
        header = module.GetObjectFileHeaderAddress().GetLoadAddress(target)
        base = header if header != lldb.LLDB_INVALID_ADDRESS else min(loads, default=None)
        if base is None:
            continue
        one = {"name": str(module.GetFileSpec()), "base": hex(base)}
        uuid = (module.GetUUIDString() or "").replace("-", "").lower()
        # A shorter one is a checksum that lldb made itself.
        if len(uuid) >= 32:
            one["id"] = uuid
        found.append(one)
    return found


class Stop:
    """The answers for the stack of a thread while it is stopped."""

    def __init__(self, thread):
        self.answers, request, keys = {}, [], []
        after_signal, newest = True, None
        for index in range(min(thread.GetNumFrames(), MAX_FRAMES)):
            frame = thread.GetFrameAtIndex(index)
            # Inlined functions have frames of their own, newer than the function that has the code. The pc is that of the newest: of
            # others lldb gives the start of the inlined code.
            newest = frame.GetPC() if newest is None else newest
            if frame.IsInlined():
                continue
            is_handler = "sigreturn" in (frame.GetFunctionName() or "") or "restore_rt" in (
                frame.GetFunctionName() or ""
            )
            # `GetPC` is the raw return address, but of the newest frame, and of the one that a signal interrupted.
            kind = "exact" if after_signal or is_handler else "return"
            request.append({"address": hex(newest), "kind": kind})
            keys.append(index)
            after_signal, newest = is_handler, None
        target = thread.GetProcess().GetTarget()
        program = str(target.GetExecutable())
        words = [SETTINGS["program"], "stack", "--json", *(SETTINGS["options"] or ["--search", program])]
        # Whatever goes wrong here, lldb must go on to print the frames as it does without this script.
        try:
            body = json.dumps({"modules": modules(target), "frames": request}) + "\n"
            ran = subprocess.run(words, input=body, capture_output=True, text=True, timeout=TIMEOUT)
            answer = json.loads(ran.stdout) if ran.stdout else {"Error": ran.stderr.strip()}
        except Exception as error:
            answer = {"Error": str(error)}
        self.error = answer.get("Error")
        for index, one in zip(keys, answer.get("Frames", [])):
            if one.get("CandidateCount"):
                self.answers[index] = one

    def of(self, frame):
        """The location of a frame in folded code, and the answer; None for other frames."""
        index, above = frame.GetFrameID(), 0
        thread = frame.GetThread()
        while frame.IsInlined() and index + 1 < thread.GetNumFrames():
            index, above = index + 1, above + 1
            frame = thread.GetFrameAtIndex(index)
        answer = self.answers.get(index)
        if answer is None or above >= len(answer["Symbol"]):
            return None
        # The innermost is first, and the function itself last.
        return answer["Symbol"][-1 - above], answer


STOPS = {}


def stop(thread):
    process = thread.GetProcess()
    key = (process.GetUniqueID(), thread.GetThreadID())
    at = process.GetStopID()
    if STOPS.get(key, (None, None))[0] != at:
        STOPS[key] = (at, Stop(thread))
    return STOPS[key][1]


def candidates_of(answer):
    """The functions that may have run. One that is alone is the answer itself, without a list."""
    return answer.get("Candidates") or [{"Symbol": answer["Symbol"], "How": answer["How"]}]


def mark(answer):
    evidence = answer["Evidence"]
    if evidence is None:
        return "[%s: %d candidates]" % (answer["Certainty"], answer["CandidateCount"])
    return "[%s: %s]" % (answer["Certainty"], evidence)


def place_of(place):
    return "%s:%d" % (os.path.basename(place["FileName"]), place["Line"])


def name(frame, _):
    """What `frame-format` shows of a frame: its function, and its line."""
    found = stop(frame.GetThread()).of(frame)
    if found:
        place, answer = found
        return "%s %s at %s" % (place["FunctionName"], mark(answer), place_of(place))
    shown = frame.GetDisplayFunctionName() or frame.GetSymbol().GetName() or "???"
    entry = frame.GetLineEntry()
    if not entry.IsValid() or not entry.GetFileSpec().GetFilename():
        return shown
    return "%s at %s:%d" % (shown, entry.GetFileSpec().GetFilename(), entry.GetLine())


def candidates(debugger, argument, context, result, _):
    """Lists the functions that may have run in the selected frame, and what shows it. With `all`, of all frames in folded code."""
    frame = context.GetFrame()
    if not frame.IsValid():
        result.SetError("no frame is selected")
        return
    stopped = stop(frame.GetThread())
    if stopped.error:
        result.SetError("foldsym: %s" % stopped.error)
        return
    if argument.strip() == "all":
        listed = sorted(stopped.answers.items())
    else:
        found = stopped.of(frame)
        if found is None:
            result.SetError("the selected frame is not in folded code")
            return
        listed = [(frame.GetFrameID(), found[1])]
    for index, answer in listed:
        result.AppendMessage("#%d  %s" % (index, mark(answer)))
        for one in candidates_of(answer):
            place = one["Symbol"][-1]
            result.AppendMessage("  %s at %s:%d (%s)" % (place["FunctionName"], place["FileName"], place["Line"], one["How"]))


def options(debugger, argument, context, result, _):
    """Sets options of foldsym, such as --store DIR. Without any the program that lldb debugs is searched."""
    SETTINGS["options"] = shlex.split(argument)
    STOPS.clear()


def __lldb_init_module(debugger, _):
    debugger.HandleCommand("command script add -f foldsym_lldb.candidates foldsym-candidates")
    debugger.HandleCommand("command script add -f foldsym_lldb.options foldsym-options")
    debugger.HandleCommand("settings set frame-format '%s'" % FORMAT)
