//! What objects use of their namespace: the ConfigMaps, Secrets, claims and accounts that they name.

use crate::inventory::{Detail, Object, References};

/// What an object uses; none for what uses nothing.
pub(super) fn references(object: &Object) -> Option<Uses<'_>> {
    match &object.detail {
        Detail::Pod(pod) => Some(Uses::Of(&pod.uses)),
        Detail::Workload(workload) => Some(Uses::Of(&workload.uses)),
        Detail::Account(uses) => Some(Uses::Of(uses)),
        Detail::Route(route) => Some(Uses::Certificates(route)),
        _ => None,
    }
}

/// Where the names are.
#[derive(Clone, Copy)]
pub(super) enum Uses<'a> {
    Of(&'a References),
    Certificates(&'a crate::inventory::Route),
}

/// Kind and name of everything that is used.
pub(super) fn named(uses: Uses<'_>) -> Vec<(&'static str, &str)> {
    match uses {
        Uses::Of(uses) => [
            ("ConfigMap", &uses.config_maps),
            ("Secret", &uses.secrets),
            ("PersistentVolumeClaim", &uses.claims),
            ("ServiceAccount", &uses.service_accounts),
        ]
        .into_iter()
        .flat_map(|(kind, names)| names.iter().map(move |name| (kind, name.as_str())))
        .collect(),
        Uses::Certificates(route) => route.secrets.iter().map(|name| ("Secret", name.as_str())).collect(),
    }
}

/// How users are ordered where one of several is told.
pub(super) type UserRank = (bool, bool, String);

/// A workload says more than one of its pods, and comes first.
pub(super) fn user_rank(title: &str) -> UserRank {
    (title.starts_with("Pod/"), title.starts_with("ReplicaSet/"), title.to_owned())
}
