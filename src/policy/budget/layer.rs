use tower_layer::Layer;

use super::{BudgetService, Budgets};

/// Applies [`BudgetService`]: what [`Budgets::layer`] makes. See the
/// [module docs](super) for an example.
#[derive(Clone, Debug)]
pub struct BudgetLayer {
    budgets: Budgets,
}

impl BudgetLayer {
    pub(super) const fn new(budgets: Budgets) -> Self {
        Self { budgets }
    }
}

impl<S> Layer<S> for BudgetLayer {
    type Service = BudgetService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        BudgetService::new(inner, self.budgets.clone())
    }
}
