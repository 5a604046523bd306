//! The client: one HTTP/2 connection that all requests share, or a few HTTP/1.1 ones where it must be.

use std::error::Error;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::header::{AUTHORIZATION, PROXY_AUTHORIZATION, USER_AGENT};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, Uri};
use hyper::body::{Frame, Incoming};
use hyper_util::client::legacy;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::client::Body;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tower::{BoxError, Layer as _, Service};
use tower_http::decompression::DecompressionLayer;

use super::bound::Bounds;
use super::connection::Connection;
use super::credential::{Signature, Signer};
use super::dial::{Dialer, Link, Offer};
use super::told::Told;
pub use super::unreachable::{ConnectError, Why};

/// How many requests an HTTP/1.1 server gets at once, each on a connection of its own. Watches come on top.
const HTTP1_CONNECTIONS: usize = 8;

/// How much a server may send of one answer, and of all of them, before it has to wait for us. Lists are large, and
/// the default of 64 KiB costs a round trip each time it is used up.
const STREAM_WINDOW: u32 = 4 << 20;
const CONNECTION_WINDOW: u32 = 32 << 20;

/// How long an HTTP/2 connection may be silent before the other side is asked whether it is still there, and how
/// long it has to answer: a connection cut by a sleeping laptop or a firewall would stay open for good otherwise.
const PING_INTERVAL: Duration = Duration::from_secs(15);
const PING_TIMEOUT: Duration = Duration::from_secs(10);

/// How often a request is sent again that the server did not look at.
const RESENT: usize = 5;

/// Connects, and makes a client of that connection. What is broken later is connected anew by itself, when the next
/// request is sent. Watches and lists share the connection; there is no timeout on requests, and none is repeated but
/// one refused with 401 while a fresh credential can be had, and one that the server says it has not looked at.
///
/// # Errors
/// When the server cannot be reached within four seconds, its certificate is not trusted, or no credential can be had.
pub async fn connect(connection: &Connection) -> Result<kube::Client, ConnectError> {
    let signer = Signer::new(connection).await?;
    let dialer = Dialer::new(connection, signer.certificate())?;
    let first = dialer.dial(Offer::Both).await?;
    let http2 = first.is_http2();
    let exchange = Exchange {
        forwarding_login: dialer.forwarding_login(),
        headers: headers(connection),
        slots: (!http2).then(|| Arc::new(Semaphore::new(HTTP1_CONNECTIONS))),
        // The first certificate may be the plugin's, and so a change already.
        pool: Mutex::new(Pool::new(Connector::new(dialer, first, http2), signer.certificate().changes())),
        signer,
    };
    let service = kube::client::middleware::BaseUriLayer::new(connection.url.clone()).layer(Shared(Arc::new(exchange)));
    let compressed = !connection.disable_compression && !is_near(connection);
    let decompression = DecompressionLayer::new().no_br().no_deflate().no_zstd().gzip(compressed);
    let service = Bounds::default().layer(decompression.layer(service));
    Ok(kube::Client::new(service, connection.namespace.clone()))
}

/// The connection error among the causes of a failed request, where the connection was what failed.
#[must_use]
pub fn connect_error(error: &kube::Error) -> Option<&ConnectError> {
    let mut next: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        next = error.source();
    }
    None
}

/// The headers that all requests have in common.
fn headers(connection: &Connection) -> HeaderMap {
    let mut headers: HeaderMap = connection.impersonation.iter().cloned().collect();
    let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
    let agent = format!("kubectl-purge/{} ({os}/{arch})", env!("CARGO_PKG_VERSION"));
    headers.extend(HeaderValue::try_from(agent).map(|agent| (USER_AGENT, agent)));
    headers
}

/// Whether compressing would only cost time: on loopback, a list of 1.8 MB takes 20 ms plain and 40 ms packed.
fn is_near(connection: &Connection) -> bool {
    let host = connection.url.host().unwrap_or_default().trim_matches(['[', ']']);
    let loopback = host == "localhost" || host.parse().is_ok_and(|address: IpAddr| address.is_loopback());
    loopback && connection.proxy.is_none()
}

fn client(connector: Connector) -> legacy::Client<Connector, Body> {
    let mut builder = legacy::Client::builder(TokioExecutor::new());
    builder.timer(TokioTimer::new()).pool_timer(TokioTimer::new());
    if connector.offer == Offer::Http2 {
        // With HTTP/2 alone the pool keeps a single connection, and waits for it rather than open a second one.
        builder.http2_only(true).pool_idle_timeout(None);
        builder.http2_initial_stream_window_size(STREAM_WINDOW);
        builder.http2_initial_connection_window_size(CONNECTION_WINDOW);
        builder.http2_keep_alive_interval(PING_INTERVAL).http2_keep_alive_timeout(PING_TIMEOUT);
        builder.http2_keep_alive_while_idle(true);
    } else {
        builder.pool_max_idle_per_host(HTTP1_CONNECTIONS);
    }
    builder.build(connector)
}

/// Hands out the connection that was opened first, then opens new ones.
#[derive(Clone)]
struct Connector {
    dialer: Arc<Dialer>,
    first: Arc<Mutex<Option<Link>>>,
    offer: Offer,
}

impl Connector {
    fn new(dialer: Dialer, first: Link, http2: bool) -> Self {
        let offer = if http2 { Offer::Http2 } else { Offer::Http1 };
        Self { dialer: Arc::new(dialer), first: Arc::new(Mutex::new(Some(first))), offer }
    }
}

impl Service<Uri> for Connector {
    type Response = Link;
    type Error = ConnectError;
    type Future = BoxFuture<'static, Result<Link, ConnectError>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), ConnectError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _address: Uri) -> Self::Future {
        let this = self.clone();
        Box::pin(async move {
            let first = this.first.lock().unwrap_or_else(PoisonError::into_inner).take();
            match first {
                Some(link) => Ok(link),
                None => this.dialer.dial(this.offer).await,
            }
        })
    }
}

/// The open connections, all of one client certificate.
struct Pool {
    certificate: u64,
    client: legacy::Client<Connector, Body>,
    connector: Connector,
}

impl Pool {
    fn new(connector: Connector, certificate: u64) -> Self {
        Self { certificate, client: client(connector.clone()), connector }
    }
}

/// Signs a request, sends it, and returns the answer.
struct Exchange {
    pool: Mutex<Pool>,
    signer: Signer,
    headers: HeaderMap,
    forwarding_login: Option<HeaderValue>,
    /// Where connections are bounded: one for each.
    slots: Option<Arc<Semaphore>>,
}

impl Exchange {
    async fn send(&self, request: Request<Body>) -> Result<Response<Answer>, BoxError> {
        let (parts, mut body) = request.into_parts();
        let mut signature = self.signer.sign().await?;
        let (mut renewed, mut resent) = (false, 0);
        loop {
            let copy = body.try_clone();
            let sent = self.send_once(Request::from_parts(parts.clone(), body), &signature).await;
            let Some(copy) = copy else { return sent };
            match &sent {
                Ok(response) if response.status() == StatusCode::UNAUTHORIZED && !renewed => {
                    let Some(fresh) = self.signer.renew(&signature).await? else { return sent };
                    (signature, renewed) = (fresh, true);
                }
                Err(error) if resent < RESENT && was_not_processed(&**error) => resent += 1,
                _ => return sent,
            }
            body = copy;
        }
    }

    /// The client of the certificate that is presented now; with another one, all connections are made anew.
    fn client(&self) -> legacy::Client<Connector, Body> {
        let mut pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        let certificate = self.signer.certificate().changes();
        if pool.certificate != certificate {
            *pool = Pool::new(pool.connector.clone(), certificate);
        }
        pool.client.clone()
    }

    async fn send_once(&self, mut request: Request<Body>, signature: &Signature) -> Result<Response<Answer>, BoxError> {
        let headers = request.headers_mut();
        for (name, value) in &self.headers {
            headers.append(name, value.clone());
        }
        if let Some(signature) = &signature.header {
            headers.insert(AUTHORIZATION, signature.clone());
        }
        if let Some(login) = &self.forwarding_login {
            headers.insert(PROXY_AUTHORIZATION, login.clone());
        }
        let slot = match &self.slots {
            Some(slots) => Some(Arc::clone(slots).acquire_owned().await?),
            None => None,
        };
        // A watch would hold its slot for minutes.
        let slot = slot.filter(|_| !is_watch(request.uri()));
        let told = Told::of(&request);
        let begun = Instant::now();
        let response = self.client().request(request).await.map_err(BoxError::from);
        if let Some(told) = told {
            told.answered(&response, begun.elapsed());
        }
        Ok(response?.map(|body| Answer { body, _slot: slot }))
    }
}

/// Whether the server has said that it did nothing about a request, so that even a delete may be sent again: it was
/// closing the connection when the request arrived, as API servers do to spread their clients, or refused the stream.
/// Source: RFC 9113, sections 6.8 and 8.7.
fn was_not_processed(error: &(dyn Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(error) = error.downcast_ref::<h2::Error>() {
            let reason = error.reason();
            return error.is_remote()
                && (error.is_go_away() && reason == Some(h2::Reason::NO_ERROR)
                    || error.is_reset() && reason == Some(h2::Reason::REFUSED_STREAM));
        }
        next = error.source();
    }
    false
}

/// Whether a request asks for changes, and not for what there is.
pub(super) fn is_watch(uri: &Uri) -> bool {
    uri.query().is_some_and(|query| query.split('&').any(|pair| matches!(pair, "watch=true" | "watch=1")))
}

/// An answer's body; with the last of it, its connection is free for another request.
struct Answer {
    body: Incoming,
    _slot: Option<OwnedSemaphorePermit>,
}

impl hyper::body::Body for Answer {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> hyper::body::SizeHint {
        self.body.size_hint()
    }
}

/// The exchange as the service that kube's client wants.
#[derive(Clone)]
struct Shared(Arc<Exchange>);

impl Service<Request<Body>> for Shared {
    type Response = Response<Answer>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Response<Answer>, BoxError>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let exchange = Arc::clone(&self.0);
        Box::pin(async move { exchange.send(request).await })
    }
}
