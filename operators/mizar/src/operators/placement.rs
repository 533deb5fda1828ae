//! The droplet operator places dividers and bouncers, and places them elsewhere when their droplet goes.

use std::collections::{BTreeMap, BTreeSet};
use std::marker::PhantomData;

use serde::Serialize;
use windlass::{
    Cx, Declaration, Error, Kind, Machine, ObjectRef, Outcome, Select, States, done, waiting, watching,
};

use super::triggers::{FALLBACK, is_registered, once};
use crate::address::spread;
use crate::api::{Bouncer, Divider, Droplet, Phase, Vpc};
use crate::mistake::Mistake;
use crate::names::ordinal;
use crate::settings::MizarSettings;

/// What can be placed on droplets: dividers and bouncers.
pub trait Placeable: Kind {
    /// The controller that places it.
    const CONTROLLER: &'static str;
    /// What it is called in [`DropletState::placed`](crate::api::DropletState::placed).
    const PREFIX: &'static str;
    /// The VPC that it belongs to.
    fn vpc(&self) -> &str;
    /// Selects those that are not to share a droplet with it.
    fn siblings(&self) -> String;
    /// The droplet that it was placed on.
    fn droplet(&self) -> Option<String>;
    /// Where it was before, until nothing of it is left there.
    fn left(&self) -> Vec<String>;
    /// Whether its home has registered it.
    fn is_registered(&self) -> bool;
}

impl Placeable for Divider {
    const CONTROLLER: &'static str = "mizar-divider-placement";
    const PREFIX: &'static str = "divider";

    fn vpc(&self) -> &str {
        &self.spec.vpc
    }

    fn siblings(&self) -> String {
        format!("spec.vpc={}", self.spec.vpc)
    }

    fn droplet(&self) -> Option<String> {
        self.state().droplet
    }

    fn left(&self) -> Vec<String> {
        self.state().left
    }

    fn is_registered(&self) -> bool {
        is_registered(self.status.as_ref().map(|status| &status.machine), "mizar-divider")
    }
}

impl Placeable for Bouncer {
    const CONTROLLER: &'static str = "mizar-bouncer-placement";
    const PREFIX: &'static str = "bouncer";

    fn vpc(&self) -> &str {
        &self.spec.vpc
    }

    fn siblings(&self) -> String {
        super::view::of_network(&self.spec.vpc, &self.spec.net)
    }

    fn droplet(&self) -> Option<String> {
        self.state().droplet
    }

    fn left(&self) -> Vec<String> {
        self.state().left
    }

    fn is_registered(&self) -> bool {
        is_registered(self.status.as_ref().map(|status| &status.machine), "mizar-bouncer")
    }
}

/// Puts each divider, or each bouncer, on the droplet that has the least to do.
pub struct Placement<K> {
    settings: MizarSettings,
    places: PhantomData<fn(K)>,
}

/// The steps of a reconcile.
#[derive(States)]
pub enum PlacementStep {
    /// On a droplet that lives.
    #[state(initial, condition = "Placed", when_true = "It is on a droplet that lives")]
    Placing,
}

/// Where it is: what the droplet operator keeps of dividers and bouncers.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Place {
    phase: Phase,
    vni: u32,
    droplet: String,
    ip: String,
    mac: String,
    left: Vec<String>,
    #[serde(flatten)]
    undone: Undone,
}

/// What others have done for the place before. All of it goes in the same write: something that is placed back where it was
/// would else seem to have all of its tables there.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Undone {
    endpoints_on: Option<String>,
    dividers_on: Option<String>,
    bouncers_on: Option<String>,
    agents_on: Option<String>,
}

impl<K: Placeable> Placement<K> {
    /// The operator.
    pub fn new(settings: &MizarSettings) -> Self {
        Placement { settings: settings.clone(), places: PhantomData }
    }
}

impl<K: Placeable> Machine for Placement<K> {
    type Parent = K;
    type State = PlacementStep;

    fn declare(&self, declaration: &mut Declaration) {
        let namespace = self.settings.namespace.clone();
        let prefix = format!("{}/", K::PREFIX);
        declaration
            .name(K::CONTROLLER)
            .parents(watching::<K>().when(once(K::is_registered, K::droplet)))
            .watch(
                // A droplet that comes, goes, is lost, or has too much on it concerns whatever is on it.
                watching::<Droplet>()
                    .when(once(|_: &Droplet| true, |droplet| (droplet.state().lost, droplet.state().placed))),
                move |droplet| {
                    let placed = droplet.state().placed;
                    let names = placed.iter().filter_map(|placed| placed.strip_prefix(&prefix));
                    names.map(|name| ObjectRef::new(&namespace, name)).collect()
                },
            )
            .watches::<Vpc>(|_| Vec::new())
            .watches::<Divider>(|_| Vec::new())
            .watches::<Bouncer>(|_| Vec::new());
    }

    async fn run(&self, _: PlacementStep, cx: &Cx<K>) -> Outcome<PlacementStep> {
        let placed = cx.parent();
        if !placed.is_registered() {
            return waiting(FALLBACK, "NotRegistered", "its operator has not seen it yet");
        }
        let Some(vpc) = cx.cached::<Vpc>(placed.vpc()).await?.filter(|vpc| vpc.state().vni.is_some()) else {
            let message = format!("the VPC {:?} has no VNI yet", placed.vpc());
            return waiting(self.settings.retry_interval, "VpcNotReady", message);
        };
        let droplets: Vec<Droplet> = cx.list_cached(Select::all()).await?;
        let live: Vec<&Droplet> = droplets.iter().filter(|droplet| is_live(droplet)).collect();
        let siblings: Vec<K> = cx.list(Select::all().fields(&placed.siblings())).await?;
        let others = Others::of(cx.name(), &siblings);
        let current = placed.droplet();
        if let Some(current) = &current {
            let lives = live.iter().any(|droplet| name(*droplet) == current);
            let crowded = others.before.contains(current)
                && live.iter().any(|droplet| is_working(droplet) && !others.all.contains(name(*droplet)));
            if (lives && !crowded) || self.settings.has(Mistake::StaysOnLostDroplets) {
                return done();
            }
        } else if let Some(first) = others.unplaced_before {
            let message = format!("{first} is placed first, so that both do not get the same droplet");
            return waiting(self.settings.retry_interval, "Queued", message);
        }
        let load = load(cx).await?;
        let order = |droplet: &&&Droplet| {
            let droplet = name(**droplet);
            let count = load.get(droplet).copied().unwrap_or(0);
            (others.all.contains(droplet), count, spread(&[cx.name(), droplet]))
        };
        let working =
            live.iter().filter(|droplet| is_working(droplet) && Some(name(**droplet)) != current.as_deref());
        let Some(best) = working.min_by_key(order) else {
            let message = match droplets.len() {
                0 => "there is no droplet: start `windlass droplet` on a node".to_owned(),
                count => format!("none of {count} droplets is live: look at `kubectl get droplets`"),
            };
            return waiting(self.settings.retry_interval, "NoDroplet", message);
        };
        let mut left = placed.left();
        left.extend(current);
        left.retain(|left| left != name(*best));
        left.dedup();
        cx.report(&Place {
            phase: Phase::Init,
            vni: vpc.state().vni.unwrap_or_default(),
            droplet: name(*best).to_owned(),
            ip: best.spec.ip.clone(),
            mac: best.spec.mac.clone(),
            left,
            undone: Undone::default(),
        })?;
        done()
    }
}

/// Where the others of a VPC or network are.
struct Others {
    all: BTreeSet<String>,
    /// Of those with smaller numbers: they stay where they are.
    before: BTreeSet<String>,
    /// One with a smaller number that is nowhere yet.
    unplaced_before: Option<String>,
}

impl Others {
    fn of<K: Placeable>(own: &str, siblings: &[K]) -> Self {
        let live = siblings
            .iter()
            .filter(|sibling| sibling.object_meta().deletion_timestamp.is_none() && name(*sibling) != own);
        let mut others = Others { all: BTreeSet::new(), before: BTreeSet::new(), unplaced_before: None };
        for sibling in live {
            let is_before = ordinal(name(sibling)) < ordinal(own);
            match sibling.droplet() {
                Some(droplet) => {
                    if is_before {
                        others.before.insert(droplet.clone());
                    }
                    others.all.insert(droplet);
                }
                None if is_before => others.unplaced_before = Some(name(sibling).to_owned()),
                None => {}
            }
        }
        others
    }
}

/// How many dividers and bouncers there are on each droplet.
async fn load<P: Kind>(cx: &Cx<P>) -> Result<BTreeMap<String, usize>, Error> {
    let dividers: Vec<Divider> = cx.list_cached(Select::all()).await?;
    let bouncers: Vec<Bouncer> = cx.list_cached(Select::all()).await?;
    let mut load = BTreeMap::new();
    let of_dividers = dividers.iter().filter_map(Placeable::droplet);
    for droplet in of_dividers.chain(bouncers.iter().filter_map(Placeable::droplet)) {
        *load.entry(droplet).or_insert(0) += 1;
    }
    Ok(load)
}

fn is_live(droplet: &Droplet) -> bool {
    droplet.metadata.deletion_timestamp.is_none() && !droplet.state().lost
}

/// Whether its daemon has all tables, so that something can be placed on it.
fn is_working(droplet: &Droplet) -> bool {
    droplet.state().phase == Phase::Provisioned
}

fn name(object: &impl Kind) -> &str {
    object.object_meta().name.as_deref().unwrap_or_default()
}
