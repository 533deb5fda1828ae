//! Flags of `run` and `manifests` that say where controllers and worker counts are configured.

use anyhow::bail;
use clap::Args;
use windlass_runtime::managers::{ConfigMapRef, ManagerConfig, ManagerIdentity};

/// Where controllers and worker counts are configured.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Controller manager")]
pub(crate) struct ManagedArguments {
    /// Where it is configured which controllers run, and with how many workers. `api`: this process is a ControllerManager,
    /// whose ControllerManagerType names its controllers; edits take effect while it runs. `configmap`: all controllers run,
    /// with worker counts from the key `controllers` of a ConfigMap, which is read once; a controller that it does not name
    /// has 1. `configmap` alone is `configmap:NAMESPACE/controller-manager`.
    #[arg(long, value_name = "api|configmap[:NAMESPACE/NAME]", value_parser = source)]
    manager_config: Option<ConfigSource>,
    /// Name of the ControllerManagerType, for a manager that has no ControllerManager yet. Implies --manager-config api.
    #[arg(long, value_name = "NAME")]
    manager_type: Option<String>,
    /// Id of this manager: the name of its ControllerManager and of its Lease. Default: $POD_NAME or, without it, $HOSTNAME
    /// with a random suffix. Implies --manager-config api.
    #[arg(long, value_name = "ID")]
    manager_id: Option<String>,
    /// Namespace of the manager's Lease, or of the ConfigMap. Default: that of the kubeconfig's context or of the pod.
    #[arg(long, value_name = "NAMESPACE")]
    manager_namespace: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum ConfigSource {
    Api,
    ConfigMap(ConfigMapRef),
}

fn source(text: &str) -> Result<ConfigSource, String> {
    if text == "api" {
        return Ok(ConfigSource::Api);
    }
    let config_map = match text.strip_prefix("configmap").map(|rest| rest.strip_prefix(':').unwrap_or(rest)) {
        Some("") if text == "configmap" => Some(ConfigMapRef::new()),
        Some(path) if text.starts_with("configmap:") => match path.split_once('/') {
            Some((namespace, name)) if !namespace.is_empty() && !name.is_empty() => {
                Some(ConfigMapRef::new().in_namespace(namespace).named(name))
            }
            _ => None,
        },
        _ => None,
    };
    config_map
        .map(ConfigSource::ConfigMap)
        .ok_or_else(|| "it is written api, configmap or configmap:NAMESPACE/NAME".to_owned())
}

impl ManagedArguments {
    /// What the flags say, if any was given.
    pub(crate) fn config(&self) -> anyhow::Result<Option<ManagerConfig>> {
        let of_manager = [(&self.manager_type, "--manager-type"), (&self.manager_id, "--manager-id")];
        let given = of_manager.iter().find(|(value, _)| value.is_some());
        match (&self.manager_config, given) {
            (Some(ConfigSource::ConfigMap(_)), Some((_, flag))) => {
                bail!(
                    "{flag} is for --manager-config api: with a ConfigMap, processes have no type and no id"
                )
            }
            (Some(ConfigSource::ConfigMap(config_map)), None) => {
                Ok(Some(ManagerConfig::ConfigMap(self.in_namespace(config_map))))
            }
            (Some(ConfigSource::Api), _) | (None, Some(_)) => Ok(Some(ManagerConfig::Api(self.identity()))),
            (None, None) if self.manager_namespace.is_some() => {
                bail!("--manager-namespace needs --manager-config: say where controllers are configured")
            }
            (None, None) => Ok(None),
        }
    }

    fn identity(&self) -> ManagerIdentity {
        let identity = match &self.manager_id {
            Some(id) => ManagerIdentity::new(id),
            None => ManagerIdentity::from_environment(),
        };
        let identity = match &self.manager_type {
            Some(manager_type) => identity.of_type(manager_type),
            None => identity,
        };
        match &self.manager_namespace {
            Some(namespace) => identity.in_namespace(namespace),
            None => identity,
        }
    }

    /// A namespace of its own counts more.
    fn in_namespace(&self, config_map: &ConfigMapRef) -> ConfigMapRef {
        match &self.manager_namespace {
            Some(namespace) if *config_map == ConfigMapRef::new() => {
                config_map.clone().in_namespace(namespace)
            }
            _ => config_map.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        managed: ManagedArguments,
    }

    /// The configuration, or what is wrong with the flags.
    fn config(line: &str) -> Result<Option<ManagerConfig>, String> {
        let parsed = Line::try_parse_from(std::iter::once("program").chain(line.split_whitespace()));
        let parsed = parsed.map_err(|error| error.to_string())?;
        parsed.managed.config().map_err(|error| error.to_string())
    }

    #[test]
    fn flags_say_where_controllers_are_configured() {
        let identity = || ManagerIdentity::new("a");
        let of_pods = || identity().of_type("pods");
        let config_map = |namespace, name| ConfigMapRef::new().in_namespace(namespace).named(name);
        for (line, expected) in [
            ("--manager-config api --manager-id a", ManagerConfig::Api(identity())),
            ("--manager-id a", ManagerConfig::Api(identity())),
            ("--manager-type pods --manager-id a", ManagerConfig::Api(of_pods())),
            ("--manager-id a --manager-namespace b", ManagerConfig::Api(identity().in_namespace("b"))),
            ("--manager-config configmap", ManagerConfig::ConfigMap(ConfigMapRef::new())),
            ("--manager-config configmap:a/b", ManagerConfig::ConfigMap(config_map("a", "b"))),
            (
                "--manager-config configmap --manager-namespace a",
                ManagerConfig::ConfigMap(config_map("a", "controller-manager")),
            ),
        ] {
            assert_eq!(config(line), Ok(Some(expected)), "{line}");
        }
        assert_eq!(config(""), Ok(None));
    }

    #[test]
    fn contradictions_are_explained() {
        for (line, expected) in [
            ("--manager-config configmaps", "it is written api, configmap or configmap:NAMESPACE/NAME"),
            ("--manager-config configmap:", "it is written api"),
            ("--manager-config configmap:a", "it is written api"),
            ("--manager-config configmap:/a", "it is written api"),
            ("--manager-config configmapa/b", "it is written api"),
            ("--manager-config configmap --manager-id a", "--manager-id is for --manager-config api"),
            ("--manager-config configmap --manager-type a", "--manager-type is for --manager-config api"),
            ("--manager-namespace a", "--manager-namespace needs --manager-config"),
        ] {
            let error = config(line).expect_err(line);
            assert!(error.contains(expected), "{line}: {error}");
        }
    }
}
