//! Images of an answer: from base64 to attachments that a model can see.

mod base64;
mod prepare;

use std::sync::Arc;

use futures_util::future::BoxFuture;

pub(super) use self::prepare::{Aborted, ImagesShown, NOT_ADMITTED, is_image, prepare};
use crate::{BoxError, CallView};

/// What it takes to show images to a model: which model reads the result, and
/// a store that keeps the images.
///
/// Images never stand in the content of a result as base64. They are saved,
/// all of one answer or none, and the content refers to them; where that
/// cannot be, a line of text stands in the place of each, and says why.
pub trait Images: Send + Sync + 'static {
    /// The model that will read the result of `call`; `None` where it cannot
    /// be told.
    ///
    /// # Errors
    ///
    /// Whatever keeps it from being looked up.
    ///
    /// # Cancel safety
    ///
    /// The future is dropped if the call is cancelled.
    fn model(&self, call: &CallView) -> BoxFuture<'static, Result<Option<ImageModel>, BoxError>>;

    /// The store to use now; `None` where none is mounted.
    fn store(&self) -> Option<Arc<dyn ImageStore>>;
}

/// A model, as far as images go.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ImageModel {
    /// Its id, for people.
    pub id: String,
    /// Whether it takes images; `None` where that is not known.
    pub takes_images: Option<bool>,
}

impl ImageModel {
    /// The model `id`, which takes images or does not.
    pub fn new(id: impl Into<String>, takes_images: Option<bool>) -> Self {
        Self {
            id: id.into(),
            takes_images,
        }
    }
}

/// Keeps images for as long as a conversation may refer to them.
pub trait ImageStore: Send + Sync + 'static {
    /// Keeps the images of one answer, in this order: all or none.
    ///
    /// # Errors
    ///
    /// [`ImageStoreError`], and then nothing was kept.
    ///
    /// # Cancel safety
    ///
    /// The future is driven to its end, or dropped if the call is cancelled:
    /// what was kept by then nobody refers to.
    fn save(
        &self,
        call: &CallView,
        images: Vec<NewImage>,
    ) -> BoxFuture<'static, Result<Vec<StoredImage>, ImageStoreError>>;
}

/// An image to keep.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NewImage {
    /// The declared type: PNG, JPEG, WebP or GIF.
    pub media_type: &'static str,
    /// The bytes; not looked into.
    pub bytes: Vec<u8>,
}

/// Where an image was kept.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredImage {
    /// The address of the attachment.
    pub uri: String,
    /// Its name, for people.
    pub name: String,
}

impl StoredImage {
    /// An image kept at `uri`.
    pub fn new(uri: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            name: name.into(),
        }
    }
}

/// Why the images of an answer were not kept.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImageStoreError {
    /// They are against a rule of the store's, which the text names: too
    /// many, for instance. The model reads it.
    #[error("{0}")]
    Refused(String),
    /// They could not be kept. The model does not read why.
    #[error("the images could not be kept")]
    Failed(#[source] BoxError),
}
