//! What went through the proxy.

use std::{collections::BTreeMap, time::Instant};

use http::Method;
use serde_json::Value;

use super::{call::Call, fault::Fault};

/// One request.
#[derive(Clone, Debug)]
pub struct Entry {
    /// When it came.
    pub at: Instant,
    /// Its title, and which of that title it is.
    pub key: String,
    pub call: Call,
    pub fault: Option<Fault>,
    /// Whether the server was asked.
    pub forwarded: bool,
    /// What the server answered, whatever the client was told.
    pub code: Option<u16>,
}

impl Entry {
    /// The uid that a write insists on: a precondition of a delete, or in the patch itself.
    pub fn uid(&self) -> Option<String> {
        let body = self.call.json()?;
        let at = if self.call.method == Method::DELETE { "/preconditions/uid" } else { "/metadata/uid" };
        body.pointer(at).and_then(Value::as_str).map(str::to_owned)
    }

    /// A real write that reached the server.
    pub fn has_written(&self) -> bool {
        self.forwarded && self.call.is_write()
    }
}

/// Every request of a run, in the order of arrival.
#[derive(Clone, Debug, Default)]
pub struct Log(pub Vec<Entry>);

impl Log {
    /// How often each fault has struck.
    pub fn faults(&self) -> BTreeMap<Fault, usize> {
        let mut counts = BTreeMap::new();
        for fault in self.0.iter().filter_map(|entry| entry.fault) {
            *counts.entry(fault).or_default() += 1;
        }
        counts
    }

    /// Whether the server was asked for a delete that was meant.
    pub fn has_deleted(&self) -> bool {
        self.0.iter().any(|entry| entry.has_written() && entry.call.method == Method::DELETE)
    }

    /// What is wrong with the deletes, if anything: each names a uid, and none goes to a collection.
    pub fn careless_deletes(&self) -> Vec<String> {
        let deletes = self.0.iter().filter(|entry| entry.call.method == Method::DELETE);
        deletes
            .filter(|entry| entry.uid().is_none() || entry.key.starts_with("delete ") && is_collection(&entry.call))
            .map(|entry| format!("{} {}", entry.call.uri, String::from_utf8_lossy(&entry.call.body)))
            .collect()
    }

    /// One line a request.
    pub fn text(&self) -> String {
        let line = |(index, entry): (usize, &Entry)| {
            let fault = entry.fault.map(|fault| format!(" !{}", fault.name())).unwrap_or_default();
            let code = entry.code.map_or_else(|| "-".to_owned(), |code| code.to_string());
            format!("{index} {} {code}{fault}\n", entry.key)
        };
        self.0.iter().enumerate().map(line).collect()
    }
}

fn is_collection(call: &Call) -> bool {
    // …/namespaces/NS/RESOURCE/NAME
    let parts: Vec<&str> = call.uri.path().split('/').collect();
    let namespaces = parts.iter().position(|part| *part == "namespaces");
    namespaces.is_none_or(|at| parts.len() < at + 4)
}
