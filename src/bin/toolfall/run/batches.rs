//! Running batches one after the other.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::StreamExt as _;
use serde_json::json;
use toolfall::card::Presented;
use toolfall::pipeline::PipelineService;
use toolfall::redaction::{SecretShapes, ShownResult};
use toolfall::replay::{Replay, Unrecorded};
use toolfall::session::SessionRecorder;
use toolfall::{
    Arguments, BatchEvent, CallRequest, FailureKind, Registration, Registry, Scheduler, Scope,
    ToolResult,
};

use super::noted::Noted;
use super::queue::Queue;
use crate::compose::{Agents, Policies};
use crate::config::Config;
use crate::error::{Error, chain, log_error};
use crate::input::{Batch, Call, RowTool};
use crate::interrupt::Interrupt;
use crate::render::{Cards, Ended, Ending, Form, Shown, Totals};
use crate::screen::Screen;

/// Everything that a batch needs.
pub(super) struct Runner<S> {
    pub(super) scheduler: Scheduler<S>,
    pub(super) registry: Registry,
    pub(super) recorder: Arc<SessionRecorder>,
    pub(super) screen: Arc<Screen>,
    pub(super) interrupt: Interrupt,
    pub(super) form: Form,
    pub(super) replay: bool,
    pub(super) policies: Policies,
    /// The end that a person called for.
    pub(super) ending: Option<Ending>,
    /// Why the run ended before its batches did, if it did.
    pub(super) ended: Option<Ended>,
    /// Who makes calls. Dropped at the end, which takes its tools away.
    pub(super) agents: Agents,
    /// What the tools that batches offer have to hide.
    pub(super) config: Config,
    pub(super) shapes: Option<SecretShapes>,
    pub(super) totals: Totals,
    /// Whether a call could not be recorded, and so did not run.
    pub(super) unrecorded: bool,
    /// The tools that the batch offers, by name.
    pub(super) offered: HashMap<String, Offered>,
}

/// A tool of a row, registered.
pub(super) struct Offered {
    tool: RowTool,
    /// Whether it has no recorded answers.
    plain: bool,
    _registration: Registration,
}

impl<S> Runner<S>
where
    S: PipelineService + Send + 'static,
    S::Future: Send,
{
    /// Runs the queue to its end. Once cancelled, the calls of what was read
    /// are still answered, and nothing more is read. A budget may end it
    /// between two batches.
    pub(super) async fn run(&mut self, mut queue: Queue) -> Result<(), Error> {
        let cancelled = self.interrupt.cancel().clone();
        loop {
            let batch = if cancelled.is_cancelled() {
                queue.next_read()
            } else {
                tokio::select! {
                    biased;
                    () = cancelled.cancelled() => continue,
                    batch = queue.next() => batch?,
                }
            };
            match batch {
                Some(batch) => self.batch(&batch).await?,
                None => return Ok(()),
            }
            if !cancelled.is_cancelled()
                && let Some(why) = self.ending.take().or_else(|| self.policies.ends())
            {
                let not_begun = queue.left();
                self.ended = Some(Ended { why, not_begun });
                return Ok(());
            }
        }
    }

    async fn batch(&mut self, batch: &Batch) -> Result<(), Error> {
        self.screen.print(&self.form.begin(batch));
        if self.replay {
            self.offer(batch);
            // What a batch offers comes and goes, and is hidden as it comes.
            self.agents.hide_again(&self.registry);
        }
        let scope = self.agents.scope(batch.agent.as_deref()).clone();
        self.totals.batches += 1;
        let number = self.totals.batches;
        self.policies.begin(batch, number, &scope);
        self.totals.not_ours += batch.apart.len() as u64;
        let cancel = self.interrupt.cancel().child_token();
        let notes: Vec<Noted> = batch.calls.iter().map(|_| Noted::default()).collect();
        let requests: Vec<CallRequest> = batch
            .calls
            .iter()
            .zip(&notes)
            .map(|(call, noted)| {
                CallRequest::new(
                    call.id.clone().unwrap_or_default(),
                    call.name.clone(),
                    call.arguments.clone(),
                    cancel.clone(),
                )
                .with_scope(scope.clone())
                .with_extension(noted.clone())
            })
            .collect();
        let mut running = self.scheduler.batch(requests, cancel);
        if let Some(why) = &batch.incomplete {
            running = running.incomplete(why.clone());
        }
        while let Some(event) = running.next().await {
            match event {
                BatchEvent::Committed(committed) => {
                    let result = &committed.result;
                    let failed = result.is_error();
                    self.totals.calls += 1;
                    self.totals.failed += u64::from(failed);
                    self.totals.succeeded += u64::from(!failed);
                    self.unrecorded |= result.kind() == Some(FailureKind::Unrecorded);
                    if let Some(call) = batch.calls.get(committed.place) {
                        if refused_for_good(result) {
                            self.ending = Some(Ending::Person(call.name.clone()));
                        }
                        let through = notes.get(committed.place).map(Noted::get);
                        let through = through.unwrap_or_default();
                        let shown = || self.shown(call, result, &scope);
                        let text =
                            self.form
                                .result(batch, committed.place, call, result, &through, shown);
                        self.screen.print(&text);
                    }
                    self.screen.advance();
                    if self.screen.is_closed() {
                        // Nobody reads on: nothing more is begun.
                        self.interrupt.cancel().cancel();
                    }
                }
                BatchEvent::Ended(end) => {
                    let mut shown = self.recorder.shown_contexts(&end.contexts);
                    shown.extend(self.recorder.shown_contexts(&end.parked));
                    // Messages that a cancelled batch holds back are not lost.
                    for contexts in [&end.contexts, &end.parked] {
                        self.recorder
                            .contexts(contexts)
                            .map_err(|error| log_error(&error))?;
                    }
                    self.screen.print(&self.form.end(batch, &end, &shown));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// What people see of a call and its result.
    fn shown(&self, call: &Call, result: &ToolResult, scope: &Scope) -> Shown {
        let (registry, scope) = (&self.registry, Some(scope));
        let cancel = self.interrupt.cancel().clone();
        let mut request = CallRequest::new("", call.name.clone(), call.arguments.clone(), cancel);
        if let Some(redaction) = registry.redaction(&call.name, scope) {
            request = request.with_redaction(redaction);
        }
        if let Some(shapes) = &self.shapes {
            request = request.with_redaction(Arc::new(shapes.clone()));
        }
        let arguments = request.shown_arguments().into_owned();
        let shown = request.shown_result(result);
        let result = shown.unwrap_or_else(|| ShownResult::of(result));
        let presented = Presented::of_shown(&result);
        let cards = match Arguments::from_text(arguments.clone()) {
            Ok(arguments) => Cards {
                call: registry.call_card(&call.name, &arguments, scope),
                result: registry.result_card(&call.name, &arguments, &presented, scope),
            },
            Err(_) => Cards::default(),
        };
        Shown {
            arguments,
            content: result.content,
            cards,
        }
    }

    /// Registers the tools that the batch offers, as replay tools. A tool
    /// whose schema cannot be used is left out, and that is told.
    fn offer(&mut self, batch: &Batch) {
        let mut before = std::mem::take(&mut self.offered);
        let mut wanted: Vec<&RowTool> = Vec::new();
        for tool in &batch.tools {
            // Two tool sets of one row may share a tool.
            if wanted.iter().all(|other| other.name != tool.name) {
                wanted.push(tool);
            }
        }
        // What the batch before offered just so need not be compiled again.
        for tool in &wanted {
            if let Some(offered) = before.remove(&tool.name)
                && offered.plain
                && offered.tool.is(tool)
                && is_plain(batch, tool)
            {
                self.offered.insert(tool.name.clone(), offered);
            }
        }
        drop(before);
        for tool in wanted {
            if self.offered.contains_key(&tool.name) || self.registry.contains(&tool.name, None) {
                continue;
            }
            match self
                .registry
                .register(self.config.with_secrets(replay(batch, tool).into_tool()))
            {
                Ok(registration) => {
                    let offered = Offered {
                        tool: tool.clone(),
                        plain: is_plain(batch, tool),
                        _registration: registration,
                    };
                    self.offered.insert(tool.name.clone(), offered);
                }
                Err(error) => {
                    let text = self.form.left_out(batch, &tool.name, &chain(&error));
                    self.screen.print(&text);
                }
            }
        }
    }
}

/// Whether a person refused the call and ended the run with that. A tool that
/// concludes the turn of a model ends no run: the next batch is another turn.
fn refused_for_good(result: &ToolResult) -> bool {
    result.is_error() && result.concludes_turn()
}

/// Whether nothing in the batch is recorded for the tool.
fn is_plain(batch: &Batch, tool: &RowTool) -> bool {
    batch
        .calls
        .iter()
        .all(|call| call.name != tool.name || (call.recorded.is_none() && !call.free_text))
}

fn replay(batch: &Batch, tool: &RowTool) -> Replay {
    let mut replay = Replay::new(
        tool.name.clone(),
        tool.description.clone().unwrap_or_default(),
        tool.parameters
            .clone()
            .unwrap_or_else(|| json!({"type": "object"})),
    )
    .unrecorded(Unrecorded::Show);
    for call in batch.calls.iter().filter(|call| call.name == tool.name) {
        if let Some(answer) = &call.recorded {
            replay = replay.answer(answer.clone());
        }
        if call.free_text {
            replay = replay.free_text();
        }
    }
    replay
}
