//! What a user of tools and policies cannot write.
//!
//! The `.stderr` files are the words of one compiler version; see the test of
//! the same name in the layers package.
//!
//! conformance: PRE-10, FINAL-21, POST-05

#[test]
fn tools_and_policies_that_reach_too_far_do_not_compile() {
    if std::env::var_os("TOOLFALL_SKIP_UI").is_some() {
        return;
    }
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
