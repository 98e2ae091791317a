//! Programs in Python that mean harm.

/// A name, a program, and how it may end: the kinds, or `-` for completed.
pub(crate) type Hostile = (&'static str, &'static str, &'static str);

const ANY: &str = "- exception timeout worker-exit invalid-output output-limit";

/// Writes to every descriptor there may be.
pub(crate) const FORGE: &str = r#"
import os, json
def forge(*lines):
    for line in lines:
        if isinstance(line, dict): line = json.dumps(line) + "\n"
        for fd in range(3, 16):
            try: os.write(fd, line.encode())
            except OSError: pass
"#;

pub(crate) const PROGRAMS: &[Hostile] = &[
    // Time.
    ("loop", "while True: pass", "timeout"),
    (
        "loop that catches",
        "while True:\n  try:\n    while True: pass\n  except BaseException: pass",
        "timeout",
    ),
    (
        "loop that awaits",
        "import asyncio\nwhile True: await asyncio.sleep(0)",
        "timeout",
    ),
    (
        "waits for ever",
        "import asyncio\nawait asyncio.Future()",
        "timeout",
    ),
    ("sleeps", "import time\ntime.sleep(100)", "timeout"),
    (
        "regular expression",
        "import re\nre.match('(a+)+$', 'a' * 40 + 'b')",
        "timeout",
    ),
    (
        "big power",
        "return len(str(9 ** 9 ** 9))",
        "timeout exception worker-exit",
    ),
    ("sum in C", "return sum(range(10 ** 12))", "timeout"),
    (
        "stopped",
        "import signal\nsignal.raise_signal(signal.SIGSTOP)",
        "timeout",
    ),
    (
        "full pipe",
        "import os\nr, w = os.pipe()\nwhile True: os.write(w, b'x' * 65536)",
        "timeout",
    ),
    (
        "deaf",
        "import signal\nfor s in range(1, 65):\n  try: signal.signal(s, signal.SIG_IGN)\n  except (OSError, ValueError): pass\nwhile True: pass",
        "timeout",
    ),
    (
        "alarms",
        "import signal\ndef ring(*_): raise ValueError('ring')\nsignal.signal(signal.SIGALRM, ring)\nsignal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)\nwhile True:\n  try:\n    while True: pass\n  except ValueError: pass",
        "timeout exception",
    ),
    (
        "traced",
        "import sys\ndef trace(*_):\n  while True: pass\nsys.settrace(trace)\ndef f(): pass\nf()",
        "timeout",
    ),
    (
        "slow text of an error",
        "class E(Exception):\n  def __str__(self):\n    while True: pass\nraise E()",
        "timeout",
    ),
    // Memory.
    (
        "list",
        "all = []\nwhile True: all.append(bytearray(1 << 20))",
        "worker-exit",
    ),
    ("doubling", "s = 'x'\nwhile True: s += s", "worker-exit"),
    ("one text", "return 'x' * 10 ** 12", "worker-exit"),
    (
        "big shift",
        "return 1 << (1 << 40)",
        "worker-exit exception",
    ),
    (
        "map",
        "import mmap\nreturn len(mmap.mmap(-1, 1 << 40))",
        "exception worker-exit",
    ),
    ("recursion", "def f(): return f()\nf()", "exception"),
    (
        "deeper recursion",
        "import sys\nsys.setrecursionlimit(10 ** 9)\ndef f(): return [f()]\nf()",
        "worker-exit exception timeout",
    ),
    (
        "dictionary",
        "d = {}\nwhile True: d[len(d)] = 'x' * 1000",
        "worker-exit timeout",
    ),
    // Processes, threads and signals.
    ("fork bomb", "import os\nwhile True: os.fork()", "exception"),
    (
        "patient fork bomb",
        "import os\nwhile True:\n  try: os.fork()\n  except Exception: pass",
        "timeout",
    ),
    (
        "subprocess",
        "import subprocess\nsubprocess.Popen(['sleep', '100'])",
        "exception",
    ),
    ("fork_exec", "import _posixsubprocess", "exception"),
    (
        "another fork_exec",
        "import importlib.util, glob, sys\ntry:\n  spec = importlib.util.find_spec('_posixsubprocess')\n  spec.name = 'a._posixsubprocess'\n  importlib.util.module_from_spec(spec)\nexcept Exception as e: raise RuntimeError(str(e))\nraise RuntimeError()",
        "exception",
    ),
    ("shell", "import os\nos.system('sleep 100 &')", "exception"),
    (
        "spawn",
        "import os\nos.posix_spawn('/bin/sleep', ['sleep', '100'], {})",
        "exception",
    ),
    (
        "multiprocessing",
        "import multiprocessing\np = multiprocessing.Process(target=print)\np.start()",
        "exception",
    ),
    (
        "asyncio process",
        "import asyncio\nawait asyncio.create_subprocess_exec('sleep', '100')",
        "exception",
    ),
    (
        "kills its host",
        "import os\nos.kill(os.getppid(), 9)",
        "exception",
    ),
    ("kills everybody", "import os\nos.kill(-1, 9)", "exception"),
    (
        "own session",
        "import os\nos.setsid()\nwhile True: pass",
        "exception timeout",
    ),
    (
        "many threads",
        "import threading, time\nfor _ in range(10_000): threading.Thread(target=time.sleep, args=(100,)).start()",
        "exception worker-exit timeout",
    ),
    (
        "threads that stay",
        "import threading\ndef spin():\n  while True: pass\nfor _ in range(3): threading.Thread(target=spin).start()\nreturn 1",
        "-",
    ),
    ("crash", "import os\nos.abort()", "worker-exit"),
    (
        "segmentation fault",
        "import signal\nsignal.raise_signal(signal.SIGSEGV)",
        "worker-exit",
    ),
    (
        "bad byte code",
        "f = lambda: 0\nf.__code__ = f.__code__.replace(co_code=b'\\x90\\xff' * 50)\nf()",
        ANY,
    ),
    ("exit", "import os\nos._exit(0)", "worker-exit"),
    // The protocol.
    (
        "closes all",
        "import os\nos.closerange(0, 256)\nawait tools.echo()",
        "worker-exit exception timeout",
    ),
    (
        "closes all and stays",
        "import os, time\nos.closerange(0, 256)\ntime.sleep(100)",
        "worker-exit",
    ),
    (
        "forged end",
        "forge({'type': 'done', 'value': 'forged'})\nwhile True: pass",
        "-",
    ),
    (
        "one id again and again",
        "for _ in range(2_000): forge({'type': 'call', 'id': 5, 'global': 'tools', 'name': 'echo', 'args': {}})\nreturn 1",
        "-",
    ),
    (
        "ids from nowhere",
        "for i in range(2_000): forge({'type': 'call', 'id': i * 1e17 + .5, 'global': 'tools', 'name': 'echo', 'args': {}})\nreturn 1",
        "- timeout",
    ),
    (
        "calls and never reads",
        "i = 10\nwhile True:\n  i += 1\n  forge({'type': 'call', 'id': i, 'global': 'tools', 'name': 'echo', 'args': {'x': 'y' * 9000}})",
        "timeout",
    ),
    (
        "calls for ever",
        "i = 10\nwhile True:\n  i += 1\n  forge({'type': 'call', 'id': i, 'global': 'tools', 'name': 'never', 'args': {}})",
        "timeout",
    ),
    (
        "a line without end",
        "forge('{\"type\":\"log\",\"text\":\"')\nwhile True: forge('x' * 65536)",
        "output-limit timeout",
    ),
    (
        "garbage everywhere",
        "import os\nfor _ in range(200): forge(os.urandom(2000).hex() + '\\n\\0')\nreturn 1",
        ANY,
    ),
    (
        "steals replies",
        "import os\nwhile True: os.read(3, 1 << 16)",
        "timeout exception",
    ),
    (
        "calls after the end",
        "import threading\ndef more():\n  while True: forge({'type': 'call', 'id': 9, 'global': 'tools', 'name': 'echo', 'args': {}})\nthreading.Thread(target=more).start()\nreturn 1",
        "-",
    ),
    (
        "many calls",
        "import asyncio\nreturn len(await asyncio.gather(*[tools.echo(i=i) for i in range(1000)]))",
        "- timeout",
    ),
    (
        "long argument",
        "try: await tools.echo(x='y' * 17_000_000)\nexcept RuntimeError as e: return str(e)",
        "- worker-exit",
    ),
    (
        "many descriptors",
        "import os\nwhile True: os.dup(0)",
        "exception",
    ),
    // Output.
    ("flood", "while True: print('x' * 1000)", "output-limit"),
    (
        "flood of nothing",
        "while True: print()",
        "output-limit timeout",
    ),
    (
        "raw flood",
        "import os\nwhile True: os.write(2, b'x' * 4095 + b'\\n')",
        "output-limit",
    ),
    (
        "raw flood without lines",
        "import os\nwhile True: os.write(1, b'\\xff' * 4096)",
        "output-limit",
    ),
    ("one long log", "print('x' * 3_000_000)", "output-limit"),
    (
        "no UTF-8",
        "import os\nos.write(1, bytes(range(128, 256)))\nprint('\\ud800')\nreturn 'ok'",
        "-",
    ),
    ("no Unicode value", "return '\\udfff'", "invalid-output"),
    (
        "a list in itself",
        "a = []\na.append(a)\nreturn a",
        "invalid-output",
    ),
    (
        "100,000 lists",
        "a = 0\nfor _ in range(100_000): a = [a]\nreturn a",
        "invalid-output",
    ),
    (
        "a list without end",
        "class L(list):\n  def __iter__(self):\n    while True: yield 1\nreturn L()",
        "timeout worker-exit invalid-output output-limit -",
    ),
    // The interpreter.
    (
        "changed modules",
        "import json, asyncio, builtins\njson.JSONEncoder.encode = json.dumps = json.loads = None\nasyncio.Future = asyncio.sleep = None\nbuiltins.isinstance = lambda *_: True\nbuiltins.type = builtins.len = builtins.str = None\nreturn float('nan')",
        ANY,
    ),
    (
        "no modules",
        "import sys\nsys.modules.clear()\nreturn 1",
        ANY,
    ),
    (
        "stopped event loop",
        "import asyncio\nasyncio.get_running_loop().stop()\nawait asyncio.sleep(1)",
        "exception",
    ),
    (
        "deaf event loop",
        "import asyncio\nloop = asyncio.get_running_loop()\nfor fd in range(16):\n  try: loop.remove_reader(fd)\n  except Exception: pass\nawait tools.echo()",
        "timeout",
    ),
    (
        "cancels itself",
        "import asyncio\nasyncio.current_task().cancel()\nawait asyncio.sleep(1)",
        "exception",
    ),
    (
        "collects the guest",
        "import gc\nfor o in gc.get_objects():\n  if type(o).__name__ == 'Guest': o.__dict__.clear()\nreturn 1",
        ANY,
    ),
    (
        "takes the hook apart",
        "import gc\nfor o in gc.get_objects():\n  if getattr(o, '__name__', '') == 'confine': o.__globals__.clear()\nreturn 1",
        ANY,
    ),
    (
        "at exit",
        "import atexit\ndef spin():\n  while True: pass\natexit.register(spin)\nreturn 1",
        "-",
    ),
    (
        "finalizer",
        "class D:\n  def __del__(self):\n    while True: pass\nkept = D()\nimport builtins\nbuiltins.kept = kept\nreturn 1",
        "-",
    ),
    (
        "unrenderable",
        "class E(BaseException):\n  __str__ = __repr__ = None\nraise E()",
        "exception",
    ),
    ("keyboard", "raise KeyboardInterrupt", "exception"),
    ("no input", "return input()", "exception"),
    (
        "output gone",
        "import sys\nsys.stdout = sys.stderr = None\nprint('x')\nreturn 1",
        "-",
    ),
    // What is not its own.
    ("ctypes", "import ctypes\nctypes.string_at(0)", "exception"),
    (
        "host's memory",
        "import os\nreturn open(f'/proc/{os.getppid()}/maps').read()",
        "exception",
    ),
    (
        "host's environment",
        "import os\nfd = os.open(f'/proc/{os.getppid()}/environ', 0)\nreturn str(os.read(fd, 10000))",
        "exception",
    ),
    ("users", "return open('/etc/passwd').read()", "exception"),
    ("folders", "import os\nreturn os.listdir('/')", "exception"),
    (
        "writes",
        "open('/tmp/toolfall-hostile', 'w').write('x')",
        "exception",
    ),
    (
        "own files",
        "import json\nopen(json.__file__, 'a').write('x')",
        "exception",
    ),
    (
        "network",
        "import socket\nsocket.create_connection(('127.0.0.1', 9))",
        "exception",
    ),
];
