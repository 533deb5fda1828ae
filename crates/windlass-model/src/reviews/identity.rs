//! Who am I, and whose token is this?

use serde_json::{Value, json};

use super::Reviewer;
use crate::authentication::User;
use crate::object::texts;
use crate::status::Status;

/// `SelfSubjectReview`: who asks.
pub(super) fn own(reviewer: Reviewer<'_>) -> Value {
    json!({
        "apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview",
        "metadata": { "creationTimestamp": reviewer.now.to_string() },
        "status": { "userInfo": user_info(reviewer.user) },
    })
}

/// `TokenReview`: whose token it is.
pub(super) fn of_token(reviewer: Reviewer<'_>, mut question: Value) -> Result<Value, Status> {
    let token = question["spec"]["token"].as_str().unwrap_or_default();
    if token.is_empty() {
        return Err(Status::bad_request("token is required for TokenReview in authentication"));
    }
    let wanted = texts(&question["spec"]["audiences"]);
    question["status"] = match (reviewer.verify_token)(token, &wanted) {
        Ok((user, audiences)) => {
            json!({ "authenticated": true, "user": user_info(&user), "audiences": audiences })
        }
        Err(error) => json!({ "error": error, "user": {} }),
    };
    Ok(question)
}

fn user_info(user: &User) -> Value {
    let mut info = json!({});
    for (field, text) in [("username", &user.name), ("uid", &user.uid)] {
        if !text.is_empty() {
            info[field] = text.as_str().into();
        }
    }
    if !user.groups.is_empty() {
        info["groups"] = json!(user.groups);
    }
    if !user.extra.is_empty() {
        info["extra"] = json!(user.extra);
    }
    info
}
