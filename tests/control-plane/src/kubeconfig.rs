//! Kubeconfig files: one cluster, one user, one context.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use crate::certificates::CertifiedKey;
use crate::error::{Doing as _, Error};

/// Where a cluster is and how its certificate is checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// The API server's URL.
    pub server: String,
    /// The authority that signed its certificate; `None` leaves it to the system's.
    pub ca_pem: Option<String>,
    /// The name to expect in the certificate, where that is not the URL's host.
    pub tls_server_name: Option<String>,
    /// Whether the certificate is not checked at all.
    pub insecure: bool,
}

/// What a user proves to be themself with.
#[derive(Clone)]
pub enum Credential {
    /// A bearer token.
    Token(String),
    /// A client certificate.
    Certificate(CertifiedKey),
}

/// A kubeconfig as a value: change what a test needs changed, then [`write`](Self::write) it.
#[derive(Clone)]
pub struct Kubeconfig {
    /// The cluster; a test's own proxy goes into `endpoint.server`.
    pub endpoint: Endpoint,
    /// The name of the context, and of the cluster.
    pub context: String,
    /// The name of the user's entry.
    pub user: String,
    /// The user's credential; `None` makes a user without any.
    pub credential: Option<Credential>,
    /// The context's namespace; `None` leaves the key out, `Some("")` writes an empty one.
    pub namespace: Option<String>,
}

impl Kubeconfig {
    /// The file's text. It is JSON, which is YAML: nothing in it needs an escape of its own.
    #[must_use]
    pub fn text(&self) -> String {
        let mut cluster = Map::new();
        cluster.insert("server".to_owned(), json!(self.endpoint.server));
        if let Some(pem) = &self.endpoint.ca_pem {
            cluster.insert("certificate-authority-data".to_owned(), json!(STANDARD.encode(pem)));
        }
        if let Some(name) = &self.endpoint.tls_server_name {
            cluster.insert("tls-server-name".to_owned(), json!(name));
        }
        if self.endpoint.insecure {
            cluster.insert("insecure-skip-tls-verify".to_owned(), json!(true));
        }
        let user = match &self.credential {
            Some(Credential::Token(token)) => json!({ "token": token }),
            Some(Credential::Certificate(pair)) => json!({
                "client-certificate-data": STANDARD.encode(&pair.certificate_pem),
                "client-key-data": STANDARD.encode(&pair.key_pem),
            }),
            None => json!({}),
        };
        let mut context = Map::new();
        context.insert("cluster".to_owned(), json!(self.context));
        context.insert("user".to_owned(), json!(self.user));
        if let Some(namespace) = &self.namespace {
            context.insert("namespace".to_owned(), json!(namespace));
        }
        let file = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{ "name": self.context, "cluster": cluster }],
            "users": [{ "name": self.user, "user": user }],
            "contexts": [{ "name": self.context, "context": context }],
            "current-context": self.context,
        });
        format!("{file:#}\n")
    }

    /// Writes it to `path`, readable by its owner only.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        write_private(path, &self.text())
    }
}

impl Endpoint {
    /// Reads the only cluster of a kubeconfig that `kubectl config view --raw --minify --flatten -o json` printed.
    pub(crate) fn from_view(view: &Value) -> Option<Self> {
        let cluster = &view["clusters"][0]["cluster"];
        let text = |key: &str| cluster[key].as_str().map(str::to_owned);
        let ca = text("certificate-authority-data").and_then(|data| STANDARD.decode(data).ok());
        Some(Self {
            server: text("server")?,
            ca_pem: ca.and_then(|pem| String::from_utf8(pem).ok()),
            tls_server_name: text("tls-server-name"),
            insecure: cluster["insecure-skip-tls-verify"].as_bool().unwrap_or(false),
        })
    }
}

/// Writes a file that holds a secret.
pub(crate) fn write_private(path: &Path, text: &str) -> Result<(), Error> {
    // A mode is only given to a file that is made: an older one is replaced.
    let _ = fs::remove_file(path);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let written = options.open(path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.doing(|| format!("write {}", path.display()))
}

/// A user's name as a file's name.
pub(crate) fn file_name(user: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || "-_.@".contains(c) { c } else { '_' };
    user.chars().map(safe).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Kubeconfig {
        Kubeconfig {
            endpoint: Endpoint {
                server: "https://127.0.0.1:1".to_owned(),
                ca_pem: Some("ca".to_owned()),
                tls_server_name: None,
                insecure: false,
            },
            context: "here".to_owned(),
            user: "jane".to_owned(),
            credential: Some(Credential::Token("t".to_owned())),
            namespace: Some("web".to_owned()),
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        let view = serde_json::from_str(&example().text()).unwrap();
        assert_eq!(Endpoint::from_view(&view), Some(example().endpoint));
        assert_eq!(view["contexts"][0]["context"]["namespace"], "web");
        assert_eq!(view["users"][0]["user"]["token"], "t");
    }

    #[test]
    fn names_of_users_become_names_of_files() {
        assert_eq!(file_name("system:serviceaccount:a/b"), "system_serviceaccount_a_b");
    }
}
