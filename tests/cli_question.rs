//! The question on the terminal shows what a tool makes of its arguments.
#![cfg(target_os = "linux")]

#[path = "support/cli.rs"]
mod support;

use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};

use serde_json::json;
use support::Place;

/// What a terminal shows while every question is answered with a no; none
/// where no terminal can be made.
fn refused(place: &Place) -> Option<String> {
    let program = format!("{} run b.jsonl", env!("CARGO_BIN_EXE_toolfall"));
    let mut child = Command::new("script")
        .args(["-qec", &program, "/dev/null"])
        .current_dir(place.0.path())
        .env("NO_COLOR", "1")
        .env("TERM", "dumb")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .ok()?;
    let mut keys = child.stdin.take().expect("a pipe");
    let mut screen = child.stdout.take().expect("a pipe");
    let (mut shown, mut piece, mut answered) = (Vec::new(), [0; 4096], 0);
    loop {
        match screen.read(&mut piece) {
            Ok(0) | Err(_) => break,
            Ok(read) => shown.extend_from_slice(&piece[..read]),
        }
        let text = String::from_utf8_lossy(&shown);
        let asked = text.matches("Ctrl-C: cancel").count();
        if asked > answered {
            answered = asked;
            keys.write_all(b"n").expect("it reads");
            keys.flush().expect("it reads");
        }
    }
    drop(keys);
    child.wait().expect("it ends");
    Some(String::from_utf8_lossy(&shown).replace('\r', ""))
}

#[test]
fn whoever_is_asked_sees_the_change_and_the_command_line() {
    let place = Place::new();
    place.write(
        "toolfall.toml",
        "[files]\nroot = \".\"\nread_before_edit = false\n[bash]\n",
    );
    place.write("a.txt", "one\ntwo\n");
    let long = "line\n".repeat(100);
    let calls = json!([
        {"name": "edit_file", "arguments":
            {"path": "a.txt", "old_text": "two", "new_text": "2\u{1b}[2J"}},
        {"name": "bash", "arguments": {"command": "touch ran\nrm a.txt", "cwd": "."}},
        {"name": "write_file", "arguments": {"path": "b.txt", "content": long}},
    ]);
    place.write("b.jsonl", format!("{}\n", json!({ "calls": calls })));
    let Some(shown) = refused(&place) else { return };
    for wanted in [
        "\n      a.txt\n      - two\n      + 2\\u{1b}[2J\n  no rule covers",
        "\n      $ touch ran\n        rm a.txt\n      in .\n  no rule covers",
        "\n      b.txt\n      + line\n      + line\n",
        "      … (77 more lines)\n  no rule covers",
        // All of the arguments are there as ever.
        r#"? bash {"command":"touch ran\nrm a.txt","cwd":"."}"#,
    ] {
        assert!(shown.contains(wanted), "{wanted:?} in\n{shown}");
    }
    assert!(place.path("a.txt").exists() && !place.path("ran").exists());
}
