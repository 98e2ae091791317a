//! What must not compile, and what the compiler says of it.
//!
//! The `.stderr` files are the words of one compiler version. After a change
//! of the toolchain write them anew with `TRYBUILD=overwrite`, and read them:
//! each must still name what was expected and what was found. Set
//! `TOOLFALL_SKIP_UI` where another version is tested.
//!
//! conformance: EXEC-03, EXEC-46, EXEC-47, PRE-10, GUARD-18, POST-05, FINAL-21, FINAL-27, DISP-26

#[test]
fn wrong_stacks_and_forgeries_do_not_compile() {
    if std::env::var_os("TOOLFALL_SKIP_UI").is_some() {
        return;
    }
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
