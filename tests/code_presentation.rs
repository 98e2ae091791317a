//! How tools are presented: native, from programs, or both.

#![cfg(feature = "code")]

#[path = "support/code.rs"]
mod code;
#[path = "support/facade.rs"]
mod support;

use code::{Coded, Run, Scripted, coded, ended, returned, run_code, run_code_from};
use serde_json::{Value, json};
use support::{Counter, Log, any_object, echo, registry, request, request_from, returns};
use tokio_util::sync::CancellationToken;
use toolfall::code::{AttachError, CodeConfig, CodeMode, RuntimeSlot};
use toolfall::registry::{
    AssembleError, Assembled, Assembly, PresentError, Presentation, Section, ToolOrder,
};
use toolfall::{
    ApprovalAnswer, ApprovalOutcome, ApprovalRequest, Arguments, CallRequest, CallView,
    ContentBlock, Decision, Denial, ExecutionMode, Filter, Pipeline, PostDecision, PostRequest,
    Registry, Scope, ToolContext, codes, raw_tool,
};

const NON_NATIVE: [Presentation; 2] = [Presentation::Code, Presentation::Both];
const CODE_ONLY: &str = "`run_code` is the only tool you can call directly";

fn idle() -> Scripted {
    Scripted::new(|_| std::future::ready(ended()))
}

fn tools() -> Registry {
    registry(["write", "echo"].map(echo))
}

fn told(registry: &Registry, scope: Option<&Scope>) -> Assembled {
    Assembly::new(registry.clone()).assemble(scope).unwrap()
}

fn refused(registry: &Registry, scope: Option<&Scope>) -> AssembleError {
    Assembly::new(registry.clone()).assemble(scope).unwrap_err()
}

fn names(told: &Assembled) -> Vec<&str> {
    told.tools.iter().map(|tool| &*tool.name).collect()
}

fn routing(name: &str) -> String {
    format!(
        "unknown tool \"{name}\": only `run_code` is callable directly — call `{name}` from \
         inside a `run_code` program instead"
    )
}

/// conformance: MODE-01, REG-64, REG-65
#[tokio::test]
async fn native_is_the_default_and_needs_nothing() {
    let plain = tools();
    let attached = tools();
    let mode = CodeMode::new(RuntimeSlot::new(), CodeConfig::default());
    mode.attach(&attached).unwrap().keep();
    for registry in [plain, attached] {
        assert_eq!(registry.presentation(None), Presentation::Native);
        let told = told(&registry, None);
        assert_eq!(names(&told), ["echo", "write"]);
        assert_eq!(told.sections, []);
        assert_eq!(
            (told.section(Section::SDK), told.text()),
            ("", String::new())
        );
        assert!(registry.get("run_code", None).is_none() && !registry.contains("run_code", None));
        let result = Pipeline::builder(registry).build().run(run_code()).await;
        assert_eq!(result.message(), Some("unknown tool \"run_code\""));
    }
}

/// conformance: MODE-02, MODE-03, MODE-04, REG-66, REG-67, REG-68
#[test]
fn programs_are_told_in_their_places() {
    for presentation in NON_NATIVE {
        let coded = coded(tools(), presentation, idle());
        let assembly = Assembly::new(coded.registry.clone())
            .section(Section::new("late", 200, "late"))
            .section(Section::new("guidance", 100, "how to write"));
        let told = assembly.assemble(None).unwrap();
        let sections: Vec<_> = told.sections.iter().map(|it| (&*it.id, it.order)).collect();
        let sdk = told.section(Section::SDK);
        assert!(
            sdk.contains("  echo: ") && sdk.contains("  write: "),
            "{sdk}"
        );
        assert!(!sdk.contains("  run_code: "), "{sdk}");
        let only = told.section(Section::CODE_ONLY);
        if presentation == Presentation::Code {
            assert_eq!(names(&told), ["run_code"]);
            let wanted = [
                ("tools:code-only", 99),
                ("guidance", 100),
                ("tools:sdk", 150),
                ("late", 200),
            ];
            assert_eq!(sections, wanted);
            assert!(only.contains(CODE_ONLY), "{only}");
            assert!(told.text().starts_with(only));
        } else {
            assert_eq!(names(&told), ["echo", "write", "run_code"]);
            assert_eq!(sections[0], ("guidance", 100));
            assert_eq!(only, "");
        }
    }
}

/// conformance: MODE-05
#[test]
fn hooks_have_the_last_word_and_scopes_their_own_text() {
    for presentation in NON_NATIVE {
        let coded = coded(tools(), presentation, idle());
        let scope = Scope::new("agent");
        let nested = scope.nested("helper");
        let assembly = Assembly::new(coded.registry.clone())
            .section_in(&nested, Section::new(Section::SDK, 150, "the helper's own"))
            .section_in(&scope, Section::new(Section::SDK, 150, "the agent's own"));
        let sdk = |scope: Option<&Scope>| {
            let told = assembly.assemble(scope).unwrap();
            let sdks = told
                .sections
                .iter()
                .filter(|section| section.id == Section::SDK);
            assert_eq!(sdks.count(), 1);
            told.section(Section::SDK).to_owned()
        };
        assert_eq!(sdk(Some(&scope)), "the agent's own");
        assert_eq!(sdk(Some(&nested)), "the helper's own");
        assert_eq!(sdk(Some(&nested.nested("deeper"))), "the helper's own");
        assert!(sdk(None).contains("echo"));
        assert!(sdk(Some(&Scope::new("other"))).contains("echo"));

        let hooked = assembly.hook(|told: &mut Assembled, _| {
            told.tools.retain(|tool| tool.name != "run_code");
            told.sections.retain(|section| section.id != Section::SDK);
        });
        let told = hooked.assemble(None).unwrap();
        assert!(!names(&told).contains(&"run_code"));
        assert_eq!(told.section(Section::SDK), "");
        let broken = hooked.hook(|_, _| panic!("the hook broke")).assemble(None);
        assert_eq!(broken.unwrap_err().to_string(), "an assembly hook panicked");
    }
}

/// conformance: MODE-06, REG-81
#[tokio::test]
async fn masks_hide_tools_and_never_the_way_to_call_them() {
    for presentation in NON_NATIVE {
        for filter in [Filter::allow(["echo"]), Filter::deny(["write"])] {
            let lists = Scripted::new(|run: Run| async move { returned(json!(run.members())) });
            let coded = coded(tools(), presentation, lists);
            let scope = Scope::new("agent");
            let mask = coded.registry.restrict(&scope, &filter).unwrap();
            let masked = told(&coded.registry, Some(&scope));
            assert_eq!(*names(&masked).last().unwrap(), "run_code");
            assert!(!names(&masked).contains(&"write"));
            let sdk = masked.section(Section::SDK);
            assert!(sdk.contains("echo") && !sdk.contains("write"), "{sdk}");
            let pipeline = Pipeline::builder(coded.registry.clone()).build();
            let result = pipeline.run(run_code_from(&scope)).await;
            assert_eq!(result.value().unwrap()["result"], json!(["echo"]));
            drop(mask);
            let all = told(&coded.registry, Some(&scope));
            assert!(all.section(Section::SDK).contains("write"));
        }
    }
}

/// conformance: MODE-07, REG-79, REG-80
#[test]
fn the_name_is_nobodys() {
    for presentation in [Presentation::Native, Presentation::Code, Presentation::Both] {
        let coded = coded(tools(), presentation, idle());
        let scope = Scope::new("agent");
        let global = coded
            .registry
            .register(echo("run_code"))
            .unwrap_err()
            .to_string();
        let scoped = coded
            .registry
            .register_in(&scope, echo("run_code"))
            .unwrap_err()
            .to_string();
        for error in [global, scoped] {
            let says = "is reserved for the Code Mode presentation transport";
            assert!(error.contains(says), "{error}");
        }
        for filter in [Filter::allow(["run_code"]), Filter::deny(["run_code"])] {
            let error = coded
                .registry
                .restrict(&scope, &filter)
                .unwrap_err()
                .to_string();
            let says = "cannot name reserved Code Mode presentation transport";
            assert!(error.contains(says), "{error}");
        }
    }
}

/// conformance: MODE-08, REG-86
#[tokio::test]
async fn everybody_finds_the_same_definition() {
    for presentation in NON_NATIVE {
        let lists = Scripted::new(|run: Run| async move { returned(json!(run.members())) });
        let coded = coded(tools(), presentation, lists);
        let scope = Scope::new("agent");
        coded
            .registry
            .register_in(&scope, echo("own"))
            .unwrap()
            .keep();
        let global = coded.registry.get("run_code", None).unwrap();
        for scope in [&scope, &scope.nested("nested"), &Scope::new("other")] {
            let found = coded.registry.get("run_code", Some(scope)).unwrap();
            assert_eq!(global.description(), found.description());
            assert_eq!(global.parameters(), found.parameters());
            let told = told(&coded.registry, Some(scope));
            assert_eq!(
                names(&told)
                    .iter()
                    .filter(|name| **name == "run_code")
                    .count(),
                1
            );
        }
        let pipeline = Pipeline::builder(coded.registry.clone()).build();
        let result = pipeline.run(run_code_from(&scope)).await;
        let members = &result.value().unwrap()["result"];
        assert_eq!(members, &json!(["echo", "own", "write"]));
    }
}

/// conformance: MODE-09, REG-91
#[test]
fn an_order_may_name_what_runs_programs() {
    let order = ToolOrder::new(["run_code", "write", ToolOrder::REST]).unwrap();
    let both = coded(tools(), Presentation::Both, idle());
    let told = Assembly::new(both.registry.clone())
        .order(order.clone())
        .assemble(None);
    assert_eq!(names(&told.unwrap()), ["run_code", "write", "echo"]);
    let last = ToolOrder::new(["write", ToolOrder::REST]).unwrap();
    let told = Assembly::new(both.registry.clone())
        .order(last)
        .assemble(None);
    assert_eq!(names(&told.unwrap()), ["write", "echo", "run_code"]);

    let code = coded(tools(), Presentation::Code, idle());
    let alone = ToolOrder::new(["run_code"]).unwrap();
    let told = Assembly::new(code.registry.clone())
        .order(alone)
        .assemble(None);
    assert_eq!(names(&told.unwrap()), ["run_code"]);
    let native = ToolOrder::new(["echo", ToolOrder::REST]).unwrap();
    let error = Assembly::new(code.registry.clone())
        .order(native)
        .assemble(None)
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "toolOrder lists unregistered tool \"echo\""
    );
}

/// conformance: MODE-10, REG-82
#[test]
fn without_a_runtime_or_in_its_language_nothing_is_told() {
    for presentation in NON_NATIVE {
        let registry = tools();
        let slot = RuntimeSlot::new();
        let mode = CodeMode::new(slot.clone(), CodeConfig::presenting(presentation));
        let attached = mode.attach(&registry).unwrap();
        let error = refused(&registry, None).to_string();
        assert_eq!(
            error,
            format!("mode \"{presentation}\" requires a code runtime")
        );

        // The scope's own presentation is named, not the deployment's.
        let scope = Scope::new("agent");
        let other = NON_NATIVE
            .into_iter()
            .find(|it| *it != presentation)
            .unwrap();
        let declared = registry.present(&scope, other).unwrap();
        let error = refused(&registry, Some(&scope)).to_string();
        assert_eq!(error, format!("mode \"{other}\" requires a code runtime"));
        drop(declared);

        let mount = slot.mount(idle().language("ruby")).unwrap();
        let error = refused(&registry, None).to_string();
        let says = "no SDK renderer registered for runtime language \"ruby\"";
        assert_eq!(error, says);
        drop(mount);
        slot.mount(idle()).unwrap().keep();
        assert!(!told(&registry, None).section(Section::SDK).is_empty());
        drop(attached);
    }
}

/// conformance: MODE-11
#[test]
fn a_python_runtime_is_told_in_python() {
    for presentation in NON_NATIVE {
        let coded = coded(tools(), presentation, idle().language("python"));
        let told = told(&coded.registry, None);
        assert!(told.section(Section::SDK).contains("async def echo"));
        let transport = told.tools.last().unwrap();
        assert!(transport.description.contains("Python"));
        assert!(
            transport.parameters["properties"]["code"]["description"]
                .as_str()
                .unwrap()
                .contains("Python")
        );
        let natives = names(&told).len() - 1;
        assert_eq!(
            natives,
            if presentation == Presentation::Both {
                2
            } else {
                0
            }
        );
    }
}

/// conformance: MODE-12, REG-83, REG-84
#[test]
fn what_is_told_is_the_same_to_the_byte_and_gone_with_code_mode() {
    let mut output = json!({"type": ["string", "null"]});
    for _ in 0..30 {
        output = json!({"anyOf": [output]});
    }
    let deep = echo("deep_output").output_schema(output);
    let registry = registry([deep, echo("echo")]);
    let coded = coded(registry.clone(), Presentation::Code, idle());
    let first = told(&coded.registry, None);
    assert_eq!(first, told(&coded.registry, None));
    let sdk = first.section(Section::SDK);
    assert!(sdk.contains("deep_output: string | null"), "{sdk}");

    let error = coded.mode.attach(&registry).unwrap_err();
    assert!(matches!(error, AttachError::Attached));
    let Coded { attached, .. } = coded;
    drop(attached);
    let native = told(&registry, None);
    assert_eq!(names(&native), ["deep_output", "echo"]);
    assert_eq!(native.sections, []);
    assert!(!registry.contains("run_code", None));
}

/// conformance: MODE-13, REG-69, REG-70
#[tokio::test]
async fn a_direct_call_is_refused_before_anybody_is_asked() {
    let seen = Log::<String>::default();
    let runs = Counter::default();
    let coded = coded(
        registry([returns("write", json!(1), &runs)]),
        Presentation::Code,
        idle(),
    );
    let [pre, asked, guard, post, observed] = std::array::from_fn(|_| seen.clone());
    let pipeline = Pipeline::builder(coded.registry.clone())
        .pre_decision(move |_: &CallView| {
            pre.push("pre");
            Decision::ask("may it?")
        })
        .approval(move |_: &ApprovalRequest| {
            asked.push("asked");
            ApprovalAnswer::from(ApprovalOutcome::AllowedOnce)
        })
        .guard(move |_: &CallView| {
            guard.push("guard");
            None::<Denial>
        })
        .post_execute(move |_: &PostRequest| {
            post.push("post");
            PostDecision::accept()
        })
        .observer(move |call: &CallView, _: &toolfall::ToolResult| {
            observed.push(format!("result of {}", call.name()));
        })
        .build();
    let result = pipeline.run(request("write", "{}")).await;
    assert_eq!(result.message(), Some(&*routing("write")));
    let info = result.info().unwrap();
    assert_eq!(
        (info.name(), info.code()),
        ("ToolNotFoundError", codes::UNKNOWN_TOOL)
    );
    assert_eq!(seen.take(), ["result of write"]);

    // Through a batch as well.
    let cancel = CancellationToken::new();
    let calls = ["a", "b"].map(|id| CallRequest::new(id, "write", "{}", cancel.clone()));
    let report = pipeline.scheduler().batch(calls, cancel).run().await;
    for call in &report.committed {
        assert_eq!(call.result.code(), Some(codes::UNKNOWN_TOOL));
    }
    assert_eq!(seen.take(), ["result of write", "result of write"]);
    assert_eq!(runs.get(), 0);
}

/// conformance: MODE-14, REG-71, REG-85
#[tokio::test]
async fn cancellation_and_broken_arguments_go_before_and_nested_calls_run() {
    let runs = Counter::default();
    let outer = raw_tool(
        "outer",
        "",
        any_object(),
        |_: Arguments, _: ToolContext| async { Ok::<Value, toolfall::BoxError>(json!(null)) },
    );
    let coded = coded(
        registry([returns("write", json!(1), &runs), outer]),
        Presentation::Code,
        Scripted::new(
            |run: Run| async move { returned(run.call("write", json!({})).await.unwrap()) },
        ),
    );
    let pre = Counter::default();
    let judged = pre.clone();
    let pipeline = Pipeline::builder(coded.registry.clone())
        .pre_decision(move |_: &CallView| {
            judged.add();
            Decision::Allow
        })
        .build();
    let cancel = CancellationToken::new();
    cancel.cancel();
    let result = pipeline
        .run(CallRequest::new("1", "write", "{}", cancel))
        .await;
    assert_eq!(result.code(), Some(codes::ABORTED_BEFORE_DISPATCH));

    let result = pipeline.run(request("write", r#"{"a": 1, "a": 2}"#)).await;
    assert_eq!(result.code(), Some(codes::INVALID_ARGS));
    assert_eq!((runs.get(), pre.get()), (0, 0));

    assert_eq!(pipeline.run(run_code()).await.text(), "1");
    assert_eq!(runs.get(), 1);
}

/// conformance: MODE-15
#[tokio::test]
async fn a_name_that_nobody_registered_is_plainly_unknown() {
    let coded = coded(tools(), Presentation::Code, idle());
    let pre = Counter::default();
    let judged = pre.clone();
    let pipeline = Pipeline::builder(coded.registry.clone())
        .pre_decision(move |_: &CallView| {
            judged.add();
            Decision::Allow
        })
        .build();
    let result = pipeline.run(request("wirte", "{}")).await;
    assert_eq!(result.message(), Some("unknown tool \"wirte\""));
    assert_eq!(pre.get(), 1);
    assert!(
        !result.text().contains("\"write\""),
        "what cannot be called is no near miss"
    );
    let result = pipeline.run(request("runcode", "{}")).await;
    assert!(
        result.text().contains("Did you mean \"run_code\"?"),
        "{}",
        result.text()
    );
}

/// conformance: MODE-16
#[tokio::test]
async fn a_collapsed_name_is_exclusive_and_its_finalizer_runs_on_an_abort_alone() {
    let finalized = Counter::default();
    let last = finalized.clone();
    let read = echo("read").parallel().finalizer(move |_, _| {
        last.add();
        Ok(Some(vec![ContentBlock::text("bounded")]))
    });
    let coded = coded(registry([read]), Presentation::Code, idle());
    let mode = |registry: &Registry| registry.mode(&request("read", "{}"));
    assert_eq!(mode(&coded.registry), ExecutionMode::Exclusive);

    let pipeline = Pipeline::builder(coded.registry.clone()).build();
    let result = pipeline.run(request("read", "{}")).await;
    assert_eq!(result.message(), Some(&*routing("read")));
    assert_eq!(
        (finalized.get(), result.text()),
        (0, format!("Error: {}", routing("read")))
    );

    let cancel = CancellationToken::new();
    cancel.cancel();
    let result = pipeline
        .run(CallRequest::new("1", "read", "{}", cancel))
        .await;
    assert_eq!((finalized.get(), &*result.text()), (1, "bounded"));

    let Coded {
        registry, attached, ..
    } = coded;
    drop(attached);
    assert_eq!(mode(&registry), ExecutionMode::Parallel);
}

/// conformance: MODE-17, REG-72, REG-74
#[tokio::test]
async fn one_agent_may_write_programs_where_nobody_else_does() {
    let coded = coded(tools(), Presentation::Native, idle());
    let (agent, other) = (Scope::new("agent"), Scope::new("other"));
    coded
        .registry
        .present(&agent, Presentation::Code)
        .unwrap()
        .keep();
    let pipeline = Pipeline::builder(coded.registry.clone()).build();

    assert_eq!(names(&told(&coded.registry, Some(&agent))), ["run_code"]);
    let result = pipeline.run(request_from("write", Some(&agent))).await;
    assert_eq!(result.message(), Some(&*routing("write")));
    assert!(!pipeline.run(run_code_from(&agent)).await.is_error());

    for scope in [None, Some(&other)] {
        let told = told(&coded.registry, scope);
        assert_eq!(names(&told), ["echo", "write"]);
        assert_eq!(told.sections, []);
        assert!(!pipeline.run(request_from("write", scope)).await.is_error());
        assert!(coded.registry.get("run_code", scope).is_none());
    }
    assert!(coded.registry.get("run_code", Some(&agent)).is_some());
}

/// conformance: MODE-18, REG-73
#[tokio::test]
async fn a_preset_declares_for_the_agents_in_it() {
    let coded = coded(
        registry([echo("read").parallel()]),
        Presentation::Native,
        idle(),
    );
    let preset = Scope::new("preset");
    let agent = preset.nested("agent");
    let sibling = Scope::new("sibling");
    coded
        .registry
        .present(&preset, Presentation::Code)
        .unwrap()
        .keep();
    let pipeline = Pipeline::builder(coded.registry.clone()).build();

    assert_eq!(names(&told(&coded.registry, Some(&agent))), ["run_code"]);
    let mode = |scope| coded.registry.mode(&request_from("read", Some(scope)));
    assert_eq!(mode(&agent), ExecutionMode::Exclusive);
    assert_eq!(mode(&sibling), ExecutionMode::Parallel);
    let result = pipeline.run(request_from("read", Some(&agent))).await;
    assert_eq!(result.message(), Some(&*routing("read")));
    assert!(
        !pipeline
            .run(request_from("read", Some(&sibling)))
            .await
            .is_error()
    );

    // The nearest declaration counts.
    coded
        .registry
        .present(&agent, Presentation::Native)
        .unwrap()
        .keep();
    assert_eq!(mode(&agent), ExecutionMode::Parallel);
}

/// conformance: MODE-19, REG-75
#[test]
fn one_agent_may_stay_native_where_everybody_writes_programs() {
    let coded = coded(tools(), Presentation::Code, idle());
    let agent = Scope::new("agent");
    coded
        .registry
        .present(&agent, Presentation::Native)
        .unwrap()
        .keep();
    let native = told(&coded.registry, Some(&agent));
    assert_eq!(names(&native), ["echo", "write"]);
    assert_eq!(
        (
            native.section(Section::SDK),
            native.section(Section::CODE_ONLY)
        ),
        ("", "")
    );
    assert_eq!(names(&told(&coded.registry, None)), ["run_code"]);
}

/// conformance: MODE-20, REG-76, REG-77, REG-78
#[test]
fn a_scope_declares_once_and_takes_it_back() {
    let coded = coded(tools(), Presentation::Native, idle());
    let (registry, agent) = (&coded.registry, Scope::new("agent"));
    let declared = registry.present(&agent, Presentation::Code).unwrap();
    for again in [Presentation::Code, Presentation::Native] {
        let error = registry.present(&agent, again).unwrap_err();
        let says = "conflicts with \"code\" already declared";
        assert!(error.to_string().contains(says), "{error}");
    }
    assert_eq!(registry.presentation(Some(&agent)), Presentation::Code);
    drop(declared);
    assert_eq!(registry.presentation(Some(&agent)), Presentation::Native);
    assert_eq!(names(&told(registry, Some(&agent))), ["echo", "write"]);
    assert_eq!(registry.scopes(), 0, "nothing is left of it");

    let error = registry.present(None, Presentation::Code).unwrap_err();
    assert!(
        error.to_string().contains("requires a scoped context"),
        "{error}"
    );
    let declared = registry.present(&agent, Presentation::Both).unwrap();
    registry.dispose(&agent);
    assert_eq!(registry.presentation(Some(&agent)), Presentation::Native);
    drop(declared);
    let error = registry.present(&agent, Presentation::Both).unwrap_err();
    assert!(matches!(error, PresentError::Disposed { .. }), "{error}");
}

/// conformance: MODE-21
#[test]
fn a_declaration_may_wait_for_a_runtime() {
    // A word that is no presentation is refused, and so is none.
    for word in ["", "Code", "programs"] {
        assert!(word.parse::<Presentation>().is_err(), "{word}");
        assert!(CodeConfig::from_json(&json!({"mode": word})).is_err());
    }
    let (registry, slot) = (tools(), RuntimeSlot::new());
    let mode = CodeMode::new(slot.clone(), CodeConfig::default());
    mode.attach(&registry).unwrap().keep();
    let [native, code, both] = ["native", "code", "both"].map(Scope::new);
    registry
        .present_when_ready(&native, Presentation::Native)
        .unwrap()
        .keep();
    let declared = registry
        .present_when_ready(&code, Presentation::Code)
        .unwrap();
    registry
        .present_when_ready(&both, Presentation::Both)
        .unwrap()
        .keep();
    for scope in [&native, &code, &both] {
        assert_eq!(names(&told(&registry, Some(scope))), ["echo", "write"]);
        assert!(!registry.contains("run_code", Some(scope)));
    }
    let mount = slot.mount(idle()).unwrap();
    assert_eq!(names(&told(&registry, Some(&native))), ["echo", "write"]);
    assert_eq!(names(&told(&registry, Some(&code))), ["run_code"]);
    assert_eq!(
        names(&told(&registry, Some(&both))),
        ["echo", "write", "run_code"]
    );
    drop(mount);
    assert_eq!(names(&told(&registry, Some(&both))), ["echo", "write"]);
    slot.mount(idle()).unwrap().keep();
    drop(declared);
    assert_eq!(registry.presentation(Some(&code)), Presentation::Native);
}

/// conformance: RT-01
#[test]
fn a_slot_has_one_runtime() {
    let slot = RuntimeSlot::new();
    assert_eq!(
        (slot.is_mounted(), slot.language(), slot.isolation()),
        (false, None, None)
    );
    let mount = slot.mount(idle()).unwrap();
    assert_eq!(slot.language().as_deref(), Some("typescript"));
    assert_eq!(slot.isolation().as_deref(), Some("a closure"));
    let error = slot.mount(idle().language("python")).unwrap_err();
    assert!(
        error.to_string().starts_with("expected no code runtime"),
        "{error}"
    );
    assert_eq!(
        slot.language().as_deref(),
        Some("typescript"),
        "the first one stays"
    );
    drop(mount);
    assert!(!slot.is_mounted() && slot.current().is_err());
    slot.mount(idle().language("python")).unwrap().keep();
    assert_eq!(slot.language().as_deref(), Some("python"));
}

/// An open scope takes its presentation with it.
#[test]
fn a_host_presents_by_scope() {
    let host = toolfall::host::Host::over(tools());
    let slot = RuntimeSlot::new();
    slot.mount(idle()).unwrap().keep();
    let mode = CodeMode::new(slot, CodeConfig::default());
    mode.attach(host.registry()).unwrap().keep();
    let preset = host.open("preset");
    preset.present(Presentation::Code).unwrap().keep();
    let agent = preset.open("agent");
    let told = told(host.registry(), Some(agent.scope()));
    assert_eq!(names(&told), ["run_code"]);
    let scope = agent.scope().clone();
    drop(preset);
    assert_eq!(
        host.registry().presentation(Some(&scope)),
        Presentation::Native
    );
}

/// Presentations come and go while calls run: no call falls between.
#[tokio::test]
async fn a_call_sees_one_presentation() {
    let coded = coded(tools(), Presentation::Native, idle());
    let agent = Scope::new("agent");
    let pipeline = Pipeline::builder(coded.registry.clone()).build();
    for _ in 0..20 {
        let declared = coded.registry.present(&agent, Presentation::Code).unwrap();
        assert!(
            pipeline
                .run(request_from("write", Some(&agent)))
                .await
                .is_error()
        );
        drop(declared);
        assert!(
            !pipeline
                .run(request_from("write", Some(&agent)))
                .await
                .is_error()
        );
    }
}
