//! Mistakes in `toolfall.toml`: the error names the file, line, column and what
//! was expected, and nothing runs.

#[path = "support/cli.rs"]
mod support;

use support::Place;

fn refused(place: &Place, args: &[&str]) -> String {
    let ran = place.run(args);
    assert_eq!(ran.status, 2, "{args:?}: {}{}", ran.out, ran.err);
    assert!(!ran.err.contains("panicked"), "{}", ran.err);
    assert!(!ran.out.contains("\"result\""), "nothing ran: {}", ran.out);
    ran.err
}

#[test]
fn a_bad_configuration_names_line_and_column() {
    let place = Place::new();
    place.write("empty.jsonl", "");
    place.write("bad.json", "{\n \"type\": }");
    let replay = "[[replay]]\nname = \"a\"\n";
    let rule =
        |rest: &str| format!("{replay}[[policy.rules]]\nname = \"r\"\nverdict = \"deny\"\n{rest}");
    for (config, wanted) in [
        (
            "lag = \"x\"\n".to_owned(),
            ":1:1: unknown field `lag`, expected one of `log`",
        ),
        ("log = 5\n".to_owned(), ":1:7: invalid type: integer `5`"),
        ("\nlog =\n".to_owned(), ":2:"),
        ("max_parallel = 0\n".to_owned(), ":1:16: "),
        (
            "[files]\nroot = \"nope\"\n".to_owned(),
            ":2:8: expected a folder for the workspace",
        ),
        (
            "[files]\ntools = [\"read\"]\n".to_owned(),
            ":2:10: expected one of read_file",
        ),
        (
            "[[command]]\nname = \"a\"\nprogram = []\n".to_owned(),
            ":3:11: expected a program",
        ),
        (
            "[[command]]\nname = \"a\"\nprogram = [\"./nope\"]\n".to_owned(),
            ":3:11: expected a program at",
        ),
        (
            format!("{replay}{replay}"),
            ":4:8: tool \"a\" is already registered",
        ),
        (
            format!("{replay}parameters = {{ type = \"thing\" }}\n"),
            ":2:8: tool \"a\" has a schema that cannot be used",
        ),
        (
            format!("{replay}answers = [{{ call_id = \"x\" }}]\n"),
            ":3:12: expected either `value` or `error`",
        ),
        (
            format!("{replay}parameters_file = \"bad.json\"\n"),
            "bad.json:2: expected a JSON Schema",
        ),
        (
            format!("{replay}answers_file = \"bad.json\"\n"),
            "bad.json:1: expected a recorded answer",
        ),
        (
            rule("tools = [\"a[\"]\n"),
            ":6:10: rule \"r\": expected a glob",
        ),
        (
            rule("arguments = [{ at = \"path\", glob = \"x\" }]\n"),
            ":6:21: rule \"r\": expected a JSON pointer",
        ),
        (
            rule("arguments = [{ at = \"/path\" }]\n"),
            ":6:14: rule \"r\": expected one of `equals`, `one_of`, `glob`",
        ),
        (
            format!("{replay}[policy]\notherwise = \"maybe\"\n"),
            ":4:13: unknown variant `maybe`, expected one of `allow`, `ask`, `deny`",
        ),
        (String::new(), "expected tools, found none"),
    ] {
        place.write("toolfall.toml", &config);
        let told = refused(&place, &["run", "empty.jsonl"]);
        assert!(told.contains(wanted), "{config}\n{told}");
    }
    place.write("toolfall.toml", [b'a', 0xff]);
    let told = refused(&place, &["run", "empty.jsonl"]);
    assert!(told.contains("toolfall.toml:1: expected UTF-8"), "{told}");
    let told = refused(&place, &["run", "--config", "none.toml", "empty.jsonl"]);
    assert!(
        told.contains("none.toml: expected a configuration"),
        "{told}"
    );
}

#[test]
fn a_bad_policy_names_line_and_column() {
    let place = Place::new();
    place.write("empty.jsonl", "");
    let replay = "[[replay]]\nname = \"a\"\n";
    let grant = "[[grants]]\nname = \"g\"\ntool = \"a\"\n";
    for (config, wanted) in [
        (
            format!("{replay}[budget]\ncalls = 0\n"),
            ":4:9: invalid value: integer `0`",
        ),
        (
            format!("{replay}[budget]\ntools = {{ a = -1 }}\n"),
            ":4:15: invalid value: integer `-1`",
        ),
        (
            format!("{replay}[repeat]\nthresholds = [2, 1]\n"),
            ":4:14: /thresholds/1: expected an integer >= 2, found 1",
        ),
        (
            format!("{replay}[[grants]]\nname = \"g\"\ntool = \"a\"\nttl_ms = 0\n"),
            ":6:10: invalid value: integer `0`",
        ),
        (
            format!("{replay}[[grants]]\nname = \"g\"\n"),
            ":3:1: missing field `tool`",
        ),
        (
            format!("{replay}{grant}[[grants]]\nname = \"g\"\ntool = \"b\"\n"),
            ":7:8: expected a name that no standing grant has, found \"g\"",
        ),
        (
            format!("{replay}{grant}arguments_json = '{{\"a\":1,\"a\":2}}'\n"),
            ":6:18: expected arguments: ",
        ),
        (
            format!(
                "{replay}{grant}arguments_json = \"\"\narguments = [{{ at = \"\", present = true }}]\n"
            ),
            ":6:18: expected `arguments_json` or `arguments`, found both",
        ),
        (
            format!("{replay}{grant}arguments = [{{ at = \"/a\" }}]\n"),
            ":6:14: expected one of `equals`, `one_of`, `glob`",
        ),
        (
            format!("{replay}{grant}arguments = [{{ at = \"/a\", equal = 1 }}]\n"),
            ":6:27: unknown field `equal`",
        ),
        (
            format!(
                "{replay}{grant}arguments = [{{ at = \"\", present = true }}, {{ at = \"a\", glob = \"b\" }}]\n"
            ),
            ":6:43: expected a JSON pointer",
        ),
        (
            format!("{replay}[permission]\npreset = \"open\"\n"),
            ":4:10: unknown preset \"open\" (available: workspace-write, danger-full-access)",
        ),
        (
            format!("{replay}[[permission.presets]]\nname = \"custom\"\nsandbox = \"read-only\"\n"),
            "the preset name \"custom\" is reserved",
        ),
        (
            format!("{replay}[permission]\napproval_policy = \"ask\"\n"),
            ":4:19: unknown variant `ask`, expected one of `allow-all`, `deny-all`",
        ),
        (
            format!("{replay}[[agent]]\nname = \"a\"\n[[agent]]\nname = \"a\"\n"),
            ":6:8: expected a name that no other agent has, found \"a\"",
        ),
        (
            format!("{replay}[[agent]]\nname = \"a\"\nparent = \"b\"\n[[agent]]\nname = \"b\"\n"),
            ":5:10: expected the name of an agent that stands before this one, found \"b\"",
        ),
        (
            format!("{replay}[[agent]]\nname = \"g\"\ndeny = [\"b\"]\n"),
            ":4:8: agent \"g\": unknown global tool \"b\"; known global tools: a",
        ),
        (
            format!(
                "{replay}[[agent]]\nname = \"g\"\n[[agent.policy.rules]]\nname = \"\"\nverdict = \"ask\"\n"
            ),
            ":6:8: expected a name for rule 1, found none",
        ),
    ] {
        place.write("toolfall.toml", &config);
        let told = refused(&place, &["run", "empty.jsonl"]);
        assert!(told.contains(wanted), "{config}\n{told}");
    }
}
