//! HTTP/2, of which a client can ask much with little.

use std::cell::Cell;

use tokio::time::timeout;

use super::raw::Raw;
use super::{Bystander, plain};
use crate::eventually::{TIMEOUT, eventually};
use crate::served::Served;

const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const CONTINUATION: u8 = 9;
const ACKNOWLEDGED: u8 = 1;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("short").to_be_bytes();
    let mut frame = vec![length[1], length[2], length[3], kind, flags];
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// The head of a GET request: pseudo-headers and the token, none of it compressed.
fn get(path: &str, token: &str) -> Vec<u8> {
    let authorization = format!("Bearer {token}");
    let fields = [
        (":method", "GET"),
        (":scheme", "http"),
        (":authority", "here"),
        (":path", path),
        ("authorization", &authorization),
    ];
    fields.into_iter().flat_map(|(name, value)| field(name, value)).collect()
}

fn field(name: &str, value: &str) -> Vec<u8> {
    let mut bytes = vec![0];
    for text in [name, value] {
        // A length that does not fit in seven bits goes on in the next bytes.
        match u8::try_from(text.len()).ok().filter(|length| *length < 127) {
            Some(length) => bytes.push(length),
            None => {
                let mut rest = text.len() - 127;
                bytes.push(127);
                while rest >= 128 {
                    bytes.push((rest % 128) as u8 | 128);
                    rest /= 128;
                }
                bytes.push(rest as u8);
            }
        }
        bytes.extend(text.as_bytes());
    }
    bytes
}

async fn connect(served: &Served, settings: &[u8]) -> Raw {
    let mut client = Raw::connect(served).await;
    client.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await;
    client.send(frame(SETTINGS, 0, 0, settings)).await;
    client
}

/// The numbers that a client gives to its streams.
fn streams(count: u32) -> impl Iterator<Item = u32> {
    (0..count).map(|number| 2 * number + 1)
}

#[tokio::test]
async fn streams_that_are_reset_at_once() {
    let served = plain(&[]);
    let mut others = Bystander::of(&served).await;
    let mut client = connect(&served, &[]).await;
    let head = get("/api/v1/configmaps", client.token());
    for stream in streams(20_000) {
        let mut frames = frame(HEADERS, END_HEADERS | END_STREAM, stream, &head);
        frames.extend(frame(RST_STREAM, 0, stream, &8_u32.to_be_bytes()));
        // The server may hang up, which is right.
        if !client.try_send(&frames).await {
            break;
        }
        if stream % 4000 == 1 {
            others.are_served().await;
        }
    }
    others.are_served().await;
    eventually("no request is left", async || {
        others.metric("apiserver_current_inflight_requests{request_kind=\"readOnly\"}").await == 0
    })
    .await;
}

/// More requests at the same time than one connection may have.
#[tokio::test]
async fn streams_beyond_the_limit() {
    let served = plain(&[]);
    let mut others = Bystander::of(&served).await;
    let mut client = connect(&served, &[]).await;
    let head = get("/api/v1/configmaps?watch=true", client.token());
    for stream in streams(5000) {
        if !client.try_send(frame(HEADERS, END_HEADERS | END_STREAM, stream, &head)).await {
            break;
        }
    }
    others.are_served().await;
    let watches = others
        .metric("apiserver_longrunning_requests{group=\"\",version=\"v1\",resource=\"configmaps\"}")
        .await;
    assert!(watches <= 251, "{watches}");
}

/// Answers for which the client leaves no room, although it goes on to be there.
#[tokio::test]
async fn answers_that_are_never_read() {
    let served = plain(&["--client-timeout", "2"]);
    let mut others = Bystander::of(&served).await;
    for path in ["/api/v1/namespaces", "/openapi/v2", "/api/v1/configmaps?watch=true"] {
        // The initial size of the window is 0.
        let mut client = connect(&served, &[0, 4, 0, 0, 0, 0]).await;
        let head = get(path, client.token());
        for stream in streams(100) {
            client.send(frame(HEADERS, END_HEADERS | END_STREAM, stream, &head)).await;
        }
        let ended = Cell::new(false);
        let end = async {
            while let Some((kind, flags, payload)) = client.frame().await {
                if (kind, flags) == (PING, 0) {
                    client.try_send(frame(PING, ACKNOWLEDGED, 0, &payload)).await;
                }
            }
            ended.set(true);
        };
        // Writes go on, so that even a watch that begins late has events; one without events may be kept.
        let writes = async {
            while !ended.get() {
                others.are_served().await;
            }
        };
        timeout(TIMEOUT, async { tokio::join!(end, writes) }).await.expect("the server hangs up");
    }
}

#[tokio::test]
async fn headers_without_an_end() {
    let served = plain(&[]);
    let mut others = Bystander::of(&served).await;
    let mut client = connect(&served, &[]).await;
    let head = get("/version", client.token());
    client.send(frame(HEADERS, END_STREAM, 1, &head)).await;
    let more = frame(CONTINUATION, 0, 1, &field("x-more", &"x".repeat(10_000)));
    while client.try_send(&more).await {}
    client.ends().await;
    others.are_served().await;
}

#[tokio::test]
async fn frames_that_make_no_sense() {
    let served = plain(&[]);
    let mut others = Bystander::of(&served).await;
    for broken in [
        frame(SETTINGS, 0, 0, &[1, 2, 3]),
        frame(HEADERS, END_HEADERS, 2, &[0x80]),
        frame(HEADERS, END_HEADERS, 1, &[0xff; 100]),
        frame(CONTINUATION, END_HEADERS, 1, &[]),
        frame(RST_STREAM, 0, 0, &[0; 4]),
        vec![0xff; 1000],
    ] {
        let mut client = connect(&served, &[]).await;
        client.try_send(&broken).await;
        client.ends().await;
    }
    others.are_served().await;
}
