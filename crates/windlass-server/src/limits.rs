//! Limits on what one client, or all of them together, may use of the server.

use std::time::Duration;

/// Limits that protect the server, and its other clients, from a slow or hostile client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of open connections; a further one is closed immediately. Default: 4,096.
    pub connections: usize,
    /// Maximum number of reads in flight; a further one gets 429. Default: 400.
    pub reads_in_flight: usize,
    /// Maximum number of writes in flight; a further one gets 429. Default: 200.
    pub writes_in_flight: usize,
    /// Maximum size of all headers of a request, in bytes. Default: 64 KiB.
    pub header_bytes: usize,
    /// Maximum number of concurrent requests on one HTTP/2 connection. Default: 250.
    pub streams_per_connection: u32,
    /// Maximum size of all large bodies that are being read, in bytes; a further one gets 429. Default: 256 MiB.
    pub body_bytes: usize,
    /// Timeout of a TLS handshake, of the first request, and of the headers of each request. Default: 30 s.
    pub header_timeout: Duration,
    /// Timeout of a connection without requests. Clients have a shorter one, so that they do not use a connection just
    /// when it is closed. Default: 3 min.
    pub idle_timeout: Duration,
    /// Timeout of the body of a request. Default: 30 s.
    pub body_timeout: Duration,
    /// Timeout of a client that takes nothing of what is sent to it. Default: 60 s.
    pub stall_timeout: Duration,
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
            header_timeout: Duration::from_secs(30),
            idle_timeout: Duration::from_mins(3),
            body_timeout: Duration::from_secs(30),
            stall_timeout: Duration::from_secs(60),
        }
    }
}
