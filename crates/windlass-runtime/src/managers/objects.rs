//! The requests of managers: types, managers, and the Leases that are their heartbeats.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use windlass::model::{PatchKind, Request, ResourceId, Response, Status, Verb};

use super::error::ManagerError;
use super::kinds::{ControllerManager, ControllerManagerTypeSpec, manager_types, managers};
use crate::Api;

/// The field manager of what managers write.
const FIELD_MANAGER: &str = "windlass-controller-manager";

/// The Lease of a manager, as others see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HeartbeatLease {
    /// Empty if it was released.
    pub(super) holder: String,
    pub(super) version: String,
    pub(super) renewed_at: Option<String>,
    pub(super) duration: Duration,
}

/// What managers read and write.
#[derive(Clone)]
pub(super) struct Objects(pub(super) Api);

impl Objects {
    /// All types.
    pub(super) async fn types(&self) -> Result<BTreeMap<String, ControllerManagerTypeSpec>, ManagerError> {
        let list = self.list(manager_types().resource, "list the ControllerManagerTypes").await?;
        let named = |object: &Value| {
            let name = windlass::model::object::name(object).to_owned();
            (name, ControllerManagerTypeSpec::of(object))
        };
        Ok(list.iter().map(named).collect())
    }

    /// All managers.
    pub(super) async fn managers(&self) -> Result<Vec<ControllerManager>, ManagerError> {
        let list = self.list(managers().resource, "list the ControllerManagers").await?;
        Ok(list.iter().map(ControllerManager::of).collect())
    }

    async fn list(&self, resource: ResourceId, what: &str) -> Result<Vec<Value>, ManagerError> {
        let response = self.0.perform(&Request::new(Verb::List, resource)).await;
        match response.failure() {
            None => Ok(response.to_value()["items"].as_array().cloned().unwrap_or_default()),
            Some(failure) if failure.code == 404 => Err(ManagerError::NoDefinitions),
            Some(failure) => Err(ManagerError::request(what, failure)),
        }
    }

    /// A manager, if there is an object of it.
    pub(super) async fn manager(&self, id: &str) -> Result<Option<ControllerManager>, ManagerError> {
        let found = self.find(Request::new(Verb::Get, managers().resource).named(id)).await;
        let found = found.map_err(|status| ManagerError::request("read the ControllerManager", &status))?;
        Ok(found.as_ref().map(ControllerManager::of))
    }

    /// Makes the object of a manager. Where it is made at the same time by somebody else, theirs stays.
    pub(super) async fn create_manager(&self, id: &str, manager_type: &str) -> Result<(), Status> {
        let kind = managers();
        let body = json!({
            "apiVersion": kind.api_version(), "kind": kind.kind,
            "metadata": { "name": id },
            "spec": { "controllerManagerType": manager_type },
        });
        let create = Request::new(Verb::Create, kind.resource).with_body(body).as_manager(FIELD_MANAGER);
        let response = self.0.perform(&create).await;
        match response.failure() {
            Some(failure) if failure.code != 409 => Err(failure.clone()),
            _ => Ok(()),
        }
    }

    /// Changes the status of a manager; if a version is given, only if its object still has it.
    pub(super) async fn patch_status(
        &self,
        id: &str,
        status: &Value,
        version: Option<&str>,
    ) -> Result<(), Status> {
        let mut body = json!({ "status": status });
        if let Some(version) = version {
            body["metadata"] = json!({ "resourceVersion": version });
        }
        let merge = Request::new(Verb::Patch(PatchKind::Merge), managers().resource);
        let request = merge.named(id).on("status").with_body(body).as_manager(FIELD_MANAGER);
        match self.0.perform(&request).await.failure() {
            Some(failure) => Err(failure.clone()),
            None => Ok(()),
        }
    }

    /// The Lease of a manager, if there is one.
    pub(super) async fn lease(&self, namespace: &str, name: &str) -> Result<Option<HeartbeatLease>, Status> {
        let leases = ResourceId::new("coordination.k8s.io", "v1", "leases");
        let found = self.find(Request::new(Verb::Get, leases).in_namespace(namespace).named(name)).await?;
        Ok(found.as_ref().map(HeartbeatLease::of))
    }

    async fn find(&self, request: Request) -> Result<Option<Value>, Status> {
        let response: Response = self.0.perform(&request).await;
        match response.failure() {
            None => Ok(Some(response.to_value())),
            Some(failure) if failure.code == 404 => Ok(None),
            Some(failure) => Err(failure.clone()),
        }
    }
}

impl HeartbeatLease {
    fn of(object: &Value) -> Self {
        let spec = &object["spec"];
        HeartbeatLease {
            holder: spec["holderIdentity"].as_str().unwrap_or_default().to_owned(),
            version: windlass::model::object::resource_version(object).to_owned(),
            renewed_at: spec["renewTime"].as_str().map(str::to_owned),
            duration: Duration::from_secs(spec["leaseDurationSeconds"].as_u64().unwrap_or_default()),
        }
    }
}
