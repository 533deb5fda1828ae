//! A world by its name: a twin of the zoo, or a seed.

use std::fmt;
use std::str::FromStr;

use anyhow::{Context, Error, Result, bail};
use kube::CustomResourceExt;
use serde_json::json;
use windlass::{Controller, Service};
use windlass_check::Check;
use windlass_zoo::Twin;

use crate::generate;
use crate::machine::{Copier, Register, Thing, config_map, is_read, respond, thing};
use crate::world::{Object, World as Generated};

/// What the words of a world that is drawn from a seed begin with.
const SEED: &str = "seed:";

/// Names a world. Its text names it too, also to another process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum World {
    /// A controller of the zoo, by the name of its specimen: `late_write_without_a_version:broken`.
    Zoo(&'static str, Twin),
    /// A world that is drawn from a seed: `seed:17`.
    Seed(u64),
}

/// Both twins of every specimen.
pub fn zoo_worlds() -> Vec<World> {
    let twins = |name| [World::Zoo(name, Twin::Broken), World::Zoo(name, Twin::Repaired)];
    windlass_zoo::all().into_iter().flat_map(|specimen| twins(specimen.name)).collect()
}

impl World {
    /// The check of this world. A world that is drawn from a seed has no rules.
    ///
    /// # Panics
    /// If it is of the zoo, and not in it.
    pub fn check(&self) -> Check {
        match self {
            World::Zoo(name, twin) => {
                let specimen = windlass_zoo::all().into_iter().find(|specimen| specimen.name == *name);
                let specimen = specimen.expect("the specimen is in the zoo");
                match twin {
                    Twin::Broken => (specimen.broken)(),
                    Twin::Repaired => (specimen.repaired)(),
                }
            }
            World::Seed(seed) => check(&generate::world(*seed)),
        }
    }

    /// Whether its end may depend on what is different on every API server, or takes longer than a test should: it
    /// writes versions or uids into objects, asks for the time or waits for a timer; or on which of several processes of a controller leads,
    /// which the checker does not know; or on caches that are behind, which nothing here holds back.
    pub fn is_not_for_real_processes(&self) -> bool {
        let World::Seed(seed) = self else { return false };
        let world = generate::world(*seed);
        if world.replicas > 1 || world.budget.stale > 0 {
            return true;
        }
        let programs = format!("{:?}", world.programs);
        ["ParentVersion", "ParentUid", "ReadVersion", "Requeue", "Clock"]
            .iter()
            .any(|word| programs.contains(word))
    }

    /// Everything that is needed to read a disagreement.
    pub fn in_words(&self) -> String {
        match self {
            World::Zoo(name, twin) => format!("zoo/src/{name}.rs, the {twin:?} twin\n"),
            World::Seed(seed) => generate::world(*seed).to_string(),
        }
    }
}

fn check(world: &Generated) -> Check {
    let mut controllers = world.programs.iter().cloned().map(Controller::new);
    let first = controllers.next().expect("a world has a controller");
    let check = controllers.fold(Check::new(first), Check::and).crd(&Thing::crd());
    let check = if world.has_copier { check.and(Controller::new(Copier)) } else { check };
    let given = |check: Check, object: &Object| match object.is_parent {
        true => check.given([thing(object.name, object.value)]),
        false => check.given([config_map(object.name, object.value)]),
    };
    let check = world.given.iter().fold(check, given);
    let scripts = world.scripts.iter();
    let check =
        scripts.fold(check, |check, script| check.client(script.iter().map(|event| event.for_checker())));
    let check = match world.has_service {
        true => check.service(Register::NAME, json!("0"), respond).service_reads(Register::NAME, is_read),
        false => check,
    };
    check.workers(world.workers).replicas(world.replicas).faults(world.budget.faults())
}

impl fmt::Display for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            World::Zoo(name, Twin::Broken) => write!(f, "{name}:broken"),
            World::Zoo(name, Twin::Repaired) => write!(f, "{name}:repaired"),
            World::Seed(seed) => write!(f, "{SEED}{seed}"),
        }
    }
}

impl FromStr for World {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if let Some(seed) = text.strip_prefix(SEED) {
            return Ok(World::Seed(seed.parse().with_context(|| format!("`{seed}` is no seed"))?));
        }
        match zoo_worlds().into_iter().find(|world| world.to_string() == text) {
            Some(world) => Ok(world),
            None => {
                bail!("there is no world `{text}`: say SPECIMEN:broken, SPECIMEN:repaired or {SEED}NUMBER")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_world_is_found_by_its_text() {
        for world in zoo_worlds().into_iter().chain([World::Seed(17)]) {
            assert_eq!(world.to_string().parse::<World>().unwrap(), world);
        }
        assert!("nowhere:broken".parse::<World>().is_err());
    }
}
