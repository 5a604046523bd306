//! A client of the suite's own: makes many objects, and reads whatever is stored.

use std::collections::BTreeMap;

use control_plane::{ADMIN, ControlPlane};
use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, GroupVersionKind, ListParams, PostParams},
};
use serde_json::Value;
use tokio::runtime::Runtime;

/// A kind by group, version, kind and plural.
pub type Kind = (&'static str, &'static str, &'static str, &'static str);

/// The namespaced kinds that the worlds are made of, and that are compared afterwards.
pub const KINDS: [Kind; 19] = [
    ("apps", "v1", "Deployment", "deployments"),
    ("apps", "v1", "ReplicaSet", "replicasets"),
    ("apps", "v1", "StatefulSet", "statefulsets"),
    ("", "v1", "Pod", "pods"),
    ("", "v1", "Service", "services"),
    ("", "v1", "ConfigMap", "configmaps"),
    ("", "v1", "Secret", "secrets"),
    ("", "v1", "ServiceAccount", "serviceaccounts"),
    ("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims"),
    ("", "v1", "PodTemplate", "podtemplates"),
    ("batch", "v1", "Job", "jobs"),
    ("batch", "v1", "CronJob", "cronjobs"),
    ("autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers"),
    ("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets"),
    ("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies"),
    ("networking.k8s.io", "v1", "Ingress", "ingresses"),
    ("rbac.authorization.k8s.io", "v1", "Role", "roles"),
    ("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings"),
    ("trust.example", "v1", "Widget", "widgets"),
];

/// The definition of the one custom kind among them.
pub const WIDGETS: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: widgets.trust.example }
spec:
  group: trust.example
  scope: Namespaced
  names: { plural: widgets, singular: widget, kind: Widget, listKind: WidgetList }
  versions:
  - { name: v1, served: true, storage: true, schema: { openAPIV3Schema: { type: object, x-kubernetes-preserve-unknown-fields: true } } }
";

/// Everything stored in some namespaces, by uid, exactly as it is.
pub type Stored = BTreeMap<String, Value>;

pub struct Administrator {
    runtime: Runtime,
    client: Client,
}

impl Administrator {
    pub fn of(plane: &ControlPlane) -> Self {
        let runtime = Runtime::new().unwrap();
        let mut config = kube::Config::new(plane.server().parse().unwrap());
        // A throwaway server on the loopback.
        config.accept_invalid_certs = true;
        config.auth_info.token = Some(plane.token(ADMIN).unwrap().to_owned().into());
        let client = runtime.block_on(async { Client::try_from(config).unwrap() });
        Self { runtime, client }
    }

    fn api(&self, namespace: &str, (group, version, kind, plural): Kind) -> Api<DynamicObject> {
        let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural);
        Api::namespaced_with(self.client.clone(), namespace, &resource)
    }

    /// Creates these at once, and gives their uids in the same order.
    pub fn create(&self, namespace: &str, objects: &[Value]) -> Vec<String> {
        let creates = objects.iter().map(|object| {
            let kind = KINDS.iter().find(|kind| object["kind"] == kind.2).unwrap();
            let (api, body) = (self.api(namespace, *kind), serde_json::from_value(object.clone()).unwrap());
            async move {
                let made = api.create(&PostParams::default(), &body).await;
                made.unwrap_or_else(|error| panic!("{error}: {object:#}")).metadata.uid.unwrap()
            }
        });
        self.runtime.block_on(futures_util::future::join_all(creates))
    }

    /// What is stored of all kinds in these namespaces.
    pub fn stored(&self, namespaces: &[String]) -> Stored {
        let lists = namespaces.iter().flat_map(|namespace| {
            KINDS.iter().map(|kind| {
                let api = self.api(namespace, *kind);
                async move { (kind, api.list(&ListParams::default()).await.unwrap().items) }
            })
        });
        let mut stored = Stored::new();
        for (kind, items) in self.runtime.block_on(futures_util::future::join_all(lists)) {
            for item in items {
                let mut object = serde_json::to_value(&item).unwrap();
                // The items of a list do not name it.
                object["kind"] = kind.2.into();
                stored.insert(item.metadata.uid.unwrap(), object);
            }
        }
        stored
    }
}
