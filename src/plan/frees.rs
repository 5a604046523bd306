//! What the plan gives back to the namespace's quotas.
//!
//! Source of what a quota counts: `k8s.io/kubernetes/pkg/quota/v1/evaluator/core`.

use std::collections::BTreeMap;

use super::{Frees, PlanObject};
use crate::inventory::{Detail, Inventory, Object, Pod, Quantity, Quota, QuotaScope};

/// One line a quota and resource of which the going objects are charged something.
pub(super) fn frees(inventory: &Inventory, going: &[&PlanObject]) -> Vec<Frees> {
    let objects: Vec<&Object> = going
        .iter()
        .filter_map(|object| inventory.find(&object.uid))
        .map(|index| &inventory.objects()[index])
        .collect();
    let mut frees = Vec::new();
    for object in inventory.objects() {
        let Detail::Quota(quota) = &object.detail else { continue };
        for (resource, amount) in charged(quota, objects.iter().copied()) {
            let used = quota.used.get(&resource).cloned().unwrap_or_else(|| "0".to_owned());
            let hard = quota.hard.get(&resource).cloned().unwrap_or_default();
            let amount = amount.display_like(&hard);
            frees.push(Frees { quota: object.name.clone(), resource, amount, used, hard });
        }
    }
    frees.sort_by(|a, b| (&a.quota, &a.resource).cmp(&(&b.quota, &b.resource)));
    frees
}

/// What a quota charges these objects, by resource; nothing where it is nothing.
pub fn charged<'a>(quota: &Quota, objects: impl IntoIterator<Item = &'a Object>) -> BTreeMap<String, Quantity> {
    let mut total: BTreeMap<String, Quantity> = BTreeMap::new();
    for object in objects {
        for resource in quota.hard.keys() {
            if let Some(amount) = charge(quota, resource, object).filter(|amount| !amount.is_zero()) {
                *total.entry(resource.clone()).or_default() += amount;
            }
        }
    }
    total
}

/// What one object is charged of one resource of a quota.
fn charge(quota: &Quota, resource: &str, object: &Object) -> Option<Quantity> {
    if let Some(counted) = resource.strip_prefix("count/") {
        return (counted == object.kind.resource() && quota.scopes.iter().all(|scope| scope.admits(object)))
            .then_some(Quantity::whole(1));
    }
    let one = |yes: bool| yes.then_some(Quantity::whole(1));
    match &object.detail {
        Detail::Pod(pod) => {
            if pod.is_terminal() || object.overdue || !quota.scopes.iter().all(|scope| scope.admits(object)) {
                return None;
            }
            match resource {
                "pods" => one(true),
                "cpu" | "memory" | "ephemeral-storage" => pod.charge.get(&format!("requests.{resource}")).copied(),
                "requests.storage" => None,
                _ => pod.charge.get(resource).copied(),
            }
        }
        // Scopes other than of pods leave other objects out.
        _ if !quota.scopes.is_empty() => None,
        Detail::Service(service) => match resource {
            "services" => one(true),
            "services.loadbalancers" => one(service.service_type == "LoadBalancer"),
            "services.nodeports" => Some(Quantity::whole(i64::try_from(service.node_ports).unwrap_or(i64::MAX))),
            _ => None,
        },
        Detail::Claim(claim) => {
            let size = || claim.requested.as_deref().and_then(Quantity::parse);
            let class = claim.storage_class.as_deref().unwrap_or_default();
            let of_class = resource.strip_prefix(class).filter(|_| !class.is_empty());
            // `persistentvolumeclaims`, or `CLASS.storageclass.storage.k8s.io/persistentvolumeclaims`.
            match of_class.and_then(|rest| rest.strip_prefix(".storageclass.storage.k8s.io/")).unwrap_or(resource) {
                "persistentvolumeclaims" => one(true),
                "requests.storage" => size(),
                _ => None,
            }
        }
        _ => one(object.kind.group.is_empty()
            && object.kind.plural == resource
            && matches!(resource, "configmaps" | "secrets" | "replicationcontrollers" | "resourcequotas")),
    }
}

impl QuotaScope {
    /// Whether a pod falls under the scope.
    fn admits(&self, object: &Object) -> bool {
        let Detail::Pod(pod) = &object.detail else { return false };
        let holds = match self.name.as_str() {
            "BestEffort" => is_best_effort(pod),
            "NotBestEffort" => !is_best_effort(pod),
            "Terminating" => pod.active_deadline,
            "NotTerminating" => !pod.active_deadline,
            "PriorityClass" => {
                let class = pod.priority_class.as_deref();
                return match self.operator.as_str() {
                    "In" => class.is_some_and(|class| self.values.iter().any(|value| value == class)),
                    "NotIn" => class.is_none_or(|class| self.values.iter().all(|value| value != class)),
                    "DoesNotExist" => class.is_none(),
                    _ => class.is_some(),
                };
            }
            // A scope of a newer API: nothing is promised to come free of it.
            _ => false,
        };
        if self.operator == "DoesNotExist" { !holds } else { holds }
    }
}

/// Asks for no cpu and no memory and is held to none.
fn is_best_effort(pod: &Pod) -> bool {
    ["requests.cpu", "requests.memory", "limits.cpu", "limits.memory"]
        .iter()
        .all(|resource| pod.charge.get(*resource).is_none_or(|amount| amount.is_zero()))
}
