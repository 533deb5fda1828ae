//! Which manager a process is.

use crate::operations::entropy::random_u64;
use crate::operations::leader::Timing;

use super::error::ManagerError;

/// The longest name of an object.
const NAME_BYTES: usize = 253;

/// Which manager a process is: its id, its type, and the Lease that is its heartbeat.
///
/// ```
/// use windlass_runtime::managers::ManagerIdentity;
///
/// let identity = ManagerIdentity::new("uuid1").of_type("pods").in_namespace("operators");
/// assert_eq!(identity.id(), "uuid1");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManagerIdentity {
    pub(super) id: String,
    pub(super) manager_type: Option<String>,
    pub(super) namespace: Option<String>,
    pub(super) timing: Timing,
}

impl ManagerIdentity {
    /// The manager with this id, which is the name of its `ControllerManager` and of its Lease.
    pub fn new(id: impl Into<String>) -> Self {
        ManagerIdentity { id: id.into(), manager_type: None, namespace: None, timing: Timing::default() }
    }

    /// The id is the name of the pod from `POD_NAME` or, without it, the name of the machine from `HOSTNAME` with a random
    /// suffix: a new manager at each start.
    pub fn from_environment() -> Self {
        ManagerIdentity::new(match variable("POD_NAME") {
            Some(pod) => pod,
            None => random_id(host_name().as_deref().unwrap_or("manager"), random_u64()),
        })
    }

    /// The name of its `ControllerManagerType`, for a manager that has no `ControllerManager` yet. Later that object
    /// decides.
    #[must_use]
    pub fn of_type(self, manager_type: &str) -> Self {
        ManagerIdentity { manager_type: Some(manager_type.to_owned()), ..self }
    }

    /// The namespace of its Lease. Default: that of the kubeconfig's context or, in a pod, of the pod.
    #[must_use]
    pub fn in_namespace(self, namespace: &str) -> Self {
        ManagerIdentity { namespace: Some(namespace.to_owned()), ..self }
    }

    /// How often the Lease is renewed, and after what time a manager counts as gone. Default: every 2 s, and 15 s.
    #[must_use]
    pub fn timing(self, timing: Timing) -> Self {
        ManagerIdentity { timing, ..self }
    }

    /// Its id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Objects must be able to have this name.
    pub(super) fn check(&self) -> Result<(), ManagerError> {
        if is_object_name(&self.id) { Ok(()) } else { Err(ManagerError::InvalidId { id: self.id.clone() }) }
    }

    /// What distinguishes this process from others with the same id, for people too: where it runs.
    pub(super) fn holder(&self) -> String {
        let host = host_name().unwrap_or_else(|| "unknown-host".to_owned());
        format!("{host}_{}_{:08x}", std::process::id(), random_u64() >> 32)
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The name of this machine. Shells set `HOSTNAME` without passing it on.
fn host_name() -> Option<String> {
    let from_system = || std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = variable("HOSTNAME").or_else(from_system)?.trim().to_owned();
    (!name.is_empty()).then_some(name)
}

/// The name of a machine as the name of an object, with a suffix.
fn random_id(host: &str, random: u64) -> String {
    let allowed =
        |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' };
    let host: String = host.chars().map(allowed).take(NAME_BYTES - 10).collect();
    let host = host.trim_matches('-');
    let host = if host.is_empty() { "manager" } else { host };
    format!("{host}-{:08x}", random >> 32)
}

/// Lower case letters, digits, `-` and `.`, with letters or digits around each `.`.
fn is_object_name(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_label = |label: &str| {
        let bytes = label.as_bytes();
        let ends = [bytes.first(), bytes.last()];
        ends.iter().all(|end| end.is_some_and(|&byte| is_letter(byte)))
            && bytes.iter().all(|&byte| is_letter(byte) || byte == b'-')
    };
    name.len() <= NAME_BYTES && name.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_names_of_objects() {
        for id in ["a", "uuid1", "pods-0", "a.b-c", "0"] {
            assert_eq!(ManagerIdentity::new(id).check().map_err(|error| error.to_string()), Ok(()), "{id}");
        }
        let long = "a".repeat(NAME_BYTES + 1);
        for id in ["", "A", "a_b", "-a", "a-", "a..b", ".a", "a/b", &long] {
            let error = ManagerIdentity::new(id).check().expect_err(id).to_string();
            assert!(error.contains("lower case letters"), "{error}");
        }
    }

    #[test]
    fn machines_with_any_name_get_a_valid_id() {
        for (host, id) in [
            ("node-1", "node-1-00000007"),
            ("My_Host.local", "my-host-local-00000007"),
            ("--", "manager-00000007"),
            ("", "manager-00000007"),
        ] {
            assert_eq!(random_id(host, 7 << 32), id);
            assert!(is_object_name(id));
        }
        assert!(is_object_name(&random_id(&"h".repeat(400), 1)));
    }
}
