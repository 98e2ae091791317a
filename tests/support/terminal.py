"""Runs a program on a terminal of its own and answers its questions.

Usage: terminal.py KEYS PROGRAM ARGUMENT...

KEYS are answers separated by commas, each typed when a further question is
seen; `^` stands for Ctrl-C, `~` for Enter and `!` for Esc. What the terminal showed goes to standard output; the exit status
is the program's.
"""

import os
import pty
import sys
import time

keys, program = sys.argv[1].split(","), sys.argv[2:]
child, terminal = pty.fork()
if child == 0:
    os.execv(program[0], program)
shown = b""
answered = 0
while True:
    try:
        piece = os.read(terminal, 4096)
    except OSError:  # the other end is closed
        break
    if not piece:
        break
    shown += piece
    if shown.count(b"[y]es") > answered and answered < len(keys):
        # What is typed before a question is ready is thrown away by intent.
        time.sleep(0.2)
        for key in keys[answered]:
            os.write(terminal, {"^": b"\x03", "~": b"\r", "!": b"\x1b"}.get(key, key.encode()))
            time.sleep(0.05)
        answered += 1
_, status = os.waitpid(child, 0)
sys.stdout.buffer.write(shown)
sys.exit(os.waitstatus_to_exitcode(status) & 0xFF)
