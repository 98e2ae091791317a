//! Cards on a terminal: `toolfall run --human` and `toolfall show`.

#[path = "support/cli.rs"]
mod support;

use serde_json::{Value, json};
use support::Place;

const CALLS: &str = r#"{"id":"b","calls":[
{"call_id":"1","name":"read_file","arguments_json":"{\"path\":\"a.rs\",\"first_line\":9,\"max_lines\":2}"},
{"call_id":"2","name":"edit_file","arguments_json":"{\"path\":\"a.rs\",\"old_text\":\"l9\",\"new_text\":\"NEW\"}"},
{"call_id":"3","name":"grep","arguments_json":"{\"pattern\":\"NEW|l10\",\"path\":\"a.rs\"}"},
{"call_id":"4","name":"write_file","arguments_json":"{\"path\":\"evil\\u001b[31m\",\"content\":\"\\u001b]0;x\\u0007\\n\"}"},
{"call_id":"5","name":"read_file","arguments_json":"{\"path\":\"none\"}"},
{"call_id":"6","name":"read_file","arguments_json":"{}"}]}"#;

const CONFIG: &str = "[files]\n[policy]\notherwise = \"allow\"\n";

fn place() -> Place {
    let place = Place::new();
    place.write("toolfall.toml", CONFIG);
    let lines: Vec<String> = (1..=12).map(|n| format!("l{n}")).collect();
    place.write("a.rs", lines.join("\n") + "\n");
    place
}

fn shown(out: &str) {
    let window =
        "  ✓ read_file Read a.rs (9 - 10)\n       9  l9\n      10  l10\n      (2 of 12 lines)\n";
    assert!(out.contains(window), "{out}");
    let diff = "  ✓ edit_file Edit a.rs\n      edited a.rs at line 9 (40 bytes now)\n        l6\n        l7\n        l8\n      - l9\n      + NEW\n        l10\n        l11\n        l12\n";
    assert!(out.contains(diff), "{out}");
    let matches = "  ✓ grep Search for NEW|l10\n      a.rs\n         9: NEW\n        10: l10\n";
    assert!(out.contains(matches), "{out}");
    assert!(out.contains("+ \\u{1b}]0;x\\u{7}\n"), "{out}");
    assert!(
        out.contains("  ✗ read_file Read none  [FS_NOT_FOUND]\n"),
        "{out}"
    );
    assert!(out.contains("  ✗ read_file {}  [INVALID_ARGS]\n"), "{out}");
    // No terminal, no colours; and nothing of the model's reaches one.
    assert!(!out.contains('\u{1b}'), "{out:?}");
}

#[test]
fn a_finished_log_is_shown_as_it_ran() {
    let place = place();
    let ran = place.fed(
        &["run", "--human", "--log", "log"],
        &CALLS.replace('\n', ""),
    );
    assert_eq!(ran.status, 0, "{}", ran.err);
    shown(&ran.out);
    let kept = std::fs::read(place.path("log")).unwrap();
    let show = place.run(&["show", "log"]);
    assert_eq!((show.status, &*show.err), (0, ""));
    shown(&show.out);
    // The same, but for the batch's own line.
    assert_eq!(ran.out.split_once('\n').unwrap().1, show.out);
    assert_eq!(std::fs::read(place.path("log")).unwrap(), kept);
    // From elsewhere, with none of the files there.
    let elsewhere = place.path("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let mut command = place.command(&["show", "../log"]);
    let output = command.current_dir(elsewhere).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), show.out);
}

#[test]
fn cards_are_printed_as_json() {
    let place = place();
    let ran = place.fed(&["run", "--json", "--log", "log"], &CALLS.replace('\n', ""));
    assert_eq!(ran.status, 0, "{}", ran.err);
    assert!(ran.lines().iter().all(|line| line.get("card").is_none()));
    let show = place.run(&["show", "--json", "log"]);
    assert_eq!(show.status, 0, "{}", show.err);
    let (calls, results) = (show.typed("call"), show.results());
    assert_eq!((calls.len(), results.len()), (6, 6));
    let card = |lines: &[Value], name: &str| {
        let line = lines.iter().find(|line| line["name"] == name).unwrap();
        line["card"].clone()
    };
    assert_eq!(card(&calls, "grep")["title"], "Search for NEW|l10");
    assert_eq!(card(&results, "grep")["total"], 2);
    assert_eq!(card(&results, "read_file")["card"], "read");
    let edit = card(&results, "edit_file");
    assert_eq!(
        edit["diffs"][0]["newText"],
        "l6\nl7\nl8\nNEW\nl10\nl11\nl12"
    );
    let failed: Vec<&Value> = results
        .iter()
        .filter(|line| line["is_error"] == true)
        .collect();
    assert!(failed.len() == 2 && failed.iter().all(|line| line.get("card").is_none()));
}

/// Colours are for terminals, and for those who want them.
#[cfg(unix)]
#[test]
fn colours_are_for_terminals() {
    let place = place();
    let ran = place.fed(&["run", "--log", "log"], &CALLS.replace('\n', ""));
    assert_eq!(ran.status, 0, "{}", ran.err);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/terminal.py");
    for (no_colour, green) in [("", true), ("1", false)] {
        let output = std::process::Command::new("python3")
            .args([script, "", env!("CARGO_BIN_EXE_toolfall"), "show", "log"])
            .current_dir(place.0.path())
            .env("NO_COLOR", no_colour)
            .env("TERM", "xterm")
            .output();
        // Where there is no python3 there is no terminal to be had.
        let Ok(output) = output else { return };
        let out = String::from_utf8_lossy(&output.stdout);
        let added = out
            .lines()
            .find(|line| line.contains("+ NEW"))
            .expect("a diff");
        assert_eq!(added.contains('\u{1b}'), green, "{added:?}");
        assert!(!out.contains("\u{1b}]0;x"), "{out:?}");
    }
}

#[test]
fn long_cards_are_cut() {
    let place = place();
    place.write("long.txt", "line\n".repeat(500));
    let call = r#"{"calls":[{"name":"read_file","arguments_json":"{\"path\":\"long.txt\"}"}]}"#;
    let ran = place.fed(&["run", "--human", "--log", "log"], call);
    assert_eq!(ran.status, 0, "{}", ran.err);
    assert!(ran.out.lines().count() < 40, "{}", ran.out);
    assert!(ran.out.contains("more lines)"), "{}", ran.out);
}

#[test]
fn what_a_log_lacks_is_told() {
    let place = place();
    let missing = place.run(&["show", "none"]);
    assert_eq!(missing.status, 2);
    assert!(
        missing.err.contains("none: expected a session log"),
        "{}",
        missing.err
    );
    let open = json!({"seq": 1, "type": "tool/call", "call": 1, "id": "1", "name": "read_file",
        "arguments": "{\"path\":\"a.rs\"}"});
    let orphan = json!({"seq": 2, "type": "tool/result", "call": 7, "id": "1", "is_error": false,
        "content": [{"type": "text", "text": "found"}]});
    place.write("log", format!("{open}\n{orphan}\n{{\"seq\":3"));
    let show = place.run(&["show", "log"]);
    assert_eq!(show.status, 0, "{}", show.err);
    assert_eq!(
        show.out,
        "  ✓ (unknown) \n      found\n  … read_file Read a.rs  [no result]\n"
    );
    assert!(
        show.err
            .contains("the last line was never finished (8 bytes)"),
        "{}",
        show.err
    );
    place.write("log", format!("{open}\nnonsense\n{orphan}\n"));
    let show = place.run(&["show", "log"]);
    assert_eq!(show.status, 2);
    assert!(show.err.contains("log:2: expected"), "{}", show.err);
}
