//! The client of real lightpeers: connections are pooled, every call has a timeout, and health is cached for a while.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use windlass_runtime::ServiceClient;

use super::recent::Recent;
use super::service::{Lightpeers, Meant, PeerAnswer, PeerRequest};
use crate::wire::{CallError, Client, ClientSettings, ClientTls, Health, JoinAbout};

/// How lightpeers are called.
#[derive(Clone, Debug)]
pub struct LightpeerSettings {
    /// Timeout of a health check. Default: 2 seconds.
    pub health_deadline: Duration,
    /// Timeout of a join. Default: 10 seconds. A peer continues to join after the timeout; a later call finds it joined.
    pub join_deadline: Duration,
    /// How long a healthy answer is cached. Default: 5 seconds. Must be less than the interval of the controller's checks,
    /// or some of them would send no request.
    pub remembered: Duration,
    /// Use TLS.
    pub tls: Option<ClientTls>,
    /// Maximum number of open connections. Default: 512. Each is an open file, and a process is often limited to 1,024.
    pub max_connections: usize,
}

impl Default for LightpeerSettings {
    fn default() -> Self {
        LightpeerSettings {
            health_deadline: Duration::from_secs(2),
            join_deadline: Duration::from_secs(10),
            remembered: Duration::from_secs(5),
            tls: None,
            max_connections: 512,
        }
    }
}

impl LightpeerSettings {
    fn of_client(&self) -> ClientSettings {
        ClientSettings { deadline: self.health_deadline, tls: self.tls.clone(), ..ClientSettings::default() }
    }

    /// Says whether peers can be called so at all.
    ///
    /// # Errors
    /// When the authorities are no certificates, or the client's own cannot be used.
    pub fn check(&self) -> Result<(), CallError> {
        self.of_client().check()
    }
}

/// A failure is cached for this multiple of the time that the call took: a peer that never answers costs its network a
/// small part of its time, and a peer that is just starting is asked again soon.
const FAILURE_CACHE_FACTOR: u32 = 4;
/// Minimum time for which a failure is cached.
const LEAST_REMEMBERED: Duration = Duration::from_millis(500);
/// Maximum number of peers whose health is cached.
const MAX_REMEMBERED: usize = 16_384;

/// Calls lightpeers over gRPC.
pub struct LightpeerClient {
    settings: LightpeerSettings,
    /// By address.
    connections: Mutex<Recent<String, Client>>,
    /// By uid and address.
    memory: Mutex<Recent<(String, String), Remembered>>,
}

struct Remembered {
    answer: PeerAnswer,
    until: Instant,
}

impl Default for LightpeerClient {
    fn default() -> Self {
        LightpeerClient::new(LightpeerSettings::default())
    }
}

impl LightpeerClient {
    /// A client without connections.
    pub fn new(settings: LightpeerSettings) -> Self {
        let connections = Mutex::new(Recent::new(settings.max_connections));
        LightpeerClient { settings, connections, memory: Mutex::new(Recent::new(MAX_REMEMBERED)) }
    }

    async fn health(&self, uid: String, address: String, fresh: bool) -> PeerAnswer {
        let contact = (uid, address);
        if !fresh && let Some(known) = self.remembered(&contact) {
            return known;
        }
        let asked = Instant::now();
        let answer = match self.check(&contact.1).await {
            Ok((Health::Serving, peer)) => PeerAnswer::Healthy { peer },
            Ok((Health::NotServing, _)) => PeerAnswer::Unhealthy {
                why: format!("the peer at {} says that it does not serve", contact.1),
            },
            Err(error) => PeerAnswer::Unhealthy { why: error.to_string() },
        };
        self.remember(contact, &answer, asked);
        answer
    }

    async fn check(&self, address: &str) -> Result<(Health, Option<String>), CallError> {
        let checked = self.client(address, self.settings.health_deadline)?.identify().await;
        let (health, identity) = checked.inspect_err(|error| self.disconnect(address, error))?;
        Ok((health, identity.map(|identity| identity.name)))
    }

    async fn join(&self, joiner: &Meant, contact: Option<&Meant>, network: Option<String>) -> PeerAnswer {
        let about = JoinAbout {
            network,
            own_name: joiner.peer.clone(),
            contact_name: contact.and_then(|contact| contact.peer.clone()),
        };
        let contact = contact.map_or("", |contact| &contact.address);
        let joined = async {
            let client = self.client(&joiner.address, self.settings.join_deadline)?;
            client.join_network(contact, &about).await
        };
        match joined.await {
            Ok(joined) => PeerAnswer::Joined { peer: joined.name },
            Err(error) => {
                self.disconnect(&joiner.address, &error);
                PeerAnswer::Refused { blames_contact: error.blames_contact(), why: error.to_string() }
            }
        }
    }

    /// The connection to an address, which is made when it is first used.
    fn client(&self, address: &str, deadline: Duration) -> Result<Client, CallError> {
        let mut connections = lock(&self.connections);
        if let Some(known) = connections.get(address) {
            return Ok(known.with_deadline(deadline));
        }
        let client = Client::new(address, &self.settings.of_client())?;
        connections.insert(address.to_owned(), client.clone());
        Ok(client.with_deadline(deadline))
    }

    /// A peer that cannot be reached may be gone for good, and another one may get the address.
    fn disconnect(&self, address: &str, error: &CallError) {
        if matches!(error, CallError::Unreachable { .. } | CallError::Deadline { .. }) {
            lock(&self.connections).remove(address);
        }
    }

    fn remembered(&self, contact: &(String, String)) -> Option<PeerAnswer> {
        lock(&self.memory)
            .get(contact)
            .filter(|known| Instant::now() < known.until)
            .map(|known| known.answer.clone())
    }

    fn remember(&self, contact: (String, String), answer: &PeerAnswer, asked: Instant) {
        let now = Instant::now();
        let lasts = match answer {
            PeerAnswer::Healthy { .. } => self.settings.remembered,
            _ => (FAILURE_CACHE_FACTOR * (now - asked)).max(LEAST_REMEMBERED),
        };
        let remembered = Remembered { answer: answer.clone(), until: now + lasts };
        lock(&self.memory).insert(contact, remembered);
    }
}

impl ServiceClient<Lightpeers> for LightpeerClient {
    async fn call(&self, request: PeerRequest) -> Result<PeerAnswer, windlass::CallError> {
        Ok(match request {
            PeerRequest::Health { uid, address, fresh } => self.health(uid, address, fresh).await,
            PeerRequest::Join { joiner, contact, network } => {
                self.join(&joiner, contact.as_ref(), network).await
            }
        })
    }
}

fn lock<Guarded>(mutex: &Mutex<Guarded>) -> MutexGuard<'_, Guarded> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;
    use crate::peer::{Peer, PeerSettings};

    fn client() -> LightpeerClient {
        let settings =
            LightpeerSettings { health_deadline: Duration::from_millis(300), ..LightpeerSettings::default() };
        LightpeerClient::new(settings)
    }

    async fn health(client: &LightpeerClient, address: &str, fresh: bool) -> PeerAnswer {
        let request = PeerRequest::Health { uid: "u".to_owned(), address: address.to_owned(), fresh };
        client.call(request).await.expect("the client always answers")
    }

    fn meant(peer: &Peer) -> Meant {
        Meant { address: peer.address().to_owned(), peer: Some(peer.name().to_owned()) }
    }

    #[tokio::test]
    async fn health_is_cached_unless_a_fresh_answer_is_requested() {
        let (client, peer) = (client(), Peer::start(PeerSettings::default()).await.expect("a free port"));
        let address = peer.address().to_owned();
        let healthy = PeerAnswer::Healthy { peer: Some(peer.name().to_owned()) };
        assert_eq!(health(&client, &address, false).await, healthy);
        peer.shutdown().await;
        assert_eq!(health(&client, &address, false).await, healthy, "it is remembered");
        let dead = health(&client, &address, true).await;
        assert!(matches!(&dead, PeerAnswer::Unhealthy { why } if why.contains("cannot reach")), "{dead:?}");
        assert_eq!(health(&client, &address, false).await, dead, "and so is this");
    }

    #[tokio::test]
    async fn a_peer_that_never_answers_is_not_waited_for_each_time() {
        let silent = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = silent.local_addr().expect("bound").to_string();
        let client = client();
        let hung = health(&client, &address, false).await;
        assert!(matches!(&hung, PeerAnswer::Unhealthy { why } if why.contains("within 300ms")), "{hung:?}");
        let contact = ("u".to_owned(), address.clone());
        let kept = lock(&client.memory).get(&contact).map(|known| known.until).expect("it is remembered");
        assert!(kept > Instant::now() + Duration::from_millis(300), "longer than it takes to ask");
        assert!(lock(&client.connections).get(&address).is_none(), "and nothing is kept open for it");
    }

    #[tokio::test]
    async fn a_join_says_whose_fault_it_is() {
        let client = client();
        let start = || async { Peer::start(PeerSettings::default()).await.expect("a free port") };
        let (joiner, contact, dead) = (start().await, start().await, start().await);
        let unreachable = meant(&dead);
        dead.shutdown().await;
        let join = |joiner: Meant, contact: Meant| {
            client.call(PeerRequest::Join { joiner, contact: Some(contact), network: None })
        };
        let blamed = |answer| match answer {
            Ok(PeerAnswer::Refused { blames_contact, .. }) => blames_contact,
            other => panic!("{other:?}"),
        };
        assert!(blamed(join(meant(&joiner), unreachable.clone()).await));
        assert!(!blamed(join(unreachable, meant(&contact)).await));
        let joined = PeerAnswer::Joined { peer: Some(joiner.name().to_owned()) };
        assert_eq!(join(meant(&joiner), meant(&contact)).await, Ok(joined));
    }

    #[tokio::test]
    async fn no_more_connections_are_kept_than_allowed() {
        let settings = LightpeerSettings { max_connections: 2, ..LightpeerSettings::default() };
        let client = LightpeerClient::new(settings);
        for address in ["127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:1", "127.0.0.1:3"] {
            client.client(address, Duration::from_secs(1)).expect("an address");
        }
        let mut connections = lock(&client.connections);
        let kept = [1, 2, 3].map(|port| connections.get(&format!("127.0.0.1:{port}")).is_some());
        assert_eq!(kept, [true, false, true]);
    }
}
