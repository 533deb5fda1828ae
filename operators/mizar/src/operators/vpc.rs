//! The VPC operator: a VNI, then the dividers.

use windlass::{
    Cx, Declaration, Error, Finalizer, Machine, ObjectRef, Outcome, Select, States, Verb, changed, done, to,
    waiting, watching,
};

use super::triggers::FALLBACK;
use super::vpc_deletion::VpcDeletion;
use crate::address::{vni_candidates, vni_claim};
use crate::api::{Allocation, AllocationSpec, Divider, DividerSpec, Holder, Phase, Subnet, Vpc, VpcState};
use crate::mistake::Mistake;
use crate::names::divider_name;
use crate::settings::MizarSettings;

/// Creates the dividers of a VPC, and deletes them when all of its networks are gone.
pub struct VpcOperator {
    settings: MizarSettings,
}

/// The steps of a reconcile.
#[derive(States)]
pub enum VpcStep {
    /// A VNI that no other VPC has.
    #[state(
        initial,
        condition = "VniAllocated",
        when_true = "No other VPC has its VNI",
        next(OtherVni, Dividers)
    )]
    Vni,
    /// The VNI that was asked for belongs to another VPC.
    #[state(
        condition = "RequestedVniTaken",
        when_true = "Another VPC has the VNI of the spec; status.vni is the one that is used",
        next(Dividers)
    )]
    OtherVni {
        /// Its VNI.
        vni: u32,
    },
    /// As many dividers as the spec says, all of them Provisioned.
    #[state(
        condition = "DividersReady",
        when_true = "All of its dividers are Provisioned",
        next(Provisioning)
    )]
    Dividers {
        /// Its VNI.
        vni: u32,
    },
    /// The VPC itself is Provisioned.
    Provisioning {
        /// How many dividers it has.
        dividers: u32,
    },
}

impl VpcOperator {
    /// The operator.
    pub fn new(settings: &MizarSettings) -> Self {
        VpcOperator { settings: settings.clone() }
    }
}

impl Machine for VpcOperator {
    type Parent = Vpc;
    type State = VpcStep;

    fn declare(&self, declaration: &mut Declaration) {
        let namespace = self.settings.namespace.clone();
        declaration
            .name("mizar-vpc")
            .parents(watching::<Vpc>().when(changed::generation_or_metadata))
            .output::<Divider>()
            .may::<Divider>([Verb::Delete])
            .may::<Allocation>([Verb::Get, Verb::List, Verb::Create, Verb::Delete])
            // The last network that leaves lets a deletion go on.
            .watch(watching::<Subnet>().when(|_, after| after.is_none()), move |subnet| {
                vec![ObjectRef::new(&namespace, &subnet.spec.vpc)]
            });
    }

    async fn run(&self, step: VpcStep, cx: &Cx<Vpc>) -> Outcome<VpcStep> {
        match step {
            VpcStep::Vni => self.vni(cx).await,
            VpcStep::OtherVni { vni } => to(VpcStep::Dividers { vni }),
            VpcStep::Dividers { vni } => self.dividers(cx, vni).await,
            VpcStep::Provisioning { dividers } => {
                cx.report(&VpcState { phase: Phase::Provisioned, dividers, ..cx.parent().state() })?;
                done()
            }
        }
    }

    fn finalizer(&self) -> Option<Finalizer<Vpc>> {
        Some(Finalizer::new(VpcDeletion))
    }
}

impl VpcOperator {
    async fn vni(&self, cx: &Cx<Vpc>) -> Outcome<VpcStep> {
        let (state, requested) = (cx.parent().state(), cx.parent().spec.vni.map(|vni| vni.0));
        let vni = match state.vni {
            Some(vni) => vni,
            None => self.claim(cx, requested).await?,
        };
        cx.report(&VpcState { vni: Some(vni), ..state })?;
        if requested.is_some_and(|requested| requested != vni) {
            return to(VpcStep::OtherVni { vni });
        }
        to(VpcStep::Dividers { vni })
    }

    /// Takes the first VNI that no other VPC has.
    async fn claim(&self, cx: &Cx<Vpc>, requested: Option<u32>) -> Result<u32, Error> {
        let candidates = vni_candidates(cx.namespace(), cx.name());
        for vni in requested.into_iter().chain(candidates) {
            if self.settings.has(Mistake::ClaimsNoVni) || take(cx, &vni_claim(vni)).await? {
                return Ok(vni);
            }
        }
        let message = "all 16,777,215 VNIs are in use: delete VPCs".to_owned();
        Err(Error::Failed { reason: "NoVniLeft".to_owned(), message })
    }

    async fn dividers(&self, cx: &Cx<Vpc>, vni: u32) -> Outcome<VpcStep> {
        let existing: Vec<Divider> =
            cx.list_cached(Select::all().fields(&format!("spec.vpc={}", cx.name()))).await?;
        let asked = cx.parent().spec.dividers.0;
        let count = if self.settings.has(Mistake::IgnoresScaleIn) {
            asked.max(u32::try_from(existing.len()).unwrap_or(u32::MAX))
        } else {
            asked
        };
        let wanted: Vec<String> = (1..=count).map(|number| divider_name(cx.name(), number)).collect();
        for name in &wanted {
            cx.ensure(Divider::new(name, DividerSpec { vpc: cx.name().to_owned(), status: None }));
        }
        let works = |name: &&String| {
            let mut existing = existing.iter().filter(|one| one.metadata.name.as_ref() == Some(name));
            existing.any(|one| {
                one.metadata.deletion_timestamp.is_none() && one.state().phase == Phase::Provisioned
            })
        };
        let ready = wanted.iter().filter(works).count();
        let dividers = u32::try_from(ready).unwrap_or(u32::MAX);
        let state = cx.parent().state();
        cx.report(&VpcState { vni: Some(vni), dividers, ..state })?;
        if ready < wanted.len() && !self.settings.has(Mistake::DoesNotWaitForDividers) {
            let message = format!("{ready} of {} dividers are Provisioned", wanted.len());
            return waiting(FALLBACK, "DividersNotReady", message);
        }
        to(VpcStep::Provisioning { dividers })
    }
}

/// Whether a claim could be made, or had been made for this very VPC before.
async fn take(cx: &Cx<Vpc>, claim: &str) -> Result<bool, Error> {
    let metadata = &cx.parent().metadata;
    let holder = Holder {
        kind: "Vpc".to_owned(),
        namespace: cx.namespace().to_owned(),
        name: cx.name().to_owned(),
        uid: metadata.uid.clone().unwrap_or_default(),
    };
    let allocation = Allocation::new(claim, AllocationSpec { holder, net: None, address: None });
    super::allocation::take(cx, &allocation).await
}
