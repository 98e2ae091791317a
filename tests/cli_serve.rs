//! `toolfall serve`: a gateway in front of servers.
#![cfg(target_os = "linux")]
// Processes are waited for by the clock on the wall.
#![allow(clippy::disallowed_methods)]

#[path = "support/gateway.rs"]
mod peer;
#[path = "support/cli.rs"]
mod support;

use std::io::{Read as _, Write as _};
use std::time::{Duration, Instant};

use peer::{Peer, SERVER, is_alive};
use serde_json::{Value, json};
use support::Place;

/// A table for the small server.
fn small(name: &str, tools: &[&str]) -> String {
    let args = [&["server.py"], tools].concat();
    format!("[[mcp]]\nname = \"{name}\"\ncommand = \"python3\"\nargs = {args:?}\n")
}

const ALLOW: &str = "[policy]\notherwise = \"allow\"\n";
const APPROVE: &str = r#"{"action": "accept", "content": {"decision": "approve"}}"#;

fn place(config: &str) -> Place {
    let place = Place::new();
    place.write("server.py", SERVER);
    place.write("toolfall.toml", config);
    place
}

fn served(place: &Place, answers: Option<Value>) -> Peer {
    Peer::met(&mut place.command(&["serve", "--stdio"]), answers)
}

fn is_error(answer: &Value) -> bool {
    answer["result"]["isError"] == true
}

/// Every call has one result in the log.
fn checked(place: &Place) {
    let checked = place.run(&["check", "toolfall-session.jsonl"]);
    assert_eq!(checked.status, 0, "{}{}", checked.out, checked.err);
}

#[test]
fn calls_are_decided_run_and_recorded() {
    let rule = "[[policy.rules]]\nname = \"no slow ones\"\nverdict = \"deny\"\ntools = [\"mcp__a__slow\"]\nbecause = \"too slow\"\n";
    let place = place(&format!("{ALLOW}{rule}{}", small("a", &[])));
    let mut client = served(&place, None);
    let names = client.names();
    assert_eq!(
        names,
        ["mcp__a__echo", "mcp__a__env", "mcp__a__pid", "mcp__a__slow"]
    );
    assert_eq!(
        client.text("mcp__a__echo", json!({"x": 1.5})),
        "{\"x\": 1.5}"
    );
    let denied = client.call("mcp__a__slow", json!({}));
    assert!(is_error(&denied), "{denied}");
    assert!(denied.to_string().contains("too slow"), "{denied}");
    let server = client.text("mcp__a__pid", json!({}));
    assert!(is_alive(&server));
    let (status, err) = client.end();
    assert!(status.success(), "{err}");
    assert!(!is_alive(&server), "the server goes with the gateway");
    checked(&place);
}

#[test]
fn a_person_at_the_client_is_asked() {
    let place = place(&small("a", &[]));
    let approve: Value = serde_json::from_str(APPROVE).expect("JSON");
    let mut client = served(&place, Some(approve));
    assert_eq!(client.text("mcp__a__echo", json!({"x": 1})), "{\"x\": 1}");
    assert_eq!(client.asked.len(), 1);
    assert!(
        client.asked[0].contains("mcp__a__echo"),
        "{:?}",
        client.asked
    );
    client.answers = Some(json!({"action": "decline"}));
    let refused = client.call("mcp__a__echo", json!({}));
    assert!(is_error(&refused), "{refused}");
    assert!(client.end().0.success());
    checked(&place);
}

#[test]
fn secrets_of_a_servers_tool_are_seen_by_the_server_alone() {
    let secrets =
        |tool: &str| format!("[[redaction.tool]]\ntool = \"{tool}\"\narguments = [\"/pin\"]\n");
    let right = place(&format!("{}{}", secrets("mcp__a__echo"), small("a", &[])));
    let approve: Value = serde_json::from_str(APPROVE).expect("JSON");
    let mut client = served(&right, Some(approve));
    let echoed = client.text("mcp__a__echo", json!({"pin": "48151623"}));
    assert_eq!(echoed, "{\"pin\": \"48151623\"}");
    assert!(
        client.asked[0].contains("[redacted]") && !client.asked[0].contains("4815"),
        "{:?}",
        client.asked
    );
    assert!(client.end().0.success());
    let log = std::fs::read_to_string(right.path("toolfall-session.jsonl")).expect("a log");
    assert!(!log.contains("48151623"), "{log}");

    // Who misspells a server is not left in the belief that it is hidden.
    let wrong = place(&format!("{}{}", secrets("mcp__b__echo"), small("a", &[])));
    let run = wrong.run(&["serve", "--stdio"]);
    assert_eq!(run.status, 2, "{}", run.err);
    assert!(run.err.contains("mcp__b__echo"), "{}", run.err);
}

/// A client that was promised a value would take its lack for a fault.
#[test]
fn where_long_results_are_cut_no_values_are_promised() {
    let place = place(&format!("[spill]\n{ALLOW}{}", small("a", &[])));
    let mut client = served(&place, None);
    let long = "x".repeat(200_000);
    let answer = client.call("mcp__a__echo", json!({"x": long}));
    let whole = answer.to_string();
    assert!(
        !is_error(&answer) && whole.len() < 100_000,
        "{}",
        whole.len()
    );
    assert!(answer["result"].get("structuredContent").is_none());
    assert!(client.end().0.success());
}

/// What a server says of its own tools allows nothing.
#[test]
fn who_cannot_be_asked_is_told_how_to_allow_a_tool() {
    let place = place(&small("a", &[]));
    let mut client = served(&place, None);
    let refused = client.call("mcp__a__echo", json!({}));
    assert!(is_error(&refused), "{refused}");
    let text = refused["result"]["content"][0]["text"]
        .as_str()
        .expect("text");
    for wanted in [
        "does not offer elicitation",
        "toolfall.toml: [[policy.rules]]",
        "tools = [\"mcp__a__echo\"]",
    ] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
    drop(client);
    place.write(
        "toolfall.toml",
        format!("approve = \"never\"\n{}", small("a", &[])),
    );
    let mut client = served(&place, None);
    let refused = client.call("mcp__a__echo", json!({}));
    assert!(refused.to_string().contains("nobody is asked"), "{refused}");
}

#[test]
fn a_server_that_fails_stops_nothing_unless_it_is_strict() {
    let broken = "[[mcp]]\nname = \"broken\"\ncommand = \"false\"\n";
    let first = place(&format!("{ALLOW}{broken}{}", small("a", &["echo"])));
    let mut client = served(&first, None);
    assert_eq!(client.names(), ["mcp__a__echo"]);
    let (status, err) = client.end();
    assert!(status.success());
    assert!(err.contains("mcp-client(broken): "), "{err}");

    let second = place(&format!("{broken}strict = true\n{}", small("a", &[])));
    let ran = second.run(&["serve", "--stdio"]);
    assert_eq!(ran.status, 1, "{}", ran.err);
    assert!(ran.err.contains("broken"), "{}", ran.err);
    assert_eq!(ran.out, "");
}

#[test]
fn the_environment_is_passed_on_as_the_file_says() {
    let table = small("a", &[])
        + "env = { A = \"x${GIVEN}\", B = \"${NOT_GIVEN:-none}\" }\npass_env = [\"PASSED\"]\n";
    let place = place(&format!("{ALLOW}{table}"));
    let mut command = place.command(&["serve", "--stdio"]);
    command
        .env("GIVEN", "1")
        .env("PASSED", "2")
        .env("SECRET", "3");
    let mut client = Peer::met(&mut command, None);
    for (name, wanted) in [
        ("A", "x1"),
        ("B", "none"),
        ("PASSED", "2"),
        ("SECRET", "unset"),
    ] {
        assert_eq!(client.text("mcp__a__env", json!({"name": name})), wanted);
    }
    drop(client);
    let ran = place.run(&["serve", "--stdio"]);
    assert_eq!(ran.status, 2);
    assert!(
        ran.err
            .contains("toolfall.toml:7:13: expected the variable GIVEN"),
        "{}",
        ran.err
    );
}

/// Waits until what the gateway serves is what is wanted.
fn wait_for(client: &mut Peer, wanted: &[&str]) {
    let end = Instant::now() + peer::PATIENCE;
    loop {
        let names = client.names();
        if names == wanted {
            return;
        }
        assert!(Instant::now() < end, "{names:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_hangup_reads_the_file_again_and_drops_no_call() {
    let place = place(&format!(
        "{ALLOW}{}{}",
        small("a", &["pid", "slow"]),
        small("b", &["slow"])
    ));
    let mut client = served(&place, None);
    let before = client.text("mcp__a__pid", json!({}));
    // Begun under the old policies, on a server that goes.
    let slow = client.ask(
        "tools/call",
        &json!({"name": "mcp__b__slow", "arguments": {"ms": 1500}}),
    );
    std::thread::sleep(Duration::from_millis(300));
    place.write(
        "toolfall.toml",
        format!(
            "{ALLOW}[[policy.rules]]\nname = \"r\"\nverdict = \"deny\"\ntools = [\"mcp__a__slow\"]\n{}{}",
            small("a", &["pid", "slow"]),
            small("c", &["echo"])
        ),
    );
    client.signal("HUP");
    let told = client.until(peer::PATIENCE, |message| {
        message["method"] == "notifications/tools/list_changed"
    });
    assert!(told.is_some(), "the client is told");
    wait_for(
        &mut client,
        &["mcp__a__pid", "mcp__a__slow", "mcp__c__echo"],
    );
    let answer = client.answer(slow);
    assert!(!is_error(&answer), "the call ends as it began: {answer}");
    assert_eq!(
        client.text("mcp__a__pid", json!({})),
        before,
        "what is the same stays"
    );
    assert!(is_error(&client.call("mcp__a__slow", json!({}))));
    assert_eq!(client.text("mcp__c__echo", json!({})), "{}");

    // A broken file changes nothing.
    place.write("toolfall.toml", "[policy]\notherwise = \"maybe\"\n");
    client.signal("HUP");
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(client.text("mcp__a__pid", json!({})), before);
    let (status, err) = client.end();
    assert!(status.success(), "{err}");
    assert!(err.contains("the configuration was read again"), "{err}");
    let kept = "the configuration stays as it was: ";
    assert!(
        err.contains(kept) && err.contains("toolfall.toml:2:13: "),
        "{err}"
    );
    checked(&place);
}

#[test]
fn a_server_that_changes_is_started_anew_when_its_calls_have_ended() {
    let place = place(&format!("{ALLOW}{}", small("a", &["pid", "slow"])));
    let mut client = served(&place, None);
    let before = client.text("mcp__a__pid", json!({}));
    let slow = client.ask(
        "tools/call",
        &json!({"name": "mcp__a__slow", "arguments": {"ms": 1000}}),
    );
    std::thread::sleep(Duration::from_millis(200));
    place.write(
        "toolfall.toml",
        format!("{ALLOW}{}", small("a", &["pid", "echo"])),
    );
    client.signal("HUP");
    assert!(!is_error(&client.answer(slow)));
    wait_for(&mut client, &["mcp__a__echo", "mcp__a__pid"]);
    assert_ne!(client.text("mcp__a__pid", json!({})), before);
    assert!(!is_alive(&before));
    assert!(client.end().0.success());
    checked(&place);
}

#[test]
fn told_to_end_it_answers_every_call_and_leaves_nobody_behind() {
    let place = place(&format!("{ALLOW}{}", small("a", &[])));
    let mut client = served(&place, None);
    let server = client.text("mcp__a__pid", json!({}));
    let slow = client.ask(
        "tools/call",
        &json!({"name": "mcp__a__slow", "arguments": {"ms": 60_000}}),
    );
    std::thread::sleep(Duration::from_millis(300));
    client.signal("TERM");
    let answer = client.answer(slow);
    assert!(is_error(&answer) || answer["error"].is_object(), "{answer}");
    assert!(client.wait().success());
    assert!(!is_alive(&server));
    checked(&place);
}

#[test]
fn two_gateways_of_one_file_have_a_log_each() {
    let place = place(&format!("{ALLOW}{}", small("a", &["echo"])));
    let mut first = served(&place, None);
    let mut second = served(&place, None);
    let own = format!("toolfall-session.{}.jsonl", second.child.id());
    for client in [&mut first, &mut second] {
        assert_eq!(client.text("mcp__a__echo", json!({})), "{}");
    }
    let (_, err) = second.end();
    assert!(err.contains(&own), "{err}");
    assert!(first.end().0.success());
    checked(&place);
    assert_eq!(place.run(&["check", &own]).status, 0);
}

#[test]
fn agents_see_their_own_tools_and_no_others() {
    let agents = "[[agent]]\nname = \"reader\"\nallow = [\"mcp__a__echo\", \"mcp__late__x\"]\n";
    let place = place(&format!("{ALLOW}{agents}{}", small("a", &[])));
    let mut command = place.command(&["serve", "--stdio", "--agent", "reader"]);
    let mut client = Peer::met(&mut command, None);
    assert_eq!(client.names(), ["mcp__a__echo"]);
    assert!(
        client
            .call("mcp__a__pid", json!({}))
            .to_string()
            .contains("unknown tool")
    );
    drop(client);
    let ran = place.run(&["serve", "--stdio", "--agent", "nobody"]);
    assert_eq!(ran.status, 2, "{}", ran.err);
}

#[test]
fn mistakes_are_told_with_their_place() {
    for (config, wanted) in [
        (
            "[[mcp]]\nname = \"a b\"\ncommand = \"x\"\n",
            ":2:8: serverName must be",
        ),
        (
            "[[mcp]]\nname = \"a\"\n",
            ":2:8: expected `command` or `url`, found neither",
        ),
        (
            "[[mcp]]\nname = \"a\"\ncommand = \"x\"\nurl = \"http://h\"\n",
            ":4:7: expected `command` or `url`, found both",
        ),
        (
            "[[mcp]]\nname = \"a\"\nurl = \"h\"\n",
            ":3:7: expected a URL of http or https",
        ),
        (
            "[[mcp]]\nname = \"a\"\nurl = \"http://h\"\nargs = [\"x\"]\n",
            ":2:8: expected no args",
        ),
        (
            "[[mcp]]\nname = \"a\"\nurl = \"http://h\"\nheaders = { a = \"${NOT_SET}\" }\n",
            ":4:17: expected the variable NOT_SET",
        ),
        (
            "[[mcp]]\nname = \"a\"\nurl = \"http://h\"\nheaders = { \"a b\" = \"c\" }\n",
            ":4:21: expected the name of a header",
        ),
        (
            "[[mcp]]\nname = \"a\"\ncommand = \"x\"\ncwd = \"nowhere\"\n",
            ":4:7: expected a folder at",
        ),
        (
            "[[mcp]]\nname = \"a\"\ncommand = \"\"\n",
            ":3:11: expected a program",
        ),
        (
            "[[mcp]]\nname = \"a\"\ncommand = \"x\"\ntimeout_ms = 0\n",
            ":4:14: ",
        ),
        (
            "[[mcp]]\nname = \"a\"\ncommand = \"x\"\nreconnect = { initial_ms = 9, max_ms = 3 }\n",
            ":4:13: ",
        ),
        (
            "[[mcp]]\nname = \"a\"\ncommand = \"x\"\n[[mcp]]\nname = \"a\"\ncommand = \"y\"\n",
            ":5:8: expected a name that no other server has",
        ),
        (
            "[serve]\nhttp = \"8848\"\n",
            ":2:8: expected an address and a port",
        ),
        (
            "[[mcp]]\nname = \"a\"\ncommand = \"x\"\nenv = { A = \"${\" }\n",
            ":4:13: expected a `}`",
        ),
    ] {
        let place = place(config);
        let ran = place.run(&["serve", "--stdio"]);
        assert_eq!(ran.status, 2, "{config}: {}", ran.err);
        assert!(ran.err.contains(wanted), "{config}: {}", ran.err);
    }
}

#[test]
fn servers_are_there_for_batches_too() {
    let place = place(&format!("{ALLOW}{}", small("a", &[])));
    place.write(
        "b.jsonl",
        json!({"id": "1", "calls": [{"call_id": "1", "name": "mcp__a__echo", "arguments": {"x": 1}}]}).to_string(),
    );
    let ran = place.run(&["run", "b.jsonl", "--json"]);
    assert_eq!(ran.status, 0, "{}", ran.err);
    let results = ran.results();
    assert_eq!(results.len(), 1);
    assert_eq!(results[0]["is_error"], false, "{}", ran.out);
    assert!(ran.out.contains("{\\\"x\\\": 1}"), "{}", ran.out);
    checked(&place);
}

/// One request over HTTP: the status and the body.
fn post(port: u16, headers: &str, body: &str) -> (u16, String) {
    let mut stream = std::net::TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nContent-Length: {}\r\nConnection: close\r\n{headers}\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).expect("it reads");
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .expect("a socket");
    let mut answer = Vec::new();
    let mut chunk = [0; 4096];
    while let Ok(read @ 1..) = stream.read(&mut chunk) {
        answer.extend_from_slice(&chunk[..read]);
        // A stream of events may stay open.
        if String::from_utf8_lossy(&answer).contains("serverInfo") {
            break;
        }
    }
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let status = answer.split(' ').nth(1).and_then(|code| code.parse().ok());
    (status.unwrap_or(0), answer)
}

#[test]
fn over_http_only_those_are_answered_who_may_ask() {
    let place = place(&format!("{ALLOW}{}", small("a", &["echo"])));
    let ran = place.run(&["serve", "--http", "0.0.0.0:0"]);
    assert_eq!(ran.status, 2);
    assert!(
        ran.err.contains("expected a token for 0.0.0.0:0"),
        "{}",
        ran.err
    );

    place.write("token", "s3cret\n");
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = free.local_addr().expect("bound").port();
    drop(free);
    let address = format!("127.0.0.1:{port}");
    let mut command = place.command(&["serve", "--http", &address, "--token-file", "token"]);
    let gateway = Peer::start(&mut command);
    let end = Instant::now() + peer::PATIENCE;
    while std::net::TcpStream::connect(&address).is_err() {
        assert!(Instant::now() < end, "it listens");
        std::thread::sleep(Duration::from_millis(50));
    }
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}});
    let body = body.to_string();
    let token = "Authorization: Bearer s3cret\r\n";
    let (status, answer) = post(port, token, &body);
    assert_eq!(status, 200, "{answer}");
    assert!(answer.contains("toolfall"), "{answer}");
    assert_eq!(post(port, "", &body).0, 401);
    assert_eq!(post(port, "Authorization: Bearer other\r\n", &body).0, 401);
    let foreign = format!("{token}Origin: https://evil.example\r\n");
    assert_eq!(post(port, &foreign, &body).0, 403);
    gateway.signal("TERM");
    let (status, err) = gateway.end();
    assert!(status.success(), "{err}");
    assert!(
        err.contains(&format!("serving at http://{address}/mcp")),
        "{err}"
    );
}

#[test]
fn nothing_to_serve_is_told() {
    let ran = Place::new().run(&["serve", "--stdio"]);
    assert_eq!(ran.status, 2);
    assert!(ran.err.contains("toolfall wrap"), "{}", ran.err);
    let empty = place("");
    let mut client = served(&empty, None);
    assert_eq!(client.names(), [""; 0]);
}
