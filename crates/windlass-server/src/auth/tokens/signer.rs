//! Tokens of service accounts: JSON web tokens, signed with ECDSA on P-256.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use ring::digest::{SHA256, digest};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair, UnparsedPublicKey,
};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::pki_types::pem::PemObject;
use serde_json::{Value, json};
use windlass_model::base64::Base64;

use super::AuthError;
use crate::auth::files;

const FILE: &str = "service-accounts.key";
const ALGORITHM: &str = "ES256";
/// Maximum number of verified tokens in the cache. A token is verified for each request, and that takes far longer than a
/// look-up.
const REMEMBERED: usize = 4096;
/// What stands before the point of a P-256 key in a `SubjectPublicKeyInfo`.
const PUBLIC_KEY_PREFIX: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86,
    0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];

/// Signs tokens and verifies them.
pub struct TokenSigner {
    key: EcdsaKeyPair,
    random: SystemRandom,
    id: String,
    /// The claims of tokens that were found well signed, by their digests.
    verified: Mutex<HashMap<[u8; 32], Arc<Value>>>,
}

impl TokenSigner {
    /// Takes the key of a data folder, or makes one.
    ///
    /// # Errors
    /// A file that cannot be read or written, or has no key.
    pub fn open(folder: Option<&Path>) -> Result<Self, AuthError> {
        let random = SystemRandom::new();
        let path = folder.map(|folder| folder.join(FILE));
        let stored = path.as_deref().map(files::read_private).transpose()?.flatten();
        let (bytes, fresh) = match stored {
            Some(text) => (pkcs8_of(&text), false),
            None => {
                let made = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random);
                (Ok(made.map_err(|_| AuthError::Random)?.as_ref().to_vec()), true)
            }
        };
        let read = bytes.and_then(|bytes| {
            let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &bytes, &random);
            key.map(|key| (key, bytes)).map_err(|error| error.to_string())
        });
        let (key, bytes) = read.map_err(|why| {
            let path = path.clone().unwrap_or_default();
            AuthError::SigningKey { path, why }
        })?;
        if let Some(path) = path.filter(|_| fresh) {
            files::replace(&path, &pem("PRIVATE KEY", &bytes), files::PRIVATE)?;
        }
        let id = key_id(key.public_key().as_ref());
        Ok(TokenSigner { key, random, id, verified: Mutex::default() })
    }

    /// A token that says this.
    pub fn sign(&self, claims: &Value) -> String {
        self.sign_under(&json!({ "alg": ALGORITHM, "kid": self.id }), claims)
    }

    /// A token with a header of its own.
    pub(in crate::auth) fn sign_under(&self, header: &Value, claims: &Value) -> String {
        let encoded = |value: &Value| Base64::Url.encode(value.to_string().as_bytes());
        let text = format!("{}.{}", encoded(header), encoded(claims));
        let signature = self.key.sign(&self.random, text.as_bytes());
        let signature = signature.expect("a key that was read signs as long as there are random numbers");
        format!("{text}.{}", Base64::Url.encode(signature.as_ref()))
    }

    /// What a token says that this key has signed; `None` for any other text.
    pub fn verified(&self, token: &str) -> Option<Arc<Value>> {
        let mut key = [0; 32];
        key.copy_from_slice(digest(&SHA256, token.as_bytes()).as_ref());
        let mut verified = self.verified.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(claims) = verified.get(&key) {
            return Some(claims.clone());
        }
        drop(verified);
        let claims = Arc::new(self.verify(token)?);
        verified = self.verified.lock().unwrap_or_else(PoisonError::into_inner);
        if verified.len() >= REMEMBERED {
            verified.clear();
        }
        verified.insert(key, claims.clone());
        Some(claims)
    }

    fn verify(&self, token: &str) -> Option<Value> {
        let (text, signature) = token.rsplit_once('.')?;
        let (header, claims) = text.split_once('.').filter(|(_, claims)| !claims.contains('.'))?;
        let header = decoded(header)?;
        // The algorithm is ours to choose, not the token's; and what it calls critical is not known here.
        if header["alg"] != ALGORITHM || header.get("crit").is_some() {
            return None;
        }
        if header.get("kid").is_some_and(|id| *id != self.id) {
            return None;
        }
        let signature = Base64::Url.decode(signature).ok()?;
        let public = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, self.key.public_key().as_ref());
        public.verify(text.as_bytes(), &signature).ok()?;
        decoded(claims)
    }

    /// The public key as a JSON web key.
    pub fn public_key(&self) -> Value {
        let point = self.key.public_key().as_ref();
        let half = |from: usize| Base64::Url.encode(point.get(from..from + 32).unwrap_or_default());
        json!({
            "use": "sig", "kty": "EC", "kid": self.id, "crv": "P-256", "alg": ALGORITHM,
            "x": half(1), "y": half(33),
        })
    }
}

fn decoded(part: &str) -> Option<Value> {
    let bytes = Base64::Url.decode(part).ok()?;
    serde_json::from_slice(&bytes).ok().filter(Value::is_object)
}

fn pkcs8_of(text: &str) -> Result<Vec<u8>, String> {
    let key = PrivatePkcs8KeyDer::from_pem_slice(text.as_bytes());
    key.map(|key| key.secret_pkcs8_der().to_vec()).map_err(|error| error.to_string())
}

/// The digest of a public key, as Kubernetes names keys.
fn key_id(point: &[u8]) -> String {
    let key = [&PUBLIC_KEY_PREFIX[..], point].concat();
    Base64::Url.encode(digest(&SHA256, &key).as_ref())
}

/// Bytes between the lines that say what they are.
fn pem(label: &str, bytes: &[u8]) -> String {
    let encoded = Base64::Standard.encode(bytes);
    let mut text = format!("-----BEGIN {label}-----\n");
    let mut rest = encoded.as_str();
    while !rest.is_empty() {
        let (line, after) = rest.split_at(rest.len().min(64));
        text.push_str(line);
        text.push('\n');
        rest = after;
    }
    text.push_str(&format!("-----END {label}-----\n"));
    text
}
