//! Bad input: the error names the file, the line and what was expected, and
//! nothing runs.

#[path = "support/cli.rs"]
mod support;

use support::{Place, code};

fn refused(place: &Place, args: &[&str]) -> String {
    let ran = place.run(args);
    assert_eq!(ran.status, 2, "{args:?}: {}{}", ran.out, ran.err);
    assert!(!ran.err.contains("panicked"), "{}", ran.err);
    assert!(!ran.out.contains("\"result\""), "nothing ran: {}", ran.out);
    ran.err
}

#[test]
fn a_bad_batch_names_its_line() {
    let place = Place::new();
    let good = "{\"calls\":[{\"name\":\"a\"}]}\n";
    for (bad, wanted) in [
        (
            "{\"calls\":[{\"nam\":\"a\"}]}",
            "at /calls/0: missing field `name`",
        ),
        (
            "{\"calls\":[{\"name\":\"a\",}]}",
            "expected a name in double quotes",
        ),
        ("{\"calls\":5}", "at /calls: invalid type: integer `5`"),
        (
            "{\"calls\":[{\"name\":\"a\",\"arguments_json\":5}]}",
            "at /calls/0/arguments_json: invalid type",
        ),
        (
            "{\"calls\":[{\"name\":\"a\",\"arguments\":{\"x\":1,\"x\":2}}]}",
            "the name stands twice",
        ),
        (
            "{\"calls\":[{\"name\":\"a\",\"arguments\":{},\"arguments_json\":\"\"}]}",
            "/calls/0: expected `arguments_json` or `arguments`, found both",
        ),
        ("hello", "expected a value, found `h`"),
        (
            "{\"text\":\"hello\"}",
            "Responses or Messages, found neither",
        ),
        ("\"hello\"", "expected a batch"),
        ("[1, 2]", "expected a batch"),
        (
            "{\"error\":{\"message\":\"overloaded\"}}",
            "the provider answered with an error",
        ),
        (
            "{\"toolset\":\"x\",\"calls\":[]}",
            "expected the batch's tool sets",
        ),
    ] {
        place.write("b.jsonl", format!("{good}\n{bad}\n{good}"));
        let told = refused(&place, &["run", "--replay", "b.jsonl"]);
        assert!(told.starts_with("toolfall: b.jsonl:3: "), "{told}");
        assert!(told.contains(wanted), "{told}");
    }
    place.write("b.jsonl", [good.as_bytes(), b"\xff\xfe\n"].concat());
    let told = refused(&place, &["run", "--replay", "b.jsonl"]);
    assert!(told.contains("b.jsonl:2: expected UTF-8"), "{told}");
    place.write(
        "b.jsonl",
        "{\n \"calls\": [\n  {\"name\": \"a\",\n  x}\n ]\n}\n",
    );
    let told = refused(&place, &["run", "--replay", "b.jsonl"]);
    assert!(told.contains("b.jsonl:4: column 3: "), "{told}");
    let deep = format!("{{\"calls\":{}1{}}}", "[".repeat(5_000), "]".repeat(5_000));
    place.write("b.jsonl", deep);
    refused(&place, &["run", "--replay", "b.jsonl"]);
    let told = refused(&place, &["run", "--replay", "none.jsonl"]);
    assert!(told.contains("none.jsonl: expected batches"), "{told}");
}

#[test]
fn what_came_before_a_bad_line_on_standard_input_keeps_its_result() {
    let place = Place::new();
    let ran = place.fed(
        &["run", "--replay"],
        "{\"calls\":[{\"name\":\"a\"}]}\n{\"calls\":\n",
    );
    assert_eq!(ran.status, 2);
    assert_eq!(code(&ran.results()[0]), "UNKNOWN_TOOL");
    assert!(ran.err.contains("(standard input):2: "), "{}", ran.err);
    assert_eq!(place.run(&["check", "toolfall-session.jsonl"]).status, 0);
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
            ":4:8: unknown global tool \"b\"; known global tools: a",
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

/// conformance: SCHED-16
#[test]
fn a_limit_is_a_whole_number_from_one_on() {
    let place = Place::new();
    place.write("empty.jsonl", "");
    for limit in ["0", "1.5", "-1", "many"] {
        let limit = format!("--max-parallel={limit}");
        let told = refused(&place, &["run", "--replay", &limit, "empty.jsonl"]);
        assert!(told.contains("expected a whole number from 1 on"), "{told}");
        place.write(
            "toolfall.toml",
            limit.replace("--max-parallel", "max_parallel"),
        );
        let told = refused(&place, &["run", "--replay", "empty.jsonl"]);
        assert!(told.contains("toolfall.toml:1:14: "), "{told}");
        std::fs::remove_file(place.path("toolfall.toml")).unwrap();
    }
    let taken = ["run", "--replay", "--max-parallel=1", "empty.jsonl"];
    assert_eq!(place.run(&taken).status, 0);
}

#[test]
fn bad_arguments_and_logs_are_refused() {
    let place = Place::new();
    place.write("empty.jsonl", "");
    let told = refused(&place, &["run", "absent.jsonl"]);
    assert!(
        told.contains("absent.jsonl"),
        "the typing error first: {told}"
    );
    for args in [
        &["run", "--approve", "always", "empty.jsonl"][..],
        &["run", "--json", "--human", "empty.jsonl"],
        &["run", "empty.jsonl"],
        &["run", "--root", "none", "empty.jsonl"],
        &["run", "--replay", "--log", "none/log", "empty.jsonl"],
        &["run", "--replay", "--log", ".", "empty.jsonl"],
        &["check"],
        &["nothing"],
    ] {
        refused(&place, args);
    }
    place.write("log", "not a record\n");
    let told = refused(&place, &["run", "--replay", "--log", "log", "empty.jsonl"]);
    assert!(told.contains("log:1: expected"), "{told}");
    let kept = std::fs::read_to_string(place.path("log")).unwrap();
    assert_eq!(kept, "not a record\n", "nothing was changed");
}
