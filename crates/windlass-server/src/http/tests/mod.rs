//! Tests of the API over a connection.

mod client;
mod shards;
