"""What a program cannot do by itself, by the names of audit events."""

import sys

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
NOT_IMPORTED = ("_ctypes", "_posixsubprocess", "_testcapi", "ctypes")


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
        if event == "import" and isinstance(args[0], str):
            if args[0].rpartition(".")[2] in NOT_IMPORTED:
                raise ImportError(f"programs may not import {args[0]}")

    sys.addaudithook(hook)


