//! A service to try the example with: the model of the check, behind HTTP.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;

use crate::dns::{RecordRequest, Zone};

const MAX_BYTES: usize = 64 * 1024;

/// All records, shared between those who answer and those who look.
pub type SharedZone = Arc<Mutex<Zone>>;

/// Answers `PUT /owners/UID`, and `GET /` with all records, for ever.
///
/// # Errors
/// When no more connections can be accepted.
pub async fn serve(listener: TcpListener, zone: SharedZone) -> std::io::Result<()> {
    loop {
        let (stream, _) = listener.accept().await?;
        let zone = Arc::clone(&zone);
        tokio::spawn(async move {
            let answer = service_fn(|request| answer(Arc::clone(&zone), request));
            let mut http = http1::Builder::new();
            // A connection that breaks affects only its client.
            let _ = http.timer(TokioTimer::new()).serve_connection(TokioIo::new(stream), answer).await;
        });
    }
}

async fn answer(zone: SharedZone, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let (status, text) = match (request.method(), request.uri().path()) {
        (&Method::GET, "/") => {
            let zone = zone.lock().unwrap_or_else(PoisonError::into_inner);
            (StatusCode::OK, serde_json::to_string(&zone.records()).unwrap_or_default())
        }
        (&Method::PUT, path) if path.starts_with("/owners/") => put(&zone, request).await,
        _ => (StatusCode::NOT_FOUND, "there are GET / and PUT /owners/UID".to_owned()),
    };
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    Ok(response)
}

async fn put(zone: &SharedZone, request: Request<Incoming>) -> (StatusCode, String) {
    let owner = request.uri().path().trim_start_matches("/owners/").to_owned();
    let Ok(body) = Limited::new(request.into_body(), MAX_BYTES).collect().await else {
        return (StatusCode::BAD_REQUEST, "the body cannot be read".to_owned());
    };
    match serde_json::from_slice::<RecordRequest>(&body.to_bytes()) {
        Ok(record) if record.owner == owner => {
            let answer = zone.lock().unwrap_or_else(PoisonError::into_inner).put(&record);
            (StatusCode::OK, serde_json::to_string(&answer).unwrap_or_default())
        }
        Ok(_) => (StatusCode::BAD_REQUEST, "the owner is not that of the path".to_owned()),
        Err(error) => (StatusCode::BAD_REQUEST, error.to_string()),
    }
}
