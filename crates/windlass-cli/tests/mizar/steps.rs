//! The numbered steps of each workflow of Mizar's documents, and what is seen of each from outside. Steps that are about the
//! memory of an operator ("updates its state store") leave no trace and are not here.

/// One numbered step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    /// Its number in the document.
    pub(crate) number: u32,
    pub(crate) sees: Sees,
    /// The number of the step that it comes after; of the one before in the table if there is none.
    pub(crate) after: Option<u32>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Sees {
    /// Something happens to an object: a condition becomes True, a phase is reached, or one of `created`, `changed`,
    /// `deleting` and `gone`.
    Object(&'static str, &'static str),
    /// The daemon of the droplet that an object is on is called.
    Call(&'static str, &'static str),
}

const fn object(number: u32, object: &'static str, what: &'static str) -> Step {
    Step { number, sees: Sees::Object(object, what), after: None }
}

const fn call(number: u32, at: &'static str, call: &'static str) -> Step {
    Step { number, sees: Sees::Call(at, call), after: None }
}

impl Step {
    const fn after(self, number: u32) -> Self {
        Step { after: Some(number), ..self }
    }
}

pub(crate) const CREATE_VPC: &[Step] = &[
    object(1, "Vpc/w", "created"),
    object(2, "Divider/w-d-1", "created"),
    object(4, "Divider/w-d-1", "Placed"),
    object(6, "Divider/w-d-1", "BouncersUpdated"),
    object(7, "Divider/w-d-1", "DividerUpdated"),
    object(8, "Divider/w-d-1", "Provisioned"),
    object(9, "Divider/w-d-1", "Observed"),
    object(11, "Vpc/w", "DividersReady").after(8),
    object(12, "Vpc/w", "Provisioned"),
];

pub(crate) const CREATE_NETWORK: &[Step] = &[
    object(1, "Subnet/n", "created"),
    object(2, "Bouncer/n-b-1", "created"),
    object(4, "Bouncer/n-b-1", "Placed"),
    object(6, "Bouncer/n-b-1", "EndpointReady"),
    call(8, "Bouncer/n-b-1", "UpdateVpc"),
    call(9, "Divider/w-d-1", "UpdateNet"),
    object(10, "Bouncer/n-b-1", "Provisioned"),
    object(11, "Bouncer/n-b-1", "Observed"),
    object(14, "Bouncer/n-b-1", "EndpointsUpdated").after(10),
    object(15, "Subnet/n", "BouncersReady").after(10),
    object(16, "Subnet/n", "Provisioned"),
];

pub(crate) const CREATE_ENDPOINT: &[Step] = &[
    object(1, "Endpoint/p-a", "created"),
    object(2, "Endpoint/p-a", "Allocated"),
    call(4, "Bouncer/n-b-1", "UpdateEp"),
    object(4, "Endpoint/p-a", "BouncerReady"),
    call(5, "Endpoint/p-a", "UpdateAgentEp"),
    object(5, "Endpoint/p-a", "EndpointReady"),
    call(7, "Endpoint/p-a", "UpdateInterface"),
    object(7, "Endpoint/p-a", "InterfaceReady"),
    object(8, "Endpoint/p-a", "Provisioned"),
    object(9, "Endpoint/p-a", "Observed"),
];

pub(crate) const CREATE_SCALED_ENDPOINT: &[Step] = &[
    object(1, "Endpoint/s-s", "created"),
    object(2, "Endpoint/s-s", "Allocated"),
    call(3, "Bouncer/n-b-1", "UpdateEp"),
    object(3, "Endpoint/s-s", "Provisioned"),
];

pub(crate) const UPDATE_SCALED_ENDPOINT: &[Step] = &[
    object(1, "Endpoint/s-s", "changed"),
    call(4, "Bouncer/n-b-1", "UpdateEp"),
    call(4, "Bouncer/n-b-1", "UpdatePort"),
    object(5, "Endpoint/s-s", "BouncerReady again"),
];

pub(crate) const CREATE_DIVIDER: &[Step] = &[
    object(1, "Divider/w-d-2", "created"),
    object(3, "Divider/w-d-2", "Placed"),
    call(5, "Bouncer/n-b-1", "UpdateVpc"),
    object(5, "Divider/w-d-2", "BouncersUpdated"),
    call(6, "Divider/w-d-2", "UpdateNet"),
    object(6, "Divider/w-d-2", "DividerUpdated"),
    object(7, "Divider/w-d-2", "Provisioned"),
    object(8, "Divider/w-d-2", "Observed"),
];

pub(crate) const CREATE_BOUNCER: &[Step] = &[
    object(1, "Bouncer/n-b-2", "created"),
    object(3, "Bouncer/n-b-2", "Placed"),
    call(5, "Bouncer/n-b-2", "UpdateEp"),
    object(6, "Bouncer/n-b-2", "EndpointReady"),
    call(7, "Bouncer/n-b-2", "UpdateVpc"),
    call(8, "Divider/w-d-1", "UpdateNet"),
    object(9, "Bouncer/n-b-2", "Provisioned"),
    object(10, "Bouncer/n-b-2", "Observed"),
    call(13, "Endpoint/p-a", "UpdateAgentEp").after(9),
    object(13, "Bouncer/n-b-2", "EndpointsUpdated"),
];

pub(crate) const CREATE_DROPLET: &[Step] = &[
    object(1, "Droplet/node1", "created"),
    object(2, "Droplet/node1", "DaemonReachable"),
    object(4, "Droplet/node1", "Provisioned"),
];

pub(crate) const DELETE_SCALED_ENDPOINT: &[Step] = &[
    object(1, "Endpoint/s-s", "deleting"),
    call(4, "Bouncer/n-b-1", "DeleteEp"),
    call(5, "Bouncer/n-b-1", "DeletePort").after(1),
    object(7, "Endpoint/s-s", "gone"),
];

pub(crate) const DELETE_ENDPOINT: &[Step] = &[
    object(3, "Endpoint/p-b", "deleting"),
    call(6, "Bouncer/n-b-1", "DeleteEp"),
    call(7, "Endpoint/p-b", "DeleteAgentEp"),
    object(9, "Endpoint/p-b", "gone"),
];

pub(crate) const DELETE_BOUNCER: &[Step] = &[
    object(1, "Bouncer/n-b-2", "deleting"),
    call(3, "Endpoint/p-a", "DeleteAgentEp"),
    call(4, "Bouncer/n-b-2", "DeleteEp"),
    call(6, "Divider/w-d-1", "UpdateNet"),
    call(7, "Bouncer/n-b-2", "DeleteVpc"),
    object(9, "Bouncer/n-b-2", "gone"),
];

pub(crate) const DELETE_DIVIDER: &[Step] = &[
    object(1, "Divider/w-d-2", "deleting"),
    call(3, "Divider/w-d-2", "DeleteNet"),
    call(4, "Bouncer/n-b-1", "UpdateVpc"),
    object(6, "Divider/w-d-2", "gone"),
];

/// Of dividers and bouncers, here the bouncer forgets last, as the document on the deletion of bouncers has it.
pub(crate) const DELETE_NETWORK: &[Step] = &[
    object(1, "Subnet/n", "deleting"),
    object(2, "Endpoint/p-a", "gone"),
    object(3, "Bouncer/n-b-1", "deleting"),
    call(5, "Divider/w-d-1", "DeleteNet"),
    call(4, "Bouncer/n-b-1", "DeleteVpc"),
    object(7, "Bouncer/n-b-1", "gone"),
    object(10, "Subnet/n", "gone"),
];

pub(crate) const DELETE_VPC: &[Step] = &[
    object(1, "Vpc/w", "deleting"),
    object(2, "Subnet/n", "gone"),
    object(4, "Divider/w-d-1", "deleting"),
    object(6, "Divider/w-d-1", "gone"),
    object(7, "Vpc/w", "gone"),
];

/// A droplet is lost: what was on it is placed elsewhere, and then it may go.
pub(crate) const DELETE_DROPLET: &[Step] = &[
    object(1, "Bouncer/n-b-1", "Init"),
    call(2, "Bouncer/n-b-1", "UpdateVpc"),
    object(3, "Bouncer/n-b-1", "Provisioned"),
    call(4, "Endpoint/p-a", "UpdateAgentEp"),
];
