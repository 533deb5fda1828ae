//! Identifiers of networks, as they stand in gRPC metadata.

/// The longest namespace and the longest value of a label, with a slash between them, and some more.
const LONGEST: usize = 512;

/// Checks that a text can identify a network, and says what is wrong with it if it cannot: it has visible ASCII
/// characters alone, and some.
pub fn check_network(network: &str) -> Result<(), String> {
    if network.is_empty() {
        return Err("the identifier of a network is empty".to_owned());
    }
    if network.len() > LONGEST {
        return Err(format!("the identifier of a network is longer than {LONGEST} characters"));
    }
    if !network.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(format!(
            "{network:?} cannot identify a network: use letters, digits, and signs such as - or /"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn visible_texts_identify_networks() {
        for good in ["default/blue", "a", &"n".repeat(LONGEST)] {
            assert_eq!(check_network(good), Ok(()), "{good}");
        }
        for bad in ["", "two words", "new\nline", "gr\u{fc}n", &"n".repeat(LONGEST + 1)] {
            assert!(check_network(bad).is_err(), "{bad:?}");
        }
    }
}
