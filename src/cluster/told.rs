//! What `-v` tells of requests and answers: never a body, which may be a Secret's, and of headers never those that
//! prove who sends them.

use std::fmt::Write as _;
use std::time::Duration;

use http::header::{AUTHORIZATION, COOKIE, PROXY_AUTHORIZATION, SET_COOKIE};
use http::{HeaderMap, Method, Request, Response, Uri};
use tower::BoxError;

/// Where request lines go; `-v 6` shows them.
pub const REQUESTS: &str = "kubectl_purge::requests";
/// Where the headers of requests go; `-v 7` shows them.
pub const REQUEST_HEADERS: &str = "kubectl_purge::request_headers";
/// Where the headers of answers go; `-v 8` shows them.
pub const ANSWER_HEADERS: &str = "kubectl_purge::answer_headers";

/// Headers whose values are nobody's business.
const SECRET: [&http::HeaderName; 4] = [&AUTHORIZATION, &PROXY_AUTHORIZATION, &COOKIE, &SET_COOKIE];

/// A request that is about to be sent.
pub(super) struct Told {
    method: Method,
    uri: Uri,
}

impl Told {
    /// Tells its headers; none where nobody listens.
    pub(super) fn of<B>(request: &Request<B>) -> Option<Self> {
        if !tracing::enabled!(target: REQUESTS, tracing::Level::DEBUG) {
            return None;
        }
        let told = Self { method: request.method().clone(), uri: request.uri().clone() };
        if tracing::enabled!(target: REQUEST_HEADERS, tracing::Level::DEBUG) {
            let (method, address) = (&told.method, address(&told.uri));
            tracing::debug!(target: REQUEST_HEADERS, "{method} {address}{}", shown(request.headers()));
        }
        Some(told)
    }

    /// Tells how it was answered.
    pub(super) fn answered<B>(&self, answer: &Result<Response<B>, BoxError>, took: Duration) {
        let (method, address, milliseconds) = (&self.method, address(&self.uri), took.as_millis());
        let Ok(answer) = answer else {
            return tracing::debug!(target: REQUESTS, "{method} {address} no answer in {milliseconds} ms");
        };
        let (status, headers) = (answer.status(), shown(answer.headers()));
        tracing::debug!(target: REQUESTS, "{method} {address} {status} in {milliseconds} ms");
        tracing::debug!(target: ANSWER_HEADERS, "{status}{headers}");
    }
}

/// The address without a name or password in it.
fn address(uri: &Uri) -> String {
    let mut text = uri.scheme_str().map(|scheme| format!("{scheme}://")).unwrap_or_default();
    text.push_str(uri.host().unwrap_or_default());
    if let Some(port) = uri.port_u16() {
        let _ = write!(text, ":{port}");
    }
    text.push_str(uri.path_and_query().map_or("/", |path| path.as_str()));
    text
}

/// One header a line.
fn shown(headers: &HeaderMap) -> String {
    let mut text = String::new();
    for (name, value) in headers {
        let is_secret = SECRET.contains(&name) || value.is_sensitive();
        let value = if is_secret { "<masked>".into() } else { String::from_utf8_lossy(value.as_bytes()) };
        let _ = write!(text, "\n    {name}: {value}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_that_prove_the_sender_are_masked() {
        let mut headers = HeaderMap::new();
        for name in SECRET {
            headers.insert(name, "canary".parse().unwrap());
        }
        headers.insert("accept", "application/json".parse().unwrap());
        let shown = shown(&headers);
        assert!(!shown.contains("canary") && shown.contains("\n    accept: application/json"), "{shown}");
        assert!(shown.contains("authorization: <masked>"), "{shown}");
    }

    #[test]
    fn an_address_is_told_without_its_user() {
        let told = |text: &str| address(&text.parse().unwrap());
        assert_eq!(told("https://me:canary@h:6443/api?limit=5"), "https://h:6443/api?limit=5");
        assert_eq!(told("https://[::1]/api"), "https://[::1]/api");
    }
}
