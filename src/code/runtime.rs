//! What runs programs.

use futures_util::future::BoxFuture;

use super::{Misuse, RunOutcome, RunRequest};

/// Runs programs, each in a world of its own: nothing that one leaves behind
/// is visible to the next.
pub trait CodeRuntime: Send + Sync + 'static {
    /// The language of the programs, `typescript` or `python` for instance.
    /// A description: it picks the text that declares the tools to a model.
    fn language(&self) -> &str;

    /// What separates a program from the host, in a word or two. A
    /// description for people, not a claim.
    fn isolation(&self) -> &str;

    /// Runs a program to its end.
    ///
    /// # Errors
    ///
    /// Only for a request that no program could be run with; whatever the
    /// program does is in the outcome.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future ends the program.
    fn run(&self, request: RunRequest) -> BoxFuture<'_, Result<RunOutcome, Misuse>>;

    /// Ends what runs, as `runtime disposed`, and waits until it is gone;
    /// what is asked for later is [`Misuse::Disposed`].
    ///
    /// # Cancel safety
    ///
    /// The runtime is disposed of from the first poll on; dropping the future
    /// only stops the waiting.
    fn dispose(&self) -> BoxFuture<'_, ()>;
}
