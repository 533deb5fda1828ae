//! The client of real daemons: one connection for each, and every call with a timeout.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tonic::Status;
use tonic::transport::{Channel, Endpoint};
use windlass::CallError;
use windlass_runtime::ServiceClient;

use super::service::{Daemon, DropletAnswer, DropletInfo, DropletRequest, Droplets};
use crate::daemon::MAX_MESSAGE_BYTES;
use crate::tables::{Key, Row, Scope};
use crate::wire::messages as wire;
use crate::wire::messages::admin_service_client::AdminServiceClient;
use crate::wire::messages::droplet_service_client::DropletServiceClient;
use crate::wire::messages::table_service_client::TableServiceClient;
use crate::wire::{change_to, held_from, scope_to};

/// How often a connection in use is tried.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// How daemons are called.
#[derive(Clone, Debug)]
pub struct DropletClientSettings {
    /// Timeout of the question how a daemon is. Default: 2 seconds.
    pub info_timeout: Duration,
    /// Timeout of reading or writing rows. Default: 5 seconds.
    pub rows_timeout: Duration,
}

impl Default for DropletClientSettings {
    fn default() -> Self {
        DropletClientSettings { info_timeout: Duration::from_secs(2), rows_timeout: Duration::from_secs(5) }
    }
}

/// Calls the daemons of droplets over gRPC.
#[derive(Default)]
pub struct DropletClient {
    settings: DropletClientSettings,
    /// By address. A channel connects when it is first used, and again when its connection was lost.
    channels: Mutex<BTreeMap<String, Channel>>,
}

impl DropletClient {
    /// A client without connections.
    pub fn new(settings: DropletClientSettings) -> Self {
        DropletClient { settings, channels: Mutex::default() }
    }

    /// All rows of a daemon.
    ///
    /// # Errors
    /// When it cannot be reached, or does not answer in time.
    pub async fn rows(&self, daemon: &Daemon) -> Result<BTreeMap<Key, Row>, String> {
        let request = DropletRequest::Read { daemon: daemon.clone(), scopes: vec![Scope::All] };
        match self.answer(&request).await {
            DropletAnswer::Rows { held, .. } => {
                Ok(held.into_iter().filter_map(|held| Some((held.key, held.row?))).collect())
            }
            DropletAnswer::Failed { why } => Err(why),
            other => Err(format!("it answered something else: {other:?}")),
        }
    }

    /// Who a daemon is.
    ///
    /// # Errors
    /// When it cannot be reached, or does not answer in time.
    pub async fn info(&self, daemon: &Daemon) -> Result<DropletInfo, String> {
        match self.answer(&DropletRequest::Info { daemon: daemon.clone() }).await {
            DropletAnswer::Info(info) => Ok(info),
            DropletAnswer::Failed { why } => Err(why),
            other => Err(format!("it answered something else: {other:?}")),
        }
    }

    /// Lets a daemon fail from now on, or no longer.
    ///
    /// # Errors
    /// When it cannot be reached, or does not answer in time.
    pub async fn inject(&self, address: &str, fault: wire::Fault) -> Result<(), String> {
        let channel = self.channel(address)?;
        let call = async { AdminServiceClient::new(channel).inject_fault(fault).await };
        within(self.settings.info_timeout, address, call).await.map(|_| ())
    }

    async fn answer(&self, request: &DropletRequest) -> DropletAnswer {
        let Daemon { droplet, address } = request.daemon();
        let answered = match self.channel(address) {
            Ok(channel) => self.send(channel, request).await,
            Err(why) => Err(why),
        };
        answered
            .unwrap_or_else(|why| DropletAnswer::Failed { why: format!("the daemon of {droplet}: {why}") })
    }

    async fn send(&self, channel: Channel, request: &DropletRequest) -> Result<DropletAnswer, String> {
        let address = &request.daemon().address;
        let timeout = self.settings.rows_timeout;
        let mut tables = TableServiceClient::new(channel.clone())
            .max_decoding_message_size(MAX_MESSAGE_BYTES)
            .max_encoding_message_size(MAX_MESSAGE_BYTES);
        match request {
            DropletRequest::Info { .. } => {
                let call =
                    async { DropletServiceClient::new(channel).get_droplet_info(wire::Empty {}).await };
                let wire::DropletInfo { name, ip, mac, itf, boot, protocol } =
                    within(self.settings.info_timeout, address, call).await?;
                Ok(DropletAnswer::Info(DropletInfo { boot, protocol, name, ip, mac, itf }))
            }
            DropletRequest::Read { scopes, .. } => {
                let scopes = scopes.iter().map(scope_to).collect();
                let call = async { tables.read_rows(wire::ReadRowsRequest { scopes }).await };
                let wire::ReadRowsResponse { boot, rows, floor } = within(timeout, address, call).await?;
                let held: Result<Vec<_>, _> = rows.into_iter().map(held_from).collect();
                let held = held.map_err(|error| format!("{address} answers with something else: {error}"))?;
                Ok(DropletAnswer::Rows { boot, held, floor })
            }
            DropletRequest::Write { boot, changes, .. } => {
                let changes = changes.iter().map(change_to).collect();
                let message = wire::WriteRowsRequest { boot: boot.clone(), changes };
                let call = async { tables.write_rows(message).await };
                let wire::WriteRowsResponse { outdated } = within(timeout, address, call).await?;
                Ok(match outdated.as_str() {
                    "" => DropletAnswer::Written,
                    _ => DropletAnswer::Outdated { why: outdated },
                })
            }
        }
    }

    fn channel(&self, address: &str) -> Result<Channel, String> {
        let mut channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = channels.get(address) {
            return Ok(known.clone());
        }
        let endpoint = Endpoint::from_shared(format!("http://{address}"))
            .map_err(|_| format!("{address:?} is no address: use HOST:PORT"))?;
        let channel = endpoint
            .connect_timeout(self.settings.info_timeout)
            // A connection whose other end has vanished is noticed, and made again.
            .http2_keep_alive_interval(KEEP_ALIVE)
            .keep_alive_timeout(self.settings.info_timeout)
            .tcp_nodelay(true)
            .connect_lazy();
        channels.insert(address.to_owned(), channel.clone());
        Ok(channel)
    }
}

impl ServiceClient<Droplets> for DropletClient {
    async fn call(&self, request: DropletRequest) -> Result<DropletAnswer, CallError> {
        Ok(self.answer(&request).await)
    }
}

async fn within<Answer>(
    timeout: Duration,
    address: &str,
    call: impl Future<Output = Result<tonic::Response<Answer>, Status>>,
) -> Result<Answer, String> {
    match tokio::time::timeout(timeout, call).await {
        Ok(Ok(answer)) => Ok(answer.into_inner()),
        Ok(Err(status)) if status.code() == tonic::Code::Unavailable => {
            Err(format!("{address} cannot be reached: {}", status.message()))
        }
        Ok(Err(status)) => Err(format!("{address} refuses: {}", status.message())),
        Err(_) => Err(format!("{address} does not answer within {timeout:?}")),
    }
}
