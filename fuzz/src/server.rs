//! A connection to the server, over which any bytes come.

use std::sync::OnceLock;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;
use windlass_server::{Server, ServerOptions, TlsSource};

/// Idle timeout after which the client closes a watch, which has no end of its own.
const SILENCE: Duration = Duration::from_millis(20);

struct Running {
    runtime: Runtime,
    server: Server,
}

/// One server for all inputs: what one leaves behind, the next one meets.
fn running() -> &'static Running {
    static RUNNING: OnceLock<Running> = OnceLock::new();
    RUNNING.get_or_init(|| {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        let options = ServerOptions { tls: TlsSource::Off, ..ServerOptions::default() };
        let server = runtime.block_on(Server::start(options)).expect("the server starts");
        Running { runtime, server }
    })
}

/// Sends the bytes and reads what comes back. An even first byte sends the rest as it is; an odd one lets the rest
/// follow the token of the administrator, since few inputs would guess it.
pub fn server_connection(data: &[u8]) {
    let Running { runtime, server } = running();
    let Some((first, rest)) = data.split_first() else { return };
    let mut sent = Vec::new();
    if first % 2 == 1 {
        let line = rest.split(|byte| *byte == b'\n').next().unwrap_or_default();
        sent.extend_from_slice(line);
        let token = server.kubeconfig().token.as_deref().unwrap_or_default();
        sent.extend_from_slice(format!("\nHost: fuzz\r\nAuthorization: Bearer {token}\r\n").as_bytes());
        sent.extend_from_slice(rest.get(line.len() + 1..).unwrap_or_default());
    } else {
        sent.extend_from_slice(rest);
    }
    runtime.block_on(async {
        let (mut client, stream) = duplex(64 * 1024);
        let serving = server.speak(stream);
        let talking = async {
            // The server may hang up before it has read everything.
            let _ = client.write_all(&sent).await;
            let _ = client.shutdown().await;
            let mut answer = [0; 4096];
            while let Ok(Ok(1..)) = timeout(SILENCE, client.read(&mut answer)).await {}
            drop(client);
        };
        let _ = timeout(Duration::from_secs(5), async { tokio::join!(serving, talking) }).await;
    });
}
