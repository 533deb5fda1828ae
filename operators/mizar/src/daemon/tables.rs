//! The services of tables and of the droplet itself.

use std::sync::Arc;

use tonic::{Request, Response, Status};

use super::state::Shared;
use crate::tables::{Change, Key, Row};
use crate::wire::messages as wire;
use crate::wire::messages::droplet_service_server::DropletService;
use crate::wire::messages::row::Row as WireRow;
use crate::wire::messages::table_service_server::TableService;
use crate::wire::{Malformed, change_from, held_to, row_to, scope_from};

fn refused(error: Malformed) -> Status {
    Status::invalid_argument(error.to_string())
}

#[tonic::async_trait]
impl TableService for Arc<Shared> {
    async fn read_rows(
        &self,
        request: Request<wire::ReadRowsRequest>,
    ) -> Result<Response<wire::ReadRowsResponse>, Status> {
        self.admit().await?;
        let wire::ReadRowsRequest { scopes } = request.into_inner();
        let scopes: Vec<_> = scopes.into_iter().map(scope_from).collect::<Result<_, _>>().map_err(refused)?;
        let (boot, held, floor) = self.read(&scopes);
        Ok(Response::new(wire::ReadRowsResponse { boot, rows: held.iter().map(held_to).collect(), floor }))
    }

    async fn write_rows(
        &self,
        request: Request<wire::WriteRowsRequest>,
    ) -> Result<Response<wire::WriteRowsResponse>, Status> {
        self.admit().await?;
        let wire::WriteRowsRequest { boot, changes } = request.into_inner();
        let changes: Vec<Change> =
            changes.into_iter().map(change_from).collect::<Result<_, _>>().map_err(refused)?;
        match self.write(&boot, &changes) {
            Ok(Ok(())) => Ok(Response::new(wire::WriteRowsResponse { outdated: String::new() })),
            Ok(Err(outdated)) => Ok(Response::new(wire::WriteRowsResponse { outdated })),
            Err(error) => {
                Err(Status::internal(format!("the file of an interface cannot be written: {error}")))
            }
        }
    }

    async fn get_vpc(&self, request: Request<wire::VpcKey>) -> Result<Response<wire::Vpc>, Status> {
        self.admit().await?;
        let key = Key::Vpc { tunnel: request.into_inner().tunnel_id };
        match self.get(&key).map(|row| row_to(&key, Some(&row)).row) {
            Some(Some(WireRow::Vpc(vpc))) => Ok(Response::new(vpc)),
            _ => Err(Status::not_found(format!("there is no row {key}"))),
        }
    }

    async fn get_net(&self, request: Request<wire::Address>) -> Result<Response<wire::Net>, Status> {
        self.admit().await?;
        let wire::Address { tunnel_id, ip } = request.into_inner();
        let address =
            ip.parse().map_err(|_| Status::invalid_argument(format!("{ip:?} is no IPv4 address")))?;
        let found = self.network_of(tunnel_id, address);
        match found.map(|(key, row): (Key, Row)| row_to(&key, Some(&row)).row) {
            Some(Some(WireRow::Net(net))) => Ok(Response::new(net)),
            _ => Err(Status::not_found(format!("no network of tunnel {tunnel_id} has {ip}"))),
        }
    }

    async fn get_ep(&self, request: Request<wire::EndpointKey>) -> Result<Response<wire::Endpoint>, Status> {
        self.admit().await?;
        let wire::EndpointKey { tunnel_id, ip } = request.into_inner();
        let key = Key::Endpoint { tunnel: tunnel_id, ip };
        match self.get(&key).map(|row| row_to(&key, Some(&row)).row) {
            Some(Some(WireRow::Endpoint(endpoint))) => Ok(Response::new(endpoint)),
            _ => Err(Status::not_found(format!("there is no row {key}"))),
        }
    }
}

#[tonic::async_trait]
impl DropletService for Arc<Shared> {
    async fn get_droplet_info(&self, _: Request<wire::Empty>) -> Result<Response<wire::DropletInfo>, Status> {
        self.admit().await?;
        Ok(Response::new(self.info()))
    }
}
