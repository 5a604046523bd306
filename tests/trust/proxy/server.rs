//! The proxy's side towards the client: connections, and on them requests, each handed on or done wrong.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use bytes::Bytes;
use control_plane::ControlPlane;
use h2::{Reason, RecvStream, SendStream, server::SendResponse};
use http::{Request, Response};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{mpsc, oneshot},
    task::JoinSet,
};
use tokio_rustls::TlsAcceptor;

use super::{
    call::Call,
    events::Events,
    fault::{Answer, Fault, LATE},
    log::{Entry, Log},
    script::{Counts, Moment, Script},
    wire::{Broken, Upstream, acceptor, read},
};

/// After this long an event that waits to change places is let go.
const HELD: Duration = Duration::from_secs(1);

/// What all connections of one proxy have in common.
pub struct Shared {
    script: Script,
    acceptor: TlsAcceptor,
    upstream: Upstream,
    log: Mutex<(Counts, Log)>,
}

impl Shared {
    pub fn new(plane: &ControlPlane, script: Script) -> Self {
        let log = Mutex::default();
        Self { script, acceptor: acceptor(plane), upstream: Upstream::new(plane), log }
    }

    pub fn log(&self) -> Log {
        self.log.lock().unwrap().1.clone()
    }

    /// Writes a request down; its number and its fault.
    fn note(&self, call: &Call) -> (usize, Option<Fault>) {
        let title = call.title();
        let mut log = self.log.lock().unwrap();
        let (index, key) = (log.1.0.len(), log.0.key(&title));
        let fault = self.script.fault(index, &key, &title);
        log.1.0.push(Entry { at: Instant::now(), key, call: call.clone(), fault, forwarded: false, code: None });
        (index, fault)
    }

    fn amend(&self, index: usize, change: impl FnOnce(&mut Entry)) {
        change(&mut self.log.lock().unwrap().1.0[index]);
    }

    /// Lets whoever waits for this moment act first. False where the request is to be forgotten.
    async fn ring(&self, index: usize, moment: Moment) -> bool {
        let Some(bell) = self.script.bell.as_ref().filter(|bell| bell.index == index && bell.moment == moment) else {
            return true;
        };
        let Some(listener) = bell.ring.lock().unwrap().take() else { return true };
        let (go_on, wait) = oneshot::channel();
        listener.send(go_on).is_err() || wait.await.unwrap_or(true)
    }
}

/// What a stream asks of its connection.
enum Ask {
    Close,
    Freeze,
    Goaway,
    GoawayNow,
}

/// Takes connections until it is dropped, and all of them with it.
pub async fn listen(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    while let Ok((tcp, _)) = listener.accept().await {
        connections.spawn(connection(tcp, shared.clone()));
    }
}

async fn connection(tcp: TcpStream, shared: Arc<Shared>) -> Result<(), Broken> {
    tcp.set_nodelay(true)?;
    let tls = shared.acceptor.accept(tcp).await?;
    let mut builder = h2::server::Builder::new();
    builder.initial_window_size(1 << 20).initial_connection_window_size(8 << 20).max_concurrent_streams(250);
    let mut connection = builder.handshake::<_, Bytes>(tls).await?;
    let (asks, mut asked) = mpsc::unbounded_channel();
    let mut streams = JoinSet::new();
    loop {
        tokio::select! {
            ask = asked.recv() => match ask {
                Some(Ask::Goaway) => connection.graceful_shutdown(),
                Some(Ask::GoawayNow) => connection.abrupt_shutdown(Reason::ENHANCE_YOUR_CALM),
                // Nobody looks at the connection any more, and nobody closes it.
                Some(Ask::Freeze) => return std::future::pending().await,
                Some(Ask::Close) | None => return Ok(()),
            },
            accepted = connection.accept() => {
                let Some(accepted) = accepted else { return Ok(()) };
                let (request, respond) = accepted?;
                streams.spawn(stream(request, respond, shared.clone(), asks.clone()));
            }
        }
    }
}

async fn stream(
    request: Request<RecvStream>,
    mut respond: SendResponse<Bytes>,
    shared: Arc<Shared>,
    asks: mpsc::UnboundedSender<Ask>,
) {
    let (parts, body) = request.into_parts();
    let Ok(body) = read(body).await else { return };
    let call = Call { method: parts.method, uri: parts.uri, headers: parts.headers, body };
    let (index, fault) = shared.note(&call);
    if !shared.ring(index, Moment::Arrived).await {
        return std::future::pending().await;
    }
    let ask = |what| drop(asks.send(what));
    match fault {
        Some(Fault::Delay) => tokio::time::sleep(LATE).await,
        Some(Fault::ResetBefore) => return respond.send_reset(Reason::INTERNAL_ERROR),
        Some(Fault::Refused) => return respond.send_reset(Reason::REFUSED_STREAM),
        Some(Fault::CutBefore) => return ask(Ask::Close),
        Some(Fault::Stall) => return std::future::pending().await,
        Some(Fault::Frozen) => return ask(Ask::Freeze),
        Some(Fault::GoawayNow) => return ask(Ask::GoawayNow),
        Some(Fault::Goaway) => ask(Ask::Goaway),
        Some(fault) => {
            if let Some(answer) = fault.answer() {
                return drop(give(&mut respond, answer));
            }
        }
        None => {}
    }
    let mut call = with_pages(call, shared.script.page);
    if fault == Some(Fault::BodyDropped) {
        call.body.clear();
        call.headers.remove("content-type");
        call.headers.remove("content-length");
    }
    shared.amend(index, |entry| entry.forwarded = true);
    // A server that cannot be reached hangs up.
    let Ok(answer) = shared.upstream.send(&call).await else { return ask(Ask::Close) };
    shared.amend(index, |entry| entry.code = Some(answer.status().as_u16()));
    let handed_on = if call.is_watch() {
        hand_on_events(answer, &mut respond, fault).await
    } else {
        let (head, body) = answer.into_parts();
        let Ok(body) = read(body).await else { return ask(Ask::Close) };
        if !shared.ring(index, Moment::Answered).await {
            return std::future::pending().await;
        }
        match fault {
            Some(Fault::ResetAfter) => return respond.send_reset(Reason::INTERNAL_ERROR),
            Some(Fault::CutAfter) => return ask(Ask::Close),
            Some(Fault::StallAfter) => return std::future::pending().await,
            Some(Fault::LateGateway) => {
                let body = "upstream request timeout\n".to_owned();
                let answer = Answer { code: 504, content_type: "text/plain", retry_after: None, body };
                return drop(give(&mut respond, answer));
            }
            _ => hand_on(Response::from_parts(head, body), &mut respond, fault),
        }
    };
    if handed_on.is_err() {
        ask(Ask::Close);
    }
}

/// Answers in the server's place.
fn give(respond: &mut SendResponse<Bytes>, given: Answer) -> Result<(), Broken> {
    let mut answer = Response::builder().status(given.code).header("content-type", given.content_type);
    // What is no header to this library is none to another.
    if let Some(Ok(after)) = given.retry_after.map(|after| http::HeaderValue::from_bytes(after.as_bytes())) {
        answer = answer.header("retry-after", after);
    }
    let mut stream = respond.send_response(answer.body(())?, false)?;
    stream.send_data(Bytes::from(given.body), true)?;
    Ok(())
}

/// Hands an answer on whole, or half of it.
fn hand_on(answer: Response<Bytes>, respond: &mut SendResponse<Bytes>, fault: Option<Fault>) -> Result<(), Broken> {
    let (mut head, body) = answer.into_parts();
    head.headers.remove("content-length");
    if fault == Some(Fault::ContentType) {
        head.headers.insert("content-type", http::HeaderValue::from_static("application/octet-stream"));
    }
    let mut stream = respond.send_response(Response::from_parts(head, ()), false)?;
    match fault {
        Some(Fault::CutBody) => {
            stream.send_data(body.slice(..body.len() / 2), false)?;
            stream.send_reset(Reason::INTERNAL_ERROR);
        }
        Some(Fault::ShortBody) => stream.send_data(body.slice(..body.len() / 2), true)?,
        _ => stream.send_data(body, true)?,
    }
    Ok(())
}

/// Hands the events of a watch on as they come, until either side ends it.
async fn hand_on_events(
    answer: Response<RecvStream>,
    respond: &mut SendResponse<Bytes>,
    fault: Option<Fault>,
) -> Result<(), Broken> {
    let (mut head, mut body) = answer.into_parts();
    head.headers.remove("content-length");
    if fault == Some(Fault::ContentType) {
        head.headers.insert("content-type", http::HeaderValue::from_static("application/octet-stream"));
    }
    let mut stream = respond.send_response(Response::from_parts(head, ()), false)?;
    let mut events = Events::new(fault);
    loop {
        tokio::select! {
            _ = hung_up(&mut stream) => return Ok(()),
            chunk = body.data() => {
                let Some(chunk) = chunk else {
                    stream.send_data(events.let_go(), true)?;
                    return Ok(());
                };
                let chunk = chunk?;
                body.flow_control().release_capacity(chunk.len())?;
                // Begun, and then silent for ever.
                if fault == Some(Fault::StallAfter) {
                    continue;
                }
                let passed = events.pass(chunk);
                stream.send_data(passed.bytes, !passed.goes_on)?;
                if !passed.goes_on {
                    return Ok(());
                }
            }
            () = tokio::time::sleep(HELD), if events.is_holding() => stream.send_data(events.let_go(), false)?,
        }
    }
}

async fn hung_up(stream: &mut SendStream<Bytes>) -> Result<Reason, h2::Error> {
    std::future::poll_fn(|context| stream.poll_reset(context)).await
}

/// A list in pages of the script's size.
fn with_pages(mut call: Call, page: Option<usize>) -> Call {
    if let (Some(page), Some(query)) = (page, call.uri.query()) {
        let pairs: Vec<String> = query
            .split('&')
            .map(|pair| if pair.starts_with("limit=") { format!("limit={page}") } else { pair.to_owned() })
            .collect();
        let path = format!("{}?{}", call.uri.path(), pairs.join("&"));
        let mut parts = call.uri.into_parts();
        parts.path_and_query = Some(path.parse().unwrap());
        call.uri = http::Uri::from_parts(parts).unwrap();
    }
    call
}
