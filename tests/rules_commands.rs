//! Tests of commands: whole words, and nothing that a shell would change.

#[path = "support/verdicts.rs"]
mod verdicts;

use serde_json::json;
use toolfall::policy::Test;
use verdicts::Says::{CannotTell, No, Yes};
use verdicts::says;

#[test]
fn words_are_compared_whole() {
    let git = Test::argv(["git", "{status,diff,log}", "**"]);
    for line in [
        "git status",
        "git  log\t-3",
        "  git diff a/b c ",
        "git log --format='%h; %s'",
        "git log \"two words\" ''",
        "'git' st\"at\"us",
    ] {
        assert_eq!(says(&git, line), Yes, "{line}");
    }
    for line in [
        "git",
        "git push",
        "git statusx",
        "xgit status",
        "status git",
        "git -C /x status",
        "rm x",
    ] {
        assert_eq!(says(&git, line), No, "{line}");
    }
    let exact = Test::argv(["ls", "-l"]);
    assert_eq!(says(&exact, "ls -l"), Yes);
    assert_eq!(says(&exact, "ls -l x"), No);
    assert_eq!(says(&exact, "ls '-l x'"), No);
    let plain = Test::argv(["cat", "[!-]*"]);
    assert_eq!(says(&plain, "cat a.txt"), Yes);
    assert_eq!(says(&plain, "cat --help"), No);
    assert_eq!(says(&Test::argv(["**"]), "anything at all"), Yes);
    assert_eq!(says(&Test::argv(["**"]), "anything; at all"), CannotTell);
}

#[test]
fn what_a_shell_may_change_cannot_be_told() {
    let git = Test::argv(["git", "status", "**"]);
    for line in [
        "git status; rm -r .",
        "git status;rm",
        "git status && rm x",
        "git status || rm x",
        "git status & rm x",
        "git status | sh",
        "git status > /etc/passwd",
        "git status < x",
        "git status $(rm x)",
        "git status `rm x`",
        "git status $HOME",
        "git status \"$(rm x)\"",
        "git status \"`rm x`\"",
        "git status \"\\$x\"",
        "git status\nrm x",
        "git status\rrm x",
        "git status \0",
        "git status *",
        "git status ?",
        "git status [a]",
        "git status {a,b}",
        "git status ~/x",
        "git status # x",
        "git status !x",
        "git status \"!x\"",
        "git status \\",
        "git sta\\tus",
        "git status 'open",
        "git status \"open",
        "PAGER=sh git status",
        "(git status)",
        "ｇｉｔ status",
        "git\u{a0}status",
        "gіt status",
        "git status； rm",
        "./git status",
        "/tmp/git status",
        "",
        "   ",
    ] {
        assert_eq!(says(&git, line), CannotTell, "{line:?}");
    }
}

#[test]
fn a_list_of_words_has_no_shell() {
    let git = Test::argv(["git", "log", "**"]);
    assert_eq!(says(&git, json!(["git", "log", "$x; *", "a\nb"])), Yes);
    assert_eq!(says(&git, json!(["git log"])), No);
    assert_eq!(says(&git, json!(["git", "push"])), No);
    for words in [
        json!([]),
        json!(["git", 5]),
        json!(["git", "log", "a\0b"]),
        json!(["/tmp/git", "log"]),
        json!({"0": "git"}),
        json!(5),
    ] {
        assert_eq!(says(&git, words.clone()), CannotTell, "{words}");
    }
    assert_eq!(says(&git, json!(null)), No);
}

/// A denial by name is no wall, but a path is no way around it.
#[test]
fn a_program_by_its_path_is_the_program_to_a_denial() {
    let rm = Test::argv(["rm", "**"]);
    assert_eq!(says(&rm, "rm -r x"), Yes);
    assert_eq!(says(&rm, "/bin/rm -r x"), CannotTell);
    assert_eq!(says(&rm, "/bin/ls -r x"), No);
    let by_path = Test::argv(["/usr/bin/git", "log"]);
    assert_eq!(says(&by_path, "/usr/bin/git log"), Yes);
    assert_eq!(says(&by_path, "/tmp/usr/bin/git log"), No);
    assert_eq!(says(&by_path, "git log"), No);
}
