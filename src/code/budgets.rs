//! How much a program may use.

use std::time::Duration;

use super::ledger::SMALLEST;

/// The longest wall-clock ceiling, in milliseconds.
const LONGEST_WALL: u128 = 2_147_483_647;

/// What one run may use.
///
/// ```
/// use std::time::Duration;
/// use toolfall::code::Budgets;
///
/// let budgets = Budgets::default().wall(Duration::from_secs(30)).output(1 << 20);
/// assert_eq!(budgets.compute, Duration::from_secs(60));
/// assert!(budgets.check().is_ok());
/// let none = budgets.wall(Duration::ZERO).check().unwrap_err();
/// assert_eq!(none.to_string(), "maxWallMs must be a positive number");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Budgets {
    /// The time that a program may compute; waiting is free. 60 s.
    pub compute: Duration,
    /// The time from the request to the outcome, which nothing pauses. 600 s.
    pub wall: Duration,
    /// The bytes that come out, as JSON: see [`ledger`](super::ledger). 64 MiB.
    pub output: usize,
    /// The bytes of memory. 512 MiB.
    pub heap: u64,
    /// The bytes of logs, as JSON, after which logs are cut off with a mark
    /// and the program goes on; without it, what is too much for `output`
    /// ends the program.
    pub logs: Option<usize>,
}

impl Default for Budgets {
    fn default() -> Self {
        Self {
            compute: Duration::from_secs(60),
            wall: Duration::from_secs(600),
            output: 64 << 20,
            heap: 512 << 20,
            logs: None,
        }
    }
}

/// A budget that no run could keep.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BudgetError {
    /// It is nothing.
    #[error("{0} must be a positive number")]
    NotPositive(&'static str),
    /// A ceiling is beyond what clocks measure.
    #[error("maxWallMs must be at most {LONGEST_WALL}")]
    WallTooLong,
    /// Not even the failure would fit.
    #[error("maxOutputBytes must be a safe integer of at least {SMALLEST}")]
    OutputTooSmall,
}

impl Budgets {
    /// Sets the time to compute.
    pub fn compute(mut self, compute: Duration) -> Self {
        self.compute = compute;
        self
    }

    /// Sets the wall-clock ceiling.
    pub fn wall(mut self, wall: Duration) -> Self {
        self.wall = wall;
        self
    }

    /// Sets the bytes of output.
    pub fn output(mut self, bytes: usize) -> Self {
        self.output = bytes;
        self
    }

    /// Sets the bytes of memory.
    pub fn heap(mut self, bytes: u64) -> Self {
        self.heap = bytes;
        self
    }

    /// Cuts logs off after so many bytes instead of ending the program.
    pub fn logs(mut self, bytes: usize) -> Self {
        self.logs = Some(bytes);
        self
    }

    /// Judges the budgets. Every runtime asks when it is made.
    ///
    /// # Errors
    ///
    /// The first budget that cannot be kept.
    pub fn check(&self) -> Result<(), BudgetError> {
        let positive = [
            ("maxComputeMs", !self.compute.is_zero()),
            ("maxWallMs", !self.wall.is_zero()),
            ("maxHeapBytes", self.heap > 0),
            ("maxLogBytes", self.logs != Some(0)),
        ];
        if let Some((name, _)) = positive.into_iter().find(|(_, positive)| !positive) {
            return Err(BudgetError::NotPositive(name));
        }
        if self.wall.as_millis() > LONGEST_WALL {
            return Err(BudgetError::WallTooLong);
        }
        if self.output < SMALLEST {
            return Err(BudgetError::OutputTooSmall);
        }
        Ok(())
    }

    /// What is said when the time to compute is used up.
    pub fn compute_message(&self) -> String {
        format!("compute budget exhausted ({}ms busy)", millis(self.compute))
    }

    /// What is said when the wall-clock ceiling is reached.
    pub fn wall_message(&self) -> String {
        format!("wall-clock ceiling reached ({}ms)", millis(self.wall))
    }
}

/// Milliseconds as they were configured: whole ones without a point.
fn millis(duration: Duration) -> String {
    let micros = duration.as_micros();
    if micros.is_multiple_of(1_000) {
        return duration.as_millis().to_string();
    }
    (duration.as_secs_f64() * 1_000.0).to_string()
}
