//! `toolfall sdk` through the real binary.

#[path = "support/cli.rs"]
mod support;

use support::Place;

const CONFIG: &str = r#"
[files]
tools = ["read_file", "write_file"]

[[replay]]
name = "look-up"
description = "Looks a word up."
parameters = { type = "object", properties = { word = { type = "string" } }, required = ["word"] }

[[agent]]
name = "reader"
deny = ["write_file"]
"#;

fn place() -> Place {
    let place = Place::new();
    place.write("toolfall.toml", CONFIG);
    place
}

#[test]
fn the_tools_of_a_configuration_are_declared() {
    let place = place();
    let typescript = place.run(&["sdk", "--language", "ts"]);
    assert_eq!(typescript.status, 0, "{}", typescript.err);
    for part in [
        "\n```typescript\n",
        "  /** Looks a word up. */\n  \"look-up\": {\n    word: string;\n  } & Record<string, JsonValue>;\n",
        "  read_file: {\n",
        "  write_file: {\n",
    ] {
        assert!(typescript.out.contains(part), "{part}\n{}", typescript.out);
    }
    assert_eq!(typescript.out, place.run(&["sdk"]).out);
    assert_eq!(
        typescript.out,
        place.run(&["sdk", "--language", "typescript"]).out
    );

    let python = place.run(&["sdk", "--language", "py", "--declarations"]);
    assert_eq!(python.status, 0, "{}", python.err);
    assert!(
        python.out.starts_with("from typing import "),
        "{}",
        python.out
    );
    for part in [
        "    # tools[\"look-up\"](args: LookUpArgs) -> Any\n    #   Looks a word up.\n",
        "    async def read_file(self, args: ReadFileArgs) -> ReadFileOutput:\n",
    ] {
        assert!(python.out.contains(part), "{part}\n{}", python.out);
    }
}

#[test]
fn what_is_hidden_from_an_agent_is_not_declared_to_it() {
    let ran = place().run(&["sdk", "--language", "python", "--agent", "reader"]);
    assert!(ran.out.contains("def read_file("), "{}", ran.out);
    assert!(!ran.out.contains("write_file"), "{}", ran.out);
}

#[test]
fn bad_input_is_told() {
    let place = Place::new();
    for (args, told) in [
        (&["sdk"][..], "there is no toolfall.toml here"),
        (&["sdk", "--root", ".", "--agent", "x"], "--agent: "),
        (&["sdk", "--language", "ruby"], "'ruby'"),
        (&["sdk", "--config", "none.toml"], "none.toml"),
    ] {
        let ran = place.run(args);
        assert_eq!(ran.status, 2, "{args:?} {}", ran.err);
        assert!(ran.err.contains(told), "{args:?} {}", ran.err);
        assert_eq!(ran.out, "");
    }
}
