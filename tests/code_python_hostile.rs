//! Programs in Python that mean harm: each ends in time, in an outcome, and
//! leaves nothing behind.

#![cfg(all(feature = "code-python", target_os = "linux"))]

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::pending;
use futures_util::stream::{self, StreamExt as _};
use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio::time::{sleep, timeout};
use toolfall::code::python::PythonRuntime;
use toolfall::code::{
    BindingArguments, BindingFuture, Budgets, CodeRuntime, Namespace, RunFailureKind, RunOutcome,
    RunRequest,
};

/// Processes and descriptors are counted: one test at a time.
static ALONE: Mutex<()> = Mutex::const_new(());

fn tools() -> Namespace {
    Namespace {
        global: "tools".to_owned(),
        members: vec!["echo".to_owned(), "never".to_owned()],
        error_class: None,
        binding: Arc::new(
            |member: &str, arguments: BindingArguments| -> BindingFuture {
                let never = member == "never";
                Box::pin(async move {
                    let BindingArguments::Kept(arguments) = arguments else {
                        return Err("nothing".to_owned());
                    };
                    if never {
                        return pending().await;
                    }
                    Ok(arguments.value().clone())
                })
            },
        ),
    }
}

/// So long a program is waited for that is to use up its time.
const SHORT: Duration = Duration::from_millis(3_500);
/// No other needs so long, whatever else the machine does.
const LONG: Duration = Duration::from_secs(20);

fn runtime(wall: Duration) -> PythonRuntime {
    let budgets = Budgets::default()
        .compute(Duration::from_millis(500))
        .wall(wall)
        .heap(64 << 20)
        .output(1 << 20);
    let builder = PythonRuntime::builder().budgets(budgets);
    builder.build().expect("there is a Python")
}

/// A name, a program, and how it may end: the kinds, or `-` for completed.
type Hostile = (&'static str, &'static str, &'static str);

const ANY: &str = "- exception timeout worker-exit invalid-output output-limit";

/// Writes to every descriptor there may be.
const FORGE: &str = r#"
import os, json
def forge(*lines):
    for line in lines:
        if isinstance(line, dict): line = json.dumps(line) + "\n"
        for fd in range(3, 16):
            try: os.write(fd, line.encode())
            except OSError: pass
"#;

const PROGRAMS: &[Hostile] = &[
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

fn end(outcome: &RunOutcome) -> &'static str {
    match &outcome.error {
        None => "-",
        Some(error) => error.kind.as_str(),
    }
}

async fn run(runtime: &PythonRuntime, program: &str) -> RunOutcome {
    let request = RunRequest::new(program).namespace(tools());
    timeout(Duration::from_secs(25), runtime.run(request))
        .await
        .expect("a run ends in time")
        .unwrap()
}

async fn honest(runtime: &PythonRuntime) {
    let outcome = run(runtime, "print('hi')\nreturn (await tools.echo(n=1))['n']").await;
    assert_eq!(outcome.value, Some(json!(1)), "{outcome:?}");
    assert_eq!(outcome.logs, ["hi"]);
}

/// How many processes have this one as their parent.
fn children() -> usize {
    let own = std::process::id().to_string();
    let parent = |entry: fs::DirEntry| {
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        let (_, rest) = stat.rsplit_once(')')?;
        rest.split_ascii_whitespace().nth(1).map(str::to_owned)
    };
    let entries = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    entries
        .filter_map(parent)
        .filter(|parent| *parent == own)
        .count()
}

/// Processes, threads and descriptors.
fn left() -> [usize; 3] {
    let count = |path: &str| fs::read_dir(path).unwrap().count();
    [children(), count("/proc/self/task"), count("/proc/self/fd")]
}

async fn nothing_left(before: [usize; 3]) {
    // The tests of this file that wait for their turn are threads, too.
    let settled = async {
        while left()[0] > before[0] || left()[2] > before[2] {
            sleep(Duration::from_millis(10)).await;
        }
    };
    if timeout(Duration::from_secs(5), settled).await.is_err() {
        panic!("before: {before:?}, now: {:?}", left());
    }
    assert!(left()[1] <= before[1], "{before:?}, {:?}", left());
}

#[tokio::test]
async fn hostile_programs_end_and_leave_nothing() {
    let _alone = ALONE.lock().await;
    let (runtime, short) = (runtime(LONG), runtime(SHORT));
    honest(&runtime).await;
    let before = left();
    let wrong: Vec<String> = stream::iter(PROGRAMS)
        .map(|(name, program, expected)| {
            let waits = expected.contains("timeout");
            let runtime = if waits { &short } else { &runtime };
            async move {
                let program = if program.contains("forge") {
                    format!("{FORGE}{program}")
                } else {
                    (*program).to_owned()
                };
                let outcome = run(runtime, &program).await;
                if !expected.split(' ').any(|kind| kind == end(&outcome)) {
                    let shown: String = format!("{outcome:?}").chars().take(300).collect();
                    return Some(format!("{name}: expected {expected}, found {shown}"));
                }
                None
            }
        })
        .buffer_unordered(4)
        .filter_map(std::future::ready)
        .collect()
        .await;
    assert!(wrong.is_empty(), "{wrong:#?}");
    honest(&runtime).await;
    nothing_left(before).await;
    runtime.dispose().await;
    assert!(PROGRAMS.len() >= 40);
    assert!(!fs::exists("/tmp/toolfall-hostile").unwrap());
}

/// A program may only say that it threw, returned nonsense or said too much.
#[tokio::test]
async fn every_end_has_a_kind_and_no_value_beside_it() {
    let _alone = ALONE.lock().await;
    let runtime = runtime(LONG);
    let program = format!(
        "{FORGE}for kind in ['abort', 'worker-exit', 'timeout']: \
         forge({{'type': 'done', 'error': {{'kind': kind, 'message': ''}}}})\nreturn 'mine'"
    );
    let outcome = run(&runtime, &program).await;
    assert_eq!(
        outcome,
        RunOutcome::completed(vec![], Some(Value::from("mine")))
    );
    for odd in ["(", "[", "-", "not "] {
        let program = format!("return {}1", odd.repeat(50_000));
        let outcome = run(&runtime, &program).await;
        assert!(
            ["exception", "worker-exit"].contains(&end(&outcome)),
            "{odd} {outcome:?}"
        );
    }
    let outcome = run(&runtime, "return 1\0").await;
    assert_eq!(end(&outcome), "exception");
    let outcome = run(&runtime, "while True: pass").await;
    assert_eq!(outcome.value, None);
    assert_eq!(
        outcome.error.map(|error| (error.kind, error.message)),
        Some((
            RunFailureKind::Timeout,
            "compute budget exhausted (500ms busy)".to_owned()
        ))
    );
}

/// The bytes of memory that this process has.
fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS"));
    let kib = line.and_then(|line| line.split_ascii_whitespace().nth(1));
    kib.unwrap().parse::<u64>().unwrap() * 1024
}

async fn memory_comes_back(runs: usize) {
    let _alone = ALONE.lock().await;
    let runtime = runtime(LONG);
    let programs = [
        "return [1] * 20_000",
        "for i in range(2_000): print('line', i)",
        "import asyncio\nreturn len(await asyncio.gather(*[tools.echo(i=i) for i in range(100)]))",
        "raise ValueError('x' * 100_000)",
        "import os\nos._exit(3)",
        "return '\\u00e9' * 100_000",
    ];
    for program in programs.iter().cycle().take(12) {
        run(&runtime, program).await;
    }
    let before = (left(), resident());
    for program in programs.iter().cycle().take(runs) {
        run(&runtime, program).await;
    }
    nothing_left(before.0).await;
    let after = resident();
    println!("{runs} runs: {} bytes, then {after}", before.1);
    assert!(
        after <= before.1 + before.1 / 10,
        "{} grew to {after}",
        before.1
    );
}

#[tokio::test]
async fn memory_comes_back_after_30_runs() {
    memory_comes_back(30).await;
}

/// `cargo test --release --features code-python --test code_python_hostile --
/// --ignored --nocapture`
#[tokio::test]
#[ignore = "takes a minute"]
async fn memory_comes_back_after_500_runs() {
    memory_comes_back(500).await;
}
