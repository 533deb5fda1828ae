//! The external service that gives apps their names: its requests and answers, and a model of it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use windlass::{CallError, Service};

use crate::web_app::WebApp;

/// A DNS that keeps at most one record for each owner.
///
/// A call of a process that died may arrive after its successor has done something else. Therefore each call carries
/// the owner's uid and generation, and the service ignores a request that is older than the latest it has received.
pub struct Dns;

impl Service for Dns {
    const NAME: &'static str = "dns";
    type Request = RecordRequest;
    type Response = RecordAnswer;
}

/// Which record an owner is to have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordRequest {
    /// The uid of the app.
    pub owner: String,
    /// The generation of the app that this was decided on.
    pub generation: i64,
    /// The record, or none.
    pub record: Option<Record>,
}

/// A name and what it stands for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Record {
    /// `shop.default.apps.example`
    pub name: String,
    /// `shop.default.svc`
    pub target: String,
}

/// Which record an owner has now: another one than was asked for if the service has heard something newer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordAnswer {
    /// The record, or none.
    pub record: Option<Record>,
}

impl RecordRequest {
    /// The app is to have its name.
    pub fn set(app: &WebApp) -> Self {
        let target = format!("{}.{}.svc", part(&app.metadata.name), part(&app.metadata.namespace));
        RecordRequest { record: Some(Record { name: host_name(app), target }), ..RecordRequest::clear(app) }
    }

    /// The app is to have no name.
    pub fn clear(app: &WebApp) -> Self {
        RecordRequest {
            owner: part(&app.metadata.uid).to_owned(),
            generation: app.metadata.generation.unwrap_or_default(),
            record: None,
        }
    }
}

/// The name of an app that is exposed.
pub fn host_name(app: &WebApp) -> String {
    format!("{}.{}.apps.example", part(&app.metadata.name), part(&app.metadata.namespace))
}

fn part(field: &Option<String>) -> &str {
    field.as_deref().unwrap_or_default()
}

/// A model of the service, as pure as the check needs it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Zone {
    /// What was last heard of each owner. Those whose record is gone stay, so that a late call cannot bring it back.
    owners: BTreeMap<String, Heard>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Heard {
    generation: i64,
    record: Option<Record>,
}

impl Zone {
    /// Does what is asked, unless something newer was asked before.
    pub fn put(&mut self, request: &RecordRequest) -> RecordAnswer {
        let heard = self.owners.entry(request.owner.clone()).or_default();
        if request.generation >= heard.generation {
            *heard = Heard { generation: request.generation, record: request.record.clone() };
        }
        RecordAnswer { record: heard.record.clone() }
    }

    /// All records.
    pub fn records(&self) -> Vec<&Record> {
        self.owners.values().filter_map(|heard| heard.record.as_ref()).collect()
    }

    /// The same for the checker and for [`windlass::local::Local`], which know services as JSON.
    ///
    /// # Errors
    /// When the state or the request is not what it should be.
    pub fn answer(state: &mut Value, request: &Value) -> Result<Value, CallError> {
        let refused = |error: serde_json::Error| CallError::Refused {
            service: Dns::NAME.to_owned(),
            message: error.to_string(),
        };
        let mut zone: Zone = serde_json::from_value(state.clone()).map_err(refused)?;
        let answer = zone.put(&serde_json::from_value(request.clone()).map_err(refused)?);
        *state = serde_json::to_value(&zone).map_err(refused)?;
        serde_json::to_value(&answer).map_err(refused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_older_than_what_was_heard_changes_nothing() {
        let record = |name: &str| Some(Record { name: name.to_owned(), target: "t".to_owned() });
        let put = |zone: &mut Zone, generation, record| {
            zone.put(&RecordRequest { owner: "u".to_owned(), generation, record }).record
        };
        let mut zone = Zone::default();
        assert_eq!(put(&mut zone, 1, record("a")), record("a"));
        assert_eq!(put(&mut zone, 2, None), None);
        assert_eq!(put(&mut zone, 1, record("a")), None, "a late call");
        assert!(zone.records().is_empty());
        assert_eq!(put(&mut zone, 3, record("b")), record("b"));
    }
}
