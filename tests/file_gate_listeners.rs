//! Listeners of the gate that cancel, fail, panic and tell late.

#[path = "support/files.rs"]
mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::json;
use support::{Place, code, going};
use tokio_util::sync::CancellationToken;
use toolfall::Pipeline;
use toolfall::workspace::FileError;
use toolfall::workspace::gate::{
    EditGuard, FileListener, Intent, Observation, ReadBeforeEdit, Seen, Version, WriteGuard,
};

/// Cancels the call that it is asked about.
struct Cancels(CancellationToken);

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
