//! `toolfall.toml` as text.

use std::fmt::Write as _;

use super::server::Server;

/// The file for `servers`; `from` is where they come from.
pub(super) fn file(from: &str, servers: &[Server]) -> String {
    let mut out = String::from("# The servers of ");
    // A line break would end the comment.
    out.extend(from.chars().map(|l| if l.is_control() { ' ' } else { l }));
    out.push_str(
        ", for `toolfall serve`.\n\
         # ${NAME} is a variable of the environment; docs/config.md describes every key.\n\
         log = \"toolfall-session.jsonl\"\n\n\
         # The strictest rule that matches decides: deny, ask, allow. You are asked about the\n\
         # rest, in the client if it can ask.\n\
         [policy]\notherwise = \"ask\"\n",
    );
    let allowed: Vec<String> = servers
        .iter()
        .flat_map(|server| {
            let names = server.allowed.iter();
            names.map(|tool| toolfall::mcp::tool::public_name(&server.name, tool))
        })
        .map(|name| string(&globset::escape(&name)))
        .collect();
    if allowed.is_empty() {
        let example = servers
            .first()
            .map_or("server", |server| server.name.as_str());
        let _ = write!(
            out,
            "\n# [[policy.rules]]\n# name = \"looking is free\"\n# verdict = \"allow\"\n\
             # tools = [\"mcp__{example}__read_*\", \"mcp__{example}__list_*\"]\n"
        );
    } else {
        let _ = write!(
            out,
            "\n[[policy.rules]]\nname = \"allowed in the client\"\nverdict = \"allow\"\n\
             tools = [{}]\n",
            allowed.join(", ")
        );
    }
    for server in servers {
        out.push('\n');
        table(&mut out, server);
    }
    out
}

fn table(out: &mut String, server: &Server) {
    let _ = writeln!(out, "[[mcp]]\nname = {}", string(&server.name));
    if let Some(command) = &server.command {
        let _ = writeln!(out, "command = {}", string(command));
    }
    if !server.args.is_empty() {
        let args: Vec<String> = server.args.iter().map(|arg| string(arg)).collect();
        let _ = writeln!(out, "args = [{}]", args.join(", "));
    }
    if let Some(cwd) = &server.cwd {
        let _ = writeln!(out, "cwd = {}", string(cwd));
    }
    if let Some(url) = &server.url {
        let _ = writeln!(out, "url = {}", string(url));
    }
    for (key, pairs) in [("env", &server.env), ("headers", &server.headers)] {
        if pairs.is_empty() {
            continue;
        }
        let pair =
            |(name, value): &(String, String)| format!("{} = {}", self::key(name), string(value));
        let pairs: Vec<String> = pairs.iter().map(pair).collect();
        let _ = writeln!(out, "{key} = {{ {} }}", pairs.join(", "));
    }
    if server.disabled {
        out.push_str("disabled = true\n");
    }
}

fn key(name: &str) -> String {
    let is_bare = |letter: u8| letter.is_ascii_alphanumeric() || matches!(letter, b'_' | b'-');
    if !name.is_empty() && name.bytes().all(is_bare) {
        return name.to_owned();
    }
    string(name)
}

/// `text` as a basic string.
pub(crate) fn string(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            letter if letter.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(letter));
            }
            letter => out.push(letter),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::{key, string};

    #[test]
    fn strings_and_keys_are_read_back() {
        for text in [
            "",
            "a\"b\\c",
            "two\nlines\t\r",
            "\u{0}\u{7f}\u{85}",
            "ü 🦀 ${X}",
        ] {
            let toml = format!("{} = {}", key(text), string(text));
            let read: toml::Table = toml::from_str(&toml).expect("TOML");
            assert_eq!(
                read.get(text).and_then(toml::Value::as_str),
                Some(text),
                "{toml}"
            );
        }
    }
}
