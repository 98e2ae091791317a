//! `toolfall run`: batches through the pipeline.

mod batches;
mod queue;

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use toolfall::approval::Answerers;
use toolfall::policy::RuleList;
use toolfall::session::{Options, Recovery, SessionLog, SessionRecorder, SyncPolicy};
use toolfall::{
    ApprovalRequest, CallView, Decision, Pipeline, Registry, Scheduler, Scope, TimeoutLayer,
};

use self::batches::Runner;
use self::queue::Queue;
use crate::args::{Approve, Run};
use crate::config::{Config, Sync, default_rules};
use crate::error::{Error, log_error};
use crate::interrupt::Interrupt;
use crate::prompt::Prompt;
use crate::render::{Form, Totals};
use crate::screen::Screen;

/// The log's name if nothing names one.
const LOG: &str = "toolfall-session.jsonl";

/// Runs everything, and says with which status the program ends.
pub(crate) async fn run(args: Run) -> Result<u8, Error> {
    let config = Config::find(args.config.as_deref(), &args.files)?;
    let queue = Queue::open(&args.files).await?;
    let registry = Registry::new();
    let tools = config.register(&registry, args.root.as_deref(), args.replay)?;
    if tools.is_empty() && !args.replay {
        return Err(no_tools(&config));
    }
    let rules = match config.rules()? {
        Some(rules) => rules,
        None => default_rules(args.replay)?,
    };
    let interrupt = Interrupt::default().listen()?;
    if args.files.is_empty() && !args.quiet && std::io::stdin().is_terminal() {
        eprintln!("reading batches from the keyboard, one a line; Ctrl-D ends them");
    }
    let form = form(&args);
    let human = matches!(form, Form::Human { .. });
    let screen = Arc::new(Screen::new(human && !args.quiet, queue.calls()));
    let log = open_log(&args, &config, &screen)?;
    let recorder = Arc::new(SessionRecorder::new(log.clone()));

    let never = args.approve.or(config.approve()) == Some(Approve::Never);
    let prompt = Arc::new(Prompt::new(screen.clone(), interrupt.clone()));
    let answerers = Answerers::audited(recorder.clone());
    answerers
        .register(move |request: ApprovalRequest| {
            let prompt = prompt.clone();
            async move { Some(prompt.ask(&request).await) }
        })
        .keep();
    let pipeline = Pipeline::builder(registry.clone())
        .pre_decision(move |call: &CallView| decide(&rules, call, never))
        .approval(answerers)
        .timeout(match config.timeout_ms() {
            Some(budget) => TimeoutLayer::new(Duration::from_millis(budget.get())),
            None => TimeoutLayer::declared(),
        })
        .recorder(recorder.clone())
        .build();
    let mut scheduler = Scheduler::new(pipeline, registry.clone()).journal(recorder.clone());
    if let Some(limit) = args.max_parallel.or(config.max_parallel()) {
        scheduler = scheduler.limit(limit);
    }
    let mut runner = Runner {
        scheduler,
        registry,
        recorder,
        screen: screen.clone(),
        interrupt: interrupt.clone(),
        form,
        replay: args.replay,
        scope: Scope::new("toolfall"),
        totals: Totals::default(),
        unrecorded: false,
        offered: HashMap::new(),
    };
    let ran = tokio::select! {
        ran = runner.run(queue) => ran,
        () = interrupt.abandon().cancelled() => Ok(()),
    };
    screen.finish();
    let cancelled = interrupt.cancel().is_cancelled();
    finish(&runner, form, cancelled, args.quiet);
    // Bodies that are still running hold clones; the log is closed for them.
    let closed = log.close().await;
    let unwritten = runner.unrecorded || screen.is_closed();
    drop((runner, tools));
    ran?;
    closed.map_err(|error| log_error(&error))?;
    Ok(match (unwritten, cancelled) {
        (true, _) => 1,
        (false, true) => 130,
        (false, false) => 0,
    })
}

/// What the rules say. A tool that does not exist is nobody's to decide: the
/// pipeline answers so, and with the names that may have been meant.
fn decide(rules: &RuleList, call: &CallView, never: bool) -> Decision {
    if call.definition().is_none() {
        return Decision::Allow;
    }
    match rules.decide(call) {
        Decision::Ask(mut reason) if never => {
            let why = reason.text.take().unwrap_or_default();
            let text = format!("{why}, and nobody is asked in this run");
            reason.text = Some(text.into());
            Decision::Deny(reason)
        }
        decision => decision,
    }
}

fn form(args: &Run) -> Form {
    let terminal = std::io::stdout().is_terminal();
    if args.json || !(args.human || terminal) {
        return Form::Json;
    }
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    Form::Human {
        colours: terminal && !plain,
    }
}

fn no_tools(config: &Config) -> Error {
    Error::input(match config.file() {
        Some(file) => format!(
            "{}: expected tools, found none: add [files], [[command]] or [[replay]], or give \
             --root DIR or --replay",
            file.display()
        ),
        None => {
            "expected tools, found none: there is no toolfall.toml beside the batches or here; \
                 give --config FILE, --root DIR or --replay"
                .to_owned()
        }
    })
}

fn open_log(args: &Run, config: &Config, screen: &Screen) -> Result<SessionLog, Error> {
    let path = args.log.clone().or_else(|| config.log());
    let path = path.unwrap_or_else(|| config.beside(&PathBuf::from(LOG)));
    let sync = match config.sync() {
        Sync::Never => SyncPolicy::Never,
        Sync::Every => SyncPolicy::Every,
    };
    let (log, recovery) =
        SessionLog::open(&path, Options::new().sync(sync)).map_err(|error| log_error(&error))?;
    if !args.quiet {
        tell(&path, &recovery, screen);
    }
    Ok(log)
}

/// What an earlier run left open is no secret.
fn tell(path: &Path, recovery: &Recovery, screen: &Screen) {
    let path = path.display();
    if !recovery.interrupted.is_empty() {
        let (started, count) = (
            recovery
                .interrupted
                .iter()
                .filter(|call| call.started)
                .count(),
            recovery.interrupted.len(),
        );
        screen.note(&format!(
            "{path}: closed what an earlier run left open: {count} without a result, of which \
             {started} had begun and may have had an effect\n"
        ));
    }
    if recovery.torn.is_some() {
        screen.note(&format!(
            "{path}: cut off a line that an earlier run did not finish\n"
        ));
    }
}

fn finish(
    runner: &Runner<impl toolfall::pipeline::PipelineService>,
    form: Form,
    cancelled: bool,
    quiet: bool,
) {
    let totals = runner.totals;
    if let Some(summary) = form.summary(totals, cancelled) {
        runner.screen.print(&summary);
    } else if !quiet {
        let Totals {
            calls,
            succeeded,
            failed,
            not_ours,
            ..
        } = totals;
        let noun = if calls == 1 { "call" } else { "calls" };
        let mut text = format!("{calls} {noun}: {succeeded} succeeded, {failed} failed");
        if not_ours > 0 {
            let _ = write!(text, "; {not_ours} more were not ours to run");
        }
        if cancelled {
            text.push_str("; cancelled");
        }
        runner.screen.note(&format!("{text}\n"));
    }
}
