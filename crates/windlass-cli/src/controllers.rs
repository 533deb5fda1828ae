//! The controllers that come with the command line.

use anyhow::{Context, bail};
use kube::CustomResourceExt;
use serde_json::Value;
use two_configmaps::{Pair, TwoConfigMaps};
use web_app::{WebApp, WebApps};
use windlass::Controller;
use windlass_klight::network::{LightNetwork, LightNetworks};

/// A controller that comes with the command line.
pub(crate) struct BundledController {
    /// What it is, in one line.
    pub(crate) about: &'static str,
    /// The controller.
    pub(crate) controller: Controller,
    /// The definition of its parent kind.
    pub(crate) definition: Value,
    /// Namespaces that it watches by default; empty for all.
    pub(crate) namespaces: &'static [&'static str],
}

impl BundledController {
    pub(crate) fn name(&self) -> &str {
        self.controller.name()
    }

    /// Whether people call its parents so: `Pair`, `pairs`, `pairs.example.windlass.dev`, `Pair.example.windlass.dev`, or by
    /// a short name of the definition.
    pub(crate) fn has_parents_called(&self, name: &str) -> bool {
        let (kind, name) = (self.controller.declaration().parent(), name.to_lowercase());
        let (plural, group) = (&kind.resource.plural, &kind.resource.group);
        let short =
            name.strip_suffix(group.as_str()).and_then(|name| name.strip_suffix('.')).unwrap_or(&name);
        let mut short_names = self.definition["spec"]["names"]["shortNames"].as_array().into_iter().flatten();
        short == kind.kind.to_lowercase() || short == plural || short_names.any(|known| known == short)
    }
}

/// All of them, in the order of the examples.
pub(crate) fn all() -> anyhow::Result<Vec<BundledController>> {
    let definition = |definition| serde_json::to_value(definition).context("a definition cannot be written");
    Ok(vec![
        BundledController {
            about: "for each Pair two ConfigMaps",
            controller: Controller::new(TwoConfigMaps),
            definition: definition(Pair::crd())?,
            namespaces: &[],
        },
        BundledController {
            about: "for each WebApp a ConfigMap, a Deployment, a Service and a name",
            controller: Controller::new(WebApps),
            definition: definition(WebApp::crd())?,
            namespaces: &[],
        },
        BundledController {
            about: "joins pods with the label klight.networkId into networks of lightpeers",
            controller: Controller::new(LightNetworks::default()),
            definition: definition(LightNetwork::crd())?,
            namespaces: &["default"],
        },
    ])
}

/// The namespaces that controllers watch: those that are given, or all, or the default of each. Empty stands for all.
pub(crate) fn namespaces(controllers: &[BundledController], given: &[String], all: bool) -> Vec<String> {
    if !given.is_empty() || all || controllers.iter().any(|bundled| bundled.namespaces.is_empty()) {
        return given.to_vec();
    }
    let usual = controllers.iter().flat_map(|bundled| bundled.namespaces);
    usual.map(|namespace| (*namespace).to_owned()).collect()
}

/// Those with these names, or all if there are none.
pub(crate) fn named(names: &[String]) -> anyhow::Result<Vec<BundledController>> {
    let all = all()?;
    for name in names {
        if !all.iter().any(|known| known.name() == name) {
            let known: Vec<String> =
                all.iter().map(|known| format!("\n  {:<16}{}", known.name(), known.about)).collect();
            bail!("there is no controller {name:?}; there are:{}", known.concat());
        }
    }
    let wanted =
        |known: &BundledController| names.is_empty() || names.iter().any(|name| name == known.name());
    Ok(all.into_iter().filter(wanted).collect())
}

/// The one with this name.
pub(crate) fn by_name(name: &str) -> anyhow::Result<BundledController> {
    named(&[name.to_owned()])?.pop().context("a controller that was found is there")
}

/// Their names, for messages.
pub(crate) fn names(controllers: &[BundledController]) -> String {
    controllers.iter().map(BundledController::name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_klight_watches_the_default_namespace_by_default() {
        let named = |names: &[&str]| {
            named(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()).expect("they are there")
        };
        let given = ["a".to_owned(), "b".to_owned()];
        assert_eq!(namespaces(&named(&["klight"]), &[], false), ["default"]);
        assert!(namespaces(&named(&["klight"]), &[], true).is_empty());
        assert_eq!(namespaces(&named(&["klight"]), &given, false), given);
        assert!(namespaces(&named(&["klight", "web-app"]), &[], false).is_empty());
    }

    #[test]
    fn kinds_are_known_by_what_people_call_them() {
        let pairs = by_name("two-configmaps").expect("it is there");
        for name in ["Pair", "pair", "pairs", "pairs.example.windlass.dev", "Pair.example.windlass.dev"] {
            assert!(pairs.has_parents_called(name), "{name}");
        }
        for name in ["pa", "configmaps", "pairs.example.com", "", "example.windlass.dev"] {
            assert!(!pairs.has_parents_called(name), "{name}");
        }
        assert!(by_name("klight").expect("it is there").has_parents_called("lnet"));
    }
}
