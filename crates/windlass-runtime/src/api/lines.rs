//! The lines of an answer that goes on: the events of a watch.

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::Body as HttpBody;
use kube::client::Body;
use windlass::model::Status;

use super::failure;

/// A body that is read line by line.
pub(crate) struct Lines<Source = Body> {
    body: Source,
    buffer: BytesMut,
    /// Number of bytes at the start of the buffer that are known to have no line end.
    scanned: usize,
}

impl<Source> Lines<Source>
where
    Source: HttpBody<Data = Bytes> + Unpin,
    Source::Error: std::error::Error + 'static,
{
    pub(super) fn new(body: Source) -> Self {
        Lines { body, buffer: BytesMut::new(), scanned: 0 }
    }

    /// The next line without its end; `None` if the server has ended the watch.
    ///
    /// Half a line at the end is left out: what it says will be said again.
    ///
    /// # Errors
    /// When the connection breaks.
    pub(crate) async fn next(&mut self) -> Option<Result<Bytes, Status>> {
        loop {
            if let Some(line) = self.take_line() {
                return Some(Ok(line));
            }
            match self.body.frame().await? {
                Ok(frame) => self.buffer.extend_from_slice(frame.data_ref()?),
                Err(error) => return Some(Err(failure::of_client(&error))),
            }
        }
    }

    fn take_line(&mut self) -> Option<Bytes> {
        let rest = self.buffer.get(self.scanned..).unwrap_or_default();
        let Some(end) = rest.iter().position(|byte| *byte == b'\n') else {
            self.scanned = self.buffer.len();
            return None;
        };
        let mut line = self.buffer.split_to(self.scanned + end + 1);
        line.truncate(self.scanned + end);
        self.scanned = 0;
        Some(line.freeze())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lines_are_put_together_from_pieces() {
        let pieces = ["a\nb", "c", "\n\nd\nhalf"];
        let frames =
            pieces.map(|piece| Ok::<_, std::io::Error>(hyper::body::Frame::data(Bytes::from(piece))));
        let body = http_body_util::StreamBody::new(futures::stream::iter(frames));
        let mut lines = Lines::new(body);
        let mut seen = Vec::new();
        while let Some(line) = lines.next().await {
            seen.push(String::from_utf8_lossy(&line.expect("no failure")).into_owned());
        }
        assert_eq!(seen, ["a", "bc", "", "d"]);
    }
}
