//! `toolfall wrap`: one server behind rules, without any file.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use toolfall::policy::{Rule, RuleList, Verdict};

use crate::args::Wrap;
use crate::config::{Config, Source};
use crate::error::{Error, chain};
use crate::import::{server_name, toml_string};
use crate::serve::{self, Options};

/// Serves the server's tools at standard input and output.
pub(crate) async fn wrap(args: Wrap) -> Result<u8, Error> {
    let name = match &args.name {
        Some(name) => name.clone(),
        None => server_name(&named_after(&args.command)),
    };
    let config = Config::of(Source::written(PathBuf::from("wrap"), text(&name, &args)))?;
    let rules = rules(&args)?;
    let log = match args.log {
        Some(log) => log,
        None => state(&name)?,
    };
    let remedy = |tool: &str| {
        format!(
            "{tool} may run only when a person allows it, and nobody can be asked here: this \
             client does not offer elicitation. To allow it, put \"--allow\", {tool:?} before \
             the \"--\" of `toolfall wrap` in the client's configuration"
        )
    };
    let options = Options {
        root: None,
        approve: args.approve,
        preset: None,
        agent: None,
        log: Some(log),
        token_file: None,
        rules: Some(rules),
        remedy: Box::new(remedy),
    };
    serve::stdio(config, options).await
}

/// The file that would say the same.
fn text(name: &str, args: &Wrap) -> String {
    // Arguments are meant as they are.
    let string = |text: &str| toml_string(&text.replace("${", "$${"));
    let mut words = args.command.iter().map(|word| string(word));
    let mut text = format!(
        "[serve]\nname = {}\n\n[[mcp]]\nname = {}\n",
        toml_string(name),
        toml_string(name)
    );
    let command = words.next().unwrap_or_default();
    let words: Vec<String> = words.collect();
    let _ = write!(
        text,
        // Nothing is left without the server, and it gets what it would have
        // got: variables that are set for it are set for this process.
        "command = {command}\nargs = [{}]\nstrict = true\ninherit_env = true\nraw_names = true\n",
        words.join(", ")
    );
    if let Some(timeout) = args.timeout_ms {
        let _ = writeln!(text, "timeout_ms = {timeout}");
    }
    text
}

/// What a server is called after: the package that is run, else the program.
fn named_after(command: &[String]) -> String {
    let base = |word: &str| {
        let word = word.rsplit(['/', '\\']).next().unwrap_or(word);
        // A version is no part of a name.
        word.split('@').next().unwrap_or(word).to_owned()
    };
    let runners = [
        "npx", "uvx", "bunx", "node", "python", "python3", "uv", "docker", "deno", "sh",
    ];
    let mut words = command.iter();
    let program = words.next().map_or("server", String::as_str);
    let first = words.find(|word| !word.starts_with('-') && *word != "run");
    let name = match first {
        Some(word) if runners.contains(&base(program).as_str()) => base(word),
        _ => base(program),
    };
    let name = name
        .strip_suffix(".js")
        .or(name.strip_suffix(".py"))
        .unwrap_or(&name);
    let name = name
        .strip_prefix("mcp-server-")
        .or(name.strip_prefix("server-"))
        .unwrap_or(name);
    name.to_owned()
}

/// The rules of the command line, or those of the file that it names.
fn rules(args: &Wrap) -> Result<Vec<RuleList>, Error> {
    let denials = |patterns: &[String]| -> Vec<Rule> {
        let rule = |pattern: &String| Rule::deny(format!("--deny {pattern}")).tool(pattern);
        patterns.iter().map(rule).collect()
    };
    let own = |error| Error::input(format!("--allow or --deny: {}", chain(&error)));
    let mut lists = Vec::new();
    if let Some(file) = &args.rules {
        let list = RuleList::from_file(file);
        lists.push(list.map_err(|error| Error::input(chain(&error)))?);
        let denied = RuleList::new(denials(&args.deny)).map_err(own)?;
        lists.push(denied.otherwise(Verdict::Allow));
    } else {
        let allow = |pattern: &String| Rule::allow(format!("--allow {pattern}")).tool(pattern);
        let mut rules: Vec<Rule> = args.allow.iter().map(allow).collect();
        rules.extend(denials(&args.deny));
        lists.push(RuleList::new(rules).map_err(own)?.otherwise(Verdict::Ask));
    }
    Ok(lists)
}

/// Where the log of a wrapped server is: among what programs keep of their
/// work, and nobody else's to read.
fn state(name: &str) -> Result<PathBuf, Error> {
    let set = |variable: &str| std::env::var_os(variable).filter(|value| !value.is_empty());
    let state = set("XDG_STATE_HOME").map(PathBuf::from);
    let home = || set("HOME").map(|home| Path::new(&home).join(".local/state"));
    let folder = state
        .or_else(home)
        .unwrap_or_else(std::env::temp_dir)
        .join("toolfall");
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt as _;
        builder.mode(0o700);
    }
    builder.create(&folder).map_err(|error| {
        let what = format!("{} cannot be made; give --log FILE", folder.display());
        Error::own(&what, &error)
    })?;
    Ok(folder.join(format!("wrap-{name}.jsonl")))
}

#[cfg(test)]
mod tests {
    use super::named_after;

    #[test]
    fn servers_are_called_after_what_is_run() {
        for (command, wanted) in [
            (
                "npx -y @modelcontextprotocol/server-filesystem /data",
                "filesystem",
            ),
            ("uvx mcp-server-git --repository .", "git"),
            ("node /opt/x/index.js", "index"),
            ("/usr/bin/my-server --flag value", "my-server"),
            ("npx some-mcp@1.2.3", "some-mcp"),
            ("docker run -i mcp/time", "time"),
        ] {
            let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
            assert_eq!(named_after(&words), wanted, "{command}");
        }
    }
}
