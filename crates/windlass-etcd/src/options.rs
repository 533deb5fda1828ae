//! Where etcd is, and how it is called.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity, Uri};

use crate::error::{EtcdError, innermost};

/// How every certificate begins.
const CERTIFICATE: &[u8] = b"-----BEGIN CERTIFICATE-----";
/// How often a connection in use is tried. etcd refuses clients that do so more often than every 5 seconds.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// Where etcd is, and how it is called. `"etcd://HOST:PORT".parse()` gives options with the defaults for the rest.
///
/// ```
/// use windlass_etcd::EtcdOptions;
///
/// let options: EtcdOptions = "etcd://10.0.0.1:2379,10.0.0.2:2379/fleet".parse()?;
/// assert_eq!(options.endpoints, ["10.0.0.1:2379", "10.0.0.2:2379"]);
/// assert_eq!(options.prefix, "/fleet");
/// # Ok::<(), windlass_etcd::EtcdError>(())
/// ```
#[derive(Clone, Debug)]
pub struct EtcdOptions {
    /// The members of the cluster that may be asked, each `HOST:PORT`. One is used at a time, and the next one when it
    /// cannot be reached.
    pub endpoints: Vec<String>,
    /// What all keys begin with. Default: `/windlass`.
    pub prefix: String,
    /// Use TLS. Default: no for `etcd://`; for `etcds://` yes, and the authority is still to be set.
    pub tls: Option<EtcdTls>,
    /// Who calls, if etcd demands a password. Default: no user.
    pub user: Option<EtcdUser>,
    /// Timeout of a whole call, with all endpoints that are tried for it. Default: 3 seconds.
    ///
    /// A renewal that takes longer than the time in which an instance may act is of no use, so this must be well below it.
    pub deadline: Duration,
    /// How long an instance stays in the list of instances without a renewal, in seconds. Default: 15. It is for display,
    /// and etcd knows whole seconds only.
    pub listed_seconds: u32,
}

/// Whom to trust, and what to show; all of it PEM.
#[derive(Clone, Debug, Default)]
pub struct EtcdTls {
    /// The authorities that sign the certificates of etcd.
    pub authority: Vec<u8>,
    /// What the client shows, if etcd demands that.
    pub identity: Option<EtcdIdentity>,
    /// The name in the certificate of etcd, if it is not the host of the endpoint.
    pub server_name: Option<String>,
}

/// The certificate of a client, PEM.
#[derive(Clone)]
pub struct EtcdIdentity {
    /// The certificate chain.
    pub certificate: Vec<u8>,
    /// The key of the certificate.
    pub key: Vec<u8>,
}

impl fmt::Debug for EtcdIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The key stays out of logs.
        f.debug_struct("EtcdIdentity").finish_non_exhaustive()
    }
}

/// A user of etcd.
#[derive(Clone)]
pub struct EtcdUser {
    /// The name.
    pub name: String,
    /// The password.
    pub password: String,
}

impl fmt::Debug for EtcdUser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The password stays out of logs.
        f.debug_struct("EtcdUser").field("name", &self.name).finish_non_exhaustive()
    }
}

impl EtcdOptions {
    /// Options for these members, without TLS, and with the defaults for the rest.
    pub fn new(endpoints: Vec<String>) -> Self {
        EtcdOptions {
            endpoints,
            prefix: "/windlass".to_owned(),
            tls: None,
            user: None,
            deadline: Duration::from_secs(3),
            listed_seconds: 15,
        }
    }

    /// The members as the transport knows them.
    pub(crate) fn transports(&self) -> Result<Vec<Endpoint>, EtcdError> {
        if self.endpoints.is_empty() {
            return Err(bad_address("", "there is no endpoint in it"));
        }
        self.endpoints.iter().map(|address| self.transport(address)).collect()
    }

    fn transport(&self, address: &str) -> Result<Endpoint, EtcdError> {
        check_endpoint(address)?;
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let endpoint = Endpoint::from_shared(format!("{scheme}://{address}"))
            .map_err(|error| bad_address(address, &error.to_string()))?
            // A connection whose other end has vanished is noticed, also when only a watch waits on it.
            .http2_keep_alive_interval(KEEP_ALIVE)
            .keep_alive_timeout(self.deadline)
            .tcp_nodelay(true);
        match &self.tls {
            None => Ok(endpoint),
            Some(tls) => tls.applied_to(endpoint),
        }
    }
}

impl EtcdTls {
    fn applied_to(&self, endpoint: Endpoint) -> Result<Endpoint, EtcdError> {
        let refuse = |problem: String| EtcdError::Tls { problem };
        // An empty list of certificates is accepted by the library, and then nothing is trusted.
        if !self.authority.windows(CERTIFICATE.len()).any(|text| text == CERTIFICATE) {
            return Err(refuse("there is no certificate (PEM) of an authority to trust".to_owned()));
        }
        let mut config = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(&self.authority));
        if let Some(EtcdIdentity { certificate, key }) = &self.identity {
            config = config.identity(Identity::from_pem(certificate, key));
        }
        if let Some(name) = &self.server_name {
            config = config.domain_name(name);
        }
        endpoint.tls_config(config).map_err(|error| refuse(innermost(&error)))
    }
}

impl FromStr for EtcdOptions {
    type Err = EtcdError;

    /// Reads `etcd://HOST:PORT[,HOST:PORT...][/PREFIX]`, or the same with `etcds`.
    fn from_str(url: &str) -> Result<Self, EtcdError> {
        let refuse = |problem: &str| bad_address(url, problem);
        let (scheme, rest) =
            url.split_once("://").ok_or_else(|| refuse("it begins with neither etcd:// nor etcds://"))?;
        let tls = match scheme {
            "etcd" => None,
            "etcds" => Some(EtcdTls::default()),
            _ => return Err(refuse("it begins with neither etcd:// nor etcds://")),
        };
        let (endpoints, path) = rest.split_once('/').unwrap_or((rest, ""));
        if endpoints.contains('@') {
            // Command lines are visible to all users of a machine.
            return Err(refuse("a user and a password do not belong into the address"));
        }
        let mut options = EtcdOptions::new(endpoints.split(',').map(str::to_owned).collect());
        options.tls = tls;
        options.endpoints.iter().try_for_each(|endpoint| check_endpoint(endpoint))?;
        let path = path.trim_end_matches('/');
        if !path.is_empty() {
            options.prefix = format!("/{path}");
        }
        Ok(options)
    }
}

/// Checks that an endpoint is `HOST:PORT`.
fn check_endpoint(address: &str) -> Result<(), EtcdError> {
    let uri: Option<Uri> = format!("http://{address}").parse().ok();
    let authority = uri.as_ref().and_then(Uri::authority).filter(|whole| whole.as_str() == address);
    match authority.and_then(|authority| authority.port_u16()) {
        Some(port) if port != 0 && !address.contains('@') => Ok(()),
        _ => Err(bad_address(address, "an endpoint has the form HOST:PORT, or [HOST]:PORT for IPv6")),
    }
}

fn bad_address(address: &str, problem: &str) -> EtcdError {
    EtcdError::Address { address: address.to_owned(), problem: problem.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(url: &str) -> String {
        url.parse::<EtcdOptions>().unwrap_err().to_string()
    }

    #[test]
    fn addresses_are_read() {
        let cases: [(&str, &[&str], &str, bool); 5] = [
            ("etcd://h:2379", &["h:2379"], "/windlass", false),
            ("etcd://h:2379/", &["h:2379"], "/windlass", false),
            ("etcd://a:1,b:2,[::1]:3/x/y/", &["a:1", "b:2", "[::1]:3"], "/x/y", false),
            ("etcds://h:2379", &["h:2379"], "/windlass", true),
            ("etcds://h:2379/team", &["h:2379"], "/team", true),
        ];
        for (url, endpoints, prefix, tls) in cases {
            let options: EtcdOptions = url.parse().unwrap();
            assert_eq!(options.endpoints, endpoints, "{url}");
            assert_eq!((options.prefix.as_str(), options.tls.is_some()), (prefix, tls), "{url}");
        }
    }

    #[test]
    fn bad_addresses_are_explained() {
        for (url, expected) in [
            ("localhost:2379", "it begins with neither etcd:// nor etcds://"),
            ("http://h:2379", "it begins with neither etcd:// nor etcds://"),
            ("etcd://h", "HOST:PORT"),
            ("etcd://h:0", "HOST:PORT"),
            ("etcd://", "HOST:PORT"),
            ("etcd://a:1,,b:2", "HOST:PORT"),
            ("etcd://a:1 ,b:2", "HOST:PORT"),
            ("etcd://root:secret@h:1", "do not belong into the address"),
        ] {
            assert!(problem(url).contains(expected), "{url}: {}", problem(url));
        }
    }

    #[test]
    fn tls_without_an_authority_is_refused_before_anybody_is_called() {
        let mut options: EtcdOptions = "etcds://h:2379".parse().unwrap();
        let error = options.transports().unwrap_err().to_string();
        assert!(error.contains("no certificate (PEM)"), "{error}");
        options.tls = Some(EtcdTls { authority: b"nonsense".to_vec(), ..EtcdTls::default() });
        assert!(options.transports().is_err());
    }

    #[test]
    fn secrets_stay_out_of_logs() {
        let mut options = EtcdOptions::new(vec!["h:1".to_owned()]);
        options.user = Some(EtcdUser { name: "root".to_owned(), password: "hush".to_owned() });
        let identity = EtcdIdentity { certificate: Vec::new(), key: b"hush".to_vec() };
        options.tls = Some(EtcdTls { identity: Some(identity), ..EtcdTls::default() });
        let shown = format!("{options:?}");
        assert!(!shown.contains("hush") && !shown.contains("104, 117"), "{shown}");
    }
}
