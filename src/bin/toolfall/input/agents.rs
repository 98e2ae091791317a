//! The agents that batches may name.

/// The agents that batches may name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Agents {
    pub(crate) names: Vec<String>,
    /// The one of batches that name none.
    pub(crate) otherwise: Option<String>,
}

impl Agents {
    /// Whether there is one of that name.
    ///
    /// # Errors
    ///
    /// What was expected instead.
    pub(crate) fn check(&self, name: &str) -> Result<(), String> {
        if self.names.iter().any(|known| known == name) {
            return Ok(());
        }
        let known = match self.names.as_slice() {
            [] => "no agent, since the configuration has no [[agent]]".to_owned(),
            names => format!("the agent {}", names.join(", ")),
        };
        Err(format!("expected {known}, found {name:?}"))
    }
}
