//! What the fuzz targets do with their bytes. Start with [`model_request`].

#![forbid(unsafe_code)]

mod dice;
mod generated;
mod model;
mod protobuf;
mod request;
mod script;
#[cfg(feature = "server")]
mod server;

/// Sends the requests that the bytes stand for to a fresh cluster, and checks each answer.
///
/// Bytes that start like an HTTP request are read as a script (see `seeds/`): so seeds are readable, and raw
/// garbage gets through. All other bytes are choices: the requests that they make have plausible paths and bodies.
pub fn model_request(data: &[u8]) {
    let is_script = data.first().is_some_and(u8::is_ascii_uppercase);
    let requests = if is_script { script::read(data) } else { generated::make(data) };
    model::send_all(&requests);
}

/// Reads the bytes as a body in protobuf and as the message in one, and writes what was read.
pub fn protobuf_body(data: &[u8]) {
    protobuf::check(data);
    if let Some(body) = protobuf::body(data) {
        protobuf::check(&body);
    }
}

#[cfg(feature = "server")]
pub use server::server_connection;
