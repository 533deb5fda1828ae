//! The operators: one machine per operator and kind of object, one finalizer machine per workflow of deletion.
//!
//! Each object has an operator of its own, its home: it sets the finalizer before anybody else does anything, and it is Ready
//! only when the object is Provisioned. The others do one part each, and say so in conditions, which are what the next one
//! waits for.

mod allocation;
mod bouncer;
mod bouncer_deletion;
mod bouncer_dividers;
mod bouncer_endpoints;
mod divider;
mod divider_bouncers;
mod divider_deletion;
mod droplet;
mod droplet_deletion;
mod endpoint_address;
mod endpoint_bouncers;
mod endpoint_deletion;
mod endpoint_host;
mod network;
mod network_deletion;
mod parts;
mod placement;
mod program;
mod transitions;
mod triggers;
mod view;
mod vpc;
mod vpc_deletion;

use windlass::Controller;

use crate::api::{Bouncer, Divider};
use crate::settings::MizarSettings;

pub use allocation::AllocationOperator;
pub use bouncer::BouncerOperator;
pub use bouncer_dividers::BouncerDividers;
pub use bouncer_endpoints::BouncerEndpoints;
pub use divider::DividerOperator;
pub use divider_bouncers::DividerBouncers;
pub use droplet::DropletOperator;
pub use endpoint_address::{EndpointAddresses, Takes};
pub use endpoint_bouncers::EndpointBouncers;
pub use endpoint_host::EndpointHost;
pub use network::NetworkOperator;
pub use placement::{Placeable, Placement};
pub use transitions::{PhaseTransition, TRANSITIONS};
pub use vpc::VpcOperator;

/// All operators of mizar's own objects.
pub fn all(settings: &MizarSettings) -> Vec<Controller> {
    vec![
        Controller::new(VpcOperator::new(settings)),
        Controller::new(NetworkOperator::new(settings)),
        Controller::new(Placement::<Divider>::new(settings)),
        Controller::new(DividerBouncers::new(settings)),
        Controller::new(DividerOperator::new(settings)),
        Controller::new(Placement::<Bouncer>::new(settings)),
        Controller::new(BouncerEndpoints::new(settings)),
        Controller::new(BouncerDividers::new(settings)),
        Controller::new(BouncerOperator::new(settings)),
        Controller::new(DropletOperator::new(settings)),
        Controller::new(EndpointAddresses::new(settings, Takes::Simple)),
        Controller::new(EndpointAddresses::new(settings, Takes::Scaled)),
        Controller::new(EndpointBouncers::new(settings)),
        Controller::new(EndpointHost::new(settings)),
        Controller::new(AllocationOperator::new(settings)),
    ]
}
