//! Features that a Kubernetes API server has switched off unless it is asked for them, or does not have yet.

use std::fmt;
use std::str::FromStr;

/// Which features are switched on. The default is that of Kubernetes, but for what sharded controllers need.
///
/// ```
/// use windlass_model::{FeatureGates, Types};
///
/// let gates: FeatureGates = "MutatingAdmissionPolicy=true".parse()?;
/// let served = |types: &Types| {
///     types.by_kind("admissionregistration.k8s.io", "v1beta1", "MutatingAdmissionPolicy").is_some()
/// };
/// let mut types = Types::built_in();
/// assert!(!served(&types));
/// types.open_gates(gates);
/// assert!(served(&types));
/// # Ok::<(), windlass_model::FeatureGateError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FeatureGates {
    /// MutatingAdmissionPolicies are served, in `admissionregistration.k8s.io/v1beta1`, and evaluated.
    pub mutating_admission_policy: bool,
    /// Lists and watches know `shardSelector`. On by default; in Kubernetes it is off, and there since 1.36. Off, the
    /// parameter is passed over.
    pub sharded_list_and_watch: bool,
}

impl Default for FeatureGates {
    fn default() -> Self {
        FeatureGates { mutating_admission_policy: false, sharded_list_and_watch: true }
    }
}

/// A list of feature gates that makes no sense.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FeatureGateError {
    /// There is no gate of this name.
    Unknown(String),
    /// What stands behind the name is neither `=true` nor `=false`.
    NoBoolean(String),
}

const MUTATING_ADMISSION_POLICY: &str = "MutatingAdmissionPolicy";
const SHARDED_LIST_AND_WATCH: &str = "ShardedListAndWatch";

impl FeatureGates {
    /// The names of all gates.
    pub const KNOWN: [&str; 2] = [MUTATING_ADMISSION_POLICY, SHARDED_LIST_AND_WATCH];

    /// As the flag of a server has it: `MutatingAdmissionPolicy=true`.
    ///
    /// # Errors
    /// An unknown name, or something else than `true` or `false` behind it.
    fn set(&mut self, assignment: &str) -> Result<(), FeatureGateError> {
        let (name, value) = assignment.split_once('=').unwrap_or((assignment, ""));
        let gate = match name {
            MUTATING_ADMISSION_POLICY => &mut self.mutating_admission_policy,
            SHARDED_LIST_AND_WATCH => &mut self.sharded_list_and_watch,
            _ => return Err(FeatureGateError::Unknown(name.to_owned())),
        };
        *gate = value.parse().map_err(|_| FeatureGateError::NoBoolean(assignment.to_owned()))?;
        Ok(())
    }
}

/// Assignments with commas between them: `MutatingAdmissionPolicy=true`.
impl FromStr for FeatureGates {
    type Err = FeatureGateError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut gates = FeatureGates::default();
        for assignment in text.split(',').map(str::trim).filter(|assignment| !assignment.is_empty()) {
            gates.set(assignment)?;
        }
        Ok(gates)
    }
}

impl fmt::Display for FeatureGateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FeatureGateError::Unknown(name) => {
                write!(f, "unknown feature gate {name:?}: known are {}", FeatureGates::KNOWN.join(", "))
            }
            FeatureGateError::NoBoolean(assignment) => {
                let name = assignment.split('=').next().unwrap_or_default();
                write!(f, "{assignment:?} does not switch a feature gate: write {name}=true or {name}=false")
            }
        }
    }
}

impl std::error::Error for FeatureGateError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_are_switched_by_name() {
        let open = FeatureGates { mutating_admission_policy: true, ..FeatureGates::default() };
        let closed = FeatureGates { sharded_list_and_watch: false, ..open };
        for (text, expected) in [
            ("", Ok(FeatureGates::default())),
            ("MutatingAdmissionPolicy=true", Ok(open)),
            ("MutatingAdmissionPolicy=true,", Ok(open)),
            ("MutatingAdmissionPolicy=true, ShardedListAndWatch=false", Ok(closed)),
            ("ShardedListAndWatch=true", Ok(FeatureGates::default())),
            ("MutatingAdmissionPolicy=false", Ok(FeatureGates::default())),
            (
                "MutatingAdmissionPolicy",
                Err("write MutatingAdmissionPolicy=true or MutatingAdmissionPolicy=false"),
            ),
            (
                "Sidecars=true",
                Err(
                    "unknown feature gate \"Sidecars\": known are MutatingAdmissionPolicy, ShardedListAndWatch",
                ),
            ),
        ] {
            let found: Result<FeatureGates, FeatureGateError> = text.parse();
            match (found, expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{text}"),
                (Err(error), Err(part)) => assert!(error.to_string().ends_with(part), "{error}"),
                (found, expected) => panic!("{text}: {found:?}, expected {expected:?}"),
            }
        }
    }
}
