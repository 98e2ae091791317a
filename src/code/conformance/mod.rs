//! What every runtime of programs must do, as a test (feature `testing`).
//!
//! [`check`] runs a table of small programs in a runtime and compares what
//! comes out. The programs exist in [JavaScript](Dialect::javascript) and in
//! [Python](Dialect::python); for another language its owner
//! [supplies](Dialect::new) them under the same names, and reads here what
//! each is to do. A case without a program is skipped, and the [`Report`]
//! says so.
//!
//! ```no_run
//! use std::sync::Arc;
//! use toolfall::code::conformance::{Dialect, check};
//! use toolfall::code::{Budgets, CodeRuntime};
//!
//! async fn holds<R>(my_runtime: fn(&Budgets) -> R)
//! where
//!     R: CodeRuntime + 'static,
//! {
//!     let made = |budgets: &Budgets| Arc::new(my_runtime(budgets)) as Arc<dyn CodeRuntime>;
//!     let report = check(&made, &Dialect::javascript()).await;
//!     assert!(report.failures().is_empty(), "{report}");
//! }
//! ```

mod cases;
mod world;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::time::{sleep, timeout};

use self::cases::{Case, Expect, How};
use crate::code::{Budgets, CodeRuntime, Misuse, RunFailureKind, RunOutcome, RunRequest};

/// No case takes longer, whatever the machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Programs in one language, by the names of the cases.
pub struct Dialect(Box<Programs>);

type Programs = dyn Fn(&str) -> Option<String> + Send + Sync;

impl Dialect {
    /// The programs that `program` gives for the names of cases.
    pub fn new(program: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        Self(Box::new(program))
    }

    /// ECMAScript, without types: TypeScript as well.
    pub fn javascript() -> Self {
        Self::new(|name| cases::find(name)?.javascript.map(str::to_owned))
    }

    /// Python.
    pub fn python() -> Self {
        Self::new(|name| cases::find(name)?.python.map(str::to_owned))
    }
}

impl fmt::Debug for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dialect").finish_non_exhaustive()
    }
}

/// What came of one case.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// It did what it must.
    Passed,
    /// There is no program for it in this language.
    Skipped,
    /// It did something else.
    Failed(String),
}

/// What came of all cases, in order.
#[derive(Clone, Debug)]
pub struct Report {
    cases: Vec<(&'static str, Verdict)>,
}

impl Report {
    /// The cases by name.
    pub fn cases(&self) -> &[(&'static str, Verdict)] {
        &self.cases
    }

    /// The cases that failed, and what they did.
    pub fn failures(&self) -> Vec<(&'static str, &str)> {
        self.cases
            .iter()
            .filter_map(|(name, verdict)| match verdict {
                Verdict::Failed(why) => Some((*name, why.as_str())),
                _ => None,
            })
            .collect()
    }

    /// The names of the cases for which there was no program.
    pub fn skipped(&self) -> Vec<&'static str> {
        let skipped = |(name, verdict): &(&'static str, Verdict)| {
            (*verdict == Verdict::Skipped).then_some(*name)
        };
        self.cases.iter().filter_map(skipped).collect()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, verdict) in &self.cases {
            match verdict {
                Verdict::Passed => writeln!(f, "passed   {name}")?,
                Verdict::Skipped => writeln!(f, "skipped  {name}")?,
                Verdict::Failed(why) => writeln!(f, "FAILED   {name}: {why}")?,
            }
        }
        Ok(())
    }
}

/// The names of all cases, and in a sentence what each is about.
pub fn names() -> Vec<(&'static str, &'static str)> {
    cases::all().map(|case| (case.name, case.about)).collect()
}

/// Holds a runtime to the contract.
///
/// `make` makes a runtime with the given budgets; one is made for all cases
/// with the usual ones, and one more for each that has its own. They are
/// disposed of.
///
/// # Cancel safety
///
/// Dropping the future ends the case that runs.
pub async fn check(
    make: &(dyn Fn(&Budgets) -> Arc<dyn CodeRuntime> + Sync),
    dialect: &Dialect,
) -> Report {
    let usual = make(&Budgets::default());
    let mut cases = Vec::new();
    for case in cases::all() {
        let Some(program) = (dialect.0)(case.name) else {
            cases.push((case.name, Verdict::Skipped));
            continue;
        };
        let own = (case.budgets)(Budgets::default());
        let is_own = own != Budgets::default() || matches!(case.how, How::Disposed);
        let runtime = if is_own { make(&own) } else { usual.clone() };
        let judged = async {
            let verdict = run(case, program, &*runtime).await;
            if is_own {
                runtime.dispose().await;
            }
            verdict
        };
        let verdict = match timeout(PATIENCE, judged).await {
            Ok(Ok(())) => Verdict::Passed,
            Ok(Err(why)) => Verdict::Failed(why),
            Err(_) => Verdict::Failed(format!("no outcome within {PATIENCE:?}")),
        };
        cases.push((case.name, verdict));
    }
    usual.dispose().await;
    Report { cases }
}

async fn run(case: &Case, program: String, runtime: &dyn CodeRuntime) -> Result<(), String> {
    let request = world::bind(RunRequest::new(program));
    let cancel = request.cancel.clone();
    let outcome = match case.how {
        How::Plainly => runtime.run(request).await,
        How::Cancelled(reason) => {
            cancel.cancel(reason);
            runtime.run(request).await
        }
        How::CancelledLater(reason) => {
            let later = async {
                sleep(Duration::from_millis(700)).await;
                cancel.cancel(reason);
            };
            tokio::join!(runtime.run(request), later).0
        }
        How::Disposed => {
            let later = async {
                sleep(Duration::from_millis(700)).await;
                runtime.dispose().await;
            };
            let outcome = tokio::join!(runtime.run(request), later).0;
            match runtime.run(RunRequest::new("")).await {
                Err(Misuse::Disposed) => outcome,
                other => return Err(format!("after disposal, a run gave {other:?}")),
            }
        }
    };
    let outcome = outcome.map_err(|misuse| format!("misuse: {misuse}"))?;
    judge(case, &outcome)
}

fn judge(case: &Case, outcome: &RunOutcome) -> Result<(), String> {
    let shown = || {
        let text = format!("{outcome:?}");
        text.chars().take(600).collect::<String>()
    };
    let fails = |kind: &RunFailureKind| outcome.error.as_ref().map(|e| e.kind) == Some(*kind);
    let said = outcome.error.as_ref().map_or("", |error| &error.message);
    let holds = match &case.expect {
        Expect::Value(text) => {
            let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
            outcome.value == Some(value)
        }
        Expect::Items(count) => {
            let list = outcome.value.as_ref().and_then(Value::as_array);
            list.is_some_and(|items| items.len() == *count)
        }
        Expect::NoValue => outcome.value.is_none() && outcome.error.is_none(),
        Expect::Says(kind, message) => fails(kind) && said == *message,
        Expect::Holds(kind, part) => fails(kind) && said.contains(part),
        Expect::Fails(kinds) => kinds.iter().any(fails),
    };
    if !holds {
        return Err(format!("expected {:?}, found {}", case.expect, shown()));
    }
    if outcome.error.is_some() && outcome.value.is_some() {
        return Err(format!("a failure with a value: {}", shown()));
    }
    if case.logs.is_some_and(|logs| outcome.logs != logs) {
        return Err(format!("expected logs {:?}, found {}", case.logs, shown()));
    }
    let cap = (case.budgets)(Budgets::default()).output;
    let json = |text: &str| serde_json::to_string(text).map_or(0, |json| json.len());
    let logs: usize = outcome.logs.iter().map(|log| json(log) + 1).sum();
    let value = outcome.value.as_ref().map_or(0, |v| v.to_string().len());
    let error = outcome.error.as_ref().map_or(0, |e| json(&e.message));
    let taken = 2 + logs.saturating_sub(1) + value + error;
    if taken > cap {
        return Err(format!(
            "{taken} bytes where {cap} may come out: {}",
            shown()
        ));
    }
    Ok(())
}
