//! A model that writes programs instead of calling tools one by one.
//!
//! Two agents share one set of tools. The analyst calls them from programs
//! alone; everybody else calls them natively. Whoever calls, each call falls
//! through the same policies: here one denies what the analyst's program
//! tries at the end, and the program goes on without it.
//!
//! `cargo run --example code_mode --features code-python`

#[cfg(target_os = "linux")]
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), toolfall::BoxError> {
    example::run().await
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("skipped: programs run in Python on Linux only");
}

#[cfg(target_os = "linux")]
mod example {
    use std::sync::Arc;

    use serde_json::json;
    use tokio_util::sync::CancellationToken;
    use toolfall::code::python::PythonRuntime;
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
import asyncio
cities = ['Bergen', 'Sevilla', 'Atlantis']
async def read(city):
    try:
        return city, await tools.temperature({'city': city})
    except ToolCallError as error:
        print(f'{error.toolName}: {error}')
        return city, None
read = dict(await asyncio.gather(*map(read, cities)))
hottest = max((c for c in read if read[c] is not None), key=lambda c: read[c])
try:
    await tools.warn({'city': hottest})
except ToolCallError as error:
    print(f'not warned: {error}')
return {'hottest': hottest}
";

    pub(super) async fn run() -> Result<(), BoxError> {
        let runtime = match PythonRuntime::builder().build() {
            Ok(runtime) => runtime,
            Err(error) => {
                eprintln!("skipped: {error}");
                return Ok(());
            }
        };
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
        assert!(told.section(Section::SDK).contains("async def temperature"));
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
