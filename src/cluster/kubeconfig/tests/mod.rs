//! Kubeconfigs and flags, and what follows from them. Where a test says "as kubectl", kubectl was asked.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod clusters;
mod files;
mod plugins;
mod users;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use clap::Parser as _;

use super::*;
use crate::cluster::connection::{Credential, Trust};
use crate::cluster::secret::Secret;

/// What must not appear in any message.
const CANARY: &str = "c4n4ry";

/// A folder with kubeconfigs, and an environment that knows nothing but them.
struct Desk {
    folder: PathBuf,
    environment: Environment,
}

impl Desk {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("kubectl-purge-desk-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        let environment = Environment { home: Some(folder.join("home")), ..Environment::default() };
        Self { folder, environment }
    }

    /// A desk with one kubeconfig, named by KUBECONFIG.
    fn with(kubeconfig: &str) -> Self {
        Self::new().file("config", kubeconfig).set("KUBECONFIG", "$/config")
    }

    /// Writes a file; `$` in it stands for the folder.
    fn file(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        let path = self.folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    fn set(mut self, name: &str, value: &str) -> Self {
        let value = value.replace('$', &self.folder.display().to_string());
        self.environment.variables.insert(name.into(), OsString::from(value));
        self
    }

    /// As if this process ran in a pod of namespace `pod-ns`.
    fn in_pod(mut self) -> Self {
        self.environment.service_account = self.folder.join("sa");
        self.file("sa/token", "pod-token\n")
            .file("sa/namespace", "pod-ns\n")
            .file("sa/ca.crt", "pod-ca")
            .set("KUBERNETES_SERVICE_HOST", "10.96.0.1")
            .set("KUBERNETES_SERVICE_PORT", "443")
    }

    fn on_a_terminal(mut self) -> Self {
        self.environment.stdin_is_terminal = true;
        self
    }

    fn resolve(&self, arguments: &str) -> Result<Connection, KubeconfigError> {
        #[derive(clap::Parser)]
        struct Command {
            #[command(flatten)]
            connection: ConnectionFlags,
        }
        let folder = self.folder.display().to_string();
        let words = arguments.split(' ').filter(|word| !word.is_empty());
        let words = words.map(|word| word.replace('$', &folder).replace('_', " "));
        let command = Command::try_parse_from(std::iter::once("purge".to_owned()).chain(words)).unwrap();
        resolve(&command.connection, &self.environment)
    }

    fn ok(&self, arguments: &str) -> Connection {
        self.resolve(arguments).unwrap_or_else(|error| panic!("{arguments}: {error}"))
    }

    /// The error's words, with `$` for the folder.
    fn error(&self, arguments: &str) -> String {
        let error = self.resolve(arguments).expect_err(arguments);
        let debugged = format!("{error} {error:?}");
        assert!(!debugged.contains(CANARY), "{debugged}");
        error.to_string().replace(&self.folder.display().to_string(), "$")
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// A kubeconfig with one context `here`, whose cluster and user are given as YAML flow mappings.
fn config(cluster: &str, user: &str) -> String {
    format!(
        "current-context: here\n\
         contexts: [{{name: here, context: {{cluster: c, user: u, namespace: web}}}}]\n\
         clusters: [{{name: c, cluster: {cluster}}}]\n\
         users: [{{name: u, user: {user}}}]\n"
    )
}

const PLAIN: &str = "{server: 'https://api:6443'}";

fn token(connection: &Connection) -> &str {
    match &connection.credential {
        Credential::Token(token) => token.expose(),
        other => panic!("{other:?}"),
    }
}
