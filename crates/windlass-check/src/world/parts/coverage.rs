//! Which requests the caches of a process can answer: what its watches select.

use windlass::{Answer, Ask, WatchDeclaration};
use windlass_model::selector::{FieldSelector, LabelSelector};
use windlass_model::{Request, ResourceId, Verb};

use super::Parts;
use crate::ids::{AnswerId, AskId, ChangeId};
use crate::index::{KindIndex, ProcessIndex};

/// What a process's watches know of what a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Coverage {
    /// All of it.
    Whole,
    /// The objects that are there; that one is missing says nothing.
    Present,
    /// Nothing: the API server is asked.
    Nothing,
}

impl Parts {
    /// The kind of a change that a process's watches will deliver.
    pub(super) fn watched_kind(&self, process: ProcessIndex, change: ChangeId) -> Option<KindIndex> {
        let change = self.views.changes.get(change);
        let kind = self.views.kind_of(&change.key)?;
        let sides = || change.before.iter().chain(&change.after);
        let watches = self.watches_of(process, &self.views.kinds[kind.index()]);
        watches.into_iter().any(|watch| sides().any(|side| watch.selects(side))).then_some(kind)
    }

    fn watches_of<'a>(&'a self, process: ProcessIndex, kind: &ResourceId) -> Vec<&'a WatchDeclaration> {
        let watches = self.setup.processes[process.index()].declaration().all_watches().iter();
        watches.filter(|watch| watch.kind.resource == *kind).collect()
    }

    /// Whether a process's caches answer a request, given whether what it asks for is missing there.
    pub(crate) fn is_cached(&self, process: ProcessIndex, ask: AskId, answer: AnswerId) -> bool {
        let Ask::Api { request, .. } = &**self.asks.get(ask) else { return false };
        match self.coverage(process, request) {
            Coverage::Whole => true,
            Coverage::Present => {
                matches!(&**self.answers.get(answer), Answer::Api(response) if response.failure().is_none())
            }
            Coverage::Nothing => false,
        }
    }

    fn coverage(&self, process: ProcessIndex, request: &Request) -> Coverage {
        let watches = self.watches_of(process, &request.resource);
        let mut watches = watches.into_iter().filter(|watch| !watch.metadata_only).peekable();
        if watches.peek().is_none() {
            return Coverage::Nothing;
        }
        let selected = |selector: &Option<String>| selector.clone().unwrap_or_default();
        let labels = match request.verb {
            Verb::List => LabelSelector::parse(&selected(&request.options.label_selector)),
            _ => Ok(LabelSelector::everything()),
        };
        let fields = match request.verb {
            Verb::List => FieldSelector::parse(&selected(&request.options.field_selector)),
            _ => Ok(FieldSelector::default()),
        };
        let (Ok(labels), Ok(fields)) = (labels, fields) else { return Coverage::Nothing };
        let whole = watches.any(|watch| labels.is_within(&watch.labels) && fields.is_within(&watch.fields));
        match request.verb {
            _ if whole => Coverage::Whole,
            Verb::List => Coverage::Nothing,
            _ => Coverage::Present,
        }
    }
}
