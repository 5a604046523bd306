//! Why a server cannot be reached, in one line that says what to look at.

use std::error::Error;
use std::fmt;
use std::io::ErrorKind;
use std::time::Duration;

use rustls::{AlertDescription, CertificateError};

use super::credential::CredentialError;
use super::tls::TlsError;

/// Why there is no connection.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ConnectError {
    /// No credential could be had, so nothing was sent.
    #[error(transparent)]
    Credential(#[from] CredentialError),

    /// Certificates or keys of our own side cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),

    /// The server, or the proxy on the way to it, did not take the connection.
    #[error("cannot reach {server}{}: {why}; {}", through(.proxy.as_ref()), why.advice(proxy.is_some()))]
    Unreachable { server: String, proxy: Option<String>, why: Why },
}

fn through(proxy: Option<&String>) -> String {
    proxy.map(|proxy| format!(" through {proxy}")).unwrap_or_default()
}

/// A certificate's name as people write it; rustls has it as in `DnsName("example.org")` or `IpAddress(10.0.0.1)`.
fn plain(name: &str) -> String {
    let inside = name.split_once('(').map_or(name, |(_, rest)| rest.trim_end_matches(')'));
    inside.trim_matches('"').to_owned()
}

/// Names for a message: a certificate may be for dozens.
fn listed(names: &[String]) -> String {
    const SHOWN: usize = 4;
    match names.len().checked_sub(SHOWN) {
        Some(more @ 1..) => format!("{} and {more} more", names[..SHOWN].join(", ")),
        _ => names.join(", "),
    }
}

/// What happened to the connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// Nothing listens there.
    Refused,
    /// The name is not known.
    NoSuchHost,
    /// Nothing was heard in time.
    TimedOut(Duration),
    /// There is no way there.
    NoRoute,
    /// The other side hung up.
    Closed,
    /// The other side does not speak TLS.
    NotTls,
    /// The certificate is signed by nobody known.
    UnknownAuthority,
    /// The certificate is for other names.
    WrongName(Vec<String>),
    /// The certificate's time is over.
    Expired,
    /// The certificate's time is yet to come.
    NotYetValid,
    /// The certificate cannot be checked.
    BadCertificate(String),
    /// The server does not take our certificate.
    ClientCertificateRefused,
    /// The proxy wants a login.
    ProxyLogin,
    /// The proxy does not let us through.
    ProxyRefused,
    /// Anything else, in the words of the system.
    Other(String),
}

impl fmt::Display for Why {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let untrusted = "certificate is not trusted";
        match self {
            Self::Refused => formatter.write_str("connection refused"),
            Self::NoSuchHost => formatter.write_str("no such host"),
            Self::TimedOut(time) => write!(formatter, "timed out after {}s", time.as_secs()),
            Self::NoRoute => formatter.write_str("no route to host"),
            Self::Closed => formatter.write_str("connection closed by the other side"),
            Self::NotTls => formatter.write_str("what answers there does not speak TLS"),
            Self::UnknownAuthority => write!(formatter, "{untrusted}: it is signed by an unknown authority"),
            Self::WrongName(names) if names.is_empty() => write!(formatter, "{untrusted}: it is for another name"),
            Self::WrongName(names) => write!(formatter, "{untrusted}: it is for {}", listed(names)),
            Self::Expired => write!(formatter, "{untrusted}: it has expired"),
            Self::NotYetValid => write!(formatter, "{untrusted}: it is not valid yet"),
            Self::BadCertificate(problem) => write!(formatter, "{untrusted}: {problem}"),
            Self::ClientCertificateRefused => formatter.write_str("it refuses the client certificate"),
            Self::ProxyLogin => formatter.write_str("the proxy wants a user name and password"),
            Self::ProxyRefused => formatter.write_str("the proxy does not let the connection through"),
            Self::Other(words) => formatter.write_str(words),
        }
    }
}

impl Why {
    /// What to look at.
    const fn advice(&self, by_proxy: bool) -> &'static str {
        match self {
            Self::NotTls => "check the cluster's server, which may have to begin with http://",
            Self::UnknownAuthority => "check the cluster's certificate-authority",
            Self::WrongName(_) => "check the cluster's server, or set its tls-server-name",
            Self::Expired | Self::NotYetValid => "check this machine's clock and the server's certificate",
            Self::BadCertificate(_) => "check the server's certificate and the cluster's certificate-authority",
            Self::ClientCertificateRefused => "check the user's client-certificate",
            Self::ProxyLogin => "write them into the proxy's URL, as in http://USER:PASSWORD@HOST:PORT",
            _ if by_proxy => "check the proxy (proxy-url in the kubeconfig, or HTTPS_PROXY and NO_PROXY)",
            Self::NoSuchHost => "check the cluster's server, and the VPN or DNS that knows it",
            Self::TimedOut(_) | Self::NoRoute => {
                "check the cluster's server, and the network, VPN or firewall on the way"
            }
            _ => "check the cluster's server, and that the API server runs",
        }
    }

    /// Finds the cause among an error's causes.
    pub(super) fn of(error: &(dyn Error + 'static)) -> Self {
        let mut words = error.to_string();
        let mut next = Some(error);
        while let Some(error) = next {
            if let Some(why) = Self::known(error) {
                return why;
            }
            words = error.to_string();
            // What an `io::Error` wraps is no source of it, but it is what has happened.
            let wrapped = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
            next = wrapped.map(|inner| inner as &(dyn Error + 'static)).or_else(|| error.source());
        }
        Self::Other(words)
    }

    fn known(error: &(dyn Error + 'static)) -> Option<Self> {
        if let Some(error) = error.downcast_ref::<rustls::Error>() {
            return Self::of_tls(error);
        }
        if let Some(error) = error.downcast_ref::<std::io::Error>() {
            return match error.kind() {
                ErrorKind::ConnectionRefused => Some(Self::Refused),
                ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => Some(Self::NoRoute),
                ErrorKind::ConnectionReset
                | ErrorKind::ConnectionAborted
                | ErrorKind::BrokenPipe
                | ErrorKind::UnexpectedEof => Some(Self::Closed),
                _ => None,
            };
        }
        // hyper-util keeps the types of its connectors' errors to itself.
        match error.to_string().as_str() {
            "dns error" => Some(Self::NoSuchHost),
            "tunnel error: proxy authorization required" => Some(Self::ProxyLogin),
            "tunnel error: unsuccessful" => Some(Self::ProxyRefused),
            "tunnel error: unexpected end of file" => Some(Self::Closed),
            _ => None,
        }
    }

    fn of_tls(error: &rustls::Error) -> Option<Self> {
        match error {
            rustls::Error::InvalidCertificate(error) => Some(match error {
                CertificateError::UnknownIssuer => Self::UnknownAuthority,
                CertificateError::NotValidForName => Self::WrongName(Vec::new()),
                CertificateError::NotValidForNameContext { presented, .. } => {
                    Self::WrongName(presented.iter().map(|name| plain(name)).collect())
                }
                CertificateError::Expired | CertificateError::ExpiredContext { .. } => Self::Expired,
                CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => Self::NotYetValid,
                error => Self::BadCertificate(error.to_string()),
            }),
            rustls::Error::InvalidMessage(_) => Some(Self::NotTls),
            rustls::Error::AlertReceived(
                AlertDescription::BadCertificate
                | AlertDescription::UnknownCA
                | AlertDescription::CertificateUnknown
                | AlertDescription::CertificateExpired
                | AlertDescription::CertificateRequired,
            ) => Some(Self::ClientCertificateRefused),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(why: Why) -> String {
        ConnectError::Unreachable { server: "https://h".to_owned(), proxy: None, why }.to_string()
    }

    #[test]
    fn a_certificate_for_other_names_says_which() {
        let names = |names: &[&str]| Why::WrongName(names.iter().map(|name| plain(name)).collect());
        assert_eq!(
            said(names(&["DnsName(\"kubernetes\")", "IpAddress(10.0.0.1)"])),
            "cannot reach https://h: certificate is not trusted: it is for kubernetes, 10.0.0.1; check the cluster's \
             server, or set its tls-server-name"
        );
        let error = said(names(&["a", "b", "c", "d", "e", "f"]));
        assert!(error.contains("it is for a, b, c, d and 2 more;"), "{error}");
        assert!(said(names(&[])).contains("it is for another name;"));
    }

    #[test]
    fn every_trouble_says_what_to_look_at() {
        let cases = [
            (Why::NoRoute, "no route to host; check the cluster's server, and the network, VPN or firewall on the way"),
            (
                Why::Expired,
                "certificate is not trusted: it has expired; check this machine's clock and the server's certificate",
            ),
            (
                Why::NotYetValid,
                "certificate is not trusted: it is not valid yet; check this machine's clock and the server's \
                 certificate",
            ),
            (
                Why::BadCertificate("it is bad".to_owned()),
                "certificate is not trusted: it is bad; check the server's certificate and the cluster's \
                 certificate-authority",
            ),
            (Why::ClientCertificateRefused, "it refuses the client certificate; check the user's client-certificate"),
            (Why::Other("odd".to_owned()), "odd; check the cluster's server, and that the API server runs"),
        ];
        for (why, expected) in cases {
            assert_eq!(said(why), format!("cannot reach https://h: {expected}"));
        }
    }
}
