//! `[spill]`: long results and big pictures go to files that the model can
//! find.
#![cfg(unix)]

#[path = "support/cli.rs"]
mod support;

use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::{Value, json};
use support::{Place, Ran, code};

/// The bytes of a picture that is within the budgets.
const SMALL: usize = 30_000;

/// A file tool's folder, two programs, and rules that let everything through.
fn configured(place: &Place, spill: &str) {
    configured_with(place, spill, SMALL);
}

/// As [`configured`], with a first picture of `bytes`, rounded down to threes.
fn configured_with(place: &Place, spill: &str, bytes: usize) {
    let config = format!(
        "[files]\nroot = \"ws\"\n{spill}\n\
         [[command]]\nname = \"dump\"\nprogram = [\"cat\", \"dump.json\"]\n\
         [[command]]\nname = \"shot\"\nprogram = [\"cat\", \"shot.json\"]\n\
         blocks = true\nstdout_limit = 10000000\n\
         [policy]\notherwise = \"allow\"\n"
    );
    place.write("toolfall.toml", config);
    place.write("ws/here.txt", "here\n");
    let lines: Vec<String> = (0..40_000).map(|at| format!("line {at}")).collect();
    place.write("dump.json", json!(lines.join("\n")).to_string());
    let picture = "AAAA".repeat(bytes / 3);
    let shot = json!({"content": [
        {"type": "text", "text": "a shot"},
        {"type": "image", "data": picture, "mimeType": "image/png"},
        {"type": "image", "data": "AAAA", "mimeType": "image/png"},
    ]});
    place.write("shot.json", shot.to_string());
}

fn run(place: &Place, calls: &Value, form: &str) -> Ran {
    place.write("b.jsonl", format!("{}\n", json!({ "calls": calls })));
    place.run(&["run", "b.jsonl", form])
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().expect("a text")
}

/// The path in a text's notice.
fn stored(text: &str) -> &str {
    let (_, rest) = text.rsplit_once("tored at: ").expect("a notice");
    rest.split_once(". ").expect("a hint").0
}

#[test]
fn a_long_text_is_a_file_that_the_model_reads_on_in() {
    let place = Place::new();
    configured(&place, "[spill]");
    let ran = run(
        &place,
        &json!([{"name": "dump", "arguments": {}}]),
        "--json",
    );
    assert_eq!(
        (ran.status, ran.err.contains("WARN")),
        (0, false),
        "{}",
        ran.err
    );
    let result = &ran.results()[0];
    let shown = text(result);
    assert!(shown.len() <= 50_000 && shown.starts_with("line 0\nline 1\n"));
    assert!(result["value"].as_str().expect("whole").len() > 400_000);
    let path = stored(shown);
    assert!(path.starts_with(".toolfall-spill/session-"), "{path}");
    let whole = std::fs::read_to_string(place.path("ws").join(path)).expect("a file");
    assert_eq!(json!(whole), result["value"]);

    // What the notice says works, and what is read is not stored once more.
    let calls = json!([
        {"name": "read_file", "arguments": {"path": path, "first_line": 30_001, "max_lines": 2}},
        {"name": "grep", "arguments": {"path": path, "pattern": "line 2222$"}},
    ]);
    let ran = run(&place, &calls, "--json");
    let results = ran.results();
    assert!(text(&results[0]).contains("line 30000"), "{}", ran.out);
    assert!(text(&results[1]).contains("line 2222"), "{}", ran.out);
    assert_eq!(files(&place.path("ws/.toolfall-spill")), 1);

    let log = std::fs::read_to_string(place.path("toolfall-session.jsonl")).expect("a log");
    assert!(log.contains(path) && !log.contains("line 20000\\n"));
    assert_eq!(place.run(&["check", "toolfall-session.jsonl"]).status, 0);
}

fn files(folder: &Path) -> usize {
    let sessions = std::fs::read_dir(folder).into_iter().flatten().flatten();
    sessions
        .map(|session| std::fs::read_dir(session.path()).expect("a folder").count())
        .sum()
}

#[test]
fn a_big_picture_is_a_note_and_a_file_and_people_see_where() {
    let place = Place::new();
    configured_with(&place, "[spill]", 5_000_000);
    let calls = json!([
        {"name": "shot", "arguments": {}},
        {"name": "dump", "arguments": {}},
    ]);
    let ran = run(&place, &calls, "--json");
    let results = ran.results();
    let content = results[0]["content"].as_array().expect("blocks");
    assert_eq!((content.len(), &content[0]["text"]), (3, &json!("a shot")));
    assert_eq!(content[2]["data"], "AAAA");
    let note = content[1]["text"].as_str().expect("a note");
    let starts = "(Image omitted: image/png, 4999998 bytes, over the 3750000 bytes for one block. ";
    assert!(note.starts_with(starts), "{note}");
    let path = Path::new(stored(note));
    assert!(path.is_absolute(), "programs know no root: {note}");
    assert_eq!(std::fs::read(path).expect("a file"), vec![0; 4_999_998]);

    let ran = run(&place, &calls, "--human");
    assert_eq!(ran.out.matches("tored at: ").count(), 2, "{}", ran.out);
    assert_eq!(
        ran.out.matches("to see more of it.)").count(),
        1,
        "{}",
        ran.out
    );
    assert!(ran.out.len() < 3_000, "{}", ran.out);
}

#[test]
fn without_the_table_nothing_is_stored() {
    let place = Place::new();
    configured(&place, "");
    let calls = json!([{"name": "dump", "arguments": {}}, {"name": "shot", "arguments": {}}]);
    let ran = run(&place, &calls, "--json");
    let results = ran.results();
    assert_eq!(results[0]["value"], results[0]["content"][0]["text"]);
    let data = results[1]["content"][1]["data"].as_str();
    assert_eq!(data.expect("data").len(), SMALL / 3 * 4);
    assert!(!place.path("ws/.toolfall-spill").exists());
    assert!(!place.path(".toolfall-spill").exists());
}

#[test]
fn every_key_has_its_effect() {
    let place = Place::new();
    let dump = json!([{"name": "dump", "arguments": {}}]);
    let shot = json!([{"name": "shot", "arguments": {}}]);
    let first = |spill: &str, calls: &Value| {
        configured(&place, spill);
        let ran = run(&place, calls, "--json");
        let results = ran.results();
        (results[0]["content"].clone(), ran.err)
    };
    let (content, _) = first("[spill]\nmax_text_bytes = 2000", &dump);
    assert!(content[0]["text"].as_str().expect("a text").len() <= 2_000);
    let kinds = |content: &Value| [1, 2].map(|at| content[at]["type"].to_string());
    let (content, _) = first("[spill]\nmax_block_bytes = 29999", &shot);
    assert_eq!(kinds(&content), [r#""text""#, r#""image""#]);
    let (content, _) = first("[spill]\nmax_result_bytes = 30000", &shot);
    assert_eq!(kinds(&content), [r#""image""#, r#""text""#]);
    let (content, _) = first("[spill]\nmax_blocks = 1", &shot);
    let rest = content[1]["text"].as_str().expect("a note");
    assert!(rest.starts_with("(2 further blocks omitted"), "{rest}");
    let (content, _) = first("[spill]\nexempt = [\"dump\"]", &dump);
    assert!(content[0]["text"].as_str().expect("a text").len() > 400_000);

    // Outside, the file tools are not named; what is full says so.
    let (content, _) = first("[spill]\ndir = \"kept\"", &dump);
    let shown = content[0]["text"].as_str().expect("a text");
    assert!(Path::new(stored(shown)).is_absolute() && shown.ends_with("programs can open it.)"));
    assert_eq!(files(&place.path("kept")), 1);
    let (content, err) = first("[spill]\ndir = \"full\"\nmax_total_bytes = 10", &dump);
    assert!(content[0]["text"].as_str().expect("a text").len() > 400_000);
    assert!(err.contains("stays in the context"), "{err}");
    let (content, err) = first(
        "[spill]\ndir = \"full\"\nmax_total_bytes = 10\nmax_block_bytes = 9",
        &shot,
    );
    let note = content[1]["text"].as_str().expect("a note");
    assert!(
        note.ends_with("It could not be stored.)") && err.contains("left out"),
        "{err}"
    );

    // A link out of the root is no part of it.
    std::fs::create_dir_all(place.path("out")).expect("a folder");
    symlink(place.path("out"), place.path("ws/link")).expect("a link");
    let (content, _) = first("[spill]\ndir = \"ws/link/deep\"", &dump);
    let shown = content[0]["text"].as_str().expect("a text");
    assert!(shown.ends_with("programs can open it.)"));
}

#[test]
fn old_files_go_when_another_is_written() {
    let place = Place::new();
    let dump = json!([{"name": "dump", "arguments": {}}]);
    let folder = place.path("ws/.toolfall-spill");
    for (hours, left) in [(0, 2), (1, 1)] {
        configured(&place, &format!("[spill]\nmax_age_hours = {hours}"));
        run(&place, &dump, "--json");
        let aged = std::time::SystemTime::now() - std::time::Duration::from_secs(2 * 60 * 60);
        for session in std::fs::read_dir(&folder).expect("a folder").flatten() {
            for file in std::fs::read_dir(session.path())
                .expect("a folder")
                .flatten()
            {
                let file = std::fs::File::options().append(true).open(file.path());
                file.expect("ours").set_modified(aged).expect("a time");
            }
        }
        run(&place, &dump, "--json");
        assert_eq!(files(&folder), left, "{hours}");
    }
}

#[test]
fn mistakes_name_their_place() {
    let place = Place::new();
    for (spill, wanted) in [
        (
            "max_text_bytes = 999",
            ":4:18: expected max_text_bytes of at least 1000",
        ),
        ("max_block_bytes = -1", ":4:19: invalid value"),
        ("max_block_bytes = \"1MB\"", ":4:19: invalid type"),
        (
            "dir = \"dump.json\"",
            ":4:7: expected a folder at dump.json: ",
        ),
        ("dir = \"\"", ":4:7: expected the name of a folder"),
        ("max_bytes = 1", ":4:1: unknown field `max_bytes`"),
    ] {
        configured(&place, &format!("[spill]\n{spill}"));
        let ran = run(&place, &json!([]), "--json");
        assert_eq!(ran.status, 2, "{spill}");
        let wanted = format!("toolfall.toml{wanted}");
        assert!(ran.err.contains(&wanted), "{spill}: {}", ran.err);
    }
}

#[test]
fn a_program_that_answers_no_blocks_is_told() {
    let place = Place::new();
    configured(&place, "");
    for (answer, says) in [
        (
            "{\"content\":[{\"type\":\"film\"}]}",
            "unknown variant `film`",
        ),
        (
            "7",
            "expected blocks, or an object with them as its content",
        ),
        (
            "{\"content\":[],\"isError\":true}",
            "expected another exit status than 0",
        ),
    ] {
        place.write("shot.json", answer);
        let ran = run(
            &place,
            &json!([{"name": "shot", "arguments": {}}]),
            "--json",
        );
        let result = &ran.results()[0];
        assert_eq!(code(result), "INVALID_TOOL_OUTPUT", "{}", ran.out);
        assert!(text(result).contains(says), "{}", ran.out);
    }
}
