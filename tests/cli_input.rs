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
