//! Running the real binary.
#![allow(dead_code)] // Each test file uses its own part.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A folder to run the binary in.
pub(crate) struct Place(pub(crate) TempDir);

/// What a run came to.
pub(crate) struct Ran {
    pub(crate) status: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("inside")).expect("folders");
        std::fs::write(&path, text).expect("a file");
        path
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_toolfall"));
        command
            .args(args)
            .current_dir(self.0.path())
            .env_remove("TOOLFALL_LOG")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        Ran::of(self.command(args).output().expect("it starts"))
    }

    pub(crate) fn fed(&self, args: &[&str], input: &str) -> Ran {
        let mut child = self
            .command(args)
            .stdin(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        stdin.write_all(input.as_bytes()).expect("it reads");
        drop(stdin);
        Ran::of(child.wait_with_output().expect("it ends"))
    }
}

impl Ran {
    pub(crate) fn of(output: Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self {
            status: output.status.code().unwrap_or(-1),
            out: text(&output.stdout),
            err: text(&output.stderr),
        }
    }

    pub(crate) fn lines(&self) -> Vec<Value> {
        lines(&self.out)
    }

    /// The lines of the type `result`.
    pub(crate) fn results(&self) -> Vec<Value> {
        self.typed("result")
    }

    pub(crate) fn typed(&self, wanted: &str) -> Vec<Value> {
        let lines = self.lines().into_iter();
        lines.filter(|line| line["type"] == wanted).collect()
    }
}

pub(crate) fn lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

/// A result's code, or `ok`.
pub(crate) fn code(result: &Value) -> &str {
    if result["is_error"] == false {
        return "ok";
    }
    result["error"]["code"].as_str().unwrap_or("failed")
}

/// Copies a folder's files, not what a run made of it.
pub(crate) fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("it is there").flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else if entry.file_name() != "session.jsonl" && entry.file_name() != "done.md" {
            std::fs::copy(entry.path(), target).expect("a copy");
        }
    }
}
