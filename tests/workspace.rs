//! The file tools, through a pipeline, on real folders.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use toolfall::workspace::{Limits, Workspace};
use toolfall::{CallRequest, ExecutionMode, Pipeline, Registry, ToolResult};

struct Place {
    folder: TempDir,
    registry: Registry,
}

impl Place {
    fn new() -> Self {
        Self::limited(Limits::default())
    }

    fn limited(limits: Limits) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join("root")).expect("a root");
        fs::write(folder.path().join("secret"), "secret").expect("a file outside");
        let registry = Registry::new();
        let workspace = Workspace::open(folder.path().join("root")).expect("it is there");
        let tools = workspace.limits(limits).tools();
        for registration in registry.register_all(tools).expect("fresh names") {
            registration.keep();
        }
        Self { folder, registry }
    }

    fn root(&self) -> std::path::PathBuf {
        self.folder.path().join("root")
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().expect("below the root")).expect("folders");
        fs::write(path, text).expect("a file");
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.root().join(path)).expect("the file")
    }

    async fn call(&self, name: &'static str, arguments: Value) -> ToolResult {
        let pipeline = Pipeline::builder(self.registry.clone()).build();
        let token = CancellationToken::new();
        pipeline.call("1", name, arguments.to_string(), token).await
    }

    async fn text(&self, name: &'static str, arguments: Value) -> String {
        let result = self.call(name, arguments).await;
        assert!(!result.is_error(), "{}", result.text());
        result.text()
    }

    async fn code(&self, name: &'static str, arguments: Value) -> String {
        let result = self.call(name, arguments.clone()).await;
        let code = result.code().unwrap_or("none").to_owned();
        assert!(result.is_error(), "{name} {arguments}: {}", result.text());
        code
    }
}

#[tokio::test]
async fn read_file_shows_a_numbered_window_and_the_way_on() {
    let place = Place::new();
    place.write("a.txt", "one\ntwo\r\nthree\nfour");
    let read = |arguments| place.text("read_file", arguments);
    assert_eq!(
        read(json!({"path": "a.txt"})).await,
        "1\tone\n2\ttwo\n3\tthree\n4\tfour"
    );
    assert_eq!(
        read(json!({"path": "a.txt", "first_line": 2, "max_lines": 2})).await,
        "2\ttwo\n3\tthree\n(2 of 4 lines; go on with first_line 4)"
    );
    place.write("empty", "");
    assert_eq!(read(json!({"path": "empty"})).await, "(the file is empty)");
    let beyond = place
        .call("read_file", json!({"path": "a.txt", "first_line": 5}))
        .await;
    assert!(beyond.text().contains("at most 4"), "{}", beyond.text());
    assert_eq!(
        place
            .code("read_file", json!({"path": "a.txt", "first_line": 0}))
            .await,
        "INVALID_ARGS"
    );
}

#[tokio::test]
async fn read_file_is_bounded_and_refuses_what_is_no_text() {
    let mut limits = Limits::default();
    (limits.file_bytes, limits.lines, limits.line_chars) = (1_000, 3, 5);
    limits.read_bytes = 12;
    let place = Place::limited(limits);
    place.write("long", "äöüäöüäöü\nb\nc\nd\ne");
    let text = place.text("read_file", json!({"path": "long"})).await;
    assert!(
        text.starts_with("1\täöüäö… (+4 characters)\n"),
        "a first line is always shown: {text}"
    );
    assert!(text.ends_with("go on with first_line 2)"), "{text}");
    place.write("large", "x".repeat(1_001));
    place.write("binary", [b'a', 0xff, b'b']);
    assert_eq!(
        place.code("read_file", json!({"path": "large"})).await,
        "TOO_LARGE"
    );
    assert_eq!(
        place.code("read_file", json!({"path": "binary"})).await,
        "NOT_TEXT"
    );
    assert_eq!(
        place.code("read_file", json!({"path": "nope"})).await,
        "FS_NOT_FOUND"
    );
    assert_eq!(
        place.code("read_file", json!({"path": "."})).await,
        "FS_NOT_REGULAR_FILE"
    );
}

#[cfg(unix)]
#[tokio::test]
async fn nothing_leads_outside() {
    let place = Place::new();
    place.write("folder/inside", "in");
    let root = place.root();
    let link = |to: &Path, name: &str| std::os::unix::fs::symlink(to, root.join(name)).unwrap();
    link(Path::new("../secret"), "link");
    link(&place.folder.path().join("secret"), "absolute");
    link(Path::new(".."), "up");
    link(Path::new("folder/inside"), "good");
    let absolute = place.folder.path().join("secret").display().to_string();
    for path in [
        "../secret",
        "folder/../../secret",
        "link",
        "absolute",
        "up/secret",
        "/etc/passwd",
        absolute.as_str(),
    ] {
        for (tool, arguments) in [
            ("read_file", json!({"path": path})),
            ("write_file", json!({"path": path, "content": "x"})),
            (
                "edit_file",
                json!({"path": path, "old_text": "secret", "new_text": "x"}),
            ),
            ("grep", json!({"path": path, "pattern": "secret"})),
        ] {
            assert_eq!(
                place.code(tool, arguments).await,
                "OUTSIDE_ROOT",
                "{tool} {path}"
            );
        }
    }
    for path in ["..", "up", "/"] {
        assert_eq!(
            place.code("list_dir", json!({"path": path})).await,
            "OUTSIDE_ROOT"
        );
        assert_eq!(
            place
                .code("glob", json!({"path": path, "pattern": "*"}))
                .await,
            "OUTSIDE_ROOT"
        );
    }
    let new = json!({"path": "up/new", "content": "x"});
    assert_eq!(place.code("write_file", new).await, "OUTSIDE_ROOT");
    assert_eq!(
        fs::read_to_string(place.folder.path().join("secret")).unwrap(),
        "secret"
    );
    assert!(!place.folder.path().join("new").exists());
    assert_eq!(
        place.text("read_file", json!({"path": "good"})).await,
        "1\tin",
        "a link that stays inside is followed"
    );
    // A walk that follows no link finds nothing of what lies outside.
    let found = place.text("grep", json!({"pattern": "secret"})).await;
    assert_eq!(found, "(no line matches)");
    let found = place.text("glob", json!({"pattern": "**/*"})).await;
    assert_eq!(found, "folder/inside");
}

#[cfg(unix)]
#[tokio::test]
async fn a_pipe_is_refused_at_once() {
    let place = Place::new();
    let made = std::process::Command::new("mkfifo")
        .arg(place.root().join("pipe"))
        .status();
    assert!(made.expect("mkfifo runs").success());
    let reading = place.code("read_file", json!({"path": "pipe"}));
    let code = tokio::time::timeout(std::time::Duration::from_secs(20), reading).await;
    assert_eq!(
        code.expect("it does not wait for a writer"),
        "FS_NOT_REGULAR_FILE"
    );
}

#[tokio::test]
async fn write_file_makes_and_replaces_whole_files() {
    let place = Place::new();
    let made = place
        .text("write_file", json!({"path": "a.txt", "content": "one"}))
        .await;
    assert_eq!(made, "made a.txt (3 bytes)");
    let replaced = place
        .text("write_file", json!({"path": "a.txt", "content": ""}))
        .await;
    assert_eq!(replaced, "replaced a.txt (0 bytes)");
    assert_eq!(place.read("a.txt"), "");

    let deep = json!({"path": "x/y/z.txt", "content": "deep"});
    assert_eq!(place.code("write_file", deep).await, "FS_NOT_FOUND");
    let deep = json!({"path": "x/y/z.txt", "content": "deep", "make_folders": true});
    place.text("write_file", deep).await;
    assert_eq!(place.read("x/y/z.txt"), "deep");

    let folder = json!({"path": "x", "content": ""});
    assert_eq!(
        place.code("write_file", folder).await,
        "FS_NOT_REGULAR_FILE"
    );
    let names: Vec<_> = fs::read_dir(place.root()).unwrap().flatten().collect();
    assert_eq!(names.len(), 2, "no temporary file is left: {names:?}");
}

#[cfg(unix)]
#[tokio::test]
async fn a_write_keeps_permissions_and_goes_through_links() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new();
    place.write("run.sh", "old");
    let path = place.root().join("run.sh");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
    std::os::unix::fs::symlink("run.sh", place.root().join("link")).unwrap();
    place
        .text("write_file", json!({"path": "link", "content": "new"}))
        .await;
    assert_eq!(place.read("run.sh"), "new");
    let mode = fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o750);
    let link = fs::symlink_metadata(place.root().join("link")).unwrap();
    assert!(link.is_symlink(), "the link is still one");
}

#[tokio::test]
async fn edit_file_replaces_the_one_passage() {
    let place = Place::new();
    place.write("a.rs", "fn a() {}\nfn b() {}\n");
    let edit = |old: &str, new: &str| json!({"path": "a.rs", "old_text": old, "new_text": new});
    let done = place.text("edit_file", edit("fn b()", "fn c()")).await;
    assert_eq!(done, "edited a.rs at line 2 (20 bytes now)");
    assert_eq!(place.read("a.rs"), "fn a() {}\nfn c() {}\n");

    let twice = place.call("edit_file", edit("fn ", "x")).await;
    assert_eq!(twice.code(), Some("FS_AMBIGUOUS_EDIT"));
    assert!(twice.text().contains("at lines 1, 2"), "{}", twice.text());
    let none = place.call("edit_file", edit("fn  a()", "x")).await;
    assert_eq!(none.code(), Some("FS_EDIT_NOT_FOUND"));
    assert!(
        none.text().contains("with other white space"),
        "{}",
        none.text()
    );
    assert_eq!(
        place.code("edit_file", edit("fn a", "fn a")).await,
        "INVALID_ARGS"
    );
    assert_eq!(place.code("edit_file", edit("", "x")).await, "INVALID_ARGS");
    assert_eq!(place.read("a.rs"), "fn a() {}\nfn c() {}\n");

    place.write("a.rs", "aaa");
    assert_eq!(
        place.code("edit_file", edit("aa", "b")).await,
        "FS_AMBIGUOUS_EDIT",
        "overlapping places count"
    );
    place.write("a.rs", "one\r\ntwo\none\n");
    let crlf = place.call("edit_file", edit("one\ntwo", "x")).await;
    assert!(crlf.text().contains("line breaks"), "{}", crlf.text());

    let mut all = edit("one", "1");
    all["replace_all"] = true.into();
    let done = place.text("edit_file", all).await;
    assert_eq!(
        done,
        "edited a.rs at 2 places, the first in line 1 (9 bytes now)"
    );
    assert_eq!(place.read("a.rs"), "1\r\ntwo\n1\n");
}

#[tokio::test]
async fn listings_are_sorted_bounded_and_counted() {
    let mut limits = Limits::default();
    limits.entries = 3;
    let place = Place::limited(limits);
    assert_eq!(
        place.text("list_dir", json!({})).await,
        "(the folder is empty)"
    );
    place.write("b/x", "");
    place.write("a.txt", "12345");
    assert_eq!(
        place.text("list_dir", json!({"path": "."})).await,
        "a.txt\t5 bytes\nb/"
    );
    for name in ["c", "d", "e"] {
        place.write(name, "");
    }
    let listed = place.text("list_dir", json!({})).await;
    assert!(listed.ends_with("(3 of 5 entries)"), "{listed}");
    assert_eq!(
        place.code("list_dir", json!({"path": "a.txt"})).await,
        "WRONG_KIND"
    );
    assert_eq!(
        place.code("list_dir", json!({"path": "nope"})).await,
        "FS_NOT_FOUND"
    );
    let globbed = place.text("glob", json!({"pattern": "*"})).await;
    assert_eq!(globbed, "a.txt\nb/x\nc\n(3 of 5 files)");
}

#[tokio::test]
async fn glob_and_grep_leave_out_what_is_ignored_or_hidden() {
    let place = Place::new();
    place.write(".gitignore", "target/\n*.log\n");
    for file in [
        "src/a.rs",
        "src/deep/b.rs",
        "target/c.rs",
        "x.log",
        ".hidden/d.rs",
    ] {
        place.write(file, "needle\n");
    }
    let glob = |arguments| place.text("glob", arguments);
    assert_eq!(
        glob(json!({"pattern": "*.rs"})).await,
        "src/a.rs\nsrc/deep/b.rs"
    );
    assert_eq!(glob(json!({"pattern": "src/*.rs"})).await, "src/a.rs");
    assert_eq!(
        glob(json!({"pattern": "deep/*", "path": "src"})).await,
        "src/deep/b.rs"
    );
    assert_eq!(
        glob(json!({"pattern": "*.rs", "hidden": true})).await,
        ".hidden/d.rs\nsrc/a.rs\nsrc/deep/b.rs"
    );
    place.write("src/y.log", "");
    assert_eq!(
        glob(json!({"pattern": "*", "path": "src"})).await,
        "src/a.rs\nsrc/deep/b.rs",
        "the root's ignore file counts below it"
    );
    for (asked, found) in [("target", "target/c.rs"), (".hidden", ".hidden/d.rs")] {
        assert_eq!(
            glob(json!({"pattern": "*", "path": asked})).await,
            found,
            "a folder that is asked for is looked into"
        );
    }
    assert_eq!(glob(json!({"pattern": "*.py"})).await, "(no file matches)");
    assert_eq!(
        place.code("glob", json!({"pattern": "a["})).await,
        "BAD_PATTERN"
    );
    let long = json!({"pattern": "?".repeat(600_000)});
    assert_eq!(place.code("glob", long).await, "BAD_PATTERN");
    assert_eq!(
        place.text("grep", json!({"pattern": "needle"})).await,
        "src/a.rs:1:needle\nsrc/deep/b.rs:1:needle"
    );
}

#[tokio::test]
async fn grep_finds_lines_and_counts_beyond_its_bound() {
    let mut limits = Limits::default();
    (limits.matches, limits.line_chars) = (2, 40);
    let place = Place::limited(limits);
    place.write("a.txt", "Alpha\nbeta\nALPHA\n");
    place.write("b.bin", b"alpha\0alpha\n");
    place.write("c/d.txt", format!("alpha {}\n", "x".repeat(100)));
    let grep = |arguments| place.text("grep", arguments);
    assert_eq!(
        grep(json!({"pattern": "^al", "ignore_case": true, "path": "a.txt"})).await,
        "a.txt:1:Alpha\na.txt:3:ALPHA"
    );
    assert_eq!(
        grep(json!({"pattern": "alpha", "files": "c/*.txt"})).await,
        "c/d.txt:1:alpha xxxx… (+96 characters)"
    );
    let many = grep(json!({"pattern": "(?i)alpha"})).await;
    assert!(many.contains("(2 of "), "{many}");
    let (result, all) = (
        place.call("grep", json!({"pattern": "(?i)alpha"})).await,
        "total",
    );
    assert!(result.value().expect("a success")[all].as_u64() >= Some(3));
    assert_eq!(
        place.code("grep", json!({"pattern": "("})).await,
        "BAD_PATTERN"
    );
    assert_eq!(
        place.code("grep", json!({"pattern": "a\nb"})).await,
        "BAD_PATTERN"
    );
    assert_eq!(
        place
            .code("grep", json!({"pattern": "a", "path": "nope"}))
            .await,
        "FS_NOT_FOUND"
    );
}

#[tokio::test]
async fn a_cancelled_walk_stops_and_a_cancelled_write_writes_nothing() {
    let place = Place::new();
    let pipeline = Pipeline::builder(place.registry.clone()).build();
    let token = CancellationToken::new();
    token.cancel();
    let arguments = json!({"path": "a", "content": "x"}).to_string();
    let result = pipeline.call("1", "write_file", arguments, token).await;
    assert_eq!(result.code(), Some("ABORTED_BEFORE_DISPATCH"));
    assert!(!place.root().join("a").exists());
}

#[test]
fn readers_overlap_and_writers_do_not() {
    let place = Place::new();
    let mode = |name: &'static str, arguments: Value| {
        let token = CancellationToken::new();
        let request = CallRequest::new("1", name, arguments.to_string(), token);
        place.registry.mode(&request)
    };
    let path = || json!({"path": "a"});
    assert_eq!(mode("read_file", path()), ExecutionMode::Parallel);
    assert_eq!(mode("list_dir", path()), ExecutionMode::Parallel);
    assert_eq!(
        mode("grep", json!({"pattern": "a"})),
        ExecutionMode::Parallel
    );
    assert_eq!(
        mode("glob", json!({"pattern": "a"})),
        ExecutionMode::Parallel
    );
    let write = json!({"path": "a", "content": ""});
    assert_eq!(mode("write_file", write), ExecutionMode::Exclusive);
    let edit = json!({"path": "a", "old_text": "a", "new_text": "b"});
    assert_eq!(mode("edit_file", edit), ExecutionMode::Exclusive);
}

#[test]
fn a_root_that_is_no_folder_is_an_error_that_names_it() {
    let error = Workspace::open("/no/such/folder").expect_err("nothing there");
    assert!(error.to_string().contains("/no/such/folder"), "{error}");
}
