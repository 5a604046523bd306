//! Who may use the control plane: kubeconfigs, tokens, certificates, roles.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::certificates::CertifiedKey;
use crate::control_plane::{ControlPlane, PATIENCE, PAUSE};
use crate::error::Error;
use crate::kubeconfig::{Credential, Kubeconfig, file_name};
use crate::own::CONTEXT;
use crate::users::{Rule, Subject, review, role};

impl ControlPlane {
    /// The kubeconfig of a user who may do everything.
    #[must_use]
    pub fn kubeconfig(&self) -> &Path {
        &self.kubectl.kubeconfig
    }

    /// The kubeconfig of a user declared with [`Builder::user`](crate::Builder::user).
    ///
    /// # Errors
    /// [`Error::UnknownUser`].
    pub fn kubeconfig_for(&self, user: &str) -> Result<PathBuf, Error> {
        self.token(user).map(|_| kubeconfig_path(&self.folder, user))
    }

    /// The same as a value, to be changed before it is written: another server, no credential.
    ///
    /// # Errors
    /// [`Error::UnknownUser`].
    pub fn kubeconfig_of(&self, user: &str) -> Result<Kubeconfig, Error> {
        let credential = Some(Credential::Token(self.token(user)?.to_owned()));
        Ok(self.with_credential(user, credential))
    }

    /// Writes a kubeconfig with a token into the control plane's folder and returns its path; `name`
    /// is the file's and the user entry's. A namespace of `None` leaves the key out.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write_kubeconfig(&self, name: &str, token: &str, namespace: Option<&str>) -> Result<PathBuf, Error> {
        let mut kubeconfig = self.with_credential(name, Some(Credential::Token(token.to_owned())));
        kubeconfig.namespace = namespace.map(str::to_owned);
        self.save(name, &kubeconfig)
    }

    /// The token of a user declared with [`Builder::user`](crate::Builder::user), or of [`ADMIN`](crate::ADMIN).
    ///
    /// # Errors
    /// [`Error::UnknownUser`]; on an existing cluster there are none.
    pub fn token(&self, user: &str) -> Result<&str, Error> {
        self.tokens.get(user).map(String::as_str).ok_or_else(|| Error::UnknownUser {
            user: user.to_owned(),
            declared: self.tokens.keys().cloned().collect(),
        })
    }

    /// A certificate by which the API server knows its holder as `user`, in at most one group.
    ///
    /// # Errors
    /// On an existing cluster, whose authority is not ours.
    pub fn client_certificate(&self, user: &str, group: Option<&str>) -> Result<CertifiedKey, Error> {
        self.own("a client certificate")?.authority.client(user, group)
    }

    /// A serving certificate by the API server's authority, for a test's own proxy in front of it.
    /// kubectl sends credentials to no server without one.
    ///
    /// # Errors
    /// On an existing cluster, whose authority is not ours.
    pub fn server_certificate(&self, names: &[&str]) -> Result<CertifiedKey, Error> {
        self.own("a serving certificate")?.authority.server(names)
    }

    /// Lets a user do in one namespace what the rules say and nothing else, and returns their kubeconfig
    /// once that is in force. Asked again, the new rules take the place of the old ones.
    ///
    /// A user declared with [`Builder::user`](crate::Builder::user) has a token; any other name gets a client certificate, which
    /// the API server needs not be told of beforehand. On an existing cluster it is a service account of
    /// that name in the namespace.
    ///
    /// # Errors
    /// When the role cannot be made.
    pub fn user_with_role(&self, user: &str, namespace: &str, rules: &[Rule]) -> Result<PathBuf, Error> {
        self.user_with_rules(user, Some(namespace), rules)
    }

    /// The same for the whole cluster.
    ///
    /// # Errors
    /// When the role cannot be made.
    pub fn user_with_cluster_role(&self, user: &str, rules: &[Rule]) -> Result<PathBuf, Error> {
        self.user_with_rules(user, None, rules)
    }

    fn with_credential(&self, user: &str, credential: Option<Credential>) -> Kubeconfig {
        Kubeconfig {
            endpoint: self.endpoint.clone(),
            context: CONTEXT.to_owned(),
            user: user.to_owned(),
            credential,
            namespace: None,
        }
    }

    pub(crate) fn save(&self, name: &str, kubeconfig: &Kubeconfig) -> Result<PathBuf, Error> {
        let path = kubeconfig_path(&self.folder, name);
        kubeconfig.write(&path)?;
        Ok(path)
    }

    fn user_with_rules(&self, user: &str, namespace: Option<&str>, rules: &[Rule]) -> Result<PathBuf, Error> {
        let home = namespace.unwrap_or("default");
        let subject = match self.own {
            Some(_) => Subject::User(user),
            None => Subject::ServiceAccount { namespace: home, name: user },
        };
        let credential = match (&self.own, self.tokens.get(user)) {
            (_, Some(token)) => Credential::Token(token.clone()),
            (Some(own), None) => Credential::Certificate(own.authority.client(user, None)?),
            (None, None) => Credential::Token(self.service_account_token(home, user)?),
        };
        let name = format!("user-{}", file_name(user));
        self.apply(&role(&name, namespace, &subject, rules).to_string())?;
        if let Some(rule) = rules.last() {
            let question = review(namespace, &subject, rule).to_string();
            self.wait_until("the role to be in force", PATIENCE, PAUSE, || {
                let answer = self.kubectl_with_input(&["create", "-f", "-", "-o", "json"], &question).json()?;
                Ok((answer["status"]["allowed"] == true).then_some(()))
            })?;
        }
        self.save(user, &self.with_credential(user, Some(credential)))
    }

    fn service_account_token(&self, namespace: &str, name: &str) -> Result<String, Error> {
        let account = json!({
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": { "name": name, "namespace": namespace },
        });
        self.apply(&account.to_string())?;
        let token = self.kubectl(&["create", "token", name, "-n", namespace, "--duration=1h"]).ok()?;
        Ok(token.trim().to_owned())
    }
}

/// The folder's folder of kubeconfigs.
pub(crate) const KUBECONFIGS: &str = "kubeconfigs";

/// Where a user's kubeconfig lies.
pub(crate) fn kubeconfig_path(folder: &Path, user: &str) -> PathBuf {
    folder.join(KUBECONFIGS).join(file_name(user))
}
