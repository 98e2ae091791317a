//! Whole lines, in order, to a peer that may read slowly.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use serde::Serialize;
use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};

/// So many lines are handed over before one is written.
const QUEUE: usize = 64;
/// So many bytes may wait to be handed over.
const WAITING: usize = 64 << 20;
/// What a line that waits takes besides, about.
const BESIDES: usize = 1 << 10;
/// So long what was handed over may take to be written at the end.
const LAST: Duration = Duration::from_secs(1);

/// The writing end: a task of its own, so that nobody who gives up leaves
/// half a line behind.
pub(super) struct Output {
    frames: Option<mpsc::Sender<Frame>>,
    waiting: Arc<AtomicUsize>,
    broken: CancellationToken,
    task: JoinHandle<()>,
}

/// One line, and who wants to know when it is written.
pub(super) struct Frame {
    bytes: Vec<u8>,
    done: Option<oneshot::Sender<io::Result<()>>>,
}

impl Frame {
    pub(super) fn unattended(bytes: Vec<u8>) -> Self {
        Self { bytes, done: None }
    }
}

/// The line of a message.
pub(super) fn line<T: Serialize>(message: &T) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}

impl Output {
    pub(super) fn start(to: Pin<Box<dyn AsyncWrite + Send>>) -> Self {
        let (sender, receiver) = mpsc::channel(QUEUE);
        let broken = CancellationToken::new();
        Self {
            frames: Some(sender),
            waiting: Arc::default(),
            task: tokio::spawn(write(to, receiver, broken.clone().drop_guard())),
            broken,
        }
    }

    /// Takes its place in the queue at once; the future is ready when the
    /// line is written. Dropped before it was handed over, nothing of it is
    /// written; later, all of it.
    pub(super) fn hand_over(
        &self,
        line: io::Result<Vec<u8>>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let handed = line.and_then(|bytes| self.enqueue(bytes));
        async move {
            let (written, waiting) = handed?;
            if let Some(waiting) = waiting {
                waiting.await?;
            }
            written.await.unwrap_or_else(|_| Err(closed()))
        }
    }

    fn enqueue(&self, bytes: Vec<u8>) -> io::Result<Handed> {
        let sender = self.frames.as_ref().ok_or_else(closed)?;
        let (done, written) = oneshot::channel();
        let done = Some(done);
        let frame = match sender.try_send(Frame { bytes, done }) {
            Ok(()) => return Ok((written, None)),
            Err(mpsc::error::TrySendError::Closed(_)) => return Err(closed()),
            Err(mpsc::error::TrySendError::Full(frame)) => frame,
        };
        let held = Held::new(&self.waiting, frame.bytes.len().saturating_add(BESIDES))?;
        let mut room = Box::pin(sender.clone().reserve_owned());
        // Whoever is polled first is first in the queue, even if its task
        // comes to run later than another's.
        let polled = room.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        if let Poll::Ready(room) = polled {
            room.map_err(|_| closed())?.send(frame);
            return Ok((written, None));
        }
        let waiting: Pin<Box<dyn Future<Output = io::Result<()>> + Send>> = Box::pin(async move {
            let room = room.await.map_err(|_| closed())?;
            drop(held);
            room.send(frame);
            Ok(())
        });
        Ok((written, Some(waiting)))
    }

    /// Room for one line more; nothing if the connection is closed.
    pub(super) async fn room(&self) -> Option<mpsc::Permit<'_, Frame>> {
        self.frames.as_ref()?.reserve().await.ok()
    }

    /// Ready when nothing can be written any more.
    pub(super) async fn broken(&self) {
        self.broken.cancelled().await;
    }

    /// Writes what was handed over, and closes. Cancel safe.
    pub(super) async fn close(&mut self) {
        self.frames = None;
        let _ = timeout(LAST, self.broken.cancelled()).await;
        self.task.abort();
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        self.task.abort();
    }
}

type Handed = (
    oneshot::Receiver<io::Result<()>>,
    Option<Pin<Box<dyn Future<Output = io::Result<()>> + Send>>>,
);

/// The bytes of a line that waits to be handed over.
struct Held {
    waiting: Arc<AtomicUsize>,
    bytes: usize,
}

impl Held {
    fn new(waiting: &Arc<AtomicUsize>, bytes: usize) -> io::Result<Self> {
        let before = waiting.fetch_add(bytes, Ordering::Relaxed);
        let held = Self {
            waiting: waiting.clone(),
            bytes,
        };
        // One alone may be of any size: it is there already.
        if before > 0 && before.saturating_add(bytes) > WAITING {
            return Err(io::Error::new(
                io::ErrorKind::WouldBlock,
                format!("the peer does not read: {before} bytes wait for it"),
            ));
        }
        Ok(held)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.waiting.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

async fn write(
    mut to: Pin<Box<dyn AsyncWrite + Send>>,
    mut frames: mpsc::Receiver<Frame>,
    _broken: DropGuard,
) {
    let mut done = Vec::new();
    while let Some(frame) = frames.recv().await {
        let mut written = Ok(());
        let mut next = Some(frame);
        // What has come in the meantime is flushed with it.
        while let Some(frame) = next.take() {
            done.extend(frame.done);
            written = to.write_all(&frame.bytes).await;
            if written.is_ok() && done.len() < QUEUE {
                next = frames.try_recv().ok();
            }
        }
        if written.is_ok() {
            written = to.flush().await;
        }
        for done in done.drain(..) {
            let told = match &written {
                Ok(()) => Ok(()),
                Err(error) => Err(io::Error::new(error.kind(), error.to_string())),
            };
            let _ = done.send(told);
        }
        if written.is_err() {
            return;
        }
    }
    let _ = to.shutdown().await;
}

fn closed() -> io::Error {
    io::Error::new(io::ErrorKind::NotConnected, "the connection is closed")
}
