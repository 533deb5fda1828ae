//! Addresses of peers: `HOST:PORT`, as they stand in messages.

use tonic::transport::Uri;

/// The longest host name there is, and a port.
const LONGEST: usize = 253 + 6;

/// Checks that an address is `HOST:PORT` (`[HOST]:PORT` for IPv6), and says what is wrong with it if it is not.
pub fn check_address(address: &str) -> Result<(), String> {
    if address.is_empty() {
        return Err("it is empty; it has the form HOST:PORT".to_owned());
    }
    if address.len() > LONGEST {
        return Err(format!("it is longer than {LONGEST} characters"));
    }
    let uri: Uri = format!("http://{address}").parse().map_err(|_| form(address))?;
    let whole =
        uri.authority().is_some_and(|authority| authority.as_str() == address && !address.contains('@'));
    match uri.port_u16() {
        Some(port) if whole && port != 0 => Ok(()),
        _ => Err(form(address)),
    }
}

fn form(address: &str) -> String {
    format!("{address:?} does not have the form HOST:PORT, or [HOST]:PORT for IPv6")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_with_ports_are_addresses() {
        for good in ["10.0.0.1:9081", "[::1]:9081", "peer-0.peers.default.svc:1"] {
            assert_eq!(check_address(good), Ok(()), "{good}");
        }
        for bad in [
            "",
            "10.0.0.1",
            "::1:9081",
            "http://h:1",
            "h:1/path",
            "user@h:1",
            "h:0",
            "h:99999",
            "a b:1",
            "h:1?q",
        ] {
            assert!(check_address(bad).is_err(), "{bad}");
        }
        assert!(check_address(&format!("{}:1", "h".repeat(300))).is_err());
    }
}
