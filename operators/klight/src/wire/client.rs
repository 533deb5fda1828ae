//! A client of one peer: every call has a deadline, and every answer a limit.

use std::future::Future;
use std::time::Duration;

use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Response, Status, Streaming};

use super::health::HealthCheckRequest;
use super::health::health_check_response::ServingStatus;
use super::health::health_client::HealthClient;
use super::hints::write_contact;
use super::messages::lightpeer_client::LightpeerClient;
use super::messages::{ConnectRequest, EmptyQueryRequest, JoinRequest, Lightblock, PeerInfo, PersistRequest};
use super::{CallError, ClientTls, Hints, Identity, check_address, check_network};

/// How often a connection in use is tried.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// How a client calls.
#[derive(Clone, Debug)]
pub struct ClientSettings {
    /// Timeout of a whole call, with all of its answer. Default: 10 seconds.
    pub deadline: Duration,
    /// Use TLS.
    pub tls: Option<ClientTls>,
    /// The largest message that is taken.
    pub max_message_bytes: usize,
    /// The largest answer that is taken, over all of its messages.
    pub max_answer_bytes: usize,
}

impl Default for ClientSettings {
    fn default() -> ClientSettings {
        ClientSettings {
            deadline: Duration::from_secs(10),
            tls: None,
            max_message_bytes: 4 << 20,
            max_answer_bytes: 512 << 20,
        }
    }
}

impl ClientSettings {
    /// Checks that a peer can be called with these settings.
    ///
    /// # Errors
    /// When the authority has no certificates, or the client's own cannot be used.
    pub fn check(&self) -> Result<(), CallError> {
        let endpoint = Endpoint::from_static("https://localhost");
        self.tls.as_ref().map_or(Ok(()), |tls| tls.configure(endpoint).map(|_| ()))
    }
}

/// What a peer says to a health check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// It serves.
    Serving,
    /// It runs, and does not serve.
    NotServing,
}

/// What came of a join.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Joined {
    /// What the peer says, for people.
    pub result: String,
    /// What it is called now, if it is one of ours: a peer that has changed networks has another name.
    pub name: Option<String>,
    /// The network that it is in now, if it is assigned to one.
    pub network: Option<String>,
}

/// What a join is about, beside the address of the contact. Lightpeers that are not ours ignore all of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JoinAbout {
    /// The network. A peer that is assigned to another one leaves it for good, blocks included; a contact that is
    /// assigned to another one refuses.
    pub network: Option<String>,
    /// Only the peer of this name is to join; without it, whoever is at the address.
    pub own_name: Option<String>,
    /// Only the contact of this name is to let it in; without it, whoever is at the address.
    pub contact_name: Option<String>,
}

/// Calls one peer. Connects when it is first used, and again when the connection was lost; clones share it.
#[derive(Clone, Debug)]
pub struct Client {
    address: String,
    channel: Channel,
    settings: ClientSettings,
}

impl Client {
    /// A client of the peer at this address, `HOST:PORT`. Does not connect yet.
    ///
    /// # Errors
    /// The address, or the authority, makes no sense.
    pub fn new(address: &str, settings: &ClientSettings) -> Result<Client, CallError> {
        let refuse = |problem| CallError::Address { address: address.to_owned(), problem };
        check_address(address).map_err(refuse)?;
        let scheme = if settings.tls.is_some() { "https" } else { "http" };
        let endpoint = Endpoint::from_shared(format!("{scheme}://{address}"))
            .map_err(|error| refuse(error.to_string()))?
            .connect_timeout(settings.deadline)
            // A connection whose other end has vanished is noticed, and made again.
            .http2_keep_alive_interval(KEEP_ALIVE)
            .keep_alive_timeout(settings.deadline)
            .tcp_nodelay(true);
        let endpoint = match &settings.tls {
            None => endpoint,
            Some(tls) => tls.configure(endpoint)?,
        };
        Ok(Client {
            address: address.to_owned(),
            channel: endpoint.connect_lazy(),
            settings: settings.clone(),
        })
    }

    /// The same client with another deadline.
    pub fn with_deadline(&self, deadline: Duration) -> Client {
        let mut client = self.clone();
        client.settings.deadline = deadline;
        client
    }

    /// Whether the peer serves.
    ///
    /// # Errors
    /// It cannot be reached, or does not answer in time.
    pub async fn health(&self) -> Result<Health, CallError> {
        self.identify().await.map(|(health, _)| health)
    }

    /// Asks the peer to join the network of a contact. Repeating the call does nothing more.
    ///
    /// # Errors
    /// See [`CallError::blames_contact`] for whose fault it is.
    pub async fn join(&self, contact: &str) -> Result<Joined, CallError> {
        self.join_meant(None, contact, None).await
    }

    /// The same, but only the peer of this name is to join, and only the contact of that name is to let it in; where no
    /// name is given, or to lightpeers that do not know of this, whoever is at the address is meant.
    ///
    /// # Errors
    /// Also if another peer has the address by now.
    pub async fn join_meant(
        &self,
        own_name: Option<&str>,
        contact: &str,
        contact_name: Option<&str>,
    ) -> Result<Joined, CallError> {
        let about = JoinAbout {
            own_name: own_name.map(str::to_owned),
            contact_name: contact_name.map(str::to_owned),
            ..JoinAbout::default()
        };
        self.join_network(contact, &about).await
    }

    /// Asks the peer to join the network of a contact, with the names and the network that are meant.
    ///
    /// # Errors
    /// [`CallError::OtherNetwork`] if the contact is a member of another network than the one that is named.
    pub async fn join_network(&self, contact: &str, about: &JoinAbout) -> Result<Joined, CallError> {
        if let Some(network) = &about.network {
            let refuse = |problem| CallError::Network { network: network.clone(), problem };
            check_network(network).map_err(refuse)?;
        }
        let mut request = Request::new(JoinRequest { address: contact.to_owned() });
        let meant_for = about.own_name.clone().into_iter().collect();
        Hints { meant_for, network: about.network.clone() }.write(request.metadata_mut());
        if let Some(name) = &about.contact_name {
            write_contact(request.metadata_mut(), name);
        }
        let answer = self.within(self.lightpeer().join_network(request)).await?;
        let identity = Identity::read(answer.metadata());
        let (name, network) = identity.map_or((None, None), |known| (Some(known.name), known.network));
        Ok(Joined { result: answer.into_inner().result, name, network })
    }

    /// Assigns the peer to this network, with no contact: it is the first there, or one that was found already. It leaves
    /// its previous network, if that was another one. Lightpeers that are not ours refuse.
    ///
    /// # Errors
    /// See [`Client::join`].
    pub async fn enter_network(&self, network: &str) -> Result<Joined, CallError> {
        let about = JoinAbout { network: Some(network.to_owned()), ..JoinAbout::default() };
        self.join_network("", &about).await
    }

    /// Adds a block; returns its identifier when enough peers have it.
    ///
    /// # Errors
    /// The block may have been added all the same, unless the peer refuses it as too large.
    pub async fn persist(&self, payload: Vec<u8>) -> Result<String, CallError> {
        let answer = self.within(self.lightpeer().persist(PersistRequest { payload })).await?;
        Ok(answer.into_inner().response)
    }

    /// The payloads of all blocks of clients, in the order of the chain.
    ///
    /// # Errors
    /// There are more than [`ClientSettings::max_answer_bytes`], or they do not come in time.
    pub async fn query(&self) -> Result<Vec<Vec<u8>>, CallError> {
        let mut client = self.lightpeer();
        self.collect(client.query(EmptyQueryRequest {}), |response| {
            Ok((response.payload.len(), response.payload))
        })
        .await
    }

    /// Makes a peer known to this one, and returns its chain. What `read` refuses ends it at once.
    pub(crate) async fn connect<Block>(
        &self,
        peer: PeerInfo,
        hints: &Hints,
        read: impl Fn(Lightblock) -> Result<Block, String>,
    ) -> Result<Vec<Block>, CallError> {
        let mut request = Request::new(ConnectRequest { peer: Some(peer) });
        hints.write(request.metadata_mut());
        let mut client = self.lightpeer();
        self.collect(client.connect_new_peer(request), |block| {
            let size = block.payload.len() + block.id.len() + block.prev_id.len();
            read(block).map(|block| (size, block))
        })
        .await
    }

    /// Announces a block to the peer.
    pub(crate) async fn notify(&self, block: Lightblock, hints: &Hints) -> Result<(), CallError> {
        let mut request = Request::new(block);
        hints.write(request.metadata_mut());
        self.within(self.lightpeer().notify_new_block(request)).await.map(|_| ())
    }

    /// Whether the peer serves, and who it is, if it is one of ours.
    pub(crate) async fn identify(&self) -> Result<(Health, Option<Identity>), CallError> {
        let mut client = HealthClient::new(self.channel.clone());
        let answer = self.within(client.check(HealthCheckRequest::default())).await?;
        let health = match answer.get_ref().status() {
            ServingStatus::Serving => Health::Serving,
            _ => Health::NotServing,
        };
        Ok((health, Identity::read(answer.metadata())))
    }

    fn lightpeer(&self) -> LightpeerClient<Channel> {
        LightpeerClient::new(self.channel.clone()).max_decoding_message_size(self.settings.max_message_bytes)
    }

    async fn within<T>(&self, call: impl Future<Output = Result<T, Status>>) -> Result<T, CallError> {
        match tokio::time::timeout(self.settings.deadline, call).await {
            Ok(answer) => answer.map_err(|status| CallError::from_status(&self.address, &status)),
            Err(_) => Err(self.too_late()),
        }
    }

    /// All messages of an answer, within one deadline and one limit. `weigh` gives the size and the content of each.
    async fn collect<Message, Content>(
        &self,
        call: impl Future<Output = Result<Response<Streaming<Message>>, Status>>,
        weigh: impl Fn(Message) -> Result<(usize, Content), String>,
    ) -> Result<Vec<Content>, CallError> {
        /// What a message costs beside its content.
        const OVERHEAD: usize = 128;
        let (limit, mut bytes, mut all) = (self.settings.max_answer_bytes, 0, Vec::new());
        let whole = async {
            let mut messages =
                call.await.map_err(|status| CallError::from_status(&self.address, &status))?.into_inner();
            while let Some(message) =
                messages.message().await.map_err(|status| CallError::from_status(&self.address, &status))?
            {
                let (size, content) = weigh(message).map_err(|problem| self.nonsense(problem))?;
                bytes += size + OVERHEAD;
                if bytes > limit {
                    return Err(self.nonsense(format!("more than {limit} bytes, which is the limit")));
                }
                all.push(content);
            }
            Ok(())
        };
        match tokio::time::timeout(self.settings.deadline, whole).await {
            Ok(done) => done.map(|()| all),
            Err(_) => Err(self.too_late()),
        }
    }

    fn nonsense(&self, problem: String) -> CallError {
        CallError::Answer { address: self.address.clone(), problem }
    }

    fn too_late(&self) -> CallError {
        CallError::Deadline { address: self.address.clone(), deadline: self.settings.deadline }
    }
}
