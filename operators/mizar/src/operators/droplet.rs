//! The droplet operator: whether the daemon of a droplet lives, and has its tables.

use std::time::Duration;

use serde_json::json;
use windlass::model::Timestamp;
use windlass::{
    Cx, Declaration, Event, Finalizer, Machine, ObjectRef, Outcome, Select, States, changed,
    done_and_requeue_after, to, waiting, watching,
};

use super::droplet_deletion::DropletDeletion;
use super::parts::Parts;
use super::placement::Placeable;
use super::program::{Part, Program, unexpected};
use super::view::{Endpoints, Group, Selection};
use crate::PROTOCOL;
use crate::api::{Bouncer, Divider, Droplet, Endpoint, Phase};
use crate::droplets::{Daemon, DropletAnswer, DropletInfo, DropletRequest, Droplets};
use crate::mistake::Mistake;
use crate::settings::MizarSettings;
use crate::tables::{Inventory, Scope};

/// Follows the daemons: one that was restarted gets all of its tables again, one that is away for too long is lost.
pub struct DropletOperator {
    settings: MizarSettings,
}

/// The steps of a reconcile.
#[derive(States)]
pub enum DropletStep {
    /// The daemon answers.
    #[state(initial, condition = "DaemonReachable", when_true = "Its daemon answers", next(Tables))]
    DaemonReachable,
    /// The daemon has all tables that the objects ask for.
    #[state(
        condition = "TablesProgrammed",
        when_true = "Its daemon has been given all of its tables",
        next(Load)
    )]
    Tables {
        /// What the daemon calls itself.
        boot: String,
    },
    /// What is placed on it is known.
    Load,
}

/// How a daemon is of no use.
#[derive(Clone, Copy)]
enum Away {
    /// It does not answer.
    Unreachable,
    /// It is that of another droplet, or of another version.
    Mismatch,
}

impl Away {
    /// The reason of the condition. What is to be done about a mismatch stays the same when the droplet is lost.
    fn reason(self, is_lost: bool) -> &'static str {
        match self {
            Away::Mismatch => "DaemonMismatch",
            Away::Unreachable if is_lost => "DropletLost",
            Away::Unreachable => "DaemonUnreachable",
        }
    }
}

impl DropletOperator {
    /// The operator.
    pub fn new(settings: &MizarSettings) -> Self {
        DropletOperator { settings: settings.clone() }
    }
}

impl Machine for DropletOperator {
    type Parent = Droplet;
    type State = DropletStep;

    fn declare(&self, declaration: &mut Declaration) {
        let (of_dividers, of_bouncers) = (self.settings.namespace.clone(), self.settings.namespace.clone());
        declaration
            .name("mizar-droplet")
            .parents(watching::<Droplet>().when(changed::generation_or_metadata))
            .watch(watching::<Divider>().when(is_elsewhere), move |divider| on_droplet(&of_dividers, divider))
            .watch(watching::<Bouncer>().when(is_elsewhere), move |bouncer| on_droplet(&of_bouncers, bouncer))
            .watches::<Endpoint>(|_| Vec::new());
    }

    async fn run(&self, step: DropletStep, cx: &Cx<Droplet>) -> Outcome<DropletStep> {
        match step {
            DropletStep::DaemonReachable => self.daemon(cx).await,
            DropletStep::Tables { boot } => self.tables(cx, boot).await,
            DropletStep::Load => {
                self.report_load(cx).await?;
                done_and_requeue_after(self.settings.check_interval)
            }
        }
    }

    fn finalizer(&self) -> Option<Finalizer<Droplet>> {
        Some(Finalizer::new(DropletDeletion))
    }
}

impl DropletOperator {
    async fn daemon(&self, cx: &Cx<Droplet>) -> Outcome<DropletStep> {
        let state = cx.parent().state();
        match cx.call(Droplets, DropletRequest::Info { daemon: Daemon::from(cx.parent()) }).await? {
            DropletAnswer::Info(info) => {
                if let Some(why) = self.mismatch(cx, &info) {
                    return self.away(cx, Away::Mismatch, why).await;
                }
                if state.lost {
                    // Others leave out a droplet that is lost. From this write on they do not, and what they have left out
                    // is read after it.
                    cx.event(Event::normal("DropletReturned", "its daemon answers again"));
                    cx.report(&json!({ "lost": false, "boot": null, "phase": Phase::Init, "unreachableSince": null }))?;
                    self.report_load(cx).await?;
                    return waiting(Duration::ZERO, "Returned", "all of its tables are programmed next");
                }
                cx.report(&json!({ "unreachableSince": null }))?;
                to(DropletStep::Tables { boot: info.boot })
            }
            DropletAnswer::Failed { why } => self.away(cx, Away::Unreachable, why).await,
            other => Err(unexpected(&other)),
        }
    }

    /// The daemon does not answer, or not as it should.
    async fn away(&self, cx: &Cx<Droplet>, away: Away, why: String) -> Outcome<DropletStep> {
        let (state, now) = (cx.parent().state(), cx.now().await);
        self.report_load(cx).await?;
        if state.lost {
            return waiting(self.settings.check_interval, away.reason(true), why);
        }
        let since = state.unreachable_since.as_deref().and_then(Timestamp::parse).unwrap_or(now);
        let seconds = u64::try_from(now.unix_seconds() - since.unix_seconds()).unwrap_or(0);
        cx.report(&json!({ "unreachableSince": since.to_string() }))?;
        // The time in the status is in whole seconds, so up to one of them was over when it was written.
        if Duration::from_secs(seconds.saturating_sub(1)) < self.settings.lost_after {
            return waiting(self.settings.check_interval, away.reason(false), why);
        }
        cx.event(Event::warning("DropletLost", format!("{why}; what is on it is placed elsewhere")));
        cx.report(&json!({ "lost": true, "phase": Phase::Init }))?;
        waiting(self.settings.check_interval, away.reason(true), why)
    }

    /// Gives a daemon that was started all of its tables.
    async fn tables(&self, cx: &Cx<Droplet>, boot: String) -> Outcome<DropletStep> {
        let known = cx.parent().state().boot;
        let ignored = known.is_some() && self.settings.has(Mistake::IgnoresRestarts);
        if known.as_ref() == Some(&boot) || ignored {
            return to(DropletStep::Load);
        }
        let selection = Selection {
            dividers_of: Some(""),
            bouncers_of: (!self.settings.has(Mistake::BootstrapsWithoutBouncers)).then_some(Group::All),
            endpoints: Endpoints::All,
            ..Selection::of(&self.settings.namespace)
        };
        let all = |_: &Inventory| Parts::from([(cx.name().to_owned(), Part::of([Scope::All]))]);
        match Program::new(&self.settings, selection, &all).run(cx).await?.or_wait(&self.settings) {
            Ok(_) => {
                cx.report(&json!({ "boot": boot, "phase": Phase::Provisioned }))?;
                to(DropletStep::Load)
            }
            Err(waits) => waits,
        }
    }

    async fn report_load(&self, cx: &Cx<Droplet>) -> Result<(), windlass::Error> {
        let placed = placed_on(cx, true).await?;
        let load = placed.len();
        cx.report(&json!({ "placed": placed, "load": load }))
    }

    /// What is wrong with a daemon that answers.
    fn mismatch(&self, cx: &Cx<Droplet>, info: &DropletInfo) -> Option<String> {
        if info.protocol != PROTOCOL {
            return Some(format!(
                "its daemon speaks version {} of the protocol, and the operators version {PROTOCOL}: install the same \
                 version of windlass on both",
                info.protocol
            ));
        }
        let address = cx.parent().address();
        (info.name != cx.name())
            .then(|| format!("the daemon at {address} is that of the droplet {:?}", info.name))
    }
}

/// What is placed on a droplet.
pub(super) async fn placed_on(cx: &Cx<Droplet>, cached: bool) -> Result<Vec<String>, windlass::Error> {
    let dividers: Vec<Divider> = super::view::list(cx, Select::all(), cached).await?;
    let bouncers: Vec<Bouncer> = super::view::list(cx, Select::all(), cached).await?;
    let mut placed = names_on(cx.name(), &dividers);
    placed.extend(names_on(cx.name(), &bouncers));
    placed.sort();
    Ok(placed)
}

fn names_on<K: Placeable>(droplet: &str, all: &[K]) -> Vec<String> {
    let here = all.iter().filter(|one| one.droplet().as_deref() == Some(droplet));
    here.filter_map(|one| Some(format!("{}/{}", K::PREFIX, one.object_meta().name.as_deref()?))).collect()
}

fn on_droplet<K: Placeable>(namespace: &str, placed: &K) -> Vec<ObjectRef> {
    placed.droplet().iter().map(|droplet| ObjectRef::new(namespace, droplet)).collect()
}

/// Whether it has got another droplet, or its first.
fn is_elsewhere<K: Placeable>(before: Option<&K>, after: Option<&K>) -> bool {
    before.and_then(K::droplet) != after.and_then(K::droplet)
}
