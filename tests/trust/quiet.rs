//! A control plane in which nothing moves by itself: what changes there, the program under test has changed.

use std::{collections::BTreeMap, path::PathBuf, sync::OnceLock, time::Duration};

use control_plane::{Component, ControlPlane};
use serde_json::{Value, json};

use crate::api::Api;

/// The user that the program speaks as: all its writes are in the audit log, and nobody else's.
pub const PURGER: &str = "purger";

/// The plane and a client for it.
pub struct Quiet {
    pub plane: ControlPlane,
    pub api: Api,
}

/// Path below the namespace, for every kind that a world holds, by the resource's name.
pub const KINDS: [(&str, &str, &str); 22] = [
    ("/api/v1", "configmaps", "ConfigMap"),
    ("/api/v1", "secrets", "Secret"),
    ("/api/v1", "services", "Service"),
    ("/api/v1", "pods", "Pod"),
    ("/api/v1", "persistentvolumeclaims", "PersistentVolumeClaim"),
    ("/api/v1", "serviceaccounts", "ServiceAccount"),
    ("/api/v1", "endpoints", "Endpoints"),
    ("/apis/apps/v1", "deployments", "Deployment"),
    ("/apis/apps/v1", "replicasets", "ReplicaSet"),
    ("/apis/apps/v1", "statefulsets", "StatefulSet"),
    ("/apis/apps/v1", "daemonsets", "DaemonSet"),
    ("/apis/apps/v1", "controllerrevisions", "ControllerRevision"),
    ("/apis/batch/v1", "jobs", "Job"),
    ("/apis/batch/v1", "cronjobs", "CronJob"),
    ("/apis/networking.k8s.io/v1", "ingresses", "Ingress"),
    ("/apis/networking.k8s.io/v1", "networkpolicies", "NetworkPolicy"),
    ("/apis/policy/v1", "poddisruptionbudgets", "PodDisruptionBudget"),
    ("/apis/autoscaling/v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler"),
    ("/apis/discovery.k8s.io/v1", "endpointslices", "EndpointSlice"),
    ("/apis/rbac.authorization.k8s.io/v1", "roles", "Role"),
    ("/apis/rbac.authorization.k8s.io/v1", "rolebindings", "RoleBinding"),
    ("/apis/demo.example/v1", "databases", "Database"),
];

/// Only the program's writes: the log of hundreds of worlds stays small enough to be read whole.
fn policy() -> Value {
    json!({
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "rules": [
            {
                "level": "Request",
                "users": [PURGER],
                "verbs": ["create", "update", "patch", "delete", "deletecollection"],
            },
            { "level": "Metadata", "nonResourceURLs": ["/version*"] },
            { "level": "None" },
        ],
    })
}

/// A kind whose objects control workloads, as an operator's do.
fn database() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": "databases.demo.example" },
        "spec": {
            "group": "demo.example",
            "scope": "Namespaced",
            "names": { "kind": "Database", "plural": "databases", "singular": "database" },
            "versions": [{
                "name": "v1",
                "served": true,
                "storage": true,
                "schema": {
                    "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
                },
            }],
        },
    })
}

impl Quiet {
    pub fn shared() -> &'static Self {
        static QUIET: OnceLock<Quiet> = OnceLock::new();
        QUIET.get_or_init(Self::start)
    }

    fn start() -> Self {
        let folder = std::env::temp_dir().join(format!("purge-trust-audit-{}.json", std::process::id()));
        std::fs::write(&folder, policy().to_string()).unwrap();
        let plane = ControlPlane::builder()
            .nodes(0)
            .user(PURGER, &["system:masters"])
            .audit_log()
            .flag(Component::ApiServer, &format!("--audit-policy-file={}", folder.display()))
            // The one gives pods an account that nobody makes here, the other claims a finalizer that nobody takes.
            .flag(Component::ApiServer, "--disable-admission-plugins=ServiceAccount,StorageObjectInUseProtection")
            // Nothing but what a namespace needs to be made and to go.
            .flag(Component::ControllerManager, "--controllers=namespace-controller,serviceaccount-controller")
            .start()
            .unwrap();
        std::fs::remove_file(&folder).unwrap();
        let api = Api::of(&plane);
        api.create(&[("/apis/apiextensions.k8s.io/v1/customresourcedefinitions".to_owned(), database())]);
        plane
            .wait_for("the custom kind", Duration::from_secs(30), || {
                api.ask(http::Method::GET, "/apis/demo.example/v1/databases", None).ok()
            })
            .unwrap();
        Self { plane, api }
    }

    pub fn kubeconfig(&self) -> PathBuf {
        self.plane.kubeconfig_for(PURGER).unwrap()
    }

    pub fn create_namespace(&self, name: &str) {
        let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
        self.api.create(&[("/api/v1/namespaces".to_owned(), namespace)]);
        // Every namespace is born with it, or it would look like news.
        let account = format!("/api/v1/namespaces/{name}/serviceaccounts/default");
        let born = || self.api.ask(http::Method::GET, &account, None).ok();
        self.plane.wait_for("the namespace's account", Duration::from_secs(60), born).unwrap();
    }

    /// Every object of these namespaces as it is stored, by its uid, with the resource that lists it.
    pub fn stored(&self, namespaces: &[String]) -> BTreeMap<String, (&'static str, Value)> {
        let places: Vec<(&'static str, String)> = namespaces
            .iter()
            .flat_map(|namespace| {
                KINDS.iter().map(move |(root, plural, _)| (*plural, format!("{root}/namespaces/{namespace}/{plural}")))
            })
            .collect();
        let paths: Vec<String> = places.iter().map(|(_, path)| path.clone()).collect();
        let lists = self.api.lists(&paths);
        let all = places.into_iter().zip(lists).flat_map(|((plural, _), items)| {
            let kind = KINDS.iter().find(|(_, known, _)| *known == plural).unwrap().2;
            items.into_iter().map(move |mut item| {
                // The items of a list do not name it.
                item["kind"] = kind.into();
                (uid(&item), (plural, item))
            })
        });
        all.collect()
    }
}

pub fn uid(object: &Value) -> String {
    object["metadata"]["uid"].as_str().unwrap().to_owned()
}

/// Where objects of a kind are in a namespace.
pub fn path(namespace: &str, kind: &str) -> String {
    let (root, plural, _) = KINDS.iter().find(|(_, _, known)| *known == kind).unwrap();
    format!("{root}/namespaces/{namespace}/{plural}")
}
