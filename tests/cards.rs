//! The vocabulary of cards, presenters, and cards of a log.

use std::io::Write;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use toolfall::card::{
    self, CallCard, Card, DiffCall, DiffEntry, DiffResult, Diffs, Ending, FileMatches, GenericCall,
    GenericResult, Kind, LineMatch, Location, Moment, NumberedLine, PathResults, Presented,
    Projection, ReadResult, ResultCard, SearchMatches, SearchResult, Source, TerminalCall,
    TerminalResult, View, WebFetch, WebResult, WebSearch, jobs, narrow, reading, search, shell,
    web,
};
use toolfall::session::{Body, CallRecord, Record, ResultRecord, SessionLog, SessionRecorder};
use toolfall::*;
use tracing_subscriber::fmt::MakeWriter;

fn written(card: &impl serde::Serialize) -> Value {
    serde_json::to_value(card).unwrap()
}

fn text(text: &str) -> Vec<ContentBlock> {
    vec![ContentBlock::text(text)]
}

/// A success, or a failure, with this content and metadata.
fn seen<'a>(content: &'a [ContentBlock], meta: Option<&'a Value>, is_error: bool) -> Presented<'a> {
    Presented {
        content,
        meta,
        is_error,
    }
}

/// Each shape with all of its fields, and with none of the optional ones.
///
/// conformance: CARD-01, CARD-03
#[test]
fn call_cards_have_their_fields_and_no_nulls() {
    let location = Location {
        path: "a".into(),
        line: Some(3),
    };
    let cards = [
        (
            CallCard::Generic(
                GenericCall::new("t")
                    .kind(Kind::Read)
                    .raw_input("in")
                    .text("more")
                    .at(location.clone()),
            ),
            json!({"card": "generic", "title": "t", "kind": "read", "rawInput": "in",
                "content": [{"type": "text", "text": "more"}],
                "locations": [{"path": "a", "line": 3}]}),
        ),
        (
            CallCard::Generic(GenericCall::new("t")),
            json!({"card": "generic", "title": "t"}),
        ),
        (
            shell::call("ls", Some("lists"), Some("sub")),
            json!({"card": "terminal", "title": "ls", "description": "lists", "cwd": "sub"}),
        ),
        (
            CallCard::Terminal(TerminalCall {
                title: "ls".into(),
                ..TerminalCall::default()
            }),
            json!({"card": "terminal", "title": "ls"}),
        ),
        (
            CallCard::Diff(DiffCall {
                title: "d".into(),
                diffs: vec![
                    DiffEntry::new("a", "", "new"),
                    DiffEntry::new("a", "old", ""),
                ],
                locations: Some(vec![Location::of("a")]),
            }),
            json!({"card": "diff", "title": "d", "diffs": [
                {"path": "a", "oldText": null, "newText": "new"},
                {"path": "a", "oldText": "old", "newText": ""}],
                "locations": [{"path": "a"}]}),
        ),
    ];
    for (card, expected) in cards {
        assert_eq!(written(&card), expected);
        assert_eq!(serde_json::from_value::<CallCard>(expected).unwrap(), card);
    }
    let kinds = [
        Kind::Read,
        Kind::Edit,
        Kind::Delete,
        Kind::Move,
        Kind::Search,
        Kind::Execute,
        Kind::Fetch,
        Kind::Other,
    ];
    assert_eq!(
        written(&kinds),
        json!([
            "read", "edit", "delete", "move", "search", "execute", "fetch", "other"
        ])
    );
    for absent in ["search", "read", "web"] {
        let card = json!({"card": absent, "title": "t"});
        assert!(serde_json::from_value::<CallCard>(card).is_err());
    }
}

/// conformance: CARD-02, CARD-03
#[test]
#[allow(clippy::too_many_lines)]
fn result_cards_have_their_fields_and_no_nulls() {
    let cards = [
        (
            ResultCard::Generic(GenericResult {
                title: Some("t".into()),
                content: Some(text("c")),
            }),
            json!({"card": "generic", "title": "t", "content": [{"type": "text", "text": "c"}]}),
        ),
        (
            ResultCard::Generic(GenericResult::default()),
            json!({"card": "generic"}),
        ),
        (
            ResultCard::Terminal(TerminalResult {
                title: None,
                output: Some("o".into()),
                ending: Some(Ending::ExitCode(3)),
            }),
            json!({"card": "terminal", "output": "o", "exitCode": 3}),
        ),
        (
            ResultCard::Terminal(TerminalResult {
                title: Some("t".into()),
                output: None,
                ending: Some(Ending::Signal("SIGKILL".into())),
            }),
            json!({"card": "terminal", "title": "t", "signal": "SIGKILL"}),
        ),
        (
            ResultCard::Terminal(TerminalResult::default()),
            json!({"card": "terminal"}),
        ),
        (
            ResultCard::Diff(DiffResult {
                title: None,
                diffs: vec![DiffEntry::new("a", "", "n")],
            }),
            json!({"card": "diff", "diffs": [{"path": "a", "oldText": null, "newText": "n"}]}),
        ),
        (
            ResultCard::Search(SearchResult::Matches(SearchMatches {
                files: vec![FileMatches {
                    path: "a".into(),
                    matches: vec![LineMatch {
                        line_number: 2,
                        line: "l".into(),
                    }],
                }],
                truncated: true,
                total: 9,
            })),
            json!({"card": "search", "files": [{"path": "a",
                "matches": [{"lineNumber": 2, "line": "l"}]}], "truncated": true, "total": 9}),
        ),
        (
            ResultCard::Search(SearchResult::Paths(PathResults {
                paths: vec!["a".into()],
                truncated: false,
                total: 1,
            })),
            json!({"card": "search", "paths": ["a"], "truncated": false, "total": 1}),
        ),
        (
            ResultCard::Read(ReadResult {
                path: "a.rs".into(),
                offset: 2,
                lines: vec![NumberedLine {
                    number: 2,
                    text: "x".into(),
                }],
                total_lines: 3,
                lang: Some("rust".into()),
                ..ReadResult::default()
            }),
            json!({"card": "read", "path": "a.rs", "offset": 2,
                "lines": [{"number": 2, "text": "x"}], "totalLines": 3, "lang": "rust"}),
        ),
        (
            ResultCard::Web(WebResult::Search(WebSearch {
                title: None,
                sources: vec![Source {
                    url: "u".into(),
                    title: None,
                }],
                answer: None,
                truncated: false,
            })),
            json!({"card": "web", "sources": [{"url": "u"}], "truncated": false}),
        ),
        (
            ResultCard::Web(WebResult::Fetch(WebFetch {
                title: None,
                url: "u".into(),
                status_code: 200,
                truncated: true,
            })),
            json!({"card": "web", "url": "u", "statusCode": 200, "truncated": true}),
        ),
    ];
    for (card, expected) in cards {
        assert_eq!(written(&card), expected);
        assert_eq!(
            serde_json::from_value::<ResultCard>(expected).unwrap(),
            card
        );
    }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Greet {
    name: String,
}

fn bare() -> ToolDef {
    tool_fn(
        "greet",
        "Greets",
        |args: Greet, _: ToolContext| async move { Ok::<_, BoxError>(format!("hello {}", args.name)) },
    )
}

fn greeter() -> ToolDef {
    bare()
        .present_call(|args: Greet| {
            Some(CallCard::Generic(GenericCall::new(format!(
                "Greet {}",
                args.name
            ))))
        })
        .present_result(|args: Greet, result: &Presented<'_>| {
            let title = format!("{} failed: {}", args.name, result.is_error);
            Some(ResultCard::Generic(GenericResult {
                title: Some(title),
                content: None,
            }))
        })
}

fn registry(tool: ToolDef) -> Registry {
    let registry = Registry::new();
    registry.register(tool).unwrap().keep();
    registry
}

fn cards(registry: &Registry, arguments: &str) -> (Option<CallCard>, Option<ResultCard>) {
    let arguments = Arguments::from_text(arguments).unwrap();
    let content = text("x");
    let result = seen(&content, None, false);
    (
        registry.call_card("greet", &arguments, None),
        registry.result_card("greet", &arguments, &result, None),
    )
}

/// conformance: CARD-04, CARD-05, ARGS-31
#[test]
fn presenters_get_typed_arguments_or_nothing() {
    let presenting = registry(greeter());
    let (call, result) = cards(&presenting, r#"{"name":"Ada"}"#);
    assert_eq!(call.unwrap().title(), "Greet Ada");
    assert_eq!(
        written(&result.unwrap()),
        json!({"card": "generic", "title": "Ada failed: false"})
    );
    for bad in ["{}", r#"{"name":1}"#, "[]", "no json", "", "null"] {
        assert_eq!(cards(&presenting, bad), (None, None), "{bad}");
    }
    let tool = presenting.get("greet", None).unwrap();
    assert!(tool.presents_calls() && tool.presents_results());

    let without = registry(bare());
    assert_eq!(cards(&without, r#"{"name":"Ada"}"#), (None, None));
    let tool = without.get("greet", None).unwrap();
    assert!(!tool.presents_calls() && !tool.presents_results());
}

/// Text that is no JSON reaches the presenter of a tool that takes it.
#[test]
fn free_text_is_presented_too() {
    let tool = raw_tool("greet", "", json!({"type": "object"}), |_, _| async {
        Ok::<_, BoxError>(Value::Null)
    })
    .validation(Validation::FreeText)
    .present_call(|text: String| Some(CallCard::Generic(GenericCall::new(text))));
    let (call, _) = cards(&registry(tool), "hello {");
    assert_eq!(call.unwrap().title(), "hello {");
}

/// conformance: CARD-07
#[test]
fn a_shell_call_is_a_terminal() {
    assert_eq!(
        written(&shell::call("make test", Some("Runs the tests"), None)),
        json!({"card": "terminal", "title": "make test", "description": "Runs the tests"})
    );
    for cwd in ["/abs", "rel/../x"] {
        let card = written(&shell::call("ls", Some("d"), Some(cwd)));
        assert_eq!(card["cwd"], cwd);
    }
}

fn shown(output: &str) -> Value {
    let content = text(output);
    written(&shell::result(&seen(&content, None, false)).unwrap())
}

/// conformance: CARD-08, CARD-09, CARD-10
#[test]
fn the_last_marker_of_shell_text_is_its_end() {
    let terminal = |output: &str, key: &str, value: Value| json!({"card": "terminal", "output": output, key: value});
    assert_eq!(shown("hi\n\n"), terminal("hi\n\n", "exitCode", json!(0)));
    assert_eq!(
        shown("hi\n[exit code: 3]"),
        terminal("hi", "exitCode", json!(3))
    );
    assert_eq!(
        shown("hi\n[killed by signal: SIGKILL]"),
        terminal("hi", "signal", json!("SIGKILL"))
    );
    assert_eq!(
        shown("slow\n[timed out after 100ms]\n[exit code: 143]"),
        terminal("slow\n[timed out after 100ms]", "exitCode", json!(143))
    );
    for output in [
        "[exit code: 3]",
        "[killed by signal: SIGKILL]",
        "a\n[exit code: three]",
        "a\n[exit code: 3] ",
        "a\n[killed by signal: ]",
        "a\n[exit code: 99999999999]",
    ] {
        assert_eq!(shown(output), terminal(output, "exitCode", json!(0)));
    }
}

/// conformance: CARD-11
#[test]
fn ends_of_programs_survive_their_text() {
    let signal = Ending::Signal("SIGTERM".to_owned());
    let ends = [
        (Ending::ExitCode(0), None, "out\n"),
        (Ending::ExitCode(7), None, "out\n"),
        (signal, None, "out\n"),
        (
            Ending::ExitCode(0),
            Some(100),
            "out\n\n[timed out after 100ms]",
        ),
    ];
    for (ending, timed_out_ms, output) in ends {
        let end = shell::End {
            ending: ending.clone(),
            timed_out_ms,
        };
        assert_eq!(shell::parse(&end.text("out\n")), (output, ending));
    }
    // Output that looks like a marker is told from one.
    let end = shell::End {
        ending: Ending::ExitCode(0),
        timed_out_ms: None,
    };
    let forged = "out\n[exit code: 3]";
    assert_eq!(
        shell::parse(&end.text(forged)),
        (forged, Ending::ExitCode(0))
    );
}

/// conformance: CARD-12, CARD-13
#[test]
fn shell_results_without_an_end_are_text() {
    assert_eq!(
        written(&shell::background_call("serve", Some("Serves"))),
        json!({"card": "generic", "title": "serve", "kind": "execute", "rawInput": "serve",
            "content": [{"type": "text", "text": "Serves"}]})
    );
    let content = text("it broke\n[exit code: 3]");
    let expected = json!({"card": "generic", "content": [
        {"type": "text", "text": "```console\nit broke\n[exit code: 3]\n```"}]});
    let failed = shell::result(&seen(&content, None, true)).unwrap();
    assert_eq!(written(&failed), expected);
    let background = shell::background_result(&seen(&content, None, false)).unwrap();
    assert_eq!(written(&background), expected);
    let content = text("````\n");
    let fenced = shell::background_result(&seen(&content, None, false)).unwrap();
    assert_eq!(
        written(&fenced)["content"][0]["text"],
        "`````console\n````\n`````"
    );

    let picture = vec![ContentBlock::Image {
        data: String::new(),
        mime_type: "image/png".into(),
    }];
    let two = [text("a"), text("b")].concat();
    for content in [picture, Vec::new(), two] {
        for is_error in [false, true] {
            assert_eq!(shell::result(&seen(&content, None, is_error)), None);
        }
    }
}

/// conformance: CARD-14
#[test]
fn a_read_names_its_lines() {
    let told = |path, from, lines| {
        let card = written(&reading::call(path, from, lines));
        assert_eq!(card["kind"], "read");
        let location = &card["locations"][0];
        assert_eq!(location["path"], path);
        (
            card["title"].as_str().unwrap().to_owned(),
            location["line"].as_u64(),
        )
    };
    let title = |title: &str, line| (title.to_owned(), Some(line));
    assert_eq!(
        told("src/a.ts", Some(12), Some(40)),
        title("Read src/a.ts (12 - 51)", 12)
    );
    assert_eq!(told("a.txt", None, None), title("Read a.txt", 1));
    assert_eq!(
        told("a.txt", Some(5), None),
        title("Read a.txt (from line 5)", 5)
    );
    assert_eq!(
        told("a.txt", None, Some(10)),
        title("Read a.txt (1 - 10)", 1)
    );
    // The largest numbers do not overflow.
    assert!(
        told("a", Some(u64::MAX), Some(u64::MAX))
            .0
            .ends_with(&format!("{})", u64::MAX - 1))
    );
}

/// conformance: CARD-22
#[test]
fn diff_metadata_is_whole_or_nothing() {
    let good = json!({"path": "a", "oldText": null, "newText": "n"});
    let meta = json!({"diffs": [good]});
    assert_eq!(
        Diffs::of(Some(&meta)),
        Some(vec![DiffEntry::new("a", "", "n")])
    );
    assert_eq!(Diffs::of(None), None);
    for bad in [
        json!(null),
        json!("diffs"),
        json!([[good]]),
        json!({}),
        json!({"diffs": []}),
        json!({"diffs": {}}),
        json!({"diffs": null}),
        json!({"diffs": [good, 1]}),
        json!({"diffs": [good, {"path": "a", "newText": "n"}]}),
        json!({"diffs": [good, {"path": 1, "oldText": null, "newText": "n"}]}),
        json!({"diffs": [good, {"path": "a", "oldText": 1, "newText": "n"}]}),
        json!({"diffs": [good, {"path": "a", "oldText": null, "newText": null}]}),
    ] {
        assert_eq!(Diffs::of(Some(&bad)), None, "{bad}");
    }
}

/// conformance: CARD-23, CARD-24
#[test]
fn matches_are_grouped_and_cut() {
    let found = [("b.ts", 2, "two"), ("a.ts", 1, "one"), ("b.ts", 5, "five")];
    let all = search::matches(found, 3, search::Budget::default());
    assert_eq!(
        written(&all),
        json!({"files": [
            {"path": "b.ts", "matches": [
                {"lineNumber": 2, "line": "two"}, {"lineNumber": 5, "line": "five"}]},
            {"path": "a.ts", "matches": [{"lineNumber": 1, "line": "one"}]}],
            "truncated": false, "total": 3})
    );
    let page = search::matches(found.into_iter().take(2), 3, search::Budget::default());
    assert!(page.truncated);
    assert_eq!(page.total, 3);

    let cut = |line, line_bytes| {
        let budget = search::Budget {
            line_bytes,
            ..search::Budget::default()
        };
        search::matches([("a", 1, line)], 1, budget).files[0].matches[0]
            .line
            .clone()
    };
    assert_eq!(cut("aéaéaéaé", 7), "aéaéa (line truncated)");
    assert_eq!(cut("aéaéaéaé", 8), "aéaéa (line truncated)");
    assert_eq!(cut("aéaéaéaé", 12), "aéaéaéaé");
    assert_eq!(cut("é", 0), " (line truncated)");
}

/// conformance: CARD-25
#[test]
fn what_does_not_fit_is_left_out_from_the_end() {
    let names: Vec<String> = (0..50).map(|n| format!("file{n}.rs")).collect();
    for bytes in [0, 100, 300, 1_000, 100_000] {
        let budget = search::Budget {
            bytes,
            ..search::Budget::default()
        };
        let lines = names.iter().map(|name| (name.as_str(), 1, "line"));
        let card = search::matches(lines, 50, budget);
        let (kept, size) = (card.files.len(), written(&card).to_string().len());
        assert!(size <= bytes || kept == 1, "{size} > {bytes}");
        assert_eq!((card.total, card.truncated), (50, kept < 50));
        assert_eq!(card.files[0].path, "file0.rs");

        let card = search::paths(names.iter().map(String::as_str), 50, budget);
        let (kept, size) = (card.paths.len(), written(&card).to_string().len());
        assert!(size <= bytes || kept == 1, "{size} > {bytes}");
        assert_eq!((card.total, card.truncated), (50, kept < 50));
        assert_eq!(card.paths, names[..kept]);
        // No more is left out than must be.
        assert!(bytes < 300 || kept > 10);
    }
}

/// conformance: CARD-26
#[test]
fn search_metadata_is_whole_or_nothing() {
    for empty in [
        json!({"files": [], "truncated": false, "total": 0}),
        json!({"paths": [], "truncated": false, "total": 0}),
    ] {
        let card = narrow::<SearchResult>(&empty).expect("valid");
        assert_eq!(written(&card), empty);
    }
    let line = json!({"lineNumber": 1, "line": "x"});
    for bad in [
        json!({"files": [], "truncated": false}),
        json!({"files": [], "truncated": 0, "total": 0}),
        json!({"files": [], "truncated": false, "total": -1}),
        json!({"files": {}, "truncated": false, "total": 0}),
        json!({"files": [{"path": "a"}], "truncated": false, "total": 1}),
        json!({"files": [{"path": "a", "matches": [line, {}]}], "truncated": false, "total": 2}),
        json!({"files": [{"path": "a", "matches": [{"lineNumber": 1.5, "line": "x"}]}],
            "truncated": false, "total": 1}),
        json!({"paths": ["a", null], "truncated": false, "total": 2}),
        json!({"truncated": false, "total": 0}),
        json!([[], false, 0]),
    ] {
        assert_eq!(narrow::<SearchResult>(&bad), None, "{bad}");
    }
}

/// conformance: CARD-27, CARD-28
#[test]
fn web_cards_are_made_of_metadata() {
    let content = text("the page");
    let of = |meta: &Value, is_error| {
        let seen = seen(&content, Some(meta), is_error);
        (
            web::search_result(&["one", "two"], &seen).map(|card| written(&card)),
            web::fetch_result(&seen).map(|card| written(&card)),
        )
    };
    let searched =
        json!({"sources": [{"url": "u", "title": "t"}], "answer": "42", "truncated": true});
    assert_eq!(
        of(&searched, false),
        (
            Some(
                json!({"card": "web", "title": "one, two", "answer": "42", "truncated": true,
                "sources": [{"url": "u", "title": "t"}]})
            ),
            None
        )
    );
    let fetched = json!({"url": "https://a.b", "statusCode": 404, "truncated": false});
    assert_eq!(
        of(&fetched, false),
        (
            None,
            Some(
                json!({"card": "web", "title": "https://a.b", "url": "https://a.b",
                "statusCode": 404, "truncated": false})
            )
        )
    );
    let none = json!({"sources": [], "truncated": false});
    let (card, _) = of(&none, false);
    assert_eq!(card.unwrap()["sources"], json!([]));
    for meta in [&searched, &fetched, &none] {
        assert_eq!(of(meta, true), (None, None));
    }
    for bad in [
        json!(null),
        json!({"sources": [{}], "truncated": false}),
        json!({"sources": [], "answer": null, "truncated": false}),
        json!({"sources": []}),
        json!({"url": "u", "statusCode": "200", "truncated": false}),
        json!({"statusCode": 200, "truncated": false}),
    ] {
        assert_eq!(of(&bad, false), (None, None), "{bad}");
    }
    let absent = seen(&content, None, false);
    assert_eq!(web::search_result(&["q"], &absent), None);
    assert_eq!(web::fetch_result(&absent), None);
}

/// conformance: CARD-29
#[test]
fn job_calls_name_their_job() {
    assert_eq!(
        written(&jobs::output_call("bash-1")),
        json!({"card": "generic", "title": "Read output from background job bash-1",
            "kind": "read", "rawInput": "bash-1"})
    );
    assert_eq!(
        written(&jobs::list_call()),
        json!({"card": "generic", "title": "List background jobs", "kind": "read"})
    );
    assert_eq!(
        written(&jobs::kill_call("subagent-2")),
        json!({"card": "generic", "title": "Kill background job subagent-2",
            "kind": "execute", "rawInput": "subagent-2"})
    );
}

/// The records of one call of `greet`.
async fn logged(tool: ToolDef) -> (Registry, Vec<Record>) {
    let registry = registry(tool);
    let log = SessionLog::in_memory();
    let pipeline = Pipeline::builder(registry.clone())
        .recorder(Arc::new(SessionRecorder::new(log.clone())))
        .build();
    let token = CancellationToken::new();
    let result = pipeline
        .call("1", "greet", r#"{"name":"Ada"}"#, token)
        .await;
    assert_eq!(result.text(), "hello Ada");
    (registry, log.records().unwrap())
}

fn card_of(view: &View) -> Value {
    written(view).get("card").cloned().unwrap_or_default()
}

/// What the trace says.
#[derive(Clone, Default)]
struct Warnings(Arc<Mutex<Vec<u8>>>);

impl Write for Warnings {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Warnings {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

/// conformance: CARD-30
#[tokio::test]
async fn events_have_a_card_only_if_a_presenter_made_one() {
    let (registry, records) = logged(bare()).await;
    let views = card::from_log(&records, &registry, None);
    let moments: Vec<Moment> = views.iter().map(|view| view.moment).collect();
    assert_eq!(moments, [Moment::Call, Moment::Result]);
    assert_eq!(
        written(&views[0]),
        json!({"seq": 1, "call": 1, "moment": "call", "tool": "greet"})
    );

    let panicking = bare()
        .present_call(|_: Greet| -> Option<CallCard> { panic!("no card") })
        .present_result(|_: Greet, _| -> Option<ResultCard> { panic!("no card") });
    let (registry, records) = logged(panicking).await;
    let warnings = Warnings::default();
    let subscriber = tracing_subscriber::fmt()
        .with_writer(warnings.clone())
        .finish();
    let views =
        tracing::subscriber::with_default(subscriber, || card::from_log(&records, &registry, None));
    assert!(views.len() == 2 && views.iter().all(|view| view.card.is_none()));
    let told = String::from_utf8(warnings.0.lock().unwrap().clone()).unwrap();
    for presenter in ["present_call", "present_result"] {
        assert!(told.contains(&format!("{presenter} panicked")), "{told}");
    }

    let call_only = bare().present_call(|_: Greet| Some(jobs::list_call()));
    let (registry, records) = logged(call_only).await;
    let views = card::from_log(&records, &registry, None);
    assert_eq!(card_of(&views[0])["title"], "List background jobs");
    let event = json!({"record": records.last().unwrap(), "view": views[1]}).to_string();
    assert_eq!(event.matches("hello Ada").count(), 1);
}

fn record(seq: u64, body: impl Into<Body>) -> Record {
    Record {
        seq,
        at: None,
        body: body.into(),
    }
}

fn call(call: u64, arguments: &str) -> CallRecord {
    CallRecord {
        call,
        id: "same".into(),
        name: "greet".into(),
        arguments: arguments.into(),
        ..CallRecord::default()
    }
}

fn result(call: u64) -> ResultRecord {
    ResultRecord {
        call,
        id: "same".into(),
        ..ResultRecord::default()
    }
}

/// Ids repeat, so results are paired by the log's own number, however late.
///
/// conformance: CARD-31
#[test]
fn results_find_their_calls_live_and_in_a_log() {
    let registry = registry(greeter());
    let records = [
        record(1, call(1, r#"{"name":"Ada"}"#)),
        record(2, call(2, r#"{"name":"Bob"}"#)),
        record(3, result(1)),
        record(4, result(1)),
        record(5, result(9)),
        record(6, call(3, "no json")),
        record(7, result(3)),
        record(8, result(2)),
    ];
    let views = card::from_log(&records, &registry, None);
    let titles: Vec<Option<String>> = views
        .iter()
        .map(|view| match view.card.as_ref()? {
            Card::Call(card) => Some(card.title().to_owned()),
            Card::Result(ResultCard::Generic(card)) => card.title.clone(),
            _ => None,
        })
        .collect();
    let title = |title: &str| Some(title.to_owned());
    assert_eq!(
        titles,
        [
            title("Greet Ada"),
            title("Greet Bob"),
            title("Ada failed: false"),
            None,
            None,
            None,
            None,
            title("Bob failed: false"),
        ]
    );
    assert_eq!(views[4].tool, None);
    assert_eq!(views[6].tool.as_deref(), Some("greet"));

    let mut live = Projection::new(registry, None);
    let one_by_one: Vec<View> = records.iter().filter_map(|it| live.observe(it)).collect();
    assert_eq!(one_by_one, views);
}
