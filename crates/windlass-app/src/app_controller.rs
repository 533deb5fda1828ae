//! A controller, with what the command line has to know of it.

use std::collections::BTreeSet;

use anyhow::bail;
use serde::Serialize;
use serde_json::Value;
use windlass::{Controller, Machine};

/// A controller of a program.
#[derive(Clone)]
pub struct AppController {
    about: String,
    suite: Option<String>,
    controller: Controller,
    definition: Option<Value>,
    namespaces: Vec<String>,
}

impl AppController {
    /// The controller of a machine.
    pub fn new(machine: impl Machine) -> Self {
        AppController::of(Controller::new(machine))
    }

    /// A controller that exists already, such as one of a library that makes several.
    pub fn of(controller: Controller) -> Self {
        AppController {
            about: String::new(),
            suite: None,
            controller,
            definition: None,
            namespaces: Vec::new(),
        }
    }

    /// Describes it in one line.
    #[must_use]
    pub fn about(self, about: impl Into<String>) -> Self {
        AppController { about: about.into(), ..self }
    }

    /// Sets the CustomResourceDefinition of its parent kind, as `kube::CustomResourceExt::crd` makes it. A controller
    /// whose parents are of a built-in kind has none.
    ///
    /// # Panics
    /// If it is the definition of another kind than that of the machine's parents.
    #[must_use]
    pub fn definition(self, definition: impl Serialize) -> Self {
        let definition = serde_json::to_value(definition).expect("a definition can be written as JSON");
        let (parent, spec) = (self.controller.declaration().parent(), &definition["spec"]);
        let (group, kind) = (spec["group"].as_str(), spec["names"]["kind"].as_str());
        assert!(
            group == Some(&parent.resource.group) && kind == Some(&parent.kind),
            "the definition is of {}.{}, but the parents of {} are of the kind {}",
            kind.unwrap_or_default(),
            group.unwrap_or_default(),
            self.name(),
            parent.qualified(),
        );
        AppController { definition: Some(definition), ..self }
    }

    /// Sets the namespaces that it watches by default. Default: all.
    #[must_use]
    pub fn default_namespaces(self, namespaces: impl IntoIterator<Item = impl Into<String>>) -> Self {
        AppController { namespaces: namespaces.into_iter().map(Into::into).collect(), ..self }
    }

    /// Makes it part of a suite: controllers that work together, and that `run` and `manifests` know by one name, too.
    #[must_use]
    pub fn suite(self, name: impl Into<String>) -> Self {
        AppController { suite: Some(name.into()), ..self }
    }

    /// The suite that it is part of, if it is.
    pub fn suite_name(&self) -> Option<&str> {
        self.suite.as_deref()
    }

    /// The names of some controllers, for people: of a suite, its own.
    pub fn names_of(controllers: &[AppController]) -> String {
        names(controllers)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.controller.name()
    }

    /// What it is, in one line; may be empty.
    pub fn description(&self) -> &str {
        &self.about
    }

    /// The controller itself.
    pub fn controller(&self) -> &Controller {
        &self.controller
    }

    /// The definition of its parent kind, if that is a custom resource.
    pub fn custom_resource(&self) -> Option<&Value> {
        self.definition.as_ref()
    }

    /// Whether this is its name, or that of its suite.
    fn is_called(&self, name: &str) -> bool {
        self.name() == name || self.suite_name() == Some(name)
    }

    /// Whether its parents are called so: `Pair`, `pairs`, `pairs.example.windlass.dev`, `Pair.example.windlass.dev`, or by
    /// a short name of the definition.
    pub(crate) fn has_parents_called(&self, name: &str) -> bool {
        let (kind, name) = (self.controller.declaration().parent(), name.to_lowercase());
        let (plural, group) = (&kind.resource.plural, &kind.resource.group);
        let short =
            name.strip_suffix(group.as_str()).and_then(|name| name.strip_suffix('.')).unwrap_or(&name);
        let names =
            self.definition.as_ref().and_then(|found| found["spec"]["names"]["shortNames"].as_array());
        let mut short_names = names.into_iter().flatten();
        short == kind.kind.to_lowercase() || short == plural || short_names.any(|known| known == short)
    }
}

impl<M: Machine> From<M> for AppController {
    fn from(machine: M) -> Self {
        AppController::new(machine)
    }
}

/// The namespaces that controllers watch: those that are given, or all, or the default of each. None stands for all.
pub(crate) fn namespaces(controllers: &[&AppController], given: &[String], all: bool) -> Vec<String> {
    if !given.is_empty() || all || controllers.iter().any(|known| known.namespaces.is_empty()) {
        return given.to_vec();
    }
    controllers.iter().flat_map(|known| known.namespaces.iter().cloned()).collect()
}

/// The controllers with these names or of suites with these names, or all if there are none.
pub(crate) fn named<'a>(
    all: &'a [AppController],
    names: &[String],
) -> anyhow::Result<Vec<&'a AppController>> {
    for name in names {
        if !all.iter().any(|known| known.is_called(name)) {
            let known: Vec<String> =
                all.iter().map(|known| format!("\n  {:<24}{}", known.name(), known.about)).collect();
            bail!("there is no controller {name:?}; there are:{}{}", known.concat(), suites(all));
        }
    }
    let is_wanted =
        |known: &&AppController| names.is_empty() || names.iter().any(|name| known.is_called(name));
    Ok(all.iter().filter(is_wanted).collect())
}

/// The suites, for a message.
fn suites(all: &[AppController]) -> String {
    let names: BTreeSet<&str> = all.iter().filter_map(AppController::suite_name).collect();
    names.iter().map(|name| format!("\n  {name:<24}all controllers of this suite")).collect()
}

/// Their names, for messages: of a suite, its own.
pub(crate) fn names(controllers: &[AppController]) -> String {
    let mut names: Vec<&str> =
        controllers.iter().map(|known| known.suite_name().unwrap_or(known.name())).collect();
    names.dedup();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use kube::CustomResourceExt;
    use two_configmaps::{Pair, TwoConfigMaps};
    use web_app::WebApps;

    use super::*;

    #[test]
    fn default_namespaces_hold_if_all_controllers_have_some() {
        let everywhere = AppController::new(WebApps);
        let narrow = AppController::new(TwoConfigMaps).default_namespaces(["default"]);
        let given = ["a".to_owned(), "b".to_owned()];
        assert_eq!(namespaces(&[&narrow], &[], false), ["default"]);
        assert!(namespaces(&[&narrow], &[], true).is_empty());
        assert_eq!(namespaces(&[&narrow], &given, false), given);
        assert!(namespaces(&[&narrow, &everywhere], &[], false).is_empty());
    }

    #[test]
    fn kinds_are_known_by_what_people_call_them() {
        let mut definition = serde_json::to_value(Pair::crd()).unwrap();
        definition["spec"]["names"]["shortNames"] = serde_json::json!(["pr"]);
        let pairs = AppController::new(TwoConfigMaps).definition(definition);
        for name in ["Pair", "pair", "pairs", "pairs.example.windlass.dev", "Pair.example.windlass.dev", "pr"]
        {
            assert!(pairs.has_parents_called(name), "{name}");
        }
        for name in ["pa", "configmaps", "pairs.example.com", "", "example.windlass.dev"] {
            assert!(!pairs.has_parents_called(name), "{name}");
        }
    }

    #[test]
    #[should_panic(
        expected = "the definition is of WebApp.example.windlass.dev, but the parents of two-configmaps are"
    )]
    fn rejects_the_definition_of_another_kind() {
        let _ = AppController::new(TwoConfigMaps).definition(web_app::WebApp::crd());
    }

    #[test]
    fn an_unknown_name_is_answered_with_those_that_there_are() {
        let all = [AppController::new(TwoConfigMaps).about("two maps")];
        let message = named(&all, &["three".to_owned()]).err().unwrap().to_string();
        assert!(message.contains("\"three\"; there are:\n  two-configmaps          two maps"), "{message}");
    }

    #[test]
    fn a_suite_stands_for_its_controllers() {
        let all = [AppController::new(TwoConfigMaps).suite("examples"), AppController::new(WebApps)];
        let found = named(&all, &["examples".to_owned()]).unwrap();
        assert_eq!(found.iter().map(|one| one.name()).collect::<Vec<_>>(), ["two-configmaps"]);
        let message = named(&all, &["three".to_owned()]).err().unwrap().to_string();
        assert!(message.contains("\n  examples                all controllers of this suite"), "{message}");
    }
}
