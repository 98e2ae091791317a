//! What a run and a gateway have in common: one place that knows the order of
//! the policies.

mod agents;
mod asking;
mod decide;
mod log;
mod policies;
mod upstreams;

use std::sync::Arc;
use std::time::Duration;

use toolfall::host::{Host, HostPipeline};
use toolfall::pipeline::BoxPipeline;
use toolfall::policy::{ListenerRegistration, RuleList};
use toolfall::redaction::SecretShapes;
use toolfall::session::{SessionLog, SessionRecorder};
use toolfall::spill::SpillPolicy;
use toolfall::{PostDecision, PostRequest, Registration, TimeoutLayer};

pub(crate) use self::agents::{Agents, known_agents};
pub(crate) use self::asking::Asking;
use self::decide::Decide;
pub(crate) use self::log::{log_path, open_log};
pub(crate) use self::policies::Policies;
pub(crate) use self::upstreams::Upstreams;
use crate::config::{Config, default_rules};
use crate::error::Error;

/// What a pipeline is made of.
pub(crate) struct Parts<'a> {
    pub(crate) host: &'a Host,
    pub(crate) config: &'a Config,
    pub(crate) agents: &'a Agents,
    pub(crate) policies: &'a Policies,
    pub(crate) asking: &'a Asking,
    pub(crate) rules: Vec<RuleList>,
    pub(crate) shapes: Option<SecretShapes>,
    pub(crate) spill: SpillPolicy,
    /// Whether nobody is asked.
    pub(crate) never: bool,
    pub(crate) recorder: &'a Arc<SessionRecorder>,
}

/// The pipeline.
pub(crate) fn pipeline(parts: Parts<'_>) -> BoxPipeline {
    let Parts {
        host,
        config,
        agents,
        policies,
        asking,
        rules,
        shapes,
        spill,
        never,
        recorder,
    } = parts;
    let decide = Decide::new(rules, agents.limits(), asking.permission.clone());
    let masks = shapes.clone().filter(|_| config.mask_results());
    redacting(host.pipeline(), shapes.as_ref())
        // Outermost, so that it measures what all others made of a result.
        .post_execute(spill)
        // Outside the hooks, so that it counts every outcome as it will be.
        .post_execute(policies.remind())
        // Outside the hooks, so that what they say is masked as well.
        .post_execute(masking(masks))
        .post_execute(policies.hooks_after())
        .decision_layer(policies.budgets.layer())
        .pre_decision(policies.hooks_before(never))
        .pre_decision(policies.decide(decide, never))
        .approval(asking.answerers.clone())
        .timeout(match config.timeout_ms() {
            Some(budget) => TimeoutLayer::new(Duration::from_millis(budget.get())),
            None => TimeoutLayer::declared(),
        })
        .recorder(recorder.clone())
        .build()
        .boxed()
}

/// The recorder of `log`, for messages and calls that no pipeline has, too.
pub(crate) fn recorder(log: &SessionLog, shapes: Option<&SecretShapes>) -> SessionRecorder {
    let recorder = SessionRecorder::new(log.clone());
    match shapes {
        Some(shapes) => recorder.redact(shapes.clone()),
        None => recorder,
    }
}

/// Hides secrets from people and the log, if anything is to be hidden.
fn redacting(pipeline: HostPipeline, shapes: Option<&SecretShapes>) -> HostPipeline {
    match shapes {
        Some(shapes) => pipeline.redact(shapes.clone()),
        None => pipeline,
    }
}

/// Masks results for the model, if anything is to be.
fn masking(
    masks: Option<SecretShapes>,
) -> impl Fn(&PostRequest) -> PostDecision + Clone + Send + Sync + 'static {
    move |post: &PostRequest| match &masks {
        Some(shapes) => shapes.review(post),
        None => PostDecision::accept(),
    }
}

/// The file's rules, or the default ones. Where presets are in force they take
/// the place of the default ones.
pub(crate) fn rules(config: &Config, presets: bool, replay: bool) -> Result<Vec<RuleList>, Error> {
    let rules = match config.rules()? {
        None if !presets => Some(default_rules(replay)?),
        rules => rules,
    };
    Ok(rules.into_iter().collect())
}

/// The tool that runs programs, with what belongs to it.
pub(crate) struct Programs {
    attached: Registration,
    log: Option<ListenerRegistration>,
}

impl Programs {
    /// It stays as long as the process.
    pub(crate) fn keep(self) {
        self.attached.keep();
        if let Some(log) = self.log {
            log.keep();
        }
    }
}

/// Lets the model run programs, if the file says so.
pub(crate) fn programs(
    config: &Config,
    host: &Host,
    spill: &SpillPolicy,
) -> Result<Option<Programs>, Error> {
    let Some(code) = config.code()? else {
        return Ok(None);
    };
    let attached = code.attach(host.registry());
    let attached = attached.map_err(|error| Error::own("programs cannot be run", &error))?;
    let log = spill.register_log(code.log_copies());
    Ok(Some(Programs { attached, log }))
}
