"""The guest's side of the line protocol, for programs in Python.

Started with -I -S, an empty environment, and a host at the other end of its
standard input and output. It imports what programs mostly need, waits for the
boot frame and then for one program, runs it as the body of an asynchronous
function, and says how it ended. It trusts the program with nothing that the
host would believe: the host judges every line itself.
"""

import sys


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
    sys.modules.update(stubs)
    import asyncio

    for name in stubs:
        if sys.modules.get(name) is stubs[name]:
            del sys.modules[name]
    import json

    Guest(os, asyncio, json, source, sink).serve()


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


MAX_DEPTH = 128
IN_FLIGHT = 256
LONGEST = 16 << 20
SHOWN_FRAMES = 20
# No JSON: what falling off the end returns.
NO_VALUE = ...
NOT_LOSSLESS = "program completion must be lossless JSON"
ARGUMENTS = "binding arguments must be lossless JSON"
UNRENDERABLE = "program threw an unrenderable value"

# What a program cannot do here by itself, by the names of the audit events.
REFUSED = (
    "ctypes.",
    "ftplib.",
    "http.",
    "imaplib.",
    "nntplib.",
    "os.exec",
    "os.fork",
    "os.kill",
    "os.posix_spawn",
    "os.spawn",
    "os.startfile",
    "os.system",
    "pty.",
    "smtplib.",
    "socket.",
    "subprocess.",
    "telnetlib.",
    "urllib.",
    "webbrowser.",
)
# What it may do only where the interpreter's own files are, and only to read.
READING = ("open", "os.listdir", "os.scandir", "os.walk", "os.fwalk")
CHANGING = (
    "os.chflags",
    "os.chmod",
    "os.chown",
    "os.link",
    "os.mkdir",
    "os.remove",
    "os.rename",
    "os.rmdir",
    "os.setxattr",
    "os.symlink",
    "os.truncate",
    "os.utime",
    "shutil.",
    "tempfile.",
)


class NotLossless(Exception):
    pass


def string_bytes(text, controls):
    """The bytes of `text` as a JSON string, quotes included."""
    size = 2 + len(text.encode("utf-8")) + 5 * len(controls(text))
    for char in '"\\\b\t\n\f\r':
        size += text.count(char)
    return size


def cut(text, room, controls):
    """The longest beginning that takes `room` bytes as a JSON string."""
    if len(text) > room:
        text = text[: max(room, 0)]
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if string_bytes(text[:middle], controls) <= room:
            low = middle
        else:
            high = middle - 1
    return text[:low]


def check(root):
    """Refuses what JSON, or 64-bit numbers, would change."""
    stack = [(root, 0)]
    while stack:
        value, depth = stack.pop()
        kind = type(value)
        if value is None or kind is bool or kind is str:
            continue
        if isinstance(value, int):
            if not -(2**63) <= value < 2**64:
                raise NotLossless("an integer has more than 64 bits")
        elif isinstance(value, float):
            if value != value or value in (float("inf"), float("-inf")):
                raise NotLossless("a number is not finite")
            if value == 0.0 and str(float(value))[0] == "-":
                raise NotLossless("a number is a negative zero")
        elif isinstance(value, str):
            continue
        elif isinstance(value, (list, tuple)):
            if depth >= MAX_DEPTH:
                raise NotLossless("it is nested too deep")
            for item in value:
                stack.append((item, depth + 1))
        elif isinstance(value, dict):
            if depth >= MAX_DEPTH:
                raise NotLossless("it is nested too deep")
            for name, item in value.items():
                if not isinstance(name, str):
                    raise NotLossless(f"a key is a {type(name).__name__}")
                stack.append((item, depth + 1))
        else:
            raise NotLossless(f"it holds a {kind.__name__}")


class Guest:
    def __init__(self, os, asyncio, json, source, sink):
        self.read, self.write, self.exit = os.read, os.write, os._exit
        self.fsdecode = os.fsdecode
        self.asyncio = asyncio
        self.source, self.sink = source, sink
        self.buffer = bytearray()
        encoder = json.JSONEncoder(
            ensure_ascii=False, allow_nan=False, separators=(",", ":")
        )
        self.encode, self.decode = encoder.encode, json.loads
        import re
        from _thread import RLock
        from collections import deque

        self.controls = re.compile("[\x00-\x07\x0b\x0e-\x1f]").findall
        self.lock = RLock()
        self.pending = {}
        self.queue = deque()
        self.unanswered = set()
        self.next_id = 0
        self.log_room = self.value_room = 0
        self.limit = 0
        self.first = True
        self.full = False

    # Lines in.

    def line(self):
        """The next line, waited for."""
        while True:
            line = self.buffered()
            if line is not None:
                return line
            self.fill()

    def buffered(self):
        end = self.buffer.find(b"\n")
        if end < 0:
            return None
        line = bytes(self.buffer[:end])
        del self.buffer[: end + 1]
        return line

    def fill(self):
        chunk = self.read(self.source, 1 << 16)
        if not chunk:
            # The host is gone, or wants nothing more.
            self.exit(1)
        self.buffer += chunk

    # Lines out.

    def send(self, frame):
        self.put(self.encode(frame).encode("utf-8"))

    def put(self, line):
        line = memoryview(line + b"\n")
        with self.lock:
            while line:
                line = line[self.write(self.sink, line) :]

    def log(self, text):
        """Counts a log as the host does, and sends it or its beginning."""
        if self.full:
            return
        text = str.encode(text, "utf-8", "backslashreplace").decode("utf-8")
        comma = 0 if self.first else 1
        room = self.log_room - comma
        if len(text) + 2 <= room:
            size = string_bytes(text, self.controls)
        else:
            size = room + 1
        if size > room:
            self.full = True
            kept = cut(text, room, self.controls)
            used = comma + string_bytes(kept, self.controls) if kept else 0
            self.value_room -= used
            self.log_room = 0
            self.send({"type": "log", "text": kept, "truncated": True})
            return
        self.first = False
        self.log_room -= size + comma
        self.value_room -= size + comma
        self.send({"type": "log", "text": text})

    def done(self, **members):
        try:
            self.send({"type": "done", **members})
        finally:
            self.exit(0)

    def failed(self, kind, message):
        message = str.encode(message, "utf-8", "backslashreplace").decode("utf-8")
        if len(message) + 2 > self.value_room or (
            string_bytes(message, self.controls) > self.value_room
        ):
            kind, message = "output-limit", f"outer output exceeded {self.limit} bytes"
        self.done(error={"kind": kind, "message": message})

    def completed(self, value):
        if value is NO_VALUE:
            self.done()
        try:
            check(value)
            text = self.encode(value).encode("utf-8")
        except MemoryError:
            raise
        except Exception:
            return self.failed("invalid-output", NOT_LOSSLESS)
        if len(text) > self.value_room:
            return self.failed(
                "output-limit", f"outer output exceeded {self.limit} bytes"
            )
        try:
            self.put(b'{"type":"done","value":' + text + b"}")
        finally:
            self.exit(0)

    # Calls.

    def answered(self):
        """Reads what there is, and wakes those who waited for it."""
        self.fill()
        while (line := self.buffered()) is not None:
            reply = self.decode(line)
            id = reply.get("id")
            self.unanswered.discard(id)
            while self.queue and len(self.unanswered) < IN_FLIGHT:
                next, turn = self.queue.popleft()
                if not turn.done():
                    # It takes its place at once, before another one does.
                    self.unanswered.add(next)
                    turn.set_result(None)
            future = self.pending.pop(id, None)
            if future is None or future.done():
                continue
            if reply.get("ok"):
                future.set_result((True, reply["value"]))
            else:
                future.set_result((False, reply["message"]))

    async def call(self, space, name, args):
        try:
            check(args)
            args = self.encode(args).encode("utf-8")
        except MemoryError:
            raise
        except Exception:
            args = None
        if args is None or len(args) > LONGEST:
            raise space.error(name, ARGUMENTS)
        id = self.next_id
        self.next_id += 1
        loop = self.asyncio.get_running_loop()
        if len(self.unanswered) >= IN_FLIGHT:
            turn = loop.create_future()
            self.queue.append((id, turn))
            await turn
        self.unanswered.add(id)
        future = self.pending[id] = loop.create_future()
        head = {"type": "call", "id": id, "global": space.name, "name": name}
        try:
            head = self.encode(head)[:-1].encode("utf-8")
            self.put(head + b',"args":' + args + b"}")
        except OSError as error:
            self.unanswered.discard(id)
            self.pending.pop(id, None)
            raise space.error(name, f"the call cannot be sent: {error}") from None
        try:
            ok, value = await future
        finally:
            self.pending.pop(id, None)
        if not ok:
            raise space.error(name, value) from None
        return value

    # The run.

    def serve(self):
        import types

        boot = self.decode(self.line())
        # `[]` is counted from the start.
        self.log_room = boot["maxLogBytes"] - 2
        self.value_room = boot["maxValueBytes"] - 2
        self.limit = boot["maxValueBytes"]
        main = types.ModuleType("__main__")
        bound = main.__dict__
        for namespace in boot["namespaces"]:
            space = Space(self, namespace)
            bound[namespace["global"]] = bind(space)
            if space.type is not None:
                bound[space.type.__name__] = space.type
        self.send({"type": "boot-ack"})
        run = self.decode(self.line())
        self.run(run["program"], main)

    def run(self, program, main):
        sys.stdin = None
        sys.stdout, sys.stderr = Stream(self, "<stdout>", 1), Stream(self, "<stderr>", 2)
        sys.__stdin__, sys.__stdout__, sys.__stderr__ = None, sys.stdout, sys.stderr
        sys.stdout.other, sys.stderr.other = sys.stderr, sys.stdout
        sys.modules["__main__"] = main
        sys.argv = [""]
        self.lines = program.splitlines()
        try:
            body = compiled(program)
        except MemoryError:
            self.out_of_memory()
        except BaseException as error:
            return self.failed("exception", self.rendered(error, error.__traceback__))
        loop = self.asyncio.new_event_loop()
        self.asyncio.set_event_loop(loop)
        loop.set_exception_handler(lambda loop, context: None)
        loop.add_reader(self.source, self.answered)
        confine(self)
        scope = main.__dict__
        try:
            exec(body, scope)
            start = scope.pop("__dsh_main__")
            value = loop.run_until_complete(start())
        except SystemExit as error:
            self.flush()
            code = error.code
            if code is None:
                code = 0
            elif not isinstance(code, int):
                self.log(str(code))
                code = 1
            self.exit(code & 0xFF)
        except MemoryError:
            self.out_of_memory()
        except BaseException as error:
            self.flush()
            message = self.rendered(error, error.__traceback__)
            return self.failed("exception", message)
        self.flush()
        try:
            self.completed(value)
        except MemoryError:
            self.out_of_memory()

    def flush(self):
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except Exception:
                pass

    def out_of_memory(self):
        try:
            self.write(2, b"MemoryError: the program used up its memory\n")
        finally:
            self.exit(12)

    def rendered(self, error, trace):
        """The error as Python shows it, with the program's own lines."""
        try:
            text = str(error)
            head = type(error).__name__
            said = f"{head}: {text}" if text else head
            if isinstance(error, SyntaxError):
                where = f" (line {error.lineno})" if error.lineno else ""
                shown = self.source_line(error.lineno)
                line = f"\n    {shown}" if shown else ""
                return f"{head}: {error.msg}{where}{line}"
            places = []
            while trace is not None:
                code = trace.tb_frame.f_code
                if code.co_filename == "<program>":
                    places.append((trace.tb_lineno, code.co_name))
                trace = trace.tb_next
            if not places:
                return text if text else head
            if len(places) > SHOWN_FRAMES:
                places = places[:5] + [None] + places[-(SHOWN_FRAMES - 5) :]
            out = ["Traceback (most recent call last):"]
            for place in places:
                if place is None:
                    out.append("  …")
                    continue
                number, name = place
                name = "<program>" if name == "__dsh_main__" else name
                out.append(f'  File "<program>", line {number}, in {name}')
                if shown := self.source_line(number):
                    out.append(f"    {shown}")
            return "\n".join(out) + "\n" + said
        except MemoryError:
            raise
        except BaseException:
            return UNRENDERABLE

    def source_line(self, number):
        if number is None or not 0 < number <= len(self.lines):
            return ""
        return self.lines[number - 1].strip()[:200]


def compiled(program):
    """The program as the body of an asynchronous function of its own lines."""
    import _ast

    tree = compile(program, "<program>", "exec", _ast.PyCF_ONLY_AST, True)
    shell = compile(
        "async def __dsh_main__(): pass", "<program>", "exec", _ast.PyCF_ONLY_AST
    )
    end = _ast.Return(_ast.Constant(NO_VALUE))
    end.lineno = end.end_lineno = end.value.lineno = end.value.end_lineno = 1
    end.col_offset = end.end_col_offset = 0
    end.value.col_offset = end.value.end_col_offset = 0
    silence(tree.body, end.value, _ast)
    shell.body[0].body = tree.body + [end]
    code = compile(shell, "<program>", "exec", 0, True)
    for const in code.co_consts:
        # 0x200: it yields at its top level, and could not return.
        if getattr(const, "co_name", "") == "__dsh_main__" and const.co_flags & 0x200:
            raise SyntaxError("'yield' outside function")
    return code


def silence(body, nothing, _ast):
    """Makes a bare `return` of the program's own give no value."""
    apart = (_ast.FunctionDef, _ast.AsyncFunctionDef, _ast.ClassDef)
    blocks = [body]
    while blocks:
        for statement in blocks.pop():
            if isinstance(statement, _ast.Return) and statement.value is None:
                statement.value = nothing
            if isinstance(statement, apart):
                continue
            for inside in ("body", "orelse", "finalbody", "handlers", "cases"):
                inside = getattr(statement, inside, None)
                if isinstance(inside, list):
                    blocks.append(inside)


class Space:
    """One namespace, and the class of its errors."""

    def __init__(self, guest, declared):
        self.guest = guest
        self.name = declared["global"]
        self.names = frozenset(declared["names"])
        self.order = list(declared["names"])
        self.type = self.property = None
        declared = declared.get("errorClass")
        if declared is not None:
            self.property = declared["memberNameProperty"]
            self.type = type(
                declared["name"], (Exception,), {"__module__": "__main__"}
            )

    def error(self, name, message):
        if self.type is None:
            return RuntimeError(message)
        error = self.type(message)
        setattr(error, self.property, name)
        error.message = message
        error.name = self.type.__name__
        return error


def bind(space):
    """The object that a program sees: functions by attribute or by index."""

    def member(name):
        async def function(args=NOTHING, /, **named):
            if args is NOTHING:
                args = named
            elif named:
                args = {**args, **named} if isinstance(args, dict) else [args, named]
            return await space.guest.call(space, name, args)

        function.__name__ = function.__qualname__ = name
        return function

    class Namespace:
        __slots__ = ()

        def __getattr__(self, name):
            if name in space.names:
                return member(name)
            raise AttributeError(f"{space.name} has no function {name!r}")

        def __getitem__(self, name):
            if isinstance(name, str) and name in space.names:
                return member(name)
            raise KeyError(name)

        def __contains__(self, name):
            return name in space.names

        def __iter__(self):
            return iter(list(space.order))

        def __len__(self):
            return len(space.order)

        def __dir__(self):
            return list(space.order)

        def __repr__(self):
            return f"<functions of {space.name}>"

    return Namespace()


NOTHING = object()


class Stream:
    """Text that becomes logs, a line at a time, in the order of all streams."""

    encoding, errors, newlines, mode = "utf-8", "backslashreplace", None, "w"
    closed, line_buffering, write_through = False, True, True

    def __init__(self, guest, name, number):
        self.__guest, self.name, self.__number = guest, name, number
        self.__rest = []
        self.other = None
        self.buffer = Bytes(self)

    def write(self, text):
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        if not text:
            return 0
        if self.other is not None:
            self.other.flush()
        *lines, rest = str(text).split("\n")
        for line in lines:
            self.__rest.append(line)
            line = "".join(self.__rest)
            self.__rest.clear()
            self.__guest.log(line)
        if rest:
            self.__rest.append(rest)
        return len(text)

    def writelines(self, lines):
        for line in lines:
            self.write(line)

    def flush(self):
        if self.__rest:
            line = "".join(self.__rest)
            self.__rest.clear()
            self.__guest.log(line)

    def fileno(self):
        return self.__number

    def isatty(self):
        return False

    readable = seekable = isatty

    def writable(self):
        return True

    def reconfigure(self, **_):
        pass

    def close(self):
        self.flush()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.flush()


class Bytes:
    """What writes bytes to a stream of text."""

    def __init__(self, stream):
        self.__stream = stream

    def write(self, data):
        data = bytes(data)
        self.__stream.write(data.decode("utf-8", "replace"))
        return len(data)

    def flush(self):
        self.__stream.flush()


def confine(guest):
    """Refuses what programs have no business with.

    This is no wall: whoever finds a way around the interpreter finds one
    around this. It keeps honest programs honest and makes slips harmless.
    """
    roots = tuple(path for path in sys.path if path) + (sys.prefix, sys.base_prefix)
    roots = tuple(root.rstrip("/") + "/" for root in roots if root.startswith("/"))
    fsdecode, here = guest.fsdecode, (str, bytes)

    def own(path):
        if not isinstance(path, here):
            return isinstance(path, int)
        path = fsdecode(path)
        return (path + "/").startswith(roots) and "/../" not in path + "/"

    def hook(event, args):
        if event == "open":
            path, mode, flags = (tuple(args) + (None, None, 0))[:3]
            if path == "/dev/null":
                return
            if own(path) and not (isinstance(flags, int) and flags & 0o3):
                return
            if isinstance(path, int):
                return
            raise PermissionError(f"programs open no files: {path!r}")
        if event.startswith(REFUSED) or event.startswith(CHANGING):
            raise PermissionError(f"programs may not do this: {event}")
        if event in READING and not own(args[0] if args else None):
            raise PermissionError(f"programs read no folders: {args!r}")
        if event == "import" and args and args[0] in ("_posixsubprocess", "_ctypes", "ctypes"):
            raise ImportError(f"programs may not import {args[0]}")

    sys.addaudithook(hook)


_start()
