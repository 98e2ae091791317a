//! How the registry replaces its snapshot, in every order of steps.

use std::sync::Arc;

use loom::sync::atomic::{AtomicBool, Ordering};
use loom::thread;

#[path = "support/loom_watch.rs"]
mod loom_watch;
#[path = "../../../src/registry/published.rs"]
mod published;

use published::Published;

/// What stands in for the registry's own `sync` module.
#[allow(
    clippy::disallowed_types,
    reason = "no step of the checker's happens while it is locked"
)]
mod sync {
    pub(crate) use std::sync::{Arc, PoisonError};

    pub(crate) use loom::sync::Mutex;
    pub(crate) use loom::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

    pub(crate) use super::loom_watch as watch;

    pub(crate) type Guard<T> = T;

    /// As weak as it may be: readers acquire, writers acquire and release.
    pub(crate) struct ArcSwap<T> {
        current: AtomicUsize,
        all: std::sync::Mutex<Vec<Arc<T>>>,
    }

    impl<T> ArcSwap<T> {
        pub(crate) fn from_pointee(first: T) -> Self {
            Self {
                current: AtomicUsize::new(0),
                all: std::sync::Mutex::new(vec![Arc::new(first)]),
            }
        }

        pub(crate) fn load(&self) -> Arc<T> {
            let current = self.current.load(Ordering::Acquire);
            self.all.lock().unwrap()[current].clone()
        }

        pub(crate) fn swap(&self, next: Arc<T>) -> Arc<T> {
            let place = {
                let mut all = self.all.lock().unwrap();
                all.push(next);
                all.len() - 1
            };
            let before = self.current.swap(place, Ordering::AcqRel);
            self.all.lock().unwrap()[before].clone()
        }
    }
}

type Names = Published<Vec<u8>>;

fn register(names: &Names, name: u8) {
    let answer: Result<(), ()> = names.change(|names| {
        names.push(name);
        Ok(())
    });
    answer.unwrap();
}

/// No change is lost, and each has its number.
#[test]
fn writers_do_not_overwrite_each_other() {
    loom::model(|| {
        let names = Arc::new(Names::new(Vec::new()));
        let writers = [1, 2].map(|name| {
            let names = names.clone();
            thread::spawn(move || register(&names, name))
        });
        let refused: Result<(), ()> = names.change(|names| {
            names.clear();
            Err(())
        });
        assert!(refused.is_err());
        for writer in writers {
            writer.join().unwrap();
        }
        let mut all = names.load().to_vec();
        all.sort_unstable();
        assert_eq!((all, names.generation()), (vec![1, 2], 2));
        assert_eq!(names.changes().latest(), 2);
    });
}

/// Who reads the number first has a value at least as new.
#[test]
fn a_value_is_there_before_its_number() {
    loom::model(|| {
        let names = Arc::new(Names::new(Vec::new()));
        let writers = [1, 2].map(|name| {
            let names = names.clone();
            thread::spawn(move || register(&names, name))
        });
        let generation = names.generation();
        let seen = names.load().len() as u64;
        assert!(seen >= generation, "{seen} names at {generation}");
        for writer in writers {
            writer.join().unwrap();
        }
    });
}

/// A call keeps the definition that it found for as long as the number
/// stands. It must not keep it beyond a change that had returned.
#[test]
fn what_is_remembered_is_never_older_than_a_finished_change() {
    loom::model(|| {
        let names = Arc::new(Names::new(Vec::new()));
        let finished = Arc::new(AtomicBool::new(false));
        let writer = {
            let (names, finished) = (names.clone(), finished.clone());
            thread::spawn(move || {
                register(&names, 1);
                finished.store(true, Ordering::Release);
            })
        };
        let remembered = (names.generation(), names.load().len());
        if finished.load(Ordering::Acquire) && names.generation() == remembered.0 {
            assert_eq!(remembered.1, 1);
        }
        writer.join().unwrap();
    });
}

/// Who waits for changes is told of the last one, in rising order, and then
/// finds it.
#[test]
fn whoever_waits_is_told_of_the_last_change() {
    loom::model(|| {
        let names = Arc::new(Names::new(Vec::new()));
        let mut changes = names.changes();
        let writers = [1, 2].map(|name| {
            let names = names.clone();
            thread::spawn(move || register(&names, name))
        });
        let mut last = 0;
        while last < 2 {
            let told = changes.changed();
            assert!(told > last, "{told} after {last}");
            last = told;
            assert!(names.load().len() as u64 >= told);
        }
        for writer in writers {
            writer.join().unwrap();
        }
    });
}
