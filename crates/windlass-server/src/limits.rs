//! How much one client, or all of them together, may ask of the server.

use std::time::Duration;

/// Bounds that keep a slow or hostile client to itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Open connections in all; a further one is closed at once.
    pub connections: usize,
    /// Reads that are answered at the same time; a further one gets 429.
    pub reads_in_flight: usize,
    /// Writes that are answered at the same time; a further one gets 429.
    pub writes_in_flight: usize,
    /// Bytes of all headers of a request.
    pub header_bytes: usize,
    /// Requests at the same time on one HTTP/2 connection.
    pub streams_per_connection: u32,
    /// Bytes of all large bodies that are being read; a further one gets 429.
    pub body_bytes: usize,
    /// How long a TLS handshake, the first request, and the headers of each may take.
    pub header_patience: Duration,
    /// How long a connection is kept for a further request. Clients keep theirs for shorter, so that they do not use one
    /// at the moment when it is closed.
    pub idle_patience: Duration,
    /// How long the body of a request may take.
    pub body_patience: Duration,
    /// How long a client may take none of what is sent to it.
    pub stall_patience: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            connections: 4096,
            reads_in_flight: 400,
            writes_in_flight: 200,
            header_bytes: 64 * 1024,
            streams_per_connection: 250,
            body_bytes: 256 << 20,
            header_patience: Duration::from_secs(30),
            idle_patience: Duration::from_mins(3),
            body_patience: Duration::from_secs(30),
            stall_patience: Duration::from_secs(60),
        }
    }
}
