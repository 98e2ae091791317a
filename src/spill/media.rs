//! Media types: which are ones, and how files of them are named.

/// The type of `mime`, without parameters; none if it does not look like one.
pub(super) fn media_type(mime: &str) -> Option<&str> {
    const LONGEST: usize = 100;
    let essence = mime.split(';').next()?.trim();
    let (kind, sub) = essence.split_once('/')?;
    let is_name = |name: &str| {
        let mut bytes = name.bytes();
        bytes
            .next()
            .is_some_and(|byte| byte.is_ascii_alphanumeric())
            && bytes.all(|byte| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte))
    };
    (essence.len() <= LONGEST && is_name(kind) && is_name(sub)).then_some(essence)
}

/// What the name of a file of this type ends with, if that is known.
pub(super) fn extension(media_type: &str) -> Option<&'static str> {
    Some(match media_type.to_ascii_lowercase().as_str() {
        "image/png" | "image/apng" => "png",
        "image/jpeg" | "image/jpg" | "image/pjpeg" => "jpg",
        "image/gif" => "gif",
        "image/webp" => "webp",
        "image/svg+xml" => "svg",
        "image/bmp" | "image/x-ms-bmp" => "bmp",
        "image/tiff" => "tiff",
        "image/avif" => "avif",
        "image/heic" => "heic",
        "image/x-icon" | "image/vnd.microsoft.icon" => "ico",
        "audio/wav" | "audio/x-wav" | "audio/wave" | "audio/vnd.wave" => "wav",
        "audio/mpeg" | "audio/mp3" => "mp3",
        "audio/mp4" | "audio/x-m4a" | "audio/m4a" => "m4a",
        "audio/ogg" | "audio/opus" => "ogg",
        "audio/flac" | "audio/x-flac" => "flac",
        "audio/aac" => "aac",
        "audio/webm" | "video/webm" => "webm",
        "video/mp4" => "mp4",
        "application/pdf" => "pdf",
        "application/json" => "json",
        "application/xml" | "text/xml" => "xml",
        "application/zip" => "zip",
        "application/gzip" | "application/x-gzip" => "gz",
        "application/x-tar" => "tar",
        "application/wasm" => "wasm",
        "text/plain" => "txt",
        "text/markdown" => "md",
        "text/html" => "html",
        "text/css" => "css",
        "text/csv" => "csv",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::media_type;

    #[test]
    fn what_is_no_media_type_is_not_repeated() {
        assert_eq!(media_type(" text/plain; charset=utf-8"), Some("text/plain"));
        assert_eq!(media_type("image/svg+xml"), Some("image/svg+xml"));
        let long = format!("image/{}", "x".repeat(100));
        for text in [
            "",
            "png",
            "/",
            "image/",
            "a/b/c",
            "image/p ng",
            "image/é",
            &long,
        ] {
            assert_eq!(media_type(text), None, "{text:?}");
        }
    }
}
