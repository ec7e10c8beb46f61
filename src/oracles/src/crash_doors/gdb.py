# Prints each frame of a core's thread that crashed, innermost first: its type, the function that gdb names, and the symbol at its code.
import gdb


def symbol(address):
    text = gdb.execute(f"info symbol {address}", to_string=True)
    return "" if text.startswith("No symbol matches") else text.split(" in section ")[0]


frame, back = gdb.newest_frame(), 0
while frame is not None:
    print("frame", frame.type(), frame.name() or "", symbol(frame.pc() - back), sep="\t")
    back = 0 if frame.type() == gdb.SIGTRAMP_FRAME else 1
    try:
        frame = frame.older()
    except gdb.error:
        break
