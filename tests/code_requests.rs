//! What a program may be given, judged before anything is started.

#![cfg(feature = "code")]

use std::sync::Arc;

use toolfall::code::reserved::{is_dunder, is_error_member, is_global, is_word};
use toolfall::code::{
    BindingArguments, BindingFuture, ErrorClass, Misuse, Namespace, RunFailureKind, RunOutcome,
    RunRequest,
};

fn namespace(global: &str, class: Option<(&str, &str)>) -> Namespace {
    Namespace {
        global: global.to_owned(),
        members: vec!["read".to_owned()],
        error_class: class.map(|(name, property)| ErrorClass {
            name: name.to_owned(),
            member_property: property.to_owned(),
        }),
        binding: Arc::new(|_: &str, _: BindingArguments| -> BindingFuture {
            Box::pin(async { Err("never called".to_owned()) })
        }),
    }
}

fn misuse(namespaces: impl IntoIterator<Item = Namespace>) -> String {
    let request = namespaces
        .into_iter()
        .fold(RunRequest::new("return 1"), RunRequest::namespace);
    let misuse: Misuse = request.check().expect_err("it cannot be bound");
    misuse.to_string()
}

/// conformance: RT-04
#[test]
fn the_reserved_names_are_one_set_for_all_languages() {
    for name in [
        "console",
        "__dsh_main__",
        "__builtins__",
        "__name__",
        "__debug__",
    ] {
        assert!(is_global(name), "{name}");
    }
    let members = [
        "name",
        "message",
        "stack",
        "args",
        "with_traceback",
        "add_note",
    ];
    for name in members {
        assert!(is_error_member(name), "{name}");
    }
    for name in ["tools", "code"] {
        assert!(!is_global(name) && !is_error_member(name), "{name}");
    }
}

/// conformance: RT-05
#[test]
fn words_are_those_of_both_languages() {
    for name in ["__dict__", "__init__", "__x__"] {
        assert!(is_dunder(name), "{name}");
    }
    for name in ["_private", "name", "__mid", "__", "____"] {
        assert!(!is_dunder(name), "{name}");
    }
    for name in [
        "function", "lambda", "nonlocal", "class", "match", "type", "_", "await", "NaN",
    ] {
        assert!(is_word(name), "{name}");
    }
    assert!(!is_word("tools"));
}

/// conformance: RT-06
#[test]
fn a_global_must_be_usable_and_free() {
    for name in [
        "not valid!",
        "await",
        "$tools",
        "a$b",
        "lambda",
        "",
        "1st",
        "ünicode",
    ] {
        let text = misuse([namespace(name, None)]);
        assert!(text.contains("not a usable identifier"), "{text}");
    }
    for name in ["console", "__dsh_main__"] {
        let text = misuse([namespace(name, None)]);
        assert!(text.contains("reserved binding global"), "{text}");
    }
    let text = misuse([namespace("tools", None), namespace("tools", None)]);
    assert!(text.contains("duplicate binding global"), "{text}");
}

/// conformance: RT-07
#[test]
fn a_global_may_have_the_name_that_others_give_their_errors() {
    let request = RunRequest::new("").namespace(namespace("ToolCallError", None));
    assert_eq!(request.check(), Ok(()));
}

/// conformance: RT-08
#[test]
fn an_error_class_must_be_usable_and_free() {
    for name in ["not valid!", "await"] {
        let text = misuse([namespace("tools", Some((name, "toolName")))]);
        assert!(
            text.contains("error class") && text.contains("not a usable identifier"),
            "{text}"
        );
    }
    let text = misuse([namespace("tools", Some(("console", "toolName")))]);
    assert!(text.contains("reserved binding global"), "{text}");
    let text = misuse([namespace("tools", Some(("tools", "toolName")))]);
    assert!(text.contains("duplicate injected global"), "{text}");
    let twice = ["one", "two"].map(|global| namespace(global, Some(("Failed", "toolName"))));
    let text = misuse(twice);
    assert!(text.contains("duplicate injected global"), "{text}");
    for property in ["", "message", "args", "__dict__", "a b"] {
        let text = misuse([namespace("tools", Some(("Failed", property)))]);
        assert!(
            text.contains("member property") && text.contains("not usable"),
            "{text}"
        );
    }
}

#[test]
fn a_failure_has_no_value_and_its_kind_has_a_name() {
    let failed = RunOutcome::failed(vec![], RunFailureKind::WorkerExit, "gone");
    assert_eq!(failed.value, None);
    let kinds = [
        (RunFailureKind::Exception, "exception"),
        (RunFailureKind::Timeout, "timeout"),
        (RunFailureKind::Abort, "abort"),
        (RunFailureKind::WorkerExit, "worker-exit"),
        (RunFailureKind::InvalidOutput, "invalid-output"),
        (RunFailureKind::OutputLimit, "output-limit"),
    ];
    for (kind, name) in kinds {
        assert_eq!(kind.to_string(), name);
    }
}
