//! Tools: their bodies, renderers, classifiers and finalizers.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use toolfall::{
    Arguments, BoxError, CallView, ContentBlock, ToolContext, ToolDef, ToolOutcome, raw_tool,
};

use super::scenario::{BodyStep, Finalizer, Parallel, Sleep, ToolSpec};
use super::world::{World, context, error, fill};

pub(crate) fn tool(world: &Arc<World>, spec: &ToolSpec) -> ToolDef {
    let (shared, bodies) = (world.clone(), Arc::new(spec.clone()));
    let parameters = json!({"type": "object"});
    let mut tool = raw_tool(
        spec.name.clone(),
        "A tool of a scenario",
        parameters,
        move |arguments: Arguments, ctx: ToolContext| {
            run(shared.clone(), bodies.clone(), arguments, ctx)
        },
    )
    .output_schema(spec.output.schema.clone());
    let output = spec.output.clone();
    tool = tool.render_for(move |call, value| match &output.render_fails {
        Some(message) => Err(message.clone().into()),
        None => Ok(vec![ContentBlock::text(fill(
            &output.render,
            call,
            Some(value),
        ))]),
    });
    if let Some(message) = spec.output.meta_fails.clone() {
        tool = tool.presentation_meta(move |_| Err(message.clone().into()));
    } else if let Some(template) = spec.output.meta.clone() {
        tool = tool.presentation_meta_for(move |call, value| {
            Ok(json!({"note": fill(&template, call, Some(value))}))
        });
    }
    if let Some(parallel) = spec.parallel.clone() {
        tool = tool.try_parallel_when(move |arguments| match &parallel {
            Parallel::Always(safe) => Ok(*safe),
            Parallel::If { arg, equals } => Ok(arguments.get(arg) == Some(equals)),
            Parallel::Fails { .. } => Err("the classifier failed".into()),
        });
    }
    if let Some(budget) = spec.budget_ms {
        tool = tool.budget(Duration::from_millis(budget));
    }
    if world.repeatable {
        tool = tool.repeatable();
    }
    if let Some(finalizer) = spec.finalizer.clone() {
        let shared = world.clone();
        tool = tool.finalizer(move |call, outcome| finalize(&shared, &finalizer, call, outcome));
    }
    tool
}

fn finalize(
    world: &World,
    finalizer: &Finalizer,
    call: &CallView,
    outcome: &ToolOutcome,
) -> Result<Option<Vec<ContentBlock>>, BoxError> {
    let seen = json!({"is_error": !outcome.is_success(), "code": outcome.code()});
    world.event(Some(call.id().as_str()), "finalizer", seen);
    match finalizer {
        Finalizer::Keep(_) => Ok(None),
        Finalizer::Content(text) => Ok(Some(vec![ContentBlock::text(text)])),
        Finalizer::Bound(most) => Ok(Some(
            outcome
                .content()
                .iter()
                .filter_map(ContentBlock::as_text)
                .map(|text| ContentBlock::text(text.chars().take(*most).collect::<String>()))
                .collect(),
        )),
        Finalizer::Fails(message) => Err(message.clone().into()),
    }
}

/// How a body ends.
enum End {
    Value(Value),
    Error(BoxError),
    Panic(String),
}

async fn run(
    world: Arc<World>,
    spec: Arc<ToolSpec>,
    arguments: Arguments,
    ctx: ToolContext,
) -> Result<Value, BoxError> {
    let id = ctx.call().id().as_str().to_owned();
    let attempt = world.attempt(&id);
    world.event(Some(&id), "body_start", json!({"attempt": attempt}));
    let steps = match &spec.body_again {
        Some(again) if attempt > 1 => again,
        _ => &spec.body,
    };
    let end = walk(&world, steps, &arguments, &ctx).await;
    let how = match end {
        End::Value(_) => "return",
        End::Error(_) | End::Panic(_) => "fail",
    };
    let told = json!({"how": how, "cancelled": ctx.cancellation().is_cancelled()});
    world.event(Some(&id), "body_end", told);
    match end {
        End::Value(value) => Ok(value),
        End::Error(error) => Err(error),
        // Unwinds as a panic does, without telling the panic hook.
        End::Panic(text) => std::panic::resume_unwind(Box::new(text)),
    }
}

async fn walk(
    world: &Arc<World>,
    steps: &[BodyStep],
    arguments: &Arguments,
    ctx: &ToolContext,
) -> End {
    for step in steps {
        if let Some(sleep) = &step.sleep {
            let ms = match sleep {
                Sleep::Ms(ms) => *ms,
                Sleep::Arg { arg } => arguments.value()[arg].as_u64().unwrap_or(0),
            };
            let sleep = tokio::time::sleep(Duration::from_millis(ms));
            if step.cooperative {
                tokio::select! {
                    biased;
                    () = ctx.cancellation().cancelled() => {}
                    () = sleep => {}
                }
            } else {
                sleep.await;
            }
        }
        if step.until_cancelled {
            ctx.cancellation().cancelled().await;
        }
        if let Some(template) = &step.context {
            ctx.defer_context(context(template, ctx.call()));
        }
        if step.conclude {
            ctx.conclude_turn();
        }
        world.carry_out(&step.effects);
        if let Some(failure) = &step.fail_if_cancelled
            && ctx.cancellation().is_cancelled()
        {
            return End::Error(error(failure));
        }
        if let Some(value) = &step.value {
            return End::Value(value.clone());
        }
        if let Some(failure) = &step.fail {
            return End::Error(error(failure));
        }
        if let Some(text) = &step.panic {
            return End::Panic(text.clone());
        }
    }
    unreachable!("every body says how it ends")
}
