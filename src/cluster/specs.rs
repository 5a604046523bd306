//! Specs and statuses as the API writes them, each no larger than the detail it becomes.
//!
//! Source of the formats: `k8s.io/api` core/v1, apps/v1, batch/v1, policy/v1, networking.k8s.io/v1.

mod pod;

use std::{collections::BTreeMap, sync::Arc};

use serde::Deserialize;

use self::pod::{PodSpec, Resources};
use super::wire::{Item, Metadata};
use crate::inventory::{self, ClaimPolicy, Detail, Kind, LabelSelector, QuotaScope, Selector};

type Map = BTreeMap<String, String>;

/// Which of the shapes below a kind has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Pod,
    /// A `selector` with `matchLabels`, and a `template`.
    Workload,
    /// ReplicationController: its selector is a plain map.
    Controller,
    CronJob,
    PodTemplate,
    Service,
    Selecting,
    Claim,
    Quota,
    Scaler,
    Ingress,
    GatewayRoute,
    OpenShiftRoute,
    Account,
    Binding,
}

impl Shape {
    pub(super) fn of(kind: &Kind) -> Option<Self> {
        Some(match (kind.group.as_str(), kind.kind.as_str()) {
            ("", "Pod") => Self::Pod,
            ("", "ReplicationController") => Self::Controller,
            ("", "PodTemplate") => Self::PodTemplate,
            ("", "Service") => Self::Service,
            ("", "PersistentVolumeClaim") => Self::Claim,
            ("", "ResourceQuota") => Self::Quota,
            ("apps", "Deployment" | "ReplicaSet" | "StatefulSet" | "DaemonSet") | ("batch", "Job") => Self::Workload,
            ("batch", "CronJob") => Self::CronJob,
            ("policy", "PodDisruptionBudget") | ("networking.k8s.io", "NetworkPolicy") => Self::Selecting,
            ("autoscaling", "HorizontalPodAutoscaler")
            | ("autoscaling.k8s.io", "VerticalPodAutoscaler")
            | ("keda.sh", "ScaledObject") => Self::Scaler,
            ("networking.k8s.io" | "extensions", "Ingress") => Self::Ingress,
            ("gateway.networking.k8s.io", kind) if kind.ends_with("Route") => Self::GatewayRoute,
            ("route.openshift.io", "Route") => Self::OpenShiftRoute,
            ("", "ServiceAccount") => Self::Account,
            ("rbac.authorization.k8s.io", "RoleBinding") => Self::Binding,
            _ => return None,
        })
    }
}

/// Declares an object of `metadata` and the named parts, each absent or null as well as given.
macro_rules! item {
    ($name:ident { $($field:ident: $type:ty),* }) => {
        #[derive(Clone, Debug, Default, Deserialize)]
        #[serde(default)]
        pub(super) struct $name {
            metadata: Metadata,
            $($field: Option<$type>,)*
        }
    };
}

item!(PodItem { spec: PodSpec, status: PodStatus });
item!(WorkloadItem { spec: WorkloadSpec, status: WorkloadStatus });
item!(ControllerItem { spec: ControllerSpec });
item!(CronJobItem { spec: CronJobSpec });
item!(PodTemplateItem { template: Template });
item!(ServiceItem { spec: ServiceSpec });
item!(SelectingItem { spec: SelectingSpec });
item!(ClaimItem { spec: ClaimSpec });
item!(QuotaItem { spec: QuotaSpec, status: QuotaStatus });

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Named {
    pub(super) name: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct PodStatus {
    phase: String,
    reason: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Template {
    metadata: Option<TemplateMetadata>,
    spec: Option<PodSpec>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct TemplateMetadata {
    labels: Option<Map>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WorkloadSpec {
    replicas: Option<i64>,
    selector: Option<LabelSelector>,
    template: Option<Template>,
    /// Job.
    suspend: Option<bool>,
    /// StatefulSet.
    persistent_volume_claim_retention_policy: Option<RetentionPolicy>,
    #[serde(rename = "volumeClaimTemplates")]
    claim_templates: Option<Vec<ClaimTemplate>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RetentionPolicy {
    when_deleted: Option<String>,
    when_scaled: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct WorkloadStatus {
    conditions: Option<Vec<Condition>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Condition {
    r#type: String,
    status: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct ClaimTemplate {
    metadata: Named,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct ControllerSpec {
    replicas: Option<i64>,
    selector: Option<Map>,
    template: Option<Template>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct CronJobSpec {
    suspend: Option<bool>,
    job_template: Option<JobTemplate>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct JobTemplate {
    spec: Option<WorkloadSpec>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct ServiceSpec {
    selector: Option<Map>,
    r#type: Option<String>,
    ports: Option<Vec<Port>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Port {
    node_port: Option<i64>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SelectingSpec {
    /// PodDisruptionBudget.
    selector: Option<LabelSelector>,
    /// NetworkPolicy.
    pod_selector: Option<LabelSelector>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ClaimSpec {
    resources: Option<Resources>,
    storage_class_name: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct QuotaSpec {
    scopes: Option<Vec<String>>,
    scope_selector: Option<ScopeSelector>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ScopeSelector {
    match_expressions: Option<Vec<ScopeExpression>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ScopeExpression {
    scope_name: String,
    operator: String,
    values: Option<Vec<String>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct QuotaStatus {
    hard: Option<Map>,
    used: Option<Map>,
}

impl Item for PodItem {
    fn parts(self) -> (Metadata, Detail) {
        let spec = self.spec.unwrap_or_default();
        let status = self.status.unwrap_or_default();
        let mut uses = spec.references();
        // A generic ephemeral volume's claim is called after pod and volume.
        for volume in spec.volumes.iter().flatten().filter(|volume| volume.ephemeral.is_some()) {
            uses.claims.insert(format!("{}-{}", self.metadata.name(), volume.name));
        }
        let pod = inventory::Pod {
            phase: status.phase,
            reason: status.reason,
            charge: Arc::new(spec.charge()),
            uses: Arc::new(uses),
            node: spec.node_name,
            priority_class: spec.priority_class_name,
            active_deadline: spec.active_deadline_seconds.is_some(),
        };
        (self.metadata, Detail::Pod(Box::new(pod)))
    }
}

fn workload(replicas: Option<i64>, selector: Option<Selector>, template: Option<Template>) -> inventory::Workload {
    let template = template.unwrap_or_default();
    inventory::Workload {
        selector,
        template_labels: template.metadata.and_then(|metadata| metadata.labels).unwrap_or_default(),
        replicas,
        uses: template.spec.map(|spec| spec.references()).unwrap_or_default(),
        ..inventory::Workload::default()
    }
}

/// None where all claims stay.
fn claim_policy(policy: RetentionPolicy) -> Option<ClaimPolicy> {
    let word = |given: Option<String>| given.unwrap_or_else(|| "Retain".to_owned());
    let policy = ClaimPolicy { when_deleted: word(policy.when_deleted), when_scaled: word(policy.when_scaled) };
    [&policy.when_deleted, &policy.when_scaled].iter().any(|word| *word != "Retain").then_some(policy)
}

impl Item for WorkloadItem {
    fn parts(self) -> (Metadata, Detail) {
        let spec = self.spec.unwrap_or_default();
        let conditions = self.status.and_then(|status| status.conditions).unwrap_or_default();
        let templates = spec.claim_templates.unwrap_or_default();
        let detail = inventory::Workload {
            suspended: spec.suspend.unwrap_or(false),
            finished: conditions.iter().any(|condition| {
                matches!(condition.r#type.as_str(), "Complete" | "Failed") && condition.status == "True"
            }),
            claims: spec.persistent_volume_claim_retention_policy.and_then(claim_policy),
            claim_templates: templates.into_iter().map(|template| template.metadata.name).collect(),
            ..workload(spec.replicas, spec.selector.map(Selector::from), spec.template)
        };
        (self.metadata, Detail::Workload(detail))
    }
}

impl Item for ControllerItem {
    fn parts(self) -> (Metadata, Detail) {
        let spec = self.spec.unwrap_or_default();
        let selector = spec.selector.as_ref().map(Selector::from_map);
        (self.metadata, Detail::Workload(workload(spec.replicas, selector, spec.template)))
    }
}

impl Item for CronJobItem {
    fn parts(self) -> (Metadata, Detail) {
        let spec = self.spec.unwrap_or_default();
        let job = spec.job_template.and_then(|template| template.spec);
        let detail = inventory::Workload {
            suspended: spec.suspend.unwrap_or(false),
            ..workload(None, None, job.and_then(|job| job.template))
        };
        (self.metadata, Detail::Workload(detail))
    }
}

impl Item for PodTemplateItem {
    fn parts(self) -> (Metadata, Detail) {
        (self.metadata, Detail::Workload(workload(None, None, self.template)))
    }
}

impl Item for ServiceItem {
    fn parts(self) -> (Metadata, Detail) {
        let spec = self.spec.unwrap_or_default();
        let service = inventory::Service {
            selector: spec.selector.unwrap_or_default(),
            service_type: spec.r#type.unwrap_or_default(),
            node_ports: spec.ports.iter().flatten().filter(|port| port.node_port.is_some_and(|port| port > 0)).count(),
        };
        (self.metadata, Detail::Service(service))
    }
}

impl Item for SelectingItem {
    fn parts(self) -> (Metadata, Detail) {
        let spec = self.spec.unwrap_or_default();
        let selector = spec.selector.or(spec.pod_selector).map(Selector::from).unwrap_or_default();
        (self.metadata, Detail::Selecting(selector))
    }
}

impl Item for ClaimItem {
    fn parts(self) -> (Metadata, Detail) {
        let spec = self.spec.unwrap_or_default();
        let requested = spec.resources.and_then(|resources| resources.requests?.remove("storage"));
        (self.metadata, Detail::Claim(inventory::Claim { requested, storage_class: spec.storage_class_name }))
    }
}

impl Item for QuotaItem {
    fn parts(self) -> (Metadata, Detail) {
        let spec = self.spec.unwrap_or_default();
        let status = self.status.unwrap_or_default();
        let plain = spec.scopes.unwrap_or_default().into_iter().map(|name| QuotaScope {
            name,
            operator: "Exists".to_owned(),
            values: Vec::new(),
        });
        let selected = spec.scope_selector.and_then(|selector| selector.match_expressions).unwrap_or_default();
        let selected = selected.into_iter().map(|expression| QuotaScope {
            name: expression.scope_name,
            operator: expression.operator,
            values: expression.values.unwrap_or_default(),
        });
        let quota = inventory::Quota {
            hard: status.hard.unwrap_or_default(),
            used: status.used.unwrap_or_default(),
            scopes: plain.chain(selected).collect(),
        };
        (self.metadata, Detail::Quota(quota))
    }
}
