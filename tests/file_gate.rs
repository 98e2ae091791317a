//! The file tools behind the gate, through a pipeline.

#[path = "support/files.rs"]
mod support;

use std::fs;

use serde_json::json;
use support::{Place, code, going};
use toolfall::workspace::FileError;
use toolfall::{CallRequest, ExecutionMode, Pipeline, Scope};

const READ: &str = " — read the file, then retry";
const REREAD: &str = " — re-read the file, then retry";

/// conformance: FSGATE-22
#[tokio::test]
async fn what_was_not_read_is_not_overwritten() {
    let place = Place::guarded();
    place.put("a", "one");
    let result = place.write("a", "two").await;
    assert!(result.is_error());
    assert_eq!(code(&result), "FS_NOT_OBSERVED");
    assert!(result.text().contains("without reading it first"));
    assert!(result.text().ends_with(READ), "{}", result.text());
    assert_eq!(place.holds("a").as_deref(), Some("one"));
    assert_eq!(code(&place.write("b", "new").await), "ok");
}

/// conformance: FSGATE-23
#[tokio::test]
async fn what_was_read_is_overwritten_while_it_is_the_same() {
    let place = Place::guarded();
    place.put("a", "one");
    assert_eq!(code(&place.read("a").await), "ok");
    assert_eq!(code(&place.write("a", "two").await), "ok");
    place.put("a", "changed");
    let result = place.write("a", "three").await;
    assert_eq!(code(&result), "FS_STALE_VERSION");
    assert!(result.text().ends_with(REREAD), "{}", result.text());
    assert_eq!(place.holds("a").as_deref(), Some("changed"));
    assert_eq!(code(&place.read("a").await), "ok");
    assert_eq!(code(&place.write("a", "three").await), "ok");
    assert_eq!(place.holds("a").as_deref(), Some("three"));
}

/// conformance: FSGATE-24
#[tokio::test]
async fn what_was_not_read_is_not_edited() {
    let place = Place::guarded();
    place.put("a", "one");
    let result = place.edit("a", "one", "two").await;
    assert_eq!(code(&result), "FS_NOT_OBSERVED");
    assert!(result.text().contains("edit requires reading"));
    assert!(result.text().ends_with(READ), "{}", result.text());
    assert_eq!(place.holds("a").as_deref(), Some("one"));
}

/// conformance: FSGATE-25
#[tokio::test]
async fn a_line_is_enough_and_a_change_anywhere_is_too_much() {
    let place = Place::guarded();
    place.put("a", "one\ntwo\nthree\n");
    let line = json!({"path": "a", "first_line": 1, "max_lines": 1});
    assert_eq!(code(&place.call("read_file", line.clone()).await), "ok");
    assert_eq!(code(&place.edit("a", "three", "3").await), "ok");
    place.put("a", "one\nchanged\n3\n");
    let result = place.edit("a", "stands nowhere", "x").await;
    assert_eq!(code(&result), "FS_STALE_VERSION", "before it is looked for");
}

/// What a call failed to show was not seen.
#[tokio::test]
async fn a_failed_reading_is_none() {
    let place = Place::guarded();
    place.put("a", "one");
    let beyond = json!({"path": "a", "first_line": 9});
    assert_eq!(code(&place.call("read_file", beyond).await), "OUT_OF_RANGE");
    fs::write(place.path("binary"), [0xff]).unwrap();
    assert_eq!(code(&place.read("binary").await), "NOT_TEXT");
    for name in ["a", "binary"] {
        assert_eq!(code(&place.write(name, "x").await), "FS_NOT_OBSERVED");
    }
}

/// conformance: FSGATE-26
#[tokio::test]
async fn a_write_is_seen_and_a_look_past_the_gate_is_not() {
    let place = Place::guarded();
    assert_eq!(code(&place.write("a", "one").await), "ok");
    assert_eq!(code(&place.edit("a", "one", "two").await), "ok");
    assert_eq!(code(&place.edit("a", "two", "three").await), "ok");
    place.put("b", "one");
    let read = place.workspace.read("b", &going()).unwrap();
    assert_eq!(read.text, "one");
    assert_eq!(code(&place.edit("b", "one", "x").await), "FS_NOT_OBSERVED");
}

/// conformance: FSGATE-27
#[tokio::test]
async fn a_deleted_file_must_be_missed_before_it_is_made_again() {
    let place = Place::guarded();
    place.put("a", "one");
    place.read("a").await;
    fs::remove_file(place.path("a")).unwrap();
    let mut codes = vec![
        code(&place.edit("a", "one", "two").await),
        code(&place.write("a", "two").await),
    ];
    assert!(place.holds("a").is_none(), "it is not made again");
    codes.push(code(&place.read("a").await));
    codes.push(code(&place.edit("a", "one", "two").await));
    codes.push(code(&place.write("a", "two").await));
    assert_eq!(
        codes,
        [
            "FS_STALE_VERSION",
            "FS_STALE_VERSION",
            "FS_NOT_FOUND",
            "FS_NOT_FOUND",
            "ok"
        ]
    );
    assert_eq!(place.holds("a").as_deref(), Some("two"));
}

/// Absence is known also below folders that are not there yet.
#[tokio::test]
async fn absence_is_remembered_without_folders() {
    let place = Place::guarded();
    assert_eq!(code(&place.read("x/y/z").await), "FS_NOT_FOUND");
    let edit = place.edit("x/y/z", "a", "b").await;
    assert_eq!(code(&edit), "FS_NOT_FOUND");
    assert_eq!(edit.text(), "Error: cannot edit \"x/y/z\": not found");
    assert_eq!(code(&place.write("x/y/z", "one").await), "FS_NOT_FOUND");
    let deep = json!({"path": "x/y/z", "content": "one", "make_folders": true});
    assert_eq!(code(&place.call("write_file", deep).await), "ok");
    assert_eq!(code(&place.edit("x/./y/z", "one", "two").await), "ok");
    assert_eq!(place.holds("x/y/z").as_deref(), Some("two"));
}

/// conformance: FSGATE-29
#[tokio::test]
async fn without_a_policy_everything_may_be_changed() {
    let place = Place::bare();
    place.put("a", "one");
    assert_eq!(code(&place.write("a", "two").await), "ok");
    place.put("a", "changed");
    assert_eq!(code(&place.edit("a", "changed", "three").await), "ok");
    let result = place.edit("b", "one", "two").await;
    assert_eq!(code(&result), "FS_STALE_VERSION");
    assert!(result.text().ends_with(REREAD), "{}", result.text());
}

/// conformance: FSGATE-31
#[tokio::test]
async fn a_cancelled_call_touches_nothing() {
    let place = Place::guarded();
    place.put("a", "one");
    place.read("a").await;
    let pipeline = Pipeline::builder(place.registry.clone()).build();
    for (name, arguments) in [
        ("read_file", json!({"path": "a"})),
        ("write_file", json!({"path": "a", "content": "x"})),
        ("write_file", json!({"path": "b", "content": "x"})),
        (
            "edit_file",
            json!({"path": "a", "old_text": "one", "new_text": "x"}),
        ),
    ] {
        let cancelled = going();
        cancelled.cancel();
        let request = CallRequest::new("1", name, arguments.to_string(), cancelled);
        let result = pipeline.run(request.with_scope(place.agent.clone())).await;
        assert_eq!(code(&result), "ABORTED_BEFORE_DISPATCH");
    }
    assert_eq!(place.names(), ["a"]);
    assert_eq!(place.holds("a").as_deref(), Some("one"));
}

/// conformance: FSGATE-34
#[test]
fn a_remedy_is_added_where_there_is_one() {
    use std::error::Error as _;
    for (code, message, remedy) in [
        ("FS_STALE_VERSION", "changed", REREAD),
        ("FS_NOT_OBSERVED", "unseen", READ),
    ] {
        let error = FileError::new(code, message).with_remedy();
        assert_eq!(error.to_string(), format!("{message}{remedy}"));
        assert_eq!(error.code(), code);
        let source = error.source().expect("the original");
        assert_eq!(source.to_string(), message);
        let source = source.downcast_ref::<FileError>().expect("it is one");
        assert_eq!(source.code(), code);
    }
    for code in ["FS_NOT_FOUND", "FS_EDIT_NOT_FOUND", "IO", ""] {
        let error = FileError::new(code, "as it was").with_remedy();
        assert_eq!(
            (error.code(), error.to_string().as_str()),
            (code, "as it was")
        );
        assert!(error.source().is_none());
    }
}

/// The names of the arguments are those of these tools, see
/// `tests/DEVIATIONS.md`.
///
/// conformance: FSGATE-35
#[tokio::test]
async fn readers_overlap_and_arguments_are_judged() {
    let place = Place::guarded();
    place.put("a", "one");
    place.read("a").await;
    for (name, arguments, mode, wrong, says) in [
        (
            "read_file",
            json!({"path": "a"}),
            ExecutionMode::Parallel,
            json!({"path": ""}),
            "path must be a non-empty string",
        ),
        (
            "write_file",
            json!({"path": "a", "content": ""}),
            ExecutionMode::Exclusive,
            json!({"path": "", "content": ""}),
            "path must be a non-empty string",
        ),
        (
            "edit_file",
            json!({"path": "a", "old_text": "a", "new_text": "b"}),
            ExecutionMode::Exclusive,
            json!({"path": "a", "old_text": "one", "new_text": "one"}),
            "must differ",
        ),
    ] {
        let request = CallRequest::new("1", name, arguments.to_string(), going());
        assert_eq!(place.registry.mode(&request), mode);
        let result = place.call(name, wrong).await;
        assert_eq!(code(&result), "INVALID_ARGS");
        assert!(result.text().contains(says), "{}", result.text());
    }
    let empty = place.edit("a", "", "x").await;
    assert_eq!(code(&empty), "INVALID_ARGS");
    assert!(
        empty.text().contains("old_text must be a non-empty string"),
        "{}",
        empty.text()
    );
    assert_eq!(place.holds("a").as_deref(), Some("one"));
}

#[tokio::test]
async fn an_agent_does_not_read_for_another() {
    let place = Place::guarded();
    place.put("a", "one");
    assert_eq!(code(&place.read("a").await), "ok");
    let other = Scope::new("agent");
    let arguments = json!({"path": "a", "content": "two"});
    for scope in [Some(&other), None] {
        let result = place.call_in(scope, "write_file", arguments.clone()).await;
        assert_eq!(code(&result), "FS_NOT_OBSERVED");
    }
    assert_eq!(code(&place.write("a", "two").await), "ok");
}
