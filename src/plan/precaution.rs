//! What has to be done to an object before anything else, or it would act against the run. All of it can be undone.

use crate::inventory::{ClaimPolicy, Detail, Object};

/// By which an annotation pauses what KEDA scales.
pub const KEDA_PAUSES: [&str; 2] = ["autoscaling.keda.sh/paused-replicas", "autoscaling.keda.sh/paused"];

/// A step of the pause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Precaution {
    /// A CronJob or a Job is suspended.
    Suspend,
    /// KEDA is told to leave the workload alone, by the annotation of this key and value.
    Pause { key: &'static str, value: &'static str },
    /// An autoscaler with `minReplicas: 0` would wake a workload that stands at 0.
    DeleteFirst,
    /// The StatefulSet's policy is set to retain: else scaling or deleting it would destroy its claims.
    RetainClaims(ClaimPolicy),
}

impl Precaution {
    /// What this object needs.
    pub(super) fn of(object: &Object, scales_down: bool) -> Option<Self> {
        let workload = match &object.detail {
            Detail::Workload(workload) => Some(workload),
            _ => None,
        };
        if object.deletion.is_some() {
            return None;
        }
        match (object.kind.group.as_str(), object.kind.kind.as_str()) {
            ("apps", "StatefulSet") => workload?.claims.clone().map(Self::RetainClaims),
            ("batch", "CronJob" | "Job") => {
                let idle = workload.is_some_and(|workload| workload.suspended || workload.finished);
                (scales_down && !idle).then_some(Self::Suspend)
            }
            ("keda.sh", kind @ ("ScaledObject" | "ScaledJob")) => {
                let paused = KEDA_PAUSES.iter().any(|key| object.annotations.contains_key(*key));
                let how = if kind == "ScaledObject" {
                    Self::Pause { key: KEDA_PAUSES[0], value: "0" }
                } else {
                    Self::Pause { key: KEDA_PAUSES[1], value: "true" }
                };
                (scales_down && !paused).then_some(how)
            }
            _ => None,
        }
    }

    /// The note in the plan.
    #[must_use]
    pub fn sentence(&self) -> String {
        match self {
            Self::Suspend => "suspended first".to_owned(),
            Self::Pause { .. } => "paused first".to_owned(),
            Self::DeleteFirst => "goes first: it could scale up from 0".to_owned(),
            Self::RetainClaims(policy) => {
                let when = match (policy.when_scaled == "Delete", policy.when_deleted == "Delete") {
                    (true, false) => "whenScaled",
                    (false, true) => "whenDeleted",
                    _ => "whenScaled and whenDeleted",
                };
                format!("its policy is set to retain its claims first ({when}: Delete would destroy them)")
            }
        }
    }
}
