//! A run that no schedule leads: what happens next is drawn from what is possible on the wire.
//!
//! So runs do not depend on what the checker takes for possible: if it forgot something, it is met here.

use super::{Player, matching, take_at};
use crate::budget::Budget;
use crate::random::Random;

use anyhow::Result;

/// How many things happen before the rest is left to itself.
const STEPS: usize = 40;
/// Percentage of steps that are faults, where both are possible.
const FAULTS_IN_HUNDRED: u64 = 40;
/// How many times as likely a crash is where a process waits for the delivery of a write.
const CRASHES_WHILE_SENDING: usize = 3;
/// Percentage of steps that are late deliveries: the longer they take, the more harm they do.
const LATE_IN_HUNDRED: u64 = 10;

/// Something that can happen next. Requests are named by their numbers on the wire.
#[derive(Clone, Copy, Debug)]
enum Choice {
    Client(usize),
    Start(usize),
    Deliver(usize, u64),
    Reply(u64),
    /// By its index among the requests that dead processes have left behind.
    Late(usize),
    /// By its index among the requests that were delivered.
    Duplicate(usize),
    DeliverAgain(usize, u64),
    Crash(usize),
    LoseRequest(u64),
    LoseReply(u64),
    Refuse(u64),
    BreakWatches(usize),
}

impl Player<'_> {
    /// Lets things happen at random; says what happened, in words.
    pub(super) async fn wander(&mut self, random: &mut Random, mut budget: Budget) -> Result<Vec<String>> {
        let mut happened = Vec::new();
        for _ in 0..STEPS {
            for process in 0..self.processes.len() {
                if self.processes[process].is_some() {
                    self.read(process).await?;
                }
            }
            let (faults, mut others) = self.choices(&budget);
            if !random.percent(LATE_IN_HUNDRED) {
                others.retain(|choice| !matches!(choice, Choice::Late(_)));
            }
            let strikes = !faults.is_empty() && (others.is_empty() || random.percent(FAULTS_IN_HUNDRED));
            let choices = if strikes { faults } else { others };
            if choices.is_empty() {
                break;
            }
            let choice = random.pick(&choices);
            happened.push(self.in_words(choice));
            self.happen(choice, &mut budget).await?;
        }
        Ok(happened)
    }

    /// The faults that may strike now, and what else can happen.
    fn choices(&self, budget: &Budget) -> (Vec<Choice>, Vec<Choice>) {
        let (mut faults, mut others) = (Vec::new(), Vec::new());
        let goes_on = |script: &usize| self.scripts[*script] < self.stage.scripts[*script].len();
        others.extend((0..self.scripts.len()).filter(goes_on).map(Choice::Client));
        others.extend((0..self.late.len()).map(Choice::Late));
        if budget.duplicates {
            faults.extend((0..self.delivered.len()).map(Choice::Duplicate));
        }
        for process in 0..self.processes.len() {
            if self.processes[process].is_none() {
                others.push(Choice::Start(process));
                continue;
            }
            for waiting in self.wire.waiting(process) {
                let id = waiting.id;
                let mut fault = |left: u8, choice| faults.extend((left > 0).then_some(choice));
                if waiting.is_delivered {
                    others.push(Choice::Reply(id));
                    fault(budget.lost_replies, Choice::LoseReply(id));
                    let has_copy =
                        budget.duplicates && matching(&self.delivered, process, &waiting.sent).is_some();
                    fault(u8::from(has_copy), Choice::DeliverAgain(process, id));
                } else {
                    others.push(Choice::Deliver(process, id));
                    fault(budget.lost_requests, Choice::LoseRequest(id));
                    fault(budget.errors, Choice::Refuse(id));
                }
            }
            // A crash is worst where a write is on its way, so there it is more likely.
            let is_sending =
                self.wire.waiting(process).iter().any(|it| !it.is_delivered && it.sent.is_write());
            let times = if is_sending { CRASHES_WHILE_SENDING } else { 1 };
            faults.extend(std::iter::repeat_n(Choice::Crash(process), times).filter(|_| budget.crashes > 0));
            faults.extend((budget.watch_gaps > 0).then_some(Choice::BreakWatches(process)));
        }
        (faults, others)
    }

    async fn happen(&mut self, choice: Choice, budget: &mut Budget) -> Result<()> {
        match choice {
            Choice::Client(script) => self.client(script).await?,
            Choice::Start(process) => self.start(process).await?,
            Choice::Deliver(process, id) => self.deliver(process, id).await?,
            Choice::Reply(id) => self.wire.answer(id, None),
            Choice::Late(index) => {
                let (process, sent) = self.late.remove(index);
                self.wire.deliver_sent(&sent).await?;
                self.delivered.push((process, sent));
            }
            Choice::Duplicate(index) => {
                let (_, sent) = self.delivered.remove(index);
                self.wire.deliver_sent(&sent).await?;
            }
            Choice::DeliverAgain(process, id) => {
                let waiting = self.wire.waiting(process).into_iter().find(|waiting| waiting.id == id);
                if let Some(waiting) = waiting {
                    take_at(&mut self.delivered, process, &waiting.sent);
                }
                self.wire.deliver(id).await?;
            }
            Choice::Crash(process) => {
                budget.crashes -= 1;
                let sent = self.wire.waiting(process).into_iter();
                let sent = sent.filter(|waiting| !waiting.is_delivered && waiting.sent.is_write());
                self.late.extend(sent.map(|waiting| (process, waiting.sent)));
                self.kill(process).await?;
            }
            Choice::LoseRequest(id) => {
                budget.lost_requests -= 1;
                self.wire.lose(id);
            }
            Choice::LoseReply(id) => {
                budget.lost_replies -= 1;
                self.wire.lose(id);
            }
            Choice::Refuse(id) => {
                budget.errors -= 1;
                self.wire.refuse(id);
            }
            Choice::BreakWatches(process) => {
                budget.watch_gaps -= 1;
                self.wire.break_watches(process);
            }
        }
        Ok(())
    }

    /// `Deliver: PATCH /api/v1/namespaces/default/configmaps/a`
    fn in_words(&self, choice: Choice) -> String {
        let on_wire = |wanted: u64| {
            let all = (0..self.processes.len()).flat_map(|process| self.wire.waiting(process));
            all.into_iter().find(|waiting| waiting.id == wanted).map(|waiting| waiting.sent)
        };
        let (what, sent) = match choice {
            Choice::Client(script) => return format!("client script {}: next event", script + 1),
            Choice::Start(process) => return format!("process {}: start", process + 1),
            Choice::Crash(process) => return format!("process {}: KILL", process + 1),
            Choice::BreakWatches(process) => return format!("process {}: BREAK its watches", process + 1),
            Choice::Deliver(_, id) => ("deliver", on_wire(id)),
            Choice::Reply(id) => ("answer", on_wire(id)),
            Choice::Late(index) => ("deliver LATE", self.late.get(index).map(|(_, sent)| sent.clone())),
            Choice::Duplicate(index) => {
                ("deliver AGAIN, to no one", self.delivered.get(index).map(|(_, sent)| sent.clone()))
            }
            Choice::DeliverAgain(_, id) => ("deliver AGAIN", on_wire(id)),
            Choice::LoseRequest(id) => ("LOSE", on_wire(id)),
            Choice::LoseReply(id) => ("LOSE the answer to", on_wire(id)),
            Choice::Refuse(id) => ("answer 503 to", on_wire(id)),
        };
        sent.map_or_else(|| what.to_owned(), |sent| format!("{what}: {} {}", sent.method, sent.path()))
    }
}
