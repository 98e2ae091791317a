//! `toolfall serve`: the pipeline as an MCP server.

mod drained;
mod gateway;
mod listen;
mod prepared;
mod streams;

use std::io::IsTerminal as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use toolfall::host::Host;
use toolfall::session::{LogError, SessionLog};

use self::gateway::Gateway;
use self::listen::{Listener, Place};
pub(crate) use self::prepared::Options;
use self::prepared::Prepared;
use crate::args::Serve;
use crate::compose;
use crate::config::Config;
use crate::error::{Error, log_error};
use crate::interrupt::Interrupt;
use crate::prompt::Prompt;
use crate::render::safe;
use crate::screen::Screen;

/// So many characters of a note are shown.
const NOTE: usize = 800;
/// So long everything has to end once it shall.
const LAST: Duration = Duration::from_secs(8);

/// Tells people something; standard output is the protocol's.
fn note(text: &str) {
    eprintln!("toolfall: {}", safe(text, NOTE));
}

/// Serves as the command line says.
pub(crate) async fn serve(args: Serve) -> Result<u8, Error> {
    let config = Config::find(args.config.as_deref(), &[])?;
    if config.file().is_none() && args.root.is_none() {
        return Err(Error::input(
            "expected a configuration, found none: there is no toolfall.toml here; give --config \
             FILE or --root DIR, or see `toolfall wrap`",
        ));
    }
    let file = config
        .file()
        .map_or(PathBuf::from("toolfall.toml"), Path::to_owned);
    let file = std::path::absolute(&file).unwrap_or(file);
    let remedy = move |tool: &str| {
        format!(
            "{tool} may run only when a person allows it, and nobody can be asked here: this \
             client does not offer elicitation. To allow it, add a rule to {}: [[policy.rules]] \
             name = \"allowed\", verdict = \"allow\", tools = [{tool:?}]",
            file.display()
        )
    };
    let place = place(args.stdio, args.http, config.serving()?.http)?;
    let options = Options {
        root: args.root,
        approve: args.approve,
        preset: args.preset,
        agent: args.agent,
        log: args.log,
        token_file: args.token_file,
        rules: None,
        remedy: Box::new(remedy),
    };
    Box::pin(gateway(config, options, place)).await
}

/// Where to serve: standard input and output, unless an address is said or a
/// person sits there.
fn place(
    stdio: bool,
    http: Option<SocketAddr>,
    written: Option<SocketAddr>,
) -> Result<Place, Error> {
    match (stdio, http.or(written)) {
        (true, _) => Ok(Place::Stdio),
        (false, Some(address)) => Ok(Place::Http(address)),
        (false, None) if !std::io::stdin().is_terminal() => Ok(Place::Stdio),
        (false, None) => Err(Error::input(
            "expected --http [ADDR] or a client at standard input, found a terminal; --stdio \
             serves it nevertheless",
        )),
    }
}

/// Serves standard input and output, whatever a file says.
pub(crate) async fn stdio(config: Config, options: Options) -> Result<u8, Error> {
    Box::pin(gateway(config, options, Place::Stdio)).await
}

async fn gateway(config: Config, mut options: Options, place: Place) -> Result<u8, Error> {
    let path = compose::log_path(options.log.as_deref(), &config);
    let prepared = Prepared::new(config, &options, &path)?;
    let listener = match place {
        Place::Stdio => None,
        Place::Http(address) => {
            let token = options.token_file.as_deref();
            Some(Listener::open(address, &prepared.serving, token).await?)
        }
    };
    let interrupt = Interrupt::default().listen()?;
    let (path, log) = open_log(path, &prepared.config)?;
    for text in &prepared.notes {
        note(text);
    }
    let recorder = Arc::new(compose::recorder(&log, prepared.shapes.as_ref()));
    // A client that is started in a terminal has it for itself.
    let asks_here = listener.is_some() && std::io::stdin().is_terminal();
    let prompt = asks_here.then(|| {
        let (interrupt, screen) = (interrupt.clone(), Arc::new(Screen::new(false, None)));
        |host: &Host| Prompt::new(screen, interrupt, host.registry().clone())
    });
    let remedy = std::mem::replace(&mut options.remedy, Box::new(|_| String::new()));
    let shutdown = interrupt.cancel().clone();
    let started = tokio::select! {
        started = Gateway::start(prepared, options, path, recorder, prompt) => Some(started),
        () = shutdown.cancelled() => None,
    };
    let ended = match started {
        None => Ok(()),
        Some(Err(error)) => Err(error),
        Some(Ok(mut gateway)) => {
            Gateway::explain(gateway.answerers(), &Arc::from(remedy));
            let served = served(&mut gateway, listener, &interrupt).await;
            let end = tokio::time::timeout(LAST, gateway.end());
            tokio::select! {
                _ = end => {}
                () = interrupt.abandon().cancelled() => {}
            }
            served
        }
    };
    let closed = log.close().await;
    ended?;
    closed.map_err(|error| log_error(&error))?;
    Ok(0)
}

/// Serves until the client goes or somebody ends it, and reads the file again
/// when told to.
async fn served(
    gateway: &mut Gateway,
    listener: Option<Listener>,
    interrupt: &Interrupt,
) -> Result<(), Error> {
    let server = gateway.server().clone();
    let shutdown: CancellationToken = interrupt.cancel().clone();
    let serving = async {
        match listener {
            Some(listener) => listener.serve(server, shutdown).await,
            None => listen::stdio(server, shutdown).await,
        }
    };
    tokio::pin!(serving);
    let mut hangups = Hangups::new()?;
    loop {
        tokio::select! {
            ended = &mut serving => return ended,
            () = interrupt.abandon().cancelled() => return Ok(()),
            () = gateway.tend() => {}
            () = hangups.next() => {
                let reloaded = tokio::select! {
                    ended = &mut serving => return ended,
                    () = interrupt.abandon().cancelled() => return Ok(()),
                    reloaded = gateway.reload() => reloaded,
                };
                match reloaded {
                    Ok(()) => note("the configuration was read again"),
                    Err(error) => note(&format!("the configuration stays as it was: {error}")),
                }
            }
        }
    }
}

/// Opens the log. Clients start a gateway each, and one log has one writer:
/// where another process has it, this one has one of its own.
fn open_log(path: PathBuf, config: &Config) -> Result<(PathBuf, SessionLog), Error> {
    let locked = SessionLog::open(&path, toolfall::session::Options::new());
    if let Err(LogError::Locked { .. }) = locked {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let own = path.with_file_name(format!("{stem}.{}.jsonl", std::process::id()));
        note(&format!(
            "{} is in use; this session is recorded in {}",
            path.display(),
            own.display()
        ));
        let log = compose::open_log(&own, config, note)?;
        return Ok((own, log));
    }
    drop(locked);
    let log = compose::open_log(&path, config, note)?;
    Ok((path, log))
}

/// The signals to read the file again.
struct Hangups {
    #[cfg(unix)]
    signal: tokio::signal::unix::Signal,
}

impl Hangups {
    fn new() -> Result<Self, Error> {
        Ok(Self {
            #[cfg(unix)]
            signal: tokio::signal::unix::signal(tokio::signal::unix::SignalKind::hangup())
                .map_err(|error| Error::own("signals cannot be listened for", &error))?,
        })
    }

    /// The next one.
    async fn next(&mut self) {
        #[cfg(unix)]
        if self.signal.recv().await.is_some() {
            return;
        }
        std::future::pending::<()>().await;
    }
}
