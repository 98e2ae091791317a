//! Cards of calls that control background jobs.

use super::{CallCard, GenericCall, Kind};

/// The call that reads what a job printed.
///
/// ```
/// use toolfall::card::jobs::output_call;
///
/// assert_eq!(output_call("bash-1").title(), "Read output from background job bash-1");
/// ```
pub fn output_call(job: &str) -> CallCard {
    let card = GenericCall::new(format!("Read output from background job {job}"));
    CallCard::Generic(card.kind(Kind::Read).raw_input(job))
}

/// The call that lists the jobs.
pub fn list_call() -> CallCard {
    CallCard::Generic(GenericCall::new("List background jobs").kind(Kind::Read))
}

/// The call that ends a job.
pub fn kill_call(job: &str) -> CallCard {
    let card = GenericCall::new(format!("Kill background job {job}"));
    CallCard::Generic(card.kind(Kind::Execute).raw_input(job))
}
