//! Objects as they come over the wire, read leanly: what the plan does not need is skipped while parsing.
//!
//! `managedFields` and most annotations never leave the parser: they are the bulk of an object, and
//! `kubectl.kubernetes.io/last-applied-configuration` holds a Secret's plaintext.

use std::{collections::BTreeMap, fmt, sync::Arc};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, IgnoredAny, MapAccess, Visitor},
};

use super::{
    links::{AccountItem, BindingItem, GatewayRouteItem, IngressItem, OpenShiftRouteItem, ScalerItem},
    specs::{self, Shape},
};
use crate::inventory::{Detail, Kind, Object, OwnerRef};

/// Annotations that decide something: who says keep, who manages the object, what made it.
const DECIDING: [&str; 27] = [
    "helm.sh/resource-policy",
    "helm.sh/hook",
    "meta.helm.sh/release-name",
    "meta.helm.sh/release-namespace",
    "argocd.argoproj.io/sync-options",
    "argocd.argoproj.io/tracking-id",
    "kapp.k14s.io/delete-strategy",
    "kapp.k14s.io/identity",
    "client.lifecycle.config.k8s.io/deletion",
    "cli-utils.sigs.k8s.io/on-remove",
    "config.k8s.io/owning-inventory",
    "kustomize.toolkit.fluxcd.io/prune",
    "kluctl.io/skip-delete",
    "werf.io/resource-policy",
    "dev.okteto.com/policy",
    "tilt.dev/down-policy",
    "kubectl-purge/keep",
    "kubectl-purge/restore",
    "batch.kubernetes.io/cronjob-scheduled-timestamp",
    "kubernetes.io/service-account.name",
    "kubernetes.io/service-account.uid",
    "olm.operatorGroup",
    "operatorframework.io/bundle-unpack-ref",
    "autoscaling.keda.sh/paused",
    "autoscaling.keda.sh/paused-replicas",
    "deployment.kubernetes.io/revision",
    "endpoints.kubernetes.io/last-change-trigger-time",
];

/// Keeps the deciding annotations and skips the others' values without copying them.
#[derive(Clone, Debug, Default)]
struct Annotations(BTreeMap<String, String>);

impl<'de> Deserialize<'de> for Annotations {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Keep;
        impl<'de> Visitor<'de> for Keep {
            type Value = Annotations;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("annotations")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Annotations, A::Error> {
                let mut kept = BTreeMap::new();
                while let Some(key) = map.next_key::<String>()? {
                    if DECIDING.contains(&key.as_str()) {
                        kept.insert(key, map.next_value()?);
                    } else {
                        map.next_value::<IgnoredAny>()?;
                    }
                }
                Ok(Annotations(kept))
            }
            fn visit_unit<E>(self) -> Result<Annotations, E> {
                Ok(Annotations::default())
            }
        }
        deserializer.deserialize_any(Keep)
    }
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Metadata {
    name: String,
    generate_name: Option<String>,
    namespace: String,
    uid: String,
    resource_version: String,
    generation: i64,
    labels: Option<BTreeMap<String, String>>,
    annotations: Option<Annotations>,
    owner_references: Option<Vec<Owner>>,
    finalizers: Option<Vec<String>>,
    deletion_timestamp: Option<String>,
    deletion_grace_period_seconds: Option<i64>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Owner {
    uid: String,
    api_version: String,
    kind: String,
    name: String,
    controller: Option<bool>,
}

impl Metadata {
    pub(super) fn namespace(&self) -> &str {
        &self.namespace
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn into_object(self, kind: &Arc<Kind>, detail: Detail) -> Object {
        let token = token_of(kind, self.annotations.as_ref());
        let owners = self
            .owner_references
            .unwrap_or_default()
            .into_iter()
            .map(|owner| OwnerRef {
                uid: owner.uid,
                group: owner.api_version.rsplit_once('/').map_or_else(String::new, |(group, _)| group.to_owned()),
                kind: owner.kind,
                name: owner.name,
                controller: owner.controller.unwrap_or(false),
            })
            .chain(token)
            .collect();
        Object {
            kind: kind.clone(),
            name: self.name,
            namespace: self.namespace,
            uid: self.uid,
            resource_version: self.resource_version,
            generation: self.generation,
            labels: Arc::new(self.labels.unwrap_or_default()),
            annotations: self.annotations.unwrap_or_default().0,
            owners,
            generated: self.generate_name.is_some_and(|prefix| !prefix.is_empty()),
            finalizers: self.finalizers.unwrap_or_default(),
            overdue: self
                .deletion_timestamp
                .as_deref()
                .is_some_and(|due| is_over(due, self.deletion_grace_period_seconds)),
            deletion: self.deletion_timestamp,
            deletion_grace: self.deletion_grace_period_seconds,
            detail,
        }
    }
}

/// The ServiceAccount that a Secret is the token of, as its owner: the token controller deletes the one with the other,
/// by uid, as the garbage collector does with owners (`k8s.io/kubernetes/pkg/controller/serviceaccount`).
fn token_of(kind: &Kind, annotations: Option<&Annotations>) -> Option<OwnerRef> {
    let annotations = &annotations.filter(|_| kind.is("", "Secret"))?.0;
    Some(OwnerRef {
        uid: annotations.get("kubernetes.io/service-account.uid")?.clone(),
        group: String::new(),
        kind: "ServiceAccount".to_owned(),
        name: annotations.get("kubernetes.io/service-account.name")?.clone(),
        controller: false,
    })
}

/// Whether a deletion's time and its grace are over, by our clock: the rule of
/// `k8s.io/kubernetes/pkg/quota/v1/evaluator/core.QuotaV1Pod`.
pub(super) fn is_over(due: &str, grace: Option<i64>) -> bool {
    let due: Option<jiff::Timestamp> = due.parse().ok();
    let end = due.zip(grace).and_then(|(due, grace)| due.checked_add(jiff::SignedDuration::from_secs(grace)).ok());
    end.is_some_and(|end| jiff::Timestamp::now() > end)
}

/// An object with no more than its metadata.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Bare {
    #[serde(default)]
    pub(super) metadata: Metadata,
}

/// An object read with what its kind's detail is made of. The metadata is a field of each, not flattened: serde
/// would buffer the whole object to flatten it, managedFields and all.
pub(super) trait Item: DeserializeOwned {
    fn parts(self) -> (Metadata, Detail);

    fn into_object(self, kind: &Arc<Kind>) -> Object {
        let (metadata, detail) = self.parts();
        metadata.into_object(kind, detail)
    }
}

impl Item for Bare {
    fn parts(self) -> (Metadata, Detail) {
        (self.metadata, Detail::None)
    }
}

#[derive(Debug, Deserialize)]
#[serde(bound = "T: DeserializeOwned")]
struct List<T> {
    #[serde(default)]
    kind: String,
    #[serde(default)]
    metadata: ListMetadata,
    #[serde(default = "Option::default")]
    items: Option<Vec<T>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ListMetadata {
    r#continue: String,
    resource_version: String,
}

/// One page of a list.
#[derive(Debug, Default)]
pub(super) struct Page {
    pub(super) objects: Vec<Object>,
    /// Empty at the end.
    pub(super) next: String,
    pub(super) resource_version: String,
}

/// How a kind's objects are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// Only metadata is asked for: always so for Secrets.
    Metadata,
    Spec(Shape),
}

impl Reading {
    pub(super) fn of(kind: &Kind) -> Self {
        Shape::of(kind).map_or(Self::Metadata, Self::Spec)
    }

    /// What the server is asked to send for a list.
    pub(super) const fn accept_list(self) -> &'static str {
        match self {
            Self::Metadata => "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json",
            Self::Spec(_) => "application/json",
        }
    }

    /// How a kind is read while its objects are waited for: of a quota the numbers matter, of all else only whether
    /// it is there.
    pub(super) fn while_waiting(kind: &Kind) -> Self {
        match Self::of(kind) {
            quota @ Self::Spec(Shape::Quota) => quota,
            _ => Self::Metadata,
        }
    }

    /// What the server is asked to send for one object or a watch.
    pub(super) const fn accept_object(self) -> &'static str {
        match self {
            Self::Metadata => "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json",
            Self::Spec(_) => "application/json",
        }
    }

    /// Reads one page of a list.
    pub(super) fn page(self, kind: &Arc<Kind>, bytes: &[u8]) -> Result<Page, serde_json::Error> {
        match self {
            Self::Metadata => page::<Bare>(kind, bytes),
            Self::Spec(shape) => match shape {
                Shape::Pod => page::<specs::PodItem>(kind, bytes),
                Shape::Workload => page::<specs::WorkloadItem>(kind, bytes),
                Shape::Controller => page::<specs::ControllerItem>(kind, bytes),
                Shape::CronJob => page::<specs::CronJobItem>(kind, bytes),
                Shape::PodTemplate => page::<specs::PodTemplateItem>(kind, bytes),
                Shape::Service => page::<specs::ServiceItem>(kind, bytes),
                Shape::Selecting => page::<specs::SelectingItem>(kind, bytes),
                Shape::Claim => page::<specs::ClaimItem>(kind, bytes),
                Shape::Quota => page::<specs::QuotaItem>(kind, bytes),
                Shape::Scaler => page::<ScalerItem>(kind, bytes),
                Shape::Ingress => page::<IngressItem>(kind, bytes),
                Shape::GatewayRoute => page::<GatewayRouteItem>(kind, bytes),
                Shape::OpenShiftRoute => page::<OpenShiftRouteItem>(kind, bytes),
                Shape::Account => page::<AccountItem>(kind, bytes),
                Shape::Binding => page::<BindingItem>(kind, bytes),
            },
        }
    }
}

fn page<T: Item>(kind: &Arc<Kind>, bytes: &[u8]) -> Result<Page, serde_json::Error> {
    let list: List<T> = serde_json::from_slice(bytes)?;
    // JSON of somebody else's making has no items either, and nothing may be taken for empty by that.
    if !list.kind.ends_with("List") {
        return Err(serde::de::Error::custom("no list"));
    }
    let objects = list.items.unwrap_or_default().into_iter().map(|item| item.into_object(kind)).collect();
    Ok(Page { objects, next: list.metadata.r#continue, resource_version: list.metadata.resource_version })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(group: &str, name: &str) -> Arc<Kind> {
        Arc::new(Kind {
            group: group.into(),
            version: "v1".into(),
            kind: name.into(),
            plural: format!("{}s", name.to_lowercase()),
            watchable: true,
            scalable: false,
        })
    }

    #[test]
    fn plaintext_annotations_never_leave_the_parser() {
        let json = r#"{"kind":"SecretList","metadata":{"continue":"next","resourceVersion":"7"},"items":[{"metadata":{"name":"s","uid":"u",
            "annotations":{"kubectl.kubernetes.io/last-applied-configuration":"canary","helm.sh/resource-policy":"keep"},
            "managedFields":[{"canary":"canary"}]}}]}"#;
        let page = Reading::Metadata.page(&kind("", "Secret"), json.as_bytes()).unwrap();
        assert!(!format!("{page:?}").contains("canary"));
        assert_eq!(page.objects[0].annotations["helm.sh/resource-policy"], "keep");
        assert_eq!((page.next.as_str(), page.resource_version.as_str()), ("next", "7"));
    }

    #[test]
    fn null_stands_for_nothing() {
        let json = r#"{"kind":"PodList","metadata":{},"items":[{"metadata":{"name":"p","uid":"u","labels":null,"annotations":null,
            "ownerReferences":null,"finalizers":null},"spec":null,"status":null}]}"#;
        let pod = kind("", "Pod");
        let page = Reading::of(&pod).page(&pod, json.as_bytes()).unwrap();
        assert_eq!(page.objects.len(), 1);
        assert!(
            Reading::Metadata
                .page(&pod, br#"{"kind":"PodList","metadata":{},"items":null}"#)
                .unwrap()
                .objects
                .is_empty()
        );
    }

    #[test]
    fn json_that_is_no_list_is_not_an_empty_one() {
        let pod = kind("", "Pod");
        for json in
            ["{}", "null", r#"{"status":"ok"}"#, r#"{"kind":"Status","metadata":{}}"#, r#"{"metadata":{},"items":[]}"#]
        {
            assert!(Reading::of(&pod).page(&pod, json.as_bytes()).is_err(), "{json}");
            assert!(Reading::Metadata.page(&pod, json.as_bytes()).is_err(), "{json}");
        }
    }

    #[test]
    fn secrets_are_read_as_metadata_and_nothing_else() {
        assert_eq!(Reading::of(&kind("", "Secret")), Reading::Metadata);
        assert!(Reading::Metadata.accept_list().starts_with("application/json;as=PartialObjectMetadataList"));
    }
}
