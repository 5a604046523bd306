//! A request as the proxy sees it: what it is called, so that the same one is found again in another run.

use bytes::Bytes;
use http::{HeaderMap, Method, Uri};
use serde_json::Value;

/// A request, read whole.
#[derive(Clone, Debug)]
pub struct Call {
    pub method: Method,
    pub uri: Uri,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Call {
    pub fn json(&self) -> Option<Value> {
        serde_json::from_slice(&self.body).ok()
    }

    fn query(&self, key: &str) -> Option<&str> {
        let pairs = self.uri.query()?.split('&');
        pairs.filter_map(|pair| pair.split_once('=')).find(|(name, _)| *name == key).map(|(_, value)| value)
    }

    pub fn is_watch(&self) -> bool {
        matches!(self.query("watch"), Some("1" | "true"))
    }

    /// Only tried, not meant.
    pub fn is_trial(&self) -> bool {
        self.query("dryRun").is_some() || self.json().is_some_and(|body| body["dryRun"][0] == "All")
    }

    /// Whether it would change something.
    pub fn is_write(&self) -> bool {
        let reviews = self.uri.path().ends_with("reviews");
        self.method != Method::GET && !self.is_trial() && !reviews
    }

    /// `list pods`, `watch pods`, `try delete services`, `patch deployments/scale`: no name, since names of pods are
    /// made anew each time.
    pub fn title(&self) -> String {
        let parts: Vec<&str> = self.uri.path().trim_matches('/').split('/').collect();
        let rest = match parts.first() {
            Some(&"api") => parts.get(2..),
            Some(&"apis") => parts.get(3..),
            _ => None,
        };
        let Some(rest) = rest.filter(|rest| !rest.is_empty()) else {
            return format!("discover {}", self.uri.path());
        };
        let of = match rest {
            ["namespaces", _, rest @ ..] if !rest.is_empty() => rest,
            other => other,
        };
        let resource = match of {
            [resource, _, subresource, ..] => format!("{resource}/{subresource}"),
            [resource, ..] => (*resource).to_owned(),
            [] => String::new(),
        };
        let verb = match self.method.as_str() {
            "GET" if self.is_watch() => "watch",
            "GET" if of.len() > 1 => "get",
            "GET" if self.query("continue").is_some() => "page",
            "GET" => "list",
            "DELETE" => "delete",
            "PATCH" => "patch",
            "POST" => "create",
            _ => "put",
        };
        let trial = if self.is_trial() { "try " } else { "" };
        format!("{trial}{verb} {resource}")
    }
}
