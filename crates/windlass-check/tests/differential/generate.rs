//! Draws a small world from a seed.
//!
//! Each world is about one thing that can go wrong in a checker: an order of steps, a fault, a reduction. Worlds that
//! are about everything at once are too large for a naive explorer, and most of what they do is of no interest.

use crate::draw_program::{Draft, Shape, program};
use crate::program::PARENTS;
use crate::random::Random;
use crate::world::{Budget, Claim, Event, Object, Rule, World};

pub(crate) const VALUES: [&str; 3] = ["0", "1", "2"];
const MAP_NAMES: [&str; 3] = ["p-x", "p-y", "shared"];

/// What a world is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Theme {
    /// The order of what clients and a controller do.
    Order,
    /// Code that keeps versions, generations and uids.
    Numbers,
    /// A controller that crashes while requests are on their way.
    Crash,
    /// Requests and watch events that come twice.
    Duplicates,
    /// Requests that come twice, also after a crash.
    CrashAndDuplicates,
    /// Several processes.
    Processes,
    /// Two parents that are alike.
    Twins,
    /// Requests, replies and connections that are lost.
    Network,
    /// Watches that break, clocks that jump.
    WatchesAndClocks,
    /// Parents that are deleted and made again.
    Deletion,
    /// A service beside the API.
    Service,
    /// Caches that are behind.
    Stale,
    /// Two parents that are alike, and caches that are behind.
    StaleTwins,
    /// Two parents that are alike, in a queue, and a service that counts.
    Queue,
    /// A second controller that follows what the first writes.
    Copier,
}

const THEMES: [Theme; 18] = [
    Theme::Order,
    Theme::Numbers,
    Theme::Crash,
    Theme::Duplicates,
    Theme::CrashAndDuplicates,
    Theme::Processes,
    Theme::Twins,
    Theme::Network,
    Theme::WatchesAndClocks,
    Theme::Deletion,
    Theme::Service,
    Theme::Stale,
    Theme::Stale,
    Theme::StaleTwins,
    Theme::Queue,
    Theme::Copier,
    Theme::Copier,
    Theme::Stale,
];

/// The world of a seed.
pub(crate) fn world(seed: u64) -> World {
    let random = &mut Random::new(seed);
    let theme = random.pick(&THEMES);
    let is_about = |themes: &[Theme]| themes.contains(&theme);
    let has_service =
        is_about(&[Theme::Service, Theme::Queue]) || (is_about(&[Theme::Network]) && random.percent(25));
    let draft = Draft {
        most_stages: if is_about(&[Theme::Order, Theme::Numbers]) { 2 } else { 1 },
        most_parts: if is_about(&[Theme::Order, Theme::Numbers, Theme::Crash]) { 2 } else { 1 },
        is_light: is_about(&[Theme::Processes]) || (is_about(&[Theme::Twins]) && random.percent(70)),
        keeps_numbers: is_about(&[Theme::Numbers]),
        asks_time: is_about(&[Theme::WatchesAndClocks]),
        calls: has_service,
        shares: is_about(&[Theme::Processes, Theme::Twins]),
        cleans_up: is_about(&[Theme::Deletion]) || random.percent(3),
        shape: Shape::Any,
    };
    let shape = shape(random, theme);
    let programs = vec![program(random, "left", Draft { shape, ..draft })];
    let parents = if is_about(&[Theme::Twins, Theme::StaleTwins, Theme::Queue]) { 2 } else { 1 };
    World {
        theme: format!("{theme:?}"),
        has_copier: is_about(&[Theme::Copier]),
        programs,
        replicas: 1 + usize::from(is_about(&[Theme::Processes])),
        workers: 1 + usize::from(random.percent(if parents == 2 && theme != Theme::Queue { 35 } else { 5 })),
        given: given(random, theme, parents, shape),
        scripts: scripts(random, theme, has_service, shape),
        budget: budget(random, theme),
        rules: rules(random, parents),
        keeps_only_rules_that_hold: random.percent(65),
        has_service,
    }
}

/// What the machine of a world does first.
fn shape(random: &mut Random, theme: Theme) -> Shape {
    let (shape, chance) = match theme {
        Theme::Stale => (Shape::ReadsCaches, 85),
        Theme::StaleTwins => (Shape::Makes, 70),
        Theme::CrashAndDuplicates | Theme::Crash => (Shape::Toggles, 40),
        Theme::Queue => (Shape::Counts, 100),
        Theme::Order => (Shape::UsesAnswers, 35),
        Theme::Copier => (Shape::Leads, 100),
        _ => (Shape::Any, 0),
    };
    if random.percent(chance) { shape } else { Shape::Any }
}

fn given(random: &mut Random, theme: Theme, parents: usize, shape: Shape) -> Vec<Object> {
    let value = random.pick(&VALUES);
    let mut given = Vec::new();
    for name in PARENTS.into_iter().take(parents) {
        // Parents that are equal but for their names can be permuted.
        if parents == 2 || random.percent(92) {
            let value = if random.percent(90) { value } else { random.pick(&VALUES) };
            given.push(Object { is_parent: true, name, value });
        }
    }
    for name in MAP_NAMES {
        let chance = match (name, parents) {
            ("p-y", _) if shape == Shape::Leads => 0,
            (_, 1) if theme == Theme::Stale || shape == Shape::Leads => 90,
            ("shared", _) if theme == Theme::StaleTwins => 85,
            ("shared", _) => 55,
            (_, 1) => 20,
            _ => 0,
        };
        if random.percent(chance) {
            // Whoever has read this before a client has changed it has read something else.
            let is_known = theme == Theme::Stale && name == MAP_NAMES[0];
            let value = if is_known { VALUES[0] } else { random.pick(&VALUES) };
            given.push(Object { is_parent: false, name, value });
        }
    }
    given
}

fn scripts(random: &mut Random, theme: Theme, has_service: bool, shape: Shape) -> Vec<Vec<Event>> {
    let count = match theme {
        Theme::Order | Theme::Numbers => 1 + random.below(2),
        Theme::Deletion => 1 + u64::from(random.percent(40)),
        // What they do is enough for many states.
        Theme::Crash | Theme::CrashAndDuplicates if shape == Shape::Toggles => 0,
        Theme::Stale => 1 + u64::from(random.percent(55)),
        Theme::StaleTwins => u64::from(random.percent(60)),
        Theme::Queue | Theme::Copier => 0,
        Theme::Crash | Theme::Duplicates | Theme::WatchesAndClocks => random.below(2),
        Theme::Network | Theme::Service => u64::from(random.percent(35)),
        Theme::CrashAndDuplicates | Theme::Processes | Theme::Twins => u64::from(random.percent(20)),
    };
    let mut events: Vec<Event> = (0..count).map(|_| event(random, theme, has_service)).collect();
    if theme == Theme::Stale && events.len() > 1 && random.percent(70) {
        // More writes to one object than some views can be behind.
        let patch = |value| Event::Patch(Object { is_parent: false, name: MAP_NAMES[0], value });
        (events[0], events[1]) = (patch("1"), patch("2"));
    }
    if theme == Theme::Deletion {
        events[0] = Event::Delete(Object { is_parent: true, name: PARENTS[0], value: "" });
    }
    let apart = random.percent(20) && events.len() > 1;
    let second = if apart { events.split_off(1) } else { Vec::new() };
    [events, second].into_iter().filter(|script| !script.is_empty()).collect()
}

fn event(random: &mut Random, theme: Theme, has_service: bool) -> Event {
    let value = random.pick(&VALUES);
    if has_service && random.percent(30) {
        return Event::Put(value);
    }
    // Two parents that are alike differ once something is done to one of them.
    let are_twins = [Theme::Twins, Theme::StaleTwins].contains(&theme);
    let chance = match theme {
        Theme::Numbers => 85,
        Theme::Stale => 30,
        _ => 60,
    };
    let is_parent = !are_twins && random.percent(chance);
    let names: &[&'static str] = match (is_parent, theme) {
        (true, _) => &PARENTS[..1],
        (false, Theme::Twins | Theme::StaleTwins) => &["shared"],
        (false, Theme::Stale) => &["p-x", "p-x", "p-x", "shared"],
        (false, _) => &MAP_NAMES,
    };
    let object = Object { is_parent, name: random.pick(names), value };
    match random.below(10) {
        0..=8 if theme == Theme::Stale => Event::Patch(object),
        0..=1 => Event::Create(object),
        2..=7 => Event::Patch(object),
        _ => Event::Delete(object),
    }
}

fn budget(random: &mut Random, theme: Theme) -> Budget {
    let mut budget = Budget::default();
    match theme {
        Theme::Crash => budget.crashes = 1,
        Theme::Duplicates => budget.duplicates = true,
        Theme::CrashAndDuplicates => (budget.crashes, budget.duplicates) = (1, true),
        Theme::Network => network_faults(random, &mut budget),
        Theme::WatchesAndClocks => match random.below(2) {
            0 => budget.watch_gaps = 1,
            _ => budget.clock_jumps = 1,
        },
        Theme::Service => match random.below(5) {
            0 => budget.crashes = 1,
            1 => budget.duplicates = true,
            2 => budget.lost_replies = 1,
            3 => budget.partitions = 1,
            _ => {}
        },
        Theme::Deletion if random.percent(30) => match random.below(3) {
            0 => budget.crashes = 1,
            1 => budget.lost_replies = 1,
            _ => budget.errors = 1,
        },
        Theme::Stale => {
            budget.stale = 1 + u8::from(random.percent(25));
            match random.below(10) {
                0..=2 => budget.crashes = 1,
                3 => budget.watch_gaps = 1,
                4 if random.percent(50) => budget.partitions = 1,
                5 if random.percent(30) => budget.duplicates = true,
                _ => {}
            }
        }
        Theme::StaleTwins => budget.stale = 1,
        Theme::Copier => match random.below(6) {
            0 => budget.crashes = 1,
            1 => budget.duplicates = true,
            _ => {}
        },
        Theme::Queue => {}
        Theme::Order | Theme::Numbers | Theme::Processes | Theme::Twins | Theme::Deletion => {}
    }
    budget
}

fn network_faults(random: &mut Random, budget: &mut Budget) {
    match random.below(6) {
        0 => budget.lost_requests = 1,
        1 => budget.lost_replies = 1,
        2 => budget.errors = 1,
        3 => budget.partitions = 1,
        4 => (budget.partitions, budget.reorders) = (1, true),
        _ => (budget.lost_replies, budget.errors) = (1, 1),
    }
}

fn rules(random: &mut Random, parents: usize) -> Vec<Rule> {
    let names: &[&'static str] = if parents == 2 { &["p-x", "q-x", "p-y", "shared"] } else { &MAP_NAMES };
    let mut rules = Vec::new();
    for number in 0..3 + random.below(2) {
        rules.push(match random.below(8) {
            0..=1 => Rule::Always(format!("always {number}"), negated(claim(random, names))),
            2..=4 => Rule::Eventually(format!("eventually {number}"), claim(random, names)),
            5 => Rule::Sometimes(format!("sometimes {number}"), claim(random, names)),
            _ => {
                let before = claim(random, names);
                Rule::NeverBetween(format!("between {number}"), before, claim(random, names))
            }
        });
    }
    rules
}

fn claim(random: &mut Random, names: &[&'static str]) -> Claim {
    let name = random.pick(names);
    match random.below(10) {
        0..=2 => Claim::Exists(name),
        3..=5 => Claim::Has(name, random.pick(&VALUES)),
        6 => Claim::Alike(name, random.pick(names)),
        7..=8 => negated(claim(random, names)),
        _ => Claim::And(Box::new(claim(random, names)), Box::new(claim(random, names))),
    }
}

fn negated(claim: Claim) -> Claim {
    Claim::Not(Box::new(claim))
}
