//! The API server's own record of every request it answered.

use serde_json::{Value, json};

use crate::control_plane::{ControlPlane, PATIENCE, PAUSE};
use crate::error::Error;
use crate::random;
use crate::users::COMPONENTS;

/// How much of each request is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AuditLevel {
    /// Who asked what with which outcome, and what was sent with every delete, and with every other
    /// write that no part of the control plane made.
    Requests,
    /// What was sent and what was answered, for everything.
    Everything,
}

/// The file for `--audit-policy-file`.
pub(crate) fn policy(level: AuditLevel) -> Value {
    let rules = match level {
        AuditLevel::Everything => json!([{ "level": "RequestResponse" }]),
        AuditLevel::Requests => json!([
            { "level": "Request", "verbs": ["delete", "deletecollection"] },
            // The controllers' many status updates would only make the log long.
            { "level": "Metadata", "userGroups": [COMPONENTS, "system:serviceaccounts"] },
            { "level": "Request", "verbs": ["create", "update", "patch"] },
            { "level": "Metadata" },
        ]),
    };
    json!({
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "rules": rules,
    })
}

/// One answered request. A watch is recorded twice: when it starts and when it ends.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditEvent {
    json: Value,
}

impl AuditEvent {
    /// The whole event, as `audit.k8s.io/v1` has it.
    #[must_use]
    pub fn json(&self) -> &Value {
        &self.json
    }

    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`.
    #[must_use]
    pub fn verb(&self) -> &str {
        self.text("/verb")
    }

    /// `ResponseComplete`, or `ResponseStarted` for a watch that has begun.
    #[must_use]
    pub fn stage(&self) -> &str {
        self.text("/stage")
    }

    /// Who asked.
    #[must_use]
    pub fn user(&self) -> &str {
        self.text("/user/username")
    }

    /// What the client calls itself.
    #[must_use]
    pub fn user_agent(&self) -> &str {
        self.text("/userAgent")
    }

    /// Path and query.
    #[must_use]
    pub fn uri(&self) -> &str {
        self.text("/requestURI")
    }

    /// The resource's API group; empty for the core group.
    #[must_use]
    pub fn group(&self) -> &str {
        self.text("/objectRef/apiGroup")
    }

    /// The resource's plural name; empty for a request that is not about one.
    #[must_use]
    pub fn resource(&self) -> &str {
        self.text("/objectRef/resource")
    }

    /// `scale`, `status` and so on; empty for the object itself.
    #[must_use]
    pub fn subresource(&self) -> &str {
        self.text("/objectRef/subresource")
    }

    /// The object's namespace.
    #[must_use]
    pub fn namespace(&self) -> &str {
        self.text("/objectRef/namespace")
    }

    /// The object's name; empty for a list, a watch, or a delete of a collection.
    #[must_use]
    pub fn name(&self) -> &str {
        self.text("/objectRef/name")
    }

    /// The HTTP status of the answer.
    #[must_use]
    pub fn status(&self) -> Option<u64> {
        self.json.pointer("/responseStatus/code")?.as_u64()
    }

    /// What was sent, where the log records it.
    #[must_use]
    pub fn request(&self) -> Option<&Value> {
        self.json.get("requestObject")
    }

    /// What was answered; recorded only with [`Builder::audit_log_with_bodies`](crate::Builder::audit_log_with_bodies).
    #[must_use]
    pub fn response(&self) -> Option<&Value> {
        self.json.get("responseObject")
    }

    /// The uid that a delete insisted on.
    #[must_use]
    pub fn uid_precondition(&self) -> Option<&str> {
        self.request()?.pointer("/preconditions/uid")?.as_str()
    }

    /// Whether the write was only tried.
    #[must_use]
    pub fn is_dry_run(&self) -> bool {
        let sent = self.request().and_then(|request| request.get("dryRun")).is_some_and(|dry| !dry.is_null());
        sent || self.uri().contains("dryRun=All")
    }

    fn text(&self, pointer: &str) -> &str {
        self.json.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
    }
}

impl ControlPlane {
    /// Every request that the API server has answered so far, in the order of its log; needs
    /// [`Builder::audit_log`](crate::Builder::audit_log).
    ///
    /// A request is logged just after it is answered. This makes one of its own and waits until that is
    /// in the log (and leaves it out), so that what was answered before the call is there.
    ///
    /// # Errors
    /// Without an audit log; when the API server does not answer.
    pub fn audit_events(&self) -> Result<Vec<AuditEvent>, Error> {
        let own = self.own("an audit log")?;
        let parsed = |log: &str| parse(log).map_err(|source| Error::Json { what: "the audit log".to_owned(), source });
        let marker = format!("{MARKER}{}", random::hex(8)?);
        self.kubectl(&["get", "--raw", &marker]).ok()?;
        self.wait_until("the audit log to catch up", PATIENCE, PAUSE, || {
            let events = parsed(&own.audit_log()?)?;
            let caught_up = events.iter().any(|event| event.uri() == marker);
            Ok(caught_up.then(|| events.into_iter().filter(|event| !event.uri().starts_with(MARKER)).collect()))
        })
    }
}

/// A request that changes nothing and that no client makes.
const MARKER: &str = "/version?marker=";

/// The events of a log, one JSON document a line. The last line may still be being written.
pub(crate) fn parse(log: &str) -> Result<Vec<AuditEvent>, serde_json::Error> {
    let complete = log.rfind('\n').map_or("", |end| &log[..end]);
    complete.lines().map(|line| serde_json::from_str(line).map(|json| AuditEvent { json })).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_still_being_written_is_left_for_later() {
        let log = "{\"verb\":\"delete\",\"requestObject\":{\"preconditions\":{\"uid\":\"u\"}}}\n{\"verb\":";
        let events = parse(log).unwrap();
        assert_eq!(events.len(), 1);
        assert_eq!((events[0].verb(), events[0].uid_precondition()), ("delete", Some("u")));
        assert!(!events[0].is_dry_run());
    }
}
