//! Random worlds of up to 30 objects, and what is asked about them.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    sync::Arc,
};

use fastrand::Rng;

use crate::{
    inventory::{Claim, Detail, Kind, Object, OwnerRef, Pod, References, Route, Scaler, Selector, Service, Workload},
    plan::{Question, Target, sample},
};

const KINDS: [(&str, &str); 17] = [
    ("apps", "Deployment"),
    ("apps", "ReplicaSet"),
    ("apps", "StatefulSet"),
    ("", "Pod"),
    ("", "Service"),
    ("", "ConfigMap"),
    ("", "PersistentVolumeClaim"),
    ("autoscaling", "HorizontalPodAutoscaler"),
    ("networking.k8s.io", "Ingress"),
    ("example.com", "Database"),
    ("apps", "ControllerRevision"),
    ("", "Secret"),
    ("", "ServiceAccount"),
    ("", "Endpoints"),
    ("discovery.k8s.io", "EndpointSlice"),
    ("policy", "PodDisruptionBudget"),
    ("batch", "Job"),
];

const NAMES: [&str; 6] = ["web", "db", "data-db-0", "data-db-1", "web-bcdfg", "demo"];

/// Keys under which worlds call an application.
pub(super) const APP_KEYS: [&str; 2] = ["app.kubernetes.io/name", "app"];

fn labels(rng: &mut Rng) -> BTreeMap<String, String> {
    let mut labels = BTreeMap::new();
    for key in ["app", "app.kubernetes.io/name", "tier", "pod-template-hash"] {
        if rng.u8(..3) == 0 {
            labels.insert(key.to_owned(), ["demo", "other", "third"][rng.usize(..3)].to_owned());
        }
    }
    labels
}

fn name(rng: &mut Rng) -> String {
    NAMES[rng.usize(..NAMES.len())].to_owned()
}

fn uses(rng: &mut Rng) -> References {
    let mut uses = References { config_maps: BTreeSet::from([name(rng)]), ..References::default() };
    match rng.u8(..6) {
        0 => drop(uses.secrets.insert(name(rng))),
        1 => drop(uses.service_accounts.insert(name(rng))),
        2 => drop(uses.claims.insert(name(rng))),
        _ => {}
    }
    uses
}

fn detail(rng: &mut Rng, kind: &str) -> Detail {
    match kind {
        "Deployment" | "ReplicaSet" | "StatefulSet" | "Job" => {
            let template_labels = labels(rng);
            let claim_templates = if kind == "StatefulSet" { vec!["data".to_owned()] } else { Vec::new() };
            let uses = uses(rng);
            let selector = Some(Selector::from_map(&template_labels));
            Detail::Workload(Workload {
                selector,
                template_labels,
                replicas: Some(rng.i64(0..3)),
                uses,
                claim_templates,
                ..Workload::default()
            })
        }
        "Pod" => Detail::Pod(Box::new(Pod { uses: Arc::new(uses(rng)), ..Pod::default() })),
        "Service" => Detail::Service(Service { selector: labels(rng), ..Service::default() }),
        "PodDisruptionBudget" => Detail::Selecting(Selector::from_map(&labels(rng))),
        "PersistentVolumeClaim" => Detail::Claim(Claim::default()),
        "HorizontalPodAutoscaler" => {
            Detail::Scaler(Scaler { group: "apps".into(), kind: "Deployment".into(), name: name(rng) })
        }
        "Ingress" => Detail::Route(Route {
            services: BTreeSet::from([name(rng), name(rng)]),
            secrets: (0..rng.usize(..2)).map(|_| name(rng)).collect(),
            ..Route::default()
        }),
        "ServiceAccount" => Detail::Account(References {
            secrets: (0..rng.usize(..2)).map(|_| name(rng)).collect(),
            ..References::default()
        }),
        _ => Detail::None,
    }
}

/// What is peculiar to a kind: marks, records, names that every namespace has.
fn peculiar(rng: &mut Rng, object: &mut Object) {
    let kind = object.kind.kind.clone();
    let labels = Arc::make_mut(&mut object.labels);
    match kind.as_str() {
        "EndpointSlice" if rng.u8(..4) > 0 => drop(labels.insert("kubernetes.io/service-name".into(), name(rng))),
        "Secret" if rng.bool() => {
            let release = ["web", "demo"][rng.usize(..2)];
            labels.insert("owner".into(), "helm".into());
            labels.insert("name".into(), release.into());
            object.name = format!("sh.helm.release.v1.{release}.v{}", rng.u8(1..3));
        }
        "Job" if rng.u8(..3) == 0 => {
            let due = "batch.kubernetes.io/cronjob-scheduled-timestamp";
            object.annotations.insert(due.into(), "2026-01-01T03:00:00Z".into());
        }
        "Deployment" | "ReplicaSet" | "StatefulSet" if rng.u8(..4) == 0 => {
            let note = serde_json::json!({ "replicas": 2, "pods": [self::labels(rng)] }).to_string();
            object.annotations.insert("kubectl-purge/restore".into(), note);
        }
        "ConfigMap" if rng.u8(..8) == 0 => object.name = "kube-root-ca.crt".into(),
        "ServiceAccount" if rng.u8(..8) == 0 => object.name = "default".into(),
        _ => {}
    }
    if rng.u8(..6) == 0 {
        let release = ["web", "demo"][rng.usize(..2)];
        object.annotations.insert("meta.helm.sh/release-name".into(), release.into());
    }
    match rng.u8(..24) {
        0 | 1 => drop(object.annotations.insert("kubectl-purge/keep".into(), "true".into())),
        2 => drop(object.annotations.insert("helm.sh/resource-policy".into(), "keep".into())),
        _ => {}
    }
}

/// A world of up to 30 objects, with dangling, foreign, several and circular owners.
pub(super) fn world(rng: &mut Rng) -> Vec<Object> {
    let count = rng.usize(1..30);
    let mut objects: Vec<Object> = (0..count)
        .map(|number| {
            let (group, kind) = KINDS[rng.usize(..KINDS.len())];
            let mut object = sample::object(group, kind, &name(rng));
            object.uid = format!("uid-{number}");
            object.labels = labels(rng).into();
            object.generated = rng.bool();
            object.detail = detail(rng, kind);
            peculiar(rng, &mut object);
            object
        })
        .collect();
    for index in 0..count {
        let owners = [0, 0, 1, 1, 1, 2][rng.usize(..6)];
        for number in 0..owners {
            let owner = &objects[rng.usize(..count)];
            let (uid, group) = match rng.u8(..8) {
                0 => ("gone".to_owned(), owner.kind.group.clone()),
                1 => ("elsewhere".to_owned(), "cluster.example".to_owned()),
                _ => (owner.uid.clone(), owner.kind.group.clone()),
            };
            let (kind, name) = (owner.kind.kind.clone(), owner.name.clone());
            let controller = number == 0 && rng.u8(..4) != 0;
            objects[index].owners.push(OwnerRef { uid, group, kind, name, controller });
        }
    }
    objects
}

/// Most often an application by its name; or by a selector, around an object, or what is nobody's.
pub(super) fn question(rng: &mut Rng) -> Question {
    let keys = APP_KEYS.iter().map(|&key| key.to_owned()).collect();
    let target = match rng.u8(..10) {
        0 | 1 => {
            let selectors = ["tier=demo", "app=demo", "tier in (demo, other),app", "app!=other,tier"];
            Target::Matching(Selector::parse(selectors[rng.usize(..selectors.len())]).unwrap())
        }
        2 | 3 => {
            let (group, kind) = KINDS[rng.usize(..KINDS.len())];
            Target::Around { group: group.into(), kind: kind.into(), name: name(rng) }
        }
        4 => Target::Orphans,
        _ => Target::Named { value: "demo".into(), keys },
    };
    Question { include_related: rng.u8(..3) == 0, ..Question::about("demo", target) }
}

pub(super) fn listed() -> HashSet<(String, String)> {
    KINDS.iter().map(|(group, kind)| ((*group).to_owned(), (*kind).to_owned())).collect()
}

/// A kind of its own plural, for the objects of a large world.
pub(super) fn plural(kind: &Kind, plural: &str) -> Kind {
    Kind { plural: plural.into(), ..kind.clone() }
}
