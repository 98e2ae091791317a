"""The start of the guest.

Started with -I -S, an empty environment, and a host at the other end of its
standard input and output. It imports what programs mostly need, waits for the
boot frame and then for one program, runs it as the body of an asynchronous
function, and says how it ended.
"""

import sys


class Stub(type(sys)):
    """Stands for a module of which only names are used."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        # Levels are numbers.
        return 0 if name.isupper() else self

    def __call__(self, *_, **__):
        return self

    def __mro_entries__(self, _):
        return (object,)


def refused(*_, **__):
    raise PermissionError("programs start no processes")


def _start():
    import os

    # The interpreter puts its locale there.
    os.environ.clear()
    # The protocol gets descriptors of its own; what a program writes to 1
    # goes where 2 goes, and 0 has nothing to read.
    source, sink = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)

    # What asyncio asks for, no program can use here or it costs too much to
    # load before a program wants it; a program that does gets the real one.
    stubs = {name: Stub(name) for name in ("ssl", "subprocess", "logging")}
    stubs["subprocess"].Popen = refused
    sys.modules.update(stubs)
    import asyncio

    for name in stubs:
        if sys.modules.get(name) is stubs[name]:
            del sys.modules[name]
    import json

    Guest(os, asyncio, json, source, sink).serve()


_start()


