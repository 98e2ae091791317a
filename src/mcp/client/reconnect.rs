//! What happens when a connection is lost.

use std::time::Duration;

use serde_json::Value;
use toolfall_layers::printable;

/// Longer delays, in milliseconds, are refused rather than cut: interoperable
/// with hosts whose timers hold 31 bits.
const MAX_DELAY_MS: u128 = 2_147_483_647;
/// The same, where delays are written.
const MAX_WRITTEN_MS: f64 = 2_147_483_647.0;

/// Whether, when and how often a lost connection is made anew.
///
/// The delay before attempt `n` is `initial × 2^(n−1)`, and never longer than
/// the longest. When the attempts are used up, the server's tools go. A
/// connection that has lasted at least as long as the longest delay makes all
/// attempts available again; one that is lost sooner does not, so that a server
/// that crashes at once is not started for ever.
///
/// ```
/// use std::time::Duration;
/// use serde_json::json;
/// use toolfall::mcp::client::Reconnect;
///
/// let reconnect = Reconnect::new().max_delay(Duration::from_secs(2)).max_attempts(5);
/// assert_eq!(reconnect.delay(1), Duration::from_millis(500));
/// assert_eq!(reconnect.delay(2), Duration::from_secs(1));
/// assert_eq!(reconnect.delay(9), Duration::from_secs(2));
///
/// let written = Reconnect::from_json(&json!({"maxDelayMs": 2000, "maxAttempts": 5}))?;
/// assert_eq!(written, reconnect);
///
/// let error = Reconnect::from_json(&json!({"jitterRatio": 0.1})).unwrap_err();
/// assert_eq!(error.to_string(), "reconnect.jitterRatio is not a reconnect option");
/// # Ok::<(), toolfall::mcp::client::ReconnectError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reconnect {
    enabled: bool,
    initial_delay: Duration,
    max_delay: Duration,
    max_attempts: u32,
}

impl Reconnect {
    /// Ten attempts, after 500 ms at first and never more than 30 seconds.
    pub const fn new() -> Self {
        Self {
            enabled: true,
            initial_delay: Duration::from_millis(500),
            max_delay: Duration::from_secs(30),
            max_attempts: 10,
        }
    }

    /// No attempt. Tools of a lost connection stay registered, and their calls
    /// fail.
    pub const fn never() -> Self {
        Self {
            enabled: false,
            ..Self::new()
        }
    }

    /// Waits so long before the first attempt.
    pub const fn initial_delay(mut self, delay: Duration) -> Self {
        self.initial_delay = delay;
        self
    }

    /// Never waits longer than so long; and a connection that lasted as long
    /// makes all attempts available again.
    pub const fn max_delay(mut self, delay: Duration) -> Self {
        self.max_delay = delay;
        self
    }

    /// Gives up after so many attempts without success in between.
    pub const fn max_attempts(mut self, attempts: u32) -> Self {
        self.max_attempts = attempts;
        self
    }

    /// Reads what a configuration says: an object that may have `enabled`,
    /// `initialDelayMs`, `maxDelayMs` and `maxAttempts`. What is left out is
    /// as in [`new`](Self::new).
    ///
    /// # Errors
    ///
    /// [`ReconnectError`] for the first thing that cannot be meant.
    pub fn from_json(written: &Value) -> Result<Self, ReconnectError> {
        let Value::Object(written) = written else {
            return Err(ReconnectError::Kind {
                found: cut(written),
            });
        };
        let mut reconnect = Self::new();
        for (key, value) in written {
            match key.as_str() {
                "enabled" => {
                    let enabled = value.as_bool();
                    reconnect.enabled =
                        enabled.ok_or_else(|| ReconnectError::Enabled { found: cut(value) })?;
                }
                "initialDelayMs" => reconnect.initial_delay = delay("initialDelayMs", value)?,
                "maxDelayMs" => reconnect.max_delay = delay("maxDelayMs", value)?,
                "maxAttempts" => {
                    let attempts = value.as_u64().and_then(|it| u32::try_from(it).ok());
                    reconnect.max_attempts = attempts
                        .filter(|attempts| *attempts > 0)
                        .ok_or_else(|| ReconnectError::Attempts { found: cut(value) })?;
                }
                _ => {
                    let key = printable(key, 64);
                    return Err(ReconnectError::Unknown { key });
                }
            }
        }
        reconnect.check()?;
        Ok(reconnect)
    }

    /// Whether it can be meant so; asked when a server is loaded.
    ///
    /// # Errors
    ///
    /// [`ReconnectError`] if it cannot.
    pub fn check(&self) -> Result<(), ReconnectError> {
        let delays = [
            ("initialDelayMs", self.initial_delay),
            ("maxDelayMs", self.max_delay),
        ];
        for (name, delay) in delays {
            if delay.is_zero() || delay.as_millis() > MAX_DELAY_MS {
                let found = format!("{delay:?}");
                return Err(ReconnectError::Delay { name, found });
            }
        }
        if self.initial_delay > self.max_delay {
            return Err(ReconnectError::Order);
        }
        if self.max_attempts == 0 {
            let found = "0".to_owned();
            return Err(ReconnectError::Attempts { found });
        }
        Ok(())
    }

    /// Whether there are attempts at all.
    pub const fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// How many attempts there are.
    pub const fn attempts(&self) -> u32 {
        self.max_attempts
    }

    /// How long a connection must last for all attempts to be available
    /// again; the longest delay as well.
    pub const fn longest_delay(&self) -> Duration {
        self.max_delay
    }

    /// The wait before the attempt `attempt`, of which the first is 1.
    pub fn delay(&self, attempt: u32) -> Duration {
        let factor = 1_u32.checked_shl(attempt.saturating_sub(1));
        factor
            .and_then(|factor| self.initial_delay.checked_mul(factor))
            .map_or(self.max_delay, |delay| delay.min(self.max_delay))
    }
}

impl Default for Reconnect {
    fn default() -> Self {
        Self::new()
    }
}

/// Why a [`Reconnect`] cannot be meant so. The names are those of the written
/// form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReconnectError {
    /// It is written as something else.
    #[error("reconnect must be an object, found {found}")]
    Kind {
        /// What is there, cut.
        found: String,
    },
    /// A name that says nothing.
    #[error("reconnect.{key} is not a reconnect option")]
    Unknown {
        /// The name.
        key: String,
    },
    /// Neither true nor false.
    #[error("enabled must be true or false, found {found}")]
    Enabled {
        /// What is there, cut.
        found: String,
    },
    /// A delay that is none.
    #[error("{name} must be a positive finite number no greater than 2147483647, found {found}")]
    Delay {
        /// Which one.
        name: &'static str,
        /// What is there, cut.
        found: String,
    },
    /// The first delay is longer than the longest.
    #[error("initialDelayMs must be less than or equal to maxDelayMs")]
    Order,
    /// A number of attempts that is none.
    #[error("maxAttempts must be a positive integer, found {found}")]
    Attempts {
        /// What is there, cut.
        found: String,
    },
}

fn delay(name: &'static str, written: &Value) -> Result<Duration, ReconnectError> {
    let milliseconds = written.as_f64();
    milliseconds
        .filter(|ms| ms.is_finite() && *ms > 0.0 && *ms <= MAX_WRITTEN_MS)
        .map(|ms| Duration::from_secs_f64(ms / 1000.0))
        .ok_or_else(|| ReconnectError::Delay {
            name,
            found: cut(written),
        })
}

/// What is written there, fit for a message; nothing is walked that is deep.
fn cut(value: &Value) -> String {
    match value {
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        leaf => printable(&leaf.to_string(), 64),
    }
}
