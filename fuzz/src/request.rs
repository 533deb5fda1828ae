//! A request as it comes from the wire, before anything has looked at it.

/// The parts of one HTTP request.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RawRequest {
    pub(crate) method: String,
    pub(crate) path: String,
    /// Without the question mark.
    pub(crate) query: String,
    pub(crate) content_type: Option<String>,
    pub(crate) accept: Option<String>,
    pub(crate) user_agent: Option<String>,
    pub(crate) body: Vec<u8>,
}
