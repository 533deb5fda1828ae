//! What rules on steps see: the state before and after, who acted, and with which request.

use std::fmt;

use windlass::Ask;
use windlass_model::Request;

use crate::view::View;

/// A step as rules on steps see it: the abstract state before and after, who acted, and the request that had the effect.
pub struct Between<'a> {
    /// Before the step.
    pub before: View<'a>,
    /// After it.
    pub after: View<'a>,
    pub(crate) actor: Actor<'a>,
    pub(crate) request: Option<&'a Ask>,
}

/// Who acts in a step. A request that arrives late, or a second time, is an act of the process that sent it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Actor<'a> {
    /// A client: which of the check's scripts, in the order of [`Check::client`](crate::Check::client), from 0.
    Client {
        /// The number of the script.
        script: usize,
    },
    /// A controller that is checked.
    Controller {
        /// Its name.
        name: &'a str,
        /// Which of its processes, from 0: see [`Check::replicas`](crate::Check::replicas).
        process: usize,
    },
    /// One of the cluster's own controllers, by the name that traces have for it: `garbage collector`, `kubelet`.
    Cluster {
        /// Its name.
        name: &'a str,
    },
}

impl Actor<'_> {
    /// Whether it is a client.
    #[must_use]
    pub fn is_client(&self) -> bool {
        matches!(self, Actor::Client { .. })
    }

    /// Whether it is the controller of this name, in whichever process.
    #[must_use]
    pub fn is_controller(&self, wanted: &str) -> bool {
        matches!(self, Actor::Controller { name, .. } if *name == wanted)
    }
}

/// `client 1`, `two-configmaps`, `two-configmaps#2`, `garbage collector`
impl fmt::Display for Actor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Actor::Client { script } => write!(f, "client {}", script + 1),
            Actor::Controller { name, process: 0 } | Actor::Cluster { name } => f.write_str(name),
            Actor::Controller { name, process } => write!(f, "{name}#{}", process + 1),
        }
    }
}

impl<'a> Between<'a> {
    /// Who acted.
    ///
    /// ```
    /// # use k8s_openapi::api::core::v1::PersistentVolumeClaim;
    /// # use windlass_check::Check;
    /// # fn of(check: Check) -> Check {
    /// check.never_between("somebody else deletes a claim", |step| {
    ///     let claims = |world: &windlass_check::View<'_>| world.all::<PersistentVolumeClaim>().len();
    ///     claims(&step.after) < claims(&step.before) && !step.actor().is_controller("grow-broker")
    /// })
    /// # }
    /// ```
    #[must_use]
    pub fn actor(&self) -> Actor<'a> {
        self.actor
    }

    /// The API request or the service call that changed an object or a service in this step; `None` if only a clock
    /// went on.
    #[must_use]
    pub fn request(&self) -> Option<&'a Ask> {
        self.request
    }

    /// The API request that changed an object in this step.
    ///
    /// ```
    /// # use windlass_check::Check;
    /// # use windlass::model::Verb;
    /// # fn of(check: Check) -> Check {
    /// check.never_between("a controller replaces a whole object", |step| {
    ///     step.api_request().is_some_and(|request| request.verb == Verb::Update && !step.actor().is_client())
    /// })
    /// # }
    /// ```
    #[must_use]
    pub fn api_request(&self) -> Option<&'a Request> {
        match self.request {
            Some(Ask::Api { request, .. }) => Some(request),
            _ => None,
        }
    }
}
