//! What all operators of mizar have in common.

use std::time::Duration;

use crate::mistake::Mistake;

/// How the operators work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MizarSettings {
    /// The namespace of VPCs, subnets, dividers, bouncers and droplets. Endpoints are in the namespaces of their pods.
    pub namespace: String,
    /// How often the daemon of each droplet is asked how it is.
    pub check_interval: Duration,
    /// How long a daemon may be away before its droplet is lost, and what is on it is placed elsewhere.
    pub lost_after: Duration,
    /// How soon what could not be done is tried again.
    pub retry_interval: Duration,
    /// How often the numbers of used addresses are brought up to date.
    pub usage_interval: Duration,
    /// A mistake of the original, for the check that must find it.
    pub mistake: Option<Mistake>,
}

impl Default for MizarSettings {
    fn default() -> Self {
        MizarSettings {
            namespace: "default".to_owned(),
            check_interval: Duration::from_secs(5),
            lost_after: Duration::from_secs(15),
            retry_interval: Duration::from_secs(1),
            usage_interval: Duration::from_secs(10),
            mistake: None,
        }
    }
}

/// Why the environment cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{variable} is {value:?}: it is a number of seconds, such as 5 or 0.5")]
pub struct SettingError {
    /// The variable.
    pub variable: &'static str,
    /// What it is.
    pub value: String,
}

impl MizarSettings {
    /// The default settings, but for what is in the environment: `WINDLASS_MIZAR_NAMESPACE`, and in seconds
    /// `WINDLASS_MIZAR_CHECK_INTERVAL`, `WINDLASS_MIZAR_LOST_AFTER` and `WINDLASS_MIZAR_RETRY_INTERVAL`.
    ///
    /// # Errors
    /// When one of these is no number of seconds.
    pub fn from_environment() -> Result<Self, SettingError> {
        Self::from_variables(|name| std::env::var(name).ok())
    }

    fn from_variables(read: impl Fn(&str) -> Option<String>) -> Result<Self, SettingError> {
        let mut settings = MizarSettings::default();
        if let Some(namespace) = read("WINDLASS_MIZAR_NAMESPACE") {
            settings.namespace = namespace;
        }
        for (variable, setting) in [
            ("WINDLASS_MIZAR_CHECK_INTERVAL", &mut settings.check_interval),
            ("WINDLASS_MIZAR_LOST_AFTER", &mut settings.lost_after),
            ("WINDLASS_MIZAR_RETRY_INTERVAL", &mut settings.retry_interval),
        ] {
            let Some(value) = read(variable) else { continue };
            let seconds = value.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
            *setting = seconds.ok_or(SettingError { variable, value })?;
        }
        Ok(settings)
    }

    /// Whether the operators make a mistake.
    pub(crate) fn has(&self, mistake: Mistake) -> bool {
        self.mistake == Some(mistake)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_overrides_the_defaults() {
        let read = |interval: &'static str| {
            MizarSettings::from_variables(move |name| {
                (name == "WINDLASS_MIZAR_CHECK_INTERVAL").then(|| interval.to_owned())
            })
        };
        let settings = read("0.5").unwrap();
        assert_eq!(settings.check_interval, Duration::from_millis(500));
        assert_eq!(settings.lost_after, MizarSettings::default().lost_after);
        let error = read("soon").unwrap_err().to_string();
        assert_eq!(
            error,
            "WINDLASS_MIZAR_CHECK_INTERVAL is \"soon\": it is a number of seconds, such as 5 or 0.5"
        );
    }
}
