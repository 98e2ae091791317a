//! `toolfall sdk`: the tools of a configuration, as a model that writes
//! programs is told of them.

use std::io::Write as _;

use toolfall::sdk;

use crate::args::Sdk;
use crate::config::Config;
use crate::error::Error;
use crate::run::visible;

/// Prints the text. Nothing runs.
pub(crate) fn sdk(args: &Sdk) -> Result<u8, Error> {
    let config = Config::find(args.config.as_deref(), &[])?;
    let tools = visible(&config, args.root.as_deref(), args.agent.as_deref())?;
    if tools.is_empty() && config.file().is_none() && args.root.is_none() {
        return Err(Error::input(
            "expected tools, found none: there is no toolfall.toml here; give --config FILE or \
             --root DIR",
        ));
    }
    let sdk = sdk::Sdk::new(args.language.into());
    let text = if args.declarations {
        sdk.declarations(&tools)
    } else {
        sdk.render(&tools)
    };
    // Whoever closed the pipe has read enough.
    let written = std::io::stdout().lock().write_all(text.as_bytes());
    Ok(u8::from(written.is_err()))
}
