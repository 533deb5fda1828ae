//! The admin's token, and those of service accounts.

mod admin;
mod signer;

use ring::rand::{SecureRandom, SystemRandom};

pub use admin::AdminToken;
pub use signer::TokenSigner;

use super::FileError;
use std::path::PathBuf;

/// Keys that could not be had.
#[derive(Debug, thiserror::Error)]
pub enum AuthError {
    /// A file of the data folder cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// The admin's token is not one.
    #[error(
        "{} has no token of at least {} characters; remove the file to get a new one",
        path.display(), admin::SHORTEST
    )]
    AdminToken {
        /// The file.
        path: PathBuf,
    },
    /// The key of service accounts is not one.
    #[error(
        "{} has no ECDSA P-256 key in PKCS#8 PEM ({why}); remove the file to get a new key, with which all tokens \
         of service accounts end", path.display()
    )]
    SigningKey {
        /// The file.
        path: PathBuf,
        /// The problem.
        why: String,
    },
    /// The system has no random numbers.
    #[error("the system gives no random numbers")]
    Random,
}

/// Random bytes.
fn random<const COUNT: usize>() -> Result<[u8; COUNT], AuthError> {
    let mut bytes = [0; COUNT];
    SystemRandom::new().fill(&mut bytes).map_err(|_| AuthError::Random)?;
    Ok(bytes)
}

/// A name that nothing else has, written as a uid.
pub(super) fn random_id() -> String {
    // Names need to differ, not to be secret: on a system without random numbers no key could have been made.
    let bits = u128::from_be_bytes(random().unwrap_or_default());
    windlass_model::uid(bits)
}
