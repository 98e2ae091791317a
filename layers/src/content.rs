//! What a result shows: the blocks a model or a person reads.

use serde::{Deserialize, Serialize};

/// One piece of model-facing content.
///
/// The serialised form is tagged by `type`, in the words that MCP and the
/// provider interfaces share.
///
/// ```
/// use toolfall_layers::ContentBlock;
///
/// let block = ContentBlock::text("42 files");
/// assert_eq!(
///     serde_json::to_string(&block).unwrap(),
///     r#"{"type":"text","text":"42 files"}"#,
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ContentBlock {
    /// Text as it is.
    Text {
        /// The text.
        text: String,
    },
    /// A picture.
    Image {
        /// Base64 of the picture's bytes.
        data: String,
        /// Its media type, `image/png` for instance.
        #[serde(rename = "mimeType")]
        mime_type: String,
    },
    /// A sound.
    Audio {
        /// Base64 of the sound's bytes.
        data: String,
        /// Its media type, `audio/wav` for instance.
        #[serde(rename = "mimeType")]
        mime_type: String,
    },
    /// Where something can be read, without its contents.
    ResourceLink {
        /// The address.
        uri: String,
        /// A name for people.
        name: String,
        /// The media type, if known.
        #[serde(rename = "mimeType", default, skip_serializing_if = "Option::is_none")]
        mime_type: Option<String>,
    },
    /// Contents that have an address, in the result itself.
    Resource {
        /// The address and the contents.
        resource: EmbeddedResource,
    },
    /// A model's private reasoning: never shown, its kind may be told.
    Reasoning {
        /// The text.
        text: String,
    },
}

impl ContentBlock {
    /// A text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// The text of a text block.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text { text } => Some(text),
            _ => None,
        }
    }

    /// The block's `type` tag.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Text { .. } => "text",
            Self::Image { .. } => "image",
            Self::Audio { .. } => "audio",
            Self::ResourceLink { .. } => "resource_link",
            Self::Resource { .. } => "resource",
            Self::Reasoning { .. } => "reasoning",
        }
    }
}

/// Contents that have an address.
///
/// ```
/// use toolfall_layers::{ContentBlock, EmbeddedResource, ResourceContents};
///
/// let resource = EmbeddedResource {
///     uri: "file:///notes.md".to_owned(),
///     mime_type: Some("text/markdown".to_owned()),
///     contents: ResourceContents::Text("# Notes".to_owned()),
/// };
/// let block = ContentBlock::Resource { resource };
/// let text = serde_json::to_string(&block).unwrap();
/// assert_eq!(
///     text,
///     r##"{"type":"resource","resource":{"uri":"file:///notes.md","mimeType":"text/markdown","text":"# Notes"}}"##,
/// );
/// assert_eq!(serde_json::from_str::<ContentBlock>(&text).unwrap(), block);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmbeddedResource {
    /// The address.
    pub uri: String,
    /// The media type, if known.
    #[serde(rename = "mimeType", default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// What is there. Exactly one of `text` and `blob` when serialised.
    #[serde(flatten)]
    pub contents: ResourceContents,
}

/// What an embedded resource holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResourceContents {
    /// Text as it is.
    Text(String),
    /// Base64 of bytes.
    Blob(String),
}
