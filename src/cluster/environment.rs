//! What the process was started with, as a value, so that resolving a connection is a pure function of it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::path::PathBuf;

/// The folder in which a pod finds its service account's token, certificate authority and namespace.
/// Source: client-go `rest.InClusterConfig`.
const SERVICE_ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// Environment variables, home folder and terminal of this process.
#[derive(Clone, Default)]
pub struct Environment {
    /// Environment variables by name.
    pub variables: BTreeMap<OsString, OsString>,
    /// The user's home folder, where `.kube/config` is looked for.
    pub home: Option<PathBuf>,
    /// Whether a person can be asked: a credential plugin may only read stdin when it is a terminal.
    pub stdin_is_terminal: bool,
    /// Whether a line is being completed: nothing may be printed then, and nobody asked, also by a credential plugin.
    pub is_completing: bool,
    /// The folder of a pod's service account.
    pub service_account: PathBuf,
}

impl Environment {
    /// That of this process.
    #[must_use]
    pub fn of_this_process() -> Self {
        Self {
            variables: std::env::vars_os().collect(),
            home: std::env::home_dir().filter(|home| !home.as_os_str().is_empty()),
            stdin_is_terminal: std::io::stdin().is_terminal(),
            is_completing: false,
            service_account: SERVICE_ACCOUNT.into(),
        }
    }

    /// A variable's value; an empty one counts as unset, as Go programs have it.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<&OsString> {
        self.variables.get(&OsString::from(name)).filter(|value| !value.is_empty())
    }

    /// A variable's value as text; none when it is unset, empty or not text.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.variable(name).and_then(|value| value.to_str())
    }
}
