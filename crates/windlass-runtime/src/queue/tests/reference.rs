//! Random histories of a queue, compared with what must be so by counting alone.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// One thing that happens to a queue.
#[derive(Clone, Debug)]
enum Happens {
    Add { key: u8, initial: bool, spec_changed: bool },
    Take,
    Finish { which: usize, how: u8 },
    Wait { milliseconds: u64 },
}

fn happens() -> impl Strategy<Value = Happens> {
    prop_oneof![
        3 => (0..6_u8, any::<bool>(), prop::bool::weighted(0.1))
            .prop_map(|(key, initial, spec_changed)| Happens::Add { key, initial, spec_changed }),
        3 => Just(Happens::Take),
        3 => (any::<usize>(), 0..7_u8).prop_map(|(which, how)| Happens::Finish { which, how }),
        1 => (0..3_000_u64).prop_map(|milliseconds| Happens::Wait { milliseconds }),
    ]
}

fn finished(how: u8) -> Requeue {
    let after = Duration::from_secs(5);
    match how {
        0 | 1 => Requeue::OnTrigger,
        2 => Requeue::After(after),
        3 => Requeue::After(after),
        4 => Requeue::WithBackoff,
        5 => Requeue::WithBackoff,
        _ => Requeue::OnSpecChange,
    }
}

/// What must be so of each object, by counting alone.
#[derive(Default)]
struct Reference {
    /// Those being reconciled, with the trigger that was the last when it began.
    active: BTreeMap<String, Option<String>>,
    /// The last trigger that no run has begun for, or whose run failed.
    owed: BTreeMap<String, String>,
    /// Failed for good.
    halted: BTreeMap<String, ()>,
}

impl Reference {
    fn add(&mut self, name: &str, trigger: &str, spec_changed: bool) {
        if spec_changed {
            self.halted.remove(name);
        }
        if !self.halted.contains_key(name) {
            self.owed.insert(name.to_owned(), trigger.to_owned());
        }
    }

    fn take(&mut self, work: &crate::queue::Work) {
        let name = work.key.name.clone();
        assert!(!self.active.contains_key(&name), "{name} is active twice");
        assert!(!self.halted.contains_key(&name), "{name} failed for good");
        let owed = self.owed.remove(&name);
        if let Some(trigger) = &owed {
            let known = work.causes.kept.iter().any(|changed| changed.what == *trigger);
            assert!(known || work.causes.more > 0, "{name} does not know of {trigger}: {:?}", work.causes);
        }
        self.active.insert(name, owed);
    }

    fn finish(&mut self, name: &str, how: Requeue, parent_changed: bool) {
        let began_with = self.active.remove(name).flatten();
        match how {
            Requeue::WithBackoff => {
                if let Some(trigger) = began_with {
                    self.owed.entry(name.to_owned()).or_insert(trigger);
                }
            }
            Requeue::OnSpecChange if !parent_changed => {
                self.owed.remove(name);
                self.halted.insert(name.to_owned(), ());
            }
            _ => {}
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2 * ProptestConfig::default().cases))]

    /// Never two runs of one object at a time; no trigger is lost; and all that is owed comes within a bounded time.
    #[test]
    fn no_trigger_is_lost_and_no_object_runs_twice_at_once(history in prop::collection::vec(happens(), 1..120)) {
        let (mut queue, mut now) = (Queue::new(QueueSettings::default()), Instant::now());
        let mut reference = Reference::default();
        let mut changed_while_active: BTreeMap<String, bool> = BTreeMap::new();
        for (number, step) in history.into_iter().enumerate() {
            match step {
                Happens::Add { key: which, initial, spec_changed } => {
                    let (name, trigger) = (which.to_string(), format!("t{number}"));
                    let priority = if initial { Priority::Background } else { Priority::Live };
                    queue.add(key(&name), Reason { priority, spec_changed, ..live(Cause::Parent, &trigger) }, now);
                    reference.add(&name, &trigger, spec_changed);
                    *changed_while_active.entry(name).or_default() |= spec_changed;
                }
                Happens::Take => if let Next::Take(work) = queue.next(now) {
                    reference.take(&work);
                    changed_while_active.insert(work.key.name, false);
                },
                Happens::Finish { which, how } => {
                    let Some(name) = reference.active.keys().nth(which % reference.active.len().max(1)).cloned() else { continue };
                    queue.finished(&key(&name), finished(how), now);
                    reference.finish(&name, finished(how), changed_while_active[&name]);
                }
                Happens::Wait { milliseconds } => now += Duration::from_millis(milliseconds),
            }
            prop_assert_eq!(queue.counts(now).active, reference.active.len());
        }
        // From now on all goes well: everything that is owed must come, and then the queue is empty.
        for name in reference.active.keys().cloned().collect::<Vec<_>>() {
            queue.finished(&key(&name), Requeue::OnTrigger, now);
            reference.finish(&name, Requeue::OnTrigger, false);
        }
        let end = now + Duration::from_secs(120);
        loop {
            match queue.next(now) {
                Next::Take(work) => {
                    reference.take(&work);
                    queue.finished(&work.key, Requeue::OnTrigger, now);
                    reference.finish(&work.key.name, Requeue::OnTrigger, false);
                }
                Next::WaitUntil(until) => now = until,
                Next::Idle => break,
            }
            prop_assert!(now < end, "nothing waits longer than a backoff");
        }
        prop_assert!(reference.owed.is_empty(), "lost: {:?}", reference.owed);
        prop_assert_eq!(queue.counts(now).halted, reference.halted.len());
    }

    /// However many live triggers come, each object of the initial list has its turn.
    #[test]
    fn nothing_starves(initial in 1..20_usize, live_per_turn in 1..4_usize) {
        let settings = QueueSettings::default();
        let (mut queue, mut now) = (Queue::new(settings.clone()), Instant::now());
        for number in 0..initial {
            let reason = Reason { priority: Priority::Background, ..live(Cause::Parent, "list") };
            queue.add(key(&format!("initial-{number}")), reason, now);
        }
        now += settings.background_aging;
        let mut waiting = initial;
        for turn in 0..4 * initial {
            for another in 0..live_per_turn {
                queue.add(key(&format!("live-{turn}-{another}")), live(Cause::Parent, "event"), now);
            }
            let Next::Take(work) = queue.next(now) else { panic!("there is work") };
            waiting -= usize::from(work.key.name.starts_with("initial"));
            queue.finished(&work.key, Requeue::OnTrigger, now);
        }
        prop_assert_eq!(waiting, 0);
    }
}
