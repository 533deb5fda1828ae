//! SHA-256, for hashes that clients compare: of documents, and of the versions that objects are stored in.

use sha2::{Digest, Sha256};

/// The digest of some bytes.
pub(crate) fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// The digest in capital hexadecimal digits, as Kubernetes writes the tags of documents.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    sha256(bytes).iter().map(|byte| format!("{byte:02X}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_those_of_the_standard() {
        let long = "a".repeat(1_000_000);
        for (text, expected) in [
            ("", "E3B0C44298FC1C149AFBF4C8996FB92427AE41E4649B934CA495991B7852B855"),
            ("abc", "BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248D6A61D20638B8E5C026930C3E6039A33CE45964FF2167F6ECEDD419DB06C1",
            ),
            (&long, "CDC76E5C9914FB9281A1C7E284D73E67F1809A48A497200E046D39CCC7112CD0"),
        ] {
            assert_eq!(hexadecimal(text.as_bytes()), expected);
        }
    }
}
