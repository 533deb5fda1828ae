//! The members of the cluster: one is used at a time, and the next one when it fails.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, timeout_at};
use tonic::metadata::{Ascii, MetadataValue};
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request};

use crate::error::{Blames, EtcdError, Failure, innermost};
use crate::options::{EtcdOptions, EtcdUser};
use crate::wire::AuthenticateRequest;
use crate::wire::auth_client::AuthClient;

/// The members, and the connection to one of them.
#[derive(Debug)]
pub(crate) struct Endpoints {
    members: Vec<Member>,
    user: Option<EtcdUser>,
    pub(crate) prefix: String,
    pub(crate) deadline: Duration,
    current: Mutex<Current>,
    /// Held by the one that connects; the others wait for its connection.
    connecting: tokio::sync::Mutex<()>,
}

#[derive(Debug)]
struct Member {
    address: Arc<str>,
    endpoint: Endpoint,
}

#[derive(Debug, Default)]
struct Current {
    /// The member to use.
    place: usize,
    /// Counts connections.
    number: u64,
    session: Option<Session>,
}

/// A connection to a member, and what is sent with each request.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    pub(crate) address: Arc<str>,
    pub(crate) channel: Channel,
    number: u64,
    token: Option<MetadataValue<Ascii>>,
}

impl Session {
    /// A request as etcd wants it.
    pub(crate) fn request<Message>(&self, message: Message) -> Request<Message> {
        let mut request = Request::new(message);
        // A member that is cut off from the others refuses at once, and ends its watches; another one may do better.
        request.metadata_mut().insert("hasleader", MetadataValue::from_static("true"));
        if let Some(token) = &self.token {
            request.metadata_mut().insert("token", token.clone());
        }
        request
    }
}

impl Endpoints {
    pub(crate) fn new(options: &EtcdOptions) -> Result<Self, EtcdError> {
        let addresses = options.endpoints.iter().map(|address| Arc::from(address.as_str()));
        let members = addresses.zip(options.transports()?);
        Ok(Endpoints {
            members: members.map(|(address, endpoint)| Member { address, endpoint }).collect(),
            user: options.user.clone(),
            prefix: options.prefix.clone(),
            deadline: options.deadline,
            current: Mutex::default(),
            connecting: tokio::sync::Mutex::default(),
        })
    }

    /// How many members there are.
    pub(crate) fn count(&self) -> usize {
        self.members.len()
    }

    /// All addresses, for messages.
    pub(crate) fn addresses(&self) -> String {
        self.members.iter().map(|member| &*member.address).collect::<Vec<_>>().join(",")
    }

    /// The connection, which is made if there is none.
    pub(crate) async fn session(&self, end: Instant) -> Result<Session, EtcdError> {
        if let Some(session) = &self.current().session {
            return Ok(session.clone());
        }
        let Ok(_connecting) = timeout_at(end, self.connecting.lock()).await else {
            return Err(Failure::deadline(&self.addresses(), self.deadline).error);
        };
        if let Some(session) = &self.current().session {
            return Ok(session.clone());
        }
        self.connect(end).await
    }

    /// Tries each member once, from the one to use on. A member that does not react leaves time for the others.
    async fn connect(&self, end: Instant) -> Result<Session, EtcdError> {
        let mut errors = Vec::new();
        for left in (1..=self.count()).rev() {
            let place = self.current().place;
            match self.connect_to(place, share_of(end, left)).await {
                Ok(session) => {
                    self.current().session = Some(session.clone());
                    return Ok(session);
                }
                Err(error) => errors.push(error),
            }
            self.current().place = (place + 1) % self.count();
        }
        Err(self.summary(errors))
    }

    async fn connect_to(&self, place: usize, limit: Instant) -> Result<Session, EtcdError> {
        let Member { address, endpoint } = &self.members[place];
        let unreachable = |problem: String| EtcdError::Unreachable { address: address.to_string(), problem };
        let number = {
            let mut current = self.current();
            current.number += 1;
            current.number
        };
        let connected = timeout_at(limit, endpoint.connect()).await;
        let connected = connected.map_err(|_| unreachable("no connection in time".to_owned()))?;
        let channel = connected.map_err(|error| unreachable(innermost(&error)))?;
        let mut session = Session { address: address.clone(), channel, number, token: None };
        if let Some(user) = &self.user {
            let token = timeout_at(limit, self.authenticate(user, &session)).await;
            session.token = token.map_err(|_| unreachable("no token in time".to_owned()))??;
        }
        Ok(session)
    }

    async fn authenticate(
        &self,
        user: &EtcdUser,
        session: &Session,
    ) -> Result<Option<MetadataValue<Ascii>>, EtcdError> {
        let EtcdUser { name, password } = user.clone();
        let mut client = AuthClient::new(session.channel.clone());
        match client.authenticate(session.request(AuthenticateRequest { name, password })).await {
            Ok(answer) => {
                let token = answer.into_inner().token.parse();
                let nonsense = |_| EtcdError::Answer { problem: "a token that cannot be sent".to_owned() };
                token.map(Some).map_err(nonsense)
            }
            // Without users, everybody may do everything.
            Err(status)
                if status.code() == Code::FailedPrecondition && status.message().contains("not enabled") =>
            {
                Ok(None)
            }
            Err(status) => Err(Failure::from_status(&session.address, &self.prefix, &status).error),
        }
    }

    /// One error for those of all members.
    fn summary(&self, errors: Vec<EtcdError>) -> EtcdError {
        let problem = |error: &EtcdError| match error {
            EtcdError::Unreachable { problem, .. } => Some(problem.clone()),
            _ => None,
        };
        // A member that was reached says more about what is wrong than those that were not.
        if let Some(error) = errors.iter().find(|error| problem(error).is_none()) {
            return error.clone();
        }
        let mut problems: Vec<String> = errors.iter().filter_map(problem).collect();
        problems.dedup();
        EtcdError::Unreachable { address: self.addresses(), problem: problems.join("; ") }
    }

    /// Drops a connection that is of no use any more.
    pub(crate) fn retire(&self, session: &Session, blames: Blames) {
        let mut current = self.current();
        if blames == Blames::Request || current.session.as_ref().is_none_or(|it| it.number != session.number)
        {
            return;
        }
        current.session = None;
        if blames == Blames::Endpoint {
            current.place = (current.place + 1) % self.count();
        }
    }

    fn current(&self) -> MutexGuard<'_, Current> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// When the first of several attempts has to end, for all of them to have the same time until the end.
pub(crate) fn share_of(end: Instant, attempts: usize) -> Instant {
    let now = Instant::now();
    let attempts = u32::try_from(attempts.max(1)).unwrap_or(u32::MAX);
    now + end.saturating_duration_since(now) / attempts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn attempts_share_the_time() {
        let end = Instant::now() + Duration::from_secs(3);
        assert_eq!(share_of(end, 3), Instant::now() + Duration::from_secs(1));
        assert_eq!(share_of(end, 1), end);
        tokio::time::advance(Duration::from_secs(5)).await;
        assert_eq!(share_of(end, 2), Instant::now());
    }
}
