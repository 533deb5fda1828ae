//! Addresses to listen on, as people write them: `127.0.0.1:6443`, `[::1]:6443`, `localhost:6443`.

use std::net::{SocketAddr, ToSocketAddrs};

/// Reads an address and a port. A name is looked up, and of its addresses one of IPv4 is taken, if there is one: what
/// listens there is reached by the name as well as by `127.0.0.1`.
pub fn address(text: &str) -> Result<SocketAddr, String> {
    let example = "write it like 127.0.0.1:6443 or localhost:0, where 0 takes a free port";
    let Some((host, port)) = text.rsplit_once(':').filter(|(host, _)| !host.is_empty()) else {
        return Err(format!("an address and a port are needed; {example}"));
    };
    if port.parse::<u16>().is_err() {
        return Err(format!("{port:?} is no port; {example}"));
    }
    let found = text.to_socket_addrs().map_err(|error| format!("cannot look up {host}: {error}"))?;
    let found: Vec<SocketAddr> = found.collect();
    let first_of_ipv4 = found.iter().find(|address| address.is_ipv4());
    first_of_ipv4.or(found.first()).copied().ok_or_else(|| format!("{host} has no address"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_names_are_read() {
        for (text, expected) in [
            ("127.0.0.1:6443", "127.0.0.1:6443"),
            ("0.0.0.0:0", "0.0.0.0:0"),
            ("[::1]:80", "[::1]:80"),
            ("localhost:6443", "127.0.0.1:6443"),
        ] {
            assert_eq!(address(text).map(|address| address.to_string()).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused_with_an_example() {
        for (text, expected) in [
            ("6443", "an address and a port are needed; write it like 127.0.0.1:6443"),
            (":6443", "an address and a port are needed"),
            ("localhost", "an address and a port are needed"),
            ("127.0.0.1:http", "\"http\" is no port; write it like"),
            ("127.0.0.1:70000", "\"70000\" is no port"),
        ] {
            let error = address(text).expect_err(text);
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
