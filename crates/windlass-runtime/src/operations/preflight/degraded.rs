//! Which controllers lack something that they need: asked for again and again, logged, and shown as not ready.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use windlass::Controller;
use windlass::permissions::Scope;

use super::super::endpoints::Check;
use super::super::perform::Perform;
use super::{Problem, preflight};

/// As long as something is missing, it is asked for again after this.
const AGAIN: Duration = Duration::from_secs(30);

/// What controllers lack, by their names, as far as the preflight has found out. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Degraded(Arc<Mutex<BTreeMap<String, Vec<Problem>>>>);

impl Degraded {
    /// Asks for what each controller needs, until nothing is missing.
    pub(crate) async fn follow(&self, api: &dyn Perform, controllers: &[Controller], scope: &Scope) {
        while !self.ask(api, controllers, scope).await {
            tokio::time::sleep(AGAIN).await;
        }
    }

    /// Asks for what each controller needs, and says whether nothing is missing. What is missing is logged once.
    pub(super) async fn ask(&self, api: &dyn Perform, controllers: &[Controller], scope: &Scope) -> bool {
        let mut complete = true;
        for controller in controllers {
            let problems = preflight(api, std::slice::from_ref(controller), scope).await;
            complete &= problems.is_empty();
            let before = self.lock().insert(controller.name().to_owned(), problems.clone());
            let before = before.unwrap_or_default();
            let controller = controller.name();
            for problem in problems.iter().filter(|problem| !before.contains(problem)) {
                tracing::warn!(controller, "{problem}");
            }
            if problems.is_empty() && !before.is_empty() {
                tracing::info!(controller, "preflight passed");
            }
        }
        complete
    }

    /// For each controller, whether it has all that it needs. That the API did not answer is not held against it.
    pub(crate) fn checks(&self) -> Vec<Check> {
        let check = |(controller, problems): (&String, &Vec<Problem>)| {
            let name = format!("preflight of {controller}");
            let missing = problems.iter().filter(|problem| !matches!(problem, Problem::Unknown { .. }));
            let missing: Vec<String> = missing.map(Problem::to_string).collect();
            if missing.is_empty() { Check::good(name) } else { Check::bad(name, missing.join("; ")) }
        };
        self.lock().iter().map(check).collect()
    }

    /// Nothing that runs under the lock panics.
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Vec<Problem>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
