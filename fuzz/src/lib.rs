//! What the fuzz targets do with their bytes. Start with [`model_request`].

#![forbid(unsafe_code)]

mod dice;
mod generated;
mod model;
mod request;
mod script;

/// Sends the requests that the bytes stand for to a fresh cluster, and checks each answer.
///
/// Bytes that start like an HTTP request are read as a script (see `seeds/`): so seeds are readable, and raw
/// garbage gets through. All other bytes are choices: the requests that they make have plausible paths and bodies.
pub fn model_request(data: &[u8]) {
    let is_script = data.first().is_some_and(u8::is_ascii_uppercase);
    let requests = if is_script { script::read(data) } else { generated::make(data) };
    model::send_all(&requests);
}
