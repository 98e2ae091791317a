//! Cards of the file tools, made from what a log keeps of real calls.

use proptest::prelude::*;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use toolfall::card::diff::{Change, hunks, lines};
use toolfall::card::{self, Presented, ReadResult, SearchMatches, View, narrow};
use toolfall::session::{Body, SessionLog, SessionRecorder};
use toolfall::workspace::Workspace;
use toolfall::*;

struct Place {
    folder: TempDir,
    registry: Registry,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let registry = Registry::new();
        let tools = Workspace::open(folder.path()).unwrap().tools();
        for registration in registry.register_all(tools).unwrap() {
            registration.keep();
        }
        Self { folder, registry }
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.folder.path().join(name), text).unwrap();
    }

    /// Runs a call and makes both cards of its log; with the metadata.
    async fn run(&self, tool: &'static str, arguments: Value) -> Ran {
        let log = SessionLog::in_memory();
        let pipeline = Pipeline::builder(self.registry.clone())
            .recorder(std::sync::Arc::new(SessionRecorder::new(log.clone())))
            .build();
        let token = CancellationToken::new();
        pipeline.call("1", tool, arguments.to_string(), token).await;
        // A log is text, and is read back.
        let records: Vec<toolfall::session::Record> = log
            .records()
            .unwrap()
            .iter()
            .map(|record| serde_json::from_str(&serde_json::to_string(record).unwrap()).unwrap())
            .collect();
        let views = card::from_log(&records, &self.registry, None);
        let Some(Body::Result(result)) = records.last().map(|record| &record.body) else {
            panic!("a result comes last");
        };
        Ran {
            call: written(&views[0]),
            result: written(&views[1]),
            meta: result.meta.clone().unwrap_or_default(),
            is_error: result.is_error,
        }
    }

    /// The card of a result that nobody's tool made.
    fn present(
        &self,
        tool: &str,
        arguments: &Value,
        meta: Option<&Value>,
        content: &[ContentBlock],
        is_error: bool,
    ) -> Value {
        let arguments = Arguments::from_text(arguments.to_string()).unwrap();
        let seen = Presented {
            content,
            meta,
            is_error,
        };
        let card = self.registry.result_card(tool, &arguments, &seen, None);
        serde_json::to_value(card).unwrap()
    }
}

#[derive(Debug)]
struct Ran {
    call: Value,
    result: Value,
    meta: Value,
    is_error: bool,
}

fn written(view: &View) -> Value {
    serde_json::to_value(&view.card).unwrap()
}

/// conformance: CARD-14, CARD-15
#[tokio::test]
async fn a_read_is_a_numbered_window() {
    let place = Place::new();
    place.write("a.ts", "one\ntwo\nthree\nfour\n");
    place.write("a.unknown", "x");
    place.write("empty.ts", "");
    let ran = place
        .run(
            "read_file",
            json!({"path": "a.ts", "first_line": 2, "max_lines": 2}),
        )
        .await;
    assert_eq!(
        ran.call,
        json!({"card": "generic", "title": "Read a.ts (2 - 3)", "kind": "read",
            "locations": [{"path": "a.ts", "line": 2}]})
    );
    let meta = json!({"path": "a.ts", "offset": 2, "totalLines": 4, "lang": "ts",
        "lines": [{"number": 2, "text": "two"}, {"number": 3, "text": "three"}]});
    assert_eq!(ran.meta, meta);
    let mut card = meta;
    card["card"] = json!("read");
    card["content"] = json!([{"type": "text", "text": "two\nthree"}]);
    assert_eq!(ran.result, card);

    let ran = place.run("read_file", json!({"path": "a.unknown"})).await;
    assert_eq!(ran.call["title"], "Read a.unknown");
    assert!(ran.meta.get("lang").is_none() && ran.result.get("lang").is_none());
    assert_eq!(ran.result["card"], "read");
    let ran = place.run("read_file", json!({"path": "empty.ts"})).await;
    assert_eq!(ran.result["lines"], json!([]));
}

/// conformance: CARD-16
#[tokio::test]
async fn a_read_that_is_not_whole_has_no_card() {
    let place = Place::new();
    let ran = place.run("read_file", json!({"path": "none"})).await;
    assert!(ran.is_error);
    assert_eq!(ran.result, Value::Null);

    let arguments = json!({"path": "a"});
    let meta = json!({"path": "a", "offset": 1, "totalLines": 1,
        "lines": [{"number": 1, "text": "x"}]});
    let text = [ContentBlock::text("1\tx")];
    let of = |meta: Option<&Value>, content: &[ContentBlock], is_error| {
        place.present("read_file", &arguments, meta, content, is_error)
    };
    assert_eq!(of(Some(&meta), &text, false)["card"], "read");
    assert_eq!(of(Some(&meta), &text, true), Value::Null);
    assert_eq!(of(None, &text, false), Value::Null);
    let two = [text[0].clone(), text[0].clone()];
    let other = [ContentBlock::Reasoning {
        text: "1\tx".into(),
    }];
    let replaced = [ContentBlock::text("(withheld)")];
    let longer = [ContentBlock::text("1\txyz")];
    for content in [&two[..], &other, &replaced, &longer, &[]] {
        assert_eq!(of(Some(&meta), content, false), Value::Null, "{content:?}");
    }
    for (field, bad) in [
        ("path", json!(1)),
        ("offset", json!("1")),
        ("lines", json!([{"number": 1}])),
        ("totalLines", json!(-1)),
        ("lang", json!(null)),
    ] {
        let mut meta = meta.clone();
        meta[field] = bad;
        assert_eq!(of(Some(&meta), &text, false), Value::Null, "{field}");
    }
    // Arguments that the schema refuses have no card either.
    let bad = json!({"path": "a", "first_line": 0});
    let card = place.present("read_file", &bad, Some(&meta), &text, false);
    assert_eq!(card, Value::Null);
}

/// conformance: CARD-17
#[tokio::test]
async fn writes_and_edits_are_diffs_from_their_call_on() {
    let place = Place::new();
    place.write("a.txt", "old\n");
    let edit = json!({"path": "a.txt", "old_text": "old", "new_text": "new"});
    let ran = place.run("edit_file", edit).await;
    assert_eq!(
        ran.call,
        json!({"card": "diff", "title": "Edit a.txt", "locations": [{"path": "a.txt"}],
            "diffs": [{"path": "a.txt", "oldText": "old", "newText": "new"}]})
    );
    let ran = place
        .run("write_file", json!({"path": "out.txt", "content": "text"}))
        .await;
    assert_eq!(
        ran.call,
        json!({"card": "diff", "title": "Write out.txt", "locations": [{"path": "out.txt"}],
            "diffs": [{"path": "out.txt", "oldText": null, "newText": "text"}]})
    );
    let from_nothing = json!({"path": "a.txt", "old_text": "", "new_text": "new"});
    let ran = place.run("edit_file", from_nothing).await;
    assert_eq!(
        ran.call["diffs"],
        json!([{"path": "a.txt", "oldText": null, "newText": "new"}])
    );
    assert!(ran.is_error && ran.result.is_null());
}

/// conformance: CARD-18
#[tokio::test]
async fn changes_come_with_three_lines_around_them() {
    let place = Place::new();
    let (old, new) = ("a\nb\nc\nOLD\nd\ne\nf", "a\nb\nc\nNEW\nd\ne\nf");
    let diffs = json!([{"path": "a.txt", "oldText": old, "newText": new}]);
    let around = format!("first\n{old}\nlast\n");
    place.write("a.txt", &around);
    let edit = json!({"path": "a.txt", "old_text": "OLD", "new_text": "NEW"});
    let ran = place.run("edit_file", edit).await;
    assert_eq!(ran.meta, json!({"diffs": diffs}));
    assert_eq!(ran.result, json!({"card": "diff", "diffs": diffs}));

    place.write("a.txt", &around);
    let content = format!("first\n{new}\nlast\n");
    let ran = place
        .run("write_file", json!({"path": "a.txt", "content": content}))
        .await;
    assert_eq!(ran.meta, json!({"diffs": diffs}));
    assert_eq!(ran.result, json!({"card": "diff", "diffs": diffs}));
}

/// conformance: CARD-19
#[tokio::test]
async fn a_write_without_a_diff_shows_the_whole_file() {
    let place = Place::new();
    let arguments = json!({"path": "a.txt", "content": "one\ntwo\n"});
    let whole = json!({"card": "diff", "diffs": [
        {"path": "a.txt", "oldText": null, "newText": "one\ntwo\n"}]});
    for what in ["made", "identical"] {
        let ran = place.run("write_file", arguments.clone()).await;
        assert_eq!(ran.meta, json!({"diffs": []}), "{what}");
        assert_eq!(ran.result, whole, "{what}");
    }
    let content = [ContentBlock::text("replaced a.txt")];
    for bad in [json!({"diffs": [1]}), json!("bad"), json!(null)] {
        let card = place.present("write_file", &arguments, Some(&bad), &content, false);
        assert_eq!(card, whole);
    }
    // What is too much to keep is not kept in part.
    place.write("a.txt", &"old line\n".repeat(20_000));
    let ran = place.run("write_file", arguments).await;
    assert_eq!((ran.meta, ran.result), (json!({"diffs": []}), whole));
}

/// conformance: CARD-20
#[tokio::test]
async fn failed_changes_and_unknown_ones_have_no_card() {
    let place = Place::new();
    let edit = json!({"path": "none", "old_text": "a", "new_text": "b"});
    let write = json!({"path": "no/folder", "content": "x"});
    for (tool, arguments) in [("edit_file", &edit), ("write_file", &write)] {
        let ran = place.run(tool, arguments.clone()).await;
        assert!(ran.is_error && ran.result.is_null(), "{ran:?}");
    }
    let good = json!({"diffs": [{"path": "a", "oldText": "a", "newText": "b"}]});
    let of = |meta: &Value, is_error| place.present("edit_file", &edit, Some(meta), &[], is_error);
    assert_eq!(of(&good, false)["card"], "diff");
    assert_eq!(of(&good, true), Value::Null);
    for bad in [
        json!({"diffs": [{"path": "a"}]}),
        json!({"diffs": []}),
        json!(7),
    ] {
        assert_eq!(of(&bad, false), Value::Null);
    }
}

fn texts(old: &str, new: &str) -> Vec<(Option<String>, String)> {
    let diffs = hunks("a", old, new).into_iter();
    diffs.map(|diff| (diff.old_text, diff.new_text)).collect()
}

/// conformance: CARD-21
#[test]
fn hunks_stand_for_the_places_that_changed() {
    let old: Vec<String> = (1..=40).map(|n| format!("line {n}")).collect();
    let old = old.join("\n") + "\n";
    let new = old
        .replace("line 5\n", "FIVE\n")
        .replace("line 30\n", "THIRTY\n");
    let sites = texts(&old, &new);
    assert_eq!(sites.len(), 2);
    assert_eq!(
        sites[0].1,
        "line 2\nline 3\nline 4\nFIVE\nline 6\nline 7\nline 8"
    );
    assert_eq!(sites[1].0.as_deref().unwrap().lines().count(), 7);

    let owned = |old: Option<&str>, new: &str| vec![(old.map(str::to_owned), new.to_owned())];
    assert_eq!(texts("same\n", "same\n"), []);
    assert_eq!(texts("", ""), []);
    assert_eq!(texts("", "new\n"), owned(None, "new"));
    assert_eq!(texts("old\nall\n", ""), owned(Some("old\nall"), ""));
    assert_eq!(texts("a\nb", "a\nc"), owned(Some("a\nb"), "a\nc"));
    assert_eq!(texts("\n", "a\n"), owned(Some(""), "a"));
    // Where the last line break is all that changed, it is shown.
    assert_eq!(texts("a", "a\n"), owned(Some("a"), "a\n"));
    assert_eq!(
        texts("a\r\nb\r\n", "a\r\nc\r\n"),
        owned(Some("a\r\nb"), "a\r\nc")
    );
    assert_eq!(texts("a\n", "a\r\n"), owned(Some("a\n"), "a\r\n"));
    // So different that the smallest change is not looked for.
    let (old, new) = ("old\n".repeat(5_000), "new\n".repeat(5_000));
    let far = texts(&format!("same\n{old}"), &format!("same\n{new}"));
    assert_eq!(far.len(), 1);
    assert!(far[0].1.starts_with("same\nnew\n"));
}

proptest! {
    /// The lines of a hunk are its two texts, and hunks hold every change.
    #[test]
    fn hunks_lose_nothing(old in "([ab]\n){0,12}", new in "([ab]\n){0,12}") {
        let diffs = hunks("a", &old, &new);
        prop_assert_eq!(diffs.is_empty(), old == new);
        let of = |text: &str, change: Change, diff: &card::DiffEntry| {
            let lines = lines(diff).into_iter();
            let side: Vec<&str> = lines
                .filter(|(its, _)| *its == Change::Kept || *its == change)
                .map(|(_, line)| line)
                .collect();
            side == text.lines().collect::<Vec<_>>()
        };
        for diff in &diffs {
            prop_assert!(of(diff.old_text.as_deref().unwrap_or(""), Change::Removed, diff));
            prop_assert!(of(&diff.new_text, Change::Added, diff));
            prop_assert!(new.contains(&diff.new_text));
        }
    }
}

/// conformance: CARD-23
#[tokio::test]
async fn searches_are_grouped() {
    let place = Place::new();
    place.write("b.txt", "no\nhit\nno\nno\nhit too\n");
    place.write("a.txt", "a hit\n");
    let ran = place.run("grep", json!({"pattern": "hit"})).await;
    assert_eq!(
        ran.call,
        json!({"card": "generic", "title": "Search for hit", "kind": "search", "rawInput": "hit"})
    );
    let found = json!({"files": [
        {"path": "a.txt", "matches": [{"lineNumber": 1, "line": "a hit"}]},
        {"path": "b.txt", "matches": [
            {"lineNumber": 2, "line": "hit"}, {"lineNumber": 5, "line": "hit too"}]}],
        "truncated": false, "total": 3});
    assert_eq!(ran.meta, found);
    assert!(narrow::<SearchMatches>(&ran.meta).is_some());
    assert_eq!(ran.result["card"], "search");
    assert_eq!(ran.result["files"], found["files"]);

    let ran = place
        .run("grep", json!({"pattern": "none", "path": "a.txt"}))
        .await;
    assert_eq!(ran.call["locations"], json!([{"path": "a.txt"}]));
    assert_eq!(
        ran.result,
        json!({"card": "search", "files": [], "truncated": false, "total": 0})
    );
    let ran = place.run("glob", json!({"pattern": "*.txt"})).await;
    assert_eq!(ran.call["title"], "Find files *.txt");
    assert_eq!(
        ran.result,
        json!({"card": "search", "paths": ["a.txt", "b.txt"], "truncated": false, "total": 2})
    );
    let ran = place.run("list_dir", json!({})).await;
    assert_eq!(ran.call["title"], "List .");
    assert_eq!(ran.result, Value::Null);
    let ran = place.run("grep", json!({"pattern": "("})).await;
    assert!(ran.is_error && ran.result.is_null());
}

/// conformance: CARD-05, CARD-07, CARD-08
#[cfg(unix)]
#[tokio::test]
async fn a_shell_is_a_terminal() {
    let place = Place::new();
    let bash = toolfall::bash::BashTool::new(place.folder.path()).unwrap();
    place.registry.register(bash.into_tool()).unwrap().keep();
    let command = "echo hi; exit 3";
    let arguments = json!({"command": command, "description": "Greets", "cwd": "."});
    let ran = place.run("bash", arguments).await;
    assert_eq!(
        ran.call,
        json!({"card": "terminal", "title": command, "description": "Greets", "cwd": "."})
    );
    assert_eq!(
        ran.result,
        json!({"card": "terminal", "output": "hi\n", "exitCode": 3})
    );
    let ran = place.run("bash", json!({"command": "kill -KILL $$"})).await;
    assert_eq!(ran.result["signal"], "SIGKILL");
    let ran = place
        .run("bash", json!({"command": "true", "cwd": "none"}))
        .await;
    assert!(ran.is_error);
    assert_eq!(ran.result["card"], "generic");
    let ran = place.run("bash", json!({"command": 1})).await;
    assert_eq!((ran.call, ran.result), (Value::Null, Value::Null));
}

/// Metadata of a long read stays within what the tool returns.
#[tokio::test]
async fn metadata_is_bounded_like_the_content() {
    let place = Place::new();
    place.write("long.txt", &"x".repeat(100).add_lines(50_000));
    let ran = place.run("read_file", json!({"path": "long.txt"})).await;
    let window: ReadResult = narrow(&ran.meta).unwrap();
    assert_eq!(window.total_lines, 50_000);
    assert!(window.lines.len() <= 2_000);
    place.write("one.txt", &"y".repeat(3_000).add_lines(1_000));
    let ran = place
        .run("grep", json!({"pattern": "y", "path": "one.txt"}))
        .await;
    assert!(ran.meta.to_string().len() < 256 << 10);
    assert_eq!(ran.meta["total"], 1_000);
}

trait AddLines {
    fn add_lines(self, count: usize) -> String;
}

impl AddLines for String {
    fn add_lines(self, count: usize) -> String {
        format!("{self}\n").repeat(count)
    }
}
