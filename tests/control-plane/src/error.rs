//! What can go wrong while a control plane is built, started or spoken to; all the wording is here.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

use crate::component::Component;
use crate::existing::KUBECONFIG_VARIABLE;

/// Why a control plane could not do what was asked of it.
#[derive(thiserror::Error)]
pub enum Error {
    /// There is no Go toolchain to build the components with.
    #[error(
        "the control plane is built with Go, and no `go` was found: install Go {needed} or newer, \
         or name a cluster that may be thrown away with {KUBECONFIG_VARIABLE}=/path/to/kubeconfig"
    )]
    GoMissing {
        /// The oldest version that will do, such as `1.26`.
        needed: String,
    },

    /// The Go toolchain found cannot build the components.
    #[error(
        "the control plane needs Go {needed} or newer to be built, and this is {found}: install Go {needed}, \
         or name a cluster that may be thrown away with {KUBECONFIG_VARIABLE}=/path/to/kubeconfig"
    )]
    GoTooOld {
        /// The oldest version that will do, such as `1.26`.
        needed: String,
        /// What `go` says of itself.
        found: String,
    },

    /// `go` ran and failed.
    #[error("building the control plane failed ({status}); the end of go's output:\n{output}")]
    BuildFailed {
        /// How `go` ended.
        status: ExitStatus,
        /// The last lines of what it printed.
        output: String,
    },

    /// A component ended although nobody had stopped it.
    #[error("{component} ended by itself ({status}); the end of its log:\n{log}")]
    Died {
        /// Which one.
        component: Component,
        /// How it ended.
        status: ExitStatus,
        /// The last lines of its log.
        log: String,
    },

    /// Something that was waited for did not come true in time.
    #[error("waited {} s for {what}, in vain{}", .waited.as_secs_f64(), hint(.log))]
    NotInTime {
        /// What was waited for.
        what: String,
        /// How long.
        waited: Duration,
        /// The last lines of a log that may explain it, or nothing.
        log: String,
    },

    /// A `kubectl` that was expected to succeed did not.
    #[error("kubectl {arguments} failed{}: {stderr}", .code.map(|code| format!(" ({code})")).unwrap_or_default())]
    Kubectl {
        /// The command line after `kubectl`.
        arguments: String,
        /// Its exit status; `None` when a signal ended it or it could not be started.
        code: Option<i32>,
        /// What it printed on stderr.
        stderr: String,
    },

    /// Output that should have been JSON was not.
    #[error("{what} is not the JSON expected: {source}")]
    Json {
        /// Where the text came from.
        what: String,
        /// What the parser says.
        source: serde_json::Error,
    },

    /// Only a control plane of our own can do this; the one in use was named by the environment.
    #[error(
        "{what} needs a control plane of our own, and {KUBECONFIG_VARIABLE} names an existing cluster: unset it to run this"
    )]
    NeedsOwn {
        /// What was asked for.
        what: String,
    },

    /// No such user was declared to the builder.
    #[error("no user {user:?} was declared with Builder::user; declared are: {}", .declared.join(", "))]
    UnknownUser {
        /// The name asked for.
        user: String,
        /// The names there are.
        declared: Vec<String>,
    },

    /// The cluster that the environment names cannot be used.
    #[error("{KUBECONFIG_VARIABLE} names {}, which cannot be used: {message}", .path.display())]
    BadKubeconfig {
        /// The file named.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },

    /// A certificate could not be made.
    #[error("could not make a certificate: {0}")]
    Certificate(#[from] rcgen::Error),

    /// A file, folder, socket or process could not be handled.
    #[error("could not {doing}: {source}")]
    Io {
        /// The attempt, as a verb phrase.
        doing: String,
        /// What the system said.
        source: io::Error,
    },
}

/// The same words: a test that fails shows its error in this form, and a log on one line is no help.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl Error {
    /// Adds the end of a log to an error that has room for one.
    pub(crate) fn with_log(self, log: String) -> Self {
        match self {
            Self::NotInTime { what, waited, .. } => Self::NotInTime { what, waited, log },
            other => other,
        }
    }
}

fn hint(log: &str) -> String {
    if log.is_empty() { String::new() } else { format!("; the end of the log:\n{log}") }
}

/// Says what was being tried when the system refused.
pub(crate) trait Doing<T> {
    /// Wraps the error; `doing` is a verb phrase such as "create /tmp/x".
    fn doing(self, doing: impl FnOnce() -> String) -> Result<T, Error>;
}

impl<T, E: Into<io::Error>> Doing<T> for Result<T, E> {
    fn doing(self, doing: impl FnOnce() -> String) -> Result<T, Error> {
        self.map_err(|source| Error::Io { doing: doing(), source: source.into() })
    }
}
