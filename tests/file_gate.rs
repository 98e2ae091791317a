//! The file tools behind the gate, through a pipeline.

#[path = "support/files.rs"]
mod support;

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};
use support::{Place, code, going};
use toolfall::workspace::gate::{
    EditGuard, FileListener, Intent, Observation, ReadBeforeEdit, Seen, Version, WriteGuard,
};
use toolfall::workspace::{Edit, FileError, Workspace};
use toolfall::{
    BoxError, CallRequest, ExecutionMode, Pipeline, Registry, Scope, ToolContext, ToolDef, raw_tool,
};

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

/// conformance: FSGATE-30
#[tokio::test]
async fn a_relative_path_means_the_agents_own_workspace() {
    let place = Place::guarded();
    place.put("a", "of the host");
    fs::create_dir(place.path("sub")).unwrap();
    place.put("sub/a", "of the agent");
    let own = Workspace::open(place.path("sub")).unwrap();
    let tools = own.gate(place.gate.clone()).tools();
    let _own = place.registry.register_all_in(&place.agent, tools).unwrap();
    assert_eq!(place.read("a").await.text(), "1\tof the agent");
    assert_eq!(code(&place.edit("a", "agent", "helper").await), "ok");
    assert_eq!(place.holds("sub/a").as_deref(), Some("of the helper"));
    assert_eq!(place.holds("a").as_deref(), Some("of the host"));
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

/// Cancels the call that it is asked about.
struct Cancels(tokio_util::sync::CancellationToken);

impl FileListener for Cancels {
    fn write_intent(&self, _: &Intent) -> Result<Option<WriteGuard>, FileError> {
        self.0.cancel();
        Ok(None)
    }
}

#[tokio::test]
async fn a_call_that_is_cancelled_on_the_way_writes_nothing() {
    let place = Place::bare();
    let token = going();
    let _cancels = place.gate.register(Cancels(token.clone()));
    let pipeline = Pipeline::builder(place.registry.clone()).build();
    let arguments = json!({"path": "x/a", "content": "x", "make_folders": true});
    let result = pipeline
        .call("1", "write_file", arguments.to_string(), token)
        .await;
    assert_eq!(code(&result), "ABORTED");
    assert!(place.names().is_empty(), "{:?}", place.names());
}

/// conformance: FSGATE-32
#[tokio::test]
async fn an_older_reading_that_is_told_last_fails_closed() {
    /// Tells the policy after it of an older version, once.
    struct Late(ReadBeforeEdit, AtomicU32);
    impl FileListener for Late {
        fn edit_intent(&self, intent: &Intent) -> Result<Option<EditGuard>, FileError> {
            self.0.edit_intent(intent)
        }
        fn observed(&self, seen: &Observation) -> Result<(), FileError> {
            self.0.observed(seen)?;
            if self.1.fetch_add(1, Ordering::SeqCst) > 0 {
                return Ok(());
            }
            let old = Seen::Present(Version::of(b"old"));
            let (target, owner) = (seen.target().clone(), seen.owner().cloned());
            self.0.observed(&Observation::new(target, owner, old))
        }
    }
    let place = Place::guarded();
    place.put("a", "new");
    let policy = ReadBeforeEdit::new();
    let late = Late(policy, AtomicU32::new(0));
    let _late = place.gate.register_outermost(late);
    assert_eq!(code(&place.read("a").await), "ok");
    assert_eq!(code(&place.edit("a", "new", "x").await), "FS_STALE_VERSION");
    assert_eq!(place.holds("a").as_deref(), Some("new"));
    assert_eq!(code(&place.read("a").await), "ok");
    assert_eq!(code(&place.edit("a", "new", "x").await), "ok");
}

/// Fails, or panics, when it hears of something or is asked.
struct Fails {
    panics: bool,
    asked: bool,
}

impl Fails {
    fn fail(&self) -> FileError {
        assert!(!self.panics, "a bug in the listener");
        FileError::new("DISK_OF_THE_INDEX_FULL", "no room for the index")
    }
}

impl FileListener for Fails {
    fn write_intent(&self, _: &Intent) -> Result<Option<WriteGuard>, FileError> {
        if self.asked {
            Err(self.fail())
        } else {
            Ok(None)
        }
    }

    fn observed(&self, _: &Observation) -> Result<(), FileError> {
        Err(self.fail())
    }
}

/// conformance: FSGATE-33
#[tokio::test]
async fn a_listener_that_fails_afterwards_fails_the_call_alone() {
    for (panics, wanted, says) in [
        (false, "DISK_OF_THE_INDEX_FULL", "no room for the index"),
        (true, "FS_LISTENER_FAILED", "a bug in the listener"),
    ] {
        let place = Place::guarded();
        let asked = false;
        let fails = place.gate.register_outermost(Fails { panics, asked });
        let result = place.write("a", "one").await;
        assert!(result.is_error());
        assert_eq!(code(&result), wanted);
        assert!(result.text().contains(says), "{}", result.text());
        assert!(result.text().contains("\"a\" was written"));
        assert_eq!(place.holds("a").as_deref(), Some("one"));
        assert_eq!(code(&place.read("a").await), wanted);
        drop(fails);
        assert_eq!(
            code(&place.edit("a", "one", "two").await),
            "ok",
            "the policy was told all the same"
        );

        let asked = true;
        let _fails = place.gate.register_outermost(Fails { panics, asked });
        let result = place.write("b", "one").await;
        assert_eq!(code(&result), wanted);
        assert_eq!(place.names(), ["a"], "a refusal comes before");
    }
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

/// An editor with one tool for everything, as a host may write it.
fn editor(workspace: &Workspace) -> ToolDef {
    let workspace = workspace.clone();
    let parameters = json!({"type": "object"});
    raw_tool(
        "editor",
        "Views and changes files",
        parameters,
        move |arguments, ctx: ToolContext| {
            let files = workspace.files(ctx.call());
            let cancelled = ctx.cancellation().clone();
            let done = tokio::task::spawn_blocking(move || {
                let value = arguments.value();
                let text = |name: &str| value[name].as_str().unwrap_or_default();
                match text("command") {
                    "view" => Ok(files.read(text("path"), &cancelled)?.text),
                    "create" => files
                        .write(text("path"), text("text"), &cancelled)
                        .map(|_| "created".to_owned()),
                    "insert" => {
                        let before = files.read(text("path"), &cancelled)?.text;
                        let after = format!("{}{before}", text("text"));
                        files
                            .write(text("path"), &after, &cancelled)
                            .map(|_| "inserted".to_owned())
                    }
                    _ => {
                        let edit = Edit::new(text("old"), text("new"));
                        files
                            .edit(text("path"), &edit, &cancelled)
                            .map(|_| "replaced".to_owned())
                    }
                }
            });
            async move {
                match done.await? {
                    Ok(text) => Ok(Value::String(text)),
                    Err(error) => {
                        let code = error.code().to_owned();
                        let error = toolfall::CodedError::new("Editor", code, error.to_string());
                        Err(BoxError::from(error))
                    }
                }
            }
        },
    )
}

/// With an editor built on [`Workspace::files`], beside the usual tools.
///
/// conformance: FSGATE-36
#[tokio::test]
async fn a_hosts_own_editor_goes_through_the_same_gate() {
    let place = Place::guarded();
    let _editor = place.registry.register(editor(&place.workspace)).unwrap();
    let call = |arguments: Value| place.call("editor", arguments);
    let view = || call(json!({"command": "view", "path": "a"}));
    let create = |text: &str| call(json!({"command": "create", "path": "a", "text": text}));
    let replace = |old: &str, new: &str| {
        call(json!({"command": "str_replace", "path": "a", "old": old, "new": new}))
    };
    place.put("a", "one");
    assert_eq!(code(&create("two").await), "FS_NOT_OBSERVED");
    assert_eq!(code(&replace("one", "two").await), "FS_NOT_OBSERVED");
    assert_eq!(code(&view().await), "ok");
    assert_eq!(code(&replace("one", "two").await), "ok");
    assert_eq!(code(&place.edit("a", "two", "three").await), "ok");
    let insert = call(json!({"command": "insert", "path": "a", "text": "0 "})).await;
    assert_eq!(code(&insert), "ok");
    assert_eq!(place.holds("a").as_deref(), Some("0 three"));
    fs::remove_file(place.path("a")).unwrap();
    assert_eq!(code(&create("again").await), "FS_STALE_VERSION");
    assert_eq!(code(&view().await), "FS_NOT_FOUND");
    assert_eq!(code(&replace("one", "two").await), "FS_NOT_FOUND");
    assert_eq!(code(&create("again").await), "ok");
    assert_eq!(place.holds("a").as_deref(), Some("again"));
}

/// conformance: FSGATE-38
#[tokio::test]
async fn there_is_one_workspace_at_a_time() {
    let (first, second) = (Place::guarded(), Place::guarded());
    first.put("a", "of the first");
    second.put("a", "of the second");
    let registry = Registry::new();
    let mounted = registry.register_all(first.workspace.tools()).unwrap();
    let rejected = registry.register_all(second.workspace.tools());
    assert!(rejected.is_err(), "the names are taken");
    let pipeline = Pipeline::builder(registry.clone()).build();
    let read = || pipeline.call("1", "read_file", r#"{"path":"a"}"#, going());
    assert_eq!(read().await.text(), "1\tof the first");
    drop(mounted);
    assert_eq!(code(&read().await), "UNKNOWN_TOOL");
    let _mounted = registry.register_all(second.workspace.tools()).unwrap();
    assert_eq!(read().await.text(), "1\tof the second");
}

/// Each tool tells what it saw, once, and only what it saw.
#[tokio::test]
async fn each_call_tells_once() {
    #[derive(Clone, Default)]
    struct Counts(Arc<AtomicU32>);
    impl FileListener for Counts {
        fn observed(&self, _: &Observation) -> Result<(), FileError> {
            self.0.fetch_add(1, Ordering::SeqCst);
            Ok(())
        }
    }
    let place = Place::guarded();
    let counts = Counts::default();
    let _counts = place.gate.register(counts.clone());
    for (name, arguments, told) in [
        ("write_file", json!({"path": "b", "content": "x"}), 1),
        ("write_file", json!({"path": ".", "content": "x"}), 0),
        ("read_file", json!({"path": "b"}), 1),
        ("read_file", json!({"path": "nothing"}), 1),
        ("read_file", json!({"path": "../outside"}), 0),
        (
            "edit_file",
            json!({"path": "b", "old_text": "x", "new_text": "y"}),
            1,
        ),
        (
            "edit_file",
            json!({"path": "b", "old_text": "x", "new_text": "y"}),
            0,
        ),
        ("grep", json!({"pattern": "y"}), 0),
    ] {
        place.call(name, arguments.clone()).await;
        let found = counts.0.swap(0, Ordering::SeqCst);
        assert_eq!(found, told, "{name} {arguments}");
    }
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
