//! Which operator may move which object from one phase to the next: no other does, in the checker and on a cluster.

use crate::api::Phase;

/// A move of an object from one phase to another, and who may make it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhaseTransition {
    /// The plural of the kind.
    pub kind: &'static str,
    /// The phase before.
    pub from: Phase,
    /// The phase after.
    pub to: Phase,
    /// The controllers that may make it.
    pub controllers: &'static [&'static str],
}

impl PhaseTransition {
    const fn new(kind: &'static str, from: Phase, to: Phase, controllers: &'static [&'static str]) -> Self {
        PhaseTransition { kind, from, to, controllers }
    }
}

use Phase::{Init, Provisioned};

/// All moves that there are.
pub const TRANSITIONS: &[PhaseTransition] = &[
    PhaseTransition::new("vpcs", Init, Provisioned, &["mizar-vpc"]),
    PhaseTransition::new("subnets", Init, Provisioned, &["mizar-network"]),
    // The bouncer operator, once all bouncers know the divider.
    PhaseTransition::new("dividers", Init, Provisioned, &["mizar-divider-bouncers"]),
    // The droplet operator, when it places it elsewhere.
    PhaseTransition::new("dividers", Provisioned, Init, &["mizar-divider-placement"]),
    // The divider operator, once all dividers know the bouncer.
    PhaseTransition::new("bouncers", Init, Provisioned, &["mizar-bouncer-dividers"]),
    PhaseTransition::new("bouncers", Provisioned, Init, &["mizar-bouncer-placement"]),
    PhaseTransition::new("droplets", Init, Provisioned, &["mizar-droplet"]),
    PhaseTransition::new("droplets", Provisioned, Init, &["mizar-droplet"]),
    // The bouncer operator, once all bouncers and the droplet know the endpoint.
    PhaseTransition::new("endpoints", Init, Provisioned, &["mizar-endpoint-bouncers"]),
];

impl PhaseTransition {
    /// Whether a controller may move an object of a kind from one phase to another.
    pub fn allows(kind: &str, from: Phase, to: Phase, controller: &str) -> bool {
        let is_it = |one: &&PhaseTransition| one.kind == kind && one.from == from && one.to == to;
        TRANSITIONS.iter().filter(is_it).any(|one| one.controllers.contains(&controller))
    }
}
