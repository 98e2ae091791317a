//! Looks for an interpreter.

use std::ffi::OsStr;
use std::io::{Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::Value;

use crate::code::BudgetError;

/// The oldest version that the guest is written for.
const OLDEST: (u32, u32) = (3, 9);
/// So long an interpreter may take to tell its version.
const PATIENCE: Duration = Duration::from_secs(30);
/// An answer is shorter than this.
const ANSWER: u64 = 1 << 20;

/// One text: `start.py` begins what the others define.
const GUEST: &str = concat!(
    include_str!("guest/values.py"),
    include_str!("guest/wire.py"),
    include_str!("guest/names.py"),
    include_str!("guest/streams.py"),
    include_str!("guest/program.py"),
    include_str!("guest/confine.py"),
    include_str!("guest/run.py"),
    include_str!("guest/start.py"),
);

/// Tells the version and the path, and hands the guest back compiled, so
/// that no start has to do it again. Understood by every version.
const ASK: &str = r#"
import sys
source = sys.stdin.read()
code = ""
if sys.version_info >= (3, 9):
    import binascii, marshal
    code = compile(source, "<guest>", "exec", 0, True)
    code = binascii.b2a_base64(marshal.dumps(code), newline=False).decode()
import json
print(json.dumps([sys.version_info[0], sys.version_info[1], sys.executable, code]))
"#;

/// Why there is no Python here.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PythonError {
    /// It cannot be started.
    #[error("expected the Python interpreter {program:?}, which cannot be started")]
    NotFound {
        /// What was looked for.
        program: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// It is older than what is needed.
    #[error("expected Python {}.{} or newer, found {found} as {program:?}", OLDEST.0, OLDEST.1)]
    TooOld {
        /// What was looked for.
        program: String,
        /// Its version.
        found: String,
    },
    /// It starts, and does not answer as an interpreter does.
    #[error("expected the interpreter {program:?} to tell its version, found that it {why}")]
    NotWorking {
        /// What was looked for.
        program: String,
        /// What it did.
        why: String,
    },
    /// The sandbox is not there, or does not work here.
    #[error("expected the interpreter {program:?} to start in the sandbox, which it does not")]
    Sandbox {
        /// The interpreter.
        program: String,
        /// What the system or the sandbox said.
        source: std::io::Error,
    },
    /// A budget cannot be kept.
    #[error(transparent)]
    Budget(#[from] BudgetError),
}

/// An interpreter that answered.
pub(super) struct Found {
    pub(super) interpreter: String,
    pub(super) version: (u32, u32),
    /// What to start it with, behind `-c`.
    pub(super) start: String,
}

pub(super) fn find(python: &OsStr) -> Result<Found, PythonError> {
    let program = python.to_string_lossy().into_owned();
    let not_working = |why: String| PythonError::NotWorking {
        program: program.clone(),
        why,
    };
    // With this process's environment: the name may lead to a wrapper.
    let mut child = Command::new(python)
        .args(["-I", "-S", "-c", ASK])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|source| PythonError::NotFound {
            program: program.clone(),
            source,
        })?;
    let answer = answer(&mut child);
    // Whatever it does now is of no interest, and it must not stay.
    let _ = child.kill();
    let status = child.wait();
    let Some(answer) = answer else {
        return Err(not_working(format!("says nothing for {PATIENCE:?}")));
    };
    let Some((version, interpreter, code)) = understood(&answer) else {
        return Err(not_working(match status {
            Ok(status) if !status.success() => format!("ends with {status}"),
            _ => "says something else".to_owned(),
        }));
    };
    if version < OLDEST {
        let found = format!("{}.{}", version.0, version.1);
        return Err(PythonError::TooOld { program, found });
    }
    let start =
        format!("import binascii,marshal;exec(marshal.loads(binascii.a2b_base64('{code}')))");
    Ok(Found {
        interpreter,
        version,
        start,
    })
}

/// What it says until it ends; nothing if it takes too long.
fn answer(child: &mut Child) -> Option<String> {
    let mut stdin = child.stdin.take()?;
    let stdout = child.stdout.take()?;
    let (said, heard) = mpsc::channel();
    // They end when the process does, which is killed below.
    std::thread::spawn(move || {
        let _ = stdin.write_all(GUEST.as_bytes());
    });
    std::thread::spawn(move || {
        let mut text = String::new();
        let _ = stdout.take(ANSWER).read_to_string(&mut text);
        let _ = said.send(text);
    });
    heard.recv_timeout(PATIENCE).ok()
}

fn understood(answer: &str) -> Option<((u32, u32), String, String)> {
    let Value::Array(said) = serde_json::from_str(answer).ok()? else {
        return None;
    };
    let number = |at: usize| u32::try_from(said.get(at)?.as_u64()?).ok();
    let text = |at: usize| Some(said.get(at)?.as_str()?.to_owned());
    let interpreter = text(2).filter(|path| path.starts_with('/'))?;
    Some(((number(0)?, number(1)?), interpreter, text(3)?))
}
