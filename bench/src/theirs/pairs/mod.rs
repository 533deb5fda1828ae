//! The world of the two ConfigMaps, written by hand for stateright.
//!
//! The same hosts, faults and requests that Windlass has when it checks `examples/01-two-configmaps`: both arrive
//! at the same number of states, with any combination of faults. What the framework's reconcile remembers, this
//! one remembers too.

mod controller;
mod database;
mod network;

use stateright::{Model, Property};

use crate::subject::PairsBounds;
use controller::{Controller, Reconcile};
use database::{Child, Database, Name, Request};
use network::Network;

/// The world within some bounds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pairs(pub(crate) PairsBounds);

/// All hosts together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct World {
    database: Database,
    network: Network,
    controller: Controller,
    crashes_left: u8,
}

/// Something that happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Notify(Name),
    NotifyAgain(Name),
    Timer(Name),
    Start,
    Deliver,
    DeliverAgain,
    Reply(database::Reply),
    Late(usize),
    Duplicate(Request),
    Crash,
}

impl Model for Pairs {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        let names = &[Name::A, Name::B][..self.0.pairs];
        let database = Database::new(names);
        let controller = Controller { fresh: database.names().collect(), ..Controller::default() };
        vec![World { database, network: Network::default(), controller, crashes_left: self.0.crashes }]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        self.controller_actions(world, actions);
        for (index, request) in world.network.late.iter().enumerate() {
            let earlier = &world.network.late[..index];
            if !earlier.contains(request) {
                actions.push(Action::Late(index));
            }
        }
        actions.extend(world.network.copies.iter().copied().map(Action::Duplicate));
        if world.crashes_left > 0 {
            actions.push(Action::Crash);
        }
    }

    fn next_state(&self, before: &World, action: Action) -> Option<World> {
        let mut world = before.clone();
        let controller = &mut world.controller;
        match action {
            Action::Notify(name) => {
                controller.fresh.remove(&name);
                if self.0.duplicates {
                    controller.notified.insert(name);
                }
                controller.enqueue(name);
            }
            Action::NotifyAgain(name) => controller.enqueue(name),
            Action::Timer(name) => {
                controller.timers.remove(&name);
                controller.enqueue(name);
            }
            Action::Start => controller.active = controller.queue.pop_front().map(Reconcile::new),
            Action::Deliver => self.deliver(&mut world),
            Action::DeliverAgain => {
                let request = controller.active.as_ref()?.request();
                world.network.use_copy(request);
                world.execute_for_sender(request);
            }
            Action::Reply(reply) => {
                let request = controller.active.as_ref()?.request();
                controller.receive(reply);
                world.network.abandon(request, &world.database);
            }
            Action::Late(index) => {
                let request = world.network.late.remove(index);
                world.execute(request);
                self.keep_copy(&mut world, request);
            }
            Action::Duplicate(request) => {
                world.network.use_copy(request);
                world.execute(request);
            }
            Action::Crash => self.crash(&mut world),
        }
        Some(world)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("cm2 implies cm1", |_, world: &World| {
                let database = &world.database;
                database
                    .names()
                    .all(|name| !database.has(name, Child::Second) || database.has(name, Child::First))
            }),
            Property::eventually("both exist", |_, world: &World| {
                let database = &world.database;
                database
                    .names()
                    .all(|name| database.has(name, Child::First) && database.has(name, Child::Second))
            }),
        ]
    }
}

impl Pairs {
    fn controller_actions(&self, world: &World, actions: &mut Vec<Action>) {
        let controller = &world.controller;
        actions.extend(controller.fresh.iter().copied().map(Action::Notify));
        actions.extend(controller.timers.iter().copied().map(Action::Timer));
        let notified = controller.notified.iter().copied();
        let again =
            notified.filter(|name| !controller.queue.contains(name) && !controller.fresh.contains(name));
        actions.extend(again.map(Action::NotifyAgain));
        match &controller.active {
            None if !controller.queue.is_empty() => actions.push(Action::Start),
            None => {}
            Some(active) => {
                if !active.delivered {
                    actions.push(Action::Deliver);
                }
                if active.delivered && world.network.copies.contains(&active.request()) {
                    actions.push(Action::DeliverAgain);
                }
                actions.extend(active.replies.iter().copied().map(Action::Reply));
            }
        }
    }

    /// The request of the reconcile is sent for the first time, unless the cache can answer it.
    fn deliver(&self, world: &mut World) {
        let Some(request) = world.controller.active.as_ref().map(Reconcile::request) else { return };
        if world.reach_database(request) && self.0.duplicates {
            world.network.copies.insert(request);
            world.network.awaited.insert(request);
        }
    }

    /// A write that was delivered, and that has no waiting sender, may be delivered once more.
    fn keep_copy(&self, world: &mut World, request: Request) {
        if self.0.duplicates && request.is_write() && !world.database.is_dead(request) {
            world.network.copies.insert(request);
        }
    }

    /// A crash forgets all that is local. A request that was not delivered stays on the network.
    fn crash(&self, world: &mut World) {
        world.crashes_left -= 1;
        let controller = std::mem::take(&mut world.controller);
        if let Some(active) = controller.active {
            let request = active.request();
            // What the cache shows to be so already was never sent.
            let is_sent = !active.delivered && !world.database.is_unchanged_by(request);
            if is_sent && !world.database.is_dead(request) {
                world.network.late.push(request);
                world.network.late.sort_unstable();
            }
            if active.delivered {
                world.network.abandon(request, &world.database);
            }
        }
        // The watch starts again; notices of the old one may still come.
        world.controller = Controller {
            fresh: world.database.names().collect(),
            notified: controller.notified,
            ..Controller::default()
        };
    }
}

impl World {
    /// The request of the reconcile takes effect; says whether it got as far as that. What changes nothing, be it a
    /// read or a write, is answered by the cache in the same step.
    fn reach_database(&mut self, request: Request) -> bool {
        let is_sent = !self.database.is_unchanged_by(request);
        if is_sent {
            self.execute_for_sender(request);
        } else {
            let reply = self.execute(request);
            self.controller.receive(reply);
        }
        is_sent
    }

    /// A request that was sent takes effect, and its answer is on its way to the sender.
    fn execute_for_sender(&mut self, request: Request) {
        let reply = self.execute(request);
        if let Some(active) = &mut self.controller.active {
            active.delivered = true;
            active.replies.insert(reply);
        }
    }

    fn execute(&mut self, request: Request) -> database::Reply {
        let (reply, changed) = self.database.handle(request);
        if let Some(name) = changed {
            self.controller.fresh.insert(name);
            self.network.drop_dead(&self.database);
        }
        reply
    }
}
