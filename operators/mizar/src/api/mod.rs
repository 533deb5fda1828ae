//! The custom resources of mizar: what users write, and what the operators keep in the status of each object.
//!
//! Manifests that were written for Mizar apply unmodified: numbers may be strings (`prefix: "16"`), and `status` in a spec is
//! accepted and ignored.

mod allocation;
mod bouncer;
mod divider;
mod droplet;
mod endpoint;
mod number;
mod phase;
mod subnet;
mod vpc;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;

pub use allocation::{Allocation, AllocationSpec, Holder};
pub use bouncer::{Bouncer, BouncerSpec, BouncerState, BouncerStatus};
pub use divider::{Divider, DividerSpec, DividerState, DividerStatus};
pub use droplet::{ADDRESS_ANNOTATION, Droplet, DropletSpec, DropletState, DropletStatus};
pub use endpoint::{
    Backend, Endpoint, EndpointAddress, EndpointSpec, EndpointState, EndpointStatus, EndpointType, Port,
    Protocol, Target,
};
pub use number::{Count, Prefix, Vni};
pub use phase::Phase;
pub use subnet::{Subnet, SubnetSpec, SubnetState, SubnetStatus};
pub use vpc::{Vpc, VpcSpec, VpcState, VpcStatus};

/// The definitions of all kinds, in the order in which they refer to each other.
pub fn definitions() -> Vec<CustomResourceDefinition> {
    vec![
        Droplet::crd(),
        Vpc::crd(),
        Subnet::crd(),
        Divider::crd(),
        Bouncer::crd(),
        Endpoint::crd(),
        Allocation::crd(),
    ]
}
