//! The lines that put toolfall into a client's own file.

use std::path::Path;

use serde_json::{Value, json};

use super::found::Form;
use super::references::input;

/// What the client's file says instead of its servers. `config` is where the
/// configuration is, `inputs` what the client asks a person for.
pub(super) fn lines(form: Form, config: &Path, inputs: &[Value]) -> String {
    let own = std::env::current_exe().ok();
    // Clients seldom have the search path of a shell.
    let program = own.as_deref().unwrap_or(Path::new("toolfall"));
    let config = std::path::absolute(config).unwrap_or_else(|_| config.to_owned());
    let mut server = json!({
        "command": program.to_string_lossy(),
        "args": ["serve", "--stdio", "--config", config.to_string_lossy()],
    });
    let ids: Vec<&str> = inputs
        .iter()
        .filter_map(|input| input["id"].as_str())
        .collect();
    if !ids.is_empty() {
        let env = ids
            .iter()
            .map(|id| (input(id), json!(format!("${{input:{id}}}"))));
        server["env"] = Value::Object(env.collect());
    }
    if form == Form::Servers {
        server["type"] = json!("stdio");
    }
    let mut whole = json!({});
    whole[form.key()] = json!({"toolfall": server});
    if !ids.is_empty() {
        whole["inputs"] = json!(inputs);
    }
    let mut text = serde_json::to_string_pretty(&whole).unwrap_or_default();
    text.push('\n');
    text
}
