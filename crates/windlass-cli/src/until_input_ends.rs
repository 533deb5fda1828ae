//! Ending with the parent process.

use std::io;

/// Resolves when standard input is closed, which the end of the parent process does, too.
pub(crate) async fn input_ends() {
    let (closed, ended) = tokio::sync::oneshot::channel();
    // A thread of its own: the runtime would wait for one of its own at the end, and this one may read for ever.
    std::thread::spawn(move || {
        let _ = io::copy(&mut io::stdin(), &mut io::sink());
        let _ = closed.send(());
    });
    let _ = ended.await;
}
