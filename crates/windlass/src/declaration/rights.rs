//! What a machine does beyond what follows from its parents, outputs and watches.

use std::collections::BTreeSet;

use crate::kind::Kind;
use crate::permissions::{Right, Verb};

use super::Declaration;

impl Declaration {
    /// The machine does this to objects of a kind, beyond what follows from the rest of its declaration.
    ///
    /// A controller may read, without saying so, its parents, its outputs and what it watches; write the status of its
    /// parents; and create, patch and delete its outputs. Everything else that a state asks for must be declared: a get
    /// of a Secret, an update of a parent. The generated roles contain just what is declared, the preflight asks for it,
    /// and the checker and [`Local`](crate::local::Local) refuse a request that is not covered.
    ///
    /// ```
    /// use k8s_openapi::api::apps::v1::Deployment;
    /// use k8s_openapi::api::core::v1::{ConfigMap, Secret};
    /// use windlass::{Declaration, Verb};
    ///
    /// fn declare(declaration: &mut Declaration) {
    ///     declaration
    ///         .output::<Deployment>()
    ///         // cx.get::<Secret>(..) and cx.list::<Secret>(..), in all namespaces in which the process works.
    ///         .may::<Secret>([Verb::Get, Verb::List])
    ///         // cx.get_in::<ConfigMap>("kube-system", ..), and of no other namespace.
    ///         .may_in::<ConfigMap>("kube-system", [Verb::Get])
    ///         // A request to deployments/scale.
    ///         .may_on::<Deployment>("scale", [Verb::Update]);
    /// }
    /// ```
    pub fn may<K: Kind>(&mut self, verbs: impl IntoIterator<Item = Verb>) -> &mut Self {
        self.add_rights::<K>(verbs, "", None)
    }

    /// The same for a subresource: `may_on::<Deployment>("scale", [Verb::Update])`.
    pub fn may_on<K: Kind>(&mut self, subresource: &str, verbs: impl IntoIterator<Item = Verb>) -> &mut Self {
        self.add_rights::<K>(verbs, subresource, None)
    }

    /// The same in one namespace only, wherever else the process works.
    pub fn may_in<K: Kind>(&mut self, namespace: &str, verbs: impl IntoIterator<Item = Verb>) -> &mut Self {
        if !K::kind_info().namespaced {
            let kind = K::kind_info().qualified();
            self.errors.push(format!("may_in({namespace:?}, ..) is about {kind}, which has no namespaces"));
        }
        self.add_rights::<K>(verbs, "", Some(namespace))
    }

    /// What was declared with [`Declaration::may`] and its kin. All that a controller may do is
    /// [`Controller::rights`](crate::Controller::rights).
    pub fn declared_rights(&self) -> &BTreeSet<Right> {
        &self.rights
    }

    fn add_rights<K: Kind>(
        &mut self,
        verbs: impl IntoIterator<Item = Verb>,
        subresource: &str,
        namespace: Option<&str>,
    ) -> &mut Self {
        self.rights.extend(verbs.into_iter().map(|verb| Right {
            kind: K::kind_info(),
            subresource: subresource.to_owned(),
            namespace: namespace.map(str::to_owned),
            verb,
        }));
        self
    }
}
