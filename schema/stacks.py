"""Which function of a group ran (README.md, section 3): stacks to sets of functions, and what CALLS, TAILS, VTABLES, SLOTS,
OVERRIDERS, DISPATCHES and TARGETS must hold.

A stack is a line: the exact address, then return addresses, innermost first; `=A` is an exact address further out
(a frame that a signal interrupted), `?` a frame of another program. `vptr=A` after the first address is what the object
of the innermost frame has as its pointer to virtual functions. The answer has an entry for each frame:
[certainty, functions], where certainty is null if no function is known, `likely: REASON` if it is not certain that the
function is the only one of its code, and `likely: call F`, `likely: slot F` or `likely: object F` if function F of the group has evidence; the
functions are numbers of records, sorted.
"""

import bisect

from parts import need

MOST_LISTED = 16
MOST_TAILS = 65
MOST_METHODS = 1024
MOST_SLOT = 65535
BY_OBJECT = 65536
SYMBOL_ONLY = 6
REASONS = (None, "stripped", "plain_names", "unclaimed_lines", "merged_without_trace", "no_code",
           "undescribed_object", "cap_reached")
DOUBTFUL = (2, 3, 5)
UNPROVEN = 4
NAME_ALONE = 6
MERGED = 5


def parse(line):
    """[(kind, address)] with kind `exact`, `return` or `foreign`; and what `vptr=` says, else None."""
    out, vptr = [], None
    for at, word in enumerate(line.split()):
        if word.startswith("vptr="):
            vptr = int(word[5:], 0)
        elif word == "?":
            out.append(("foreign", None))
        elif word.startswith("="):
            out.append(("exact", int(word[1:], 0)))
        else:
            out.append(("return" if at else "exact", int(word, 0)))
    return out, vptr


class Stacks:
    """Resolves the stacks of one file."""

    def __init__(self, file):
        self.base = file.header["image_base"]
        self.pieces = list(file.table("PIECES"))
        self.functions = file.table("FUNCTIONS")
        self.starts = [piece.start for piece in self.pieces]
        self.groups = [file.members_of(group) for group in range(len(file.table("GROUPS")))]
        self.calls = {(call.address, call.caller): call for call in file.table("CALLS")}
        self.tails = {}
        for tail in file.table("TAILS"):
            self.tails.setdefault(tail.function, []).append(tail.target)
        self.slots = {slot.address: slot.slot for slot in file.table("SLOTS")}
        self.overriders = {(record.slot, record.function): record.doubtful for record in file.table("OVERRIDERS")}
        self.dispatches = {call.address: call for call in file.table("DISPATCHES")}
        self.targets = {}
        for target in file.table("TARGETS"):
            self.targets.setdefault((target.set, target.point), {})[target.function] = target.doubtful
        self.vtables = {}
        for method in file.table("VTABLES"):
            self.vtables.setdefault(method.point, []).append(method)

    def owner(self, kind, address):
        """The owner of the code at a frame; None in padding and where there is no code."""
        if kind == "foreign":
            return None
        offset = address - self.base - (1 if kind == "return" else 0)
        at = bisect.bisect_right(self.starts, offset) - 1
        if at < 0 or offset >= self.starts[at] + self.pieces[at].body:
            return None
        return self.pieces[at].owner

    def resolve(self, stack, vptr=None):
        out, outer, outer_may_be = [], None, None
        for kind, address in reversed(stack):
            owner = self.owner(kind, address)
            if owner is None:
                certainty, functions, may_be = None, [], None
            elif owner & 1 == 0:
                code = self.functions[owner >> 1].flags >> 1
                need(code < len(REASONS), f"function {owner >> 1}: reason {code}")
                reason = REASONS[code]
                certainty, functions, may_be = f"likely: {reason}" if reason else "unique", [owner >> 1], None
            else:
                certainty, functions = self.member(self.groups[owner >> 1], outer, outer_may_be)
                may_be = functions
            out.append([certainty, sorted(functions)])
            if len(out) == len(stack) and vptr is not None and may_be is not None:
                out[-1] = self.object(self.groups[owner >> 1], vptr, outer, certainty, functions)
            outer, outer_may_be = (kind, address), may_be
        return out[::-1]

    def object(self, members, vptr, outer, certainty, functions):
        """The answer for a frame of a group that ran on an object, from what the callers leave."""
        slot = self.slots.get(outer[1] - self.base) if outer is not None and outer[0] == "return" else None
        every = {member.function for member in members}
        known = [method for method in self.vtables.get(vptr - self.base, []) if method.function in every]
        fits = [method for method in known if slot is not None and method.slot == 1 + slot % BY_OBJECT]
        fits = fits or [method for method in known if method.slot == 0]
        found = {method.function for method in fits}
        doubtful = any(method.doubtful for method in fits)
        of_call = self.of_set(every, outer, 1 + vptr - self.base)
        if of_call:
            found, doubtful = set(of_call), any(of_call.values())
        if certainty == "exact" or len(found) != 1 or not found <= set(functions):
            return [certainty, sorted(functions)]
        if not doubtful:
            return ["exact", sorted(found)]
        if set(functions) == every and not certainty.startswith("likely: call"):
            return [f"likely: object {min(found)}", sorted(functions)]
        return [certainty, sorted(functions)]

    def of_set(self, every, outer, point):
        """{function: doubtful} of the set of a call, as far as they are members."""
        called = self.dispatch(outer)
        listed = self.targets.get((called.set, point), {}) if called else {}
        return {function: doubt for function, doubt in listed.items() if function in every}

    def dispatch(self, outer):
        """The record of DISPATCHES of the call that returns to the next frame out."""
        return self.dispatches.get(outer[1] - self.base) if outer is not None and outer[0] == "return" else None

    def by_set(self, every, outer):
        """The word for a frame of which the callers tell nothing: by the set of the call, else by its slot."""
        found = self.of_set(every, outer, 0)
        if not found:
            return self.by_slot(every, outer)
        word = "type" if self.dispatch(outer).how else "slot"
        return f"likely: {word} {min(found)}" if len(found) == 1 and not any(found.values()) else "ambiguous"

    def by_slot(self, every, outer):
        """The word for a frame of which the callers tell nothing: by the word of a table that the call goes through."""
        slot = self.slots.get(outer[1] - self.base, 0) if outer is not None and outer[0] == "return" else 0
        if slot < BY_OBJECT:
            return "ambiguous"
        found = [function for function in every if (slot - BY_OBJECT, function) in self.overriders]
        if len(found) == 1 and not self.overriders[slot - BY_OBJECT, found[0]]:
            return f"likely: slot {found[0]}"
        return "ambiguous"

    def member(self, members, outer, outer_may_be):
        """(certainty, functions) of a frame of a group. `outer_may_be` is None where the next frame is not folded."""
        every = {member.function for member in members}
        possible, named, recorded = set(), set(), set()
        doubtful, lost, unknown, by_tail, merged = False, False, False, False, False
        if outer is not None and outer[0] == "return":
            address = outer[1] - self.base
            for caller in [None] if outer_may_be is None else outer_may_be:
                call = self.calls.get((address, 0))
                if call is None and caller is not None:
                    call = self.calls.get((address, 1 + caller))
                if call is None:
                    lost, unknown = True, True
                    break
                targets = self.tails.get(call.callee, [])
                called = every & {call.callee, *(target - 1 for target in targets)}
                possible, named, recorded = possible | called, named | called, recorded | called
                lost |= not called or call.how == UNPROVEN
                by_tail |= call.callee not in every
                merged |= call.how == MERGED
                unknown |= 0 in targets or call.how in (UNPROVEN, NAME_ALONE)
                undescribed = set()
                if call.how in DOUBTFUL:
                    doubtful = True
                    undescribed = {member.function for member in members if member.how == SYMBOL_ONLY}
                    named = named | undescribed
                    possible = possible | undescribed
                if not called and not undescribed:
                    unknown = True
                    break
        if not named:
            return self.by_set(every, outer), every
        if unknown:
            possible = every
        if not lost and not merged and len(recorded) == 1 and (not by_tail if unknown else doubtful):
            return f"likely: call {min(recorded)}", every if len(possible) > MOST_LISTED else possible
        if len(possible) > MOST_LISTED:
            possible = every
        if possible == every:
            return "ambiguous", every
        return "exact" if len(possible) == 1 and not doubtful else "narrowed", possible


def check_calls(file):
    functions, before = len(file.table("FUNCTIONS")), (-1, -1)
    for i, call in enumerate(file.table("CALLS")):
        need(before < (call.address, call.caller), f"call {i} is not after the one before it")
        need(0 <= call.caller <= functions and 0 <= call.callee < functions, f"call {i}: caller or callee")
        need(0 <= call.address and 0 <= call.how <= NAME_ALONE, f"call {i}: address or how")
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


def check_vtables(file):
    functions, before, run = len(file.table("FUNCTIONS")), (-1, -1, -1), 0
    grouped = {member.function for member in file.table("MEMBERS")}
    for i, method in enumerate(file.table("VTABLES")):
        here = method.point, method.function, method.slot
        need(before < here, f"method {i} is not after the one before it")
        need(0 <= method.point and 0 <= method.function < functions, f"method {i}: point or function")
        need(method.function in grouped, f"method {i}: function {method.function} is in no group")
        need(0 <= method.slot <= MOST_SLOT and 0 <= method.doubtful <= 2, f"method {i}: slot or doubtful")
        run = run + 1 if method.point == before[0] else 1
        need(run <= MOST_METHODS, f"method {i}: table {method.point:#x} has more than {MOST_METHODS}")
        before = here


def check_slots(file):
    before = -1
    for i, call in enumerate(file.table("SLOTS")):
        need(before < call.address, f"slot {i} is not after the one before it")
        need(0 <= call.slot < 2 * BY_OBJECT and call.slot % BY_OBJECT < MOST_SLOT, f"slot {i}: slot")
        before = call.address


def check_overriders(file):
    functions, before = len(file.table("FUNCTIONS")), (-1, -1)
    grouped = {member.function for member in file.table("MEMBERS")}
    for i, record in enumerate(file.table("OVERRIDERS")):
        here = record.slot, record.function
        need(before < here, f"overrider {i} is not after the one before it")
        need(0 <= record.slot < MOST_SLOT and 0 <= record.function < functions, f"overrider {i}: slot or function")
        need(record.function in grouped, f"overrider {i}: function {record.function} is in no group")
        need(0 <= record.doubtful <= 1, f"overrider {i}: doubtful")
        before = here


def check_dispatches(file):
    before = -1
    for i, call in enumerate(file.table("DISPATCHES")):
        need(before < call.address, f"dispatch {i} is not after the one before it")
        need(0 <= call.set and 0 <= call.how <= 1, f"dispatch {i}: set or how")
        before = call.address


def check_targets(file):
    functions, before = len(file.table("FUNCTIONS")), (-1, -1, -1)
    grouped = {member.function for member in file.table("MEMBERS")}
    for i, record in enumerate(file.table("TARGETS")):
        here = record.set, record.point, record.function
        need(before < here, f"target {i} is not after the one before it")
        need(0 <= record.set and 0 <= record.point and 0 <= record.function < functions, f"target {i}: set, point or function")
        need(record.function in grouped, f"target {i}: function {record.function} is in no group")
        need(0 <= record.doubtful <= 1, f"target {i}: doubtful")
        before = here


def check_guesses(file):
    before = (-1, 0)
    grouped = {member.function for member in file.table("MEMBERS")}
    for i, guess in enumerate(file.table("GUESSES")):
        need(before < (guess.address, guess.caller), f"guess {i} is not after the one before it")
        need(guess.address >= 0, f"guess {i}: address")
        need(guess.caller == 0 or guess.caller - 1 in grouped, f"guess {i}: caller {guess.caller} is in no group")
        need(guess.callee in grouped, f"guess {i}: function {guess.callee} is in no group")
        before = (guess.address, guess.caller)
