//! What another writer keeps changing back, an output or a status: counted, and left alone for longer and longer.
//!
//! Pure: the time is an argument. Of what nobody else writes nothing is kept.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{Duration, Instant};

use windlass::model::ResourceId;
use windlass::{Contested, ObjectRef, Rival};

use crate::queue::Backoff;

/// Below this many contests nobody looks for those that are over.
const FEW: usize = 64;
/// Of so many objects is remembered that they were made lately. With more, a fight is found when there are fewer again.
const MOST_MADE: usize = 4_096;

/// When an output counts as contested, and what then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContestSettings {
    /// So many times an output is put right at once.
    pub limit: usize,
    /// If this happens within so long, it is contested.
    pub within: Duration,
    /// A contested output is tried again after this, with doubled patience if it is changed back again. One that stays
    /// as it should be for the first of these is not contested any more.
    pub backoff: Backoff,
}

impl Default for ContestSettings {
    fn default() -> Self {
        let backoff = Backoff { first: Duration::from_secs(5), most: Duration::from_secs(300) };
        ContestSettings { limit: 3, within: Duration::from_secs(60), backoff }
    }
}

/// An object, and who applies it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Applied {
    pub(super) resource: ResourceId,
    pub(super) place: ObjectRef,
    pub(super) manager: String,
}

impl Applied {
    pub(super) fn new(resource: &ResourceId, place: &ObjectRef, manager: &str) -> Self {
        Applied { resource: resource.clone(), place: place.clone(), manager: manager.to_owned() }
    }
}

/// What others write too.
#[derive(Debug)]
pub(super) struct Contests {
    settings: ContestSettings,
    contests: HashMap<Applied, Contest>,
    /// With so many, those that are over are looked for.
    sweep_at: usize,
    /// What was made lately, by a hash of its place: what it was to be, and when.
    made: HashMap<u64, (u64, Instant)>,
}

#[derive(Debug)]
struct Contest {
    /// Of what we want it to be.
    hash: u64,
    /// When it was put right, as far as that still counts.
    corrections: Vec<Instant>,
    /// How often it was put right in this contest.
    times: usize,
    /// How often the driver stepped back; at zero it still puts it right at once.
    retreats: u32,
    rivals: Vec<Rival>,
}

impl Contests {
    pub(super) fn new(settings: ContestSettings) -> Self {
        Contests { settings, contests: HashMap::new(), sweep_at: FEW, made: HashMap::new() }
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
        // Something else is wanted now, and this may please everybody.
        if contest.hash != hash {
            self.contests.remove(applied);
            return None;
        }
        if contest.retreats == 0 {
            return None;
        }
        let wait = contest.wait(&self.settings.backoff);
        let patience = if unchanged { self.settings.backoff.first } else { wait };
        if contest.corrections.last().is_some_and(|last| now < *last + patience) {
            return Some(contest.told(wait));
        }
        if unchanged {
            self.contests.remove(applied);
        }
        None
    }

    /// An apply set fields again that an apply with the same hash had set before. Returns what there is to tell if that
    /// happens too often.
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
        Some(contest.told(contest.wait(&settings.backoff)))
    }

    /// An apply made an object. If the same was made lately, or is contested, then somebody has deleted it since.
    pub(super) fn made(&mut self, applied: &Applied, hash: u64, now: Instant) -> Option<Contested> {
        let within = self.settings.within;
        let is_late = |at: Instant| now.saturating_duration_since(at) > within;
        if self.made.len() >= MOST_MADE {
            self.made.retain(|_, (_, at)| !is_late(*at));
            if self.made.len() >= MOST_MADE {
                self.made.clear();
            }
        }
        let known = self.made.insert(place_of(&applied.resource, &applied.place), (hash, now));
        let lately = known.is_some_and(|(known, at)| known == hash && !is_late(at));
        let contested = self.contests.get(applied).is_some_and(|contest| contest.hash == hash);
        if lately || contested { self.corrected(applied, hash, vec![Rival::deletes()], now) } else { None }
    }

    /// We deleted an object ourselves: to make it again is to put nothing right.
    pub(super) fn unmade(&mut self, resource: &ResourceId, place: &ObjectRef) {
        self.made.remove(&place_of(resource, place));
    }

    /// An apply was sent and changed nothing: if the output was contested, it is no more.
    pub(super) fn settled(&mut self, applied: &Applied) {
        if self.contests.get(applied).is_some_and(|contest| contest.retreats > 0) {
            self.contests.remove(applied);
        }
    }

    /// Forgets what is too old to count: objects that are gone, and contests that came to nothing.
    fn sweep(&mut self, now: Instant) {
        if self.contests.len() < self.sweep_at {
            return;
        }
        let memory = self.settings.within.max(self.settings.backoff.most.saturating_mul(2));
        self.contests.retain(|_, contest| {
            contest.corrections.last().is_some_and(|last| now.saturating_duration_since(*last) <= memory)
        });
        self.sweep_at = FEW.max(self.contests.len().saturating_mul(2));
    }
}

fn place_of(resource: &ResourceId, place: &ObjectRef) -> u64 {
    let mut hasher = DefaultHasher::new();
    (resource, place).hash(&mut hasher);
    hasher.finish()
}

impl Contest {
    fn new(hash: u64) -> Self {
        Contest { hash, corrections: Vec::new(), times: 0, retreats: 0, rivals: Vec::new() }
    }

    /// How long the driver keeps away from it.
    fn wait(&self, backoff: &Backoff) -> Duration {
        let doublings = self.retreats.saturating_sub(1).min(31);
        backoff.first.saturating_mul(1 << doublings).min(backoff.most)
    }

    fn told(&self, wait: Duration) -> Contested {
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

        /// The seconds that the driver waits from now on, if it was put right for the last time.
        fn corrected(&mut self, second: u64) -> Option<u64> {
            let rivals = vec![Rival { field: ".data.a".to_owned(), manager: Some("intruder".to_owned()) }];
            let told = self.contests.corrected(&applied(), HASH, rivals, self.at(second));
            told.map(|told| told.wait.as_secs())
        }

        fn is_held(&mut self, second: u64, unchanged: bool) -> bool {
            self.contests.held(&applied(), HASH, unchanged, self.at(second)).is_some()
        }

        fn at(&self, second: u64) -> Instant {
            self.start + Duration::from_secs(second)
        }
    }

    #[test]
    fn a_change_now_and_then_is_put_right_at_once() {
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
        assert!(bench.is_held(21, true), "it was put right four seconds ago");
        assert!(!bench.is_held(22, true));
        assert!(bench.contests.contests.is_empty());
        assert_eq!(bench.corrected(23), None, "and what happens now counts anew");
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
    fn another_wish_is_tried_at_once() {
        let mut bench = Bench::new();
        for second in [0, 1, 2] {
            bench.corrected(second);
        }
        assert_eq!(bench.contests.held(&applied(), HASH + 1, false, bench.at(3)), None);
        assert_eq!(bench.corrected(4), None);
    }

    #[test]
    fn what_is_told_names_rivals_and_counts() {
        let mut bench = Bench::new();
        for second in [0, 1, 2, 7] {
            bench.corrected(second);
        }
        let told = bench.contests.held(&applied(), HASH, false, bench.at(8)).expect("it is held");
        assert_eq!((told.times, told.wait.as_secs()), (4, 10));
        assert_eq!(told.rivals[0].manager.as_deref(), Some("intruder"));
    }

    #[test]
    fn an_object_that_is_deleted_again_and_again_is_contested() {
        let mut bench = Bench::new();
        let mut made =
            |second| bench.contests.made(&applied(), HASH, bench.start + Duration::from_secs(second));
        assert_eq!((made(0), made(1), made(2)), (None, None, None), "made, and put right twice");
        assert_eq!(made(3).map(|told| (told.times, told.wait.as_secs())), Some((3, 5)));
        // However long it was left alone.
        assert_eq!(made(300).map(|told| told.wait.as_secs()), Some(10));
    }

    #[test]
    fn what_is_made_now_and_then_or_was_deleted_by_us_is_not() {
        let mut bench = Bench::new();
        for second in [0, 61, 122, 183, 244] {
            assert_eq!(bench.contests.made(&applied(), HASH, bench.at(second)), None);
        }
        for second in 300..310 {
            bench.contests.unmade(&applied().resource, &applied().place);
            assert_eq!(bench.contests.made(&applied(), HASH, bench.at(second)), None);
        }
    }

    #[test]
    fn what_was_made_lately_is_bounded() {
        let mut contests = Contests::new(ContestSettings::default());
        let start = Instant::now();
        for number in 0..10_000_u64 {
            let one = Applied { place: ObjectRef::new("default", &number.to_string()), ..applied() };
            assert_eq!(contests.made(&one, HASH, start), None);
            assert!(contests.made.len() <= MOST_MADE);
        }
    }

    #[test]
    fn contests_that_are_over_are_forgotten() {
        let mut contests = Contests::new(ContestSettings::default());
        let start = Instant::now();
        for number in 0..10_000_u64 {
            let place = ObjectRef::new("default", &number.to_string());
            let one = Applied { place, ..applied() };
            contests.corrected(&one, HASH, Vec::new(), start + Duration::from_secs(number));
        }
        assert!(contests.contests.len() < 2_000, "{}", contests.contests.len());
    }
}
