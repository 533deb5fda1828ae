//! The controllers that come with the command line.

use kube::CustomResourceExt;
use two_configmaps::{Pair, TwoConfigMaps};
use web_app::{WebApp, WebApps};
use windlass_app::AppController;
use windlass_klight::network::{LightNetwork, LightNetworks};
use windlass_mizar::MizarSettings;

/// All of them: the examples, klight, and the operators of mizar.
///
/// # Errors
/// When the environment has settings of mizar that cannot be used.
pub(crate) fn all() -> anyhow::Result<Vec<AppController>> {
    Ok(with_settings(&MizarSettings::from_environment()?))
}

/// All of them, with these settings of mizar.
pub(crate) fn with_settings(settings: &MizarSettings) -> Vec<AppController> {
    let mut all = single();
    all.extend(mizar(settings));
    all
}

/// The operators of mizar, as one suite.
fn mizar(settings: &MizarSettings) -> impl Iterator<Item = AppController> {
    windlass_mizar::suite(settings).into_iter().map(|operator| {
        let controller = AppController::of(operator.controller).about(operator.about).suite("mizar");
        match operator.definition {
            Some(definition) => controller.definition(definition),
            None => controller,
        }
    })
}

fn single() -> Vec<AppController> {
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
