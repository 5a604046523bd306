//! Credential plugins: programs that hand out tokens or client certificates.
//! Source: client-go `plugin/pkg/client/auth/exec`, and the API group client.authentication.k8s.io.

use std::ffi::OsString;
use std::fmt;
use std::io::{ErrorKind, IsTerminal as _, Read as _};
use std::process::{Child, Command, Stdio};

use jiff::Timestamp;
use serde_json::{Value, json};

use super::connection::Identity;
use super::secret::Secret;
use crate::output::relay;

/// A plugin as the kubeconfig describes it.
#[derive(Clone)]
pub struct Plugin {
    /// Where it is described: `user "jane" in /home/jane/.kube/config`.
    pub origin: String,
    /// The program: a path, or a name that is looked up in PATH.
    pub command: OsString,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Environment variables on top of our own.
    pub variables: Vec<(String, Secret)>,
    /// The version of ExecCredential it speaks: that of client.authentication.k8s.io.
    pub api_version: String,
    /// What to tell somebody who does not have it.
    pub install_hint: Option<String>,
    /// Whether it may ask on the terminal. Otherwise its stdin is empty: it must not eat what is piped to us.
    pub interactive: bool,
    /// Whether its words are kept from our stderr.
    pub is_quiet: bool,
    /// What it is told of the cluster, where it wants to know.
    pub cluster: Option<Value>,
}

/// Arguments and variables may hold secrets.
impl fmt::Debug for Plugin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Plugin").field("command", &self.command).finish_non_exhaustive()
    }
}

/// What a plugin handed out: a token, a client certificate, or both.
#[derive(Clone, Debug)]
pub struct Issued {
    /// A bearer token.
    pub token: Option<Secret>,
    /// A client certificate.
    pub identity: Option<Identity>,
    /// When they end; none is when the process does.
    pub expires: Option<Timestamp>,
}

/// Why a plugin handed out nothing. Never holds what it wrote to stdout.
#[derive(Clone, Debug, thiserror::Error)]
pub enum PluginError {
    /// There is no such program.
    #[error("credential plugin {command} is not installed, or not in PATH ({origin}){}", after(.hint.as_ref()))]
    Missing { command: String, origin: String, hint: Option<String> },

    /// The program cannot be started.
    #[error("credential plugin {command} cannot be run: {reason} ({origin})")]
    NotRun { command: String, origin: String, reason: String },

    /// The program says it failed; its own words went to stderr.
    #[error("credential plugin {command} failed with {status}; log in again, or run it by hand to see why ({origin})")]
    Failed { command: String, origin: String, status: String },

    /// The program's answer cannot be used.
    #[error("credential plugin {command} {problem} ({origin})")]
    Unusable { command: String, origin: String, problem: String },
}

fn after(hint: Option<&String>) -> String {
    hint.map(|hint| format!("; {hint}")).unwrap_or_default()
}

/// A token and a certificate with its key take some ten KiB.
const LONGEST_ANSWER: usize = 1 << 20;

/// What it wrote to stdout, up to one byte more than it may.
fn answer_of(child: &mut Child) -> std::io::Result<Vec<u8>> {
    let mut answer = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        stdout.take(LONGEST_ANSWER as u64 + 1).read_to_end(&mut answer)?;
    }
    Ok(answer)
}

impl Plugin {
    /// Runs the plugin and waits for it, as long as it takes: a person may be typing. Blocks its thread.
    ///
    /// # Errors
    /// When there is no such program, when it fails, and when its answer is no credential.
    pub fn run(&self) -> Result<Issued, PluginError> {
        let mut command = Command::new(&self.command);
        command.args(&self.arguments).env("KUBERNETES_EXEC_INFO", self.request().to_string());
        command.envs(self.variables.iter().map(|(name, value)| (name, value.expose())));
        command.stdin(if self.interactive { Stdio::inherit() } else { Stdio::null() });
        command.stdout(Stdio::piped()).stderr(self.words());
        let mut child = command.spawn().map_err(|error| self.not_run(&error))?;
        let words = child.stderr.take().map(relay::to_stderr);
        let answer = answer_of(&mut child);
        if answer.as_ref().is_ok_and(|answer| answer.len() > LONGEST_ANSWER) {
            // It may never end by itself.
            let _ = child.kill();
        }
        let ended = child.wait();
        if let Some(words) = words {
            words.end();
        }
        let answer = answer.map_err(|error| self.not_run(&error))?;
        if answer.len() > LONGEST_ANSWER {
            return Err(self.unusable("wrote more than 1 MiB, which is no ExecCredential"));
        }
        let status = ended.map_err(|error| self.not_run(&error))?;
        if !status.success() {
            let status = status.code().map_or_else(|| "a signal".to_owned(), |code| format!("exit code {code}"));
            return Err(PluginError::Failed { command: self.name(), origin: self.origin.clone(), status });
        }
        self.read(&answer).map_err(|problem| self.unusable(problem))
    }

    /// Where what it says goes. Somebody who is asked something has to see it at once, and as it is meant; what is only
    /// told is made harmless first.
    fn words(&self) -> Stdio {
        if self.is_quiet {
            Stdio::null()
        } else if self.interactive && std::io::stderr().is_terminal() {
            Stdio::inherit()
        } else {
            Stdio::piped()
        }
    }

    /// What the plugin is told, in KUBERNETES_EXEC_INFO.
    fn request(&self) -> Value {
        let mut spec = json!({ "interactive": self.interactive });
        if let Some(cluster) = &self.cluster {
            spec["cluster"] = cluster.clone();
        }
        json!({ "apiVersion": self.api_version, "kind": "ExecCredential", "spec": spec })
    }

    /// Reads an ExecCredential: JSON, or YAML, which client-go takes as well.
    fn read(&self, answer: &[u8]) -> Result<Issued, &'static str> {
        let credential: Value = serde_json::from_slice(answer)
            .ok()
            .or_else(|| serde_saphyr::from_slice(answer).ok())
            .ok_or("wrote something that is no ExecCredential")?;
        if credential["kind"] != "ExecCredential" {
            return Err("wrote something that is no ExecCredential");
        }
        if credential["apiVersion"] != self.api_version.as_str() {
            return Err("answered in another apiVersion than the kubeconfig asks for");
        }
        let status = credential["status"].as_object().ok_or("answered without a status")?;
        let text = |field| status.get(field).and_then(Value::as_str).filter(|text| !text.is_empty());
        let expires = match text("expirationTimestamp").map(str::parse) {
            None => None,
            Some(Ok(expires)) => Some(expires),
            Some(Err(_)) => return Err("answered with an expirationTimestamp that is no time"),
        };
        let token = text("token").map(Secret::new);
        let identity = match (text("clientCertificateData"), text("clientKeyData")) {
            (Some(certificate), Some(key)) => Some(Identity {
                certificate: certificate.as_bytes().to_vec(),
                key: Secret::new(key),
                origin: format!("credential plugin {}", self.name()),
            }),
            (None, None) => None,
            _ => return Err("answered with a client certificate or its key, and needs both"),
        };
        if token.is_none() && identity.is_none() {
            return Err("answered with neither a token nor a client certificate");
        }
        Ok(Issued { token, identity, expires })
    }

    fn not_run(&self, error: &std::io::Error) -> PluginError {
        let (command, origin) = (self.name(), self.origin.clone());
        if error.kind() == ErrorKind::NotFound {
            let hint = self.install_hint.as_ref().map(|hint| hint.split_whitespace().collect::<Vec<_>>().join(" "));
            return PluginError::Missing { command, origin, hint };
        }
        let reason = match error.kind() {
            ErrorKind::PermissionDenied => "permission denied".to_owned(),
            _ => error.to_string(),
        };
        PluginError::NotRun { command, origin, reason }
    }

    fn unusable(&self, problem: &str) -> PluginError {
        PluginError::Unusable { command: self.name(), origin: self.origin.clone(), problem: problem.to_owned() }
    }

    fn name(&self) -> String {
        self.command.to_string_lossy().into_owned()
    }
}
