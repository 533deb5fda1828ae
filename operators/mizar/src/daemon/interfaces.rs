//! The service of interfaces: what a container runtime asks for when it starts a pod.

use std::sync::Arc;
use std::time::Duration;

use tonic::{Request, Response, Status};

use super::state::Shared;
use crate::tables::{Change, Held, Key, Row, Scope};
use crate::wire::messages as wire;
use crate::wire::messages::interface_service_server::InterfaceService;
use crate::wire::messages::row::Row as WireRow;
use crate::wire::{row_from, row_to};

/// How long a container runtime waits for the interface of a pod.
const CONSUME_TIMEOUT: Duration = Duration::from_secs(30);

impl Shared {
    fn produce(&self, interfaces: Vec<wire::Interface>) -> Result<wire::InterfaceList, Status> {
        for interface in &interfaces {
            let row = wire::Row { row: Some(WireRow::Interface(interface.clone())) };
            let (key, row) = row_from(row).map_err(|error| Status::invalid_argument(error.to_string()))?;
            self.put(&key, Some(row))?;
        }
        Ok(wire::InterfaceList { interfaces })
    }

    /// Writes a row of an interface, whatever was there.
    fn put(&self, key: &Key, row: Option<Row>) -> Result<(), Status> {
        loop {
            let (boot, replaces) = self.generation(key);
            let change = Change::new(key.clone(), row.clone(), replaces);
            match self.write(&boot, &[change]) {
                Ok(Ok(())) => return Ok(()),
                // Somebody else was quicker: once more.
                Ok(Err(_)) => {}
                Err(error) => return Err(Status::internal(format!("the file cannot be written: {error}"))),
            }
        }
    }

    fn interfaces_of(&self, pod: &wire::PodId) -> Vec<Held> {
        let scope = match pod.k8s_pod_name.as_str() {
            "" => Scope::All,
            name => Scope::Interface { namespace: pod.k8s_namespace.clone(), pod: name.to_owned() },
        };
        let mut held = self.read(&[scope]).1;
        held.retain(|held| matches!(held.key, Key::Interface { .. }) && held.row.is_some());
        held
    }
}

fn to_wire(held: &Held) -> Option<wire::Interface> {
    match row_to(&held.key, held.row.as_ref()).row {
        Some(WireRow::Interface(interface)) => Some(interface),
        _ => None,
    }
}

#[tonic::async_trait]
impl InterfaceService for Arc<Shared> {
    async fn initialize_interfaces(
        &self,
        request: Request<wire::InterfaceList>,
    ) -> Result<Response<wire::InterfaceList>, Status> {
        self.admit().await?;
        let interfaces = request.into_inner().interfaces;
        let is_kept = |key: &Key| {
            interfaces.iter().any(|one| {
                let pod = one.pod_id.clone().unwrap_or_default();
                *key == Key::Interface {
                    namespace: pod.k8s_namespace,
                    pod: pod.k8s_pod_name,
                    itf: one.name.clone(),
                }
            })
        };
        for held in self.interfaces_of(&wire::PodId::default()) {
            if !is_kept(&held.key) {
                self.put(&held.key, None)?;
            }
        }
        self.produce(interfaces).map(Response::new)
    }

    async fn produce_interfaces(
        &self,
        request: Request<wire::InterfaceList>,
    ) -> Result<Response<wire::InterfaceList>, Status> {
        self.admit().await?;
        self.produce(request.into_inner().interfaces).map(Response::new)
    }

    async fn consume_interfaces(
        &self,
        request: Request<wire::CniParameters>,
    ) -> Result<Response<wire::InterfaceList>, Status> {
        self.admit().await?;
        let wire::CniParameters { pod_id, netns, interface } = request.into_inner();
        let pod =
            pod_id.ok_or_else(|| Status::invalid_argument("pod_id says whose interfaces are asked for"))?;
        let mut changes = self.interfaces.subscribe();
        let found = async {
            loop {
                let found: Vec<wire::Interface> = self
                    .interfaces_of(&pod)
                    .iter()
                    .filter_map(to_wire)
                    .filter(|one| interface.is_empty() || one.name == interface)
                    .collect();
                if !found.is_empty() || changes.changed().await.is_err() {
                    return found;
                }
            }
        };
        let mut found = tokio::time::timeout(CONSUME_TIMEOUT, found).await.map_err(|_| {
            let (namespace, name) = (&pod.k8s_namespace, &pod.k8s_pod_name);
            Status::deadline_exceeded(format!(
                "the pod {namespace}/{name} has no interface yet: see `kubectl -n {namespace} get mep p-{name}`"
            ))
        })?;
        for one in &mut found {
            one.netns.clone_from(&netns);
        }
        Ok(Response::new(wire::InterfaceList { interfaces: found }))
    }

    async fn activate_host_interface(
        &self,
        request: Request<wire::Interface>,
    ) -> Result<Response<wire::Interface>, Status> {
        self.admit().await?;
        let interface = request.into_inner();
        self.produce(vec![interface.clone()])?;
        Ok(Response::new(interface))
    }

    async fn delete_interface(
        &self,
        request: Request<wire::Interface>,
    ) -> Result<Response<wire::Empty>, Status> {
        self.admit().await?;
        let row = wire::Row { row: Some(WireRow::Interface(request.into_inner())) };
        let (key, _) = row_from(row).map_err(|error| Status::invalid_argument(error.to_string()))?;
        self.put(&key, None)?;
        Ok(Response::new(wire::Empty {}))
    }

    async fn remove_cached_interfaces(
        &self,
        request: Request<wire::PodId>,
    ) -> Result<Response<wire::Empty>, Status> {
        self.admit().await?;
        let pod = request.into_inner();
        if pod.k8s_pod_name.is_empty() {
            return Err(Status::invalid_argument("k8s_pod_name says whose interfaces are forgotten"));
        }
        for held in self.interfaces_of(&pod) {
            self.put(&held.key, None)?;
        }
        Ok(Response::new(wire::Empty {}))
    }
}
