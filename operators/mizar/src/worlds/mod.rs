//! The worlds in which the operators are checked: small clusters, what happens to them, and what must hold.
//!
//! Each world has the operators of one workflow; what the others have done before is given. That is what the operators
//! themselves rely on: they share nothing but the objects and the tables.

mod deletions;
mod given;
mod properties;

use serde_json::json;
use windlass::{Controller, Service};
use windlass_check::{Check, ClientEvent, Faults, Oracle, check};

use crate::api::{Bouncer, Divider, Droplet, Endpoint, Phase, Subnet, Vpc, definitions};
use crate::builtins::{PodEndpoints, ServiceEndpoints};
use crate::droplets::{DaemonEvent, DaemonsModel, Droplets};
use crate::mistake::Mistake;
use crate::operators::{
    AllocationOperator, BouncerDividers, BouncerEndpoints, BouncerOperator, DividerBouncers, DividerOperator,
    DropletOperator, EndpointAddresses, EndpointBouncers, EndpointHost, NetworkOperator, Placement, Takes,
    VpcOperator,
};
use crate::settings::MizarSettings;
use crate::tables::Inventory;

use given::{bouncer, divider, droplet, endpoint, hosted, placed_divider, provisioned, scaled, subnet, vpc};

const VNI: u32 = 7;

/// A VPC is created, and deleted again: its divider is placed, and known to a bouncer.
pub fn vpc_lives(mistake: Option<Mistake>) -> Check {
    let of = settings(mistake);
    let given = Inventory { bouncers: vec![bouncer("net0-b-1", "d2")], ..Inventory::default() };
    let check = world(VpcOperator::new(&of), &given, &["d1", "d2"]);
    let check = properties::sees_each_step::<Vpc>(check, "create VPC");
    let check = properties::sees_each_step::<Divider>(check, "create divider");
    let check = deletions::sees_each_step::<Vpc>(check, "delete VPC", 2);
    deletions::sees_each_step::<Divider>(check, "delete divider", 2)
        .and(Controller::new(Placement::<Divider>::new(&of)))
        .and(Controller::new(DividerBouncers::new(&of)))
        .and(Controller::new(DividerOperator::new(&of)))
        .and(Controller::new(AllocationOperator::new(&of)))
        .client([
            ClientEvent::create(Vpc { status: None, ..vpc("vpc0", Some(VNI)) }),
            ClientEvent::wait_for::<Vpc>("vpc0", |vpc| vpc.state().phase == Phase::Provisioned),
            ClientEvent::delete::<Vpc>("vpc0"),
            ClientEvent::wait_for_deletion::<Vpc>("vpc0"),
        ])
        .faults(Faults::none().crashes(1))
        .never_between(
            "a VPC is Provisioned before its dividers",
            properties::provisioned_before_its_dividers,
        )
        .sometimes("the VPC is Provisioned", |world| {
            world.get::<Vpc>("vpc0").is_some_and(|vpc| vpc.state().phase == Phase::Provisioned)
        })
        .eventually("nothing is left", |world| {
            !world.has::<Vpc>("vpc0")
                && world.all::<Divider>().is_empty()
                && properties::no_claim_is_left(world)
        })
}

/// Two VPCs ask for the same VNI.
pub fn taken_vni(mistake: Option<Mistake>) -> Check {
    let of = settings(mistake);
    base(check(VpcOperator::new(&of)), &Inventory::default(), &["d1"])
        .and(Controller::new(AllocationOperator::new(&of)))
        .given(["vpc0", "vpc1"].map(|name| Vpc { status: None, ..vpc(name, Some(VNI)) }))
        .faults(Faults::none().crashes(1))
        .always("no two VPCs share a VNI", properties::vnis_differ)
        .eventually("both have one", |world| world.all::<Vpc>().iter().all(|vpc| vpc.state().vni.is_some()))
}

/// The number of dividers of a VPC grows and shrinks.
pub fn dividers_scale(mistake: Option<Mistake>) -> Check {
    let of = settings(mistake);
    let given = Inventory {
        dividers: vec![placed_divider("vpc0-d-1", "d1")],
        bouncers: vec![bouncer("net0-b-1", "d2")],
        ..Inventory::default()
    };
    let scaled =
        |dividers: u32| ClientEvent::patch::<Vpc>("vpc0", json!({ "spec": { "dividers": dividers } }));
    let works = |number: u32| {
        ClientEvent::wait_for::<Vpc>("vpc0", move |vpc| {
            vpc.state().phase == Phase::Provisioned && vpc.state().dividers == number
        })
    };
    world(VpcOperator::new(&of), &Inventory { dividers: Vec::new(), ..given }, &["d1", "d2"])
        .and(Controller::new(Placement::<Divider>::new(&of)))
        .and(Controller::new(DividerBouncers::new(&of)))
        .and(Controller::new(DividerOperator::new(&of)))
        .given([Vpc { status: None, ..vpc("vpc0", Some(VNI)) }])
        .client([works(1), scaled(2), works(2), scaled(1)])
        .eventually("there is one divider", |world| world.all::<Divider>().len() == 1)
        .sometimes("there are two", |world| world.all::<Divider>().len() == 2)
}

/// A network is created in a VPC, and deleted again.
pub fn network_lives(mistake: Option<Mistake>) -> Check {
    let of = settings(mistake);
    let given = Inventory { dividers: vec![placed_divider("vpc0-d-1", "d1")], ..Inventory::default() };
    let check = world(NetworkOperator::new(&of), &given, &["d1", "d2"]);
    let check = properties::sees_each_step::<Subnet>(check, "create network");
    let check = properties::sees_each_step::<Bouncer>(check, "create bouncer");
    deletions::sees_each_step::<Subnet>(check, "delete network", 2)
        .and(Controller::new(Placement::<Bouncer>::new(&of)))
        .and(Controller::new(BouncerEndpoints::new(&of)))
        .and(Controller::new(BouncerDividers::new(&of)))
        .and(Controller::new(BouncerOperator::new(&of)))
        .given([vpc("vpc0", Some(VNI))])
        .client([
            ClientEvent::create(Subnet { status: None, ..subnet("net0", "10.0.0.0", 29) }),
            ClientEvent::wait_for::<Subnet>("net0", |subnet| subnet.state().phase == Phase::Provisioned),
            ClientEvent::delete::<Subnet>("net0"),
            ClientEvent::wait_for_deletion::<Subnet>("net0"),
        ])
        .sometimes("the network is Provisioned", |world| {
            world.get::<Subnet>("net0").is_some_and(|subnet| subnet.state().phase == Phase::Provisioned)
        })
        .eventually("nothing is left", |world| {
            !world.has::<Subnet>("net0") && world.all::<Bouncer>().is_empty()
        })
}

/// An endpoint is created.
pub fn endpoint_is_created(mistake: Option<Mistake>) -> Check {
    let of = settings(mistake);
    properties::sees_each_step::<Endpoint>(endpoints(&of, &around_bouncer()), "create endpoint")
        .given([Endpoint { status: None, ..endpoint("p-a", "d2", None) }])
        .faults(Faults::none().crashes(1))
        .eventually("it is Provisioned", |world| {
            world.get::<Endpoint>("p-a").is_some_and(|endpoint| endpoint.state().phase == Phase::Provisioned)
        })
}

/// An endpoint is created while a daemon is away for a moment.
pub fn daemon_is_away(mistake: Option<Mistake>) -> Check {
    let droplet = || "d1".to_owned();
    endpoint_is_created(mistake)
        .client([
            happens(DaemonEvent::Leaves { droplet: droplet() }),
            happens(DaemonEvent::Returns { droplet: droplet() }),
        ])
        .faults(Faults::none())
}

/// An endpoint is deleted, and its neighbour stays.
pub fn endpoint_is_deleted(mistake: Option<Mistake>) -> Check {
    let of = settings(mistake);
    let mut known = hosted(endpoint("p-a", "d2", Some("10.0.0.3")));
    known.metadata.finalizers = Some(vec!["windlass.dev/mizar-endpoint-address".to_owned()]);
    let neighbour = hosted(endpoint("p-b", "d2", Some("10.0.0.4")));
    let given = Inventory { endpoints: vec![known, neighbour], ..around_bouncer() };
    let check = base(check(EndpointAddresses::new(&of, Takes::Simple)), &given, &["d1", "d2"]);
    deletions::sees_each_step::<Endpoint>(check, "delete endpoint", 2)
        .client([ClientEvent::delete::<Endpoint>("p-a")])
        .faults(Faults::none().crashes(1).duplicates().reorders())
        .eventually("nothing is left of it", |world| {
            !world.has::<Endpoint>("p-a") && properties::tables_match(world)
        })
}

/// An endpoint is deleted while its bouncer is programmed: what was asked for may arrive when the endpoint is gone.
pub fn endpoint_is_deleted_early(mistake: Option<Mistake>) -> Check {
    let of = settings(mistake);
    let mut addressed = endpoint("p-a", "d2", Some("10.0.0.3"));
    addressed.metadata.finalizers = Some(vec!["windlass.dev/mizar-endpoint-address".to_owned()]);
    let known = Inventory { bouncers: vec![bouncer("net0-b-1", "d1")], ..Inventory::default() };
    let given = Inventory { endpoints: vec![addressed], ..known.clone() };
    programming(base_knowing(
        check(EndpointAddresses::new(&of, Takes::Simple)),
        &given,
        &known,
        &["d1", "d2"],
    ))
    .and(Controller::new(EndpointBouncers::new(&of)))
    .client([ClientEvent::delete::<Endpoint>("p-a")])
    .faults(Faults::none().crashes(1))
    .eventually("it is gone", |world| !world.has::<Endpoint>("p-a"))
}

/// The endpoint of a service is deleted.
pub fn scaled_endpoint_is_deleted(mistake: Option<Mistake>) -> Check {
    let of = settings(mistake);
    let mut known = given::provisioned_at(given::with_backend(scaled("s-web")), "10.0.0.3");
    known.metadata.finalizers = Some(vec!["windlass.dev/mizar-scaled-endpoint".to_owned()]);
    let given = Inventory { endpoints: vec![known], ..around_bouncer() };
    base(check(EndpointAddresses::new(&of, Takes::Scaled)), &given, &["d1", "d2"])
        .client([ClientEvent::delete::<Endpoint>("s-web")])
        .faults(Faults::none().crashes(1).duplicates().reorders())
        .eventually("nothing is left of it", |world| {
            !world.has::<Endpoint>("s-web") && properties::tables_match(world)
        })
}

/// One of two bouncers of a network is deleted.
pub fn bouncer_is_deleted(mistake: Option<Mistake>) -> Check {
    let of = settings(mistake);
    let mut deleted = bouncer("net0-b-2", "d2");
    deleted.metadata.finalizers = Some(vec!["windlass.dev/mizar-bouncer".to_owned()]);
    let given = Inventory {
        dividers: vec![placed_divider("vpc0-d-1", "d1")],
        bouncers: vec![bouncer("net0-b-1", "d1"), deleted],
        endpoints: vec![hosted(endpoint("p-a", "d3", Some("10.0.0.3")))],
    };
    let check = world(BouncerOperator::new(&of), &given, &["d1", "d2", "d3"]);
    deletions::sees_each_step::<Bouncer>(check, "delete bouncer", 4)
        .client([ClientEvent::delete::<Bouncer>("net0-b-2")])
        .faults(Faults::none().crashes(1))
        .eventually("it is gone", |world| !world.has::<Bouncer>("net0-b-2"))
}

/// A network with a divider and a bouncer, both on the first droplet.
fn around_bouncer() -> Inventory {
    Inventory {
        dividers: vec![placed_divider("vpc0-d-1", "d1")],
        bouncers: vec![bouncer("net0-b-1", "d1")],
        ..Inventory::default()
    }
}

/// Two endpoints in a network with one address: the second gets it when the first is deleted.
pub fn address_is_reused(mistake: Option<Mistake>) -> Check {
    let of = settings(mistake);
    let given = Inventory::default();
    base(check(EndpointAddresses::new(&of, Takes::Simple)), &given, &["d1", "d2"])
        .and(Controller::new(AllocationOperator::new(&of)))
        .given([vpc("vpc0", Some(VNI))])
        .given([subnet("net0", "10.0.0.0", 30)])
        .given(["p-a", "p-b"].map(|name| Endpoint { status: None, ..endpoint(name, "d2", None) }))
        .client([ClientEvent::delete::<Endpoint>("p-a")])
        .faults(Faults::none().crashes(1))
        .sometimes("the first has it", |world| has_address(world, "p-a"))
        .eventually("the second has it", |world| has_address(world, "p-b"))
}

/// The endpoint of a network with one address is deleted, and another one of its name created.
pub fn endpoint_is_created_again(mistake: Option<Mistake>) -> Check {
    let of = settings(mistake);
    let created = || Endpoint { status: None, ..endpoint("p-a", "d2", None) };
    base(check(EndpointAddresses::new(&of, Takes::Simple)), &Inventory::default(), &["d1", "d2"])
        .and(Controller::new(AllocationOperator::new(&of)))
        .given([vpc("vpc0", Some(VNI))])
        .given([subnet("net0", "10.0.0.0", 30)])
        .given([created()])
        .client([
            ClientEvent::wait_until("it has an address", |world| has_address(world, "p-a")),
            ClientEvent::delete::<Endpoint>("p-a"),
            ClientEvent::wait_for_deletion::<Endpoint>("p-a"),
            ClientEvent::create(created()),
        ])
        .faults(Faults::none().crashes(1))
        .eventually("it has an address", |world| has_address(world, "p-a"))
}

/// Two pods of one name, each in a namespace of its own.
pub fn pods_of_one_name(mistake: Option<Mistake>) -> Check {
    const NAMESPACES: [&str; 2] = ["default", "other"];
    let of = settings(mistake);
    base(check(PodEndpoints::new(&of)), &Inventory::default(), &[])
        .given([given::namespace("other")])
        .given([subnet("net0", "10.0.0.0", 29)])
        .given(NAMESPACES.map(|namespace| given::pod("a", namespace, "d1")))
        .faults(Faults::none().crashes(1))
        .eventually("each has an endpoint", |world| {
            let all = world.all::<Endpoint>();
            let of =
                |namespace: &str| all.iter().any(|one| one.metadata.namespace.as_deref() == Some(namespace));
            NAMESPACES.into_iter().all(of)
        })
}

/// A service with a named port and a pod behind it.
pub fn service_has_named_ports(mistake: Option<Mistake>) -> Check {
    let of = settings(mistake);
    let endpoints = vec![hosted(endpoint("p-a", "d1", Some("10.0.0.3")))];
    base(check(ServiceEndpoints::new(&of)), &Inventory { endpoints, ..Inventory::default() }, &["d1"])
        .given([subnet("net0", "10.0.0.0", 29)])
        .given([given::service(
            "web",
            json!([
                { "name": "http", "port": 80, "targetPort": "http" },
                { "name": "dns", "port": 53, "protocol": "UDP", "targetPort": "dns" },
            ]),
        )])
        .given([given::slice(
            "web",
            "a",
            json!([
                { "name": "dns", "port": 5353, "protocol": "UDP" }, { "name": "http", "port": 8080 },
            ]),
        )])
        .faults(Faults::none().crashes(1))
        .eventually("packets go to the ports of the pod", |world| {
            let ports = world.get::<Endpoint>("s-web").map(|service| {
                let targets = service.spec.backends.iter().flat_map(|backend| &backend.targets);
                targets.map(|target| (target.port, target.target_port)).collect::<Vec<_>>()
            });
            ports.is_some_and(|mut ports| {
                ports.sort_unstable();
                ports == [(53, 5353), (80, 8080)]
            })
        })
}

/// A service whose backends come and go.
pub fn backends_change(mistake: Option<Mistake>) -> Check {
    let of = settings(mistake);
    let given = Inventory { bouncers: vec![bouncer("net0-b-1", "d1")], ..Inventory::default() };
    let backends = |ips: &[&str]| {
        let targets = json!([{ "port": 80, "protocol": "TCP", "targetPort": 8080 }]);
        let backends: Vec<_> = ips.iter().map(|ip| json!({ "ip": ip, "targets": targets })).collect();
        ClientEvent::patch::<Endpoint>("s-web", json!({ "spec": { "backends": backends } }))
    };
    let check = world(EndpointAddresses::new(&of, Takes::Scaled), &given, &["d1", "d2"]);
    let check = properties::sees_each_step::<Endpoint>(check, "create scaled endpoint");
    properties::sees_each_step::<Endpoint>(check, "update scaled endpoint")
        .and(Controller::new(EndpointBouncers::new(&of)))
        .given([vpc("vpc0", Some(VNI))])
        .given([subnet("net0", "10.0.0.0", 29)])
        .given([Endpoint { status: None, ..scaled("s-web") }])
        .client([
            backends(&["10.0.0.3"]),
            ClientEvent::wait_for::<Endpoint>("s-web", |endpoint| {
                endpoint.state().phase == Phase::Provisioned
            }),
            backends(&[]),
        ])
        .faults(Faults::none().crashes(1))
}

/// A bouncer is placed while an endpoint gets its address: whoever comes later programs both sides.
pub fn bouncer_meets_endpoint(mistake: Option<Mistake>) -> Check {
    let of = settings(mistake);
    let mut late = bouncer("net0-b-1", "d1");
    late.status = None;
    let given = Inventory { bouncers: vec![late], ..Inventory::default() };
    let mut there = endpoint("p-a", "d2", Some("10.0.0.3"));
    let status = serde_json::to_value(there.status.take()).unwrap_or_default();
    world(BouncerEndpoints::new(&of), &given, &["d1", "d2"])
        .and(Controller::new(EndpointBouncers::new(&of)))
        .and(Controller::new(EndpointHost::new(&of)))
        .given([there])
        .client([ClientEvent::patch_status::<Bouncer>("net0-b-1", json!({ "status": {
            "phase": "Provisioned", "vni": VNI, "droplet": "d1", "ip": "192.168.0.1", "mac": "02:00:00:00:00:01",
            "conditions": given::done(&["Placed", "DividersKnown", "DividerReady"]),
        } }))])
        .client([ClientEvent::patch_status::<Endpoint>("p-a", json!({ "status": status }))])
        .faults(Faults::none().crashes(1))
        .may_differ(["/status/bouncers", "/status/endpoints"])
}

/// A divider and a bouncer are placed at the same time.
pub fn divider_meets_bouncer(mistake: Option<Mistake>) -> Check {
    let of = settings(mistake);
    let placed = bouncer("net0-b-1", "d2");
    let late = Bouncer { status: None, ..placed.clone() };
    let given =
        Inventory { dividers: vec![divider("vpc0-d-1")], bouncers: vec![late], ..Inventory::default() };
    // What the endpoint operator programs is there: the gateway.
    let known = Inventory { bouncers: vec![placed], ..Inventory::default() };
    programming(base_knowing(check(DividerBouncers::new(&of)), &given, &known, &["d1", "d2"]))
        .and(Controller::new(BouncerDividers::new(&of)))
        .client([ClientEvent::patch_status::<Divider>("vpc0-d-1", json!({ "status": given::place("d1") }))])
        .client([ClientEvent::patch_status::<Bouncer>(
            "net0-b-1",
            json!({ "status": given::known_place("d2") }),
        )])
        .may_differ(["/status/bouncers", "/status/dividers"])
}

/// A second divider is placed: the bouncer must know both from then on.
pub fn second_divider(mistake: Option<Mistake>) -> Check {
    let of = settings(mistake);
    let given = Inventory {
        dividers: vec![placed_divider("vpc0-d-1", "d1"), divider("vpc0-d-2")],
        bouncers: vec![bouncer("net0-b-1", "d2")],
        ..Inventory::default()
    };
    world(DividerBouncers::new(&of), &given, &["d1", "d2", "d3"])
        .client([ClientEvent::patch_status::<Divider>("vpc0-d-2", json!({ "status": given::place("d3") }))])
        .faults(Faults::none().crashes(1))
}

/// A droplet is lost for good: its bouncer is placed on another one.
pub fn droplet_is_lost(mistake: Option<Mistake>) -> Check {
    let of = settings(mistake);
    let bouncers = vec![provisioned(bouncer("net0-b-1", "d1"))];
    let endpoints = vec![hosted(endpoint("p-a", "d2", Some("10.0.0.3")))];
    let given = Inventory { bouncers, endpoints, ..Inventory::default() };
    world(DropletOperator::new(&of), &given, &["d1", "d2"])
        .and(Controller::new(Placement::<Bouncer>::new(&of)))
        .and(Controller::new(BouncerEndpoints::new(&of)))
        .and(Controller::new(BouncerDividers::new(&of)))
        .given([vpc("vpc0", Some(VNI))])
        .client([happens(DaemonEvent::Leaves { droplet: "d1".to_owned() })])
        .faults(Faults::none().crashes(1))
        .eventually("the bouncer is elsewhere", |world| {
            world.get::<Bouncer>("net0-b-1").is_some_and(|bouncer| {
                bouncer.state().droplet.as_deref() == Some("d2")
                    && bouncer.state().phase == Phase::Provisioned
            })
        })
}

/// A droplet comes, and another one is deleted: its bouncer is placed elsewhere first.
pub fn droplets_come_and_go(mistake: Option<Mistake>) -> Check {
    let of = settings(mistake);
    let given = Inventory { bouncers: vec![provisioned(bouncer("net0-b-1", "d1"))], ..Inventory::default() };
    let check = world(DropletOperator::new(&of), &given, &["d1", "d2"]);
    properties::sees_each_step::<Droplet>(check, "create droplet")
        .and(Controller::new(Placement::<Bouncer>::new(&of)))
        .and(Controller::new(BouncerEndpoints::new(&of)))
        .and(Controller::new(BouncerDividers::new(&of)))
        .given([vpc("vpc0", Some(VNI))])
        .client([
            ClientEvent::patch_status::<Droplet>("d2", json!({ "status": null })),
            ClientEvent::wait_for::<Droplet>("d2", |droplet| droplet.state().phase == Phase::Provisioned),
            ClientEvent::delete::<Droplet>("d1"),
        ])
        .eventually("the droplet is gone, and its bouncer elsewhere", |world| {
            !world.has::<Droplet>("d1")
                && world
                    .get::<Bouncer>("net0-b-1")
                    .is_some_and(|one| one.state().droplet.as_deref() == Some("d2"))
        })
}

/// A daemon is restarted, and has lost its tables.
pub fn daemon_restarts(mistake: Option<Mistake>) -> Check {
    let of = settings(mistake);
    let given = Inventory {
        bouncers: vec![provisioned(bouncer("net0-b-1", "d1"))],
        endpoints: vec![hosted(endpoint("p-a", "d2", Some("10.0.0.3")))],
        ..Inventory::default()
    };
    let restarts = |droplet: &str| happens(DaemonEvent::Restarts { droplet: droplet.to_owned() });
    world(DropletOperator::new(&of), &given, &["d1", "d2"])
        .client([restarts("d1")])
        .client([
            happens(DaemonEvent::Leaves { droplet: "d2".to_owned() }),
            happens(DaemonEvent::Returns { droplet: "d2".to_owned() }),
        ])
        .faults(Faults::none().crashes(1))
}

/// One VPC, two networks with a bouncer each, two endpoints and one of a service, three droplets, all operators, and everything
/// that can go wrong: for simulation.
pub fn whole(mistake: Option<Mistake>) -> Check {
    let of = settings(mistake);
    let mut controllers = crate::operators::all(&of).into_iter();
    let Some(first) = controllers.next() else { unreachable!("there are operators") };
    let first = base(Check::new(first), &Inventory::default(), &["d1", "d2", "d3"]);
    programming(controllers.fold(first, Check::and))
        .given([Vpc { status: None, ..vpc("vpc0", Some(VNI)) }])
        .given([
            Subnet { status: None, ..subnet("net0", "10.0.0.0", 24) },
            Subnet { status: None, ..subnet("net1", "10.0.1.0", 24) },
        ])
        .client([
            ClientEvent::create(Endpoint { status: None, ..endpoint("p-a", "d1", None) }),
            ClientEvent::create(Endpoint { status: None, ..given::endpoint_in("p-b", "net1", "d2", None) }),
            ClientEvent::create(given::with_backend(scaled("s-web"))),
            ClientEvent::wait_for::<Endpoint>("p-a", |endpoint| endpoint.state().phase == Phase::Provisioned),
            ClientEvent::delete::<Endpoint>("p-a"),
            ClientEvent::delete::<Endpoint>("s-web"),
            ClientEvent::delete::<Subnet>("net0"),
        ])
        .client([happens(DaemonEvent::Restarts { droplet: "d1".to_owned() })])
        .client([happens(DaemonEvent::DropsTraces { droplet: "d2".to_owned() })])
        .client([happens(DaemonEvent::Leaves { droplet: "d3".to_owned() })])
        .faults(Faults::none().crashes(2).duplicates().reorders().lost_replies(1).lost_requests(1).stale(1))
        .never_between(
            "a VPC is Provisioned before its dividers",
            properties::provisioned_before_its_dividers,
        )
        .eventually("what is not deleted is Provisioned", |world| {
            let endpoint = world.get::<Endpoint>("p-b");
            endpoint.is_some_and(|endpoint| endpoint.state().phase == Phase::Provisioned)
                && !world.has::<Endpoint>("p-a")
                && !world.has::<Endpoint>("s-web")
                && !world.has::<Subnet>("net0")
        })
}

/// The operators of endpoints, around a bouncer that is placed.
fn endpoints(of: &MizarSettings, given: &Inventory) -> Check {
    world(EndpointAddresses::new(of, Takes::Simple), given, &["d1", "d2"])
        .and(Controller::new(EndpointBouncers::new(of)))
        .and(Controller::new(EndpointHost::new(of)))
        .given([vpc("vpc0", Some(VNI))])
        .given([subnet("net0", "10.0.0.0", 29)])
}

/// What all worlds have in common in which operators program droplets.
fn world<M: windlass::Machine>(machine: M, given: &Inventory, droplets: &[&str]) -> Check {
    programming(base(check(machine), given, droplets))
}

fn programming(check: Check) -> Check {
    check.eventually("tables are what the objects say", properties::tables_match)
}

fn base(check: Check, given: &Inventory, droplets: &[&str]) -> Check {
    base_knowing(check, given, given, droplets)
}

/// These objects, and daemons that have the rows of others.
fn base_knowing(check: Check, given: &Inventory, known: &Inventory, droplets: &[&str]) -> Check {
    let daemons = DaemonsModel::with_rows_of(known, droplets);
    let daemons = serde_json::to_value(daemons).unwrap_or_default();
    definitions()
        .iter()
        .fold(check, |check, definition| check.crd(definition))
        .service(Droplets::NAME, daemons, DaemonsModel::answer)
        .service_reads(Droplets::NAME, |request| request["call"] == "info" || request["call"] == "read")
        // Generations of rows say how often something was tried.
        .service_may_differ(Droplets::NAME)
        // Where something is placed, and which address it gets, depends on who came first.
        .without(Oracle::OneResult)
        .given(droplets.iter().enumerate().map(|(index, name)| droplet(name, index)))
        .given(given.dividers.clone())
        .given(given.bouncers.clone())
        .given(given.endpoints.clone())
        .always("no two endpoints of a VPC share an address", properties::addresses_differ)
        .always(
            "addresses are in their network, and MAC addresses are unicast",
            properties::addresses_are_usable,
        )
        .never_between("a phase is moved by another than its operator", properties::is_moved_by_a_stranger)
        .never_between("a step of a workflow is done before the one before it", properties::is_out_of_order)
        .never_between("a step of a deletion is done before the one before it", deletions::is_out_of_order)
        .eventually("every claim has its holder", properties::claims_have_holders)
}

/// Times do not pass in a check, so a daemon that is away is lost at once.
fn settings(mistake: Option<Mistake>) -> MizarSettings {
    MizarSettings { lost_after: std::time::Duration::ZERO, mistake, ..MizarSettings::default() }
}

fn happens(event: DaemonEvent) -> ClientEvent {
    ClientEvent::call(event.clone(), &event)
}

fn has_address(world: &windlass_check::View<'_>, name: &str) -> bool {
    world.get::<Endpoint>(name).is_some_and(|endpoint| endpoint.state().address.ip.is_some())
}
