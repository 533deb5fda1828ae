//! The controllers that come with the command line.

use kube::CustomResourceExt;
use two_configmaps::{Pair, TwoConfigMaps};
use web_app::{WebApp, WebApps};
use windlass_app::AppController;
use windlass_klight::network::{LightNetwork, LightNetworks};

/// All of them, in the order of the examples.
pub(crate) fn all() -> Vec<AppController> {
    vec![
        AppController::new(TwoConfigMaps).about("for each Pair two ConfigMaps").definition(Pair::crd()),
        AppController::new(WebApps)
            .about("for each WebApp a ConfigMap, a Deployment, a Service and a name")
            .definition(WebApp::crd()),
        AppController::new(LightNetworks::default())
            .about("joins pods with the label klight.networkId into networks of lightpeers")
            .definition(LightNetwork::crd())
            .default_namespaces(["default"]),
    ]
}
