//! All workflows, with their steps in order: each step ends with a condition of the object.

/// A workflow: what operators do with an object, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Workflow {
    /// `create VPC`
    pub name: &'static str,
    /// The kind of the object.
    pub kind: &'static str,
    /// Whether it ends with the object.
    pub deletes: bool,
    /// Its steps.
    pub steps: &'static [WorkflowStep],
}

/// A step of a workflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkflowStep {
    /// The condition that is True when it is done.
    pub condition: &'static str,
    /// Who does it.
    pub operator: &'static str,
    /// What is done.
    pub about: &'static str,
}

const fn step(condition: &'static str, operator: &'static str, about: &'static str) -> WorkflowStep {
    WorkflowStep { condition, operator, about }
}

/// All workflows.
pub const WORKFLOWS: &[Workflow] = &[
    Workflow {
        name: "create VPC",
        kind: "Vpc",
        deletes: false,
        steps: &[
            step("VniAllocated", "vpc", "a VNI"),
            step("DividersReady", "vpc", "its dividers, each Provisioned"),
        ],
    },
    Workflow {
        name: "create network",
        kind: "Subnet",
        deletes: false,
        steps: &[
            step("RangeValid", "network", "a range within its VPC"),
            step("BouncersReady", "network", "its bouncers, each Provisioned"),
        ],
    },
    Workflow {
        name: "create divider",
        kind: "Divider",
        deletes: false,
        steps: &[
            step("Placed", "droplet", "a droplet"),
            step("BouncersUpdated", "bouncer", "all bouncers of the VPC to know it"),
            step("DividerUpdated", "bouncer", "it to know all bouncers of the VPC"),
            step("Observed", "divider", "its phase to be Provisioned"),
        ],
    },
    Workflow {
        name: "create bouncer",
        kind: "Bouncer",
        deletes: false,
        steps: &[
            step("Placed", "droplet", "a droplet"),
            step("EndpointReady", "endpoint", "it to know all endpoints of its network"),
            step("DividersKnown", "divider", "it to know all dividers of the VPC"),
            step("DividerReady", "divider", "all dividers of the VPC to know it"),
            step("Observed", "bouncer", "its phase to be Provisioned"),
            step("EndpointsUpdated", "endpoint", "all endpoints of its network to know it"),
        ],
    },
    Workflow {
        name: "create droplet",
        kind: "Droplet",
        deletes: false,
        steps: &[
            step("DaemonReachable", "droplet", "its daemon to answer"),
            step("TablesProgrammed", "droplet", "its daemon to have all tables"),
        ],
    },
    Workflow {
        name: "create endpoint",
        kind: "Endpoint",
        deletes: false,
        steps: &[
            step("Allocated", "network", "an address"),
            step("BouncerReady", "bouncer", "all bouncers of its network to know it"),
            step("EndpointReady", "endpoint", "its droplet to know it, and all bouncers"),
            step("InterfaceReady", "bouncer", "its interface on its droplet"),
            step("Observed", "network", "its phase to be Provisioned"),
        ],
    },
    Workflow {
        name: "create scaled endpoint",
        kind: "Endpoint",
        deletes: false,
        steps: &[
            step("Allocated", "endpoint", "an address"),
            step("BouncerReady", "bouncer", "all bouncers of its network to know it"),
            step("Observed", "endpoint", "its phase to be Provisioned"),
        ],
    },
    Workflow {
        name: "update scaled endpoint",
        kind: "Endpoint",
        deletes: false,
        steps: &[step("BouncerReady", "bouncer", "all bouncers of its network to know its backends")],
    },
    Workflow {
        name: "delete VPC",
        kind: "Vpc",
        deletes: true,
        steps: &[
            step("NetworksGone", "vpc", "its networks to be gone"),
            step("DividersGone", "divider", "its dividers to be gone"),
        ],
    },
    Workflow {
        name: "delete network",
        kind: "Subnet",
        deletes: true,
        steps: &[
            step("EndpointsGone", "network", "its endpoints to be gone"),
            step("BouncersGone", "bouncer", "its bouncers to be gone"),
        ],
    },
    Workflow {
        name: "delete divider",
        kind: "Divider",
        deletes: true,
        steps: &[
            step("DividerCleared", "bouncer", "it to know no bouncer"),
            step("BouncersCleared", "bouncer", "no bouncer to know it"),
        ],
    },
    Workflow {
        name: "delete bouncer",
        kind: "Bouncer",
        deletes: true,
        steps: &[
            step("EndpointsCleared", "endpoint", "no endpoint to know it"),
            step("EndpointsForgotten", "endpoint", "it to know no endpoint"),
            step("DividersCleared", "divider", "no divider to know it"),
            step("DividersForgotten", "divider", "it to know no divider"),
        ],
    },
    Workflow {
        name: "delete droplet",
        kind: "Droplet",
        deletes: true,
        steps: &[step("Evacuated", "droplet", "what is on it to be placed elsewhere")],
    },
    Workflow {
        name: "delete endpoint",
        kind: "Endpoint",
        deletes: true,
        steps: &[
            step("Deallocated", "network", "its address to be given back"),
            step("BouncersCleared", "bouncer", "no bouncer to know it"),
            step("EndpointCleared", "bouncer", "its droplet not to know it"),
        ],
    },
    Workflow {
        name: "delete scaled endpoint",
        kind: "Endpoint",
        deletes: true,
        steps: &[
            step("Deallocated", "endpoint", "its address to be given back"),
            step("BouncersCleared", "bouncer", "no bouncer to know it"),
        ],
    },
];
