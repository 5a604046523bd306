//! What of an object's spec and status the plan needs, by kind. Nothing else is kept.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde::{Deserialize, Serialize};

use super::{Quantity, Selector};

/// The part of an object beyond its metadata.
#[derive(Clone, Debug, Default)]
pub enum Detail {
    /// Only metadata was listed, or nothing more is needed.
    #[default]
    None,
    Workload(Workload),
    Pod(Box<Pod>),
    Service(Service),
    /// PodDisruptionBudget, NetworkPolicy: they select pods.
    Selecting(Selector),
    Claim(Claim),
    Quota(Quota),
    Scaler(Scaler),
    Route(Route),
    Account(References),
    Binding(Binding),
}

/// RoleBinding: what it grants, and to which ServiceAccounts of its own namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Binding {
    /// Name of the Role; none where a ClusterRole is granted.
    pub role: Option<String>,
    pub accounts: BTreeSet<String>,
    /// Whether it also grants to users, groups or accounts of other namespaces.
    pub elsewhere: bool,
}

/// Deployment, ReplicaSet, StatefulSet, DaemonSet, ReplicationController, Job, CronJob, PodTemplate.
#[derive(Clone, Debug, Default)]
pub struct Workload {
    /// The pods it counts as its own; none for kinds that select nothing.
    pub selector: Option<Selector>,
    /// Labels that its pods are born with.
    pub template_labels: BTreeMap<String, String>,
    /// Replicas asked for; none for kinds that have no such count.
    pub replicas: Option<i64>,
    /// What its pods are born using.
    pub uses: References,
    /// CronJob, Job: it makes no pods for now.
    pub suspended: bool,
    /// A Job that has completed or failed: it makes no pods any more.
    pub finished: bool,
    /// StatefulSet: what becomes of its claims, where that is not simply to stay.
    pub claims: Option<ClaimPolicy>,
    /// Names of a StatefulSet's claim templates: its claims are called `TEMPLATE-STATEFULSET-ORDINAL`.
    pub claim_templates: Vec<String>,
}

/// `persistentVolumeClaimRetentionPolicy` of a StatefulSet: `Retain` or `Delete`, each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClaimPolicy {
    /// When the StatefulSet is deleted.
    pub when_deleted: String,
    /// When it is scaled down.
    pub when_scaled: String,
}

/// A pod.
#[derive(Clone, Debug, Default)]
pub struct Pod {
    /// `Pending`, `Running`, `Succeeded`, `Failed`, `Unknown`, or empty.
    pub phase: String,
    /// Why it is in that phase, such as `Evicted`; empty where none is given.
    pub reason: String,
    pub node: Option<String>,
    /// What it asks for, by resource name as in a quota: `requests.cpu`, `limits.memory`, `requests.nvidia.com/gpu`.
    pub charge: Arc<BTreeMap<String, Quantity>>,
    pub priority_class: Option<String>,
    pub active_deadline: bool,
    pub uses: Arc<References>,
}

impl Pod {
    /// Shares with its like what is the same: of many pods of one template, that is the larger part of each.
    pub fn share_with(&mut self, other: &Self) {
        if self.charge == other.charge {
            self.charge = other.charge.clone();
        }
        if self.uses == other.uses {
            self.uses = other.uses.clone();
        }
    }

    /// Succeeded or Failed: it runs no more and is charged to no compute quota.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        matches!(self.phase.as_str(), "Succeeded" | "Failed")
    }
}

/// What a pod or a pod template names of its namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct References {
    pub config_maps: BTreeSet<String>,
    pub secrets: BTreeSet<String>,
    pub claims: BTreeSet<String>,
    pub service_accounts: BTreeSet<String>,
}

/// A Service.
#[derive(Clone, Debug, Default)]
pub struct Service {
    /// Empty: the endpoints are made by somebody else.
    pub selector: BTreeMap<String, String>,
    /// `ClusterIP`, `NodePort`, `LoadBalancer`, `ExternalName`.
    pub service_type: String,
    /// Number of node ports it holds.
    pub node_ports: usize,
}

/// A PersistentVolumeClaim.
#[derive(Clone, Debug, Default)]
pub struct Claim {
    pub requested: Option<String>,
    pub storage_class: Option<String>,
}

/// HorizontalPodAutoscaler, VerticalPodAutoscaler, KEDA ScaledObject: it acts on one object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scaler {
    /// API group of the target's kind; empty for the core group, and where none is given.
    pub group: String,
    pub kind: String,
    pub name: String,
}

/// Ingress, HTTPRoute and kin, OpenShift Route.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Route {
    /// Names of the Services it sends to, in its own namespace.
    pub services: BTreeSet<String>,
    /// Whether it also sends elsewhere: another namespace, a bucket, a custom backend.
    pub elsewhere: bool,
    /// Names of Secrets with certificates.
    pub secrets: BTreeSet<String>,
}

/// A ResourceQuota, as the server wrote its numbers.
#[derive(Clone, Debug, Default)]
pub struct Quota {
    pub hard: BTreeMap<String, String>,
    pub used: BTreeMap<String, String>,
    /// Names of the scopes that all must match, with the values of those that have any.
    pub scopes: Vec<QuotaScope>,
}

/// One scope of a quota.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuotaScope {
    /// `BestEffort`, `NotBestEffort`, `Terminating`, `NotTerminating`, `PriorityClass`, ….
    pub name: String,
    /// `In`, `NotIn`, `Exists`, `DoesNotExist`.
    pub operator: String,
    pub values: Vec<String>,
}
