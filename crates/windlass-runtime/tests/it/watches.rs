//! Watches: shared, resumed, begun again.

use std::net::SocketAddr;

use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use two_configmaps::{Pair, TwoConfigMaps, config_map};
use windlass::{Cx, Declaration, Machine, Outcome, States, done};
use windlass_runtime::Manager;

use crate::support::{Cluster, Embedded, Fault, Rig, Sent, Tap, eventually, manager};

/// A second controller of the same kinds.
struct Third;

#[derive(States)]
enum Only {
    #[state(initial, condition = "ThirdReady")]
    Only,
}

impl Machine for Third {
    type Parent = Pair;
    type State = Only;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.output::<ConfigMap>();
    }

    async fn run(&self, _: Only, cx: &Cx<Pair>) -> Outcome<Only> {
        cx.ensure(config_map("cm3", cx.parent()));
        done()
    }
}

#[tokio::test]
async fn controllers_share_watches() {
    let embedded = Embedded::start().await;
    let (cluster, tap) = (&embedded.cluster, Tap::new());
    let running = manager(cluster, &tap).controller(TwoConfigMaps).controller(Third).start().await;
    let rig = Rig { running: running.expect("it starts"), tap };
    cluster.create_pair("a").await;
    cluster.until_ready("a").await;
    eventually("cm3", async || cluster.value_of("a-cm3").await.is_some()).await;
    for resource in ["/pairs?", "/configmaps?"] {
        let of = |sent: &Sent| sent.target.contains(resource);
        assert_eq!(rig.tap.count(|sent| of(sent) && sent.is_list()), 1, "{resource}");
        assert_eq!(rig.tap.count(|sent| of(sent) && sent.is_watch()), 1, "{resource}");
    }
    rig.running.stop().await;
}

#[tokio::test]
async fn each_of_several_namespaces_has_watches_of_its_own() {
    let embedded = Embedded::start().await;
    let (one, tap) = (&embedded.cluster, Tap::new());
    let other = Cluster::new(one.client.clone(), "other").await;
    let foreign = Cluster::new(one.client.clone(), "foreign").await;
    foreign.create_pair("a").await;
    let both = manager(one, &tap).namespaces([one.namespace.as_str(), "other", "other"]);
    let running = both.controller(TwoConfigMaps).start().await.expect("it starts");
    for cluster in [one, &other] {
        cluster.create_pair("a").await;
        cluster.until_ready("a").await;
        let path = format!("/namespaces/{}/pairs?", cluster.namespace);
        assert_eq!(tap.count(|sent| sent.target.contains(&path) && sent.is_watch()), 1, "{path}");
    }
    assert!(!foreign.is_ready("a").await);
    assert_eq!(tap.count(|sent| sent.target.contains("foreign")), 0);
    running.stop().await;
}

#[tokio::test]
async fn a_watch_that_is_cut_goes_on_where_it_was() {
    let embedded = Embedded::start().await;
    let cluster = &embedded.cluster;
    let rig = Rig::start(cluster).await;
    cluster.create_pair("a").await;
    cluster.until_ready("a").await;
    rig.until_idle().await;
    rig.tap.take();
    rig.tap.cut_watches();
    cluster.create_pair("b").await;
    cluster.until_ready("b").await;
    assert_eq!(rig.tap.count(Sent::is_list), 0, "nothing was to be listed again");
    eventually("both watches are up again", async || rig.tap.count(Sent::is_watch) == 2).await;
    rig.running.stop().await;
}

#[tokio::test]
async fn where_the_history_is_gone_all_is_listed_again() {
    let embedded = Embedded::start().await;
    let cluster = &embedded.cluster;
    let rig = Rig::start(cluster).await;
    cluster.create_pair("a").await;
    cluster.until_ready("a").await;
    rig.until_idle().await;
    rig.tap.take();
    let mut requests_failed = 0;
    rig.tap.rule(move |sent| {
        if !sent.is_watch() || requests_failed == 2 {
            return Fault::None;
        }
        requests_failed += 1;
        let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Expired", "code": 410});
        Fault::Answer { code: 200, retry_after: None, body: json!({"type": "ERROR", "object": status}) }
    });
    // What happens while no watch is open is found by the list.
    rig.tap.cut_watches();
    cluster.delete_config_map("a-cm2").await;
    eventually("a-cm2 is back", async || cluster.value_of("a-cm2").await.is_some()).await;
    eventually("both were listed again", async || rig.tap.count(Sent::is_list) == 2).await;
    rig.until_idle().await;
    let work: Vec<Sent> = rig.tap.take().into_iter().filter(Sent::is_work).collect();
    // The output that was missing, and the status with its new uid. What did not change is no event.
    assert_eq!(work.len(), 2, "{work:#?}");
    rig.running.stop().await;
}

#[tokio::test]
async fn a_watch_that_is_forbidden_is_named_and_tried_again() {
    let embedded = Embedded::start().await;
    let (cluster, tap) = (&embedded.cluster, Tap::new());
    tap.rule(|sent| {
        if !sent.target.contains("/configmaps") {
            return Fault::None;
        }
        let body = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden",
            "message": "configmaps is forbidden: User \"u\" cannot list resource \"configmaps\"", "code": 403});
        Fault::Answer { code: 403, retry_after: None, body }
    });
    let rig = Rig::start_on(cluster, tap).await;
    cluster.create_pair("a").await;
    let errors = || {
        let states = rig.running.handle().informers();
        let failed =
            states.into_iter().filter_map(|(selection, state)| Some((selection.to_string(), state.error?)));
        failed.collect::<Vec<(String, String)>>()
    };
    eventually("the failure is shown", async || !errors().is_empty()).await;
    let [(watch, error)] = &errors()[..] else { panic!("one watch fails") };
    assert_eq!(watch, "configmaps in namespace test");
    assert_eq!(
        error,
        "cannot watch configmaps in namespace test: configmaps is forbidden: User \"u\" cannot list resource \
         \"configmaps\"; allow this account to list and watch it"
    );
    // A controller that does not see all there is does nothing.
    assert_eq!(rig.reconciles(), 0);
    rig.tap.no_rule();
    cluster.until_ready("a").await;
    assert_eq!(errors(), []);
    rig.running.stop().await;
}

#[tokio::test]
async fn a_kind_that_is_installed_later_is_found() {
    let embedded = Embedded::start_without_pairs().await;
    let cluster = &embedded.cluster;
    let rig = Rig::start(cluster).await;
    let shown = || format!("{:?}", rig.running.handle().informers());
    eventually("the failure is shown", async || shown().contains("install its CustomResourceDefinition"))
        .await;
    cluster.install_pairs().await;
    cluster.create_pair("a").await;
    cluster.until_ready("a").await;
    rig.running.stop().await;
}

/// What a probe is answered.
async fn probe(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("it answers");
    answer
}

#[tokio::test]
async fn readiness_names_the_watch_that_is_not_synced() {
    let embedded = Embedded::start().await;
    let (cluster, tap) = (&embedded.cluster, Tap::new());
    tap.rule(|sent| if sent.target.contains("/configmaps") { Fault::Swallowed } else { Fault::None });
    let manager = Manager::new().client(tap.on(&cluster.client)).controller(TwoConfigMaps);
    let running = manager.endpoints(([127, 0, 0, 1], 0).into()).start().await.expect("it starts");
    let address = running.endpoints().expect("they are served");
    let pairs_synced = async || {
        let states = running.handle().informers();
        states.iter().any(|(selection, state)| selection.resource.plural == "pairs" && state.synced)
    };
    eventually("pairs are synced", pairs_synced).await;
    let answer = probe(address, "/readyz").await;
    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
    assert!(answer.contains("watch configmaps"), "{answer}");
    assert!(probe(address, "/healthz").await.starts_with("HTTP/1.1 200"));
    tap.no_rule();
    // A list that is swallowed is sent again after a while, and by a new process at once.
    running.stop().await;
    let manager = Manager::new().client(tap.on(&cluster.client)).controller(TwoConfigMaps);
    let running = manager.endpoints(([127, 0, 0, 1], 0).into()).start().await.expect("it starts");
    running.handle().synced().await;
    let answer = probe(running.endpoints().expect("they are served"), "/readyz").await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    // Without a namespace, it looks after all of them.
    let other = Cluster::new(cluster.client.clone(), "other").await;
    other.create_pair("a").await;
    other.until_ready("a").await;
    cluster.create_pair("a").await;
    cluster.until_ready("a").await;
    running.stop().await;
}
