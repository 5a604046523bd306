//! What is kept although it belongs to the application, and the sentence that says why.

use std::collections::BTreeMap;

use super::{Choices, Selection, needed, selection::belongs_to_the_namespace};
use crate::inventory::{Controller, Detail, Inventory, Object};

/// Annotations by which the ecosystem says keep, with the value that says it; an empty value stands for any but
/// `false`.
const KEEP_ANNOTATIONS: [(&str, &str); 11] = [
    ("kubectl-purge/keep", ""),
    ("helm.sh/resource-policy", "keep"),
    ("kapp.k14s.io/delete-strategy", "orphan"),
    ("client.lifecycle.config.k8s.io/deletion", "detach"),
    ("cli-utils.sigs.k8s.io/on-remove", "keep"),
    ("kustomize.toolkit.fluxcd.io/prune", "disabled"),
    ("kluctl.io/skip-delete", ""),
    ("werf.io/resource-policy", "keep"),
    ("dev.okteto.com/policy", "keep"),
    ("tilt.dev/down-policy", "keep"),
    ("argocd.argoproj.io/sync-options", ""),
];

/// Members that stay, by position, each with the reason. What stays is no part of the purge any more, so what it
/// needs stays too, and what that needs, until nothing is added.
pub(super) fn kept(inventory: &Inventory, selection: &Selection, choices: &Choices) -> BTreeMap<usize, String> {
    let mut kept = BTreeMap::new();
    for &index in selection.members.keys() {
        let object = &inventory.objects()[index];
        let why = excluded(object, choices)
            .or_else(|| choices.refused.get(&object.uid).cloned())
            .or_else(|| annotated(object))
            .or_else(|| shared_by_nature(object))
            .or_else(|| data(object, choices.delete_data))
            .or_else(|| owned_elsewhere(inventory, selection, index));
        if let Some(why) = why {
            kept.insert(index, why);
        }
    }
    loop {
        let before = kept.len();
        needed::by_others(inventory, selection, &mut kept);
        spread(inventory, selection, &mut kept);
        if kept.len() == before {
            return kept;
        }
    }
}

/// What the user keeps.
fn excluded(object: &Object, choices: &Choices) -> Option<String> {
    let named = |(group, kind, name): &(String, String, String)| object.kind.is(group, kind) && object.name == *name;
    choices.exclude.iter().any(named).then(|| "excluded (--exclude)".to_owned())
}

/// What an annotation keeps.
pub(super) fn annotated(object: &Object) -> Option<String> {
    KEEP_ANNOTATIONS.iter().find_map(|(key, keep)| {
        let value = object.annotations.get(*key)?;
        let says = if *key == "argocd.argoproj.io/sync-options" {
            value.split(',').any(|option| matches!(option.trim(), "Delete=false" | "Prune=false"))
        } else if keep.is_empty() {
            value != "false"
        } else {
            value.split(',').any(|word| word.trim() == *keep)
        };
        says.then(|| format!("annotation {key}: {value}"))
    })
}

/// What bounds the namespace as a whole.
fn shared_by_nature(object: &Object) -> Option<String> {
    let shared = object.kind.is("", "ResourceQuota") || object.kind.is("", "LimitRange");
    (shared || belongs_to_the_namespace(object)).then(|| "belongs to the namespace".to_owned())
}

fn data(object: &Object, delete_data: bool) -> Option<String> {
    let claim = matches!(object.detail, Detail::Claim(_));
    (claim && !delete_data && !is_ephemeral(object)).then(|| "holds data (--delete-data)".to_owned())
}

/// Whether it is the claim of a pod's own ephemeral volume, called after both, which lives and dies with the pod.
fn is_ephemeral(claim: &Object) -> bool {
    claim.controller().is_some_and(|owner| {
        owner.kind == "Pod" && claim.name.strip_prefix(owner.name.as_str()).is_some_and(|rest| rest.starts_with('-'))
    })
}

/// An owner outside the application that lives, or may live.
fn owned_elsewhere(inventory: &Inventory, selection: &Selection, index: usize) -> Option<String> {
    inventory.objects()[index].owners.iter().find_map(|owner| {
        let outside = match inventory.owner_state(owner) {
            Controller::Living(owner) => !selection.contains(owner),
            // Of a controller that nobody saw a guard speaks.
            Controller::Unknown | Controller::Unseen => !owner.controller,
            Controller::Dead | Controller::None => false,
        };
        outside.then(|| format!("also owned by {}/{}", owner.kind, owner.name))
    })
}

/// Keeping spreads along ownership. What is kept must not lose its owner, or the garbage collector takes it; and
/// what a kept object owns is part of it. Step by step, so that the nearest reason is told, whatever order things
/// came in.
fn spread(inventory: &Inventory, selection: &Selection, kept: &mut BTreeMap<usize, String>) {
    let mut fresh: Vec<usize> = kept.keys().copied().collect();
    while !fresh.is_empty() {
        let mut next: BTreeMap<usize, String> = BTreeMap::new();
        for index in fresh {
            let title = inventory.objects()[index].title();
            let up = (!outlives_its_owners(inventory, selection, kept, index))
                .then(|| inventory.owners(index).iter().map(|&owner| (owner, format!("owns {title}, which is kept"))));
            let down =
                inventory.children(index).iter().map(|&child| (child, format!("owned by {title}, which is kept")));
            for (other, why) in up.into_iter().flatten().chain(down) {
                if selection.contains(other) && !kept.contains_key(&other) {
                    let first = next.entry(other).or_insert_with(|| why.clone());
                    *first = why.min(first.clone());
                }
            }
        }
        fresh = next.keys().copied().collect();
        kept.extend(next);
    }
}

/// Whether a kept object stays although owners of it go: another one lives on, so the garbage collector spares it, or
/// it is a claim that a StatefulSet or its pod owns only by the set's policy, which is disarmed before anything goes.
fn outlives_its_owners(
    inventory: &Inventory,
    selection: &Selection,
    kept: &BTreeMap<usize, String>,
    index: usize,
) -> bool {
    let stays = |owner: &usize| !selection.contains(*owner) || kept.contains_key(owner);
    let is_claim = matches!(inventory.objects()[index].detail, Detail::Claim(_));
    let owners = inventory.owners(index);
    owners.iter().any(stays) || is_claim && owners.iter().all(|&owner| is_of_a_disarmed_set(inventory, owner))
}

/// A StatefulSet with such a policy, or a pod of one.
fn is_of_a_disarmed_set(inventory: &Inventory, index: usize) -> bool {
    let is_set = |index: usize| {
        let object = &inventory.objects()[index];
        let has_policy = matches!(&object.detail, Detail::Workload(workload) if workload.claims.is_some());
        object.kind.is("apps", "StatefulSet") && has_policy
    };
    let by_set = matches!(inventory.controller(index), Controller::Living(owner) if is_set(owner));
    is_set(index) || by_set && inventory.objects()[index].kind.is("", "Pod")
}

#[cfg(test)]
mod tests {
    use super::annotated;
    use crate::plan::sample::object;

    #[test]
    fn every_way_of_the_ecosystem_to_say_keep_is_heard() {
        let says_keep = |key: &str, value: &str| {
            let mut object = object("", "ConfigMap", "c");
            object.annotations.insert(key.into(), value.into());
            annotated(&object).is_some()
        };
        for (key, value) in [
            ("kubectl-purge/keep", "true"),
            ("helm.sh/resource-policy", "keep"),
            ("argocd.argoproj.io/sync-options", "Validate=false, Delete=false"),
            ("argocd.argoproj.io/sync-options", "Prune=false"),
            ("kapp.k14s.io/delete-strategy", "orphan"),
            ("client.lifecycle.config.k8s.io/deletion", "detach"),
            ("cli-utils.sigs.k8s.io/on-remove", "keep"),
            ("kustomize.toolkit.fluxcd.io/prune", "disabled"),
            ("kluctl.io/skip-delete", "true"),
            ("werf.io/resource-policy", "keep"),
            ("dev.okteto.com/policy", "keep"),
            ("tilt.dev/down-policy", "keep"),
        ] {
            assert!(says_keep(key, value), "{key}={value}");
        }
        for (key, value) in [
            ("kubectl-purge/keep", "false"),
            ("helm.sh/resource-policy", "delete"),
            ("argocd.argoproj.io/sync-options", "Delete=true"),
            ("kustomize.toolkit.fluxcd.io/prune", "enabled"),
            ("example.com/keep", "true"),
        ] {
            assert!(!says_keep(key, value), "{key}={value}");
        }
    }
}
