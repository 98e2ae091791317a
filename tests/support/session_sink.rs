//! A sink that counts, fails and waits on demand.

use std::io::{self, BufRead};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use tokio::sync::mpsc;
use toolfall::session::{LogSink, MemorySink};

/// What the test sees and turns.
#[derive(Default)]
pub(crate) struct Knobs {
    pub(crate) memory: MemorySink,
    /// How many syncs have ended.
    pub(crate) syncs: AtomicUsize,
    /// How many bytes still fit, if that is bounded.
    pub(crate) room: Mutex<Option<usize>>,
    pub(crate) truncate_fails: AtomicBool,
    pub(crate) sync_fails: AtomicBool,
    pub(crate) append_panics: AtomicBool,
    /// While it is shut, syncs wait.
    gate: Mutex<bool>,
    opened: Condvar,
    /// Told at the beginning of each sync.
    pub(crate) syncing: Mutex<Option<mpsc::UnboundedSender<()>>>,
}

/// See [`Knobs`].
#[derive(Clone, Default)]
pub(crate) struct TestSink(pub(crate) Arc<Knobs>);

impl TestSink {
    pub(crate) fn syncs(&self) -> usize {
        self.0.syncs.load(Ordering::SeqCst)
    }

    /// Lets syncs wait from now on, or go on.
    pub(crate) fn shut(&self, shut: bool) {
        *self.0.gate.lock().unwrap() = shut;
        self.0.opened.notify_all();
    }

    /// A message for each sync that begins.
    pub(crate) fn watch(&self) -> mpsc::UnboundedReceiver<()> {
        let (sender, receiver) = mpsc::unbounded_channel();
        *self.0.syncing.lock().unwrap() = Some(sender);
        receiver
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.memory.bytes()).unwrap()
    }
}

impl LogSink for TestSink {
    fn reader(&self) -> io::Result<Box<dyn BufRead + Send + '_>> {
        self.0.memory.reader()
    }

    fn append(&self, bytes: &[u8]) -> io::Result<()> {
        assert!(
            !self.0.append_panics.load(Ordering::SeqCst),
            "told to panic"
        );
        let mut room = self.0.room.lock().unwrap();
        if let Some(room) = room.as_mut() {
            if bytes.len() > *room {
                self.0.memory.append(&bytes[..*room])?;
                *room = 0;
                return Err(io::ErrorKind::StorageFull.into());
            }
            *room -= bytes.len();
        }
        self.0.memory.append(bytes)
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        if self.0.truncate_fails.load(Ordering::SeqCst) {
            return Err(io::Error::other("read only"));
        }
        self.0.memory.truncate(len)
    }

    fn sync(&self) -> io::Result<()> {
        if let Some(syncing) = self.0.syncing.lock().unwrap().as_ref() {
            let _ = syncing.send(());
        }
        let mut shut = self.0.gate.lock().unwrap();
        while *shut {
            shut = self.0.opened.wait(shut).unwrap();
        }
        self.0.syncs.fetch_add(1, Ordering::SeqCst);
        if self.0.sync_fails.load(Ordering::SeqCst) {
            return Err(io::Error::other("the disk is gone"));
        }
        Ok(())
    }
}
