//! The order in which a model is told of its tools.

#[path = "support/facade.rs"]
mod support;

use support::{echo, registry};
use toolfall::registry::{OrderError, ToolOrder};

/// conformance: REG-89, REG-90, REG-91
#[test]
fn a_model_is_told_in_the_order_that_is_set() {
    let registry = registry(["zulu", "alpha", "mike"].map(echo));
    let sorted = |order: &[&str]| {
        let order = ToolOrder::new(order.iter().copied()).unwrap();
        let sorted = order.sort(registry.schemas(None));
        sorted.map(|tools| tools.into_iter().map(|tool| tool.name).collect::<Vec<_>>())
    };
    assert_eq!(
        sorted(&["zulu", ToolOrder::REST]).unwrap(),
        ["zulu", "alpha", "mike"]
    );
    assert_eq!(sorted(&["zulu"]).unwrap(), ["zulu", "alpha", "mike"]);
    assert_eq!(
        sorted(&["mike", ToolOrder::REST, "alpha"]).unwrap(),
        ["mike", "zulu", "alpha"]
    );
    assert_eq!(sorted(&[]).unwrap(), ["alpha", "mike", "zulu"]);
    let error = sorted(&[ToolOrder::REST, "echo"]).unwrap_err();
    assert_eq!(
        error,
        OrderError::Unregistered {
            name: "echo".to_owned()
        }
    );
    assert_eq!(
        error.to_string(),
        "toolOrder lists unregistered tool \"echo\""
    );
    let twice = ToolOrder::new(["a", "a"]).unwrap_err();
    assert_eq!(twice.to_string(), "toolOrder lists \"a\" twice");
}
