//! stub
use serde_json::Value;
use std::sync::{Arc, OnceLock};
/// stub
#[derive(Clone, Debug)]
pub struct Arguments(Arc<(String, OnceLock<Value>)>);
/// stub
#[derive(Debug, Clone)]
pub struct ArgumentsError;
impl std::fmt::Display for ArgumentsError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("x")
    }
}
impl std::error::Error for ArgumentsError {}
impl Arguments {
    /// stub
    pub fn empty() -> Self {
        Self(Arc::new(("{}".into(), OnceLock::new())))
    }
    /// stub
    pub fn from_text(t: impl Into<String>) -> Result<Self, ArgumentsError> {
        Ok(Self(Arc::new((t.into(), OnceLock::new()))))
    }
    /// stub
    pub fn text(&self) -> &str {
        &self.0.0
    }
    /// stub
    pub fn json(&self) -> &str {
        &self.0.0
    }
    /// stub
    pub fn value(&self) -> &Value {
        self.0
            .1
            .get_or_init(|| serde_json::from_str(&self.0.0).unwrap_or(Value::Null))
    }
}

impl ArgumentsError {
    pub(crate) const fn taken() -> Self {
        Self
    }
}
