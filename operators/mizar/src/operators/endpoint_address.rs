//! Addresses of endpoints: the network operator gives them to simple endpoints, the endpoint operator to scaled ones. Both
//! are the home of what they give addresses to.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use windlass::{
    Cx, Declaration, Error, Finalizer, Machine, Outcome, Select, States, Verb, done, fail_for_good, to,
    waiting, watching,
};

use super::allocation::take;
use super::endpoint_deletion::EndpointDeletion;
use super::triggers::{FALLBACK, once};
use crate::address::{Pool, Range, address_claim, mac_address};
use crate::api::{
    Allocation, AllocationSpec, Bouncer, Droplet, Endpoint, EndpointAddress, EndpointType, Holder, Phase,
    Subnet,
};
use crate::mistake::Mistake;
use crate::names::{network_key, veth_name};
use crate::settings::MizarSettings;

/// Gives endpoints their addresses, and takes them back.
pub struct EndpointAddresses {
    settings: MizarSettings,
    takes: Takes,
}

/// Which endpoints an operator gives addresses to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// All but scaled ones: the network operator.
    Simple,
    /// Scaled ones: the endpoint operator.
    Scaled,
}

/// The steps of a reconcile.
#[derive(States)]
pub enum EndpointAddressStep {
    /// An address that no other endpoint of the VPC has.
    #[state(
        initial,
        condition = "Allocated",
        when_true = "It has an address that no other endpoint of its VPC has",
        next(Observation)
    )]
    Address,
    /// The bouncer operator has provisioned it.
    #[state(condition = "Observed", when_true = "It is Provisioned")]
    Observation,
}

impl EndpointAddresses {
    /// The operator.
    pub fn new(settings: &MizarSettings, takes: Takes) -> Self {
        EndpointAddresses { settings: settings.clone(), takes }
    }
}

impl Machine for EndpointAddresses {
    type Parent = Endpoint;
    type State = EndpointAddressStep;

    fn declare(&self, declaration: &mut Declaration) {
        let (name, selector) = match self.takes {
            Takes::Simple => ("mizar-endpoint-address", "spec.type!=scaled"),
            Takes::Scaled => ("mizar-scaled-endpoint", "spec.type=scaled"),
        };
        declaration
            .name(name)
            .parents(watching::<Endpoint>().fields(selector).when(once(
                |_: &Endpoint| true,
                |endpoint| (endpoint.state().phase, endpoint.state().address),
            )))
            .watches::<Bouncer>(|_| Vec::new())
            .watches::<Droplet>(|_| Vec::new())
            .may::<Subnet>([Verb::Get])
            .may::<Allocation>([Verb::Get, Verb::List, Verb::Create, Verb::Delete]);
    }

    async fn run(&self, step: EndpointAddressStep, cx: &Cx<Endpoint>) -> Outcome<EndpointAddressStep> {
        match step {
            EndpointAddressStep::Address => self.address(cx).await,
            EndpointAddressStep::Observation => match cx.parent().state().phase {
                Phase::Provisioned => done(),
                Phase::Init => {
                    waiting(FALLBACK, "NotProvisioned", "the bouncer and endpoint operators work on it")
                }
            },
        }
    }

    fn finalizer(&self) -> Option<Finalizer<Endpoint>> {
        Some(Finalizer::new(EndpointDeletion::new(&self.settings)))
    }
}

/// How the search for an address ended.
enum Found {
    Address(Ipv4Addr),
    /// The one that was asked for is another endpoint's.
    Taken(Ipv4Addr),
    Full,
}

impl EndpointAddresses {
    async fn address(&self, cx: &Cx<Endpoint>) -> Outcome<EndpointAddressStep> {
        let (spec, state) = (&cx.parent().spec, cx.parent().state());
        if state.address.ip.is_some() {
            return to(EndpointAddressStep::Observation);
        }
        let (namespace, retry) = (&self.settings.namespace, self.settings.retry_interval);
        // Never from the cache: a network that is being deleted gives no addresses, and waits for those that it gave.
        let Some(subnet) = cx.get_in::<Subnet>(namespace, &spec.net).await? else {
            let message = format!(
                "there is no subnet {:?} in namespace {namespace}: create it, or name another",
                spec.net
            );
            return waiting(retry, "NetworkNotFound", message);
        };
        if subnet.spec.vpc != spec.vpc {
            let message = format!(
                "the subnet {:?} belongs to the VPC {:?}, not to {:?}",
                spec.net, subnet.spec.vpc, spec.vpc
            );
            return fail_for_good("NetworkOfAnotherVpc", message);
        }
        if subnet.metadata.deletion_timestamp.is_some() {
            return waiting(retry, "NetworkDeleting", format!("the subnet {:?} is being deleted", spec.net));
        }
        let (Some(vni), Phase::Provisioned) = (subnet.state().vni, subnet.state().phase) else {
            return waiting(
                retry,
                "NetworkNotReady",
                format!("the subnet {:?} is not Provisioned yet", spec.net),
            );
        };
        let host = match &spec.droplet {
            None => None,
            Some(name) => match cx.cached_in::<Droplet>(namespace, name).await? {
                Some(droplet) => Some(droplet),
                None => {
                    let message =
                        format!("there is no droplet {name:?}: start `windlass droplet` on that node");
                    return waiting(retry, "DropletNotFound", message);
                }
            },
        };
        let range = match Range::new(&subnet.spec.ip, subnet.spec.prefix.0) {
            Ok(range) => range,
            Err(error) => return fail_for_good("NetworkInvalid", error.to_string()),
        };
        let pool = Pool::new(range, subnet.spec.exclude_ips.iter().filter_map(|text| text.parse().ok()));
        let requested = match spec.ip.as_deref().map(str::parse::<Ipv4Addr>) {
            None => None,
            Some(Ok(ip)) => match pool.check(ip) {
                Ok(()) => Some(ip),
                Err(why) => return fail_for_good("AddressNotUsable", format!("{ip} cannot be used: {why}")),
            },
            Some(Err(_)) => return fail_for_good("AddressNotUsable", "spec.ip is no IPv4 address"),
        };
        let ip = match self.claim(cx, vni, &pool, requested).await? {
            Found::Address(ip) => ip,
            Found::Taken(ip) => {
                let message =
                    format!("{ip} belongs to another endpoint: see `kubectl get allocation ip-{vni}-{ip}`");
                return waiting(retry, "AddressInUse", message);
            }
            Found::Full => {
                let message = format!(
                    "all {} addresses of the subnet {:?} ({range}) are in use: delete endpoints, or use another subnet",
                    pool.capacity(),
                    spec.net
                );
                return waiting(retry, "SubnetFull", message);
            }
        };
        cx.report(&self.given(vni, ip, range, spec.r#type, host.as_ref()))?;
        to(EndpointAddressStep::Observation)
    }

    fn given(
        &self,
        vni: u32,
        ip: Ipv4Addr,
        range: Range,
        r#type: EndpointType,
        host: Option<&Droplet>,
    ) -> EndpointAddress {
        let has_interface = r#type == EndpointType::Simple && host.is_some();
        let mac = mac_address(vni, ip);
        let mac = if self.settings.has(Mistake::MulticastMac) { mac.replacen("02", "03", 1) } else { mac };
        EndpointAddress {
            ip: Some(ip.to_string()),
            prefix: Some(range.prefix()),
            gw: Some(range.gateway().to_string()),
            mac: Some(mac),
            vni: Some(vni),
            itf: has_interface.then(|| "eth0".to_owned()),
            veth: has_interface.then(|| veth_name(vni, ip)),
            hostip: host.map(|droplet| droplet.spec.ip.clone()),
            hostmac: host.map(|droplet| droplet.spec.mac.clone()),
        }
    }

    async fn claim(
        &self,
        cx: &Cx<Endpoint>,
        vni: u32,
        pool: &Pool,
        requested: Option<Ipv4Addr>,
    ) -> Result<Found, Error> {
        /// Maximum number of addresses that are tried one by one; in a network that is half full, two suffice on average.
        const MAX_TRIES: usize = 16;
        if let Some(ip) = requested {
            let taken = take(cx, &self.allocation(cx, vni, ip)).await?;
            return Ok(if taken { Found::Address(ip) } else { Found::Taken(ip) });
        }
        if self.settings.has(Mistake::GivesOutBroadcast)
            && take(cx, &self.allocation(cx, vni, pool.broadcast())).await?
        {
            return Ok(Found::Address(pool.broadcast()));
        }
        let mut candidates = pool.candidates(cx.namespace(), cx.name());
        for ip in candidates.by_ref().take(MAX_TRIES) {
            if self.settings.has(Mistake::ClaimsNoAddress) || take(cx, &self.allocation(cx, vni, ip)).await? {
                return Ok(Found::Address(ip));
            }
        }
        // The network is nearly full. One list says which addresses are left.
        let key = network_key(&cx.parent().spec.vpc, &cx.parent().spec.net);
        let claims: Vec<Allocation> = cx.list(Select::all().fields(&format!("spec.net={key}"))).await?;
        let used: BTreeSet<String> = claims.into_iter().filter_map(|claim| claim.spec.address).collect();
        for ip in candidates.filter(|ip| !used.contains(&ip.to_string())) {
            if take(cx, &self.allocation(cx, vni, ip)).await? {
                return Ok(Found::Address(ip));
            }
        }
        Ok(Found::Full)
    }

    fn allocation(&self, cx: &Cx<Endpoint>, vni: u32, ip: Ipv4Addr) -> Allocation {
        let (metadata, spec) = (&cx.parent().metadata, &cx.parent().spec);
        let holder = Holder {
            kind: "Endpoint".to_owned(),
            namespace: cx.namespace().to_owned(),
            name: cx.name().to_owned(),
            uid: metadata.uid.clone().unwrap_or_default(),
        };
        let net = Some(network_key(&spec.vpc, &spec.net));
        Allocation::new(
            &address_claim(vni, ip),
            AllocationSpec { holder, net, address: Some(ip.to_string()) },
        )
    }
}
