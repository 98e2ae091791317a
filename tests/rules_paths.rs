//! Tests of paths: in their plain form, and as the file system resolves them.
#![cfg(unix)]

#[path = "support/verdicts.rs"]
mod verdicts;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::json;
use toolfall::policy::Test;
use verdicts::Says::{self, CannotTell, No, Yes};
use verdicts::says;

#[test]
fn a_plain_path_has_one_form() {
    let secrets = Test::path("secrets/**");
    for path in [
        "secrets/key",
        "./secrets/key",
        "secrets//a/key",
        "secrets/./key",
        ".//secrets/key/",
    ] {
        assert_eq!(says(&secrets, path), Yes, "{path}");
    }
    for path in ["public/key", "secrets2/key", "Secrets/key"] {
        assert_eq!(says(&secrets, path), No, "{path}");
    }
    // Where a `..` leads depends on what the name before it is.
    for path in [
        "a/../secrets/key",
        "secrets/../a",
        "../a/../b",
        "~/secrets/key",
        "~root",
        "a\\secrets",
        "secrets\\..\\key",
        "secrets/k\0ey",
        "secrets/k\ney",
        "ѕecrets/key",
        "secrets／key",
        "sec\u{200b}rets/key",
        "．／secrets/../key",
        "",
    ] {
        assert_eq!(says(&secrets, path), CannotTell, "{path:?}");
    }
    assert_eq!(says(&secrets, "a/".repeat(5_000)), CannotTell, "too long");
    assert_eq!(says(&Test::path("../**"), "../../b"), Yes);
    assert_eq!(says(&Test::path("*.toml"), "./x.toml"), Yes);
    assert_eq!(says(&Test::path("*.toml"), "a/x.toml"), No);
    assert_eq!(says(&Test::path("**/*.toml"), "a/b/x.toml"), Yes);
    assert_eq!(says(&Test::path("/etc/**"), "/../etc//passwd"), Yes);
    assert_eq!(says(&Test::path("."), "./"), Yes);
    assert_eq!(says(&secrets, 5), CannotTell);
    assert_eq!(says(&secrets, json!(null)), No);
}

/// A folder with links in it, and one beside it.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        fs::create_dir_all(at("root/notes/deep")).unwrap();
        fs::create_dir_all(at("root/secrets/deep")).unwrap();
        fs::create_dir_all(at("outside/deep")).unwrap();
        fs::write(at("root/notes/a.txt"), "a").unwrap();
        fs::write(at("root/secrets/key"), "key").unwrap();
        for (link, target) in [
            ("root/notes/out", "../../outside"),
            ("root/notes/absolute", at("outside").to_str().unwrap()),
            ("root/notes/home", at("root/notes").to_str().unwrap()),
            ("root/notes/s", "../secrets"),
            ("root/notes/sd", "../secrets/deep"),
            ("root/notes/key.txt", "../secrets/key"),
            ("root/notes/dangling", "nothing"),
            ("root/notes/dangling_deep", "nothing/at/all"),
            ("root/notes/loop", "loop"),
            ("root/notes/ping", "pong"),
            ("root/notes/pong", "ping"),
            ("outside/back", "../root/notes"),
            ("alias", "root"),
        ] {
            symlink(target, at(link)).unwrap();
        }
        Self(place)
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    fn notes(&self, path: &str) -> Says {
        says(
            &Test::path_below(self.path("root"), "{notes,notes/**}"),
            path,
        )
    }

    fn inside(&self, path: &str) -> Says {
        let inside = says(&Test::below(self.path("root")), path);
        let outside = says(&Test::outside(self.path("root")), path);
        let opposite = match inside {
            Yes => No,
            No => Yes,
            CannotTell => CannotTell,
        };
        assert_eq!(outside, opposite, "{path}");
        inside
    }
}

#[test]
fn a_path_is_where_the_file_system_says() {
    let place = Place::new();
    for path in [
        "notes",
        "notes/",
        "notes/a.txt",
        "./notes//a.txt",
        "notes/new.txt",
        "notes/new/deep/file",
        "notes/deep/../a.txt",
        "secrets/../notes/a.txt",
        "notes/home/a.txt",
        "notes/home/new.txt",
        "notes/home/home/home/deep",
        "../root/notes/a.txt",
        "../outside/back/a.txt",
        "notes/sd/../../notes/a.txt",
    ] {
        assert_eq!(place.notes(path), Yes, "{path}");
        assert_eq!(place.inside(path), Yes, "{path}");
    }
    for path in [
        "secrets/key",
        "notes/s/key",
        "notes/s/new",
        "notes/key.txt",
        "notes/../secrets",
        "notes/sd/../key",
        ".",
    ] {
        assert_eq!(place.notes(path), No, "{path}");
        assert_eq!(place.inside(path), Yes, "{path}");
    }
    for path in [
        "..",
        "../outside",
        "../outside/new",
        "notes/out",
        "notes/out/new",
        "notes/absolute/deep",
        "notes/out/../root2",
        "../../../../../../../../../../etc/passwd",
        "/etc/passwd",
        "/",
    ] {
        assert_eq!(place.notes(path), No, "{path}");
        assert_eq!(place.inside(path), No, "{path}");
    }
    for (path, wanted) in [
        ("root/notes/a.txt", Yes),
        ("alias/notes/a.txt", Yes),
        ("outside/deep", No),
        ("root2/notes", No),
    ] {
        assert_eq!(place.notes(&place.path(path)), wanted, "{path}");
    }
    // The root itself may be a link, and is resolved as paths are.
    let alias = Test::path_below(place.path("alias"), "notes/**");
    assert_eq!(says(&alias, "notes/a.txt"), Yes);
    assert_eq!(says(&alias, place.path("root/notes/a.txt")), Yes);
}

#[test]
fn what_does_not_resolve_cannot_be_told() {
    let place = Place::new();
    for path in [
        "notes/dangling",
        "notes/dangling/x",
        "notes/dangling_deep",
        "notes/loop",
        "notes/loop/x",
        "notes/ping",
        "notes/a.txt/x",
        "notes/new/../a.txt",
        "new/../../outside",
        "notes/a\0.txt",
        "notes\\a.txt",
        "~/x",
        "",
        "．．/outside",
        "notes／..／..／outside",
    ] {
        assert_eq!(place.inside(path), CannotTell, "{path:?}");
    }
    assert_eq!(
        place.inside(&format!("notes/{}", "n".repeat(300))),
        CannotTell
    );
    let gone = Test::below(place.path("nowhere"));
    assert_eq!(says(&gone, "a"), CannotTell, "a root that is not there");
    assert_eq!(says(&Test::outside(place.path("nowhere")), "a"), CannotTell);
    // A name in another alphabet is a name like any other where no rule is about it.
    assert_eq!(place.inside("notes/отчёт.txt"), Yes);
    assert_eq!(
        place.notes("nоtes/a.txt"),
        CannotTell,
        "but not one that looks like it"
    );
}

/// What a link leads to is looked at at every call.
#[test]
fn the_file_system_is_asked_at_every_call() {
    let place = Place::new();
    let root = place.path("root");
    let file = Path::new(&root).join("notes/turns");
    let test = Test::path_below(&root, "notes/**");
    assert_eq!(says(&test, "notes/turns"), Yes, "not there yet");
    symlink("../secrets", &file).unwrap();
    assert_eq!(says(&test, "notes/turns"), No);
    fs::remove_file(&file).unwrap();
    symlink("deep", &file).unwrap();
    assert_eq!(says(&test, "notes/turns"), Yes);
}
