//! One request to the API server: bounded in time, retried only where that is safe, its errors as data.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{Method, Request, StatusCode, header};
use http_body_util::BodyExt as _;
use kube::client::Body;
use serde::Deserialize;
use thiserror::Error;
use tokio::time::{Instant, sleep, timeout};

use super::{Cluster, bound::TooLarge};

/// A request that the API server, or the way to it, did not answer as asked.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Failure {
    /// The server's `Status`: its HTTP code and its own words.
    #[error("{message}")]
    Api {
        code: u16,
        reason: String,
        message: String,
        /// The server's `Retry-After`.
        retry_after: Option<Duration>,
    },
    /// Nothing like an answer: refused, reset, closed half-way.
    #[error("the connection to the server failed: {0}")]
    Transport(String),
    /// No answer in time.
    #[error("the server did not answer within {}s", .0.as_secs_f64())]
    Timeout(Duration),
    /// An answer that is not what an API server says: a proxy's HTML page, a cut body.
    #[error("the answer is not from a Kubernetes API server: {0}")]
    Nonsense(String),
    /// An answer of a size that no API server sends, or one that goes on for longer than it may.
    #[error("the answer was not read to its end: {0}")]
    TooLarge(String),
}

impl Failure {
    /// The HTTP code of the server's answer, where there was one.
    #[must_use]
    pub const fn code(&self) -> Option<u16> {
        match self {
            Self::Api { code, .. } => Some(*code),
            _ => None,
        }
    }

    /// 404 in the API server's own words: not there.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Api { code: 404, reason, .. } if reason == "NotFound")
    }

    /// 404 without a `Status`: the API server serves nothing under that path, or it is not the API server who says so.
    #[must_use]
    pub fn is_unserved(&self) -> bool {
        self.code() == Some(404) && !self.is_not_found()
    }

    /// 401 or 403: not allowed.
    #[must_use]
    pub fn is_forbidden(&self) -> bool {
        matches!(self.code(), Some(401 | 403))
    }

    /// 409: a precondition did not hold, or somebody was faster.
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        self.code() == Some(409)
    }

    /// 410: the resourceVersion or the continue token is too old.
    #[must_use]
    pub fn is_expired(&self) -> bool {
        self.code() == Some(410)
    }

    /// Whether the same request may well succeed a moment later. A webhook that is down answers 500.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Api { code, .. } => matches!(code, 429 | 500 | 502 | 503 | 504),
            Self::Transport(_) | Self::Timeout(_) | Self::Nonsense(_) => true,
            Self::TooLarge(_) => false,
        }
    }
}

/// How much trouble a request may take before it is given up.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// Until the head of the answer, each time.
    pub answer: Duration,
    /// For all tries together; none begins after it.
    pub total: Duration,
}

impl Patience {
    /// No more of it than what is left until a deadline. What has been decided is tried once all the same: first with
    /// time for a slow answer, later only with time for a prompt one, since much may be left to be tried.
    fn until(self, deadline: Option<std::time::Instant>, now: std::time::Instant) -> Self {
        let Some(deadline) = deadline else { return self };
        let over = now.saturating_duration_since(deadline);
        let least = if over < OVERTIME { LAST_ANSWER } else { PROMPT_ANSWER };
        let left = deadline.saturating_duration_since(now);
        Self { answer: self.answer.min(left.max(least)), total: self.total.min(left) }
    }

    /// While a person waits for the plan: an API that does not answer within seconds is unseen.
    pub const PLAN: Self = Self { answer: Duration::from_secs(4), total: Duration::from_millis(1500) };
    /// While the run goes on: long enough for an API server to restart.
    pub const RUN: Self = Self { answer: Duration::from_secs(15), total: Duration::from_secs(30) };
}

/// What a request gets when the time for everything together is over, for so long after that; and what it gets then.
const LAST_ANSWER: Duration = Duration::from_secs(5);
const OVERTIME: Duration = Duration::from_secs(15);
const PROMPT_ANSWER: Duration = Duration::from_millis(500);

/// How long an internal error of the server is taken for a passing one.
const INTERNAL_ERROR: Duration = Duration::from_secs(5);

/// Silence in the middle of an answer that is taken for a broken connection.
const BODY_SILENCE: Duration = Duration::from_secs(10);

/// When an answer that has begun must have come to its end: who sends a byte now and then is never silent, and a run
/// that has a deadline is not to be held beyond it. What was asked late has time for a slow answer all the same.
fn end_of_answer(deadline: Instant, now: Instant) -> Instant {
    let over = now.saturating_duration_since(deadline);
    deadline.max(now + if over < OVERTIME { BODY_SILENCE } else { LAST_ANSWER })
}

/// A request in parts, so that it can be sent again.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) accept: &'static str,
    pub(super) content_type: &'static str,
    pub(super) body: Vec<u8>,
}

pub(super) const JSON: &str = "application/json";

impl Call {
    pub(super) fn get(path: String) -> Self {
        Self { method: Method::GET, path, accept: JSON, content_type: JSON, body: Vec::new() }
    }

    pub(super) fn accept(mut self, accept: &'static str) -> Self {
        self.accept = accept;
        self
    }

    pub(super) fn request<B>(&self, body: impl FnOnce(Vec<u8>) -> B) -> Result<Request<B>, Failure> {
        let mut request = Request::builder().method(&self.method).uri(&self.path).header(header::ACCEPT, self.accept);
        if !self.body.is_empty() {
            request = request.header(header::CONTENT_TYPE, self.content_type);
        }
        request.body(body(self.body.clone())).map_err(|error| Failure::Transport(error.to_string()))
    }
}

/// `metav1.Status`, as much of it as is told on.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Status {
    kind: String,
    message: String,
    reason: String,
}

/// What the API server says of a path under which it serves nothing. Source: `k8s.io/apiserver`, by way of Go's
/// `http.NotFound`; other servers written in Go say the same.
const UNSERVED: &[u8] = b"404 page not found";

impl Cluster {
    /// Sends, and sends again while the failure is a passing one and patience lasts. Only for calls that may be
    /// repeated: reads, deletes that carry a uid, patches that set an absolute value.
    ///
    /// `read` takes the answer in; what it does not know as an API server's is asked for again too.
    pub(super) async fn ask<T>(
        &self,
        call: &Call,
        patience: Patience,
        read: impl Fn(&[u8]) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let begun = Instant::now();
        let patience = Patience { answer: self.request_timeout.unwrap_or(patience.answer), ..patience };
        let total = patience.until(self.deadline, begun.into_std()).total;
        let mut pause = Duration::from_millis(100);
        loop {
            let sent = Instant::now();
            let limit = patience.until(self.deadline, sent.into_std()).answer;
            let answer = self.send_once(call, limit).await;
            match &answer {
                Ok(_) | Err(Failure::Api { .. }) => self.outages.answered(Instant::now().into_std()),
                Err(Failure::Transport(_)) => self.outages.lost(Instant::now().into_std()),
                Err(Failure::Timeout(_)) => self.outages.lost(sent.into_std()),
                Err(Failure::Nonsense(_) | Failure::TooLarge(_)) => {}
            }
            let failure = match answer.and_then(|bytes| read(&bytes)) {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            let asked = match &failure {
                Failure::Api { retry_after: Some(asked), .. } => *asked,
                _ => Duration::ZERO,
            };
            let wait = pause.max(asked);
            // A webhook that is down answers so, and mostly stays down.
            let total = if failure.code() == Some(500) { total.min(INTERNAL_ERROR) } else { total };
            if !failure.is_passing() || begun.elapsed() + wait > total {
                return Err(failure);
            }
            tracing::debug!(method = %call.method, path = %call.path, %failure, "trying again in {wait:?}");
            sleep(wait).await;
            pause = (pause * 2).min(Duration::from_secs(2));
        }
    }

    async fn send_once(&self, call: &Call, limit: Duration) -> Result<Bytes, Failure> {
        let request = call.request(Body::from)?;
        let response = timeout(limit, self.client.send(request))
            .await
            .map_err(|_| Failure::Timeout(limit))?
            .map_err(|error| Failure::Transport(root_cause(&error)))?;
        let (head, mut body) = response.into_parts();
        // Nobody chose which kinds are listed, so that some are deprecated is no news to anybody.
        for warning in head.headers.get_all(header::WARNING) {
            if call.method != Method::GET {
                self.warnings.add(&String::from_utf8_lossy(warning.as_bytes()));
            }
        }
        let end = self.deadline.map(|deadline| end_of_answer(deadline.into(), Instant::now()));
        let silence = BODY_SILENCE.min(limit);
        let mut bytes = BytesMut::new();
        loop {
            let left = end.map_or(silence, |end| end.saturating_duration_since(Instant::now()));
            match timeout(left.min(silence), body.frame()).await {
                Err(_) if left < silence => {
                    return Err(Failure::TooLarge("the time for everything was over before it".to_owned()));
                }
                Err(_) => return Err(Failure::Timeout(silence)),
                Ok(None) => break,
                Ok(Some(Err(error))) => return Err(unread(&error)),
                Ok(Some(Ok(frame))) => {
                    if let Ok(data) = frame.into_data() {
                        bytes.extend_from_slice(&data);
                    }
                }
            }
        }
        if head.status.is_success() {
            return Ok(bytes.freeze());
        }
        Err(api_failure(head.status, &head.headers, &bytes))
    }
}

/// The server's answer to a request that it did not grant.
pub(super) fn api_failure(status: StatusCode, headers: &http::HeaderMap, body: &[u8]) -> Failure {
    let retry_after = headers
        .get(header::RETRY_AFTER)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.trim().parse().ok())
        // Whoever asks for more than a day will not be heard anyway, and no sum of times must overflow.
        .map(|seconds: u64| Duration::from_secs(seconds.min(86_400)));
    let (message, reason) = match serde_json::from_slice::<Status>(body) {
        Ok(status) if status.kind == "Status" && !status.message.is_empty() => (short(status.message), status.reason),
        _ if status == StatusCode::NOT_FOUND && body.trim_ascii() != UNSERVED => {
            return Failure::Nonsense("404 Not Found, and not in its words".to_owned());
        }
        _ => {
            let text = String::from_utf8_lossy(&body[..body.len().min(200)]);
            let line = text.lines().next().unwrap_or_default().trim().to_owned();
            let plain = !line.is_empty() && !line.starts_with('<') && !line.starts_with('{');
            (if plain { line } else { status.to_string() }, String::new())
        }
    };
    Failure::Api { code: status.as_u16(), reason, message, retry_after }
}

/// The server's words up to a length that people read. An admission webhook may say anything, of any length, and it is
/// repeated for each object that it refuses.
pub(super) fn short(mut words: String) -> String {
    const LONGEST: usize = 2000;
    if let Some((end, _)) = words.char_indices().nth(LONGEST) {
        words.truncate(end);
        words.push_str("...");
    }
    words
}

/// Why an answer could not be read to its end.
fn unread(error: &(dyn std::error::Error + 'static)) -> Failure {
    match TooLarge::of(error) {
        Some(limit) => Failure::TooLarge(limit.to_string()),
        None => Failure::Transport(root_cause(error)),
    }
}

/// The innermost cause, which names the trouble; the outer ones only repeat that a request failed.
pub(super) fn root_cause(error: &(dyn std::error::Error + 'static)) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    // rustls has an address of its own manual to add, which is no help to anybody here.
    match innermost.downcast_ref::<std::io::Error>().map(std::io::Error::kind) {
        Some(std::io::ErrorKind::UnexpectedEof) => "the other side hung up".to_owned(),
        _ => innermost.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_api_failure_speaks_in_the_servers_words() {
        let mut headers = http::HeaderMap::new();
        headers.insert(header::RETRY_AFTER, "30".parse().unwrap());
        let body = br#"{"kind":"Status","message":"pods is forbidden","reason":"Forbidden","code":403}"#;
        let failure = api_failure(StatusCode::FORBIDDEN, &headers, body);
        assert_eq!(failure.to_string(), "pods is forbidden");
        assert!(failure.is_forbidden() && !failure.is_passing());
        assert!(matches!(failure, Failure::Api { retry_after: Some(pause), .. } if pause.as_secs() == 30));
    }

    #[test]
    fn a_connection_that_was_hung_up_is_told_in_our_words() {
        let words = "peer closed connection without sending TLS close_notify: https://docs.rs/rustls/";
        let error = std::io::Error::new(std::io::ErrorKind::UnexpectedEof, words);
        assert_eq!(root_cause(&error), "the other side hung up");
        let refused = std::io::Error::new(std::io::ErrorKind::ConnectionRefused, "connection refused");
        assert_eq!(root_cause(&refused), "connection refused");
    }

    #[test]
    fn only_the_api_server_can_say_that_something_is_not_there() {
        let failure = |body: &str| api_failure(StatusCode::NOT_FOUND, &http::HeaderMap::new(), body.as_bytes());
        let status = failure(r#"{"kind":"Status","message":"pods \"a\" not found","reason":"NotFound","code":404}"#);
        assert!(status.is_not_found() && !status.is_unserved());
        let unserved = failure("404 page not found\n");
        assert!(!unserved.is_not_found() && unserved.is_unserved());
        for page in
            ["", "<html>404</html>", "default backend - 404", r#"{"message":"no Route matched with those values"}"#]
        {
            assert!(matches!(failure(page), Failure::Nonsense(_)), "{page}");
        }
    }

    #[test]
    fn no_retry_after_is_longer_than_a_clock_can_count() {
        let mut headers = http::HeaderMap::new();
        headers.insert(header::RETRY_AFTER, "18446744073709551615".parse().unwrap());
        let failure = api_failure(StatusCode::TOO_MANY_REQUESTS, &headers, b"");
        let Failure::Api { retry_after: Some(pause), .. } = failure else { panic!("{failure:?}") };
        assert!(Duration::MAX.checked_sub(pause).is_some_and(|rest| rest > Duration::from_secs(60)));
    }

    #[test]
    fn a_deadline_leaves_one_try_and_in_the_end_a_short_one() {
        let now = std::time::Instant::now();
        let seconds = Duration::from_secs;
        let deadline = now + seconds(100);
        // So many seconds before it, or after it.
        let until = |left: i64| {
            let now = now + seconds(u64::try_from(100 - left).unwrap());
            let patience = Patience::RUN.until(Some(deadline), now);
            (patience.answer, patience.total)
        };
        assert_eq!(until(100), (Patience::RUN.answer, Patience::RUN.total));
        assert_eq!(until(20), (seconds(15), seconds(20)));
        assert_eq!(until(2), (LAST_ANSWER, seconds(2)));
        assert_eq!(until(-10), (LAST_ANSWER, Duration::ZERO));
        assert_eq!(until(-16), (PROMPT_ANSWER, Duration::ZERO));
        assert_eq!(Patience::RUN.until(None, now).total, Patience::RUN.total);
    }

    #[test]
    fn words_without_end_are_cut() {
        let body = serde_json::json!({ "kind": "Status", "reason": "Forbidden", "message": "é".repeat(256 << 10) });
        let failure = api_failure(StatusCode::FORBIDDEN, &http::HeaderMap::new(), body.to_string().as_bytes());
        assert_eq!(failure.to_string(), format!("{}...", "é".repeat(2000)));
    }

    #[test]
    fn a_page_of_html_is_not_repeated_to_the_user() {
        let failure = api_failure(StatusCode::BAD_GATEWAY, &http::HeaderMap::new(), b"<html><body>oops</body></html>");
        assert_eq!(failure.to_string(), "502 Bad Gateway");
        assert!(failure.is_passing());
    }

    #[test]
    fn an_answer_that_has_begun_ends_with_the_run_or_soon_after() {
        let now = Instant::now();
        let seconds = Duration::from_secs;
        assert_eq!(end_of_answer(now + seconds(100), now), now + seconds(100));
        assert_eq!(end_of_answer(now + seconds(2), now), now + BODY_SILENCE);
        assert_eq!(end_of_answer(now, now + seconds(5)), now + seconds(5) + BODY_SILENCE);
        assert_eq!(end_of_answer(now, now + seconds(20)), now + seconds(20) + LAST_ANSWER);
    }
}
