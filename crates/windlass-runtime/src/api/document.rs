//! Reads a document that describes the API, such as the resources of a group.

use serde_json::Value;
use windlass::model::Status;
use windlass::model::http::Written;

use super::{Api, Form, of_answer};

impl Api {
    /// Reads the JSON behind a path that is no resource, such as `/apis/apps/v1`.
    ///
    /// # Errors
    /// What the server said instead, or why it cannot be reached.
    pub(crate) async fn document(&self, path: &str) -> Result<Value, Status> {
        let target = path.to_owned();
        let written = Written { method: "GET", target, content_type: None, body: String::new() };
        let answered = self.send_once(&written, Form::Whole).await?;
        if !answered.is_success() {
            return Err(of_answer(&answered));
        }
        serde_json::from_slice(&answered.body)
            .map_err(|error| Status::internal(format!("the answer for {path} is not JSON: {error}")))
    }
}
