//! Questions about rights and identity, which clients ask by creating objects that are never stored, and requests for
//! tokens, which are made the same way.
//!
//! A server calls [`review`] and [`token_request`] before [`handle`](crate::handle), which refuses these.

mod access;
mod identity;
mod token_request;

pub use token_request::token_request;

use crate::authentication::User;
use crate::authorization::Authorizer;
use crate::request::Request;
use crate::response::Response;
use crate::status::Status;
use crate::store::MemoryStore;
use crate::time::Timestamp;
use crate::types::{TypeInfo, Types};
use crate::verbs::read_question;

/// Verifies a token: the user and the audiences it is for, or why it is invalid. Without wanted audiences, those of
/// the server are meant.
pub(crate) type VerifyToken<'a> = &'a dyn Fn(&str, &[String]) -> Result<(User, Vec<String>), String>;

/// Who asks, and who knows the answers.
#[derive(Clone, Copy)]
pub struct Reviewer<'a> {
    /// Who decides.
    pub authorizer: Authorizer<'a>,
    /// Who asks.
    pub user: &'a User,
    /// When.
    pub now: Timestamp,
    /// Who knows tokens.
    pub verify_token: VerifyToken<'a>,
}

/// Answers a review; `None` for a request about anything else.
pub fn review(reviewer: Reviewer<'_>, types: &Types, request: &Request) -> Option<Response> {
    let info = types.get(&request.resource).filter(|info| info.is_review())?;
    Some(answer(reviewer, info, request).unwrap_or_else(Response::status))
}

fn answer(reviewer: Reviewer<'_>, info: &TypeInfo, request: &Request) -> Result<Response, Status> {
    let one = request.name.is_some() || request.subresource.is_some();
    if one || info.namespaced != request.namespace.is_some() {
        return Err(Status::no_such_resource());
    }
    let (question, warnings) = read_question(&MemoryStore::default(), reviewer.now, info, request)?;
    let object = match info.kind.as_str() {
        "SelfSubjectAccessReview" => access::own(reviewer, question)?,
        "SubjectAccessReview" => access::of_subject(reviewer, question)?,
        "LocalSubjectAccessReview" => access::local(reviewer, question, request)?,
        "SelfSubjectRulesReview" => access::rules(reviewer, &question)?,
        "SelfSubjectReview" => identity::own(reviewer),
        "TokenReview" => identity::of_token(reviewer, question)?,
        _ => return Err(Status::no_such_resource()),
    };
    Ok(Response { code: 201, warnings, ..Response::object(object) })
}
