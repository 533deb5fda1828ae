//! Flags of `run` that let several instances of a program share the objects of its controllers.

#[cfg(feature = "etcd")]
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use windlass_runtime::managers::ManagerIdentity;
use windlass_runtime::sharding::ShardSettings;

#[cfg(feature = "etcd")]
use crate::etcd_registry::EtcdArguments;

/// How instances share the objects of controllers.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Sharding")]
pub(crate) struct ShardArguments {
    /// Share the objects of each controller with other instances: each object has exactly one owner. The cluster needs the
    /// definitions that `crd --sharding` prints.
    #[arg(long, conflicts_with = "lease")]
    shard: bool,
    /// Name of this instance. No other process may have it. A process that restarts under its name keeps its slots.
    /// Default: $POD_NAME or, without it, $HOSTNAME with a random suffix.
    #[arg(long, value_name = "ID", requires = "shard")]
    instance: Option<String>,
    /// Where instances find each other: `api`, the Kubernetes API, or `etcd://HOST:PORT[,HOST:PORT][/PREFIX]`.
    #[cfg(feature = "etcd")]
    #[arg(long, value_name = "api|etcd://HOST:PORT", requires = "shard", default_value = "api")]
    registry: String,
    #[cfg(feature = "etcd")]
    #[command(flatten)]
    etcd: EtcdArguments,
    /// After how many seconds without a sign of life others take the slots of an instance.
    #[arg(
        long, value_name = "SECONDS", requires = "shard", default_value_t = 15,
        value_parser = clap::value_parser!(u64).range(2..=3600)
    )]
    shard_lease: u64,
    /// Number of slots of new rings: a power of two. An existing ring must have the same.
    #[arg(long, value_name = "NUMBER", requires = "shard", default_value_t = 4096)]
    shard_slots: u64,
    /// Namespace of the instances' Leases. Default: that of the kubeconfig's context or of the pod.
    #[arg(long, value_name = "NAMESPACE", requires = "shard")]
    shard_namespace: Option<String>,
    /// Hand over all slots when this process is stopped: for one that does not start again under its name. Others then
    /// need not wait for the end of its lease.
    #[arg(long, requires = "shard")]
    leave: bool,
}

impl ShardArguments {
    /// What the flags say, if the controllers are to be sharded.
    pub(crate) fn settings(&self) -> anyhow::Result<Option<ShardSettings>> {
        if !self.shard {
            return Ok(None);
        }
        let instance = match &self.instance {
            Some(instance) => instance.clone(),
            None => ManagerIdentity::from_environment().id().to_owned(),
        };
        let settings = ShardSettings::new(&instance)
            .slots(self.shard_slots)
            .lease_seconds(self.shard_lease)
            .leave_when_stopped(self.leave);
        let settings = match &self.shard_namespace {
            Some(namespace) => settings.in_namespace(namespace),
            None => settings,
        };
        settings.check().context("the controllers cannot be sharded")?;
        Ok(Some(self.in_registry(settings)?))
    }

    #[cfg(feature = "etcd")]
    fn in_registry(&self, settings: ShardSettings) -> anyhow::Result<ShardSettings> {
        match self.registry.as_str() {
            "api" => Ok(settings),
            address if address.starts_with("etcd") => {
                let lease = Duration::from_secs(self.shard_lease);
                Ok(settings.registries(self.etcd.connect_for(address, lease)?))
            }
            other => anyhow::bail!("--registry is api or etcd://HOST:PORT, not {other:?}"),
        }
    }

    #[cfg(not(feature = "etcd"))]
    #[allow(clippy::unnecessary_wraps, reason = "with etcd it can fail")]
    fn in_registry(&self, settings: ShardSettings) -> anyhow::Result<ShardSettings> {
        Ok(settings)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[arg(long)]
        lease: Option<String>,
        #[command(flatten)]
        shard: ShardArguments,
    }

    fn settings(line: &str) -> Result<bool, String> {
        let parsed = Line::try_parse_from(std::iter::once("program").chain(line.split_whitespace()));
        let parsed = parsed.map_err(|error| error.to_string())?;
        drop(parsed.lease);
        parsed.shard.settings().map(|settings| settings.is_some()).map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn controllers_are_sharded_on_request() {
        assert_eq!(settings(""), Ok(false));
        assert_eq!(settings("--shard --instance web-0 --shard-lease 6 --shard-slots 64 --leave"), Ok(true));
    }

    #[test]
    fn what_does_not_go_together_is_explained() {
        for (line, expected) in [
            ("--instance web-0", "--shard"),
            ("--shard --lease a/b", "cannot be used with"),
            ("--shard --shard-slots 100", "must be a power of two between 1 and 32768, not 100"),
            ("--shard --instance Web_0", "the instance \"Web_0\" cannot be named so"),
            ("--shard --shard-lease 0", "0 is not in 2..=3600"),
        ] {
            let error = settings(line).expect_err(line);
            assert!(error.contains(expected), "{line}: {error}");
        }
    }
}
