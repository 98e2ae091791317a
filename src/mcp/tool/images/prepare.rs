//! From the images of an answer to what stands in their places.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use toolfall_layers::panic::catch;

use super::{ImageStore, ImageStoreError, Images, NewImage, StoredImage, base64};
use crate::{CallView, ContentBlock};

const NO_STORE: &str = "no attachment store is mounted";
const NO_ROUTE: &str = "the current model route could not be resolved";
const UNVERIFIED: &str = "the current model route could not be verified";
const WRONG_TYPE: &str = "the declared media type is not PNG, JPEG, WebP, or GIF";
const NO_BASE64: &str = "the image data is not canonical base64";
const SIBLING: &str = "another image in the same result was invalid";
const NOT_KEPT: &str = "durable image storage rejected the result";
/// The reason where nothing was prepared for the images.
pub(in crate::mcp::tool) const NOT_ADMITTED: &str =
    "this result was not admitted to durable model context";

/// What stands in the places of an answer's images.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::mcp::tool) enum ImagesShown {
    /// The attachments, in order.
    Attached(Vec<ContentBlock>),
    /// Why each of them is unavailable, in order.
    Refused(Vec<String>),
    /// Why all of them are unavailable.
    None(String),
}

/// The call was cancelled on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mcp::tool) struct Aborted;

/// Whether `block` is an image.
pub(in crate::mcp::tool) fn is_image(block: &Value) -> bool {
    block.get("type").is_some_and(|kind| kind == "image")
}

/// Has the images of `content` kept, if they can be, all or none of them.
pub(in crate::mcp::tool) async fn prepare(
    images: Option<&Arc<dyn Images>>,
    call: &CallView,
    cancellation: &CancellationToken,
    content: &[Value],
) -> Result<ImagesShown, Aborted> {
    let none = |reason: &str| Ok(ImagesShown::None(reason.to_owned()));
    let Some(images) = images else {
        return none(NO_STORE);
    };
    let Ok(Some(store)) = catch(|| images.store()) else {
        return none(NO_STORE);
    };
    let looked_up = until_cancelled(cancellation, catch(|| images.model(call)).ok());
    let model = match looked_up.await? {
        Some(Ok(Some(model))) => model,
        Some(Ok(None)) => return none(NO_ROUTE),
        Some(Err(_)) | None => return none(UNVERIFIED),
    };
    if model.takes_images != Some(true) {
        let id = toolfall_layers::printable(&model.id, 200);
        return none(&format!("model \"{id}\" does not declare image input"));
    }
    let batch: Vec<_> = content.iter().filter(|it| is_image(it)).map(read).collect();
    if batch.iter().any(Result::is_err) {
        let reason = |image: Result<NewImage, &'static str>| image.err().unwrap_or(SIBLING).into();
        return Ok(ImagesShown::Refused(
            batch.into_iter().map(reason).collect(),
        ));
    }
    let batch: Vec<NewImage> = batch.into_iter().flatten().collect();
    save(&*store, call, cancellation, batch).await
}

async fn save(
    store: &dyn ImageStore,
    call: &CallView,
    cancellation: &CancellationToken,
    batch: Vec<NewImage>,
) -> Result<ImagesShown, Aborted> {
    let types: Vec<_> = batch.iter().map(|image| image.media_type).collect();
    let saved = until_cancelled(cancellation, catch(|| store.save(call, batch)).ok());
    Ok(match saved.await? {
        Some(Ok(kept)) if kept.len() == types.len() => ImagesShown::Attached(
            kept.into_iter()
                .zip(types)
                .map(|(image, media_type)| attachment(image, media_type))
                .collect(),
        ),
        Some(Err(ImageStoreError::Refused(rule))) => {
            ImagesShown::None(format!("image admission rejected the result: {rule}"))
        }
        Some(Ok(_) | Err(ImageStoreError::Failed(_))) | None => {
            ImagesShown::None(NOT_KEPT.to_owned())
        }
    })
}

fn attachment(image: StoredImage, media_type: &str) -> ContentBlock {
    ContentBlock::ResourceLink {
        uri: image.uri,
        name: image.name,
        mime_type: Some(media_type.to_owned()),
    }
}

/// Waits for `future`; `None` where it panics, or was none to begin with. A
/// cancellation is looked at first, and again when the future is done.
async fn until_cancelled<T>(
    cancellation: &CancellationToken,
    future: Option<BoxFuture<'static, T>>,
) -> Result<Option<T>, Aborted> {
    let done = async {
        let future = future?;
        AssertUnwindSafe(future).catch_unwind().await.ok()
    };
    let done = cancellation.run_until_cancelled(done).await;
    match done {
        Some(done) if !cancellation.is_cancelled() => Ok(done),
        _ => Err(Aborted),
    }
}

/// One image, or why it is none.
fn read(block: &Value) -> Result<NewImage, &'static str> {
    const TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/webp", "image/gif"];
    let declared = block.get("mimeType").and_then(Value::as_str);
    let media_type = TYPES
        .into_iter()
        .find(|known| declared.is_some_and(|it| it.eq_ignore_ascii_case(known)))
        .ok_or(WRONG_TYPE)?;
    let data = block.get("data").and_then(Value::as_str);
    let bytes = data.and_then(base64::decode).ok_or(NO_BASE64)?;
    Ok(NewImage { media_type, bytes })
}
