//! What makes reconciles of one controller due: news from watches and from outside, put into its queue.

use std::sync::Arc;

use serde_json::Value;
use windlass::model::object;
use windlass::{Cause, Controller, ObjectRef, Trigger};

use crate::operations::metrics::ControllerMetrics;
use crate::ownership::Ownership;
use crate::queue::{Priority, QueueSettings, Reason, SharedQueue};
use crate::waits::Waits;
use crate::watch::{Moment, News};

/// The queue of a controller, and what fills it.
pub(crate) struct Inbox {
    pub(crate) controller: Controller,
    pub(crate) metrics: ControllerMetrics,
    ownership: Arc<dyn Ownership>,
    pub(crate) queue: Arc<SharedQueue>,
    pub(crate) waits: Waits,
}

impl Inbox {
    pub(crate) fn new(
        controller: Controller,
        settings: QueueSettings,
        ownership: Arc<dyn Ownership>,
        metrics: ControllerMetrics,
    ) -> Self {
        Inbox { controller, metrics, ownership, queue: SharedQueue::new(settings), waits: Waits::default() }
    }

    /// Lets the metrics count the queue, for as long as there is one.
    pub(crate) fn count_queue(&self) {
        let queue = Arc::downgrade(&self.queue);
        self.metrics.set_queue(move || queue.upgrade().map(|queue| queue.counts()).unwrap_or_default());
    }

    /// Counts the conditions of a parent that came, changed or went.
    pub(crate) fn count_parent(&self, parent: &ObjectRef, before: Option<&Value>, after: Option<&Value>) {
        if self.is_mine(parent) {
            self.metrics.parent_changed(before, after);
        }
    }

    /// A change makes reconciles due.
    pub(crate) fn add(&self, mut triggers: Vec<Trigger>, news: &News) {
        triggers.retain(|trigger| self.is_mine(&trigger.parent));
        if triggers.is_empty() {
            return;
        }
        let place = ObjectRef::new(&news.key.namespace, &news.key.name);
        let what = format!("{} {place}", news.kind.qualified());
        let spec_changed = spec_changed(news.before.as_deref(), news.after.as_deref());
        self.queue.add(triggers.into_iter().map(|Trigger { parent, cause }| {
            let spec_changed = cause == Cause::Parent && spec_changed;
            let priority = priority(news.moment, cause, spec_changed);
            (parent, Reason { cause, what: what.clone(), priority, spec_changed })
        }));
    }

    /// Something outside the cluster makes a reconcile due.
    pub(crate) fn add_from_outside(&self, parent: ObjectRef, what: &str) {
        if !self.is_mine(&parent) {
            return;
        }
        let reason = Reason {
            cause: Cause::Source,
            what: what.to_owned(),
            priority: Priority::Live,
            spec_changed: false,
        };
        self.queue.add([(parent, reason)]);
    }

    /// A function of the machine panicked over a change.
    pub(crate) fn lost(&self, news: &News) {
        self.metrics.panicked();
        let (controller, kind) = (self.controller.name(), &news.kind.kind);
        tracing::error!(controller, "what it declares for changes of {kind} panicked; the change is lost");
    }

    fn is_mine(&self, parent: &ObjectRef) -> bool {
        self.ownership.is_mine(self.controller.name(), parent)
    }
}

/// How urgent a trigger is. What a controller has written itself, and is told of like of any change, has time: most often
/// it has nothing to do then. That another controller of this process has made a parent is news.
fn priority(moment: Moment, cause: Cause, spec_changed: bool) -> Priority {
    let comes_back = match cause {
        Cause::Output => true,
        Cause::Parent => !spec_changed,
        Cause::Watched | Cause::Source => false,
    };
    match moment {
        Moment::Initial => Priority::Background,
        Moment::OwnWrite if comes_back => Priority::Background,
        Moment::OwnWrite | Moment::Live => Priority::Live,
    }
}

/// Whether somebody has changed what an object is to be, and not only what is said about it.
fn spec_changed(before: Option<&Value>, after: Option<&Value>) -> bool {
    let (Some(before), Some(after)) = (before, after) else { return true };
    let decided = ["uid", "generation", "deletionTimestamp", "annotations", "labels"];
    if decided.iter().any(|field| before["metadata"][field] != after["metadata"][field]) {
        return true;
    }
    // Kinds without a generation do not count what is changed.
    object::generation(after) == 0 && content(before).ne(content(after))
}

fn content(object: &Value) -> impl Iterator<Item = (&String, &Value)> {
    let fields = object.as_object().into_iter().flatten();
    fields.filter(|(name, _)| !matches!(name.as_str(), "metadata" | "status"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_status_is_no_change_of_the_spec() {
        let old =
            json!({"metadata": {"generation": 1, "resourceVersion": "1"}, "status": {"a": 1}, "spec": {}});
        let mut new = old.clone();
        new["status"]["a"] = json!(2);
        object::set_meta(&mut new, "resourceVersion", "2");
        object::set_meta(&mut new, "managedFields", json!([{}]));
        assert!(!spec_changed(Some(&old), Some(&new)));
        for (field, value) in [
            ("generation", json!(2)),
            ("deletionTimestamp", json!("now")),
            ("annotations", json!({"a": "b"})),
            ("uid", json!("u")),
        ] {
            let mut changed = new.clone();
            object::set_meta(&mut changed, field, value);
            assert!(spec_changed(Some(&old), Some(&changed)), "{field}");
        }
        assert!(spec_changed(Some(&old), None) && spec_changed(None, Some(&new)));
    }

    #[test]
    fn a_write_that_comes_back_to_its_writer_has_time() {
        let urgent = |moment, cause, spec_changed| priority(moment, cause, spec_changed) == Priority::Live;
        assert!(
            !urgent(Moment::OwnWrite, Cause::Output, false)
                && !urgent(Moment::OwnWrite, Cause::Parent, false)
        );
        assert!(urgent(Moment::OwnWrite, Cause::Parent, true), "a parent that another controller has made");
        assert!(urgent(Moment::Live, Cause::Output, false) && urgent(Moment::Live, Cause::Parent, false));
        assert!(!urgent(Moment::Initial, Cause::Parent, true));
    }

    #[test]
    fn kinds_without_a_generation_are_compared() {
        let old = json!({"metadata": {"resourceVersion": "1"}, "data": {"a": "1"}, "status": 1});
        let mut new = json!({"metadata": {"resourceVersion": "2"}, "data": {"a": "1"}, "status": 2});
        assert!(!spec_changed(Some(&old), Some(&new)));
        new["data"]["a"] = json!("2");
        assert!(spec_changed(Some(&old), Some(&new)));
    }
}
