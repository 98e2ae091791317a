//! `toolfall run`: batches through the pipeline.

mod batches;
mod noted;
mod queue;
mod visible;

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::sync::Arc;

use toolfall::Scheduler;
use toolfall::host::Host;

use self::batches::Runner;
use self::queue::Queue;
pub(crate) use self::visible::visible;
use crate::args::{Approve, Run};
use crate::compose::{self, Agents, Asking, Policies, Upstreams, known_agents};
use crate::config::Config;
use crate::error::{Error, log_error};
use crate::interrupt::Interrupt;
use crate::prompt::Prompt;
use crate::render::{Form, Totals, colours, safe};
use crate::screen::Screen;

/// So many characters of a note are shown.
const NOTE: usize = 500;

/// Runs everything, and says with which status the program ends.
// One thing after the other, each used once.
#[allow(clippy::too_many_lines)]
pub(crate) async fn run(args: Run) -> Result<u8, Error> {
    let config = Config::find(args.config.as_deref(), &args.files)?;
    let queue = Queue::open(
        &args.files,
        Arc::new(known_agents(&config, args.agent.as_deref())?),
    )
    .await?;
    let host = Host::new();
    let tools = config.register(host.registry(), args.root.as_deref(), args.replay)?;
    let mut upstreams = Upstreams::default();
    if !args.replay {
        // Before the first batch, which may call them.
        let wanted = config.upstreams(false)?;
        upstreams.load(host.registry(), wanted, None).await?;
    }
    if tools.is_empty() && upstreams.is_empty() && !args.replay {
        return Err(no_tools(&config));
    }
    let agents = Agents::open(&host, &config, args.replay)?;
    let presets = config.presets(args.preset.as_deref())?;
    let rules = compose::rules(&config, presets.is_some(), args.replay)?;
    let shapes = config.shapes()?;
    let shown = shapes.clone();
    let log = compose::log_path(args.log.as_deref(), &config);
    let spill = config.spill(args.root.as_deref(), &log)?;
    compose::programs(&config, &host, &spill)?
        .into_iter()
        .for_each(compose::Programs::keep);
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
    let log = compose::open_log(&log, &config, |text| {
        if !args.quiet {
            screen.note(&format!("{text}\n"));
        }
    })?;
    let recorder = Arc::new(compose::recorder(&log, shapes.as_ref()));

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
    let pipeline = compose::pipeline(compose::Parts {
        host: &host,
        config: &config,
        agents: &agents,
        policies: &policies,
        asking: &asking,
        rules,
        shapes,
        spill,
        never,
        recorder: &recorder,
    });
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
        shapes: shown,
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
    upstreams.end_all().await;
    ran?;
    closed.map_err(|error| log_error(&error))?;
    Ok(status)
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
            "{}: expected tools, found none: add [files], [bash], [[command]], [[mcp]] or [[replay]], \
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
