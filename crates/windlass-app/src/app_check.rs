//! A check that `check` runs by its name.

use std::sync::Arc;

use windlass_check::Check;

/// A check with a name.
#[derive(Clone)]
pub struct AppCheck {
    /// Its name on the command line, and in counterexamples.
    pub(crate) name: &'static str,
    /// What it checks, in one line.
    pub(crate) about: String,
    /// Whether it is broken on purpose, to show how a mistake is found.
    pub(crate) is_specimen: bool,
    make: Arc<dyn Fn() -> Check + Send + Sync>,
}

impl AppCheck {
    /// A check. It is made anew for each run.
    pub fn new(
        name: &'static str,
        about: impl Into<String>,
        make: impl Fn() -> Check + Send + Sync + 'static,
    ) -> Self {
        AppCheck { name, about: about.into(), is_specimen: false, make: Arc::new(make) }
    }

    /// Marks it as broken on purpose: it runs only when it is named.
    #[must_use]
    pub fn specimen(self) -> Self {
        AppCheck { is_specimen: true, ..self }
    }

    /// The check itself.
    pub(crate) fn check(&self) -> Check {
        (self.make)()
    }
}
