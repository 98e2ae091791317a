//! What is served: the tools, the servers behind them and the pipeline, as
//! they change with the configuration.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use toolfall::approval::Answerers;
use toolfall::host::Host;
use toolfall::mcp::server::PipelineServer;
use toolfall::session::SessionRecorder;
use toolfall::{ApprovalAnswer, ApprovalRequest, Filter, GuardRegistration, Registration, Scope};

use super::drained::Drained;
use super::note;
use super::prepared::{Options, Prepared};
use crate::args::Approve;
use crate::compose::{self, Agents, Asking, Parts, Programs, Upstreams, known_agents};
use crate::config::{Config, Upstream};
use crate::error::{Error, chain};
use crate::prompt::Prompt;

/// So long the servers behind have before the first client is answered; those
/// that take longer come later.
const PATIENCE: Duration = Duration::from_secs(10);

/// Everything that lives as long as the process.
pub(super) struct Gateway {
    options: Options,
    /// What is read again.
    file: Option<PathBuf>,
    log: PathBuf,
    config: Config,
    host: Host,
    agents: Agents,
    upstreams: Upstreams,
    /// The tools of the file itself.
    local: Vec<Registration>,
    programs: Option<Programs>,
    guard: Option<GuardRegistration>,
    answerers: Answerers,
    recorder: Arc<SessionRecorder>,
    server: PipelineServer,
    /// Cancelled when the last call of the current pipeline has ended.
    drained: CancellationToken,
}

impl Gateway {
    /// Loads everything that `prepared` says. `prompt` asks at the terminal.
    pub(super) async fn start(
        prepared: Prepared,
        options: Options,
        log: PathBuf,
        recorder: Arc<SessionRecorder>,
        prompt: Option<impl FnOnce(&Host) -> Prompt>,
    ) -> Result<Self, Error> {
        let host = Host::new();
        let config = &prepared.config;
        let local = config.register(host.registry(), options.root.as_deref(), false)?;
        let mut upstreams = Upstreams::default();
        let agent = options.agent.clone().or(prepared.serving.agent.clone());
        known_agents(config, agent.as_deref())?;
        let wanted = prepared.wanted;
        upstreams
            .load(host.registry(), wanted, Some(PATIENCE))
            .await?;
        let agents = Agents::open(&host, config, false)?;
        let scope = agents.scope(agent.as_deref()).clone();
        let asking = Asking::new(config, prepared.presets, agents.root(), &recorder)?;
        let answerers = asking.answerers.clone();
        if let Some(prompt) = prompt {
            asking.put_to(prompt(&host));
        }
        let programs = compose::programs(config, &host, &prepared.spill)?;
        let guard = asking
            .permission
            .as_ref()
            .map(|session| host.guards().register(session.guard()));
        let drained = CancellationToken::new();
        let pipeline = compose::pipeline(Parts {
            host: &host,
            config,
            agents: &agents,
            policies: &prepared.policies,
            never: is_never(&options, config, &asking),
            asking: &asking,
            rules: prepared.rules,
            shapes: prepared.shapes,
            spill: prepared.spill,
            recorder: &recorder,
        });
        let serving = prepared.serving;
        let pipeline = Drained::new(pipeline, drained.clone());
        let mut server = PipelineServer::builder(pipeline, host.registry().clone())
            .scope(move |_| scope.clone())
            .answerers(&answerers);
        if config.spills() {
            // What is too long is cut, and the value with it: a client that
            // was promised one would take its lack for a fault.
            server = server.without_structured_content();
        }
        if let Some(name) = serving.name {
            server = server.name(name);
        }
        if let Some(instructions) = serving.instructions {
            server = server.instructions(instructions);
        }
        let gateway = Self {
            file: config
                .file()
                .map(|file| std::path::absolute(file).unwrap_or(file.to_owned())),
            log,
            config: prepared.config,
            host,
            agents,
            upstreams,
            local,
            programs,
            guard,
            answerers,
            recorder,
            server: server.build(),
            drained,
            options,
        };
        Ok(gateway)
    }

    pub(super) const fn server(&self) -> &PipelineServer {
        &self.server
    }

    /// Tells who was refused a tool, because nobody could be asked, how it is
    /// allowed. Whoever can ask somebody comes before.
    pub(super) fn explain(
        answerers: &Answerers,
        options: &Arc<dyn Fn(&str) -> String + Send + Sync>,
    ) {
        let remedy = options.clone();
        let answerer = move |request: ApprovalRequest| {
            let text = remedy(request.tool());
            async move { Some(ApprovalAnswer::rejected(text)) }
        };
        answerers.register(answerer).keep();
    }

    pub(super) const fn answerers(&self) -> &Answerers {
        &self.answerers
    }

    /// Looks after what changes by itself: tools of servers come and go.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses nothing.
    pub(super) async fn tend(&mut self) {
        // What came while nobody looked.
        self.agents.hide_again(self.host.registry());
        let mut news = self.host.registry().changes();
        loop {
            tokio::select! {
                heard = news.changed() => {
                    if heard.is_err() {
                        std::future::pending::<()>().await;
                    }
                    // Hiding is a change itself, and is not to be answered.
                    self.agents.hide_again(self.host.registry());
                    news.mark_unchanged();
                }
                () = self.upstreams.late() => {}
            }
        }
    }

    /// Reads the file again. New calls are under what it says now, calls that
    /// run end under what they began with. An error leaves everything as it is.
    pub(super) async fn reload(&mut self) -> Result<(), Error> {
        let Some(file) = self.file.clone() else {
            return Err(Error::input("there is no file to read again"));
        };
        let prepared = Prepared::new(Config::read(&file)?, &self.options, &self.log)?;
        self.agents.check(&prepared.agents)?;
        let tools = prepared.config.tools(self.options.root.as_deref(), false)?;
        let Prepared {
            config, mut wanted, ..
        } = prepared;
        let leaving = self.upstreams.compare(&mut wanted);
        let (changed, added): (Vec<Upstream>, Vec<Upstream>) = wanted
            .into_iter()
            .partition(|upstream| leaving.iter().any(|name| name == upstream.server.name()));
        let added_names: Vec<String> = added
            .iter()
            .map(|upstream| upstream.server.name().to_owned())
            .collect();
        let registry = self.host.registry().clone();
        let loaded = self.upstreams.load(&registry, added, Some(PATIENCE)).await;
        let replaced = loaded.and_then(|()| {
            let tools = tools.into_iter().map(|(tool, _)| tool);
            let replaced = registry.replace_all(&mut self.local, tools);
            replaced.map_err(|error| Error::input(format!("{}: {}", file.display(), chain(&error))))
        });
        if let Err(error) = replaced {
            for name in added_names {
                self.upstreams.end(&name).await;
            }
            return Err(error);
        }
        for (table, what) in [("log", "log"), ("sync", "sync"), ("serve", "[serve]")] {
            if !config.agrees(&self.config, table) {
                note(&format!("{what} counts from the next start on"));
            }
        }
        self.agents.update(&config)?;
        let asking = Asking::again(
            &self.answerers,
            &config,
            prepared.presets,
            self.agents.root(),
            &self.recorder,
        )?;
        // The old one goes when the new one is there: nothing is unguarded.
        let guards = self.host.guards();
        self.guard = asking
            .permission
            .as_ref()
            .map(|session| guards.register(session.guard()));
        if !config.agrees(&self.config, "code") {
            self.programs = None;
            self.programs = compose::programs(&config, &self.host, &prepared.spill)?;
        }
        let hidden = self.hide(&leaving);
        let pipeline = compose::pipeline(Parts {
            host: &self.host,
            config: &config,
            agents: &self.agents,
            policies: &prepared.policies,
            never: is_never(&self.options, &config, &asking),
            asking: &asking,
            rules: prepared.rules,
            shapes: prepared.shapes,
            spill: prepared.spill,
            recorder: &self.recorder,
        });
        let fresh = CancellationToken::new();
        self.server
            .replace(Drained::new(pipeline, fresh.clone()), registry.clone());
        let before = std::mem::replace(&mut self.drained, fresh);
        self.config = config;
        self.agents.hide_again(&registry);
        for text in prepared.notes {
            note(&text);
        }
        if leaving.is_empty() {
            return Ok(());
        }
        // Servers that go are there for the calls that have begun.
        before.cancelled().await;
        for name in &leaving {
            self.upstreams.end(name).await;
        }
        drop(hidden);
        self.upstreams
            .load(&registry, changed, Some(PATIENCE))
            .await
    }

    /// Hides the tools of servers that go from all clients.
    fn hide(&self, leaving: &[String]) -> Option<Registration> {
        let registry = self.host.registry();
        let names = leaving
            .iter()
            .flat_map(|name| self.upstreams.tools_of(name));
        let names: Vec<String> = names.filter(|name| registry.contains(name, None)).collect();
        // Without names there is nothing to hide.
        registry.restrict(self.scope(), &Filter::deny(names)).ok()
    }

    fn scope(&self) -> &Scope {
        self.agents.root()
    }

    /// Ends everything, and waits for it.
    pub(super) async fn end(mut self) {
        self.upstreams.end_all().await;
    }
}

fn is_never(options: &Options, config: &Config, asking: &Asking) -> bool {
    asking.never || options.approve.or(config.approve()) == Some(Approve::Never)
}
