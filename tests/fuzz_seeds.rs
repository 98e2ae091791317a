//! The checks of the fuzz targets, on every seed, without a fuzzer.

use std::fs;
use std::path::Path;

#[path = "../fuzz/src/checks/mod.rs"]
mod checks;

/// Runs `check` on every file in the target's folder of seeds.
fn run(target: &str, check: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds");
    let files = fs::read_dir(folder.join(target)).unwrap();
    let mut count = 0;
    for file in files {
        let file = file.unwrap().path();
        let data = fs::read(&file).unwrap();
        if let Err(panic) = std::panic::catch_unwind(|| check(&data)) {
            eprintln!("the seed is {}", file.display());
            std::panic::resume_unwind(panic);
        }
        count += 1;
    }
    assert!(count > 5, "{target} has seeds");
}

#[test]
fn argument_texts() {
    run("arguments", checks::arguments::check);
}

#[test]
fn retained_streams() {
    run("retain", checks::retain::check);
}

#[test]
fn projected_schemas() {
    run("projection", checks::projection::check);
}

#[test]
fn session_logs() {
    run("session_log", checks::session_log::check);
}

#[test]
fn rules_and_what_they_say() {
    run("rules", checks::rules::check);
}
