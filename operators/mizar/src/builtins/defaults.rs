//! The default VPC and its network, in a namespace that has been there from the start.

use k8s_openapi::api::core::v1::Namespace;
use windlass::{Cx, Declaration, Machine, Outcome, Output, States, done, watching};

use super::{DEFAULT_NETWORK, DEFAULT_VPC};
use crate::api::{Count, Prefix, Subnet, SubnetSpec, Vpc, VpcSpec};
use crate::settings::MizarSettings;

/// Creates `vpc0` and `net0` when they do not exist. What somebody else has created, or has changed, stays as it is.
pub struct Defaults {
    settings: MizarSettings,
}

/// The steps of a reconcile.
#[derive(States)]
pub enum DefaultsStep {
    /// The VPC.
    #[state(initial, next(DefaultNetwork))]
    DefaultVpc,
    /// Its network.
    DefaultNetwork,
}

impl Defaults {
    /// The machine.
    pub fn new(settings: &MizarSettings) -> Self {
        Defaults { settings: settings.clone() }
    }
}

impl Machine for Defaults {
    type Parent = Namespace;
    type State = DefaultsStep;

    fn declare(&self, declaration: &mut Declaration) {
        declaration
            .name("mizar-defaults")
            .parents(watching::<Namespace>().fields(&format!("metadata.name={}", self.settings.namespace)))
            .output::<Vpc>()
            .output::<Subnet>();
    }

    async fn run(&self, step: DefaultsStep, cx: &Cx<Namespace>) -> Outcome<DefaultsStep> {
        const IP: &str = "10.20.0.0";
        let namespace = Some(cx.name().to_owned());
        match step {
            DefaultsStep::DefaultVpc => {
                let spec = VpcSpec {
                    ip: IP.to_owned(),
                    prefix: Prefix(16),
                    dividers: Count(1),
                    vni: None,
                    status: None,
                };
                let mut vpc = Vpc::new(DEFAULT_VPC, spec);
                vpc.metadata.namespace = namespace;
                if cx.cached_in::<Vpc>(cx.name(), DEFAULT_VPC).await?.is_none_or(|vpc| is_ours(&vpc.metadata))
                {
                    cx.ensure(Output::from(vpc).only_if_absent());
                }
                windlass::to(DefaultsStep::DefaultNetwork)
            }
            DefaultsStep::DefaultNetwork => {
                let spec = SubnetSpec {
                    ip: IP.to_owned(),
                    prefix: Prefix(16),
                    vpc: DEFAULT_VPC.to_owned(),
                    bouncers: Count(1),
                    exclude_ips: Vec::new(),
                    vni: None,
                    status: None,
                };
                let mut subnet = Subnet::new(DEFAULT_NETWORK, spec);
                subnet.metadata.namespace = namespace;
                let known = cx.cached_in::<Subnet>(cx.name(), DEFAULT_NETWORK).await?;
                if known.is_none_or(|subnet| is_ours(&subnet.metadata)) {
                    cx.ensure(Output::from(subnet).only_if_absent());
                }
                done()
            }
        }
    }
}

fn is_ours(metadata: &k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta) -> bool {
    metadata.owner_references.iter().flatten().any(|owner| owner.kind == "Namespace")
}
