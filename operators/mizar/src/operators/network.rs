//! The network operator: a range within the VPC, then the bouncers.

use windlass::{
    Cx, Declaration, Finalizer, Machine, ObjectRef, Outcome, Select, States, Verb, changed,
    done_and_requeue_after, fail_for_good, to, waiting, watching,
};

use super::network_deletion::NetworkDeletion;
use super::triggers::FALLBACK;
use crate::address::{Pool, Range};
use crate::api::{Allocation, Bouncer, BouncerSpec, Endpoint, Phase, Subnet, SubnetState, Vpc};
use crate::mistake::Mistake;
use crate::names::{bouncer_name, network_key};
use crate::settings::MizarSettings;

/// Creates the bouncers of a network, and deletes them when all of its endpoints are gone.
pub struct NetworkOperator {
    settings: MizarSettings,
}

/// The steps of a reconcile.
#[derive(States)]
pub enum NetworkStep {
    /// The range is within that of the VPC, and overlaps with no other network of it.
    #[state(
        initial,
        condition = "RangeValid",
        when_true = "Its range is within that of the VPC, and no other network's",
        next(Bouncers)
    )]
    NetworkRange,
    /// As many bouncers as the spec says, all of them Provisioned.
    #[state(condition = "BouncersReady", when_true = "All of its bouncers are Provisioned", next(Usage))]
    Bouncers {
        /// The VNI of its VPC.
        vni: u32,
    },
    /// The network is Provisioned; how many of its addresses are used.
    Usage {
        /// The VNI of its VPC.
        vni: u32,
    },
}

impl NetworkOperator {
    /// The operator.
    pub fn new(settings: &MizarSettings) -> Self {
        NetworkOperator { settings: settings.clone() }
    }
}

impl Machine for NetworkOperator {
    type Parent = Subnet;
    type State = NetworkStep;

    fn declare(&self, declaration: &mut Declaration) {
        let namespace = self.settings.namespace.clone();
        declaration
            .name("mizar-network")
            .parents(watching::<Subnet>().when(changed::generation_or_metadata))
            .output::<Bouncer>()
            .may::<Bouncer>([Verb::Delete])
            .may::<Vpc>([Verb::Get])
            .may::<Allocation>([Verb::List])
            // The last endpoint that leaves lets a deletion go on.
            .watch(watching::<Endpoint>().when(|_, after| after.is_none()), move |endpoint| {
                vec![ObjectRef::new(&namespace, &endpoint.spec.net)]
            });
    }

    async fn run(&self, step: NetworkStep, cx: &Cx<Subnet>) -> Outcome<NetworkStep> {
        match step {
            NetworkStep::NetworkRange => self.network_range(cx).await,
            NetworkStep::Bouncers { vni } => self.bouncers(cx, vni).await,
            NetworkStep::Usage { vni } => self.usage(cx, vni).await,
        }
    }

    fn finalizer(&self) -> Option<Finalizer<Subnet>> {
        Some(Finalizer::new(NetworkDeletion::new(&self.settings)))
    }
}

impl NetworkOperator {
    async fn network_range(&self, cx: &Cx<Subnet>) -> Outcome<NetworkStep> {
        let spec = &cx.parent().spec;
        let range = match Range::new(&spec.ip, spec.prefix.0) {
            Ok(range) => range,
            Err(error) => return fail_for_good("RangeInvalid", error.to_string()),
        };
        if let Some(vni) = cx.parent().state().vni {
            // It was valid, and cannot be changed.
            return to(NetworkStep::Bouncers { vni });
        }
        let retry = self.settings.retry_interval;
        let Some(vpc) = cx.get::<Vpc>(&spec.vpc).await? else {
            let message =
                format!("there is no VPC {:?} in namespace {}: create it", spec.vpc, cx.namespace());
            return waiting(retry, "VpcNotFound", message);
        };
        if vpc.metadata.deletion_timestamp.is_some() {
            return waiting(retry, "VpcDeleting", format!("the VPC {:?} is being deleted", spec.vpc));
        }
        match Range::new(&vpc.spec.ip, vpc.spec.prefix.0) {
            Ok(whole) if whole.includes(range) => {}
            Ok(whole) => {
                let message = format!("{range} is not within {whole}, the range of the VPC {:?}", spec.vpc);
                return fail_for_good("OutsideVpc", message);
            }
            Err(error) => return fail_for_good("VpcInvalid", format!("the VPC {:?}: {error}", spec.vpc)),
        }
        if let Some(other) = self.overlapping(cx, range).await? {
            let message =
                format!("{range} overlaps with the subnet {other}, which came first: delete one of them");
            return waiting(retry, "RangeOverlaps", message);
        }
        let Some(vni) = vpc.state().vni.filter(|_| vpc.state().phase == Phase::Provisioned) else {
            return waiting(retry, "VpcNotReady", format!("the VPC {:?} is not Provisioned yet", spec.vpc));
        };
        let gateway = Some(range.gateway().to_string());
        cx.report(&SubnetState { vni: Some(vni), gateway, ..cx.parent().state() })?;
        to(NetworkStep::Bouncers { vni })
    }

    /// A network of the same VPC that has some of the range, and came first. Both were created before either looks, so at
    /// least the later one sees the other.
    async fn overlapping(&self, cx: &Cx<Subnet>, range: Range) -> Result<Option<String>, windlass::Error> {
        let of_vpc = Select::all().fields(&format!("spec.vpc={}", cx.parent().spec.vpc));
        let others: Vec<Subnet> = cx.list(of_vpc).await?;
        let age = |subnet: &Subnet| {
            (subnet.metadata.creation_timestamp.clone(), subnet.metadata.uid.clone().unwrap_or_default())
        };
        let overlaps = |other: &Subnet| {
            Range::new(&other.spec.ip, other.spec.prefix.0).is_ok_and(|other| other.overlaps(range))
        };
        let is_other = |other: &&Subnet| other.metadata.uid != cx.parent().metadata.uid;
        // One that has passed this test stays, whatever its age is.
        let came_first = |other: &&Subnet| other.state().vni.is_some() || age(other) < age(cx.parent());
        let first = others.iter().filter(is_other).filter(|other| overlaps(other)).find(came_first);
        Ok(first.and_then(|other| other.metadata.name.clone()))
    }

    async fn bouncers(&self, cx: &Cx<Subnet>, vni: u32) -> Outcome<NetworkStep> {
        let spec = &cx.parent().spec;
        let existing: Vec<Bouncer> =
            cx.list_cached(Select::all().fields(&format!("spec.net={}", cx.name()))).await?;
        let count = if self.settings.has(Mistake::IgnoresScaleIn) {
            spec.bouncers.0.max(u32::try_from(existing.len()).unwrap_or(u32::MAX))
        } else {
            spec.bouncers.0
        };
        let nip =
            Range::new(&spec.ip, spec.prefix.0).map_or(spec.ip.clone(), |range| range.network().to_string());
        let wanted: Vec<String> = (1..=count).map(|number| bouncer_name(cx.name(), number)).collect();
        for name in &wanted {
            let (vpc, net) = (spec.vpc.clone(), cx.name().to_owned());
            let bouncer = BouncerSpec { vpc, net, nip: nip.clone(), prefix: spec.prefix, status: None };
            cx.ensure(Bouncer::new(name, bouncer));
        }
        let works = |name: &&String| {
            let mut existing = existing.iter().filter(|one| one.metadata.name.as_ref() == Some(name));
            existing.any(|one| {
                one.metadata.deletion_timestamp.is_none() && one.state().phase == Phase::Provisioned
            })
        };
        let ready = wanted.iter().filter(works).count();
        if ready < wanted.len() {
            let message = format!("{ready} of {} bouncers are Provisioned", wanted.len());
            return waiting(FALLBACK, "BouncersNotReady", message);
        }
        to(NetworkStep::Usage { vni })
    }

    async fn usage(&self, cx: &Cx<Subnet>, vni: u32) -> Outcome<NetworkStep> {
        let spec = &cx.parent().spec;
        let key = network_key(&spec.vpc, cx.name());
        let claims: Vec<Allocation> =
            cx.list_cached(Select::all().fields(&format!("spec.net={key}"))).await?;
        let used = u32::try_from(claims.len()).unwrap_or(u32::MAX);
        let excluded = spec.exclude_ips.iter().filter_map(|text| text.parse().ok());
        let capacity =
            Range::new(&spec.ip, spec.prefix.0).map_or(0, |range| Pool::new(range, excluded).capacity());
        let available = u32::try_from(capacity).unwrap_or(u32::MAX).saturating_sub(used);
        let gateway = Range::new(&spec.ip, spec.prefix.0).ok().map(|range| range.gateway().to_string());
        cx.report(&SubnetState { phase: Phase::Provisioned, vni: Some(vni), gateway, used, available })?;
        done_and_requeue_after(self.settings.usage_interval)
    }
}
