//! Claims: how operators take what may be given out once, and the operator that releases it.

use windlass::model::Reason;
use windlass::{
    Cx, Declaration, Error, Kind, Machine, ObjectRef, Outcome, States, Verb, done, secs, watching,
};

use crate::address::{address_claim, vni_claim};
use crate::api::{Allocation, Endpoint, Vpc};
use crate::mistake::Mistake;
use crate::settings::MizarSettings;

/// Makes a claim. Whether this holder has it: since now, or since an attempt before.
pub(crate) async fn take<P: Kind>(cx: &Cx<P>, claim: &Allocation) -> Result<bool, Error> {
    let name = claim.metadata.name.as_deref().unwrap_or_default();
    let is_mine = |held: &Allocation| held.spec.holder.uid == claim.spec.holder.uid;
    // Mostly a claim is either free or long since held by another: the cache says which, and costs nothing.
    if let Some(held) = cx.cached_in::<Allocation>("", name).await?
        && !is_mine(&held)
    {
        return Ok(false);
    }
    match cx.create(claim).await {
        Ok(_) => Ok(true),
        Err(Error::Api(status)) if status.reason == Some(Reason::AlreadyExists) => {
            Ok(cx.get_in::<Allocation>("", name).await?.is_some_and(|held| is_mine(&held)))
        }
        Err(error) => Err(error),
    }
}

/// Releases claims whose holder is gone. That is how every claim ends; and one that a crashed operator has sent may arrive
/// only after its holder was deleted.
pub struct AllocationOperator {
    settings: MizarSettings,
}

impl AllocationOperator {
    /// The operator.
    pub fn new(settings: &MizarSettings) -> Self {
        AllocationOperator { settings: settings.clone() }
    }
}

/// The steps of a reconcile.
#[derive(States)]
pub enum AllocationStep {
    /// Whoever holds it is there.
    #[state(initial)]
    Holder,
}

impl Machine for AllocationOperator {
    type Parent = Allocation;
    type State = AllocationStep;

    fn declare(&self, declaration: &mut Declaration) {
        declaration
            .name("mizar-allocation")
            .without_status()
            .may::<Allocation>([Verb::Get, Verb::Delete])
            .watch(watching::<Endpoint>().when(|_, after| after.is_none()), |endpoint| {
                let given = endpoint.state().address;
                let ip = given.ip.and_then(|ip| ip.parse().ok());
                let claim = given.vni.zip(ip).map(|(vni, ip)| address_claim(vni, ip));
                claim.iter().map(|claim| ObjectRef::new("", claim)).collect()
            })
            .watch(watching::<Vpc>().when(|_, after| after.is_none()), |vpc| {
                vpc.state().vni.iter().map(|vni| ObjectRef::new("", &vni_claim(*vni))).collect()
            })
            .resync(secs(600));
    }

    async fn run(&self, _: AllocationStep, cx: &Cx<Allocation>) -> Outcome<AllocationStep> {
        let holder = &cx.parent().spec.holder;
        let is_there = match holder.kind.as_str() {
            "Vpc" => is_there::<Vpc>(cx).await?,
            _ if self.settings.has(Mistake::FindsHoldersByName) => {
                cx.get_in::<Endpoint>(&holder.namespace, &holder.name).await?.is_some()
            }
            _ => is_there::<Endpoint>(cx).await?,
        };
        if !is_there && !self.settings.has(Mistake::KeepsAddresses) {
            cx.delete(cx.parent()).await?;
        }
        done()
    }
}

/// Whether the holder of a claim exists. The cache may not know it yet, so only the API server can deny it.
async fn is_there<K: Kind>(cx: &Cx<Allocation>) -> Result<bool, Error> {
    let holder = &cx.parent().spec.holder;
    let is_holder =
        |found: Option<K>| found.is_some_and(|found| found.object_meta().uid.as_ref() == Some(&holder.uid));
    Ok(is_holder(cx.cached_in(&holder.namespace, &holder.name).await?)
        || is_holder(cx.get_in(&holder.namespace, &holder.name).await?))
}

/// `a, b, c and 7 more`
pub(crate) fn some_names<K: Kind>(objects: &[K]) -> String {
    const MAX_SHOWN: usize = 3;
    let name = |object: &K| object.object_meta().name.clone().unwrap_or_default();
    let mut text = objects.iter().take(MAX_SHOWN).map(name).collect::<Vec<_>>().join(", ");
    if objects.len() > MAX_SHOWN {
        text.push_str(&format!(" and {} more", objects.len() - MAX_SHOWN));
    }
    text
}
