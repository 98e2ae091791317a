//! `[code]`: programs of the model's that call the tools.

use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;
#[cfg(target_os = "linux")]
use toolfall::code::child::Sandbox;
#[cfg(target_os = "linux")]
use toolfall::code::python::PythonRuntime;
#[cfg(target_os = "linux")]
use toolfall::code::quickjs::QuickJsRuntime;
use toolfall::code::{Budgets, CodeConfig, CodeMode, RuntimeSlot};
use toolfall::registry::Presentation;

use super::{Config, Source};
use crate::error::{Error, chain};

const COMPUTE_MS: u64 = 60_000;
const WALL_MS: u64 = 600_000;
const OUTPUT: usize = 1_000_000;
const MEMORY: u64 = 512 << 20;

/// With this table the model may run programs with the tool `run_code`. Each
/// call that a program makes is judged, asked about, bounded and recorded as
/// if the model had made it. On Linux only.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Code {
    /// How tools are called: from programs alone (`code`), or directly as well
    /// (`both`).
    #[schemars(extend("default" = "both"))]
    mode: Option<Mode>,
    /// What runs the programs.
    #[schemars(with = "Runtime")]
    runtime: Spanned<Runtime>,
    /// The interpreter of the runtime `python`: a path from the file's own
    /// folder, or a name that is looked up.
    #[schemars(with = "Option<PathBuf>", extend("default" = "python3"))]
    python: Option<Spanned<PathBuf>>,
    /// The path of `bwrap`, to run each program in a sandbox of its own.
    /// Without it a program that gets around the interpreter or the engine can
    /// do what you can.
    bwrap: Option<PathBuf>,
    /// How many calls of one program run at a time, from 1 on.
    #[schemars(extend("default" = 10))]
    max_parallel_sub_calls: Option<NonZeroUsize>,
    /// How long a program may compute, in milliseconds from 1 on; waiting for
    /// a tool does not count.
    #[schemars(extend("default" = 60_000))]
    compute_ms: Option<NonZeroU64>,
    /// How long a program may take in all, in milliseconds from 1 on.
    #[schemars(extend("default" = 600_000))]
    wall_ms: Option<NonZeroU64>,
    /// The most bytes that a program may print and return, as JSON.
    #[schemars(extend("default" = 1_000_000))]
    max_output_bytes: Option<NonZeroUsize>,
    /// The most bytes of memory that a program may take.
    #[schemars(extend("default" = 536_870_912))]
    max_memory_bytes: Option<NonZeroU64>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Mode {
    /// From programs alone.
    Code,
    /// Directly as well.
    Both,
}

/// What runs programs.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Runtime {
    /// TypeScript, in an engine and a process of its own for each program.
    Quickjs,
    /// Python, in a process of its own for each program.
    Python,
}

impl Config {
    /// Code mode with its runtime, if the file has the table.
    pub(crate) fn code(&self) -> Result<Option<CodeMode>, Error> {
        let (Some(source), Some(code)) = (&self.source, &self.written.code) else {
            return Ok(None);
        };
        let mut config = CodeConfig::presenting(match code.mode {
            Some(Mode::Code) => Presentation::Code,
            Some(Mode::Both) | None => Presentation::Both,
        });
        if let Some(limit) = code.max_parallel_sub_calls {
            config = config.max_parallel_sub_calls(limit);
        }
        let slot = RuntimeSlot::new();
        self.mount(source, code, &slot)?;
        Ok(Some(CodeMode::new(slot, config)))
    }

    #[cfg(target_os = "linux")]
    fn mount(&self, source: &Source, code: &Code, slot: &RuntimeSlot) -> Result<(), Error> {
        let mount = match code.runtime.get_ref() {
            Runtime::Quickjs => slot.mount(self.quickjs(source, code)?),
            Runtime::Python => slot.mount(self.python(source, code)?),
        };
        let at = Some(code.runtime.span());
        mount
            .map_err(|error| source.error(at, &chain(&error)))?
            .keep();
        Ok(())
    }

    #[cfg(not(target_os = "linux"))]
    fn mount(&self, source: &Source, code: &Code, _: &RuntimeSlot) -> Result<(), Error> {
        let _ = code.budgets();
        let at = Some(code.runtime.span());
        Err(source.error(at, "expected Linux, where programs can be run"))
    }

    #[cfg(target_os = "linux")]
    fn quickjs(&self, source: &Source, code: &Code) -> Result<QuickJsRuntime, Error> {
        if let Some(python) = &code.python {
            let message = "expected no interpreter for the runtime \"quickjs\", found one";
            return Err(source.error(Some(python.span()), message));
        }
        let mut builder = QuickJsRuntime::builder().budgets(code.budgets());
        if let Some(bwrap) = &code.bwrap {
            builder = builder.sandbox(Sandbox::Bwrap(self.beside(bwrap).into()));
        }
        let at = Some(code.runtime.span());
        (builder.build()).map_err(|error| source.error(at, &chain(&error)))
    }

    #[cfg(target_os = "linux")]
    fn python(&self, source: &Source, code: &Code) -> Result<PythonRuntime, Error> {
        let mut builder = PythonRuntime::builder().budgets(code.budgets());
        if let Some(python) = &code.python {
            let python = python.get_ref();
            // A bare name is looked up, as a shell would.
            let is_name = python.components().count() == 1;
            builder = builder.python(if is_name {
                python.clone()
            } else {
                self.beside(python)
            });
        }
        if let Some(bwrap) = &code.bwrap {
            builder = builder.sandbox(Sandbox::Bwrap(self.beside(bwrap).into()));
        }
        let at = Some(code.runtime.span());
        (builder.build()).map_err(|error| source.error(at, &chain(&error)))
    }
}

impl Code {
    fn budgets(&self) -> Budgets {
        let ms = |given: Option<NonZeroU64>, default| {
            Duration::from_millis(given.map_or(default, NonZeroU64::get))
        };
        Budgets::default()
            .compute(ms(self.compute_ms, COMPUTE_MS))
            .wall(ms(self.wall_ms, WALL_MS))
            .output(self.max_output_bytes.map_or(OUTPUT, NonZeroUsize::get))
            .heap(self.max_memory_bytes.map_or(MEMORY, NonZeroU64::get))
    }
}
