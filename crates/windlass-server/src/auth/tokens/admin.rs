//! The token that may do anything.

use std::path::Path;

use ring::hmac;
use windlass_model::base64::Base64;

use super::{AuthError, random};
use crate::auth::files;

const FILE: &str = "admin.token";
/// What could be tried out is no token.
pub(super) const SHORTEST: usize = 16;

/// 32 random bytes as text.
pub struct AdminToken {
    text: String,
    key: hmac::Key,
    tag: hmac::Tag,
}

impl AdminToken {
    /// Takes the token of a data folder, or makes one.
    ///
    /// # Errors
    /// A file that cannot be read or written, or has no token.
    pub fn open(folder: Option<&Path>) -> Result<Self, AuthError> {
        let Some(folder) = folder else { return Self::of(fresh()?) };
        let path = folder.join(FILE);
        if let Some(text) = files::read_private(&path)? {
            let token = text.trim();
            let sound = token.len() >= SHORTEST && token.bytes().all(|byte| byte.is_ascii_graphic());
            return if sound { Self::of(token.to_owned()) } else { Err(AuthError::AdminToken { path }) };
        }
        let token = fresh()?;
        files::replace(&path, &format!("{token}\n"), files::PRIVATE)?;
        Self::of(token)
    }

    fn of(text: String) -> Result<Self, AuthError> {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &random::<32>()?);
        let tag = hmac::sign(&key, text.as_bytes());
        Ok(AdminToken { text, key, tag })
    }

    /// The token itself.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether this is the token. Compares in constant time, so that timing reveals nothing about the token.
    pub fn is(&self, token: &str) -> bool {
        hmac::verify(&self.key, token.as_bytes(), self.tag.as_ref()).is_ok()
    }
}

fn fresh() -> Result<String, AuthError> {
    Ok(Base64::Url.encode(&random::<32>()?))
}
