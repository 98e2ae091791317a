"""The guest's side of the line protocol.

It trusts the program with nothing that the host would believe: the host
judges every line itself.
"""

# No JSON: what falling off the end returns.
NO_VALUE = ...
NOT_LOSSLESS = "program completion must be lossless JSON"


class Wire:
    """The guest's end of the protocol, and its count of what goes out."""

    def __init__(self, os, json, source, sink):
        self.read, self.write, self.exit = os.read, os.write, os._exit
        self.fsdecode = os.fsdecode
        self.source, self.sink = source, sink
        self.buffer = bytearray()
        encoder = json.JSONEncoder(
            ensure_ascii=False, allow_nan=False, separators=(",", ":")
        )
        self.encode, self.decode = encoder.encode, json.loads
        import re
        from _thread import RLock

        self.controls = re.compile("[\x00-\x07\x0b\x0e-\x1f]").findall
        self.lock = RLock()
        self.log_room = self.value_room = 0
        self.limit = 0
        self.first = True
        self.full = False

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


