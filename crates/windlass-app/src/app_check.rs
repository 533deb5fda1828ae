//! A check that `check` runs by its name.

use std::sync::Arc;

use windlass_check::Check;

use crate::protocol::ProtocolWorld;

/// A check with a name.
#[derive(Clone)]
pub struct AppCheck {
    /// Its name on the command line, and in counterexamples.
    pub(crate) name: &'static str,
    /// What it checks, in one line.
    pub(crate) about: String,
    /// Whether it is broken on purpose, to show how a mistake is found.
    pub(crate) is_specimen: bool,
    pub(crate) subject: CheckSubject,
}

/// What is checked.
#[derive(Clone)]
pub(crate) enum CheckSubject {
    /// Controllers in a cluster. The check is made anew for each run.
    Controllers(Arc<dyn Fn() -> Check + Send + Sync>),
    /// A protocol, in several worlds.
    Protocol(Vec<ProtocolWorld>),
}

impl AppCheck {
    /// A check of controllers. It is made anew for each run.
    pub fn new(
        name: &'static str,
        about: impl Into<String>,
        make: impl Fn() -> Check + Send + Sync + 'static,
    ) -> Self {
        let subject = CheckSubject::Controllers(Arc::new(make));
        AppCheck { name, about: about.into(), is_specimen: false, subject }
    }

    /// A check of a protocol of your own, in one or several worlds: any
    /// [`Model`](windlass_check::engine::Model).
    pub fn protocol(
        name: &'static str,
        about: impl Into<String>,
        worlds: impl IntoIterator<Item = ProtocolWorld>,
    ) -> Self {
        let subject = CheckSubject::Protocol(worlds.into_iter().collect());
        AppCheck { name, about: about.into(), is_specimen: false, subject }
    }

    /// Marks it as broken on purpose: it runs only when it is named.
    #[must_use]
    pub fn specimen(self) -> Self {
        AppCheck { is_specimen: true, ..self }
    }
}
