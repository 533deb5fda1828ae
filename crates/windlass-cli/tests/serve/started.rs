//! A process that is killed when the test ends.

use std::process::{Child, Command};
use std::time::{Duration, Instant};

pub(crate) struct Started(pub(crate) Child);

impl Started {
    /// Asks it to end with SIGTERM, and waits until it has.
    pub(crate) fn terminate(&mut self, timeout: Duration) {
        Command::new("kill").arg(self.0.id().to_string()).status().expect("kill is there");
        let begun = Instant::now();
        while self.0.try_wait().expect("it is ours").is_none() {
            assert!(begun.elapsed() < timeout, "it does not end");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
