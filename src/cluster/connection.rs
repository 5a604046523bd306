//! Where a cluster is, how its certificate is checked, and as whom: everything that a client is made from.

use std::path::PathBuf;
use std::time::Duration;

use http::{HeaderName, HeaderValue, Uri};

use super::exec::Plugin;
use super::proxy::Proxy;
use super::secret::Secret;

/// A resolved connection. Its `Debug` shows no secret.
#[derive(Clone, Debug)]
pub struct Connection {
    /// The context's name; `in-cluster` in a pod without kubeconfig, and empty where `--server` alone says it all.
    pub context: String,
    /// The namespace, a valid DNS label, never empty.
    pub namespace: String,
    /// The API server's address as people read it, without user, password or trailing slash.
    pub server: String,
    /// How long a single unary request may take; none is as long as it takes. Not applied by the client itself:
    /// whoever sends a request sets it around the request, and never around a watch.
    pub request_timeout: Option<Duration>,
    /// Whether the server must not be asked to compress its answers.
    pub disable_compression: bool,
    /// The API server's address: http or https, with a path where a gateway has one in front.
    pub url: Uri,
    /// What the server's certificate is checked against.
    pub trust: Trust,
    /// The name to expect in the server's certificate, where it is not the URL's host.
    pub server_name: Option<String>,
    /// The proxy that all connections go through.
    pub proxy: Option<Proxy>,
    /// What each request proves its sender with.
    pub credential: Credential,
    /// The client certificate, which comes on top of the credential.
    pub identity: Option<Identity>,
    /// The headers by which requests act as somebody else.
    pub impersonation: Vec<(HeaderName, HeaderValue)>,
}

/// What a server's certificate is checked against.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// The machine's own authorities.
    System,
    /// The authorities of a PEM bundle, and no others.
    Authorities(Vec<u8>),
    /// Nothing: `insecure-skip-tls-verify`.
    Anyone,
}

/// What a request proves its sender with.
#[derive(Clone, Debug)]
pub enum Credential {
    /// Nothing, or a client certificate alone.
    None,
    /// A user's name and password.
    Basic { username: String, password: Secret },
    /// A bearer token.
    Token(Secret),
    /// A file that holds a bearer token and may be rewritten at any time, as a pod's is. `fallback` is used while
    /// the file cannot be read.
    TokenFile { path: PathBuf, fallback: Option<Secret> },
    /// A program that hands out tokens or client certificates.
    Plugin(Box<Plugin>),
}

/// A client certificate and its key, as PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The chain, the client's own certificate first.
    pub certificate: Vec<u8>,
    /// The private key: PKCS#8, PKCS#1 or SEC1.
    pub key: Secret,
    /// Where the pair comes from, for errors: `user "jane" in /home/jane/.kube/config`.
    pub origin: String,
}
