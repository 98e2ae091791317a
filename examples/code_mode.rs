//! A model that writes programs instead of calling tools one by one.
//!
//! Two agents share one set of tools. The analyst calls them from programs
//! alone; everybody else calls them natively. Whoever calls, each call falls
//! through the same policies: here one denies what the analyst's program
//! tries at the end, and the program goes on without it.
//!
//! Each program runs in a process of its own: this executable, started anew,
//! in which `worker` takes over. `code::python` is the same for Python.
//!
//! `cargo run --example code_mode --features code-ts`

#[cfg(target_os = "linux")]
fn main() -> Result<(), toolfall::BoxError> {
    // First of all, before there are threads.
    toolfall::code::quickjs::worker();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(example::run())
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("skipped: programs run on Linux only");
}

#[cfg(target_os = "linux")]
mod example {
    use std::sync::Arc;

    use serde_json::json;
    use tokio_util::sync::CancellationToken;
    use toolfall::code::quickjs::QuickJsRuntime;
    use toolfall::code::{CodeConfig, CodeMode, RuntimeSlot};
    use toolfall::registry::{Assembly, Presentation, Section};
    use toolfall::session::{Body, SessionLog, SessionRecorder, check};
    use toolfall::{
        Arguments, BoxError, CallRequest, CallView, Decision, Pipeline, Registry, Scope,
        ToolContext, ToolDef, tool_fn,
    };

    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Of {
        city: String,
    }

    fn tools() -> [ToolDef; 2] {
        let temperature = tool_fn(
            "temperature",
            "Degrees now",
            |of: Of, _: ToolContext| async move {
                match &*of.city {
                    "Bergen" => Ok(9.5),
                    "Sevilla" => Ok(31.0),
                    _ => Err(format!("no such city: {}", of.city)),
                }
            },
        );
        let warn = tool_fn("warn", "Warns a city", |_: Of, _: ToolContext| async move {
            Ok::<_, BoxError>(true)
        });
        // Reading may overlap with itself; warning runs alone.
        [temperature.parallel(), warn]
    }

    const PROGRAM: &str = "
const cities: string[] = ['Bergen', 'Sevilla', 'Atlantis'];
const read = new Map<string, number>();
await Promise.all(cities.map(async (city: string) => {
    try {
        read.set(city, await tools.temperature({ city }));
    } catch (error) {
        if (!(error instanceof ToolCallError)) throw error;
        console.log(`${error.toolName}: ${error.message}`);
    }
}));
const [hottest] = [...read.keys()].sort((a, b) => read.get(b)! - read.get(a)!);
try {
    await tools.warn({ city: hottest });
} catch (error) {
    console.log(`not warned: ${(error as Error).message}`);
}
return { hottest };
";

    pub(super) async fn run() -> Result<(), BoxError> {
        let runtime = QuickJsRuntime::builder().build()?;
        let registry = Registry::new();
        for registration in registry.register_all(tools())? {
            registration.keep();
        }

        // Everybody is native, but for who declares otherwise.
        let slot = RuntimeSlot::new();
        slot.mount(runtime)?.keep();
        let code = CodeMode::new(slot, CodeConfig::presenting(Presentation::Native));
        let _code = code.attach(&registry)?;
        let analyst = Scope::new("analyst");
        let _programs = registry.present(&analyst, Presentation::Code)?;

        // What each of them is told.
        let assembly = Assembly::new(registry.clone());
        let told = assembly.assemble(Some(&analyst))?;
        assert_eq!(told.tools.len(), 1);
        assert!(told.section(Section::SDK).contains("temperature: {"));
        assert_eq!(assembly.assemble(None)?.tools.len(), 2);

        let log = SessionLog::in_memory();
        let pipeline = Pipeline::builder(registry)
            .pre_decision(|call: &CallView| match call.name() {
                "warn" => Decision::deny("warnings are for people to give"),
                _ => Decision::Allow,
            })
            .recorder(Arc::new(SessionRecorder::new(log.clone())))
            .build();

        let arguments = Arguments::from_serialize(&json!({
            "code": PROGRAM,
            "description": "Finds the hottest city",
        }))?;
        let call = CallRequest::new("call_1", "run_code", arguments, CancellationToken::new());
        let result = pipeline.run(call.with_scope(analyst.clone())).await;
        println!("{}", result.text());
        let wanted = "temperature: no such city: Atlantis\n\
                      not warned: warnings are for people to give\n\
                      {\n  \"hottest\": \"Sevilla\"\n}";
        assert_eq!(result.text(), wanted);

        // The log has every call of the program; the model saw none of them.
        let records = log.records()?;
        let calls = records
            .iter()
            .filter(|it| matches!(it.body, Body::Dispatch(_)));
        assert_eq!(calls.count(), 4);
        assert!(check::check(&records).is_empty());

        // The analyst's direct calls are refused before anybody is asked.
        let arguments = r#"{"city": "Bergen"}"#;
        let call = |scope: &Scope| {
            CallRequest::new("call_2", "temperature", arguments, CancellationToken::new())
                .with_scope(scope.clone())
        };
        let refused = pipeline.run(call(&analyst)).await;
        assert!(
            refused
                .text()
                .contains("only `run_code` is callable directly")
        );
        assert_eq!(
            pipeline.run(call(&Scope::new("somebody"))).await.text(),
            "9.5"
        );
        Ok(())
    }
}
