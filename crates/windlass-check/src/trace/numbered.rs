//! Distinguishes objects of one name that exist one after the other: `pods default/mq-0#2` is the second of that name.
//!
//! Which number an object has depends on the whole trace, so steps are recorded without, and numbered when they are
//! shown. Names that only one object has stay as they are.

use std::collections::BTreeMap;

use serde_json::Value;
use windlass_model::object;

use super::{Counterexample, ObjectChange, ObjectMention, Trace, TraceStep};

/// A trace and what repeats after it, with objects of one name numbered.
pub(crate) fn numbered(trace: &Trace, repeats: &Trace) -> (Trace, Trace) {
    let numbering = Numbering::of(&[], trace.steps.iter().chain(&repeats.steps));
    let mut names = numbering.start(&[]);
    let [trace, repeats] = [trace, repeats].map(|trace| names.trace(trace));
    (trace, repeats)
}

impl Counterexample {
    /// The same with objects of one name numbered.
    pub(super) fn numbered(&self) -> Self {
        let objects = self.initial.iter().map(|initial| (initial.object.as_str(), &initial.value));
        let initial: Vec<(&str, &Value)> = objects.collect();
        let mut names = Numbering::of(&initial, self.all_steps()).start(&initial);
        let mut numbered = self.clone();
        for initial in &mut numbered.initial {
            initial.object += &names.label(&initial.object, object::uid(&initial.value));
        }
        numbered.steps.iter_mut().chain(&mut numbered.repeats).for_each(|step| names.step(step));
        numbered
    }
}

/// Which objects were met so far, in the order of a trace.
#[derive(Default)]
struct Numbering {
    /// How many objects of each name there were.
    counts: BTreeMap<String, usize>,
    /// The number of each, by name and uid. A uid may come back once nothing mentions it any more, as the checker
    /// forgets what makes no difference: it is that of the last object that had it.
    numbers: BTreeMap<(String, String), usize>,
    /// How many objects of each name there are in the whole trace.
    totals: BTreeMap<String, usize>,
}

impl Numbering {
    /// Counts the objects of a whole trace.
    fn of<'a>(initial: &[(&str, &Value)], steps: impl Iterator<Item = &'a TraceStep>) -> Self {
        let mut whole = Numbering::default().start(initial);
        steps.for_each(|step| whole.meet_all(step));
        Numbering { totals: whole.counts, ..Numbering::default() }
    }

    fn start(mut self, initial: &[(&str, &Value)]) -> Self {
        initial.iter().for_each(|(name, value)| self.meet(name, object::uid(value)));
        self
    }

    /// An object that is there without having been created in the trace is the first of its name.
    fn meet(&mut self, name: &str, uid: &str) {
        if !self.counts.contains_key(name) {
            self.create(name, uid);
        }
    }

    fn create(&mut self, name: &str, uid: &str) {
        let count = self.counts.entry(name.to_owned()).or_default();
        *count += 1;
        self.numbers.insert((name.to_owned(), uid.to_owned()), *count);
    }

    fn meet_all(&mut self, step: &TraceStep) {
        for ObjectChange { object: name, before, after, .. } in &step.changes {
            match (before, after) {
                (Some(before), _) => self.meet(name, object::uid(before)),
                (None, Some(after)) => self.create(name, object::uid(after)),
                (None, None) => {}
            }
        }
        step.objects.iter().for_each(|mention| self.meet(&mention.object, &mention.uid));
    }

    /// `#2`; nothing for a name that only one object has.
    fn label(&self, name: &str, uid: &str) -> String {
        let number = self.numbers.get(&(name.to_owned(), uid.to_owned()));
        match number.filter(|_| self.totals.get(name).is_some_and(|total| *total > 1)) {
            Some(number) => format!("#{number}"),
            None => String::new(),
        }
    }

    fn trace(&mut self, trace: &Trace) -> Trace {
        let mut trace = trace.clone();
        trace.steps.iter_mut().for_each(|step| self.step(step));
        trace
    }

    fn step(&mut self, step: &mut TraceStep) {
        self.meet_all(step);
        let mut mentions: Vec<ObjectMention> = std::mem::take(&mut step.objects);
        // From the end, so that earlier offsets stay valid.
        mentions.sort_by_key(|mention| mention.at);
        for ObjectMention { object: name, uid, at, listed } in mentions.iter().rev() {
            let label = self.label(name, uid);
            // A document may have been edited by hand: an offset outside the text is ignored.
            if label.is_empty() || !step.text.is_char_boundary(*at) {
                continue;
            }
            let text = if *listed { format!(", {name}{label} among them") } else { label };
            step.text.insert_str(*at, &text);
        }
        for change in &mut step.changes {
            let Some(value) = change.before.as_ref().or(change.after.as_ref()) else { continue };
            let name = format!("{}{}", change.object, self.label(&change.object, object::uid(value)));
            change.summary = change.summary.replacen(&change.object, &name, 1);
            change.object = name;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::trace::counterexample::tests::step;
    use crate::trace::{BrokenRule, InitialObject};

    const POD: &str = "pods default/mq-0";

    fn pod(uid: &str) -> Value {
        json!({ "metadata": { "name": "mq-0", "uid": uid } })
    }

    fn mention(text: &str, uid: &str, listed: bool) -> ObjectMention {
        ObjectMention { object: POD.to_owned(), uid: uid.to_owned(), at: text.len(), listed }
    }

    fn read(text: &str, uid: &str, listed: bool) -> TraceStep {
        let objects = vec![mention(text, uid, listed)];
        TraceStep { objects, ..step("evict", Some("database"), text) }
    }

    fn change(text: &str, sign: &str, before: Option<&str>, after: Option<&str>) -> TraceStep {
        let change = ObjectChange {
            object: POD.to_owned(),
            summary: format!("{sign} {POD}"),
            before: before.map(pod),
            after: after.map(pod),
        };
        let uid = before.or(after).unwrap_or_default();
        TraceStep { changes: vec![change], ..read(text, uid, false) }
    }

    /// A pod is seen, deleted and created again, and the new one deleted.
    fn replaced(second: &str) -> Trace {
        let mut last = change("delete pods default/mq-0", "-", Some(second), None);
        last.text += " -> 200; it was decided on pods default/mq-0";
        last.objects.push(mention(&last.text, "a", false));
        Trace {
            steps: vec![
                read("list pods -> 200 with 1 items", "a", true),
                change("delete pods default/mq-0", "-", Some("a"), None),
                change("create pods default/mq-0", "+", None, Some(second)),
                last,
            ],
        }
    }

    #[test]
    fn the_second_object_of_a_name_is_distinguished_from_the_first() {
        assert_eq!(
            replaced("b").to_string(),
            "   1  evict  list pods -> 200 with 1 items, pods default/mq-0#1 among them
   2  evict  delete pods default/mq-0#1
               - pods default/mq-0#1
   3  evict  create pods default/mq-0#2
               + pods default/mq-0#2
   4  evict  delete pods default/mq-0#2 -> 200; it was decided on pods default/mq-0#1
               - pods default/mq-0#2
"
        );
    }

    #[test]
    fn an_object_that_is_the_only_one_of_its_name_has_no_number() {
        let mut trace = replaced("b");
        trace.steps.truncate(2);
        assert!(!trace.to_string().contains('#'), "{trace}");
    }

    #[test]
    fn a_uid_that_comes_back_is_that_of_the_last_object_that_has_it() {
        let mut trace = replaced("a");
        trace.steps[3].objects.pop();
        assert!(trace.to_string().contains("4  evict  delete pods default/mq-0#2"), "{trace}");
    }

    #[test]
    fn diagrams_pages_and_what_repeats_go_on_counting() {
        let trace = replaced("b");
        let repeats = Trace { steps: vec![change("create pods default/mq-0", "+", None, Some("c"))] };
        let initial = vec![InitialObject { object: POD.to_owned(), value: pod("a") }];
        let document = Counterexample::new("evict", "1 object", BrokenRule::end("never"))
            .starting_with(initial)
            .along(trace.clone(), repeats.clone());
        assert!(
            document
                .to_string()
                .starts_with("evict: never\nbounds: 1 object\nat first: pods default/mq-0#1\n")
        );
        assert!(document.to_string().contains("+ pods default/mq-0#3"), "{document}");
        assert!(document.to_mermaid().contains("create pods default/mq-0#35;3"), "{}", document.to_mermaid());
        assert!(document.to_html().contains("\"object\":\"pods default/mq-0#1\""));
        assert!(numbered(&trace, &repeats).1.to_string().contains("+ pods default/mq-0#3"));
        // What is recorded has no numbers: a replay compares single steps.
        assert!(!document.to_json().contains("mq-0#"));
    }

    #[test]
    fn an_offset_outside_the_text_is_ignored() {
        let mut trace = replaced("b");
        trace.steps[0].objects[0].at = 1_000;
        trace.steps[1].text = "größe".to_owned();
        trace.steps[1].objects[0].at = 3;
        assert!(trace.to_string().contains("1  evict  list pods -> 200 with 1 items\n"), "{trace}");
        assert!(trace.to_string().contains("2  evict  größe\n"), "{trace}");
    }
}
