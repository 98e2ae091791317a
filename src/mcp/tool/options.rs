//! How the tools of a server are taken into the registry.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::images::Images;
use crate::ToolDef;

/// How long an answer is waited for unless it is said.
const TIMEOUT: Duration = Duration::from_secs(60);

/// How the tools of a server are taken into the registry.
///
/// ```
/// use std::time::Duration;
/// use toolfall::mcp::tool::ToolOptions;
///
/// let options = ToolOptions::new().timeout(Duration::from_secs(5)).trust_hints();
/// assert_eq!(options.call_timeout(), Duration::from_secs(5));
/// ```
// Each is a choice of its own, and all combinations make sense.
#[allow(clippy::struct_excessive_bools)]
#[derive(Clone)]
pub struct ToolOptions {
    timeout: Duration,
    pub(super) trusts_hints: bool,
    pub(super) is_native: bool,
    pub(super) keeps_names: bool,
    pub(super) shows_resources: bool,
    pub(super) images: Option<Arc<dyn Images>>,
    pub(super) adjust: Option<Arc<Adjust>>,
}

/// What a host adds to a tool.
pub(super) type Adjust = dyn Fn(ToolDef) -> ToolDef + Send + Sync;

impl ToolOptions {
    /// Answers within 60 seconds, no trust in hints, content made for models.
    pub fn new() -> Self {
        Self {
            timeout: TIMEOUT,
            trusts_hints: false,
            is_native: false,
            keeps_names: false,
            shows_resources: false,
            images: None,
            adjust: None,
        }
    }

    /// Waits so long for the answer to one call.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// How long the answer to one call is waited for.
    pub const fn call_timeout(&self) -> Duration {
        self.timeout
    }

    /// Believes the server's hints also where they loosen something: a tool
    /// that says that it only reads may then overlap with others and be
    /// repeated, one that says that it is idempotent may be repeated.
    pub fn trust_hints(mut self) -> Self {
        self.trusts_hints = true;
        self
    }

    /// Keeps the blocks of an answer apart and as they are: images, sounds,
    /// links and resources become blocks of the result. For who hands results
    /// on to another client; no image is stored then.
    pub fn native_content(mut self) -> Self {
        self.is_native = true;
        self
    }

    /// Registers the tools under the names that the server gives them, instead
    /// of [public](super::public_name) ones. For a registry with one server and
    /// nothing else: other tools may have the same names.
    pub fn raw_names(mut self) -> Self {
        self.keeps_names = true;
        self
    }

    /// Lets models read resources that stand in an answer as text: a file's
    /// contents, for instance. Those of other kinds are told of, as ever.
    pub fn show_resources(mut self) -> Self {
        self.shows_resources = true;
        self
    }

    /// Lets models see images, through a store that keeps them.
    pub fn images(mut self, images: Arc<dyn Images>) -> Self {
        self.images = Some(images);
        self
    }

    /// Has `adjust` add to each tool what the host knows of it, before it is
    /// registered: the places of secrets, a budget, cards. Its name is to stay.
    ///
    /// Called for every listing, where the server is supervised: it must not
    /// block. A tool for which it panics is left out, with a reason.
    pub fn adjust(mut self, adjust: impl Fn(ToolDef) -> ToolDef + Send + Sync + 'static) -> Self {
        self.adjust = Some(Arc::new(adjust));
        self
    }
}

impl Default for ToolOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for ToolOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolOptions")
            .field("timeout", &self.timeout)
            .field("trusts_hints", &self.trusts_hints)
            .field("is_native", &self.is_native)
            .field("keeps_names", &self.keeps_names)
            .field("shows_resources", &self.shows_resources)
            .field("images", &self.images.is_some())
            .field("adjust", &self.adjust.is_some())
            .finish()
    }
}
