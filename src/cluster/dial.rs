//! Opening connections: TCP without delay, through a proxy where there is one, with TLS where the server wants it.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderValue, Uri};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_rustls::{DefaultServerNameResolver, FixedServerNameResolver, HttpsConnector, ResolveServerName};
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::client::legacy::connect::{Connected, Connection as Described, HttpConnector};
use rustls::ClientConfig;
use tower::{BoxError, Service, ServiceExt as _};

use super::connection::Connection;
use super::proxy::{Proxy, Scheme};
use super::tls::{self, ClientCertificate};
use super::unreachable::{ConnectError, Why};

/// How long a connection may take to come about: name, TCP, proxy and TLS together.
const PATIENCE: Duration = Duration::from_secs(4);

/// How often the system asks whether the other side of a silent connection is still there, as Go does.
const TCP_KEEPALIVE: Duration = Duration::from_secs(30);

/// Which protocols the server may choose from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Offer {
    /// HTTP/2 before HTTP/1.1.
    Both,
    /// HTTP/2 alone.
    Http2,
    /// HTTP/1.1 alone.
    Http1,
}

/// Opens connections to one server.
pub(super) struct Dialer {
    url: Uri,
    server: String,
    proxy: Option<Proxy>,
    resolver: Arc<dyn ResolveServerName + Send + Sync>,
    /// None where neither server nor proxy wants TLS.
    tls: Option<ClientConfig>,
}

impl Dialer {
    /// Prepares to connect; sends nothing.
    pub(super) fn new(connection: &Connection, certificate: Arc<ClientCertificate>) -> Result<Self, ConnectError> {
        let secure_proxy = connection.proxy.as_ref().is_some_and(|proxy| proxy.scheme == Scheme::Https);
        let encrypted = connection.url.scheme_str() == Some("https") || secure_proxy;
        let tls = encrypted.then(|| tls::client_config(&connection.trust, certificate)).transpose()?;
        let resolver: Arc<dyn ResolveServerName + Send + Sync> = match &connection.server_name {
            Some(name) => Arc::new(FixedServerNameResolver::new(tls::server_name(name)?)),
            None => Arc::new(DefaultServerNameResolver::default()),
        };
        let (url, server) = (connection.url.clone(), connection.server.clone());
        Ok(Self { url, server, proxy: connection.proxy.clone(), resolver, tls })
    }

    /// The login for a proxy that forwards single requests instead of whole connections.
    pub(super) fn forwarding_login(&self) -> Option<HeaderValue> {
        self.proxy.as_ref().filter(|proxy| self.is_forwarded(proxy)).and_then(login)
    }

    /// Opens one connection.
    pub(super) async fn dial(&self, offer: Offer) -> Result<Link, ConnectError> {
        let why = match tokio::time::timeout(PATIENCE, self.open(offer)).await {
            Ok(Ok(link)) => return Ok(link),
            Ok(Err(error)) => Why::of(&*error),
            Err(_) => Why::TimedOut(PATIENCE),
        };
        let proxy = self.proxy.as_ref().map(ToString::to_string);
        Err(ConnectError::Unreachable { server: self.server.clone(), proxy, why })
    }

    async fn open(&self, offer: Offer) -> Result<Link, BoxError> {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_keepalive(Some(TCP_KEEPALIVE));
        tcp.set_connect_timeout(Some(PATIENCE));
        let Some(proxy) = &self.proxy else {
            return self.secure(tcp, offer, &self.url).await;
        };
        let scheme = if proxy.scheme == Scheme::Https { "https" } else { "http" };
        let address: Uri = format!("{scheme}://{}:{}", proxy.host, proxy.port).parse()?;
        // Like Go, an http proxy is asked for single http requests, and for whole connections otherwise.
        if self.is_forwarded(proxy) {
            let link = self.secure(tcp, Offer::Http1, &address).await?;
            return Ok(Link { forwarded: true, ..link });
        }
        match proxy.scheme {
            Scheme::Socks5 => {
                let socks = SocksV5::new(address, tcp);
                let socks = match &proxy.login {
                    Some((user, password)) => socks.with_auth(user.clone(), password.expose().to_owned()),
                    None => socks,
                };
                self.secure(socks, offer, &self.url).await
            }
            Scheme::Http => self.secure(tunnel(proxy, address, tcp), offer, &self.url).await,
            Scheme::Https => {
                let outer = self.https(tcp, Offer::Http1)?;
                self.secure(tunnel(proxy, address, outer), offer, &self.url).await
            }
        }
    }

    /// Connects to an address, with TLS where it is https.
    async fn secure<C>(&self, connector: C, offer: Offer, address: &Uri) -> Result<Link, BoxError>
    where
        C: Service<Uri> + Send + 'static,
        C::Response: Described + Read + Write + Send + Unpin + 'static,
        C::Future: Send + 'static,
        C::Error: Into<BoxError>,
    {
        if address.scheme_str() != Some("https") {
            let stream = connector.oneshot(address.clone()).await.map_err(Into::into)?;
            return Ok(Link { stream: Box::new(stream), forwarded: false });
        }
        let stream = self.https(connector, offer)?.oneshot(address.clone()).await?;
        Ok(Link { stream: Box::new(stream), forwarded: false })
    }

    fn https<C>(&self, connector: C, offer: Offer) -> Result<HttpsConnector<C>, BoxError> {
        let mut config = self.tls.clone().ok_or("TLS is not set up")?;
        config.alpn_protocols = match offer {
            Offer::Both => vec![b"h2".to_vec(), b"http/1.1".to_vec()],
            Offer::Http2 => vec![b"h2".to_vec()],
            Offer::Http1 => vec![b"http/1.1".to_vec()],
        };
        Ok(HttpsConnector::new(connector, Arc::new(config), false, Arc::clone(&self.resolver)))
    }

    fn is_forwarded(&self, proxy: &Proxy) -> bool {
        self.url.scheme_str() == Some("http") && proxy.scheme != Scheme::Socks5
    }
}

fn tunnel<C>(proxy: &Proxy, address: Uri, connector: C) -> Tunnel<C> {
    let tunnel = Tunnel::new(address, connector);
    match login(proxy) {
        Some(login) => tunnel.with_auth(login),
        None => tunnel,
    }
}

fn login(proxy: &Proxy) -> Option<HeaderValue> {
    let (user, password) = proxy.login.as_ref()?;
    let pair = STANDARD.encode(format!("{user}:{}", password.expose()));
    let mut header = HeaderValue::try_from(format!("Basic {pair}")).ok()?;
    header.set_sensitive(true);
    Some(header)
}

/// An open connection, whatever it goes through.
pub(super) struct Link {
    stream: Box<dyn Stream>,
    /// Whether a proxy reads the requests, and so has to be told the whole URL.
    forwarded: bool,
}

trait Stream: Described + Read + Write + Send + Unpin {}

impl<S: Described + Read + Write + Send + Unpin> Stream for S {}

impl Link {
    /// Whether both sides have agreed on HTTP/2.
    pub(super) fn is_http2(&self) -> bool {
        self.stream.connected().is_negotiated_h2()
    }
}

impl Described for Link {
    fn connected(&self) -> Connected {
        self.stream.connected().proxy(self.forwarded)
    }
}

impl Read for Link {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl Write for Link {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, slices)
    }
}
