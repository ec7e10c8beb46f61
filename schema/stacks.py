"""Which function of a group ran (README.md, section 3): stacks to sets of functions, and what CALLS and TAILS must hold.

A stack is a line: the exact address, then return addresses, innermost first; `=A` is an exact address further out
(a frame that a signal interrupted), `?` a frame of another program. The answer has an entry for each frame:
[certainty, functions], where certainty is null if no function is known, and the functions are numbers of records,
sorted.
"""

import bisect

from parts import need

MOST_LISTED = 16
MOST_TAILS = 65
SYMBOL_ONLY = 6
DOUBTFUL = 2


def parse(line):
    """[(kind, address)] with kind `exact`, `return` or `foreign`."""
    out = []
    for at, word in enumerate(line.split()):
        if word == "?":
            out.append(("foreign", None))
        elif word.startswith("="):
            out.append(("exact", int(word[1:], 0)))
        else:
            out.append(("return" if at else "exact", int(word, 0)))
    return out


class Stacks:
    """Resolves the stacks of one file."""

    def __init__(self, file):
        self.base = file.header["image_base"]
        self.pieces = list(file.table("PIECES"))
        self.starts = [piece.start for piece in self.pieces]
        self.groups = [file.members_of(group) for group in range(len(file.table("GROUPS")))]
        self.calls = {(call.address, call.caller): call for call in file.table("CALLS")}
        self.tails = {}
        for tail in file.table("TAILS"):
            self.tails.setdefault(tail.function, []).append(tail.target)

    def owner(self, kind, address):
        """The owner of the code at a frame; None in padding and where there is no code."""
        if kind == "foreign":
            return None
        offset = address - self.base - (1 if kind == "return" else 0)
        at = bisect.bisect_right(self.starts, offset) - 1
        if at < 0 or offset >= self.starts[at] + self.pieces[at].body:
            return None
        return self.pieces[at].owner

    def resolve(self, stack):
        out, outer, outer_may_be = [], None, None
        for kind, address in reversed(stack):
            owner = self.owner(kind, address)
            if owner is None:
                certainty, functions, may_be = None, [], None
            elif owner & 1 == 0:
                certainty, functions, may_be = "unique", [owner >> 1], None
            else:
                certainty, functions = self.member(self.groups[owner >> 1], outer, outer_may_be)
                may_be = functions
            out.append([certainty, sorted(functions)])
            outer, outer_may_be = (kind, address), may_be
        return out[::-1]

    def member(self, members, outer, outer_may_be):
        """(certainty, functions) of a frame of a group. `outer_may_be` is None where the next frame is not folded."""
        every = {member.function for member in members}
        possible, doubtful = set(), False
        if outer is not None and outer[0] == "return":
            address = outer[1] - self.base
            for caller in [None] if outer_may_be is None else outer_may_be:
                call = self.calls.get((address, 0))
                if call is None and caller is not None:
                    call = self.calls.get((address, 1 + caller))
                if call is None:
                    possible = every
                    break
                targets = self.tails.get(call.callee, [])
                possible = possible | every & {call.callee, *(target - 1 for target in targets)}
                if 0 in targets:
                    possible = every
                if call.how == DOUBTFUL:
                    doubtful = True
                    possible = possible | {member.function for member in members if member.how == SYMBOL_ONLY}
        if not possible or len(possible) > MOST_LISTED:
            possible = every
        if possible == every:
            return "ambiguous", every
        return "exact" if len(possible) == 1 and not doubtful else "narrowed", possible


def check_calls(file):
    functions, before = len(file.table("FUNCTIONS")), (-1, -1)
    for i, call in enumerate(file.table("CALLS")):
        need(before < (call.address, call.caller), f"call {i} is not after the one before it")
        need(0 <= call.caller <= functions and 0 <= call.callee < functions, f"call {i}: caller or callee")
        need(0 <= call.address and 0 <= call.how <= DOUBTFUL, f"call {i}: address or how")
        before = call.address, call.caller


def check_tails(file):
    functions, before, run = len(file.table("FUNCTIONS")), (-1, -1), 0
    grouped = {member.function for member in file.table("MEMBERS")}
    called = {call.callee for call in file.table("CALLS")}
    for i, tail in enumerate(file.table("TAILS")):
        need(before < tail, f"tail {i} is not after the one before it")
        need(0 <= tail.function < functions and 0 <= tail.target <= functions, f"tail {i}: function or target")
        need(tail.function in called, f"tail {i}: no record of CALLS names function {tail.function}")
        need(tail.target == 0 or tail.target - 1 in grouped, f"tail {i}: target {tail.target - 1} is in no group")
        need(tail.target - 1 != tail.function, f"tail {i}: a function lists itself")
        run = run + 1 if tail.function == before[0] else 1
        need(run <= MOST_TAILS, f"tail {i}: function {tail.function} has more than {MOST_TAILS}")
        before = tail
