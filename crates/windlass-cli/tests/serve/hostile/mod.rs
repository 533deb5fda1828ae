//! Clients that mean harm, or are broken: each hurts only itself, and the others are served meanwhile.

mod bystander;
mod documents;
mod http2;
mod identity;
mod raw;
mod slow;

use crate::eventually::eventually;
use crate::served::Served;
use bystander::Bystander;
use raw::Raw;

/// Plain HTTP, so that a test can send any bytes it likes; what is under TLS is the same.
fn plain(arguments: &[&str]) -> Served {
    Served::start(&[&["--insecure"], arguments].concat())
}

#[tokio::test]
async fn bodies_that_are_too_large() {
    let served = plain(&[]);
    let mut others = Bystander::of(&served).await;
    let path = "/api/v1/namespaces/default/configmaps";
    let mut announced = Raw::connect(&served).await;
    announced.send(&announced.head("POST", path, "Content-Length: 1000000000\r\n")).await;
    assert_eq!(announced.answer().await.0, 413);
    let mut endless = Raw::connect(&served).await;
    endless.send(&endless.head("POST", path, "Transfer-Encoding: chunked\r\n")).await;
    let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
    // Until the server does not take any more.
    for _ in 0..1000 {
        if !endless.try_send(&chunk).await {
            break;
        }
    }
    endless.ends().await;
    others.are_served().await;
}

#[tokio::test]
async fn headers_that_are_too_large() {
    let served = plain(&[]);
    let mut others = Bystander::of(&served).await;
    let mut one = Raw::connect(&served).await;
    one.send(&one.head("GET", "/version", &format!("X-Long: {}\r\n", "x".repeat(100_000)))).await;
    assert_eq!(one.answer().await.0, 431);
    let mut many = Raw::connect(&served).await;
    let lines: String = (0..5000).map(|number| format!("X-{number}: 1\r\n")).collect();
    many.send(&many.head("GET", "/version", &lines)).await;
    assert_eq!(many.answer().await.0, 431);
    let mut path = Raw::connect(&served).await;
    path.send(&path.head("GET", &format!("/api/v1/namespaces/{}", "x".repeat(100_000)), "")).await;
    let code = path.answer().await.0;
    assert!(code == 414 || code == 431, "{code}");
    others.are_served().await;
}

#[tokio::test]
async fn more_connections_than_there_may_be() {
    let served = plain(&["--max-connections", "20"]);
    let mut others = Bystander::of(&served).await;
    // From here on their connections are there.
    others.are_served().await;
    let mut open = Vec::new();
    for _ in 0..100 {
        open.push(Raw::connect(&served).await);
    }
    // At least these find no room.
    for _ in 0..80 {
        open.pop().expect("a hundred").ends().await;
    }
    others.are_served().await;
    drop(open);
    // There is room again as soon as the server has noticed.
    eventually("a new connection is served", async || {
        let mut late = Raw::connect(&served).await;
        late.try_send(&late.head("GET", "/readyz", "")).await
            && late.try_answer().await.is_some_and(|(code, _)| code == 200)
    })
    .await;
}

#[tokio::test]
async fn bytes_that_are_no_tls() {
    let served = Served::start(&[]);
    let mut others = Bystander::of(&served).await;
    let mut random = 1_u32;
    for length in [1, 10, 1000, 100_000] {
        let garbage: Vec<u8> = std::iter::repeat_with(|| {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (random >> 24) as u8 | 0x80
        })
        .take(length)
        .collect();
        let mut client = Raw::connect(&served).await;
        client.try_send(&garbage).await;
        client.close_half().await;
        client.ends().await;
    }
    let mut plain = Raw::connect(&served).await;
    plain.send("GET /version HTTP/1.1\r\nHost: here\r\n\r\n").await;
    let answer = plain.all().await;
    assert_eq!(answer, "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n");
    others.are_served().await;
}

#[tokio::test]
async fn connections_that_are_closed_by_half() {
    let served = plain(&[]);
    let mut others = Bystander::of(&served).await;
    let path = "/api/v1/namespaces/default/configmaps";
    let watch = format!("{path}?watch=true");
    for (method, path, extra) in [
        ("GET", path, ""),
        ("GET", watch.as_str(), ""),
        ("POST", path, "Content-Length: 100\r\n"),
        ("POST", path, "Transfer-Encoding: chunked\r\n"),
    ] {
        let mut client = Raw::connect(&served).await;
        client.send(&client.head(method, path, extra)).await;
        client.close_half().await;
        client.ends().await;
    }
    let mut broken_off = Raw::connect(&served).await;
    broken_off.send("GET /vers").await;
    broken_off.close_half().await;
    broken_off.ends().await;
    others.are_served().await;
}

#[tokio::test]
async fn requests_that_could_be_read_in_two_ways() {
    let served = plain(&[]);
    let mut others = Bystander::of(&served).await;
    for extra in [
        "Content-Length: 5\r\nContent-Length: 6\r\n",
        "Content-Length: -1\r\n",
        "Content-Length: 5\r\nTransfer-Encoding: chunked, identity\r\n",
        "Transfer-Encoding: gzip\r\n",
        "Broken Header\r\n",
        "X: \0\r\n",
    ] {
        let mut client = Raw::connect(&served).await;
        client.send(&client.head("POST", "/api/v1/namespaces", extra)).await;
        let (code, _) = client.answer().await;
        assert_eq!(code, 400, "{extra:?}");
        client.ends().await;
    }
    others.are_served().await;
}

/// Requests come without end, and the client never reads the answers.
#[tokio::test]
async fn requests_without_an_end() {
    let served = plain(&["--client-timeout", "2"]);
    let mut others = Bystander::of(&served).await;
    let mut client = Raw::connect(&served).await;
    let request = client.head("GET", "/api/v1/namespaces", "").repeat(100);
    let flood = tokio::spawn(async move { while client.try_send(&request).await {} });
    while !flood.is_finished() {
        others.are_served().await;
    }
    flood.await.expect("it ends, since the server does not take any more");
}
