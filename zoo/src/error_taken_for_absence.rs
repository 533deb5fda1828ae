//! A list that fails is taken for an empty one, and everything that it should have shown is removed.

use k8s_openapi::api::core::v1::Service;
use kube::ResourceExt;
use serde_json::{Value, json};
use windlass::{Cx, Declaration, Machine, Outcome, Select, States, Verb, done};
use windlass_check::{Check, Faults, check};

use crate::broker::{Broker, broker, service};
use crate::{Specimen, Twin};

struct RouteServices(Twin);

#[derive(States)]
enum Step {
    #[state(initial)]
    Routes,
}

/// A router: it gets all routes at once, and answers how many there are.
struct Router;

impl windlass::Service for Router {
    const NAME: &'static str = "router";
    type Request = Vec<String>;
    type Response = usize;
}

impl Machine for RouteServices {
    type Parent = Broker;
    type State = Step;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.may::<Service>([Verb::List]);
    }

    async fn run(&self, _: Step, cx: &Cx<Broker>) -> Outcome<Step> {
        let listed = cx.list::<Service>(Select::all()).await;
        let services = match self.0 {
            Twin::Broken => listed.unwrap_or_default(),
            Twin::Repaired => listed?,
        };
        cx.call(Router, services.iter().map(ResourceExt::name_any).collect()).await?;
        done()
    }
}

fn check_twin(twin: Twin) -> Check {
    check(RouteServices(twin))
        .given([broker(&[])])
        .given([service("mq")])
        .service("router", json!(["mq"]), |routes, request| {
            *routes = request.clone();
            Ok(routes.as_array().map_or(0, Vec::len).into())
        })
        .faults(Faults::none().errors(1))
        .clock(1)
        .always("the service has its route", |world| {
            world.service("router").and_then(Value::as_array).is_some_and(|routes| routes.len() == 1)
        })
        .sometimes("a reconcile comes to its end", |world| world.clock("mq") == 1)
}

pub(crate) fn specimen() -> Specimen {
    Specimen {
        name: "error_taken_for_absence",
        story: "A list that the API could not answer is taken for an empty one, and all routes are removed.",
        origin: "zalando/skipper issue 406",
        reveals: "the service has its route",
        broken: || check_twin(Twin::Broken),
        repaired: || check_twin(Twin::Repaired),
    }
}
