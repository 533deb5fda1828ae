//! Features that a Kubernetes API server has switched off unless it is asked for them.

use std::fmt;
use std::str::FromStr;

/// Which features are switched on. By default none is, as in Kubernetes 1.35.
///
/// ```
/// use windlass_model::types::{FeatureGates, Types};
///
/// let gates: FeatureGates = "MutatingAdmissionPolicy=true".parse()?;
/// let served = |types: &Types| {
///     types.by_kind("admissionregistration.k8s.io", "v1beta1", "MutatingAdmissionPolicy").is_some()
/// };
/// assert!(served(&Types::built_in_with(gates)));
/// assert!(!served(&Types::built_in()));
/// # Ok::<(), windlass_model::types::FeatureGateError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FeatureGates {
    /// MutatingAdmissionPolicies are served, in `admissionregistration.k8s.io/v1beta1`, and evaluated.
    pub mutating_admission_policy: bool,
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

impl FeatureGates {
    /// The names of all gates.
    pub const KNOWN: [&str; 1] = [MUTATING_ADMISSION_POLICY];

    /// As the flag of a server has it: `MutatingAdmissionPolicy=true`.
    ///
    /// # Errors
    /// An unknown name, or something else than `true` or `false` behind it.
    fn set(&mut self, assignment: &str) -> Result<(), FeatureGateError> {
        let (name, value) = assignment.split_once('=').unwrap_or((assignment, ""));
        if !Self::KNOWN.contains(&name) {
            return Err(FeatureGateError::Unknown(name.to_owned()));
        }
        let not_boolean = |_| FeatureGateError::NoBoolean(assignment.to_owned());
        self.mutating_admission_policy = value.parse().map_err(not_boolean)?;
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
        let open = FeatureGates { mutating_admission_policy: true };
        for (text, expected) in [
            ("", Ok(FeatureGates::default())),
            ("MutatingAdmissionPolicy=true", Ok(open)),
            ("MutatingAdmissionPolicy=true,", Ok(open)),
            ("MutatingAdmissionPolicy=false", Ok(FeatureGates::default())),
            (
                "MutatingAdmissionPolicy",
                Err("write MutatingAdmissionPolicy=true or MutatingAdmissionPolicy=false"),
            ),
            ("Sidecars=true", Err("unknown feature gate \"Sidecars\": known are MutatingAdmissionPolicy")),
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
