//! Who may speak to the API server, and with what token.

use std::path::Path;

use serde_json::{Value, json};

use crate::arguments::TOKENS;
use crate::component::Component;
use crate::error::Error;
use crate::kubeconfig::write_private;
use crate::random;

/// The user of [`ControlPlane::kubeconfig`](crate::ControlPlane::kubeconfig), who may do everything.
pub const ADMIN: &str = "admin";

/// Marks the users that are parts of the control plane, for the audit policy.
pub(crate) const COMPONENTS: &str = "control-plane-components";

/// A line of the token file.
#[derive(Clone)]
pub(crate) struct User {
    pub(crate) name: String,
    pub(crate) groups: Vec<String>,
    pub(crate) token: String,
}

impl User {
    pub(crate) fn new(name: &str, groups: &[impl ToString]) -> Result<Self, Error> {
        let groups = groups.iter().map(ToString::to_string).collect();
        Ok(Self { name: name.to_owned(), groups, token: random::hex(24)? })
    }

    pub(crate) fn admin() -> Result<Self, Error> {
        Self::new(ADMIN, &["system:masters"])
    }

    /// The user that a component speaks as; `None` for those that ask nothing of the API server.
    pub(crate) fn of(component: Component) -> Option<Result<Self, Error>> {
        match component {
            Component::Etcd | Component::ApiServer => None,
            // The API server's own roles are bound to these names.
            Component::ControllerManager => Some(Self::new("system:kube-controller-manager", &[COMPONENTS])),
            Component::Scheduler => Some(Self::new("system:kube-scheduler", &[COMPONENTS])),
            Component::Kwok => Some(Self::new("kwok", &["system:masters", COMPONENTS])),
        }
    }
}

/// Writes the file for `--token-auth-file`, which the API server reads when it starts and never again.
pub(crate) fn write_tokens(folder: &Path, users: &[User]) -> Result<(), Error> {
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let lines = users.iter().map(|user| {
        let (name, groups) = (quoted(&user.name), quoted(&user.groups.join(",")));
        format!("{},{name},{name},{groups}\n", user.token)
    });
    write_private(&folder.join(TOKENS), &lines.collect::<String>())
}

/// What a role allows: verbs on resources of API groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// API groups; `""` is the core group.
    pub groups: Vec<String>,
    /// Plural names, with subresource where meant: `pods`, `deployments/scale`.
    pub resources: Vec<String>,
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`, `*`.
    pub verbs: Vec<String>,
    /// Only objects of these names; none means all.
    pub names: Vec<String>,
}

impl Rule {
    /// Allows every one of `verbs` on every one of `resources` in every one of `groups`.
    #[must_use]
    pub fn new(groups: &[&str], resources: &[&str], verbs: &[&str]) -> Self {
        let owned = |words: &[&str]| words.iter().map(ToString::to_string).collect();
        Self { groups: owned(groups), resources: owned(resources), verbs: owned(verbs), names: Vec::new() }
    }

    /// The same for objects of these names only.
    #[must_use]
    pub fn named(self, names: &[&str]) -> Self {
        Self { names: names.iter().map(ToString::to_string).collect(), ..self }
    }

    fn json(&self) -> Value {
        let mut rule = json!({ "apiGroups": self.groups, "resources": self.resources, "verbs": self.verbs });
        if !self.names.is_empty() {
            rule["resourceNames"] = json!(self.names);
        }
        rule
    }

    /// One request that the rule allows, as a `SubjectAccessReview` asks about it.
    fn example(&self, namespace: Option<&str>) -> Value {
        let first = |words: &[String]| words.first().cloned().unwrap_or_default();
        let resource = first(&self.resources);
        let (resource, subresource) = resource.split_once('/').unwrap_or((&resource, ""));
        json!({
            "namespace": namespace.unwrap_or_default(),
            "group": first(&self.groups),
            "resource": resource,
            "subresource": subresource,
            "verb": first(&self.verbs),
            "name": first(&self.names),
        })
    }
}

/// Whom a role is bound to.
pub(crate) enum Subject<'a> {
    User(&'a str),
    ServiceAccount { namespace: &'a str, name: &'a str },
}

impl Subject<'_> {
    fn json(&self) -> Value {
        match self {
            Self::User(name) => json!({ "kind": "User", "name": name, "apiGroup": "rbac.authorization.k8s.io" }),
            Self::ServiceAccount { namespace, name } => {
                json!({ "kind": "ServiceAccount", "namespace": namespace, "name": name })
            }
        }
    }

    /// The name that the API server knows them by.
    fn user(&self) -> String {
        match self {
            Self::User(name) => (*name).to_owned(),
            Self::ServiceAccount { namespace, name } => format!("system:serviceaccount:{namespace}:{name}"),
        }
    }
}

/// A role and its binding: in one namespace, or with `None` a cluster role.
pub(crate) fn role(name: &str, namespace: Option<&str>, subject: &Subject<'_>, rules: &[Rule]) -> Value {
    let (kind, metadata) = match namespace {
        Some(namespace) => ("Role", json!({ "name": name, "namespace": namespace })),
        None => ("ClusterRole", json!({ "name": name })),
    };
    json!({ "apiVersion": "v1", "kind": "List", "items": [
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": kind,
            "metadata": metadata,
            "rules": rules.iter().map(Rule::json).collect::<Vec<_>>(),
        },
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": format!("{kind}Binding"),
            "metadata": metadata,
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name },
            "subjects": [subject.json()],
        },
    ]})
}

/// Asks whether the last rule is in force yet.
pub(crate) fn review(namespace: Option<&str>, subject: &Subject<'_>, rule: &Rule) -> Value {
    json!({
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": subject.user(),
            "groups": ["system:authenticated"],
            "resourceAttributes": rule.example(namespace),
        },
    })
}
