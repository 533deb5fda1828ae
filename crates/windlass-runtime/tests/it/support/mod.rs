//! What the tests share: clusters, a tap on the wire, and waiting for what must come.

mod cluster;
mod rig;
mod tap;

pub(crate) use cluster::{Cluster, Embedded, client_of, install_rings, rings};
pub(crate) use rig::{Rig, manager};
pub(crate) use tap::{Fault, Sent, Tap};

use std::time::Duration;

/// Makes a test of each scenario on an embedded server of its own, and a function that performs all of them on a server
/// that is there already.
macro_rules! on_both_servers {
    ($($name:ident)*) => {
        /// Each scenario on a server of its own.
        mod embedded {
            $(
                #[tokio::test]
                async fn $name() {
                    let embedded = $crate::support::Embedded::start().await;
                    super::$name(&embedded.cluster).await;
                }
            )*
        }

        /// All scenarios, each in a namespace of its name.
        pub(crate) async fn all(client: &kube::Client) {
            $(
                let namespace = stringify!($name).replace('_', "-");
                println!("{namespace}");
                $name(&$crate::support::Cluster::new(client.clone(), &namespace).await).await;
            )*
        }
    };
}
pub(crate) use on_both_servers;

/// Timeout of everything that a test waits for.
const TIMEOUT: Duration = Duration::from_secs(60);
const ASK_EVERY: Duration = Duration::from_millis(5);

/// Waits until something holds; fails with `what` if it never does.
pub(crate) async fn eventually(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !holds().await {
            tokio::time::sleep(ASK_EVERY).await;
        }
    };
    assert!(tokio::time::timeout(TIMEOUT, waiting).await.is_ok(), "this never came: {what}");
}
