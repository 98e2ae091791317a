//! Many who change files at once, and somebody who moves folders about.

#[path = "support/files.rs"]
mod support;

use std::fs;
use std::io::Write as _;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::json;
use support::{Place, code, going};
use toolfall::workspace::gate::{EditGuard, Seen, Version, WriteGuard};
use toolfall::workspace::{Edit, FileError};
use toolfall::{CallRequest, Pipeline};

const ROUNDS: usize = 20;
const WRITERS: usize = 16;

/// Ends the other thread also if this one panics.
struct Stops<'a>(&'a AtomicBool);

impl Drop for Stops<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// What became of each of 16 threads that began at once.
fn at_once<T: Send>(work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let barrier = Barrier::new(WRITERS);
    thread::scope(|scope| {
        let threads: Vec<_> = (0..WRITERS)
            .map(|number| {
                let (barrier, work) = (&barrier, &work);
                scope.spawn(move || {
                    barrier.wait();
                    work(number)
                })
            })
            .collect();
        let joined = threads.into_iter().map(thread::ScopedJoinHandle::join);
        joined.map(|done| done.expect("no panic")).collect()
    })
}

/// The one that won; the others failed with `code`.
fn winner(results: &[Result<Version, FileError>], code: &str) -> usize {
    let won: Vec<usize> = (0..results.len())
        .filter(|number| results[*number].is_ok())
        .collect();
    assert_eq!(won.len(), 1, "{results:?}");
    for error in results.iter().filter_map(|result| result.as_ref().err()) {
        assert_eq!(error.code(), code, "{error}");
    }
    won[0]
}

/// conformance: FSGATE-19
#[test]
fn of_many_changes_to_one_version_one_is_made() {
    let place = Place::bare();
    let files = &place.workspace;
    let write = |number: usize, version| {
        let guard = WriteGuard::ReplaceIfVersion(version);
        let text = format!("written by {number}");
        files
            .write("a", &text, guard, &going())
            .map(|done| done.version)
    };
    let edit = |number: usize, version| {
        let edit = Edit::new("first", format!("edited by {number}"));
        let guard = EditGuard::IfVersion(version);
        files
            .edit("a", &edit, guard, &going())
            .map(|done| done.version)
    };
    for round in 0..ROUNDS {
        for kind in 0..3 {
            place.put("a", "first");
            let version = Version::of(b"first");
            let results = at_once(|number| match (kind, number % 2) {
                (0, _) | (2, 0) => write(number, version),
                _ => edit(number, version),
            });
            let won = winner(&results, "FS_STALE_VERSION");
            let text = place.holds("a").expect("it is there");
            assert!(text.ends_with(&format!("by {won}")), "{round}: {text}");
            let now = *results[won].as_ref().expect("it won");
            assert_eq!(now, Version::of(text.as_bytes()));
            write(0, now).expect("nothing is held any more");
        }
    }
    assert_eq!(place.names(), ["a"], "no temporary file is left");
}

/// conformance: FSGATE-14
#[test]
fn a_file_is_made_once_whoever_else_makes_it() {
    let place = Place::bare();
    for _ in 0..ROUNDS {
        let results = at_once(|number| {
            let text = format!("made by {number}");
            if number % 2 == 0 {
                let guard = WriteGuard::CreateIfAbsent;
                let made = place.workspace.write("a", &text, guard, &going());
                return made.map(|done| done.version);
            }
            // Somebody who knows nothing of workspaces.
            let made = fs::File::create_new(place.path("a"));
            let mut file = made.map_err(|_| FileError::new("FS_NOT_OBSERVED", "made"))?;
            file.write_all(text.as_bytes()).expect("there is room");
            Ok(Version::of(text.as_bytes()))
        });
        let won = winner(&results, "FS_NOT_OBSERVED");
        assert_eq!(place.holds("a"), Some(format!("made by {won}")));
        fs::remove_file(place.path("a")).unwrap();
    }
    assert!(place.names().is_empty(), "no temporary file is left");
}

/// Edits without a guard wait for each other, and none is lost.
#[test]
fn unguarded_edits_lose_nothing() {
    let place = Place::bare();
    let all: Vec<String> = (0..WRITERS).map(|number| format!("<{number}>")).collect();
    place.put("a", &all.concat());
    let results = at_once(|number| {
        let edit = Edit::new(all[number].clone(), "");
        let guard = EditGuard::Unconditional;
        place.workspace.edit("a", &edit, guard, &going()).map(drop)
    });
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    assert_eq!(place.holds("a").as_deref(), Some(""));
}

/// A file that is replaced all the time keeps its name.
#[test]
fn a_file_that_is_replaced_is_found_by_its_name() {
    let place = Place::bare();
    place.put("a", "first");
    let files = &place.workspace;
    let key = files.read("a", &going()).unwrap().target.key().to_owned();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let _stops = Stops(&stop);
            for number in 0..2_000 {
                let text = number.to_string();
                let guard = WriteGuard::Unconditional;
                files.write("a", &text, guard, &going()).unwrap();
            }
        });
        while !stop.load(Ordering::Relaxed) {
            let read = files.read("a", &going()).expect("it is always there");
            assert_eq!(read.target.key(), key);
        }
    });
    assert_eq!(place.names(), ["a"]);
}

/// The same through the whole pipeline: 16 agents have read one version.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_agents_one_goes_first() {
    let place = Place::guarded();
    place.put("a", "first");
    let pipeline = Pipeline::builder(place.registry.clone()).build();
    let mut agents = Vec::new();
    for number in 0..WRITERS {
        let agent = toolfall::Scope::new(format!("agent {number}"));
        let read = json!({"path": "a"});
        let read = place.call_in(Some(&agent), "read_file", read).await;
        assert_eq!(code(&read), "ok");
        agents.push(agent);
    }
    let calls: Vec<_> = agents
        .iter()
        .map(|agent| {
            let arguments = json!({"path": "a", "content": agent.name()}).to_string();
            let request = CallRequest::new("1", "write_file", arguments, going());
            let (pipeline, request) = (pipeline.clone(), request.with_scope(agent.clone()));
            tokio::spawn(async move { pipeline.run(request).await })
        })
        .collect();
    let mut won = 0;
    for call in calls {
        match code(&call.await.unwrap()).as_str() {
            "ok" => won += 1,
            other => assert_eq!(other, "FS_STALE_VERSION"),
        }
    }
    assert_eq!(won, 1);
}

/// Somebody swaps a folder for a link that leads out, and back, all the time:
/// whatever the tools say, nothing outside is read or changed.
#[cfg(unix)]
#[test]
fn a_folder_that_turns_into_a_link_leads_nowhere() {
    let place = Place::bare();
    fs::create_dir(place.outside("other")).unwrap();
    fs::write(place.outside("other/a"), "outside").unwrap();
    fs::create_dir(place.path("folder")).unwrap();
    place.put("folder/a", "inside");
    std::os::unix::fs::symlink("../other", place.path("link")).unwrap();
    let stop = AtomicBool::new(false);
    let (mut done, mut refused) = (0, 0);
    thread::scope(|scope| {
        scope.spawn(|| {
            let [folder, link, spare] = ["folder", "link", "spare"].map(|name| place.path(name));
            while !stop.load(Ordering::Relaxed) {
                for (from, to) in [(&folder, &spare), (&link, &folder)] {
                    fs::rename(from, to).unwrap();
                }
                for (from, to) in [(&folder, &link), (&spare, &folder)] {
                    fs::rename(from, to).unwrap();
                }
                // Long enough for some to come through, or halfway.
                thread::park_timeout(Duration::from_millis(1));
            }
        });
        let _stops = Stops(&stop);
        for number in 0..600 {
            let (files, token) = (&place.workspace, going());
            let text = format!("inside {number}");
            let ended = match number % 4 {
                0 => files
                    .write("folder/a", &text, WriteGuard::Unconditional, &token)
                    .map(drop),
                1 => {
                    let name = format!("folder/new {number}");
                    let guard = WriteGuard::CreateIfAbsent;
                    files.write(&name, &text, guard, &token).map(drop)
                }
                2 => {
                    let edit = Edit::new("inside", "still inside");
                    let guard = EditGuard::Unconditional;
                    files.edit("folder/a", &edit, guard, &token).map(drop)
                }
                _ => files.read("folder/a", &token).map(|read| {
                    assert!(read.text.contains("inside"), "{}", read.text);
                }),
            };
            match ended {
                Ok(()) => done += 1,
                Err(_) => refused += 1,
            }
        }
    });
    assert_eq!(
        fs::read_to_string(place.outside("other/a")).unwrap(),
        "outside"
    );
    let outside = fs::read_dir(place.outside("other")).unwrap().count();
    assert_eq!(outside, 1, "{done} done, {refused} refused");
    let guard = WriteGuard::Unconditional;
    let after = place.workspace.write("folder/a", "after", guard, &going());
    assert!(after.expect("the folder is one again").replaced);
}

/// Somebody swaps a file for a link to another one: the other one is neither
/// read nor changed under the first one's name.
#[cfg(unix)]
#[test]
fn a_file_that_turns_into_a_link_is_not_followed_halfway() {
    let place = Place::bare();
    fs::create_dir(place.path("deep")).unwrap();
    place.put("deep/other", "other");
    place.put("a", "mine");
    std::os::unix::fs::symlink("deep/other", place.path("link")).unwrap();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let [a, link, spare] = ["a", "link", "spare"].map(|name| place.path(name));
            while !stop.load(Ordering::Relaxed) {
                // A write may have put a file where a link was.
                let _ = fs::rename(&a, &spare);
                let _ = fs::rename(&link, &a);
                let _ = fs::rename(&a, &link);
                let _ = fs::rename(&spare, &a);
            }
        });
        let _stops = Stops(&stop);
        for _ in 0..300 {
            let (files, token) = (&place.workspace, going());
            if let Ok(read) = files.read("a", &token) {
                let other = read.target.key().ends_with("deep/other");
                assert_eq!(read.text == "other", other, "{read:?}");
            }
            let guard = WriteGuard::ReplaceIfVersion(Version::of(b"mine"));
            if let Ok(written) = files.write("a", "mine", guard, &token) {
                // By the name that the file has by then.
                let key = written.target.key();
                assert!(!key.ends_with("deep/other"), "{key}");
            }
        }
    });
    assert_eq!(place.holds("deep/other").as_deref(), Some("other"));
    let seen = place.workspace.seen("deep/other", &going());
    assert_eq!(seen.unwrap(), Seen::Present(Version::of(b"other")));
}
