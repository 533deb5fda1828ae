//! What a process learns from the answer to a write of its own: that one object, and nothing else.

use windlass::{Answer, Ask};
use windlass_model::{Body, Change, Key, Verb, object};

use super::{NOTHING_UNSEEN, Parts};
use crate::host::controller::Host;
use crate::ids::{AnswerId, AskId, ChangeId};
use crate::index::ProcessIndex;

/// What the answer to a write says about an object.
struct OwnWrite {
    key: Key,
    what: Written,
}

enum Written {
    /// It is as of this version.
    Version(u64),
    /// The object of this uid, or whichever it was, is gone.
    Deleted { uid: Option<String> },
}

impl OwnWrite {
    /// What an answer says; nothing if it is not that of a write that went well.
    fn of(ask: &Ask, answer: &Answer) -> Option<Self> {
        let (Ask::Api { request, .. }, Answer::Api(response)) = (ask, answer) else { return None };
        if !request.verb.is_write() || request.options.dry_run || response.failure().is_some() {
            return None;
        }
        let named = |name: &str, namespace: &str| {
            Key::new(&request.resource.group, &request.resource.plural, namespace, name)
        };
        match &response.body {
            Body::Object(found) if request.verb != Verb::Delete || object::is_deleting(found) => {
                let key = named(object::name(found), object::namespace(found));
                let is_last = object::is_deleting(found) && object::finalizers(found).next().is_none();
                let what = if is_last {
                    Written::Deleted { uid: Some(object::uid(found).to_owned()) }
                } else {
                    Written::Version(object::resource_version(found).parse().ok()?)
                };
                Some(OwnWrite { key, what })
            }
            Body::Object(_) | Body::Status(_) if request.verb == Verb::Delete => {
                let key = named(request.name.as_deref()?, request.namespace.as_deref().unwrap_or_default());
                let uid = request.options.preconditions.uid.clone();
                Some(OwnWrite { key, what: Written::Deleted { uid } })
            }
            _ => None,
        }
    }

    /// Whether a change is this write, or one before it.
    fn includes(&self, change: &Change) -> bool {
        match &self.what {
            Written::Version(version) => change.version <= *version,
            Written::Deleted { uid } => {
                let gone = change.after.is_none().then_some(change.before.as_ref()).flatten();
                gone.is_some_and(|gone| uid.as_deref().is_none_or(|uid| object::uid(gone) == uid))
            }
        }
    }
}

impl Parts {
    /// A process has the answer to a write of its own: it sees that object as the answer has it, and all else as before.
    pub(crate) fn see_own_write(
        &mut self,
        host: &mut Host,
        process: ProcessIndex,
        ask: AskId,
        answer: AnswerId,
    ) {
        if host.unseen == NOTHING_UNSEEN {
            return;
        }
        let Some(written) = OwnWrite::of(self.asks.get(ask), self.answers.get(answer)) else { return };
        let Some(kind) = self.views.kind_of(&written.key) else { return };
        let mut backlog = (**self.views.backlogs.get(host.unseen)).clone();
        let mut of_object = Vec::new();
        for change in backlog.of(kind) {
            let known = self.views.changes.get(*change);
            if known.key == written.key {
                of_object.push((*change, known.clone()));
            }
        }
        let Some(last) = of_object.iter().rposition(|(_, change)| written.includes(change)) else { return };
        let seen: Vec<ChangeId> = of_object[..=last].iter().map(|(number, _)| *number).collect();
        backlog.retain(kind, |change| !seen.contains(change));
        let (before, after) = (of_object[0].1.before.clone(), of_object[last].1.after.clone());
        self.mark_change(host, process, &written.key, before.as_deref(), after.as_deref());
        host.unseen = self.views.backlogs.id(backlog);
    }
}
