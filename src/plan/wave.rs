//! The waves of deletion: each begins when the one before it has gone.

use serde::Serialize;

use crate::inventory::Kind;

/// A step of the irreversible half. The order of the variants is the order of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Wave {
    /// Custom resources that own workloads, autoscalers, disruption budgets: what would act against the rest.
    Owners,
    /// Ingress, HTTPRoute and kin: their controllers need the Service to clean up after themselves.
    Routes,
    /// Everything that makes pods, and the pods.
    Workloads,
    /// Services and their endpoints.
    Services,
    /// ConfigMaps, Secrets and every kind not named elsewhere.
    Config,
    /// Roles, bindings, service accounts, network policies: what the others needed while they stopped.
    Access,
    /// `PersistentVolumeClaims`: every pod that mounts them has gone by now.
    Claims,
}

impl Wave {
    /// All waves in the order of the run.
    pub const ALL: [Self; 7] =
        [Self::Owners, Self::Routes, Self::Workloads, Self::Services, Self::Config, Self::Access, Self::Claims];

    /// The name that the plan, the report and the progress display use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Owners => "owners",
            Self::Routes => "routes",
            Self::Workloads => "workloads",
            Self::Services => "services",
            Self::Config => "config",
            Self::Access => "access",
            Self::Claims => "claims",
        }
    }

    /// The wave a kind goes in, unless it is a custom resource that owns workloads (see [`Wave::Owners`]).
    #[must_use]
    pub fn of(kind: &Kind) -> Self {
        match (kind.group.as_str(), kind.kind.as_str()) {
            ("autoscaling" | "autoscaling.k8s.io" | "keda.sh", _) | ("policy", "PodDisruptionBudget") => Self::Owners,
            ("networking.k8s.io" | "extensions", "Ingress")
            | ("gateway.networking.k8s.io" | "route.openshift.io", _) => Self::Routes,
            ("", "PodTemplate" | "ReplicationController" | "Pod")
            | ("batch", "CronJob" | "Job")
            | ("apps", "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet" | "ControllerRevision") => {
                Self::Workloads
            }
            ("", "Service" | "Endpoints") | ("discovery.k8s.io", "EndpointSlice") => Self::Services,
            ("rbac.authorization.k8s.io", _) | ("", "ServiceAccount") | ("networking.k8s.io", "NetworkPolicy") => {
                Self::Access
            }
            ("", "PersistentVolumeClaim") => Self::Claims,
            _ => Self::Config,
        }
    }
}
