//! Which faults happen when: drawn from a seed, in rounds.
//!
//! Most rounds have one fault, so that what follows is measured by itself; others have several that overlap.

use crate::random::Random;

use super::{Direction, Fault, Silence};

/// Where faults are to happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scene {
    /// Number of instances.
    pub instances: usize,
    /// L, in milliseconds.
    pub lease_ms: u64,
    /// How long objects of a failed instance may go unwritten, in milliseconds.
    pub bar_ms: u64,
    /// How long faults go on, in milliseconds.
    pub duration_ms: u64,
    /// Whether the registry is a server of its own.
    pub has_registry: bool,
    /// Whether clocks can be made to jump.
    pub has_clocks: bool,
}

/// A fault with its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planned {
    /// When it begins, in milliseconds since the first one may.
    pub from_ms: u64,
    /// When it is over.
    pub until_ms: u64,
    /// What it is.
    pub fault: Fault,
}

/// What a round may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Kill,
    /// The process is back before anybody has missed it.
    KillBriefly,
    Terminate,
    /// For less than the lease.
    PauseBriefly,
    Pause,
    Partition,
    PartitionSilently,
    LoseRegistry,
    JumpClock,
    RestartServer,
    RestartRegistry,
    /// Several faults that overlap.
    Storm,
}

/// The faults of a seed, in the order in which they begin.
pub fn schedule(seed: u64, scene: &Scene) -> Vec<Planned> {
    let mut random = Random::new(seed);
    let mut planned = Vec::new();
    let mut deck = Vec::new();
    let mut now = 0;
    while now < scene.duration_ms {
        if deck.is_empty() {
            // Each kind once before any of them comes again: a short run has seen most of them.
            deck = kinds(scene);
            random.shuffle(&mut deck);
        }
        let Some(kind) = deck.pop() else { break };
        let round = round(kind, now, scene, &mut random);
        let over = round.iter().map(|fault| fault.until_ms.max(fault.from_ms + scene.bar_ms)).max();
        planned.extend(round);
        now = over.unwrap_or(now) + random.between(500, 2_500);
    }
    planned.retain(|fault| fault.from_ms < scene.duration_ms);
    planned.sort_by_key(|fault| fault.from_ms);
    planned
}

fn kinds(scene: &Scene) -> Vec<Kind> {
    let mut kinds = vec![
        Kind::Kill,
        Kind::KillBriefly,
        Kind::Terminate,
        Kind::PauseBriefly,
        Kind::Pause,
        Kind::Partition,
        Kind::PartitionSilently,
        Kind::RestartServer,
        Kind::Storm,
    ];
    if scene.has_registry {
        kinds.extend([Kind::LoseRegistry, Kind::RestartRegistry]);
    }
    if scene.has_clocks {
        kinds.push(Kind::JumpClock);
    }
    kinds
}

fn round(kind: Kind, now: u64, scene: &Scene, random: &mut Random) -> Vec<Planned> {
    if kind == Kind::Storm {
        return storm(now, scene, random);
    }
    let instance = random.below(scene.instances as u64) as usize;
    vec![single(kind, instance, now, scene, random)]
}

/// Two or three instances fail within the time that it takes to notice the first; at least one stays.
fn storm(now: u64, scene: &Scene, random: &mut Random) -> Vec<Planned> {
    let mut instances: Vec<usize> = (0..scene.instances).collect();
    random.shuffle(&mut instances);
    instances.truncate(3.min(scene.instances.saturating_sub(1)));
    let mut faults = [Kind::Kill, Kind::Pause, Kind::Partition, Kind::KillBriefly, Kind::PartitionSilently];
    random.shuffle(&mut faults);
    let mut at = now;
    let mut planned = Vec::new();
    for (instance, kind) in instances.into_iter().zip(faults) {
        planned.push(single(kind, instance, at, scene, random));
        at += random.between(0, scene.lease_ms);
    }
    planned
}

fn single(kind: Kind, instance: usize, now: u64, scene: &Scene, random: &mut Random) -> Planned {
    let Scene { lease_ms, bar_ms, .. } = *scene;
    // Long enough for others to take over, or short enough for them not to.
    let long = random.between(lease_ms + lease_ms / 2, bar_ms.max(lease_ms * 2) + 2_000);
    let brief = random.between(lease_ms / 6, lease_ms * 2 / 3);
    let direction = if random.below(2) == 0 { Direction::Forwards } else { Direction::Backwards };
    let (fault, lasts) = match kind {
        Kind::Kill | Kind::Storm => (Fault::Kill(instance), long),
        Kind::KillBriefly => (Fault::Kill(instance), random.between(50, 1_000)),
        Kind::Terminate => (Fault::Terminate(instance), random.between(2_000, lease_ms)),
        Kind::PauseBriefly => (Fault::Pause(instance), brief),
        Kind::Pause => (Fault::Pause(instance), long),
        Kind::Partition => (Fault::Partition(instance, Silence::Loud), long),
        Kind::PartitionSilently => (Fault::Partition(instance, Silence::Silent), long),
        Kind::LoseRegistry => (Fault::LoseRegistry(instance), long),
        Kind::JumpClock => (Fault::JumpClock(instance, direction), long),
        Kind::RestartServer => (Fault::RestartServer, random.between(50, lease_ms)),
        Kind::RestartRegistry => (Fault::RestartRegistry, random.between(50, lease_ms)),
    };
    Planned { from_ms: now, until_ms: now + lasts, fault }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const SCENE: Scene = Scene {
        instances: 5,
        lease_ms: 6_000,
        bar_ms: 9_000,
        duration_ms: 1_200_000,
        has_registry: true,
        has_clocks: true,
    };

    #[test]
    fn seed_draws_the_same_faults_again() {
        assert_eq!(schedule(7, &SCENE), schedule(7, &SCENE));
        assert_ne!(schedule(7, &SCENE), schedule(8, &SCENE));
    }

    #[test]
    fn twenty_minutes_have_every_kind_of_fault() {
        for seed in 0..100 {
            let planned = schedule(seed, &SCENE);
            let kinds: BTreeSet<&str> = planned.iter().map(|planned| planned.fault.kind()).collect();
            assert_eq!(kinds.len(), 9, "{kinds:?}");
            assert!(planned.len() > 70, "{}", planned.len());
        }
    }

    #[test]
    fn no_fault_hits_an_instance_that_is_down_and_one_always_stays() {
        for seed in 0..100 {
            let planned = schedule(seed, &SCENE);
            for (place, one) in planned.iter().enumerate() {
                let overlapping = planned[..place].iter().filter(|other| other.until_ms > one.from_ms);
                let hit: Vec<_> = overlapping.map(|other| other.fault.instance()).collect();
                assert!(!hit.contains(&one.fault.instance()), "{planned:?}");
                assert!(hit.len() < SCENE.instances - 1, "{planned:?}");
            }
        }
    }

    #[test]
    fn servers_that_are_not_there_are_spared() {
        let scene = Scene { has_registry: false, has_clocks: false, instances: 1, ..SCENE };
        for planned in schedule(1, &scene) {
            let fault = planned.fault;
            assert!(!matches!(fault, Fault::LoseRegistry(_) | Fault::RestartRegistry | Fault::JumpClock(..)));
        }
    }
}
