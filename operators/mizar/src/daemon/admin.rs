//! The service for tests and drills: failures on request, and the log of calls.

use std::sync::Arc;
use std::time::Duration;

use tonic::{Request, Response, Status};

use super::state::{Failure, Shared};
use crate::wire::messages as wire;
use crate::wire::messages::admin_service_server::AdminService;
use crate::wire::messages::fault::Kind;

#[tonic::async_trait]
impl AdminService for Arc<Shared> {
    async fn inject_fault(&self, request: Request<wire::Fault>) -> Result<Response<wire::Empty>, Status> {
        let fault = request.into_inner();
        let failure = match Kind::try_from(fault.kind) {
            Ok(Kind::None) => Failure::None,
            Ok(Kind::Fail) => Failure::Fail,
            Ok(Kind::Hang) => Failure::Hang,
            Ok(Kind::Slow) => Failure::Slow(Duration::from_millis(fault.milliseconds.into())),
            Ok(Kind::Restart) => Failure::Restart,
            Err(_) => return Err(Status::invalid_argument(format!("there is no fault {}", fault.kind))),
        };
        self.fail(failure);
        Ok(Response::new(wire::Empty {}))
    }

    async fn list_calls(
        &self,
        request: Request<wire::ListCallsRequest>,
    ) -> Result<Response<wire::CallLog>, Status> {
        let calls = self.calls(request.into_inner().from).into_iter();
        let calls =
            calls.map(|call| wire::Call { number: call.number, name: call.name, key: call.key, at: call.at });
        Ok(Response::new(wire::CallLog { calls: calls.collect() }))
    }
}
