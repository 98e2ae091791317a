"""What a program prints."""

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


