//! The checks that come with the command line.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::CustomResourceExt;
use two_configmaps::{Pair, SecondFirst, TwoConfigMaps, pair};
use windlass::Machine;
use windlass_check::{Check, Faults, View, check};
use windlass_klight::network::{LightNetworks, Mistake, worlds};

/// A check that comes with the command line.
pub(crate) struct Bundled {
    /// What it is called on the command line, and in counterexamples.
    pub(crate) name: &'static str,
    /// What it checks, in one line.
    pub(crate) about: &'static str,
    /// Whether it is broken on purpose, to show how a mistake is found.
    pub(crate) is_specimen: bool,
    /// The check itself.
    pub(crate) check: fn() -> Check,
}

/// All of them, in the order of the list: our own, and the broken ones of the zoo.
pub(crate) fn all() -> Vec<Bundled> {
    let zoo = windlass_zoo::all().into_iter().map(|specimen| Bundled {
        name: specimen.name,
        about: specimen.story,
        is_specimen: true,
        check: specimen.broken,
    });
    OWN.into_iter().chain(zoo).collect()
}

const OWN: [Bundled; 5] = [
    Bundled {
        name: "two-configmaps",
        about: "for each Pair two ConfigMaps, the second only after the first",
        is_specimen: false,
        check: || pairs(TwoConfigMaps),
    },
    Bundled {
        name: "second-first",
        about: "the same with the two in the wrong order",
        is_specimen: true,
        check: || pairs(SecondFirst),
    },
    Bundled {
        name: "web-app",
        about: "a WebApp with a name in a DNS outside is deleted, and nothing is left",
        is_specimen: false,
        check: web_app::worlds::deleted,
    },
    Bundled {
        name: "klight",
        about: "three pods in two networks; one dies, and another gets its address",
        is_specimen: false,
        check: || worlds::reused_address(LightNetworks::default()),
    },
    Bundled {
        name: "klight-by-address",
        about: "the same with contacts that are identified only by their address",
        is_specimen: true,
        check: || worlds::reused_address(LightNetworks::default().with_mistake(Mistake::KnowsAddressesOnly)),
    },
];

/// The check of a name.
pub(crate) fn by_name(name: &str) -> Option<Bundled> {
    all().into_iter().find(|known| known.name == name)
}

/// Two pairs, one crash, duplicates and reordering, for a controller of pairs.
pub(crate) fn pairs(machine: impl Machine<Parent = Pair>) -> Check {
    let has = |world: &View<'_>, pair: &str, map: &str| world.has::<ConfigMap>(&format!("{pair}-{map}"));
    check(machine)
        .crd(&Pair::crd())
        .given([pair("a"), pair("b")])
        .faults(Faults::none().crashes(1).duplicates().reorders())
        .always("cm2 implies cm1", move |world| {
            ["a", "b"].iter().all(|pair| !has(world, pair, "cm2") || has(world, pair, "cm1"))
        })
        .eventually("both exist and stay", move |world| {
            ["a", "b"].iter().all(|pair| has(world, pair, "cm1") && has(world, pair, "cm2"))
        })
        .sometimes("only the first exists", move |world| has(world, "a", "cm1") && !has(world, "a", "cm2"))
}
