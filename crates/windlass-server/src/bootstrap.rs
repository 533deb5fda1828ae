//! The objects that every cluster has, written on first start.

use windlass_model::authorization::bootstrap_requests;
use windlass_model::{Request, first_requests, handle, workloads};

use crate::clock;
use crate::http::access::AuthorizationMode;
use crate::store::Storage;

/// Writes what is missing of them. The error says what was refused.
pub(crate) async fn write_first_objects(
    storage: &Storage,
    mode: AuthorizationMode,
    with_workloads: bool,
) -> Result<(), String> {
    let mut requests: Vec<Request> = first_requests().collect();
    if mode == AuthorizationMode::Rbac {
        requests.extend(bootstrap_requests(&storage.snapshot()));
    }
    if with_workloads {
        requests.extend(workloads::first_requests(&storage.snapshot(), clock::now()));
    }
    for request in requests {
        write(storage, &request).await?;
    }
    Ok(())
}

async fn write(storage: &Storage, request: &Request) -> Result<(), String> {
    let written = storage.write(|newest| handle(newest, newest.types(), clock::now(), request)).await;
    let written = written.map_err(|error| error.to_string())?;
    match written.effect.response.failure() {
        // On every start but the first they are there.
        Some(status) if status.code != 409 => Err(status.message.clone()),
        _ => Ok(()),
    }
}
