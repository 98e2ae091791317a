//! Where the lines go.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Cursor, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::error::LogError;

/// The place that keeps a log's bytes.
///
/// The log never calls [`append`](Self::append) and [`truncate`](Self::truncate)
/// at the same time as either of them, but [`sync`](Self::sync) and
/// [`reader`](Self::reader) at any time. Both hold a lock of the log: an
/// implementation must not call the log it belongs to. A panic is taken for a
/// failure that left the end unknown.
pub trait LogSink: Send + Sync + 'static {
    /// Reads what the sink holds, from the beginning.
    fn reader(&self) -> io::Result<Box<dyn BufRead + Send + '_>>;

    /// Adds `bytes` at the end, all of them, so that they survive this process.
    ///
    /// # Errors
    ///
    /// Some of the bytes may have been added; the log truncates.
    fn append(&self, bytes: &[u8]) -> io::Result<()>;

    /// Cuts the sink back to its first `len` bytes.
    fn truncate(&self, len: u64) -> io::Result<()>;

    /// Makes everything appended so far survive a loss of power. May block.
    fn sync(&self) -> io::Result<()>;

    /// Lets another writer in. Called once, when the last clone of the log is
    /// dropped; a sync may still be on its way, but nothing is appended.
    fn release(&self) {}

    /// The file to name in errors.
    fn path(&self) -> Option<&Path> {
        None
    }
}

/// A file with one writer: locked, and written at its end only.
#[derive(Debug)]
pub struct FileSink {
    file: File,
    path: PathBuf,
}

impl FileSink {
    /// Opens the log's file, or creates it readable by its owner alone.
    ///
    /// A created file and its folder are synced before this returns.
    ///
    /// # Errors
    ///
    /// [`LogError::Locked`] if somebody else writes it, [`LogError::NotAFile`],
    /// and [`LogError::Open`] for everything else.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, LogError> {
        let path = path.into();
        let failed = |source| LogError::Open {
            file: path.clone(),
            source,
        };
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if !metadata.is_file() {
            return Err(LogError::NotAFile { file: path });
        }
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(LogError::Locked { file: path }),
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        // An empty file is new, or its creator died before the folder was synced.
        if metadata.len() == 0 {
            file.sync_all().map_err(failed)?;
            sync_folder(&path).map_err(failed)?;
        }
        Ok(Self { file, path })
    }
}

/// Makes the file's name survive a loss of power.
fn sync_folder(path: &Path) -> io::Result<()> {
    // Elsewhere a folder cannot be opened as a file.
    if cfg!(unix) {
        let folder = match path.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

impl LogSink for FileSink {
    fn reader(&self) -> io::Result<Box<dyn BufRead + Send + '_>> {
        // A handle of its own has a position of its own.
        Ok(Box::new(BufReader::new(File::open(&self.path)?)))
    }

    fn append(&self, bytes: &[u8]) -> io::Result<()> {
        (&self.file).write_all(bytes)
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn release(&self) {
        // If this fails, closing the file does the same a moment later.
        let _ = self.file.unlock();
    }

    fn path(&self) -> Option<&Path> {
        Some(&self.path)
    }
}

/// Bytes in memory. A clone shares them, so a log can be opened again.
#[derive(Clone, Debug, Default)]
pub struct MemorySink {
    bytes: Arc<Mutex<Vec<u8>>>,
}

impl MemorySink {
    /// A sink that holds `bytes`.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            bytes: Arc::new(Mutex::new(bytes.into())),
        }
    }

    /// A copy of what the sink holds.
    pub fn bytes(&self) -> Vec<u8> {
        self.with(|bytes| bytes.clone())
    }

    fn with<T>(&self, f: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        f(&mut self.bytes.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl LogSink for MemorySink {
    fn reader(&self) -> io::Result<Box<dyn BufRead + Send + '_>> {
        Ok(Box::new(Cursor::new(self.bytes())))
    }

    fn append(&self, bytes: &[u8]) -> io::Result<()> {
        self.with(|held| held.extend_from_slice(bytes));
        Ok(())
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        self.with(|held| held.truncate(len));
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}
