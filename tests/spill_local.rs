//! The store on the local disk, row by row, and what others may have put in
//! its way.
#![cfg(unix)]

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use toolfall::BoxError;
use toolfall::spill::{
    LocalSpillError, LocalSpillStore, Spill, SpillSource, SpillStore, Spilled, path_segment,
};

fn spill(owner: &str, name: &str, content: &str) -> Spill {
    Spill::new(
        owner,
        SpillSource::new("big", "call_1", "result"),
        name,
        content,
    )
}

async fn saved(store: &LocalSpillStore, owner: &str, name: &str, content: &str) -> Spilled {
    store.save(spill(owner, name, content)).await.unwrap()
}

async fn refused(store: &LocalSpillStore, owner: &str, content: &str) -> LocalSpillError {
    let error = store
        .save(spill(owner, "r.txt", content))
        .await
        .unwrap_err();
    *error.downcast::<LocalSpillError>().unwrap()
}

fn mode(path: impl AsRef<Path>) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}

fn names(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).unwrap();
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

/// conformance: SPILL-03
#[test]
fn segments_are_safe_and_plain_ones_stay() {
    for (text, wanted) in [
        ("web_fetch.txt", "web_fetch.txt"),
        ("a-B_9.z", "a-B_9.z"),
        ("../etc/passwd", "..~002Fetc~002Fpasswd"),
        ("a/b", "a~002Fb"),
        ("~", "~007E"),
        (".", "~002E"),
        ("..", "~002E~002E"),
        ("", "~"),
    ] {
        assert_eq!(path_segment(text), wanted);
    }
}

/// conformance: SPILL-04
#[test]
fn characters_outside_ascii_are_utf_16_units() {
    for (text, wanted) in [
        ("é", "~00E9"),
        ("€.txt", "~20AC.txt"),
        ("😀", "~D83D~DE00"),
        ("\0 ", "~0000~0020"),
    ] {
        assert_eq!(path_segment(text), wanted);
    }
    let texts = [
        "", "~", ".", "..", "~002E", "~007E", "/", "a~002Fb", "a/b", "é", "~00E9",
    ];
    let segments: BTreeSet<String> = texts.iter().map(|text| path_segment(text)).collect();
    assert_eq!(segments.len(), texts.len(), "no two texts have one name");
}

/// conformance: SPILL-05, SPILL-06, SPILL-09
#[tokio::test]
async fn a_text_is_a_file_of_its_own_in_its_sessions_folder() {
    let folder = tempfile::tempdir().unwrap();
    let store = LocalSpillStore::at(folder.path()).unwrap();
    let first = saved(&store, "sess-1", "r.txt", "héllo").await;
    let hint = "Use read with offset/limit, or grep this path to search within it.";
    assert_eq!((first.bytes, first.retrieval_hint.as_str()), (6, hint));
    assert_eq!(fs::read_to_string(&first.locator).unwrap(), "héllo");
    let path = Path::new(&first.locator);
    assert_eq!(
        path.parent().unwrap(),
        folder.path().join("session-abe633f3a47a")
    );
    let name = path.file_name().unwrap().to_str().unwrap();
    let random = name.strip_suffix("-r.txt").unwrap();
    assert_eq!(random.len(), 12);
    assert!(
        random
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    );

    let second = saved(&store, "sess-1", "r.txt", "other").await;
    assert_ne!(first.locator, second.locator);
    assert_eq!(fs::read_to_string(&first.locator).unwrap(), "héllo");
    let other = saved(&store, "sess-2", "r.txt", "x").await;
    assert_ne!(Path::new(&other.locator).parent(), path.parent());

    let evil = saved(&store, "sess-1", "../../evil", "x").await;
    assert!(evil.locator.ends_with("-..~002F..~002Fevil"));
    assert_eq!(Path::new(&evil.locator).parent(), path.parent());
    let long = saved(&store, "../..", &"é/".repeat(10_000), "x").await;
    assert_eq!(fs::read_to_string(&long.locator).unwrap(), "x");
    assert_eq!(
        names(folder.path()).len(),
        3,
        "three sessions, nothing else"
    );
    assert_eq!(
        names(path.parent().unwrap()).len(),
        3,
        "no partial file is left"
    );
}

/// conformance: SPILL-07
#[tokio::test]
async fn nobody_else_reads_and_nothing_that_is_there_is_written_to() {
    let folder = tempfile::tempdir().unwrap();
    let store = LocalSpillStore::at(folder.path()).unwrap();
    let first = saved(&store, "sess-1", "r.txt", "x").await;
    let session = Path::new(&first.locator).parent().unwrap().to_owned();
    assert_eq!((mode(&session), mode(&first.locator)), (0o700, 0o600));

    // A folder that was opened up is closed again.
    fs::set_permissions(&session, fs::Permissions::from_mode(0o777)).unwrap();
    saved(&store, "sess-1", "r.txt", "x").await;
    assert_eq!(mode(&session), 0o700);

    // At a name that could be guessed: a file, a link, a link to nowhere.
    let guessed = store.ids(|| Ok([7; 6]));
    let victim = folder.path().join("victim");
    fs::write(&victim, "mine").unwrap();
    let name = session.join("070707070707-r.txt");
    let plants: [&dyn Fn(&Path); 3] = [
        &|path| fs::write(path, "here first").unwrap(),
        &|path| symlink(&victim, path).unwrap(),
        &|path| symlink(folder.path().join("nowhere"), path).unwrap(),
    ];
    for plant in plants {
        for planted in [name.clone(), session.join(".070707070707-r.txt")] {
            plant(&planted);
            let before = names(&session);
            let error = refused(&guessed, "sess-1", "secret").await;
            assert!(
                matches!(error, LocalSpillError::Io { what: "create", .. }),
                "{error}"
            );
            assert_eq!(
                names(&session),
                before,
                "nothing is left of the failed save"
            );
            fs::remove_file(&planted).unwrap();
        }
    }
    assert_eq!(fs::read_to_string(&victim).unwrap(), "mine");
    assert!(!folder.path().join("nowhere").exists());
    saved(&guessed, "sess-1", "r.txt", "x").await;
}

/// conformance: SPILL-07
#[tokio::test]
async fn a_planted_session_folder_is_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let store = LocalSpillStore::at(folder.path()).unwrap();
    let session = folder.path().join("session-abe633f3a47a");
    symlink(elsewhere.path(), &session).unwrap();
    let error = refused(&store, "sess-1", "secret").await;
    assert!(matches!(error, LocalSpillError::NotOurs { .. }), "{error}");
    fs::remove_file(&session).unwrap();
    fs::write(&session, "a file").unwrap();
    let error = refused(&store, "sess-1", "secret").await;
    assert!(matches!(error, LocalSpillError::NotOurs { .. }), "{error}");
    assert!(names(elsewhere.path()).is_empty());
}

/// conformance: SPILL-08
#[tokio::test]
async fn a_root_is_private_absolute_or_refused() {
    let [one, two] = [LocalSpillStore::new(), LocalSpillStore::default()];
    let one = PathBuf::from(saved(&one, "sess-1", "r.txt", "x").await.locator);
    let two = PathBuf::from(saved(&two, "sess-1", "r.txt", "x").await.locator);
    assert!(one.is_absolute() && one.starts_with(std::env::temp_dir()));
    assert_eq!(one.parent(), two.parent(), "one root for the process");
    let root = one.parent().unwrap().parent().unwrap();
    assert_eq!(mode(root), 0o700);
    // Whoever removes it gets no say in what stands there next.
    fs::remove_dir_all(root).unwrap();
    symlink(std::env::temp_dir(), root).unwrap();
    let error = refused(&LocalSpillStore::new(), "sess-1", "x").await;
    assert!(matches!(error, LocalSpillError::NotOurs { .. }), "{error}");
    fs::remove_file(root).unwrap();

    let relative = LocalSpillStore::at("target/spill-relative").unwrap();
    let path = PathBuf::from(saved(&relative, "sess-1", "r.txt", "x").await.locator);
    let wanted = std::env::current_dir()
        .unwrap()
        .join("target/spill-relative");
    assert!(path.starts_with(&wanted));
    fs::remove_dir_all(wanted).unwrap();

    assert!(LocalSpillStore::at("").is_err());
    let file = tempfile::NamedTempFile::new().unwrap();
    for root in [
        file.path().to_owned(),
        file.path().join("below"),
        "/proc/spill".into(),
    ] {
        let store = LocalSpillStore::at(root).unwrap();
        let error = refused(&store, "sess-1", "x").await;
        assert!(matches!(error, LocalSpillError::Io { .. }), "{error}");
    }
}

#[tokio::test]
async fn no_more_is_held_than_may_be() {
    let folder = tempfile::tempdir().unwrap();
    let store = LocalSpillStore::at(folder.path())
        .unwrap()
        .max_total_bytes(10);
    saved(&store, "sess-1", "r.txt", "1234").await;
    saved(&store, "sess-2", "r.txt", "5678").await;
    let error = refused(&store, "sess-1", "abc").await;
    assert!(
        matches!(
            error,
            LocalSpillError::Full {
                wanted: 3,
                held: 8,
                most: 10
            }
        ),
        "{error}"
    );
    let sessions = names(folder.path());
    let files: usize = sessions
        .iter()
        .map(|it| names(&folder.path().join(it)).len())
        .sum();
    assert_eq!(files, 2, "nothing is left of the failed save");
    saved(&store, "sess-1", "r.txt", "ab").await;
    refused(&store, "sess-1", "c").await;

    // Another store in the same place finds what is there.
    let other = LocalSpillStore::at(folder.path())
        .unwrap()
        .max_total_bytes(10);
    refused(&other, "sess-1", "c").await;
    // And room that somebody made is found again.
    fs::remove_dir_all(folder.path().join("session-abe633f3a47a")).unwrap();
    saved(&store, "sess-1", "r.txt", "abcd").await;
}

fn aged(path: &Path, by: Duration) {
    let file = fs::File::options().write(true).open(path).unwrap();
    file.set_modified(SystemTime::now() - by).unwrap();
}

#[tokio::test]
async fn what_is_too_old_goes_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let at = || LocalSpillStore::at(folder.path()).unwrap();
    let hour = Duration::from_secs(3600);
    let first = at();
    let [old, young, alone] = [
        saved(&first, "sess-1", "old.txt", "old").await,
        saved(&first, "sess-1", "young.txt", "young").await,
        saved(&first, "sess-2", "alone.txt", "alone").await,
    ]
    .map(|saved| PathBuf::from(saved.locator));
    let session = old.parent().unwrap();
    let foreign = [session.join("notes.txt"), folder.path().join("readme")];
    let linked = tempfile::NamedTempFile::new().unwrap();
    let link = session.join("0123456789ab-link");
    symlink(linked.path(), &link).unwrap();
    for path in &foreign {
        fs::write(path, "not ours").unwrap();
    }
    for path in [
        &old,
        &alone,
        &foreign[0],
        &foreign[1],
        &linked.path().to_owned(),
    ] {
        aged(path, 2 * hour);
    }

    saved(&at().max_age(None), "sess-3", "r.txt", "x").await;
    assert!(old.exists(), "never is never");
    saved(&at().max_age(Some(hour)), "sess-3", "r.txt", "x").await;
    assert!(!old.exists() && !alone.exists());
    assert!(
        !alone.parent().unwrap().exists(),
        "an empty folder goes too"
    );
    assert!(young.exists() && foreign.iter().all(|path| path.exists()));
    assert!(link.is_symlink() && linked.path().exists());

    // Age makes room, also in a store that has been running.
    let small = at().max_age(Some(hour)).max_total_bytes(10);
    refused(&small, "sess-3", "12345678").await;
    aged(&young, 2 * hour);
    saved(&small, "sess-3", "r.txt", "12345678").await;
    assert!(!young.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn saves_at_the_same_time_do_not_meet() {
    let folder = tempfile::tempdir().unwrap();
    let store = LocalSpillStore::at(folder.path())
        .unwrap()
        .max_total_bytes(50 * 1000);
    let mut saves = tokio::task::JoinSet::new();
    for number in 0..80 {
        let content = format!("{number:04}").repeat(250);
        let owner = format!("sess-{}", number % 3);
        let save = store.save(spill(&owner, "r.txt", &content));
        saves.spawn(async move { (save.await, content) });
    }
    let (mut paths, mut full) = (BTreeSet::new(), 0);
    for (result, content) in saves.join_all().await {
        match result {
            Ok(kept) => {
                assert_eq!(fs::read_to_string(&kept.locator).unwrap(), content);
                assert!(paths.insert(kept.locator));
            }
            Err(_) => full += 1,
        }
    }
    assert_eq!(
        (paths.len(), full),
        (50, 30),
        "the bound holds across saves"
    );
}

#[tokio::test]
async fn a_name_that_cannot_be_made_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let at = || LocalSpillStore::at(folder.path()).unwrap();
    for store in [
        at().ids(|| Err(BoxError::from("no entropy"))),
        at().ids(|| panic!("no entropy")),
    ] {
        let error = refused(&store, "sess-1", "x").await;
        assert!(matches!(error, LocalSpillError::NoName(_)), "{error}");
    }
}

#[test]
fn without_a_runtime_a_save_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let store = LocalSpillStore::at(folder.path()).unwrap();
    let save = store.save(spill("sess-1", "r.txt", "x"));
    let error = futures_util::FutureExt::now_or_never(save)
        .unwrap()
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "expected a running tokio runtime, found none"
    );
}
