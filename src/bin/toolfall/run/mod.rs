//! `toolfall run`: batches through the pipeline.

mod agents;
mod asking;
mod batches;
mod decide;
mod noted;
mod policies;
mod queue;
mod visible;

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use toolfall::host::{Host, HostPipeline};
use toolfall::policy::RuleList;
use toolfall::redaction::SecretShapes;
use toolfall::session::{Options, Recovery, SessionLog, SessionRecorder, SyncPolicy};
use toolfall::spill::SpillPolicy;
use toolfall::{PostDecision, PostRequest, Scheduler, TimeoutLayer};

use self::agents::{Agents, known_agents};
use self::asking::Asking;
use self::batches::Runner;
use self::decide::Decide;
use self::policies::Policies;
use self::queue::Queue;
pub(crate) use self::visible::visible;
use crate::args::{Approve, Run};
use crate::config::{Config, Sync, default_rules};
use crate::error::{Error, log_error};
use crate::interrupt::Interrupt;
use crate::prompt::Prompt;
use crate::render::{Form, Totals, colours, safe};
use crate::screen::Screen;

/// The log's name if nothing names one.
const LOG: &str = "toolfall-session.jsonl";
/// So many characters of a note are shown.
const NOTE: usize = 500;

/// Runs everything, and says with which status the program ends.
pub(crate) async fn run(args: Run) -> Result<u8, Error> {
    let config = Config::find(args.config.as_deref(), &args.files)?;
    let queue = Queue::open(
        &args.files,
        Arc::new(known_agents(&config, args.agent.as_deref())?),
    )
    .await?;
    let host = Host::new();
    let tools = config.register(host.registry(), args.root.as_deref(), args.replay)?;
    if tools.is_empty() && !args.replay {
        return Err(no_tools(&config));
    }
    let agents = Agents::open(&host, &config, args.replay)?;
    let presets = config.presets(args.preset.as_deref())?;
    let rules = rules(&config, presets.is_some(), args.replay)?;
    let shapes = config.shapes()?;
    let masks = shapes.clone().filter(|_| config.mask_results());
    let log = log_path(&args, &config);
    let spill = config.spill(args.root.as_deref(), &log)?;
    programs(&config, &host, &spill)?;
    let (policies, notes) = Policies::new(&config, &log, args.replay)?;
    let interrupt = Interrupt::default().listen()?;
    if args.files.is_empty() && !args.quiet && std::io::stdin().is_terminal() {
        eprintln!("reading batches from the keyboard, one a line; Ctrl-D ends them");
    }
    let form = form(&args);
    let human = matches!(form, Form::Human { .. });
    let screen = Arc::new(Screen::new(human && !args.quiet, queue.calls()));
    if !args.quiet {
        for note in notes {
            screen.note(&format!("{}\n", safe(&note, NOTE)));
        }
    }
    let log = open_log(&log, &args, &config, &screen)?;
    let recorder = Arc::new(recorder(&log, shapes.as_ref()));

    let prompt = Prompt::new(screen.clone(), interrupt.clone(), host.registry().clone());
    let asking = Asking::new(&config, presets, agents.root(), &recorder)?;
    let never = asking.never || args.approve.or(config.approve()) == Some(Approve::Never);
    if !never {
        asking.put_to(prompt);
    }
    if let Some(preset) = asking.preset().filter(|_| human && !args.quiet) {
        screen.note(&format!("{}\n", safe(&preset, NOTE)));
    }
    host.observers().register(noted::note).keep();
    if let Some(permission) = &asking.permission {
        host.guards().register(permission.guard()).keep();
    }
    let decide = Decide::new(rules, agents.rules(), asking.permission);
    let pipeline = redacting(host.pipeline(), shapes.as_ref())
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
        .approval(asking.answerers)
        .timeout(match config.timeout_ms() {
            Some(budget) => TimeoutLayer::new(Duration::from_millis(budget.get())),
            None => TimeoutLayer::declared(),
        })
        .recorder(recorder.clone())
        .build();
    let mut scheduler = Scheduler::new(pipeline, host.registry().clone()).journal(recorder.clone());
    if let Some(limit) = args.max_parallel.or(config.max_parallel()) {
        scheduler = scheduler.limit(limit);
    }
    let mut runner = Runner {
        scheduler,
        registry: host.registry().clone(),
        recorder,
        screen: screen.clone(),
        interrupt: interrupt.clone(),
        form,
        replay: args.replay,
        policies,
        ending: None,
        ended: None,
        agents,
        config,
        shapes,
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
    let status = status(&runner, cancelled);
    drop((runner, tools));
    ran?;
    closed.map_err(|error| log_error(&error))?;
    Ok(status)
}

/// The recorder of `log`, for messages and calls that no pipeline has, too.
fn recorder(log: &SessionLog, shapes: Option<&SecretShapes>) -> SessionRecorder {
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
) -> impl Fn(&PostRequest) -> PostDecision + Clone + Send + std::marker::Sync + 'static {
    move |post: &PostRequest| match &masks {
        Some(shapes) => shapes.review(post),
        None => PostDecision::accept(),
    }
}

fn status(runner: &Runner<impl toolfall::pipeline::PipelineService>, cancelled: bool) -> u8 {
    let unwritten = runner.unrecorded || runner.screen.is_closed();
    match (unwritten, cancelled) {
        (true, _) => 1,
        (false, true) => 130,
        (false, false) if runner.ended.is_some() => 3,
        (false, false) => 0,
    }
}

/// The file's rules, or the default ones. Where presets are in force they take
/// the place of the default ones.
fn rules(config: &Config, presets: bool, replay: bool) -> Result<Option<RuleList>, Error> {
    match config.rules()? {
        None if !presets => default_rules(replay).map(Some),
        rules => Ok(rules),
    }
}

/// Lets the model run programs, if the file says so.
fn programs(config: &Config, host: &Host, spill: &SpillPolicy) -> Result<(), Error> {
    let Some(code) = config.code()? else {
        return Ok(());
    };
    let attached = code.attach(host.registry());
    attached
        .map_err(|error| Error::own("programs cannot be run", &error))?
        .keep();
    if let Some(registered) = spill.register_log(code.log_copies()) {
        registered.keep();
    }
    Ok(())
}

fn form(args: &Run) -> Form {
    let terminal = std::io::stdout().is_terminal();
    if args.json || !(args.human || terminal) {
        return Form::Json;
    }
    Form::Human { colours: colours() }
}

fn no_tools(config: &Config) -> Error {
    Error::input(match config.file() {
        Some(file) => format!(
            "{}: expected tools, found none: add [files], [bash], [[command]] or [[replay]], \
             or give --root DIR or --replay",
            file.display()
        ),
        None => {
            "expected tools, found none: there is no toolfall.toml beside the batches or here; \
                 give --config FILE, --root DIR or --replay"
                .to_owned()
        }
    })
}

fn log_path(args: &Run, config: &Config) -> PathBuf {
    let path = args.log.clone().or_else(|| config.log());
    path.unwrap_or_else(|| config.beside(Path::new(LOG)))
}

fn open_log(
    path: &Path,
    args: &Run,
    config: &Config,
    screen: &Screen,
) -> Result<SessionLog, Error> {
    let sync = match config.sync() {
        Sync::Never => SyncPolicy::Never,
        Sync::Every => SyncPolicy::Every,
    };
    let (log, recovery) =
        SessionLog::open(path, Options::new().sync(sync)).map_err(|error| log_error(&error))?;
    if !args.quiet {
        tell(path, &recovery, screen);
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
    if let Some(ended) = &runner.ended
        && !quiet
    {
        runner.screen.note(&format!("{ended}\n"));
    }
    if let Some(summary) = form.summary(totals, runner.ended.as_ref(), cancelled) {
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
