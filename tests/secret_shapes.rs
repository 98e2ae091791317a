//! Well-known secrets: what is masked, and what looks alike and is not.

#[path = "support/spill.rs"]
mod stores;
#[path = "support/facade.rs"]
mod support;

use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use serde_json::{Value, json};
use stores::{Does, Stub};
use support::{registry, request};
use toolfall::layers::Redaction as _;
use toolfall::redaction::{SecretShapes, ShapeError};
use toolfall::spill::{SpillConfig, SpillPolicy, SpillSlot};
use toolfall::*;

/// Repeats letters that are no word: bodies of made-up secrets.
fn body(length: usize) -> String {
    "aB3xY7qR9tK2mN5pL8vC4wZ6"
        .chars()
        .cycle()
        .take(length)
        .collect()
}

fn hex(length: usize) -> String {
    "3fa9c07b51e8d264".chars().cycle().take(length).collect()
}

fn upper(length: usize) -> String {
    "QZ7K2WMX5RVTNJ4L".chars().cycle().take(length).collect()
}

#[expect(clippy::too_many_lines, reason = "a table")]
/// A secret in its context, the mask's name, and something like it that is none.
fn table() -> Vec<(String, &'static str, String)> {
    let pem = format!(
        "-----BEGIN RSA PRIVATE KEY-----\n{}\n{}\n-----END RSA PRIVATE KEY-----",
        body(64),
        body(40)
    );
    let named = |name: &'static str, secret: String, other: String| (secret, name, other);
    vec![
        named(
            "private-key",
            pem,
            "starts with \"-----BEGIN PRIVATE KEY-----\" and ends with \"-----END PRIVATE KEY-----\""
                .to_owned(),
        ),
        named(
            "private-key",
            format!("-----BEGIN OPENSSH PRIVATE KEY-----\n{}\n{}", body(70), body(70)),
            format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----", body(64)),
        ),
        named(
            "age-secret-key",
            format!("AGE-SECRET-KEY-1{}", upper(58)),
            format!("AGE-SECRET-KEY-1{}", upper(20)),
        ),
        named("aws-access-key", format!("AKIA{}", upper(16)), format!("AKIA{}", upper(15))),
        named(
            "aws-secret-key",
            format!("aws_secret_access_key = {}", body(40)),
            format!("aws_secret_access_key_checksum = {}", hex(64)),
        ),
        named("github-token", format!("ghp_{}", body(36)), format!("ghp_{}", body(20))),
        named(
            "github-token",
            format!("github_pat_{}_{}", body(22), body(59)),
            format!("github_pat_{}", body(22)),
        ),
        named("gitlab-token", format!("glpat-{}", body(20)), "glpat-short".to_owned()),
        named(
            "slack-token",
            format!("xoxb-123456789012-{}", body(24)),
            "xoxb-is-a-prefix".to_owned(),
        ),
        named(
            "slack-webhook",
            format!("https://hooks.slack.com/services/{}", body(44)),
            "https://hooks.slack.com/services/T0/B0".to_owned(),
        ),
        named("stripe-key", format!("sk_live_{}", body(24)), format!("pk_live_{}", body(24))),
        named(
            "google-api-key",
            format!("AIza{}", body(35)),
            format!("AIza{}", body(36)),
        ),
        named("google-oauth", format!("GOCSPX-{}", body(28)), "GOCSPX-".to_owned()),
        named(
            "anthropic-key",
            format!("sk-ant-api03-{}", body(80)),
            "sk-ant-api03-short".to_owned(),
        ),
        named("openai-key", format!("sk-proj-{}", body(48)), "sk-learn-is-a-library".to_owned()),
        named("openai-key", format!("sk-{}", body(48)), format!("sk-{}", body(47))),
        named("groq-key", format!("gsk_{}", body(52)), format!("gsk_{}", body(30))),
        named("replicate-token", format!("r8_{}", body(37)), format!("r8_{}", body(36))),
        named("huggingface-token", format!("hf_{}", body(34)), "hf_hub_download_of_a_file".to_owned()),
        named("npm-token", format!("npm_{}", body(36)), "npm_config_registry".to_owned()),
        named(
            "npm-token",
            format!("//registry.example.com/:_authToken={}", body(20)),
            "//registry.example.com/:_authToken=${NPM_TOKEN}".to_owned(),
        ),
        named("pypi-token", format!("pypi-AgE{}", body(60)), format!("pypi-{}", body(60))),
        named("crates-io-token", format!("cio{}", body(32)), format!("cio{}", body(31))),
        named("rubygems-token", format!("rubygems_{}", hex(48)), format!("rubygems_{}", hex(40))),
        named("docker-token", format!("dckr_pat_{}", body(27)), "dckr_pat_x".to_owned()),
        named(
            "sendgrid-key",
            format!("SG.{}.{}", body(22), body(43)),
            format!("SG.{}", body(22)),
        ),
        named("twilio-key", format!("SK{}", hex(32)), format!("SK{}", hex(40))),
        named(
            "twilio-key",
            format!("TWILIO_AUTH_TOKEN={}", hex(32)),
            format!("TWILIO_ACCOUNT_SID={}", hex(32)),
        ),
        named("mailgun-key", format!("key-{}", hex(32)), format!("key-{}", hex(31))),
        named("mailchimp-key", format!("{}-us12", hex(32)), format!("{}-eu12", hex(32))),
        named(
            "digitalocean-token",
            format!("dop_v1_{}", hex(64)),
            format!("dop_v1_{}", hex(63)),
        ),
        named("databricks-token", format!("dapi{}", hex(32)), format!("dapi{}", hex(33))),
        named("vault-token", format!("hvs.{}", body(24)), "hvs.short".to_owned()),
        named("doppler-token", format!("dp.pt.{}", body(43)), format!("dp.xx.{}", body(43))),
        named("linear-key", format!("lin_api_{}", body(40)), format!("lin_api_{}", body(39))),
        named(
            "grafana-token",
            format!("glsa_{}_{}", body(32), hex(8)),
            format!("glsa_{}", body(32)),
        ),
        named("shopify-token", format!("shpat_{}", hex(32)), format!("shpxx_{}", hex(32))),
        named(
            "telegram-token",
            format!("bot 123456789:AA{}", body(33)),
            format!("bot 123456789:AB{}", body(33)),
        ),
        named(
            "discord-webhook",
            format!("https://discord.com/api/webhooks/123456/{}", body(68)),
            "https://discord.com/api/webhooks/123456/".to_owned(),
        ),
        named(
            "azure-account-key",
            format!("AccountName=a;AccountKey={}==", body(86)),
            "AccountKey=<the key>".to_owned(),
        ),
        named(
            "jwt",
            format!("eyJ{}.eyJ{}.{}", body(30), body(40), body(43)),
            format!("eyJ{}.{}", body(30), body(40)),
        ),
        named(
            "authorization",
            format!("Authorization: Bearer {}", body(30)),
            "Authorization: Bearer <token>".to_owned(),
        ),
        named(
            "authorization",
            "\"authorization\": \"Basic dXNlcjpwYXNz\"".to_owned(),
            "Authorization: required".to_owned(),
        ),
        named(
            "api-key-header",
            format!("X-Api-Key: {}", body(32)),
            "X-Api-Key: $API_KEY".to_owned(),
        ),
        named(
            "url-credentials",
            "postgres://app:hunter2@db.internal/prod".to_owned(),
            "postgres://app:${DB_PASSWORD}@db.internal/prod".to_owned(),
        ),
        named(
            "url-credentials",
            "https://api.example.com/v1?access_token=abc123def456".to_owned(),
            "http://localhost:8080/@scope/package".to_owned(),
        ),
        named(
            "password",
            "Server=db;User Id=app;Password=hunter2;".to_owned(),
            "Server=db;User Id=app;Integrated Security=true".to_owned(),
        ),
        named(
            "password",
            "HOST=db\nexport DB_PASSWORD=hunter22\n".to_owned(),
            "HOST=db\nDB_PASSWORD=$SECRET\n".to_owned(),
        ),
        named(
            "password",
            r#"{"user": "app", "password": "hunter22!"}"#.to_owned(),
            r#"{"password": {"type": "string"}, "password": self.password}"#.to_owned(),
        ),
        named(
            "credential",
            format!("client_secret = '{}'", body(24)),
            "client_secret = get_secret('name')".to_owned(),
        ),
    ]
}

#[test]
fn every_shape_is_masked_by_its_name_and_what_looks_alike_is_not() {
    let shapes = SecretShapes::known();
    let mut met = std::collections::BTreeSet::new();
    for (secret, name, other) in table() {
        met.insert(name);
        let text = format!("Grüße \u{1f511} before\n{secret}\nafter über");
        let masked = shapes
            .mask(&text)
            .unwrap_or_else(|| panic!("{name}: {secret}"));
        assert!(
            masked.contains(&format!("[redacted: {name}]")),
            "{name}: {masked}"
        );
        assert!(masked.starts_with("Grüße \u{1f511} before\n"), "{masked}");
        assert!(masked.ends_with("after über"), "{masked}");
        // The mask is nothing that would be masked again.
        assert_eq!(shapes.mask(&masked), None, "{name}: {masked}");
        let other = format!("before\n{other}\nafter");
        assert_eq!(shapes.mask(&other), None, "{name}: {other}");
    }
    let all: std::collections::BTreeSet<&str> = SecretShapes::names().collect();
    assert_eq!(met, all, "each shape is tested");
}

#[test]
fn what_programs_are_full_of_stays() {
    let shapes = SecretShapes::known();
    for harmless in [
        "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "550e8400-e29b-41d4-a716-446655440000",
        "fn password(&self) -> &str { &self.password }",
        "let password = prompt_password(\"Password: \")?;",
        "password: String,",
        "login(user=name, password=args.password)",
        "PWD=/home/user/project",
        "git@github.com:owner/repository.git",
        "see https://example.com/a:b@c",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ",
        "\"integrity\": \"sha512-v2kDEe57lecTulaDIuNTPy3Ry4gLGJ6Z1O3vE1krgXZNrsQ+LFTGHVxVjcXPs17LhbZVGedAJv8XZ1tvj5FvSg==\"",
    ] {
        assert_eq!(shapes.mask(harmless), None, "{harmless}");
    }
}

#[test]
fn arguments_stay_json_and_names_say_what_their_values_are() {
    let shapes = SecretShapes::known();
    let token = format!("ghp_{}", body(36));
    // The escape hides the token from a look at the text.
    let text = format!(
        r#"{{"a": 1.0, "note":"use \u0067hp_{}", "password" : "hunter22!", "b":[]}}"#,
        body(36)
    );
    assert_eq!(
        shapes.arguments(&text).unwrap(),
        r#"{"a": 1.0, "note":"use [redacted: github-token]", "password" : "[redacted: password]", "b":[]}"#
    );
    assert_eq!(shapes.arguments(r#"{"a": "b"}"#), None);
    // What is no JSON is a text.
    let masked = shapes.arguments(&format!(r#"{{"a": "{token}"#)).unwrap();
    assert_eq!(masked, r#"{"a": "[redacted: github-token]"#);
}

#[test]
fn a_host_adds_patterns_and_is_told_of_bad_ones() {
    let shapes = SecretShapes::none()
        .pattern("badge", r"badge (?P<secret>[0-9]{6})")
        .unwrap()
        .pattern("room", r"\broom-[a-z]+\b")
        .unwrap();
    assert_eq!(
        shapes.mask("badge 123456 opens room-blue").unwrap(),
        "badge [redacted: badge] opens [redacted: room]"
    );
    assert_eq!(
        shapes.mask(&format!("ghp_{}", body(36))),
        None,
        "only its own"
    );
    assert_eq!(
        format!("{shapes:?}"),
        r#"SecretShapes { known: false, own: ["badge", "room"], .. }"#
    );

    let refused = |name: &str, regex: &str| SecretShapes::none().pattern(name, regex).unwrap_err();
    for name in ["", "A", "a b", "a]", &"a".repeat(65)] {
        assert!(
            matches!(refused(name, "x"), ShapeError::Name { .. }),
            "{name}"
        );
    }
    assert!(matches!(refused("a", "("), ShapeError::Pattern { .. }));
    assert!(matches!(
        refused("a", r"(\w{1000}){1000}"),
        ShapeError::Pattern { .. }
    ));
    assert!(matches!(refused("a", "x*"), ShapeError::Empty { .. }));
}

fn tool(value: Value) -> ToolDef {
    raw_tool(
        "fetch",
        "",
        json!({"type": "object"}),
        move |_: Arguments, _| {
            let value = value.clone();
            async move { Ok::<_, BoxError>(value) }
        },
    )
}

async fn run(tool: ToolDef) -> ToolResult {
    let pipeline = Pipeline::builder(registry([tool]))
        .post_execute(SecretShapes::known())
        .build();
    pipeline.run(request("fetch", "{}")).await
}

#[tokio::test]
async fn the_model_reads_masks_in_value_and_content() {
    let result = run(tool(json!({"password": "hunter22!", "n": 1}))).await;
    assert_eq!(
        result.text(),
        r#"{"n":1,"password":"[redacted: password]"}"#
    );
    assert_eq!(
        result.value(),
        Some(&json!({"n": 1, "password": "[redacted: password]"}))
    );

    // What has no secret is the very result.
    let result = run(tool(json!("plain"))).await;
    assert_eq!(
        (result.text(), result.decided_by()),
        ("plain".to_owned(), None)
    );
}

#[tokio::test]
async fn a_masked_value_that_its_schema_refuses_leaves_the_content_masked() {
    let token = format!("ghp_{}", body(36));
    let schema = json!({"type": "string", "pattern": "^ghp_"});
    let result = run(tool(json!(token)).output_schema(schema)).await;
    assert_eq!(result.text(), "[redacted: github-token]");
    assert!(!result.is_error());
    assert_eq!(result.value(), Some(&json!(token)), "for programs");
}

#[tokio::test]
async fn a_renderer_that_writes_the_secret_itself_is_masked_too() {
    let token = format!("ghp_{}", body(36));
    let written = token.clone();
    let rendered = tool(json!({"t": token})).render(move |_| {
        Ok(vec![
            ContentBlock::text(format!("wrote {written}")),
            ContentBlock::text("fine"),
        ])
    });
    let result = run(rendered).await;
    assert_eq!(result.text(), "wrote [redacted: github-token]\nfine");
}

#[tokio::test]
async fn failures_are_masked_and_nested_results_are_the_programs() {
    let failing = raw_tool("fetch", "", json!({}), |_: Arguments, _| async {
        Err::<Value, _>(BoxError::from(
            "cannot reach postgres://app:hunter2@db/prod",
        ))
    });
    assert_eq!(
        run(failing).await.text(),
        "Error: cannot reach postgres://app:[redacted: url-credentials]@db/prod"
    );

    let inner = raw_tool("inner", "", json!({}), |_: Arguments, _| async {
        Ok::<_, BoxError>(json!({"password": "hunter22!"}))
    });
    let seen = Arc::new(Mutex::new(Value::Null));
    let keep = seen.clone();
    let outer = raw_tool(
        "fetch",
        "",
        json!({}),
        move |_: Arguments, ctx: ToolContext| {
            let keep = keep.clone();
            async move {
                let nested = ctx.call_tool("inner", "{}").await?;
                let value = nested.value().cloned().unwrap_or_default();
                *keep.lock().unwrap() = value.clone();
                Ok::<_, BoxError>(value)
            }
        },
    );
    let pipeline = Pipeline::builder(registry([inner, outer]))
        .post_execute(SecretShapes::known())
        .build();
    let result = pipeline.run(request("fetch", "{}")).await;
    assert_eq!(
        *seen.lock().unwrap(),
        json!({"password": "hunter22!"}),
        "a program uses it"
    );
    assert_eq!(
        result.text(),
        r#"{"password":"[redacted: password]"}"#,
        "and the model does not"
    );
}

#[tokio::test]
async fn what_is_stored_has_no_secret() {
    let (slot, store) = (SpillSlot::new(), Stub::new(Does::Saves));
    slot.mount(store.clone()).unwrap().keep();
    let policy = SpillPolicy::new(slot, &SpillConfig::max_inline_bytes(400))
        .owner(|_| Some("session".to_owned()));
    let long = format!("{}ghp_{} {}", "x ".repeat(400), body(36), "y ".repeat(400));
    // Later is inside: the shapes come first, and the store gets masks.
    let pipeline = Pipeline::builder(registry([tool(json!(long))]))
        .post_execute(policy)
        .post_execute(SecretShapes::known())
        .build();
    let result = pipeline.run(request("fetch", "{}")).await;
    let stored: Vec<String> = store
        .saved()
        .iter()
        .map(|spill| spill.content.to_string())
        .collect();
    assert_eq!(stored.len(), 1, "{}", result.text());
    assert!(stored[0].contains("[redacted: github-token]"));
    assert!(!stored[0].contains("ghp_") && !result.text().contains("ghp_"));
}

#[test]
fn a_long_text_is_one_pass() {
    let shapes = SecretShapes::known();
    // No secret, and much that begins like one.
    let line = "ghp_ sk- eyJ AKIA xoxb- -----BEGIN glpat- password= :// @ 3fa9c07b51e8d264\n";
    let long = line.repeat(8_000);
    assert_eq!(shapes.mask(&long), None);
    let found = format!("{long}ghp_{}", body(36));
    let masked = shapes.mask(&found).unwrap();
    assert_eq!(masked.len(), long.len() + "[redacted: github-token]".len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever stands around it, in whatever script.
    #[test]
    fn a_token_never_survives(before in "\\PC{0,40}", after in "\\PC{0,40}") {
        let token = format!("ghp_{}", body(36));
        let text = format!("{before} {token} {after}");
        let masked = SecretShapes::known().mask(&text).unwrap();
        prop_assert!(!masked.contains(&token));
    }

    #[test]
    fn arguments_that_are_json_stay_json(text in "\\PC{0,60}", name in "[a-z_]{0,12}") {
        let arguments = json!({name: [text, format!("ghp_{}", body(36))]}).to_string();
        let masked = SecretShapes::known().arguments(&arguments).unwrap();
        prop_assert!(serde_json::from_str::<Value>(&masked).is_ok(), "{}", masked);
        prop_assert!(!masked.contains("ghp_"));
    }
}
