//! Which changes of an object concern an operator: only those after which it has something to do.

use std::time::Duration;

use windlass::{Kind, MachineStatus, changed};

/// How long an operator waits at most for what another one will tell it by a condition: the change of the object comes first.
pub(crate) const FALLBACK: Duration = Duration::from_secs(300);

/// Changes after which an object is ready for an operator, and something that the operator looks at is new.
pub(crate) fn once<K: Kind, Seen: PartialEq>(
    ready: impl Fn(&K) -> bool + Send + Sync + 'static,
    seen: impl Fn(&K) -> Seen + Send + Sync + 'static,
) -> impl Fn(Option<&K>, Option<&K>) -> bool + Send + Sync + 'static {
    move |before, after| {
        let (Some(after), Some(before)) = (after, before) else { return after.is_none_or(&ready) };
        let news = !ready(before)
            || seen(before) != seen(after)
            || changed::generation_or_metadata(Some(before), Some(after));
        ready(after) && news
    }
}

/// Whether an object's home has seen it: from then on it is not deleted without its finalizer machine.
pub(crate) fn is_registered(status: Option<&MachineStatus>, home: &str) -> bool {
    status.is_some_and(|status| status.controllers.iter().any(|record| record.name == home))
}
