//! What a user writes: a machine, and how the framework holds one whatever its types are.

use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::Arc;

use crate::cx::Cx;
use crate::declaration::{Declaration, kebab_case};
use crate::kind::Kind;
use crate::outcome::Outcome;
use crate::permissions::Right;
use crate::reconcile::ReconcileState;
use crate::run::{Run, run_machine};
use crate::states::{StateInfo, States};

/// A controller as a finite state machine.
///
/// Every reconcile starts at the initial state; nothing is kept between reconciles but what the API holds.
/// So every path must be idempotent, and every state must be reachable from what can be observed.
pub trait Machine: Send + Sync + 'static {
    /// The kind of object that is reconciled.
    type Parent: Kind;
    /// The steps of a reconcile.
    type State: States;

    /// Says which kinds of outputs there are, and what else triggers a reconcile.
    fn declare(&self, declaration: &mut Declaration) {
        let _ = declaration;
    }

    /// Runs one state.
    fn run(
        &self,
        state: Self::State,
        cx: &Cx<Self::Parent>,
    ) -> impl Future<Output = Outcome<Self::State>> + Send;

    /// The machine that runs when the parent is deleted. While there is one, the parent carries a finalizer.
    fn finalizer(&self) -> Option<Finalizer<Self::Parent>> {
        None
    }
}

/// A machine that runs on deletion; the finalizer goes only once it is done.
pub struct Finalizer<P>(Arc<dyn ErasedMachine>, std::marker::PhantomData<fn(P)>);

impl<P: Kind> Finalizer<P> {
    /// A finalizer from a machine with the same parent. What the machine declares itself is ignored.
    pub fn new(machine: impl Machine<Parent = P>) -> Self {
        Finalizer(Arc::new(Erased(machine)), std::marker::PhantomData)
    }
}

/// A machine without its types.
pub(crate) trait ErasedMachine: Send + Sync {
    fn graph(&self) -> &'static [StateInfo];

    /// Runs the states from the initial one until they end.
    fn run_all<'a>(
        &'a self,
        reconcile: &'a mut ReconcileState,
        deleting: bool,
    ) -> Pin<Box<dyn Future<Output = Run> + Send + 'a>>;
}

struct Erased<M>(M);

impl<M: Machine> ErasedMachine for Erased<M> {
    fn graph(&self) -> &'static [StateInfo] {
        M::State::GRAPH
    }

    fn run_all<'a>(
        &'a self,
        reconcile: &'a mut ReconcileState,
        deleting: bool,
    ) -> Pin<Box<dyn Future<Output = Run> + Send + 'a>> {
        Box::pin(run_machine(&self.0, reconcile, deleting))
    }
}

/// A machine with everything that is known about it: what drivers, checker and command line work with.
#[derive(Clone)]
pub struct Controller {
    pub(crate) machine: Arc<dyn ErasedMachine>,
    pub(crate) finalizer: Option<Arc<dyn ErasedMachine>>,
    pub(crate) declaration: Arc<Declaration>,
    pub(crate) rights: Arc<BTreeSet<Right>>,
}

impl Controller {
    /// Takes a machine and asks it what it declares.
    ///
    /// # Panics
    /// If the controller's name is no DNS label: it becomes part of labels, field manager and finalizer. If a selector
    /// that is declared cannot be read.
    pub fn new<M: Machine>(machine: M) -> Self {
        let name = kebab_case(std::any::type_name::<M>());
        let mut declaration = Declaration::new(name, M::Parent::kind_info());
        machine.declare(&mut declaration);
        declaration.check();
        let finalizer = machine.finalizer().map(|finalizer| finalizer.0);
        let (machine, rights) = (Arc::new(Erased(machine)), Arc::default());
        let mut controller = Controller { machine, finalizer, declaration: Arc::new(declaration), rights };
        controller.rights = Arc::new(controller.all_rights());
        controller
    }

    /// The controller's name.
    pub fn name(&self) -> &str {
        self.declaration.controller()
    }

    /// What the machine declares.
    pub fn declaration(&self) -> &Declaration {
        &self.declaration
    }

    /// The states of a reconcile.
    pub fn graph(&self) -> &'static [StateInfo] {
        self.machine.graph()
    }

    /// The types of all conditions that the machine and its finalizer may write.
    pub(crate) fn condition_kinds(&self) -> Vec<&'static str> {
        let finalizer = self.finalizer_graph().unwrap_or(&[]);
        let states = self.graph().iter().chain(finalizer);
        states.filter_map(|state| state.condition).map(|condition| condition.kind).collect()
    }

    /// The states of the finalizer machine, if there is one.
    pub fn finalizer_graph(&self) -> Option<&'static [StateInfo]> {
        self.finalizer.as_ref().map(|machine| machine.graph())
    }
}
