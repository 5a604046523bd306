//! What can be wrong with a kubeconfig or a connection flag. Errors name files and fields and never quote what is
//! in them: it may be a token.

use std::path::PathBuf;

use crate::cluster::timeout::NotATimeout;

/// Why no connection follows from kubeconfig and flags.
#[derive(Debug, thiserror::Error)]
pub enum KubeconfigError {
    /// There is nothing to connect to.
    #[error(
        "no kubeconfig found (looked for {}); name one with --kubeconfig FILE or KUBECONFIG=FILE, or a server \
         with --server URL", paths(.looked_for))]
    NoneFound { looked_for: Vec<PathBuf> },

    /// A file that was named is not there.
    #[error("kubeconfig {} does not exist; check {named_by}", path.display())]
    Missing { path: PathBuf, named_by: &'static str },

    /// A file is there and cannot be read.
    #[error("{what} {} cannot be read: {reason}", path.display())]
    Unreadable { what: &'static str, path: PathBuf, reason: String },

    /// A file is neither YAML nor JSON, or no mapping.
    #[error("kubeconfig {0} is not valid YAML{1}; `kubectl config view --kubeconfig={0}` says more", path.display(), at(*line))]
    NotYaml { path: PathBuf, line: Option<u64> },

    /// A kubeconfig is there, but it names no context to use.
    #[error("no current context is set in {}; choose one with --context: {}", paths(.files), names(.known))]
    NoCurrentContext { files: Vec<PathBuf>, known: Vec<String> },

    /// A context, cluster or user that is referred to is not there.
    #[error("{kind} \"{name}\" does not exist{}; {kind}s here: {}", from(.referred_by.as_ref()), names(.known))]
    Unknown { kind: &'static str, name: String, referred_by: Option<String>, known: Vec<String> },

    /// Two entries of one file share a name, and that name is in use.
    #[error("{kind} \"{name}\" is there twice in {}; remove or rename one of them", path.display())]
    Twice { kind: &'static str, name: String, path: PathBuf },

    /// A field that is in use is not what it has to be.
    #[error("{place}: {field} {problem}")]
    Field { place: String, field: String, problem: String },

    /// A flag's value is not what it has to be.
    #[error("{flag} {problem}")]
    Flag { flag: &'static str, problem: String },

    /// `--request-timeout` is no duration.
    #[error("--request-timeout: {0}")]
    Timeout(NotATimeout),
}

impl KubeconfigError {
    /// Whether what was typed is at fault (exit code 2), not a file or the surroundings.
    #[must_use]
    pub const fn is_usage(&self) -> bool {
        matches!(self, Self::Flag { .. } | Self::Timeout(_))
    }
}

/// File names for a message.
fn paths(paths: &[PathBuf]) -> String {
    let shown: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
    if shown.is_empty() { "$KUBECONFIG, ~/.kube/config".to_owned() } else { shown.join(", ") }
}

/// Known names for a message; a kubeconfig may hold hundreds.
fn names(known: &[String]) -> String {
    const SHOWN: usize = 20;
    match known.len() {
        0 => "none".to_owned(),
        count if count > SHOWN => format!("{} and {} more", known[..SHOWN].join(", "), count - SHOWN),
        _ => known.join(", "),
    }
}

fn at(line: Option<u64>) -> String {
    line.map(|line| format!(" (line {line})")).unwrap_or_default()
}

fn from(referred_by: Option<&String>) -> String {
    referred_by.map(|place| format!(" ({place} refers to it)")).unwrap_or_default()
}
