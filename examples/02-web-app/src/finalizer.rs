//! What happens before an app is gone: its name is withdrawn, in a machine of its own.

use windlass::{Cx, Machine, Outcome, States, done, secs, waiting};

use crate::dns::{Dns, RecordRequest};
use crate::web_app::WebApp;

/// Withdraws the name of an app that is deleted. Nothing else is needed: the garbage collector takes the rest.
pub struct WithdrawName;

/// The steps of a deletion.
#[derive(States)]
pub enum Step {
    /// The DNS has no name for it any more.
    #[state(initial, condition = "NameGone", when_true = "The DNS has no name for it")]
    Withdraw,
}

impl Machine for WithdrawName {
    type Parent = WebApp;
    type State = Step;

    async fn run(&self, _: Step, cx: &Cx<WebApp>) -> Outcome<Step> {
        let answer = cx.call(Dns, RecordRequest::clear(cx.parent())).await?;
        // Done would remove the finalizer, and the record would stay forever.
        if answer.record.is_some() {
            return waiting(secs(5), "NameIsLeft", "the DNS still has a name for it");
        }
        done()
    }
}
