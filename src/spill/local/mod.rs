//! A store on the local disk.

mod books;
mod error;
mod folder;
mod name;
mod segment;

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use toolfall_layers::panic::catch;

use self::books::{Books, Bounds};
pub use self::error::LocalSpillError;
use self::folder::Folder;
pub use self::segment::path_segment;
use super::store::Saving;
use super::{Spill, SpillBytes, SpillContent, SpillStore, Spilled};
use crate::BoxError;

type Ids = dyn Fn() -> Result<[u8; 6], BoxError> + Send + Sync;

/// Keeps texts, pictures and the like in files of the local disk, for this
/// user alone.
///
/// Each session has a folder of its own (mode 0700), named by a digest of its
/// id, and each text or block a file (mode 0600) whose name starts with twelve random
/// hexadecimal digits. A file is made only where there was nothing, never
/// through a link, and appears with all of its bytes or not at all. Files are
/// not forced to the disk: a power failure may take the last ones.
///
/// Writing happens on tokio's threads for blocking work, one file at a time.
/// Clones are the same store. Modes and owners are a matter of Unix;
/// elsewhere a file has what its folder gives it.
///
/// ```
/// use toolfall::spill::{LocalSpillStore, Spill, SpillSource, SpillStore};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), toolfall::BoxError> {
/// let store = LocalSpillStore::new();
/// let source = SpillSource::new("grep", "call_1", "result");
/// let saved = store.save(Spill::new("sess-1", source, "grep.txt", "héllo")).await?;
/// assert_eq!(saved.bytes, 6);
/// assert_eq!(std::fs::read_to_string(&saved.locator)?, "héllo");
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct LocalSpillStore {
    /// Where; without it in the process's own temporary folder.
    root: Option<PathBuf>,
    hint: Arc<str>,
    bytes_hint: Arc<str>,
    bounds: Bounds,
    ids: Arc<Ids>,
    books: Arc<Mutex<Books>>,
    turn: Arc<Semaphore>,
}

impl LocalSpillStore {
    /// A store in a private folder of the system's place for temporary files,
    /// the same for all such stores of this process. It is made when the first
    /// text is saved, and stays when the process ends.
    pub fn new() -> Self {
        Self {
            root: None,
            hint: Arc::from("Use read with offset/limit, or grep this path to search within it."),
            bytes_hint: Arc::from("Programs can open this path."),
            bounds: Bounds {
                most: 1 << 30,
                age: Some(Duration::from_secs(7 * 24 * 60 * 60)),
            },
            ids: Arc::new(random),
            books: Arc::default(),
            turn: Arc::new(Semaphore::new(1)),
        }
    }

    /// A store in `root`, which is made when the first text is saved. A
    /// relative path counts from the folder that is the current one now.
    ///
    /// # Errors
    ///
    /// `root` is empty, or relative where there is no current folder. Whether
    /// it can be used turns out when something is saved.
    pub fn at(root: impl AsRef<Path>) -> std::io::Result<Self> {
        Ok(Self {
            root: Some(std::path::absolute(root)?),
            ..Self::new()
        })
    }

    /// The most bytes that all sessions together may hold; 1 GiB unless said
    /// otherwise. A text that does not fit is not saved.
    ///
    /// Files that others put there are counted when the store starts, and
    /// again whenever it seems full.
    pub fn max_total_bytes(mut self, most: u64) -> Self {
        self.bounds.most = most;
        self
    }

    /// How old a file must be to be removed when something is saved; seven
    /// days unless said otherwise, `None` for never. Only files named as this
    /// store names them are ever removed.
    pub fn max_age(mut self, age: Option<Duration>) -> Self {
        self.bounds.age = age;
        self
    }

    /// What the model is told of how to get at the file of a text.
    pub fn retrieval_hint(mut self, hint: impl Into<Arc<str>>) -> Self {
        self.hint = hint.into();
        self
    }

    /// What the model is told of how to get at the file of a picture or of
    /// other bytes; `Programs can open this path.` unless said otherwise.
    pub fn bytes_hint(mut self, hint: impl Into<Arc<str>>) -> Self {
        self.bytes_hint = hint.into();
        self
    }

    /// Where the random start of a name comes from, instead of the system.
    /// Names that can be guessed let others make saves fail.
    pub fn ids(
        mut self,
        ids: impl Fn() -> Result<[u8; 6], BoxError> + Send + Sync + 'static,
    ) -> Self {
        self.ids = Arc::new(ids);
        self
    }

    fn save_now(&self, to_save: &ToSave) -> Result<Spilled, LocalSpillError> {
        let root = match &self.root {
            Some(root) => root.clone(),
            None => private_root()?,
        };
        let mut builder = folder::builder();
        builder
            .recursive(true)
            .create(&root)
            .map_err(LocalSpillError::io("create", &root))?;
        let path = root.join(name::folder_name(&to_save.owner));
        let folder = Folder::private(path)?;
        let id = catch(|| (self.ids)())
            .map_err(|panic| LocalSpillError::NoName(panic.into()))?
            .map_err(LocalSpillError::NoName)?;
        let name = name::file_name(id, &to_save.name);
        let claim = folder.claim(&name)?;
        let bytes = to_save.content.len();
        {
            let mut books = self.books.lock().unwrap_or_else(PoisonError::into_inner);
            // The file system's clock, against which the others' age counts.
            let now = claim.made().unwrap_or(SystemTime::UNIX_EPOCH);
            books.enter(&root, self.bounds, bytes, now)?;
        }
        let path = folder.fill(claim, &name::partial_name(&name), &to_save.content)?;
        match path.into_os_string().into_string() {
            Ok(locator) => Ok(Spilled::new(locator, bytes, &*to_save.hint)),
            Err(path) => {
                let path = PathBuf::from(path);
                // Nobody can be told of it.
                let _ = fs::remove_file(&path);
                Err(LocalSpillError::NotUnicode { path })
            }
        }
    }

    fn saving(&self, to_save: ToSave) -> Saving {
        let store = self.clone();
        Box::pin(async move {
            let runtime = Handle::try_current().map_err(|_| LocalSpillError::NoRuntime)?;
            let turn = store.turn.clone().acquire_owned().await;
            let write = move || {
                // Goes with the work: a save that nobody waits for any more
                // still holds back the next one.
                let _turn = turn;
                store.save_now(&to_save)
            };
            Ok(runtime.spawn_blocking(write).await??)
        })
    }
}

/// One file to be.
struct ToSave {
    owner: String,
    name: String,
    content: SpillContent,
    hint: Arc<str>,
}

impl SpillStore for LocalSpillStore {
    /// # Errors
    ///
    /// [`LocalSpillError`].
    ///
    /// # Cancel safety
    ///
    /// A file that is being written when the future is dropped is written to
    /// its end, and nobody knows of it until it is too old.
    fn save(&self, spill: Spill) -> Saving {
        self.saving(ToSave {
            owner: spill.owner,
            name: spill.name,
            content: SpillContent::from_text(spill.content),
            hint: self.hint.clone(),
        })
    }

    /// # Errors
    ///
    /// [`LocalSpillError`].
    ///
    /// # Cancel safety
    ///
    /// That of a text.
    fn save_bytes(&self, bytes: SpillBytes) -> Saving {
        self.saving(ToSave {
            owner: bytes.owner,
            name: bytes.name,
            content: bytes.content,
            hint: self.bytes_hint.clone(),
        })
    }
}

impl Default for LocalSpillStore {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for LocalSpillStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalSpillStore")
            .field("root", &self.root)
            .field("bounds", &self.bounds)
            .finish_non_exhaustive()
    }
}

fn random() -> Result<[u8; 6], BoxError> {
    let mut id = [0; 6];
    getrandom::fill(&mut id)?;
    Ok(id)
}

/// The process's own temporary folder: made once, under a name that nobody
/// could have put something at.
fn private_root() -> Result<PathBuf, LocalSpillError> {
    static ROOT: Mutex<Option<PathBuf>> = Mutex::new(None);
    let mut known = ROOT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(root) = &*known {
        // It may have been removed meanwhile, and something put in its place.
        Folder::private(root.clone())?;
        return Ok(root.clone());
    }
    let id = random().map_err(LocalSpillError::NoName)?;
    let name = format!("spill-{}", std::process::id());
    let temporary = std::env::temp_dir().join(format!("toolfall-{}", name::file_name(id, &name)));
    let root = std::path::absolute(&temporary).map_err(LocalSpillError::io("find", &temporary))?;
    // Not Folder::private: nothing may be there before.
    folder::builder()
        .create(&root)
        .map_err(LocalSpillError::io("create", &root))?;
    *known = Some(root.clone());
    Ok(root)
}
