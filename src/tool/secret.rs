//! Where a tool's secrets are.

use std::borrow::Cow;

use super::ToolDef;

impl ToolDef {
    /// Names the places of secrets in the arguments, by JSON pointers (RFC
    /// 6901) in which a segment `*` stands for every member and every item.
    /// People who are asked, session logs, cards and traces see `"[redacted]"`
    /// there; what runs and what decides sees the original. Adds to those named
    /// before. See [`redaction`](crate::redaction).
    ///
    /// A pointer that is none is refused when the tool is registered.
    ///
    /// ```
    /// use serde_json::json;
    /// use toolfall::{Arguments, BoxError, RegisterError, Registry, raw_tool};
    ///
    /// let tool = raw_tool("log_in", "Logs in", json!({}), |_: Arguments, _| async {
    ///     Ok::<_, BoxError>(json!(null))
    /// });
    /// let refused = Registry::new().register(tool.clone().secret_arguments(["pin"]));
    /// assert!(matches!(refused, Err(RegisterError::Secret { .. })));
    /// Registry::new().register(tool.secret_arguments(["/pin", "/headers/*"])).unwrap().keep();
    /// ```
    pub fn secret_arguments<P: Into<Cow<'static, str>>>(
        mut self,
        pointers: impl IntoIterator<Item = P>,
    ) -> Self {
        let pointers = pointers.into_iter().map(Into::into);
        self.secret_arguments.extend(pointers);
        self
    }

    /// Names the places of secrets in the canonical value; as
    /// [`secret_arguments`](Self::secret_arguments). The model sees them.
    ///
    /// Where the content is the value as JSON, the places are hidden in it.
    /// Where a renderer made something else of it, secrets of 8 characters, or
    /// of 4 that stand as a word, are masked in its texts.
    pub fn secret_results<P: Into<Cow<'static, str>>>(
        mut self,
        pointers: impl IntoIterator<Item = P>,
    ) -> Self {
        let pointers = pointers.into_iter().map(Into::into);
        self.secret_results.extend(pointers);
        self
    }

    pub(crate) fn secrets_in_arguments(&self) -> impl Iterator<Item = &str> {
        self.secret_arguments.iter().map(AsRef::as_ref)
    }

    pub(crate) fn secrets_in_results(&self) -> impl Iterator<Item = &str> {
        self.secret_results.iter().map(AsRef::as_ref)
    }
}
