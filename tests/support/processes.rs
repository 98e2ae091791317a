//! Families of processes, and whether anybody is left of them.
#![allow(dead_code, unreachable_pub, reason = "each test uses its part")]

use std::time::Duration;

/// A marker that only the processes of one test carry on their command line.
pub fn marker(name: &str) -> String {
    format!("toolfall-test-{name}-{}", std::process::id())
}

/// How many processes carry the marker, zombies not counted.
pub fn alive(marker: &str) -> usize {
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return 0;
    };
    processes
        .flatten()
        .filter(|process| {
            let line = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains(marker)
        })
        .count()
}

pub async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..1_000 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("waited in vain: {what}");
}

/// A family: a leader that starts children that start children.
pub fn family(marker: &str, trap: &str) -> String {
    format!(
        "{trap} : {marker}; sh -c '{trap} : {marker}; sh -c \"{trap} : {marker}; sleep 300; :\" & \
         sleep 300; :' & sh -c '{trap} : {marker}; sleep 300; :'; :"
    )
}
