//! What controller code does, remembered: from the answers so far to what it asks next.
//!
//! A reconcile is pure, so each distinct list of answers is run once, however many states share it.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use windlass::{Answer, Ask, Bug, Controller, CoroutineState, ObjectRef, Reconciled};
use windlass_model::{Body, Key, Request, Response, Types, object};

use crate::ids::{AnswerId, AskId, NodeId};
use crate::index::ProcessIndex;
use crate::intern::Interner;
use crate::world::canonical::other_numbers::{other_answer, other_ask};

/// One reconcile to be done: which controller, which parent, and whether a missing parent may be made.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Job {
    pub(crate) controller: ProcessIndex,
    pub(crate) target: ObjectRef,
    pub(crate) create_missing: bool,
}

/// How a point of a reconcile is reached: the point before, and the answers that were given there.
type Edge = (NodeId, Box<[AnswerId]>);

/// A point in a reconcile: the answers up to here, and what comes next.
pub(crate) struct Node {
    /// The point before, and the answers that led from there to here; `None` at the start.
    before: Option<Edge>,
    job: Arc<Job>,
    /// The state that runs at this point.
    pub(crate) state: &'static str,
    pub(crate) next: NodeNext,
}

/// What comes next at a point of a reconcile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NodeNext {
    /// It waits for these, by their numbers.
    Ask(Arc<[AskId]>),
    /// It is over.
    End(Arc<Reconciled>),
    /// Its code has a bug.
    Bug(Arc<Bug>),
}

/// All points of all reconciles seen so far, as a tree.
pub(crate) struct Steps {
    controllers: Vec<Controller>,
    nodes: Vec<Node>,
    roots: FxHashMap<Job, NodeId>,
    children: FxHashMap<Edge, NodeId>,
    /// How often a coroutine was made and run.
    pub(crate) executions: u64,
    /// Whether any of it draws random values.
    pub(crate) draws: bool,
    /// If states that differ in versions alone are taken for one: the types, to find these numbers in answers.
    renumbered: Option<Arc<Types>>,
    /// Code that must not be treated so, in words.
    pub(crate) depends_on_numbers: Option<String>,
}

impl Steps {
    pub(crate) fn new(controllers: Vec<Controller>, renumbered: Option<Arc<Types>>) -> Self {
        Steps {
            controllers,
            nodes: Vec::new(),
            roots: FxHashMap::default(),
            children: FxHashMap::default(),
            executions: 0,
            draws: false,
            renumbered,
            depends_on_numbers: None,
        }
    }

    pub(crate) fn node(&self, node: NodeId) -> &Node {
        &self.nodes[node.index()]
    }

    /// Whose reconcile a point is of.
    pub(crate) fn job(&self, node: NodeId) -> &Arc<Job> {
        &self.node(node).job
    }

    /// The point before, and the answers that led from there; `None` at the start.
    pub(crate) fn before(&self, node: NodeId) -> Option<Edge> {
        self.node(node).before.clone()
    }

    /// How the reconciles of a controller, by its number, can end.
    pub(crate) fn ends_of(&self, controller: ProcessIndex) -> impl Iterator<Item = &Reconciled> {
        let nodes = self.nodes.iter().filter(move |node| node.job.controller == controller);
        nodes.filter_map(|node| match &node.next {
            NodeNext::End(ended) => Some(&**ended),
            _ => None,
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The first point of a reconcile.
    pub(crate) fn start(
        &mut self,
        job: &Job,
        asks: &mut Interner<Ask>,
        answers: &Interner<Answer>,
    ) -> NodeId {
        if let Some(node) = self.roots.get(job) {
            return *node;
        }
        let node = self.run(None, Arc::new(job.clone()), asks, answers);
        self.roots.insert(job.clone(), node);
        node
    }

    /// The point that these answers lead to.
    pub(crate) fn follow(
        &mut self,
        node: NodeId,
        given: Box<[AnswerId]>,
        asks: &mut Interner<Ask>,
        answers: &Interner<Answer>,
    ) -> NodeId {
        let edge = (node, given);
        if let Some(child) = self.children.get(&edge) {
            return *child;
        }
        let job = self.node(node).job.clone();
        let child = self.run(Some(edge.clone()), job, asks, answers);
        self.children.insert(edge, child);
        child
    }

    /// Runs the reconcile from its start with all answers up to a new point.
    fn run(
        &mut self,
        before: Option<Edge>,
        job: Arc<Job>,
        asks: &mut Interner<Ask>,
        answers: &Interner<Answer>,
    ) -> NodeId {
        let (state, mut next) = self.replay(before.as_ref(), &job, asks, answers);
        if let NodeNext::Ask(asked) = &next {
            self.draws |= asked.iter().any(|ask| matches!(&**asks.get(*ask), Ask::Random { .. }));
        }
        // The same must come out a second time; only then it makes sense to ask what other numbers lead to.
        let (_, again) = self.replay(before.as_ref(), &job, asks, answers);
        let other = if again == next {
            self.with_other_numbers(before.as_ref(), &job, &next, asks, answers)
        } else {
            let (first, second) = (shown(&next, asks), shown(&again, asks));
            next = NodeNext::Bug(Arc::new(self.not_deterministic(&job, state, first, second)));
            None
        };
        self.depends_on_numbers = self.depends_on_numbers.take().or(other);
        if let NodeNext::Ask(asked) = &next
            && let Err(bug) = self.check_permitted(&job, state, asked, asks)
        {
            next = NodeNext::Bug(Arc::new(bug));
        }
        let node = NodeId::from_index(self.nodes.len());
        self.nodes.push(Node { before, job, state, next });
        node
    }

    /// Whether the controller's role would allow what it asks for.
    fn check_permitted(
        &self,
        job: &Job,
        state: &'static str,
        asked: &[AskId],
        asks: &Interner<Ask>,
    ) -> Result<(), Bug> {
        for ask in asked {
            if let Ask::Api { request, .. } = &**asks.get(*ask) {
                self.controllers[job.controller.index()].check_permitted(state, request)?;
            }
        }
        Ok(())
    }

    fn replay(
        &mut self,
        before: Option<&Edge>,
        job: &Job,
        asks: &mut Interner<Ask>,
        answers: &Interner<Answer>,
    ) -> (&'static str, NodeNext) {
        self.executions += 1;
        let mut coroutine =
            self.controllers[job.controller.index()].reconcile(&job.target, job.create_missing);
        let mut given: Vec<Answer> = Vec::new();
        for (node, answered) in self.path_to(before) {
            let step = coroutine.resume(std::mem::take(&mut given));
            let now = to_next(step, asks);
            let remembered = &self.node(node).next;
            if now != *remembered {
                let (first, second) = (shown(remembered, asks), shown(&now, asks));
                let bug = self.not_deterministic(job, coroutine.state(), first, second);
                return (coroutine.state(), NodeNext::Bug(Arc::new(bug)));
            }
            given = answered.iter().map(|answer| (**answers.get(*answer)).clone()).collect();
        }
        let step = coroutine.resume(given);
        (coroutine.state(), to_next(step, asks))
    }

    /// Runs the reconcile up to a new point with other versions, generations and uids in all answers, and says so if
    /// it goes on in another way.
    fn with_other_numbers(
        &self,
        before: Option<&Edge>,
        job: &Job,
        next: &NodeNext,
        asks: &Interner<Ask>,
        answers: &Interner<Answer>,
    ) -> Option<String> {
        let types = self.renumbered.as_ref().filter(|_| self.depends_on_numbers.is_none())?;
        let mut coroutine =
            self.controllers[job.controller.index()].reconcile(&job.target, job.create_missing);
        let mut given: Vec<Answer> = Vec::new();
        for (_, answered) in self.path_to(before) {
            coroutine.resume(std::mem::take(&mut given));
            given = answered.iter().map(|answer| other_answer(types, answers.get(*answer))).collect();
        }
        let other = coroutine.resume(given);
        let same = match (next, &other) {
            (NodeNext::Ask(asked), CoroutineState::Ask(others)) => {
                let expected = asked.iter().map(|ask| other_ask(asks.get(*ask)));
                expected.eq(others.iter().cloned())
            }
            (NodeNext::End(ended), CoroutineState::End(other)) => {
                std::mem::discriminant(&ended.result) == std::mem::discriminant(&other.result)
            }
            (NodeNext::Bug(_), CoroutineState::Bug(_)) => true,
            (NodeNext::Bug(_), CoroutineState::End(other)) => other.bug.is_some(),
            _ => false,
        };
        (!same).then(|| {
            let (controller, state) = (self.controllers[job.controller.index()].name(), coroutine.state());
            let next = shown_briefly(next, asks);
            format!(
                "controller `{controller}`, state `{state}`: `{next}` depends on the number of a resource version, a \
                 generation or a uid"
            )
        })
    }

    /// The points from the start to here, each with the answers that were given there.
    fn path_to<'a>(&'a self, mut before: Option<&'a Edge>) -> Vec<Edge> {
        let mut path = Vec::new();
        while let Some((node, answers)) = before {
            path.push((*node, answers.clone()));
            before = self.node(*node).before.as_ref();
        }
        path.reverse();
        path
    }

    /// The uid under which a reconcile has last seen an object, up to a point and its answers so far.
    pub(crate) fn last_seen_uid(
        &self,
        node: NodeId,
        key: &Key,
        asks: &Interner<Ask>,
        answers: &Interner<Answer>,
    ) -> Option<Arc<str>> {
        let mut before = self.node(node).before.as_ref();
        while let Some((node, answered)) = before {
            let NodeNext::Ask(asked) = &self.node(*node).next else { return None };
            for (ask, answer) in asked.iter().zip(answered.iter()).rev() {
                if let (Ask::Api { request, .. }, Answer::Api(response)) =
                    (&**asks.get(*ask), &**answers.get(*answer))
                    && let Some(seen) = uid_in(key, request, response)
                {
                    return seen;
                }
            }
            before = self.node(*node).before.as_ref();
        }
        None
    }

    fn not_deterministic(&self, job: &Job, state: &str, before: String, after: String) -> Bug {
        let controller = self.controllers[job.controller.index()].name().to_owned();
        Bug::NotDeterministic { controller, state: state.to_owned(), before, after }
    }
}

fn to_next(step: CoroutineState<Reconciled>, asks: &mut Interner<Ask>) -> NodeNext {
    match step {
        CoroutineState::Ask(wanted) => NodeNext::Ask(wanted.into_iter().map(|ask| asks.id(ask)).collect()),
        CoroutineState::End(ended) => match ended.bug {
            Some(bug) => NodeNext::Bug(Arc::new(bug)),
            None => NodeNext::End(Arc::new(ended)),
        },
        CoroutineState::Bug(bug) => NodeNext::Bug(Arc::new(bug)),
    }
}

fn shown_briefly(next: &NodeNext, asks: &Interner<Ask>) -> String {
    match next {
        NodeNext::Ask(wanted) => {
            wanted.iter().map(|ask| crate::show::ask(asks.get(*ask))).collect::<Vec<_>>().join(" and ")
        }
        _ => "how it ends".to_owned(),
    }
}

fn shown(next: &NodeNext, asks: &Interner<Ask>) -> String {
    match next {
        NodeNext::Ask(wanted) => {
            let all: Vec<String> =
                wanted.iter().map(|ask| crate::show::ask_in_full(asks.get(*ask))).collect();
            all.join(" and ")
        }
        NodeNext::End(ended) => format!("(the end: {:?}, after {})", ended.result, ended.path.join(", ")),
        NodeNext::Bug(bug) => format!("({bug})"),
    }
}

/// What an answer says about an object: its uid, or that it does not exist; `None` if it says nothing.
fn uid_in(key: &Key, request: &Request, response: &Response) -> Option<Option<Arc<str>>> {
    if request.resource.group != *key.group || request.resource.plural != *key.plural {
        return None;
    }
    let is_it = |found: &serde_json::Value| {
        object::name(found) == &*key.name && object::namespace(found) == &*key.namespace
    };
    match &response.body {
        Body::Object(found) if is_it(found) => Some(Some(object::uid(found).into())),
        Body::List(list) => {
            list.items.iter().find(|item| is_it(item)).map(|item| Some(object::uid(item).into()))
        }
        Body::Status(status) if status.code == 404 && request.name.as_deref() == Some(&*key.name) => {
            Some(None)
        }
        _ => None,
    }
}
