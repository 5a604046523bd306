//! What ends a run before it changes anything, and what to do about it. All the wording is here.

use thiserror::Error;

use crate::{backup::BackupError, cluster::Failure};

/// An error that ends the run with exit code 1.
#[derive(Debug, Error)]
pub enum Fatal {
    #[error("namespace \"{namespace}\" not found in {place}; `kubectl get namespaces` lists those that are there")]
    NoNamespace { namespace: String, place: String },
    #[error(
        "namespace \"{namespace}\" is being deleted as a whole, with everything in it; \
         `kubectl get namespace {namespace} -o yaml` says what holds it"
    )]
    NamespaceTerminating { namespace: String },
    #[error("the server does not know you: {0}; check the context's user, or log in again")]
    Unauthorized(Failure),
    #[error(
        "nothing in namespace \"{namespace}\" may be listed: {failure}; \
         `kubectl auth can-i --list -n {namespace}` says what you may do"
    )]
    Forbidden { namespace: String, failure: Failure },
    #[error(
        "the server would refuse everything in this plan, and nothing was changed: {words}; \
         `kubectl auth can-i --list -n {namespace}` says what you may do"
    )]
    AllRefused { namespace: String, words: String },
    /// What cannot be listed is not called absent.
    #[error("whether there is a {title} in namespace \"{namespace}\" is not known, and nothing was changed: {words}")]
    Unseen { title: String, namespace: String, words: String },
    #[error("the backup could not be written, and nothing was changed: {0}")]
    Backup(#[from] BackupError),
    #[error("cannot look through namespace \"{namespace}\": {failure}")]
    Unreadable { namespace: String, failure: Failure },
}

impl Fatal {
    /// Names the trouble that a failed look stands for.
    #[must_use]
    pub fn of(failure: Failure, namespace: &str) -> Self {
        let namespace = namespace.to_owned();
        match failure.code() {
            Some(401) => Self::Unauthorized(failure),
            Some(403) => Self::Forbidden { namespace, failure },
            _ => Self::Unreadable { namespace, failure },
        }
    }
}
