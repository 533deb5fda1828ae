//! An output that another writer keeps changing back: how the driver reports it, and how it is recognised.

use std::time::Duration;

use windlass_model::apply::Overwritten;
use windlass_model::status::{Cause, Details};
use windlass_model::{Reason, Request, Status};

/// The reason of the conditions, and of the causes in the answer of the driver.
pub const CONTESTED: &str = "Contested";
/// Maximum number of fields that a message names.
const FIELDS_SHOWN: usize = 5;

/// A driver holds an apply back because another writer has repeatedly reverted what it changes.
///
/// Nothing about this is kept by the reconcile: that is pure, and the API holds no history. The driver sees it, and
/// answers with this as with a conflict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contested {
    /// Who else writes what.
    pub rivals: Vec<Rival>,
    /// How often in a row the fields were changed back before the driver stepped back.
    pub times: usize,
    /// How long the driver waits before it tries again.
    pub wait: Duration,
}

/// A field, or a whole object, that another writer also writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rival {
    /// As conflicts show it: `.data.value`. Empty if the whole object is deleted.
    pub field: String,
    /// The field manager, if the field has one.
    pub manager: Option<String>,
}

impl Contested {
    /// The answer to an apply that is held back.
    pub fn status(&self, request: &Request) -> Status {
        let resource = &request.resource;
        let name = request.name.as_deref().unwrap_or_default();
        let why = self.why();
        let mut status = Status::conflict(&resource.group, &resource.plural, name, &why);
        let details: &mut Details = status.details.get_or_insert_default();
        details.causes = self.rivals.iter().map(Rival::cause).collect();
        details.retry_after_seconds = u32::try_from(self.wait.as_secs()).ok();
        status
    }

    fn why(&self) -> String {
        let mut managers: Vec<Option<&str>> =
            self.rivals.iter().map(|rival| rival.manager.as_deref()).collect();
        managers.sort_unstable();
        managers.dedup();
        let described: Vec<String> = managers.into_iter().map(|manager| self.describe(manager)).collect();
        format!(
            "{}. It was corrected {} times and changed back each time; the next try is in {:?}. Let only one of them \
             write it",
            described.join("; "),
            self.times,
            self.wait
        )
    }

    /// `.data.a, .data.b are also written by "kubectl-edit"`.
    fn describe(&self, manager: Option<&str>) -> String {
        let theirs = self.rivals.iter().filter(|rival| rival.manager.as_deref() == manager);
        let mut fields: Vec<&str> = theirs.map(|rival| rival.field.as_str()).collect();
        let more = fields.len().saturating_sub(FIELDS_SHOWN);
        fields.truncate(FIELDS_SHOWN);
        let shown = fields.join(", ");
        let shown = if more == 0 { shown } else { format!("{shown} and {more} more") };
        let are = if fields.len() == 1 { "is" } else { "are" };
        match manager {
            None if fields == [""] => "somebody deletes it".to_owned(),
            Some(manager) => format!("{shown} {are} also written by {manager:?}"),
            None => format!("{shown} {are} also changed by somebody who owns no field"),
        }
    }
}

impl Rival {
    /// The rivals that an apply has shown.
    pub fn of(overwritten: &[Overwritten]) -> Vec<Rival> {
        let rivals = overwritten.iter().flat_map(|one| {
            let rival =
                |manager: Option<&String>| Rival { field: one.field.clone(), manager: manager.cloned() };
            let managers: Vec<Rival> = one.managers.iter().map(|manager| rival(Some(manager))).collect();
            if managers.is_empty() { vec![rival(None)] } else { managers }
        });
        rivals.collect()
    }

    /// A writer that deletes the object; Kubernetes does not say which.
    pub fn deletes() -> Rival {
        Rival { field: String::new(), manager: None }
    }

    fn cause(&self) -> Cause {
        let message = self.manager.as_ref().map(|manager| format!("also written by {manager:?}"));
        Cause {
            reason: Some(CONTESTED.to_owned()),
            message,
            field: Some(self.field.clone()).filter(|field| !field.is_empty()),
        }
    }
}

/// Whether a refusal is the driver's, because another writer keeps changing things back.
pub(crate) fn is_contested(status: &Status) -> bool {
    let mut causes = status.details.iter().flat_map(|details| &details.causes);
    status.reason == Some(Reason::Conflict) && causes.any(|cause| cause.reason.as_deref() == Some(CONTESTED))
}

#[cfg(test)]
mod tests {
    use windlass_model::{PatchKind, ResourceId, Verb};

    use super::*;
    use crate::outcome::Error;

    fn rival(field: &str, manager: Option<&str>) -> Rival {
        Rival { field: field.to_owned(), manager: manager.map(str::to_owned) }
    }

    #[test]
    fn names_managers_fields_and_what_comes_next() {
        let rivals = vec![
            rival(".data.a", Some("intruder")),
            rival(".data.b", None),
            rival(".data.c", Some("intruder")),
        ];
        let contested = Contested { rivals, times: 3, wait: Duration::from_secs(5) };
        let request = Request::new(Verb::Patch(PatchKind::Apply), ResourceId::new("", "v1", "configmaps"));
        let status = contested.status(&request.in_namespace("default").named("x"));
        assert_eq!(
            status.message,
            "Operation cannot be fulfilled on configmaps \"x\": .data.b is also changed by somebody who owns no field; \
             .data.a, .data.c are also written by \"intruder\". It was corrected 3 times and changed back each time; \
             the next try is in 5s. Let only one of them write it"
        );
        assert!(is_contested(&status));
        let error = Error::from(status);
        assert_eq!((error.reason(), error.is_conflict()), ("Contested", true));
        assert!(!is_contested(&Status::conflict("", "configmaps", "x", "")));
    }

    #[test]
    fn who_deletes_is_not_known() {
        let contested = Contested { rivals: vec![Rival::deletes()], times: 3, wait: Duration::from_secs(5) };
        assert!(contested.why().starts_with("somebody deletes it. It was corrected 3 times"));
    }

    #[test]
    fn names_at_most_five_fields() {
        let rivals = (1..=7).map(|number| rival(&format!(".data.{number}"), Some("i"))).collect();
        let contested = Contested { rivals, times: 3, wait: Duration::from_secs(5) };
        assert!(
            contested.why().starts_with(".data.1, .data.2, .data.3, .data.4, .data.5 and 2 more are also")
        );
    }
}
