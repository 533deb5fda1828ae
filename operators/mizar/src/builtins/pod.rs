//! A pod is an endpoint of its network.

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use windlass::{
    Cx, Declaration, Error, Kind, Machine, Outcome, Select, States, Verb, done, done_and_requeue_after,
    watching,
};

use super::{DEFAULT_VPC, NETNS_ANNOTATION, SUBNET_ANNOTATION, VPC_ANNOTATION};
use crate::api::{Endpoint, EndpointSpec, EndpointType, Subnet};
use crate::mistake::Mistake;
use crate::names::pod_endpoint_name;
use crate::settings::MizarSettings;

/// Creates an endpoint for each pod that is on a node and has a network of its own.
pub struct PodEndpoints {
    settings: MizarSettings,
}

/// The steps of a reconcile.
#[derive(States)]
pub enum PodStep {
    /// The endpoint.
    #[state(initial)]
    Endpoint,
}

impl PodEndpoints {
    /// The machine.
    pub fn new(settings: &MizarSettings) -> Self {
        PodEndpoints { settings: settings.clone() }
    }
}

impl Machine for PodEndpoints {
    type Parent = Pod;
    type State = PodStep;

    fn declare(&self, declaration: &mut Declaration) {
        declaration
            .name("mizar-pod")
            .parents(watching::<Pod>().when(|before, after| before.map(wants) != after.map(wants)))
            .output::<Endpoint>()
            .watches::<Subnet>(|_| Vec::new())
            .may::<Subnet>([Verb::List]);
        if self.settings.has(Mistake::IndexesPodsByName) {
            declaration.output_anywhere::<Endpoint>();
        }
    }

    async fn run(&self, _: PodStep, cx: &Cx<Pod>) -> Outcome<PodStep> {
        let pod = cx.parent();
        let Some(droplet) = node_of(pod) else { return done() };
        let network = network_of(cx, &self.settings, &pod.metadata).await?;
        let Some((vpc, net)) = network else {
            return done_and_requeue_after(self.settings.retry_interval);
        };
        let spec = EndpointSpec {
            r#type: EndpointType::Simple,
            vpc,
            net,
            pod: Some(cx.name().to_owned()),
            droplet: Some(droplet),
            netns: annotation(&pod.metadata, NETNS_ANNOTATION).map(str::to_owned),
            ..EndpointSpec::default()
        };
        let mut endpoint = Endpoint::new(&pod_endpoint_name(cx.name()), spec);
        if self.settings.has(Mistake::IndexesPodsByName) {
            endpoint.metadata.namespace = Some(self.settings.namespace.clone());
        }
        cx.ensure(endpoint);
        done()
    }
}

/// What an endpoint depends on.
fn wants(pod: &Pod) -> (Option<String>, Option<String>, Option<String>, Option<String>) {
    let said = |name| annotation(&pod.metadata, name).map(str::to_owned);
    (node_of(pod), said(VPC_ANNOTATION), said(SUBNET_ANNOTATION), said(NETNS_ANNOTATION))
}

/// The node of a pod that is to have an endpoint.
fn node_of(pod: &Pod) -> Option<String> {
    let spec = pod.spec.as_ref()?;
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    let has_ended = matches!(phase, Some("Succeeded" | "Failed"));
    if spec.host_network == Some(true) || has_ended {
        return None;
    }
    spec.node_name.clone().filter(|node| !node.is_empty())
}

/// The VPC and network that annotations choose. A VPC alone means its first network; a network alone is one of the default
/// VPC. None if the VPC has no network yet.
pub(super) async fn network_of<P: Kind>(
    cx: &Cx<P>,
    settings: &MizarSettings,
    metadata: &ObjectMeta,
) -> Result<Option<(String, String)>, Error> {
    let vpc = annotation(metadata, VPC_ANNOTATION).unwrap_or(DEFAULT_VPC).to_owned();
    if let Some(net) = annotation(metadata, SUBNET_ANNOTATION) {
        return Ok(Some((vpc, net.to_owned())));
    }
    let of_vpc = Select::all().in_namespace(&settings.namespace).fields(&format!("spec.vpc={vpc}"));
    let subnets: Vec<Subnet> = cx.list_cached(of_vpc).await?;
    let live = subnets.into_iter().filter(|subnet| subnet.metadata.deletion_timestamp.is_none());
    let first =
        live.min_by_key(|subnet| (subnet.metadata.creation_timestamp.clone(), subnet.metadata.name.clone()));
    Ok(first.and_then(|subnet| Some((vpc, subnet.metadata.name?))))
}

fn annotation<'a>(metadata: &'a ObjectMeta, name: &str) -> Option<&'a str> {
    metadata.annotations.as_ref()?.get(name).map(String::as_str).filter(|value| !value.is_empty())
}
