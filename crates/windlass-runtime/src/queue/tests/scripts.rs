//! One rule of the queue per script: what is done when, and what comes next.

use super::*;
use crate::queue::{Backoff, RateLimit};

/// Runs a script. Each line is a time in milliseconds, what is done then, and for `next` what must come:
///
/// - `add KEY WHAT [output|watched] [initial] [spec]`, `forget KEY`
/// - `next -> KEY [#ATTEMPT] [timer|retry] [create] [waited=MS] (CAUSES)`, `next -> until MS` or `next -> idle`
/// - `done KEY [AFTER]`, `requeue KEY AFTER`, `failed KEY`, `conflict KEY`, `terminal KEY`, `gone KEY`
fn check(script: &str) {
    check_with(QueueSettings { backoff: exact(), ..QueueSettings::default() }, script);
}

/// A backoff without jitter: its bounds are equal.
fn exact() -> Backoff {
    Backoff { initial: Duration::from_secs(1), max: Duration::from_secs(1) }
}

fn check_with(settings: QueueSettings, script: &str) {
    let (mut queue, start) = (Queue::new(settings), Instant::now());
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (command, expected) = line.split_once(" -> ").unwrap_or((line, ""));
        let words: Vec<&str> = command.split_whitespace().collect();
        let now = at(start, words[0].parse().unwrap());
        let after = |index: usize| words.get(index).map(|word| Duration::from_millis(word.parse().unwrap()));
        let finished = match words[1] {
            "add" => {
                queue.add(key(words[2]), reason(&words[3..]), now);
                continue;
            }
            "forget" => {
                queue.forget(&key(words[2]));
                continue;
            }
            "next" => {
                assert_eq!(describe(&queue.next(now), start), expected, "{line}");
                continue;
            }
            "done" => after(3).map_or(Requeue::OnTrigger, Requeue::After),
            "requeue" => Requeue::After(after(3).unwrap()),
            "failed" => Requeue::WithBackoff,
            "conflict" => Requeue::WithBackoff,
            "terminal" => Requeue::OnSpecChange,
            "gone" => Requeue::OnTrigger,
            other => panic!("no such command: {other}"),
        };
        queue.finished(&key(words[2]), finished, now);
    }
}

fn reason(words: &[&str]) -> Reason {
    let has = |word| words.contains(&word);
    let cause = match (has("output"), has("watched")) {
        (true, _) => Cause::Output,
        (_, true) => Cause::Watched,
        _ => Cause::Parent,
    };
    let priority = if has("initial") { Priority::Background } else { Priority::Live };
    Reason { priority, spec_changed: has("spec"), ..live(cause, words[0]) }
}

fn describe(next: &Next, start: Instant) -> String {
    let work = match next {
        Next::Idle => return "idle".to_owned(),
        Next::WaitUntil(until) => return format!("until {}", until.duration_since(start).as_millis()),
        Next::Take(work) => work,
    };
    let mut text = work.key.to_string();
    if work.attempt > 1 {
        text += &format!(" #{}", work.attempt);
    }
    text += match work.due {
        Due::Change => "",
        Due::Timer => " timer",
        Due::Retry => " retry",
    };
    if work.create_missing {
        text += " create";
    }
    if !work.waited.is_zero() {
        text += &format!(" waited={}", work.waited.as_millis());
    }
    text + &format!(" ({})", work.causes)
}

#[test]
fn first_come_first_served_and_then_nothing() {
    check(
        "0 next -> idle
         0 add a x
         1 add b y
         5 next -> a waited=5 (x)
         5 next -> b waited=4 (y)
         5 next -> idle
         6 done a
         6 done b
         6 next -> idle",
    );
}

#[test]
fn triggers_of_one_object_become_one_run() {
    check(
        "0 add a x
         0 add a y output
         0 add a x
         0 next -> a (x, y)
         0 next -> idle",
    );
}

#[test]
fn a_trigger_while_active_makes_one_further_run() {
    check(
        "0 add a x
         0 next -> a (x)
         1 add a y
         1 add a z
         1 next -> idle
         2 done a
         3 next -> a waited=1 (y, z)
         3 done a
         3 next -> idle",
    );
}

#[test]
fn a_failure_backs_off_and_events_leave_the_retry_where_it_is() {
    check(
        "0 add a x
         0 next -> a (x)
         0 failed a
         0 next -> until 1000
         500 add a y output
         500 next -> until 1000
         1000 next -> a #2 retry (x, y)
         1000 add a z
         1000 failed a
         1000 next -> until 2000
         2000 next -> a #3 retry (x, y, z)
         2000 done a
         2000 add a w
         2000 next -> a (w)",
    );
}

#[test]
fn the_backoff_doubles_with_failures_and_not_with_events() {
    let mut queue = Queue::new(QueueSettings::default());
    let mut now = Instant::now();
    queue.add(key("a"), live(Cause::Parent, "x"), now);
    let mut waits = Vec::new();
    for _ in 0..9 {
        while !matches!(queue.next(now), Next::Take(_)) {
            let Next::WaitUntil(until) = queue.next(now) else { panic!("a retry is due some time") };
            waits.push(until.duration_since(now).as_secs());
            (0..5).for_each(|_| queue.add(key("a"), live(Cause::Output, "y"), now));
            now = until;
        }
        queue.finished(&key("a"), Requeue::WithBackoff, now);
    }
    let bounds = [(1, 1), (2, 2), (4, 4), (8, 8), (16, 17), (32, 35), (54, 60), (54, 60)];
    assert_eq!(waits.len(), bounds.len());
    assert!(waits.iter().zip(bounds).all(|(wait, (least, most))| (least..=most).contains(wait)), "{waits:?}");
}

#[test]
fn a_conflict_backs_off_too() {
    check(
        "0 add a x
         0 next -> a (x)
         0 conflict a
         1 add a y output
         1 next -> until 1000
         1000 next -> a #2 retry (x, y)",
    );
}

#[test]
fn a_change_of_the_parent_ends_the_backoff() {
    check(
        "0 add a x
         0 next -> a (x)
         0 failed a
         1 add a parent spec
         1 next -> a (x, parent)
         1 failed a
         1 next -> until 1001
         1001 next -> a #2 retry (x, parent)",
    );
}

#[test]
fn a_change_of_the_parent_while_active_makes_the_failure_that_of_another_parent() {
    check(
        "0 add a x
         0 next -> a (x)
         0 add a parent spec
         0 failed a
         0 next -> a (x, parent)
         0 failed a
         0 next -> until 1000",
    );
}

#[test]
fn a_wait_never_backs_off_and_an_event_ends_it() {
    check(
        "0 add a x
         0 next -> a (x)
         0 requeue a 500
         0 next -> until 500
         500 next -> a timer ()
         500 requeue a 500
         600 add a y output
         600 next -> a (y)
         600 requeue a 500
         1100 next -> a timer ()
         1100 add a z
         1100 requeue a 500
         1100 next -> a (z)",
    );
}

#[test]
fn a_wait_resets_the_backoff() {
    check(
        "0 add a x
         0 next -> a (x)
         0 failed a
         1000 next -> a #2 retry (x)
         1000 requeue a 10
         1010 next -> a timer ()",
    );
}

#[test]
fn done_may_requeue() {
    check(
        "0 add a x
         0 next -> a (x)
         0 done a 700
         700 next -> a timer ()
         700 done a
         700 next -> idle",
    );
}

#[test]
fn a_terminal_error_waits_for_the_parent_alone() {
    check(
        "0 add a x
         0 next -> a (x)
         0 add a status
         0 terminal a
         1 add a y output
         1 add a z watched
         1 add a status
         1 next -> idle
         2 add a parent spec
         2 next -> a (parent)
         2 add a parent2 spec
         2 terminal a
         2 next -> a (parent2)",
    );
}

#[test]
fn what_is_gone_is_forgotten_but_not_what_came_since() {
    check(
        "0 add a x
         0 next -> a (x)
         0 gone a
         0 next -> idle
         1 add a x
         1 next -> a (x)
         1 add a y watched
         1 gone a
         1 next -> a create (y)",
    );
}

#[test]
fn a_retry_may_still_make_the_parent() {
    check(
        "0 add a w watched
         0 next -> a create (w)
         0 failed a
         1000 next -> a #2 retry create (w)
         1000 done a
         1000 add a x
         1000 next -> a (x)",
    );
}

#[test]
fn the_initial_list_lets_others_go_first_and_is_raised_by_them() {
    check(
        "0 add a x initial
         0 add b x initial
         0 add c x initial
         1 add d y
         2 add c y
         2 next -> d waited=1 (y)
         2 next -> c waited=2 (x, y)
         2 next -> a waited=2 (x)
         2 next -> b waited=2 (x)
         2 next -> idle",
    );
}

#[test]
fn what_is_forgotten_does_not_come_back() {
    check(
        "0 add a x
         0 forget a
         0 next -> idle
         0 add a x
         0 next -> a (x)
         0 add a y
         0 forget a
         0 failed a
         9000 next -> idle
         9000 add a z
         9000 next -> a (z)
         9000 failed a
         9000 forget a
         19000 next -> idle
         19000 add b x
         19000 next -> b (x)
         19000 forget b
         19000 add b y
         19000 done b
         19000 next -> b (y)",
    );
}

#[test]
fn ignores_a_finish_of_an_object_that_was_not_taken() {
    check(
        "0 done a
         0 add a x
         0 failed a
         0 next -> a (x)",
    );
}

#[test]
fn the_rate_limit_is_shared() {
    let limit = Some(RateLimit::new(1.0, 1));
    let settings = QueueSettings { rate_limit: limit.clone(), ..QueueSettings::default() };
    let (mut one, mut other) = (Queue::new(settings.clone()), Queue::new(settings));
    let now = Instant::now();
    for queue in [&mut one, &mut other] {
        queue.add(key("a"), live(Cause::Parent, "x"), now);
    }
    assert!(matches!(one.next(now), Next::Take(_)));
    let Next::WaitUntil(until) = other.next(now) else { panic!("the token is taken") };
    assert!(matches!(other.next(until), Next::Take(_)));
}

#[test]
fn counts_say_what_is_where() {
    let (mut queue, start) = (Queue::new(QueueSettings::default()), Instant::now());
    for name in ["active", "slow", "failed", "timer", "halted"] {
        queue.add(key(name), live(Cause::Parent, "x"), start);
        assert!(matches!(queue.next(start), Next::Take(_)));
    }
    queue.add(key("live"), live(Cause::Parent, "x"), start);
    queue.add(key("initial"), Reason { priority: Priority::Background, ..live(Cause::Parent, "x") }, start);
    queue.finished(&key("failed"), Requeue::WithBackoff, start);
    queue.finished(&key("timer"), Requeue::After(Duration::from_secs(9)), start);
    queue.finished(&key("halted"), Requeue::OnSpecChange, start);
    let counts = queue.counts(at(start, 2_000));
    assert_eq!(
        (counts.live, counts.background, counts.delayed, counts.halted, counts.active),
        (1, 1, 2, 1, 2)
    );
    assert_eq!((counts.unfinished_seconds, counts.longest_running_seconds), (4.0, 2.0));
    assert_eq!((counts.adds, counts.retries), (7, 1));
}

#[test]
fn nothing_is_kept_of_what_is_done() {
    let (mut queue, now) = (Queue::new(QueueSettings::default()), Instant::now());
    for number in 0..1_000 {
        queue.add(key(&number.to_string()), live(Cause::Parent, "x"), now);
    }
    while let Next::Take(work) = queue.next(now) {
        queue.finished(&work.key, Requeue::OnTrigger, now);
    }
    assert!(queue.entries.is_empty() && queue.ready.is_empty());
    assert!(queue.delayed.is_empty() && queue.active.is_empty());
}
