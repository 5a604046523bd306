//! The selection against a slow, obvious oracle, over random worlds. `PURGE_MODEL_CASES` and `PURGE_MODEL_SEED` make
//! it longer, or repeat a failure; a million need an optimised build (`--profile model`).

// Long because the worlds, the oracle and what is compared are read side by side.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    io::Write as _,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use fastrand::Rng;

use super::{Action, Choices, Place, Plan, PlanObject, Question, Reason, Selection, Target, app_of, sample};
use crate::inventory::{
    Claim, Controller, Detail, Inventory, Kind, Object, OwnerRef, Pod, References, Route, Scaler, Selector, Service,
    Workload,
};

const KINDS: [(&str, &str); 11] = [
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
];

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
    ["web", "db", "data-db-0", "data-db-1", "web-bcdfg", "demo"][rng.usize(..6)].to_owned()
}

fn detail(rng: &mut Rng, kind: &str) -> Detail {
    match kind {
        "Deployment" | "ReplicaSet" | "StatefulSet" => {
            let template_labels = labels(rng);
            let claim_templates = if kind == "StatefulSet" { vec!["data".to_owned()] } else { Vec::new() };
            let uses = References { config_maps: BTreeSet::from([name(rng)]), ..References::default() };
            let selector = Some(Selector::from_map(&template_labels));
            Detail::Workload(Workload {
                selector,
                template_labels,
                replicas: Some(rng.i64(..3)),
                uses,
                claim_templates,
                ..Workload::default()
            })
        }
        "Pod" => {
            let uses = References { config_maps: BTreeSet::from([name(rng)]), ..References::default() };
            Detail::Pod(Box::new(Pod { uses, ..Pod::default() }))
        }
        "Service" => Detail::Service(Service { selector: labels(rng), ..Service::default() }),
        "PersistentVolumeClaim" => Detail::Claim(Claim::default()),
        "HorizontalPodAutoscaler" => {
            Detail::Scaler(Scaler { group: "apps".into(), kind: "Deployment".into(), name: name(rng) })
        }
        "Ingress" => Detail::Route(Route { services: BTreeSet::from([name(rng), name(rng)]), ..Route::default() }),
        _ => Detail::None,
    }
}

/// A world of up to 30 objects, with dangling, foreign, several and circular owners.
fn world(rng: &mut Rng) -> Vec<Object> {
    let count = rng.usize(1..30);
    let mut objects: Vec<Object> = (0..count)
        .map(|number| {
            let (group, kind) = KINDS[rng.usize(..KINDS.len())];
            let mut object = sample::object(group, kind, &name(rng));
            object.uid = format!("uid-{number}");
            object.labels = labels(rng).into();
            object.generated = rng.bool();
            object.detail = detail(rng, kind);
            if rng.u8(..12) == 0 {
                object.annotations.insert("kubectl-purge/keep".into(), "true".into());
            }
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

fn listed() -> HashSet<(String, String)> {
    KINDS.iter().map(|(group, kind)| ((*group).to_owned(), (*kind).to_owned())).collect()
}

/// The members by the words of the specification, each rule tried on each object, until no rule takes anything.
fn oracle(objects: &[Object], app: &str) -> BTreeSet<String> {
    let inventory = Inventory::new("ns", objects.to_vec(), listed()).unwrap();
    let find = |uid: &str| objects.iter().find(|object| object.uid == uid);
    let controller = |object: &Object| {
        object.controller().and_then(|owner| find(&owner.uid)).filter(|owner| owner.uid != object.uid)
    };
    let orphaned = |object: &Object| {
        let state = inventory.controller(inventory.find(&object.uid).unwrap());
        matches!(object.kind.kind.as_str(), "Pod" | "ReplicaSet" | "ControllerRevision")
            && matches!(state, Controller::None | Controller::Dead)
    };
    let says_app = |object: &Object| {
        ["app.kubernetes.io/name", "app"].iter().any(|key| object.labels.get(*key).is_some_and(|value| value == app))
    };
    // What an object says of itself, or has its pods say, where neither says it is ours.
    let says_ours = |labels: &BTreeMap<String, String>| {
        ["app.kubernetes.io/name", "app"].iter().any(|key| labels.get(*key).is_some_and(|value| value == app))
    };
    let is_anothers = |object: &Object| {
        let template = match &object.detail {
            Detail::Workload(workload) => workload.template_labels.clone(),
            _ => BTreeMap::new(),
        };
        let ours = says_ours(&object.labels) || says_ours(&template);
        !ours && (app_of(&object.labels).is_some() || app_of(&template).is_some())
    };
    let makes_ours = |object: &Object| {
        let Detail::Workload(workload) = &object.detail else { return false };
        let ours = ["app.kubernetes.io/name", "app"]
            .iter()
            .any(|key| workload.template_labels.get(*key).is_some_and(|value| value == app));
        ours && app_of(&object.labels).is_none() && object.controller().is_none()
    };
    let mut members: BTreeSet<String> = objects
        .iter()
        .filter(|object| says_app(object) || makes_ours(object))
        .map(|object| object.uid.clone())
        .collect();
    let mut climbing: Vec<String> = members.iter().cloned().collect();
    loop {
        let before = members.clone();
        // controls: up to the top, unless the parent has children of another application.
        while !climbing.is_empty() {
            let parents: BTreeSet<String> = climbing
                .iter()
                .filter_map(|uid| controller(find(uid)?))
                .map(|parent| parent.uid.clone())
                .filter(|uid| !members.contains(uid))
                .collect();
            // Shared: the parent, or anything below it that is no member, says it is another's.
            let is_shared = |parent: &String| {
                let mut below = BTreeSet::from([parent.clone()]);
                loop {
                    let more: Vec<String> = objects
                        .iter()
                        .filter(|child| !below.contains(&child.uid))
                        .filter(|child| child.owners.iter().any(|owner| below.contains(&owner.uid)))
                        .map(|child| child.uid.clone())
                        .collect();
                    if more.is_empty() {
                        break;
                    }
                    below.extend(more);
                }
                below.iter().any(|uid| !members.contains(uid) && is_anothers(find(uid).unwrap()))
            };
            // All that are taken at once are judged before any of them is a member, in the order of their place.
            let mut taken = Vec::new();
            for object in objects.iter().filter(|object| parents.contains(&object.uid)) {
                if !is_shared(&object.uid) {
                    taken.push(object.uid.clone());
                }
            }
            members.extend(taken.iter().cloned());
            climbing = taken;
        }
        // owned: everything below a member.
        loop {
            let owned: Vec<String> = objects
                .iter()
                .filter(|object| !members.contains(&object.uid))
                .filter(|object| object.owners.iter().any(|owner| members.contains(&owner.uid)))
                .map(|object| object.uid.clone())
                .collect();
            if owned.is_empty() {
                break;
            }
            members.extend(owned);
        }
        let spread = members.clone();
        // orphan: picked by a member's selector.
        let picked: Vec<String> = objects
            .iter()
            .filter(|object| orphaned(object) && !object.labels.is_empty())
            .filter(|object| members.contains(&object.uid) || !is_anothers(object))
            .filter(|object| {
                objects.iter().filter(|member| members.contains(&member.uid)).any(|member| match &member.detail {
                    Detail::Workload(workload) => workload
                        .selector
                        .as_ref()
                        .is_some_and(|selector| !selector.is_empty() && selector.matches(&object.labels)),
                    _ => false,
                })
            })
            .map(|object| object.uid.clone())
            .collect();
        members.extend(picked);
        // selects: this application's pods and nobody else's.
        let pod_labels = |object: &Object| match &object.detail {
            Detail::Pod(_) => Some((*object.labels).clone()),
            Detail::Workload(workload) => Some(workload.template_labels.clone()),
            _ => None,
        };
        let selecting: Vec<String> = objects
            .iter()
            .filter(|object| match &object.detail {
                Detail::Service(service) => {
                    let selector = Selector::from_map(&service.selector);
                    let picks = |own: bool| {
                        objects
                            .iter()
                            .filter(|pod| members.contains(&pod.uid) == own)
                            .filter_map(pod_labels)
                            .any(|labels| selector.matches(&labels))
                    };
                    !service.selector.is_empty()
                        && picks(true)
                        && !picks(false)
                        && (!is_anothers(object) || members.contains(&object.uid))
                }
                _ => false,
            })
            .map(|object| object.uid.clone())
            .collect();
        members.extend(selecting);
        // targets, then routes, then claims: by name.
        let is_member = |members: &BTreeSet<String>, kind: &str, name: &str| {
            objects
                .iter()
                .any(|object| object.kind.kind == kind && object.name == name && members.contains(&object.uid))
        };
        let targeting: Vec<String> = objects
            .iter()
            .filter(|object| matches!(&object.detail, Detail::Scaler(scaler) if is_member(&members, &scaler.kind, &scaler.name)))
            .map(|object| object.uid.clone())
            .collect();
        let theirs = |uid: &String| is_anothers(find(uid).unwrap());
        members.extend(targeting.into_iter().filter(|uid| !theirs(uid)));
        let routing: Vec<String> = objects
            .iter()
            .filter(|object| matches!(&object.detail, Detail::Route(route) if route.services.iter().any(|service| is_member(&members, "Service", service))))
            .map(|object| object.uid.clone())
            .collect();
        members.extend(routing.into_iter().filter(|uid| !theirs(uid)));
        let claims: Vec<String> = objects
            .iter()
            .filter(|object| object.kind.kind == "PersistentVolumeClaim")
            .filter(|object| {
                ["db", "web"].iter().any(|set| {
                    is_member(&members, "StatefulSet", set)
                        && (object.name == format!("data-{set}-0") || object.name == format!("data-{set}-1"))
                })
            })
            .map(|object| object.uid.clone())
            .collect();
        members.extend(claims);
        climbing = members.difference(&spread).cloned().collect();
        if members == before {
            return members;
        }
    }
}

fn plan(objects: &[Object]) -> (BTreeMap<String, Vec<String>>, Plan) {
    let inventory = Inventory::new("ns", objects.to_vec(), listed()).unwrap();
    let question = Question::about(
        "demo",
        Target::Named { value: "demo".into(), keys: vec!["app.kubernetes.io/name".into(), "app".into()] },
    );
    let selection = Selection::of(&inventory, &question);
    let plan = Plan::draft(&inventory, &selection, &question, &Choices::default(), Place::default(), Vec::new());
    let why = selection
        .members
        .iter()
        .map(|(&index, reasons)| {
            (inventory.objects()[index].uid.clone(), reasons.iter().map(ToString::to_string).collect())
        })
        .collect();
    (why, plan)
}

fn described(plan: &Plan) -> Vec<String> {
    let line = |object: &PlanObject| {
        format!("{} {} {:?} {:?} {:?}", object.uid, object.action.name(), object.wave, object.scale, object.notes)
    };
    let mut lines: Vec<String> = plan.objects.iter().map(line).collect();
    lines.sort();
    lines
}

/// Keeping is worth something only if what is kept does not lose its owner, nor its children.
fn assert_keeping_holds(objects: &[Object], plan: &Plan) {
    let going: BTreeSet<&str> = plan.going().map(|object| object.uid.as_str()).collect();
    for kept in plan.objects.iter().filter(|object| object.action == Action::Keep) {
        let object = objects.iter().find(|object| object.uid == kept.uid).unwrap();
        let living = |owner: &&OwnerRef| owner.uid != object.uid && objects.iter().any(|other| other.uid == owner.uid);
        let owners: Vec<&OwnerRef> = object.owners.iter().filter(living).collect();
        let by_set = |owner: &OwnerRef| {
            let owner = objects.iter().find(|other| other.uid == owner.uid).unwrap();
            let set = owner.controller().and_then(|above| objects.iter().find(|other| other.uid == above.uid));
            owner.kind.kind == "StatefulSet"
                || owner.kind.kind == "Pod" && set.is_some_and(|set| set.kind.kind == "StatefulSet")
        };
        let disarmed = object.kind.kind == "PersistentVolumeClaim" && owners.iter().all(|owner| by_set(owner));
        let survives = owners.is_empty() || disarmed || owners.iter().any(|owner| !going.contains(owner.uid.as_str()));
        assert!(survives, "{} is kept and all its owners go", kept.uid);
        for child in objects.iter().filter(|child| child.owners.iter().any(|owner| owner.uid == kept.uid)) {
            assert!(
                child.uid == kept.uid || !going.contains(child.uid.as_str()),
                "{} goes, child of kept {}",
                child.uid,
                kept.uid
            );
        }
    }
}

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// What speaks for the members of one world, by its kind, after everything about the world has been found right.
fn examine(seed: u64) -> Vec<&'static str> {
    let mut rng = Rng::with_seed(seed);
    let objects = world(&mut rng);
    let (why, plan) = plan(&objects);
    let members: BTreeSet<String> = why.keys().cloned().collect();
    assert_eq!(members, oracle(&objects, "demo"), "PURGE_MODEL_SEED={seed} {objects:#?}");
    assert!(why.values().all(|reasons| !reasons.is_empty()), "PURGE_MODEL_SEED={seed}");
    assert_keeping_holds(&objects, &plan);
    let mut shuffled = objects.clone();
    rng.shuffle(&mut shuffled);
    let (why_shuffled, plan_shuffled) = self::plan(&shuffled);
    assert_eq!(why, why_shuffled, "PURGE_MODEL_SEED={seed}");
    assert_eq!(described(&plan), described(&plan_shuffled), "PURGE_MODEL_SEED={seed}");
    let kept = plan.objects.iter().filter(|object| !object.goes()).map(|_| "kept");
    plan.objects.iter().flat_map(|object| object.reasons.iter().map(evidence)).chain(kept).collect()
}

fn evidence(reason: &Reason) -> &'static str {
    match reason {
        Reason::Named => "named",
        Reason::Matches => "matches",
        Reason::Label { .. } => "label",
        Reason::Template { .. } => "template",
        Reason::Owned { .. } => "owned",
        Reason::Controls { .. } => "controls",
        Reason::OrphanLabel { .. } => "orphan, by label",
        Reason::OrphanSelector { .. } => "orphan, by selector",
        Reason::Orphan { .. } => "orphan",
        Reason::Endpoints { .. } => "endpoints",
        Reason::Selects => "selects",
        Reason::Targets { .. } => "targets",
        Reason::Routes { .. } => "routes",
        Reason::Claims { .. } => "claims",
        Reason::Record { .. } => "record",
        Reason::Used { .. } => "used",
    }
}

#[test]
fn the_selection_agrees_with_the_oracle_on_random_worlds() {
    let first = number("PURGE_MODEL_SEED", 1);
    let cases = number("PURGE_MODEL_CASES", 3_000);
    let next = AtomicU64::new(first);
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let mut evidence: BTreeMap<&str, u64> = BTreeMap::new();
    std::thread::scope(|scope| {
        let work = || {
            let mut found: BTreeMap<&str, u64> = BTreeMap::new();
            loop {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if seed >= first + cases {
                    return found;
                }
                for what in examine(seed) {
                    *found.entry(what).or_default() += 1;
                }
            }
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        for worker in workers {
            for (what, count) in worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)) {
                *evidence.entry(what).or_default() += count;
            }
        }
    });
    // What never comes about is not tested by any number of worlds.
    let due = "label/template/owned/controls/orphan, by label/orphan, by selector/selects/targets/routes/kept";
    for what in due.split('/') {
        assert!(evidence.contains_key(what) || cases < 1_000, "no world has anything by {what}");
    }
    let figures = format!("model: {cases} worlds from seed {first} agree with the oracle in any order: {evidence:?}\n");
    std::io::stderr().write_all(figures.as_bytes()).unwrap();
}

/// One namespace of a hundred thousand objects, among them the application's thousand pods.
#[test]
fn a_hundred_thousand_objects_are_planned() {
    let mut objects: Vec<Object> = (0..99_000)
        .map(|number| {
            let mut object = sample::object("", "ConfigMap", &format!("c-{number}"));
            Arc::make_mut(&mut object.labels).insert("app".into(), format!("app-{}", number % 500));
            object
        })
        .collect();
    let mut set = sample::object("apps", "ReplicaSet", "web");
    Arc::make_mut(&mut set.labels).insert("app".into(), "demo".into());
    let owner = OwnerRef {
        uid: set.uid.clone(),
        group: "apps".into(),
        kind: "ReplicaSet".into(),
        name: "web".into(),
        controller: true,
    };
    objects.push(set);
    for number in 0..999 {
        let mut pod = sample::object("", "Pod", &format!("web-{number}"));
        pod.kind = Arc::new(Kind { plural: "pods".into(), ..(*pod.kind).clone() });
        pod.owners.push(owner.clone());
        pod.detail = Detail::Pod(Box::default());
        objects.push(pod);
    }
    let begun = std::time::Instant::now();
    let (why, plan) = plan(&objects);
    assert_eq!((why.len(), plan.going().count()), (1000, 1000));
    // Not a measurement: only that nothing in it is quadratic, which would take minutes.
    assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
}
