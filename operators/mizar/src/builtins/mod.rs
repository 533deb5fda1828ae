//! What Kubernetes' own objects mean for virtual networks: a node is a droplet, a pod an endpoint, a service a scaled one.

mod defaults;
mod node;
mod pod;
mod service;
mod service_backends;

use windlass::Controller;

use crate::settings::MizarSettings;

pub use defaults::Defaults;
pub use node::NodeDroplets;
pub use pod::PodEndpoints;
pub use service::ServiceEndpoints;

/// The annotation of a pod or service that names its VPC. Without it: `vpc0`.
pub const VPC_ANNOTATION: &str = "mizar.com/vpc";
/// The annotation of a pod or service that names its subnet, in its VPC. Without it: the first subnet of the VPC.
pub const SUBNET_ANNOTATION: &str = "mizar.com/subnet";
/// The annotation of a pod that names its network namespace, if the container runtime says it so.
pub const NETNS_ANNOTATION: &str = "mizar.com/netns";

/// The VPC that there is without anybody asking for one.
pub const DEFAULT_VPC: &str = "vpc0";
/// The network that there is without anybody asking for one.
pub const DEFAULT_NETWORK: &str = "net0";

/// All machines of Kubernetes' own objects.
pub fn all(settings: &MizarSettings) -> Vec<Controller> {
    vec![
        Controller::new(Defaults::new(settings)),
        Controller::new(NodeDroplets::new(settings)),
        Controller::new(PodEndpoints::new(settings)),
        Controller::new(ServiceEndpoints::new(settings)),
    ]
}
