//! Writing and editing files under a guard, without a gate.

#[path = "support/files.rs"]
mod support;

use std::fs;

use support::{Place, going};
use toolfall::workspace::gate::{EditGuard, Seen, Version, WriteGuard};
use toolfall::workspace::{Edit, FileError, Limits};

use WriteGuard::{CreateIfAbsent, ReplaceIfVersion, Unconditional};

fn write(place: &Place, path: &str, text: &str, guard: WriteGuard) -> Result<bool, FileError> {
    let written = place.workspace.write(path, text, guard, &going())?;
    assert_eq!(written.version, Version::of(text.as_bytes()));
    Ok(written.replaced)
}

fn version(place: &Place, path: &str) -> Version {
    match place.workspace.seen(path, &going()) {
        Ok(Seen::Present(version)) => version,
        other => panic!("{path}: {other:?}"),
    }
}

fn refused<T>(result: Result<T, FileError>) -> (String, String) {
    match result {
        Ok(_) => panic!("it was not refused"),
        Err(error) => (error.code().to_owned(), error.to_string()),
    }
}

fn pair(code: &str, message: &str) -> (String, String) {
    (code.to_owned(), message.to_owned())
}

/// conformance: FSGATE-13
#[test]
fn what_must_not_exist_is_made_or_left_alone() {
    let place = Place::bare();
    assert!(!write(&place, "new", "one", CreateIfAbsent).unwrap());
    assert_eq!(place.holds("new").as_deref(), Some("one"));
    assert_eq!(
        refused(write(&place, "new", "two", CreateIfAbsent)),
        pair(
            "FS_NOT_OBSERVED",
            "cannot overwrite existing \"new\" without reading it first"
        )
    );
    assert_eq!(place.holds("new").as_deref(), Some("one"));
    assert_eq!(place.names(), ["new"], "no temporary file is left");
}

/// conformance: FSGATE-15
#[test]
fn a_version_is_replaced_and_no_other() {
    let place = Place::bare();
    place.put("a", "one");
    let seen = version(&place, "a");
    assert!(write(&place, "a", "two", ReplaceIfVersion(seen)).unwrap());
    assert_eq!(
        refused(write(&place, "a", "three", ReplaceIfVersion(seen))),
        pair("FS_STALE_VERSION", "file changed since it was read")
    );
    assert_eq!(place.holds("a").as_deref(), Some("two"));
    let seen = version(&place, "a");
    fs::remove_file(place.path("a")).unwrap();
    assert_eq!(
        refused(write(&place, "a", "three", ReplaceIfVersion(seen))),
        pair("FS_STALE_VERSION", "file no longer exists")
    );
    assert!(place.names().is_empty(), "it is not made again");
}

/// conformance: FSGATE-16
#[test]
fn a_version_is_judged_before_the_passage() {
    let place = Place::bare();
    place.put("a", "one two");
    let seen = EditGuard::IfVersion(version(&place, "a"));
    let edit = |path: &str, old: &str, guard| {
        let edit = Edit::new(old, "2");
        place.workspace.edit(path, &edit, guard, &going())
    };
    let edited = edit("a", "two", seen).unwrap();
    assert_eq!((edited.line, edited.places, edited.bytes), (1, 1, 5));
    assert_eq!(edited.version, Version::of(b"one 2"));
    assert_eq!(place.holds("a").as_deref(), Some("one 2"));
    assert_eq!(
        refused(edit("a", "stands nowhere", seen)),
        pair("FS_STALE_VERSION", "file changed since it was read")
    );
    for guard in [seen, EditGuard::Unconditional] {
        for missing in ["b", "c/d"] {
            assert_eq!(
                refused(edit(missing, "two", guard)),
                pair("FS_STALE_VERSION", "file no longer exists")
            );
        }
    }
    fs::write(place.path("a"), [0xff]).unwrap();
    assert_eq!(refused(edit("a", "x", seen)).0, "FS_STALE_VERSION");
    assert_eq!(
        refused(edit("a", "x", EditGuard::Unconditional)).0,
        "NOT_TEXT"
    );
    assert_eq!(place.names(), ["a"]);
}

/// conformance: FSGATE-17
#[test]
fn a_passage_stands_once_or_is_replaced_everywhere() {
    let place = Place::bare();
    place.put("a", "x y x\nx");
    let edit = |edit: Edit| {
        let guard = EditGuard::IfVersion(version(&place, "a"));
        place.workspace.edit("a", &edit, guard, &going())
    };
    assert_eq!(refused(edit(Edit::new("z", "w"))).0, "FS_EDIT_NOT_FOUND");
    let nowhere = Edit::new("z", "w").everywhere();
    assert_eq!(refused(edit(nowhere)).0, "FS_EDIT_NOT_FOUND");
    assert_eq!(refused(edit(Edit::new("x", "w"))).0, "FS_AMBIGUOUS_EDIT");
    assert_eq!(place.holds("a").as_deref(), Some("x y x\nx"));
    let edited = edit(Edit::new("x", "w").everywhere()).unwrap();
    assert_eq!(edited.places, 3);
    assert_eq!(place.holds("a").as_deref(), Some("w y w\nw"));
}

#[test]
fn an_edit_does_not_outgrow_the_limit() {
    let place = Place::bare();
    let mut limits = Limits::default();
    limits.file_bytes = 1_000;
    let files = place.workspace.clone().limits(limits);
    place.put("a", &"x".repeat(1_000));
    let edit = |edit: Edit| files.edit("a", &edit, EditGuard::Unconditional, &going());
    let bomb = Edit::new("x", "y".repeat(100_000)).everywhere();
    let (code, message) = refused(edit(bomb));
    assert_eq!(code, "TOO_LARGE");
    assert!(message.contains("found 100000000"), "{message}");
    assert_eq!(
        edit(Edit::new("x", "y").everywhere()).unwrap().places,
        1_000
    );
    let one = Edit::new("y".repeat(1_000), "z".repeat(1_001));
    assert_eq!(refused(edit(one)).0, "TOO_LARGE");
    assert_eq!(place.holds("a"), Some("y".repeat(1_000)));
}

/// conformance: FSGATE-18
#[test]
fn without_a_guard_nothing_is_compared() {
    let place = Place::bare();
    assert!(!write(&place, "a", "one", Unconditional).unwrap());
    place.put("a", "changed by somebody");
    assert!(write(&place, "a", "two", Unconditional).unwrap());
    place.put("a", "changed once more");
    let edit = Edit::new("more", "again");
    let guard = EditGuard::Unconditional;
    let edited = place.workspace.edit("a", &edit, guard, &going());
    assert_eq!(edited.unwrap().line, 1);
    assert_eq!(place.holds("a").as_deref(), Some("changed once again"));
}

/// conformance: FSGATE-20
#[cfg(unix)]
#[test]
fn a_link_and_its_file_are_one_and_times_say_nothing() {
    let place = Place::bare();
    place.put("real", "one");
    std::os::unix::fs::symlink("real", place.path("link")).unwrap();
    let key = |path| place.workspace.read(path, &going()).unwrap().target;
    assert_eq!(key("link").key(), key("real").key());
    assert_eq!(key("link").display(), "link");

    let seen = version(&place, "link");
    assert_eq!(seen, version(&place, "real"));
    write(&place, "link", "two", ReplaceIfVersion(seen)).unwrap();
    assert_eq!(place.holds("real").as_deref(), Some("two"));
    assert!(place.path("link").symlink_metadata().unwrap().is_symlink());
    for path in ["link", "real"] {
        let stale = write(&place, path, "three", ReplaceIfVersion(seen));
        assert_eq!(refused(stale).0, "FS_STALE_VERSION", "{path}");
    }

    let seen = version(&place, "real");
    let time = fs::metadata(place.path("real"))
        .unwrap()
        .modified()
        .unwrap();
    place.put("real", "2-2");
    let file = fs::File::options().write(true).open(place.path("real"));
    file.unwrap().set_modified(time).unwrap();
    assert_ne!(version(&place, "real"), seen);
    place.put("real", "two");
    assert_eq!(version(&place, "real"), seen, "what it holds counts");
}

/// conformance: FSGATE-21
#[test]
fn cancelled_work_is_not_begun() {
    let place = Place::bare();
    place.put("a", "one");
    let cancelled = going();
    cancelled.cancel();
    let (workspace, token) = (&place.workspace, &cancelled);
    let edit = Edit::new("one", "two");
    let codes = [
        refused(workspace.seen("a", token)).0,
        refused(workspace.read("a", token)).0,
        refused(workspace.write("a", "two", Unconditional, token)).0,
        refused(workspace.write("b", "two", CreateIfAbsent, token)).0,
        refused(workspace.edit("a", &edit, EditGuard::Unconditional, token)).0,
    ];
    assert_eq!(codes, ["FS_ABORTED"; 5]);
    assert_eq!(place.names(), ["a"]);
    assert_eq!(place.holds("a").as_deref(), Some("one"));
}

/// conformance: FSGATE-14
#[cfg(unix)]
#[test]
fn what_is_no_regular_file_is_never_written() {
    let place = Place::bare();
    fs::create_dir(place.path("folder")).unwrap();
    std::os::unix::fs::symlink("nowhere", place.path("dangling")).unwrap();
    std::os::unix::fs::symlink("loop", place.path("loop")).unwrap();
    let made = std::process::Command::new("mkfifo")
        .arg(place.path("pipe"))
        .status();
    assert!(made.expect("mkfifo runs").success());
    let guards = [
        CreateIfAbsent,
        ReplaceIfVersion(Version::of(b"")),
        Unconditional,
    ];
    for guard in guards {
        for path in ["folder", "dangling", "pipe", ".", "folder/.."] {
            let code = refused(write(&place, path, "x", guard)).0;
            assert_eq!(code, "FS_NOT_REGULAR_FILE", "{path} {guard:?}");
        }
        refused(write(&place, "loop", "x", guard));
    }
    assert_eq!(place.names(), ["dangling", "folder", "loop", "pipe"]);
    let seen = place.workspace.seen("dangling", &going()).unwrap();
    assert_eq!(seen, Seen::Absent, "reading it finds nothing");
}

#[test]
fn a_crlf_file_stays_one() {
    let place = Place::bare();
    let edit = |edit: Edit| {
        let guard = EditGuard::Unconditional;
        place.workspace.edit("a", &edit, guard, &going())
    };
    place.put("a", "one\r\ntwo\r\nthree");
    edit(Edit::new("one\ntwo", "1\n2\n2.5")).unwrap();
    assert_eq!(place.holds("a").as_deref(), Some("1\r\n2\r\n2.5\r\nthree"));
    edit(Edit::new("three", "3\r\n4\n").everywhere()).unwrap();
    assert_eq!(
        place.holds("a").as_deref(),
        Some("1\r\n2\r\n2.5\r\n3\r\n4\r\n")
    );
    // With both kinds of breaks, only what stands there is meant.
    place.put("a", "one\r\ntwo\nthree\n");
    let (code, message) = refused(edit(Edit::new("one\ntwo", "x")));
    assert_eq!(code, "FS_EDIT_NOT_FOUND");
    assert!(message.contains("line breaks differ"), "{message}");
    edit(Edit::new("two\nthree", "2\n3")).unwrap();
    assert_eq!(place.holds("a").as_deref(), Some("one\r\n2\n3\n"));
    // A file of one line says nothing of how lines end.
    place.put("a", "one");
    edit(Edit::new("one", "1\n2")).unwrap();
    assert_eq!(place.holds("a").as_deref(), Some("1\n2"));
}

#[cfg(unix)]
#[test]
fn permissions_are_kept_also_where_nobody_may_write() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::bare();
    place.put("a", "one");
    for mode in [0o600, 0o444, 0o755] {
        let permissions = fs::Permissions::from_mode(mode);
        fs::set_permissions(place.path("a"), permissions).unwrap();
        let seen = version(&place, "a");
        write(&place, "a", &format!("{mode}"), ReplaceIfVersion(seen)).unwrap();
        let found = fs::metadata(place.path("a")).unwrap().permissions().mode();
        assert_eq!(found & 0o7777, mode);
    }
    assert!(!write(&place, "b", "new", CreateIfAbsent).unwrap());
    place.put("usual", "new");
    let mode = |name| fs::metadata(place.path(name)).unwrap().permissions().mode();
    assert_eq!(mode("b"), mode("usual"), "a new file is as any new file");
}

/// The root is held open: whoever moves it does not make a write go astray.
#[test]
fn a_root_that_is_moved_is_still_the_root() {
    let place = Place::bare();
    place.put("a", "one");
    let seen = version(&place, "a");
    fs::rename(place.path(""), place.outside("moved")).unwrap();
    fs::create_dir(place.path("")).unwrap();
    place.put("a", "of somebody else");
    write(&place, "a", "two", ReplaceIfVersion(seen)).unwrap();
    write(&place, "b", "new", CreateIfAbsent).unwrap();
    assert_eq!(place.holds("a").as_deref(), Some("of somebody else"));
    let moved = place.outside("moved");
    assert_eq!(fs::read_to_string(moved.join("a")).unwrap(), "two");
    assert_eq!(fs::read_to_string(moved.join("b")).unwrap(), "new");
}
