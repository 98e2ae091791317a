//! `toolfall import`: a client's servers as a `toolfall.toml`.

mod client;
mod found;
mod jsonc;
mod names;
mod references;
mod server;
mod text;

use std::io::{ErrorKind, Write as _};
use std::path::Path;

use serde_json::Value;

use self::found::Found;
use self::server::Server;
use crate::args::Import;
use crate::config::read_text;
use crate::error::Error;
use crate::render::safe;

pub(crate) use self::text::string as toml_string;

/// A name for a server, like `written`.
pub(crate) fn server_name(written: &str) -> String {
    names::valid(written, &[])
}

/// So much of a note is shown.
const NOTE: usize = 500;

/// Writes the configuration, and says what was not taken over. Nothing runs.
pub(crate) fn import(args: &Import) -> Result<u8, Error> {
    let text = read_text(&args.path, "a client's configuration")?;
    let whole: Value = serde_json::from_str(&jsonc::plain(&text)).map_err(|error| {
        Error::at(
            &args.path,
            error.line() as u64,
            format!("expected JSON: {error}"),
        )
    })?;
    let found = Found::within(&args.path, whole)?;
    let note = |text: &str| eprintln!("toolfall: {}", safe(text, NOTE));
    found.notes.iter().for_each(|text| note(text));
    let mut servers: Vec<Server> = Vec::new();
    let mut taken: Vec<String> = Vec::new();
    for (written, value) in &found.servers {
        let mut server = match Server::of(value) {
            Ok(server) => server,
            Err(why) => {
                note(&format!("left out {written:?}: {why}"));
                continue;
            }
        };
        server.name = names::valid(written, &taken);
        if server.name != *written {
            note(&format!(
                "{written:?} is called {:?} from now on",
                server.name
            ));
        }
        for text in &server.notes {
            note(&format!("{}: {text}", server.name));
        }
        taken.push(server.name.clone());
        servers.push(server);
    }
    if servers.is_empty() {
        return Err(Error::input(format!(
            "{}: expected servers, found none that can be taken over",
            args.path.display()
        )));
    }
    let toml = text::file(&args.path.to_string_lossy(), &servers);
    let config = args.output.as_deref().unwrap_or(Path::new("toolfall.toml"));
    let lines = client::lines(found.form, config, &found.inputs);
    let told = "Put this into the client's file, instead of its servers:";
    let mut out = std::io::stdout().lock();
    let written = if let Some(file) = &args.output {
        write(file, &toml, args.force)?;
        eprintln!(
            "toolfall: wrote {} server(s) to {}",
            servers.len(),
            file.display()
        );
        eprintln!("{told}");
        out.write_all(lines.as_bytes())
    } else {
        let written = out.write_all(toml.as_bytes());
        eprintln!("{told}\n{lines}");
        written
    };
    // Whoever closed the pipe has read enough.
    Ok(u8::from(written.and_then(|()| out.flush()).is_err()))
}

/// Nothing is overwritten unless `force` says so. There may be secrets in the
/// file, so it is its owner's alone.
fn write(file: &Path, text: &str, force: bool) -> Result<(), Error> {
    let mut options = std::fs::File::options();
    options.write(true);
    if force {
        options.create(true).truncate(true);
    } else {
        options.create_new(true);
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    let written = options
        .open(file)
        .and_then(|mut opened| opened.write_all(text.as_bytes()));
    written.map_err(|error| {
        let name = file.display();
        if error.kind() == ErrorKind::AlreadyExists {
            return Error::input(format!(
                "{name}: expected no file there, found one; --force overwrites it"
            ));
        }
        Error::own(&format!("{name} cannot be written"), &error)
    })
}
