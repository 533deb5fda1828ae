//! What can be seen from outside of what the operators do: the watch history of all objects, and the log of calls of all
//! daemons.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use futures::{StreamExt, TryStreamExt};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use kube::Resource;
use kube::api::Api;
use kube::runtime::watcher::{self, Event};
use serde::de::DeserializeOwned;
use tokio::task::JoinSet;
use windlass_mizar::api::{Bouncer, Divider, Droplet, Endpoint, Phase, Subnet, Vpc};
use windlass_mizar::operators::PhaseTransition;
use windlass_mizar::workflows::Tracked;

use crate::cluster::Cluster;
use crate::droplets::Droplets;

/// Something that was seen, and when, in microseconds since 1970.
#[derive(Clone, Debug)]
pub(crate) struct Sighting {
    pub(crate) at: i64,
    /// `Vpc/a DividersReady`, or `node1 UpdateVpc 7`
    pub(crate) what: String,
}

/// Watches all objects until it is dropped.
pub(crate) struct Journal {
    recorded: Arc<Mutex<Recorded>>,
    _watches: JoinSet<()>,
}

#[derive(Default)]
struct Recorded {
    sightings: Vec<Sighting>,
    /// Which droplet something is on, or was last.
    places: BTreeMap<String, String>,
    /// Phases that were moved by somebody else than the operator whose business it is.
    strangers: Vec<String>,
    moves: usize,
}

/// How an object of the journal looked last.
#[derive(Clone, Default)]
struct Known {
    phase: Option<Phase>,
    /// The conditions that are True, and the generation that each is about.
    done: Vec<(String, i64)>,
    is_deleting: bool,
    generation: Option<i64>,
}

impl Journal {
    pub(crate) fn start(cluster: &Cluster) -> Self {
        let recorded = Arc::new(Mutex::new(Recorded::default()));
        let mut watches = JoinSet::new();
        watches.spawn(follow::<Vpc>(cluster, &recorded, |_| None));
        watches.spawn(follow::<Subnet>(cluster, &recorded, |_| None));
        watches.spawn(follow::<Divider>(cluster, &recorded, |one| one.state().droplet));
        watches.spawn(follow::<Bouncer>(cluster, &recorded, |one| one.state().droplet));
        watches.spawn(follow::<Droplet>(cluster, &recorded, |one| one.metadata.name.clone()));
        watches.spawn(follow::<Endpoint>(cluster, &recorded, |one| one.spec.droplet.clone()));
        Journal { recorded, _watches: watches }
    }

    /// The watch history from some time on.
    pub(crate) fn objects(&self, since: i64) -> Vec<Sighting> {
        let recorded = self.recorded.lock().expect("no panic");
        recorded.sightings.iter().filter(|one| one.at >= since).cloned().collect()
    }

    /// The calls to all daemons that run, from some time on.
    pub(crate) fn calls(droplets: &Droplets, since: i64) -> Vec<Sighting> {
        let calls = droplets.running().flat_map(|(droplet, daemon)| {
            daemon.calls().into_iter().map(move |call| Sighting {
                at: call.at,
                what: format!("{droplet} {} {}", call.name, call.key),
            })
        });
        let mut calls: Vec<Sighting> = calls.filter(|call| call.at >= since).collect();
        calls.sort_by_key(|call| call.at);
        calls
    }

    /// Where something is, or was last.
    pub(crate) fn place_of(&self, object: &str) -> Option<String> {
        self.recorded.lock().expect("no panic").places.get(object).cloned()
    }

    /// Every phase was moved by the operator whose business it is, as the field that it owns from then on shows.
    pub(crate) fn assert_phases_are_moved_by_their_operators(&self) {
        let recorded = self.recorded.lock().expect("no panic");
        assert!(recorded.moves > 0, "no phase has changed");
        assert!(recorded.strangers.is_empty(), "{:#?}", recorded.strangers);
    }
}

pub(crate) fn now() -> i64 {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since_1970.as_micros()).unwrap_or(i64::MAX)
}

fn follow<K>(
    cluster: &Cluster,
    recorded: &Arc<Mutex<Recorded>>,
    place: fn(&K) -> Option<String>,
) -> impl Future<Output = ()> + Send + 'static
where
    K: Tracked + Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + 'static,
{
    let (client, recorded) = (cluster.client.clone(), recorded.clone());
    async move {
        let mut known: BTreeMap<String, Known> = BTreeMap::new();
        let events = watcher::watcher(Api::<K>::all(client), watcher::Config::default());
        let mut events = events.into_stream().boxed();
        loop {
            match events.try_next().await {
                Ok(Some(Event::Apply(object) | Event::InitApply(object))) => {
                    recorded.lock().expect("no panic").see(&mut known, &object, place(&object));
                }
                Ok(Some(Event::Delete(object))) => {
                    let name = name_of(&object);
                    known.remove(&name);
                    recorded.lock().expect("no panic").add(&name, "gone");
                }
                Ok(Some(_)) => {}
                Ok(None) => return,
                // The watcher tries again by itself.
                Err(_) => tokio::time::sleep(std::time::Duration::from_millis(50)).await,
            }
        }
    }
}

impl Recorded {
    fn see<K: Tracked>(&mut self, known: &mut BTreeMap<String, Known>, object: &K, place: Option<String>) {
        let name = name_of(object);
        let metadata = object.object_meta();
        if let Some(place) = place {
            self.places.insert(name.clone(), place);
        }
        let conditions = object.machine().map_or(&[][..], |machine| &machine.conditions);
        let done = conditions.iter().filter(|one| one.status == "True");
        let done = done.map(|one| (one.r#type.clone(), one.observed_generation));
        let now = Known {
            phase: Some(object.phase()),
            done: done.collect(),
            is_deleting: metadata.deletion_timestamp.is_some(),
            generation: metadata.generation,
        };
        let before = known.insert(name.clone(), now.clone()).unwrap_or_default();
        if before.phase.is_none() {
            self.add(&name, "created");
        }
        if before.generation.is_some() && before.generation != now.generation && !now.is_deleting {
            self.add(&name, "changed");
        }
        for (condition, _) in now.done.iter().filter(|condition| !before.done.contains(condition)) {
            let again = before.done.iter().any(|(known, _)| known == condition);
            self.add(&name, &if again { format!("{condition} again") } else { condition.clone() });
        }
        if let (Some(from), Some(to)) = (before.phase, now.phase)
            && from != to
        {
            self.add(&name, &format!("{to:?}"));
            self.moves += 1;
            let movers = owners_of_phase(metadata.managed_fields.as_deref().unwrap_or_default());
            let controllers = movers.iter().filter_map(|mover| mover.strip_prefix("windlass-"));
            let plural = K::kind_info().resource.plural;
            if !controllers.clone().any(|one| PhaseTransition::allows(&plural, from, to, one)) {
                self.strangers.push(format!("{name} from {from:?} to {to:?} by {movers:?}"));
            }
        }
        if now.is_deleting && !before.is_deleting {
            self.add(&name, "deleting");
        }
    }

    fn add(&mut self, name: &str, what: &str) {
        self.sightings.push(Sighting { at: now(), what: format!("{name} {what}") });
    }
}

fn name_of<K: Tracked>(object: &K) -> String {
    format!("{}/{}", K::kind_info().kind, object.object_meta().name.as_deref().unwrap_or_default())
}

/// Who wrote the phase last: a writer who changes a field owns it, alone.
fn owners_of_phase(managers: &[ManagedFieldsEntry]) -> Vec<String> {
    let owns = |entry: &&ManagedFieldsEntry| {
        let fields = entry.fields_v1.as_ref().map(|fields| &fields.0);
        fields.is_some_and(|fields| !fields["f:status"]["f:phase"].is_null())
    };
    managers.iter().filter(owns).filter_map(|entry| entry.manager.clone()).collect()
}
