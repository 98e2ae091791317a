//! What the gate's listeners are asked, and what the policy answers.

#[path = "support/files.rs"]
mod support;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use support::{Place, code};
use toolfall::Scope;
use toolfall::workspace::FileError;
use toolfall::workspace::gate::{
    EditGuard, FileGate, FileListener, Intent, Observation, ReadBeforeEdit, Seen, Target, Version,
    WriteGuard,
};

use WriteGuard::{CreateIfAbsent, ReplaceIfVersion};

fn target() -> Target {
    Target::new("/srv/a.txt", "a.txt").expect("neither is empty")
}

fn v(number: u32) -> Version {
    Version::of(&number.to_be_bytes())
}

fn write_guard(policy: &ReadBeforeEdit, owner: Option<&Scope>) -> WriteGuard {
    let intent = Intent::new(target(), owner.cloned());
    let guard = policy.write_intent(&intent).expect("writes are guarded");
    guard.expect("it decides")
}

/// The version that an edit must find, or code and message of the refusal.
fn edit_guard(policy: &ReadBeforeEdit, owner: Option<&Scope>) -> Result<Version, String> {
    let intent = Intent::new(target(), owner.cloned());
    match policy.edit_intent(&intent) {
        Ok(Some(EditGuard::IfVersion(version))) => Ok(version),
        Ok(other) => panic!("{other:?}"),
        Err(error) => Err(format!("{}: {error}", error.code())),
    }
}

fn see(policy: &ReadBeforeEdit, owner: Option<&Scope>, seen: Seen) {
    let observation = Observation::new(target(), owner.cloned(), seen);
    policy.observed(&observation).expect("it only remembers");
}

const UNSEEN: &str = "FS_NOT_OBSERVED: edit requires reading \"a.txt\" first";
const ABSENT: &str = "FS_NOT_FOUND: cannot edit \"a.txt\": not found";

/// conformance: FSGATE-01, FSGATE-03, FSGATE-06
#[test]
fn what_was_never_seen_is_made_and_not_edited() {
    let (policy, agent) = (ReadBeforeEdit::new(), Scope::new("agent"));
    for owner in [Some(&agent), None] {
        assert_eq!(write_guard(&policy, owner), CreateIfAbsent);
        assert_eq!(edit_guard(&policy, owner), Err(UNSEEN.to_owned()));
    }
    see(&policy, None, Seen::Present(v(1)));
    for owner in [Some(&agent), None] {
        assert_eq!(write_guard(&policy, owner), CreateIfAbsent);
        assert_eq!(edit_guard(&policy, owner), Err(UNSEEN.to_owned()));
    }
}

/// conformance: FSGATE-02, FSGATE-04, FSGATE-05, FSGATE-07
#[test]
fn what_was_seen_last_decides() {
    let (policy, agent) = (ReadBeforeEdit::new(), Scope::new("agent"));
    let owner = Some(&agent);
    for (seen, write, edit) in [
        (Seen::Present(v(7)), ReplaceIfVersion(v(7)), Ok(v(7))),
        (Seen::Absent, CreateIfAbsent, Err(ABSENT.to_owned())),
        (Seen::Present(v(3)), ReplaceIfVersion(v(3)), Ok(v(3))),
        (Seen::Present(v(4)), ReplaceIfVersion(v(4)), Ok(v(4))),
    ] {
        see(&policy, owner, seen);
        assert_eq!(write_guard(&policy, owner), write);
        assert_eq!(edit_guard(&policy, owner), edit);
    }
}

/// conformance: FSGATE-08
#[test]
fn nobody_sees_for_another() {
    let policy = ReadBeforeEdit::new();
    let (a, b) = (Scope::new("agent"), Scope::new("agent"));
    see(&policy, Some(&a), Seen::Present(v(0)));
    for other in [b, a.nested("helper")] {
        assert_eq!(write_guard(&policy, Some(&other)), CreateIfAbsent);
        assert_eq!(edit_guard(&policy, Some(&other)), Err(UNSEEN.to_owned()));
    }
    assert_eq!(write_guard(&policy, Some(&a)), ReplaceIfVersion(v(0)));
    assert_eq!(edit_guard(&policy, Some(&a)), Ok(v(0)));
}

/// conformance: FSGATE-11
#[test]
fn an_owner_is_held_weakly_and_leaves_nothing_behind() {
    let policy = ReadBeforeEdit::new();
    let agent = Scope::new("agent");
    let weak = agent.downgrade();
    see(&policy, Some(&agent), Seen::Present(v(0)));
    drop(agent);
    assert!(weak.is_gone());
    let next = Scope::new("agent");
    assert_eq!(edit_guard(&policy, Some(&next)), Err(UNSEEN.to_owned()));
}

/// conformance: FSGATE-12
#[test]
fn targets_have_a_key_and_a_path_to_show() {
    for (key, display, missing) in [("", "a", "key"), ("/a", "", "display path")] {
        let error = Target::new(key, display).expect_err("one is empty");
        assert!(error.to_string().contains(missing), "{error}");
    }
    let target = target();
    assert_eq!((target.key(), target.display()), ("/srv/a.txt", "a.txt"));
}

#[test]
fn of_very_many_files_the_last_are_remembered() {
    let (policy, agent) = (ReadBeforeEdit::new(), Scope::new("agent"));
    let file = |number: u32| Target::new(format!("/{number}"), "a").expect("not empty");
    for number in 0..25_000 {
        let seen = Seen::Present(v(number));
        let observation = Observation::new(file(number), Some(agent.clone()), seen);
        policy.observed(&observation).expect("it only remembers");
    }
    let guard = |number| {
        let intent = Intent::new(file(number), Some(agent.clone()));
        policy.write_intent(&intent).expect("writes are guarded")
    };
    assert_eq!(guard(0), Some(CreateIfAbsent));
    for number in 24_000..25_000 {
        assert_eq!(guard(number), Some(ReplaceIfVersion(v(number))));
    }
}

/// Counts what it hears, and answers with what it is told to.
#[derive(Clone, Default)]
struct Listener {
    asked: Arc<AtomicU32>,
    heard: Arc<Mutex<Vec<Observation>>>,
    decides: bool,
}

impl FileListener for Listener {
    fn write_intent(&self, _: &Intent) -> Result<Option<WriteGuard>, FileError> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        Ok(self.decides.then_some(WriteGuard::Unconditional))
    }

    fn edit_intent(&self, _: &Intent) -> Result<Option<EditGuard>, FileError> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        Ok(self.decides.then_some(EditGuard::Unconditional))
    }

    fn observed(&self, observation: &Observation) -> Result<(), FileError> {
        self.heard.lock().unwrap().push(observation.clone());
        Ok(())
    }
}

/// conformance: FSGATE-09
#[tokio::test]
async fn the_first_that_decides_is_the_last_that_is_asked() {
    let place = Place::bare();
    let (passes, decides, later) = (
        Listener::default(),
        Listener {
            decides: true,
            ..Listener::default()
        },
        Listener::default(),
    );
    let gate = &place.gate;
    let _decides = gate.register(decides.clone());
    let _later = gate.register(later.clone());
    gate.register(ReadBeforeEdit::new()).keep();
    let _passes = gate.register_outermost(passes.clone());
    place.put("a", "one");
    assert_eq!(code(&place.write("a", "two").await), "ok");
    assert_eq!(code(&place.edit("a", "two", "three").await), "ok");
    for (listener, asked) in [(&passes, 2), (&decides, 2), (&later, 0)] {
        assert_eq!(listener.asked.load(Ordering::SeqCst), asked);
        let heard = listener.heard.lock().unwrap();
        assert_eq!(heard.len(), 2, "all are told");
        assert!(heard[0].target().key().ends_with("root/a"));
        assert_eq!(heard[0].target().display(), "a");
        assert_eq!(heard[0].owner(), Some(&place.agent));
        assert_eq!(heard[0].seen(), Seen::Present(Version::of(b"two")));
        assert_eq!(heard[1].seen(), Seen::Present(Version::of(b"three")));
    }
}

/// conformance: FSGATE-10
#[tokio::test]
async fn without_a_policy_nothing_is_asked_and_a_new_one_knows_nothing() {
    let place = Place::with(FileGate::new());
    place.put("a", "one");
    assert_eq!(code(&place.write("a", "two").await), "ok", "never loaded");
    let policy = place.gate.register(ReadBeforeEdit::new());
    assert_eq!(code(&place.read("a").await), "ok");
    assert_eq!(code(&place.edit("a", "two", "three").await), "ok");
    drop(policy);
    place.put("a", "changed");
    assert_eq!(code(&place.edit("a", "changed", "x").await), "ok");
    let _policy = place.gate.register(ReadBeforeEdit::new());
    assert_eq!(code(&place.edit("a", "x", "y").await), "FS_NOT_OBSERVED");
    assert_eq!(code(&place.write("a", "y").await), "FS_NOT_OBSERVED");
}

#[tokio::test]
async fn a_listener_of_a_scope_hears_that_scope_alone() {
    let place = Place::bare();
    let listener = Listener::default();
    let _heard = place.gate.register_in(&place.agent, listener.clone());
    let arguments = serde_json::json!({"path": "a", "content": "x"});
    place.call_in(None, "write_file", arguments.clone()).await;
    let stranger = Scope::new("agent");
    place
        .call_in(Some(&stranger), "write_file", arguments.clone())
        .await;
    assert_eq!(listener.asked.load(Ordering::SeqCst), 0);
    let helper = place.agent.nested("helper");
    place.call_in(Some(&helper), "write_file", arguments).await;
    assert_eq!(listener.asked.load(Ordering::SeqCst), 1);
    assert_eq!(listener.heard.lock().unwrap().len(), 1);
}
