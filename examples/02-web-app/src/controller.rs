//! The controller: which objects an app needs, in which order, and what it waits for.

use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Secret, Service};
use windlass::{Cx, Declaration, Finalizer, Machine, ObjectRef, Outcome, States, done, secs, to, waiting};

use crate::dns::{Dns, RecordRequest};
use crate::finalizer::WithdrawName;
use crate::objects::{config_map, deployment, service};
use crate::web_app::{WAITING_APP_LABEL, WebApp};

/// A Secret that names its app in a label triggers a reconcile at once; any other is found within this time.
const RECHECK_INTERVAL: Duration = Duration::from_secs(300);

/// Keeps the objects that each `WebApp` needs.
pub struct WebApps;

/// The steps of a reconcile. Each is a status condition, and `kubectl describe` shows which one waits for what.
#[derive(States)]
pub enum Step {
    /// The configuration file.
    #[state(initial, condition = "ConfigReady", next(Database, Workload))]
    Config,
    /// The Secret that somebody else makes.
    #[state(condition = "DatabaseReady", when_true = "The Secret exists", next(Workload))]
    Database,
    /// The Deployment.
    #[state(condition = "WorkloadReady", next(Exposed, Hidden))]
    Workload,
    /// The Service.
    #[state(condition = "ServiceReady", next(Named))]
    Exposed,
    /// The name, which points to the Service and so comes after it.
    #[state(condition = "NameReady", when_true = "The DNS has the name")]
    Named,
    /// No name; and no Service either, because this run does not ensure one.
    #[state(condition = "NameWithdrawn", when_true = "The DNS has no name for it")]
    Hidden,
}

impl Machine for WebApps {
    type Parent = WebApp;
    type State = Step;

    fn declare(&self, declaration: &mut Declaration) {
        declaration
            .name("web-app")
            .output::<ConfigMap>()
            .output::<Deployment>()
            .output::<Service>()
            .watches(waiting_app);
    }

    async fn run(&self, step: Step, cx: &Cx<WebApp>) -> Outcome<Step> {
        let app = cx.parent();
        match step {
            Step::Config => {
                cx.ensure(config_map(app));
                to(if app.spec.database_secret.is_some() { Step::Database } else { Step::Workload })
            }
            Step::Database => database(cx).await,
            Step::Workload => {
                cx.ensure(deployment(app));
                to(if app.spec.exposed { Step::Exposed } else { Step::Hidden })
            }
            Step::Exposed => {
                cx.ensure(service(app));
                to(Step::Named)
            }
            Step::Named => settle(cx, RecordRequest::set(app)).await,
            Step::Hidden => settle(cx, RecordRequest::clear(app)).await,
        }
    }

    fn finalizer(&self) -> Option<Finalizer<WebApp>> {
        Some(Finalizer::new(WithdrawName))
    }
}

/// The app that waits for a Secret, by its label. A Secret without the label is found when the app is requeued.
fn waiting_app(secret: &Secret) -> Vec<ObjectRef> {
    let labels = secret.metadata.labels.as_ref();
    let app = labels.and_then(|labels| labels.get(WAITING_APP_LABEL));
    let namespace = secret.metadata.namespace.as_deref().unwrap_or_default();
    app.map(|app| ObjectRef::new(namespace, app)).into_iter().collect()
}

async fn database(cx: &Cx<WebApp>) -> Outcome<Step> {
    let name = cx.parent().spec.database_secret.as_deref().unwrap_or_default();
    // Secrets are watched, so this costs no request.
    match cx.cached::<Secret>(name).await? {
        Some(_) => to(Step::Workload),
        None => waiting(RECHECK_INTERVAL, "SecretMissing", format!("the Secret {name:?} does not exist yet")),
    }
}

/// Sends the DNS the desired record, and is done when the DNS has it.
async fn settle(cx: &Cx<WebApp>, request: RecordRequest) -> Outcome<Step> {
    let wanted = request.record.clone();
    let answer = cx.call(Dns, request).await?;
    if answer.record == wanted {
        return done();
    }
    waiting(secs(5), "NewerChange", "the DNS has heard of a newer change of this app")
}
