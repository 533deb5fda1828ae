//! A node with a daemon is a droplet.

use k8s_openapi::api::core::v1::Node;
use windlass::{Cx, Declaration, Machine, Outcome, States, changed, done, done_and_requeue_after, watching};

use crate::api::{ADDRESS_ANNOTATION, Droplet, DropletSpec};
use crate::droplets::{Daemon, DropletAnswer, DropletRequest, Droplets};
use crate::settings::MizarSettings;

/// Creates a droplet for each node, with what its daemon says about itself.
pub struct NodeDroplets {
    settings: MizarSettings,
}

/// The steps of a reconcile.
#[derive(States)]
pub enum NodeStep {
    /// The daemon says who it is.
    #[state(initial)]
    DaemonInfo,
}

impl NodeDroplets {
    /// The machine.
    pub fn new(settings: &MizarSettings) -> Self {
        NodeDroplets { settings: settings.clone() }
    }
}

impl Machine for NodeDroplets {
    type Parent = Node;
    type State = NodeStep;

    fn declare(&self, declaration: &mut Declaration) {
        declaration
            .name("mizar-node")
            .parents(watching::<Node>().when(|before, after| {
                changed::generation_or_metadata(before, after)
                    || before.and_then(internal_ip) != after.and_then(internal_ip)
            }))
            .output::<Droplet>();
    }

    async fn run(&self, _: NodeStep, cx: &Cx<Node>) -> Outcome<NodeStep> {
        let node = cx.parent();
        let namespace = &self.settings.namespace;
        let annotation = node.metadata.annotations.as_ref().and_then(|all| all.get(ADDRESS_ANNOTATION));
        let address = annotation.cloned().or_else(|| Some(format!("{}:50051", internal_ip(node)?)));
        let known = cx.cached_in::<Droplet>(namespace, cx.name()).await?;
        let info = match address {
            None => None,
            Some(address) => {
                let daemon = Daemon { droplet: cx.name().to_owned(), address };
                match cx.call(Droplets, DropletRequest::Info { daemon }).await? {
                    DropletAnswer::Info(info) => Some(info),
                    _ => None,
                }
            }
        };
        let spec = match (info, known) {
            (Some(info), _) => DropletSpec {
                main_ip: internal_ip(node),
                ip: info.ip,
                mac: info.mac,
                itf: Some(info.itf),
                status: None,
            },
            // A daemon that is away does not make its droplet go away: the droplet operator follows it.
            (None, Some(known)) => known.spec,
            (None, None) => return done_and_requeue_after(self.settings.check_interval),
        };
        let mut droplet = Droplet::new(cx.name(), spec);
        droplet.metadata.namespace = Some(namespace.clone());
        droplet.metadata.annotations =
            annotation.map(|address| [(ADDRESS_ANNOTATION.to_owned(), address.clone())].into());
        cx.ensure(droplet);
        done()
    }
}

fn internal_ip(node: &Node) -> Option<String> {
    let addresses = node.status.as_ref()?.addresses.iter().flatten();
    addresses.filter(|address| address.type_ == "InternalIP").map(|address| address.address.clone()).next()
}
