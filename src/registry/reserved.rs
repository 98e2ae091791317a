//! Names that no tool may have.

/// What a model calls to run a program that calls tools.
pub(super) const RUN_CODE: &str = "run_code";

/// Whether `name` is kept for what is no tool.
pub(super) fn is_reserved(name: &str) -> bool {
    name == RUN_CODE
}
