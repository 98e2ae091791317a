//! `[spill]`: where results go that are too long for a model's context.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::FutureExt as _;
use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;
use toolfall::spill::{
    LocalSpillStore, Saving, Spill, SpillBytes, SpillConfig, SpillPolicy, SpillSlot, SpillStore,
};

use super::{Config, Source};
use crate::error::Error;

/// The folder if none is named.
const FOLDER: &str = ".toolfall-spill";
/// Below this not even the place of a text might fit.
const LEAST: usize = 1_000;
const TEXT: usize = 50_000;
/// As base64 five million characters, as many as providers take of a picture.
const BLOCK: usize = 3_750_000;
const RESULT: usize = 15_000_000;
const HOURS: u64 = 7 * 24;
const READ: &str = "read_file";

/// With this table a result that is too long goes to a file, and the model
/// reads its beginning, its end and where the file is; of a picture that is
/// too big it reads where the file is.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Table {
    /// The most bytes that the text of a result may have, and what stands for
    /// it, from 1000 on.
    #[schemars(with = "usize", range(min = 1000), extend("default" = 50_000))]
    max_text_bytes: Option<Spanned<usize>>,
    /// The most bytes of a picture, a sound or another block that is no text;
    /// decoded, as its file has them.
    #[schemars(extend("default" = 3_750_000))]
    max_block_bytes: Option<usize>,
    /// The most bytes that those of one result may have together. The first
    /// ones stay.
    #[schemars(extend("default" = 15_000_000))]
    max_result_bytes: Option<usize>,
    /// The most blocks of one result, of any kind.
    #[schemars(extend("default" = 1000))]
    max_blocks: Option<usize>,
    /// The folder of the files, made when there is the first. Without it
    /// `.toolfall-spill` in the folder of the file tools, else beside this
    /// file.
    #[schemars(with = "Option<PathBuf>")]
    dir: Option<Spanned<PathBuf>>,
    /// After how many hours a file is removed when another is written; 0 for
    /// never.
    #[schemars(extend("default" = 168))]
    max_age_hours: Option<u32>,
    /// The most bytes that all files of the folder may have together. What
    /// does not fit is not stored.
    #[schemars(extend("default" = 1_073_741_824))]
    max_total_bytes: Option<u64>,
    /// The tools whose results are never touched: those that read the files.
    #[schemars(extend("default" = ["read_file"]))]
    exempt: Option<Vec<String>>,
}

impl Config {
    /// Whether results that are too long are cut.
    pub(crate) const fn spills(&self) -> bool {
        self.written.spill.is_some()
    }

    /// The policy, which does nothing if the file has no such table. `root` is
    /// the folder that the command line names for the file tools; `log` is
    /// the session.
    pub(crate) fn spill(&self, root: Option<&Path>, log: &Path) -> Result<SpillPolicy, Error> {
        let slot = SpillSlot::new();
        let (Some(source), Some(table)) = (&self.source, &self.written.spill) else {
            return Ok(SpillPolicy::new(slot, &SpillConfig::default()));
        };
        let text = match &table.max_text_bytes {
            None => TEXT,
            Some(most) if *most.get_ref() >= LEAST => *most.get_ref(),
            Some(most) => {
                let message = format!(
                    "expected max_text_bytes of at least {LEAST}, so that the place of the file \
                     fits, found {}",
                    most.get_ref()
                );
                return Err(source.error(Some(most.span()), &message));
            }
        };
        let mut config = SpillConfig::max_inline_bytes(text)
            .with_max_block_bytes(table.max_block_bytes.unwrap_or(BLOCK))
            .with_max_result_bytes(table.max_result_bytes.unwrap_or(RESULT));
        config.max_blocks = table.max_blocks;
        let store = self.store(source, table, root)?;
        slot.mount(store)
            .map_err(|error| Error::own("the spill store cannot be put in its place", &error))?
            .keep();
        let log = std::path::absolute(log).unwrap_or_else(|_| log.to_owned());
        let session = log.to_string_lossy().into_owned();
        let exempt = table.exempt.clone();
        Ok(SpillPolicy::new(slot, &config)
            .owner(move |_| Some(session.clone()))
            .exempt(exempt.unwrap_or_else(|| vec![READ.to_owned()])))
    }

    fn store(&self, source: &Source, table: &Table, root: Option<&Path>) -> Result<Shelf, Error> {
        let readable = self.readable(root);
        let at = table.dir.as_ref().map(Spanned::span);
        if let Some(dir) = &table.dir
            && dir.get_ref().as_os_str().is_empty()
        {
            return Err(source.error(at, "expected the name of a folder, found \"\""));
        }
        let folder = match (&table.dir, &readable) {
            (Some(dir), _) => self.beside(dir.get_ref()),
            (None, Some(root)) => root.join(FOLDER),
            (None, None) => self.beside(Path::new(FOLDER)),
        };
        let fail = |error: &dyn std::fmt::Display| {
            let message = format!("expected a folder at {}: {error}", folder.display());
            source.error(at.clone(), &message)
        };
        if folder.exists() && !folder.is_dir() {
            return Err(fail(&"there is something else"));
        }
        let folder = std::path::absolute(&folder).map_err(|error| fail(&error))?;
        let mut files = LocalSpillStore::at(&folder).map_err(|error| fail(&error))?;
        if let Some(most) = table.max_total_bytes {
            files = files.max_total_bytes(most);
        }
        let hours = table.max_age_hours.map_or(HOURS, u64::from);
        files = files.max_age((hours > 0).then(|| Duration::from_secs(hours * 60 * 60)));
        let inside = readable.and_then(|root| inside(&root, &folder));
        files = files.retrieval_hint(if inside.is_some() {
            "Use read_file with first_line and max_lines, or grep with this path, to see more of it."
        } else {
            "The file tools do not reach this path; programs can open it."
        });
        Ok(Shelf {
            files,
            folder,
            inside,
        })
    }
}

/// The store of a run. What the file tools reach is told as a path that they
/// take.
struct Shelf {
    files: LocalSpillStore,
    folder: PathBuf,
    /// The folder from the root of the file tools, if it is in there.
    inside: Option<PathBuf>,
}

impl SpillStore for Shelf {
    /// # Errors
    ///
    /// Those of the files.
    ///
    /// # Cancel safety
    ///
    /// That of the files.
    fn save(&self, spill: Spill) -> Saving {
        let saving = self.files.save(spill);
        let Some(inside) = self.inside.clone() else {
            return saving;
        };
        let folder = self.folder.clone();
        let told = saving.map(move |saved| {
            let mut saved = saved?;
            if let Ok(file) = Path::new(&saved.locator).strip_prefix(&folder) {
                saved.locator = inside.join(file).to_string_lossy().into_owned();
            }
            Ok(saved)
        });
        told.boxed()
    }

    /// # Errors
    ///
    /// Those of the files.
    ///
    /// # Cancel safety
    ///
    /// That of the files.
    fn save_bytes(&self, bytes: SpillBytes) -> Saving {
        // No file tool reads them; whatever does knows no root.
        self.files.save_bytes(bytes)
    }
}

/// `folder`, which need not be there yet, from `root`, if it is in there
/// after all links.
fn inside(root: &Path, folder: &Path) -> Option<PathBuf> {
    let root = root.canonicalize().ok()?;
    let mut missing: Vec<OsString> = Vec::new();
    let mut there = folder;
    let mut whole = loop {
        if let Ok(found) = there.canonicalize() {
            break found;
        }
        missing.push(there.file_name()?.to_owned());
        there = there.parent()?;
    };
    whole.extend(missing.iter().rev());
    let inside = whole.strip_prefix(&root).ok()?;
    inside.to_str().is_some().then(|| inside.to_owned())
}
