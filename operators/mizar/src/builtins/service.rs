//! A service is a scaled endpoint; its endpoint slices say what is behind it.

use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use windlass::{
    Cx, Declaration, Machine, ObjectRef, Outcome, Select, States, done, done_and_requeue_after, watching,
};

use super::pod::network_of;
use super::service_backends::{backend, members_of, ports_of};
use crate::api::{Endpoint, EndpointSpec, EndpointType, Subnet};
use crate::mistake::Mistake;
use crate::names::{pod_endpoint_name, service_endpoint_name};
use crate::settings::MizarSettings;

/// The label of a slice that names its service.
const SERVICE_LABEL: &str = "kubernetes.io/service-name";

/// Creates a scaled endpoint for each service that has an address, and keeps its backends up to date.
pub struct ServiceEndpoints {
    settings: MizarSettings,
}

/// The steps of a reconcile.
#[derive(States)]
pub enum ServiceStep {
    /// The scaled endpoint, with its backends.
    #[state(initial)]
    ScaledEndpoint,
}

impl ServiceEndpoints {
    /// The machine.
    pub fn new(settings: &MizarSettings) -> Self {
        ServiceEndpoints { settings: settings.clone() }
    }
}

impl Machine for ServiceEndpoints {
    type Parent = Service;
    type State = ServiceStep;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.name("mizar-service").output::<Endpoint>().watches::<Subnet>(|_| Vec::new()).watch(
            watching::<EndpointSlice>().labels(SERVICE_LABEL),
            |slice| {
                let metadata = &slice.metadata;
                let service = metadata.labels.as_ref().and_then(|labels| labels.get(SERVICE_LABEL));
                let namespace = metadata.namespace.as_deref().unwrap_or_default();
                service.iter().map(|service| ObjectRef::new(namespace, service)).collect()
            },
        );
    }

    async fn run(&self, _: ServiceStep, cx: &Cx<Service>) -> Outcome<ServiceStep> {
        let Some(spec) = cx.parent().spec.as_ref().filter(|spec| has_address(spec)) else { return done() };
        let Some((vpc, net)) = network_of(cx, &self.settings, &cx.parent().metadata).await? else {
            return done_and_requeue_after(self.settings.retry_interval);
        };
        let mut ports = spec.ports.clone().unwrap_or_default();
        let of_service = Select::all().labels(&format!("{SERVICE_LABEL}={}", cx.name()));
        let mut slices: Vec<EndpointSlice> = cx.list_cached(of_service).await?;
        if self.settings.has(Mistake::IgnoresPortNames) {
            ports.iter_mut().for_each(|port| port.name = None);
            let of_slices = slices.iter_mut().flat_map(|slice| slice.ports.iter_mut().flatten());
            of_slices.for_each(|port| port.name = None);
        }
        let (mut backends, mut some_unknown) = (Vec::new(), false);
        for (member, targets) in members_of(&ports, &slices) {
            let endpoint = match &member.pod {
                Some(pod) => cx.cached::<Endpoint>(&pod_endpoint_name(pod)).await?,
                None => None,
            };
            match endpoint.map(|endpoint| endpoint.state().address.ip) {
                Some(Some(ip)) => backends.push(backend(ip, targets)),
                // Its address comes later; until then nothing can reach it.
                Some(None) => some_unknown = true,
                // What is no endpoint of ours is reached by the address that the slice has.
                None => backends.push(backend(member.address, targets)),
            }
        }
        backends.sort();
        let endpoint = EndpointSpec {
            r#type: EndpointType::Scaled,
            vpc,
            net,
            ports: ports_of(&ports),
            backends,
            ..EndpointSpec::default()
        };
        cx.ensure(Endpoint::new(&service_endpoint_name(cx.name()), endpoint));
        if some_unknown { done_and_requeue_after(self.settings.retry_interval) } else { done() }
    }
}

/// A headless service has no address, and one that is a name outside has no packets.
fn has_address(spec: &k8s_openapi::api::core::v1::ServiceSpec) -> bool {
    spec.cluster_ip.as_deref() != Some("None") && spec.type_.as_deref() != Some("ExternalName")
}
