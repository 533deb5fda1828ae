//! Worker counts in a ConfigMap: read once, when the process starts.

use std::collections::BTreeMap;

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_saphyr::Spanned;
use windlass::model::{Request, ResourceId, Verb};

use super::error::ManagerError;
use crate::Api;

/// The key of the ConfigMap under which the worker counts are.
pub const CONFIG_KEY: &str = "controllers";
/// The number of workers of a controller that the ConfigMap does not name.
pub const UNNAMED_WORKERS: usize = 1;

/// What is right, for messages.
const EXAMPLE: &str = "ControllerManager:
- controllers:
  - type: deployment
    workers: 5
  - type: job
    workers: 0
";

/// A ConfigMap with worker counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigMapRef {
    pub(super) namespace: Option<String>,
    pub(super) name: String,
}

impl ConfigMapRef {
    /// The ConfigMap `controller-manager` in the namespace of this process.
    pub fn new() -> Self {
        ConfigMapRef { namespace: None, name: "controller-manager".to_owned() }
    }

    /// A ConfigMap of this name. Default: `controller-manager`.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        ConfigMapRef { name: name.to_owned(), ..self }
    }

    /// A ConfigMap in this namespace. Default: that of the kubeconfig's context or, in a pod, of the pod.
    #[must_use]
    pub fn in_namespace(self, namespace: &str) -> Self {
        ConfigMapRef { namespace: Some(namespace.to_owned()), ..self }
    }

    /// Reads the worker counts.
    pub(super) async fn read(&self, api: &Api) -> Result<BTreeMap<String, usize>, ManagerError> {
        let namespace = self.namespace.as_deref().unwrap_or_else(|| api.default_namespace());
        let path = format!("{namespace}/{}", self.name);
        let config_maps = ResourceId::new("", "v1", "configmaps");
        let request = Request::new(Verb::Get, config_maps).in_namespace(namespace).named(&self.name);
        let response = api.perform(&request).await;
        match response.failure() {
            Some(failure) if failure.code == 404 => Err(ManagerError::NoConfigMap { path }),
            Some(failure) => Err(ManagerError::request(&format!("read the ConfigMap {path}"), failure)),
            None => counts_of(&response.to_value(), &path),
        }
    }
}

impl Default for ConfigMapRef {
    fn default() -> Self {
        ConfigMapRef::new()
    }
}

fn counts_of(config_map: &Value, path: &str) -> Result<BTreeMap<String, usize>, ManagerError> {
    let Some(text) = config_map["data"][CONFIG_KEY].as_str() else {
        let keys = config_map["data"].as_object().into_iter().flatten().map(|(key, _)| key.as_str());
        let keys = keys.collect::<Vec<_>>().join(", ");
        let keys = if keys.is_empty() { "no keys".to_owned() } else { format!("only {keys}") };
        let message = format!("it has no key {CONFIG_KEY:?}, {keys}");
        return Err(ManagerError::ConfigMap { path: path.to_owned(), message: with_example(&message) });
    };
    parse(text).map_err(|message| ManagerError::ConfigMap {
        path: path.to_owned(),
        message: format!("the key {CONFIG_KEY:?} cannot be used: {}", with_example(&message)),
    })
}

fn with_example(message: &str) -> String {
    format!("{message}\nWrite it like this, or only the inner list of controllers:\n{EXAMPLE}")
}

/// The whole document.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(rename = "ControllerManager")]
    groups: Vec<Group>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    controllers: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    #[serde(rename = "type")]
    controller: Spanned<String>,
    #[serde(deserialize_with = "whole_number")]
    workers: u32,
}

/// With a message for people instead of `invalid u32`.
fn whole_number<'de, From: Deserializer<'de>>(from: From) -> Result<u32, From::Error> {
    let value = Value::deserialize(from)?;
    let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
    number
        .ok_or_else(|| From::Error::custom(format!("workers must be a whole number, 0 or more, not {value}")))
}

/// The worker counts in a text, by controller.
pub(super) fn parse(text: &str) -> Result<BTreeMap<String, usize>, String> {
    let mut counts = BTreeMap::new();
    for Entry { controller, workers } in entries(text)? {
        let line = controller.referenced.line();
        let name = controller.value;
        if name.is_empty() {
            return Err(format!("line {line}: the type of a controller is its name, and cannot be empty"));
        }
        let workers = usize::try_from(workers).unwrap_or(usize::MAX);
        if counts.insert(name.clone(), workers).is_some() {
            return Err(format!(
                "line {line}: the controller {name:?} is listed twice; remove one of the entries"
            ));
        }
    }
    Ok(counts)
}

/// All entries, whichever of the forms the text has. The form is known from its outermost level, so that a mistake
/// within is reported as one in that form.
fn entries(text: &str) -> Result<Vec<Entry>, String> {
    let form: Value = read(text)?;
    let has_groups = form[0].get(CONFIG_KEY).is_some();
    let groups = match form {
        Value::Object(fields) if fields.contains_key(CONFIG_KEY) => vec![read::<Group>(text)?],
        Value::Object(_) => read::<Document>(text)?.groups,
        Value::Array(_) if has_groups => read(text)?,
        Value::Array(_) => return read(text),
        Value::Null => return Err("it is empty".to_owned()),
        other => return Err(format!("it is {other}, and no list of controllers")),
    };
    Ok(groups.into_iter().flat_map(|group| group.controllers).collect())
}

fn read<Read: serde::de::DeserializeOwned>(text: &str) -> Result<Read, String> {
    serde_saphyr::from_str(text).map_err(|error| {
        let text = error.to_string();
        text.strip_prefix("error: ").unwrap_or(&text).trim_end().to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The counts as text.
    fn counts(text: &str) -> String {
        let counts = parse(text).expect(text);
        let one = |(controller, workers): (&String, &usize)| format!("{controller}={workers}");
        counts.iter().map(one).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn document_and_its_inner_lists_are_read() {
        let inner = "- type: job\n  workers: 5\n- type: pod\n  workers: 0\n";
        let indented = inner.replace('\n', "\n  ");
        let group = format!("controllers:\n{inner}");
        let groups = format!("- controllers:\n  {indented}");
        let document = format!("ControllerManager:\n{groups}");
        for text in [inner, &group, &groups, &document] {
            assert_eq!(counts(text), "job=5 pod=0", "{text}");
        }
        assert_eq!(counts("[]"), "");
        assert_eq!(counts("ControllerManager: []"), "");
        assert_eq!(counts(EXAMPLE), "deployment=5 job=0");
    }

    #[test]
    fn mistakes_are_explained_with_their_line() {
        for (text, line, expected) in [
            ("", "", "it is empty"),
            ("5", "", "it is 5, and no list of controllers"),
            ("ControllerManagers: []", "1", "ControllerManagers"),
            ("- type: job\n  worker: 5", "2", "worker"),
            ("- type: job", "1", "workers"),
            ("- workers: 5", "1", "type"),
            ("- type: job\n  workers: five", "2", "workers must be a whole number, 0 or more, not \"five\""),
            ("- type: job\n  workers: -1", "2", "-1"),
            ("- type: job\n  workers: 1.5", "2", "1.5"),
            ("- type: ''\n  workers: 5", "1", "cannot be empty"),
            ("- {type: job, workers: 1}\n- {type: job, workers: 2}", "2", "\"job\" is listed twice"),
            ("ControllerManager:\n- controllers:\n  - type: job\n    workers: many", "4", "many"),
            ("- type: [\n", "", ""),
        ] {
            let error = parse(text).expect_err(text);
            assert!(error.contains(expected), "{text}: {error}");
            assert!(line.is_empty() || error.contains(&format!("line {line}")), "{text}: {error}");
        }
    }

    #[test]
    fn config_map_without_the_key_is_explained() {
        let config_map = serde_json::json!({ "data": { "controller": "[]", "more": "" } });
        let error = counts_of(&config_map, "a/b").expect_err("there is no such key").to_string();
        let start = "the ConfigMap a/b does not configure controllers: it has no key \"controllers\", only controller, \
                     more\nWrite it like this";
        assert!(error.starts_with(start), "{error}");
    }
}
