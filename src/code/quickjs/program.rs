//! From a program's text to its end, on a thread that has the stack for it.

use std::rc::Rc;
use std::sync::Arc;

use super::edge::{Ending, Limits, Outside, Roster, Stop};
use super::engine;

/// What a thread has for the engine, and for what the engine calls without
/// asking how much is left.
const STACK: usize = engine::STACK + 3 * 1024 * 1024;

/// A program, and what is bound in it.
pub(super) struct Job {
    pub(super) program: String,
    pub(super) namespaces: Vec<Roster>,
    pub(super) limits: Limits,
    pub(super) stop: Arc<Stop>,
}

impl Job {
    /// The stack that the job's thread needs, in bytes.
    ///
    /// # Errors
    ///
    /// The message of a program that is too long to be read.
    pub(super) fn stack(&self) -> Result<usize, String> {
        #[cfg(feature = "code-ts")]
        {
            let reading = super::strip::stack(&self.program).map_err(|it| it.to_string())?;
            Ok(STACK.max(reading + 512 * 1024))
        }
        #[cfg(not(feature = "code-ts"))]
        Ok(STACK)
    }

    /// Runs the program. Blocks.
    pub(super) fn run<O: Outside>(self, outside: Rc<O>) -> Ending {
        #[cfg(feature = "code-ts")]
        let program = match super::strip::strip(&self.program) {
            Ok(program) => program,
            Err(refusal) => return Ending::exception(refusal.to_string()),
        };
        #[cfg(not(feature = "code-ts"))]
        let program = self.program;
        engine::run(
            &program,
            &self.namespaces,
            &self.limits,
            &self.stop,
            outside,
        )
    }
}
