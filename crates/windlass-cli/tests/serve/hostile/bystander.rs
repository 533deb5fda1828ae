//! A client that uses the server properly while others do not.

use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, PostParams, WatchEvent, WatchParams};
use kube::{Client, ResourceExt};
use serde_json::json;
use tokio::time::timeout;

use crate::eventually::TIMEOUT;
use crate::served::Served;

/// A client with an open watch.
pub(super) struct Bystander {
    client: Client,
    maps: Api<ConfigMap>,
    events: BoxStream<'static, kube::Result<WatchEvent<ConfigMap>>>,
    served: usize,
}

impl Bystander {
    pub(super) async fn of(served: &Served) -> Bystander {
        let client = served.client().await;
        let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "default");
        let parameters = WatchParams::default().labels("of=bystander").disable_bookmarks();
        let events = maps.watch(&parameters, "0").await.expect("a watch").boxed();
        Bystander { client, maps, events, served: 0 }
    }

    /// Writes, reads and watches, as if there were no other client.
    pub(super) async fn are_served(&mut self) {
        self.served += 1;
        let name = format!("bystander-{}", self.served);
        let map = json!({"metadata": {"name": name, "labels": {"of": "bystander"}}});
        let map: ConfigMap = serde_json::from_value(map).expect("a config map");
        let all = async {
            self.maps.create(&PostParams::default(), &map).await.expect("created");
            let event = self.events.try_next().await.expect("the watch is well").expect("and goes on");
            assert!(matches!(&event, WatchEvent::Added(map) if map.name_any() == name), "{event:?}");
            self.maps.get(&name).await.expect("read");
            self.maps.delete(&name, &DeleteParams::default()).await.expect("deleted");
            let event = self.events.try_next().await.expect("the watch is well").expect("and goes on");
            assert!(matches!(&event, WatchEvent::Deleted(map) if map.name_any() == name), "{event:?}");
        };
        timeout(TIMEOUT, all).await.expect("others are served meanwhile");
    }

    /// A figure of the server.
    pub(super) async fn metric(&self, name: &str) -> u64 {
        let request = http::Request::get("/metrics").body(Vec::new()).expect("a request");
        let text = self.client.request_text(request).await.expect("an answer");
        let line = text.lines().find_map(|line| line.strip_prefix(name)).expect("it is counted");
        line.trim().parse().expect("a number")
    }
}
