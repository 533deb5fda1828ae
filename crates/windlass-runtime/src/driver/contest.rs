//! Outputs and statuses that another writer keeps changing back: corrections are counted, then backed off from.
//!
//! Pure: the time is an argument. Nothing is kept about objects without another writer.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{Duration, Instant};

use windlass::model::ResourceId;
use windlass::{Contested, ObjectRef, Rival};

use crate::queue::Backoff;

/// Below this number of contests, those that are over are not swept.
const FIRST_SWEEP: usize = 64;
/// Maximum number of objects that are remembered as made recently. With more, a contest over deletions is detected once
/// there are fewer again.
const MAX_MADE: usize = 4_096;

/// When an output counts as contested, and how the driver backs off then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContestSettings {
    /// Maximum number of times that an output is corrected at once. Default: 3.
    pub limit: usize,
    /// An output that is corrected that often within this time is contested. Default: 60 s.
    pub within: Duration,
    /// A contested output is tried again after this time, doubled each time it is changed back. One that stays as it
    /// should be for the first of these is not contested any more. Default: 5 s, at most 300 s.
    pub backoff: Backoff,
}

impl Default for ContestSettings {
    fn default() -> Self {
        let backoff = Backoff { initial: Duration::from_secs(5), max: Duration::from_secs(300) };
        ContestSettings { limit: 3, within: Duration::from_secs(60), backoff }
    }
}

/// An object, and who applies it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Applied {
    pub(super) resource: ResourceId,
    pub(super) key: ObjectRef,
    pub(super) manager: String,
}

impl Applied {
    pub(super) fn new(resource: &ResourceId, key: &ObjectRef, manager: &str) -> Self {
        Applied { resource: resource.clone(), key: key.clone(), manager: manager.to_owned() }
    }
}

/// The objects that others write too.
#[derive(Debug)]
pub(super) struct Contests {
    settings: ContestSettings,
    contests: HashMap<Applied, Contest>,
    /// At this number of contests, those that are over are swept.
    sweep_at: usize,
    /// The objects that were made recently, by a hash of the key: the hash of the apply, and the time.
    made: HashMap<u64, (u64, Instant)>,
}

#[derive(Debug)]
struct Contest {
    /// Hash of the apply.
    hash: u64,
    /// The times of the corrections that still count.
    corrections: Vec<Instant>,
    /// Number of corrections in this contest.
    times: usize,
    /// Number of times that the driver backed off; at zero it still corrects at once.
    retreats: u32,
    rivals: Vec<Rival>,
}

impl Contests {
    pub(super) fn new(settings: ContestSettings) -> Self {
        Contests { settings, contests: HashMap::new(), sweep_at: FIRST_SWEEP, made: HashMap::new() }
    }

    /// Whether an apply with this hash is to be held back; `unchanged` if the object is as the apply wants it.
    pub(super) fn held(
        &mut self,
        applied: &Applied,
        hash: u64,
        unchanged: bool,
        now: Instant,
    ) -> Option<Contested> {
        let contest = self.contests.get(applied)?;
        // Another state is wanted now, and the rival may agree with it.
        if contest.hash != hash {
            self.contests.remove(applied);
            return None;
        }
        if contest.retreats == 0 {
            return None;
        }
        let wait = self.settings.backoff.exact_delay(contest.retreats);
        let pause = if unchanged { self.settings.backoff.initial } else { wait };
        if contest.corrections.last().is_some_and(|last| now < *last + pause) {
            return Some(contest.contested(wait));
        }
        if unchanged {
            self.contests.remove(applied);
        }
        None
    }

    /// An apply set fields again that an apply with the same hash had set before. Returns the contest if that happens
    /// too often.
    pub(super) fn corrected(
        &mut self,
        applied: &Applied,
        hash: u64,
        rivals: Vec<Rival>,
        now: Instant,
    ) -> Option<Contested> {
        self.sweep(now);
        let settings = self.settings;
        let contest = self.contests.entry(applied.clone()).or_insert_with(|| Contest::new(hash));
        if contest.hash != hash {
            *contest = Contest::new(hash);
        }
        if contest.retreats == 0 {
            contest.corrections.retain(|at| now.saturating_duration_since(*at) <= settings.within);
            contest.times = contest.corrections.len();
        } else {
            contest.corrections.clear();
        }
        contest.corrections.push(now);
        contest.times += 1;
        contest.rivals = rivals;
        if contest.times < settings.limit {
            return None;
        }
        contest.retreats = contest.retreats.saturating_add(1);
        Some(contest.contested(settings.backoff.exact_delay(contest.retreats)))
    }

    /// An apply made an object. If the same was made recently, or is contested, then another writer has deleted it since.
    pub(super) fn made(&mut self, applied: &Applied, hash: u64, now: Instant) -> Option<Contested> {
        let within = self.settings.within;
        let is_late = |at: Instant| now.saturating_duration_since(at) > within;
        if self.made.len() >= MAX_MADE {
            self.made.retain(|_, (_, at)| !is_late(*at));
            if self.made.len() >= MAX_MADE {
                self.made.clear();
            }
        }
        let known = self.made.insert(hash_of(&applied.resource, &applied.key), (hash, now));
        let lately = known.is_some_and(|(known, at)| known == hash && !is_late(at));
        let contested = self.contests.get(applied).is_some_and(|contest| contest.hash == hash);
        if lately || contested { self.corrected(applied, hash, vec![Rival::deletes()], now) } else { None }
    }

    /// We deleted an object ourselves: making it again is no correction.
    pub(super) fn unmade(&mut self, resource: &ResourceId, key: &ObjectRef) {
        self.made.remove(&hash_of(resource, key));
    }

    /// An apply was sent and changed nothing: if the output was contested, it is no more.
    pub(super) fn settled(&mut self, applied: &Applied) {
        if self.contests.get(applied).is_some_and(|contest| contest.retreats > 0) {
            self.contests.remove(applied);
        }
    }

    /// Removes what is too old to count: objects that are gone, and contests that came to nothing.
    fn sweep(&mut self, now: Instant) {
        if self.contests.len() < self.sweep_at {
            return;
        }
        let memory = self.settings.within.max(self.settings.backoff.max.saturating_mul(2));
        self.contests.retain(|_, contest| {
            contest.corrections.last().is_some_and(|last| now.saturating_duration_since(*last) <= memory)
        });
        self.sweep_at = FIRST_SWEEP.max(self.contests.len().saturating_mul(2));
    }
}

fn hash_of(resource: &ResourceId, key: &ObjectRef) -> u64 {
    let mut hasher = DefaultHasher::new();
    (resource, key).hash(&mut hasher);
    hasher.finish()
}

impl Contest {
    fn new(hash: u64) -> Self {
        Contest { hash, corrections: Vec::new(), times: 0, retreats: 0, rivals: Vec::new() }
    }

    fn contested(&self, wait: Duration) -> Contested {
        Contested { rivals: self.rivals.clone(), times: self.times, wait }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: u64 = 7;

    struct Bench {
        contests: Contests,
        start: Instant,
    }

    fn applied() -> Applied {
        Applied::new(&ResourceId::new("", "v1", "configmaps"), &ObjectRef::new("default", "a"), "me")
    }

    impl Bench {
        fn new() -> Self {
            Bench { contests: Contests::new(ContestSettings::default()), start: Instant::now() }
        }

        /// The seconds that the driver waits from now on, if this was the last correction at once.
        fn corrected(&mut self, second: u64) -> Option<u64> {
            let rivals = vec![Rival { field: ".data.a".to_owned(), manager: Some("intruder".to_owned()) }];
            let contested = self.contests.corrected(&applied(), HASH, rivals, self.at(second));
            contested.map(|contested| contested.wait.as_secs())
        }

        fn is_held(&mut self, second: u64, unchanged: bool) -> bool {
            self.contests.held(&applied(), HASH, unchanged, self.at(second)).is_some()
        }

        fn at(&self, second: u64) -> Instant {
            self.start + Duration::from_secs(second)
        }
    }

    #[test]
    fn an_occasional_change_is_corrected_at_once() {
        let mut bench = Bench::new();
        for second in [0, 40, 80, 120, 160, 200, 240] {
            assert!(!bench.is_held(second, false));
            assert_eq!(bench.corrected(second), None, "{second}");
        }
    }

    #[test]
    fn three_within_a_minute_are_a_contest_that_is_left_alone_longer_and_longer() {
        let mut bench = Bench::new();
        assert_eq!((bench.corrected(0), bench.corrected(1), bench.corrected(2)), (None, None, Some(5)));
        for (tried, waits) in
            [(2, 5), (7, 10), (17, 20), (37, 40), (77, 80), (157, 160), (317, 300), (617, 300)]
        {
            assert!(bench.is_held(tried + waits - 1, false), "{tried}");
            assert!(!bench.is_held(tried + waits, false), "{tried}");
            let longer = (waits * 2).min(300);
            assert_eq!(bench.corrected(tried + waits), Some(longer));
        }
    }

    #[test]
    fn what_stays_as_it_should_be_is_not_contested_any_more() {
        let mut bench = Bench::new();
        for second in [0, 1, 2, 7, 17] {
            bench.corrected(second);
        }
        assert!(bench.is_held(21, true), "it was corrected four seconds ago");
        assert!(!bench.is_held(22, true));
        assert!(bench.contests.contests.is_empty());
        assert_eq!(bench.corrected(23), None, "the count starts from scratch");
    }

    #[test]
    fn an_apply_that_changes_nothing_ends_it() {
        let mut bench = Bench::new();
        bench.corrected(0);
        bench.contests.settled(&applied());
        assert!(!bench.contests.contests.is_empty(), "it was not contested yet");
        bench.corrected(1);
        bench.corrected(2);
        bench.contests.settled(&applied());
        assert!(bench.contests.contests.is_empty());
    }

    #[test]
    fn a_different_apply_is_tried_at_once() {
        let mut bench = Bench::new();
        for second in [0, 1, 2] {
            bench.corrected(second);
        }
        assert_eq!(bench.contests.held(&applied(), HASH + 1, false, bench.at(3)), None);
        assert_eq!(bench.corrected(4), None);
    }

    #[test]
    fn a_held_apply_names_rivals_and_counts() {
        let mut bench = Bench::new();
        for second in [0, 1, 2, 7] {
            bench.corrected(second);
        }
        let contested = bench.contests.held(&applied(), HASH, false, bench.at(8)).expect("it is held");
        assert_eq!((contested.times, contested.wait.as_secs()), (4, 10));
        assert_eq!(contested.rivals[0].manager.as_deref(), Some("intruder"));
    }

    #[test]
    fn an_object_that_is_deleted_again_and_again_is_contested() {
        let mut bench = Bench::new();
        let mut made =
            |second| bench.contests.made(&applied(), HASH, bench.start + Duration::from_secs(second));
        assert_eq!((made(0), made(1), made(2)), (None, None, None), "made, and corrected twice");
        assert_eq!(made(3).map(|contested| (contested.times, contested.wait.as_secs())), Some((3, 5)));
        // However long it was left alone.
        assert_eq!(made(300).map(|contested| contested.wait.as_secs()), Some(10));
    }

    #[test]
    fn what_is_made_now_and_then_or_was_deleted_by_us_is_not() {
        let mut bench = Bench::new();
        for second in [0, 61, 122, 183, 244] {
            assert_eq!(bench.contests.made(&applied(), HASH, bench.at(second)), None);
        }
        for second in 300..310 {
            bench.contests.unmade(&applied().resource, &applied().key);
            assert_eq!(bench.contests.made(&applied(), HASH, bench.at(second)), None);
        }
    }

    #[test]
    fn what_was_made_lately_is_bounded() {
        let mut contests = Contests::new(ContestSettings::default());
        let start = Instant::now();
        for number in 0..10_000_u64 {
            let one = Applied { key: ObjectRef::new("default", &number.to_string()), ..applied() };
            assert_eq!(contests.made(&one, HASH, start), None);
            assert!(contests.made.len() <= MAX_MADE);
        }
    }

    #[test]
    fn contests_that_are_over_are_forgotten() {
        let mut contests = Contests::new(ContestSettings::default());
        let start = Instant::now();
        for number in 0..10_000_u64 {
            let key = ObjectRef::new("default", &number.to_string());
            let one = Applied { key, ..applied() };
            contests.corrected(&one, HASH, Vec::new(), start + Duration::from_secs(number));
        }
        assert!(contests.contests.len() < 2_000, "{}", contests.contests.len());
    }
}
