//! The checks that come with the command line.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::CustomResourceExt;
use two_configmaps::{Pair, SecondFirst, TwoConfigMaps, pair};
use windlass::Machine;
use windlass_app::{AppCheck, ProtocolWorld};
use windlass_check::{Check, Faults, View, check};
use windlass_klight::network::{LightNetworks, Mistake, worlds};

/// All of them, in the order of the list: our own, and the broken ones of the zoo.
pub(crate) fn all() -> Vec<AppCheck> {
    let by_address = || LightNetworks::default().with_mistake(Mistake::KnowsAddressesOnly);
    let own = [
        AppCheck::new(
            "two-configmaps",
            "for each Pair two ConfigMaps, the second only after the first",
            || pairs(TwoConfigMaps),
        ),
        AppCheck::new("second-first", "the same with the two in the wrong order", || pairs(SecondFirst))
            .specimen(),
        AppCheck::new(
            "web-app",
            "a WebApp with a name in a DNS outside is deleted, and nothing is left",
            web_app::worlds::deleted,
        ),
        AppCheck::new("klight", "three pods in two networks; one dies, and another gets its address", || {
            worlds::reused_address(LightNetworks::default())
        }),
        AppCheck::new(
            "klight-by-address",
            "the same with contacts that are identified only by their address",
            move || worlds::reused_address(by_address()),
        )
        .specimen(),
        AppCheck::new(
            "mizar-endpoint-created",
            "an endpoint gets an address, and its bouncer and its droplet know it",
            || windlass_mizar::worlds::endpoint_is_created(None),
        ),
        AppCheck::new("mizar-address-reused", "two endpoints want the same address; one is deleted", || {
            windlass_mizar::worlds::address_is_reused(None)
        }),
        AppCheck::new(
            "mizar-daemon-restarted",
            "the daemon of a droplet is restarted, and another one is away for a while",
            || windlass_mizar::worlds::daemon_restarts(None),
        ),
        AppCheck::protocol(
            "sharding",
            "which instance of a fleet owns which slot: never two, and never none for good",
            windlass_shard::model::worlds().into_iter().map(sharding_world),
        ),
    ];
    let zoo = windlass_zoo::all().into_iter();
    let zoo = zoo.map(|specimen| AppCheck::new(specimen.name, specimen.story, specimen.broken).specimen());
    own.into_iter().chain(zoo).collect()
}

fn sharding_world(named: windlass_shard::model::NamedWorld) -> ProtocolWorld {
    let world = ProtocolWorld::new(named.name, named.about, named.world).states(named.states);
    if named.small { world } else { world.large() }
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
