//! Users who may do part of what the documented Role allows: what they may not see is never called empty, and what is
//! missing is found before anything is changed.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, OnceLock},
};

use control_plane::{AuditEvent, ControlPlane, Rule};
use fastrand::Rng;

use crate::{harness::World, series::Series};

fn plane() -> &'static ControlPlane {
    static PLANE: OnceLock<ControlPlane> = OnceLock::new();
    PLANE.get_or_init(|| ControlPlane::builder().nodes(1).audit_log_with_bodies().start().unwrap())
}

/// Users at work at once: most of a run is waiting.
const AT_ONCE: usize = 4;

/// Group and plural of what the application is made of.
const RESOURCES: [(&str, &str); 9] = [
    ("apps", "deployments"),
    ("apps", "replicasets"),
    ("", "pods"),
    ("", "services"),
    ("", "endpoints"),
    ("discovery.k8s.io", "endpointslices"),
    ("", "configmaps"),
    ("", "secrets"),
    ("networking.k8s.io", "ingresses"),
];

const APPLICATION: &str = "
{ apiVersion: v1, kind: ConfigMap, metadata: { name: conf, labels: { app: demo } } }
---
{ apiVersion: v1, kind: Secret, metadata: { name: secret, labels: { app: demo } }, stringData: { key: canary-of-a-secret } }
---
{ apiVersion: v1, kind: Service, metadata: { name: web, labels: { app: demo } }, spec: { selector: { app: demo }, ports: [ { port: 80 } ] } }
---
{ apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: { name: web, labels: { app: demo } }, spec: { defaultBackend: { service: { name: web, port: { number: 80 } } } } }
";

/// For each resource of the application the verbs that are left, of those that the documented Role gives.
type Allowed = BTreeMap<(&'static str, &'static str), Vec<&'static str>>;

fn some(random: &mut Rng, all: bool) -> Allowed {
    let left = |random: &mut Rng, resource: &str| {
        let patchable = ["deployments", "replicasets"].contains(&resource);
        let verbs = ["get", "list", "watch", "delete"].into_iter().chain(patchable.then_some("patch"));
        verbs.filter(|_| all || random.u8(..6) > 0).collect()
    };
    RESOURCES.iter().map(|&(group, resource)| ((group, resource), left(random, resource))).collect()
}

#[test]
fn what_may_not_be_seen_is_never_called_empty_and_what_is_missing_is_found_first() {
    let series = Series::new("permissions", 4, 64);
    let cases = Mutex::new(series.cases());
    let ends = Mutex::new(BTreeMap::<i32, usize>::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let Some(case) = cases.lock().unwrap().next() else { break };
                    // The first has all that README asks for.
                    let allowed = some(&mut series.random(case), case == 0);
                    let code = one(case, &allowed, &format!("seed {} case {case}: {allowed:?}", series.seed));
                    *ends.lock().unwrap().entry(code).or_default() += 1;
                }
            });
        }
    });
    let ends = ends.into_inner().unwrap();
    let lists = secrets_are_listed_as_metadata();
    series.report(format!(
        "{} roles, exits {ends:?}; {lists} lists of Secrets, all of metadata",
        ends.values().sum::<usize>()
    ));
}

fn one(case: usize, allowed: &Allowed, context: &str) -> i32 {
    let world = World::on(plane(), "role");
    world.deployment("web", "demo", 1);
    world.apply(APPLICATION);
    world.until_running("app=demo", 1);
    world.until("the endpoints", || (world.names("endpointslices").len() == 1).then_some(()));
    let user = format!("jane-{case}");
    let taken: Vec<(&str, &str)> = RESOURCES.to_vec();
    let mut rules: Vec<Rule> = allowed
        .iter()
        .filter(|(_, verbs)| !verbs.is_empty())
        .map(|((group, resource), verbs)| Rule::new(&[group], &[resource], verbs))
        .collect();
    for resource in ["deployments", "replicasets"] {
        if allowed[&("apps", resource)].contains(&"patch") {
            rules.push(Rule::new(&["apps"], &[&format!("{resource}/scale")], &["get", "patch"]));
        }
    }
    rules.push(Rule::new(&[""], &["namespaces"], &["get"]));
    rules.push(others(&taken));
    let kubeconfig = plane().user_with_role(&user, &world.namespace, &rules).unwrap();
    let run = world.purge_as(&kubeconfig, &["app", "demo", "--yes", "-o", "json", "--timeout", "20s"]);
    let context = format!("{context}\nended with {}\n{}\n{}", run.code, run.stdout, run.stderr);
    let blind: BTreeSet<String> = allowed
        .iter()
        .filter(|(_, verbs)| !verbs.contains(&"list"))
        .map(
            |((group, resource), _)| {
                if group.is_empty() { (*resource).to_owned() } else { format!("{resource}.{group}") }
            },
        )
        .collect();
    let events = plane().audit_events().unwrap();
    let ours: Vec<&AuditEvent> =
        events.iter().filter(|event| event.user() == user && event.stage() == "ResponseComplete").collect();
    let writes = ours.iter().filter(|event| ["delete", "patch"].contains(&event.verb()) && !event.is_dry_run());
    let refused: Vec<String> = writes
        .clone()
        .filter(|event| event.status() == Some(403))
        .map(|event| format!("{} {}", event.verb(), event.resource()))
        .collect();
    assert!([0, 1, 3, 4].contains(&run.code), "{context}");
    assert!(!context.contains("canary-of-a-secret"), "{context}");
    if run.code == 1 {
        assert_eq!(writes.count(), 0, "{context}");
        return run.code;
    }
    let report = run.json();
    let unseen: BTreeSet<String> = report["unseen"]
        .as_array()
        .unwrap()
        .iter()
        .map(|unseen| unseen["resource"].as_str().unwrap().to_owned())
        .collect();
    assert!(blind.is_subset(&unseen), "{blind:?} {unseen:?} {context}");
    // What goes with its owner is the garbage collector's to delete, and a note is a courtesy.
    let may_be_refused = [
        "delete pods",
        "delete replicasets",
        "delete endpoints",
        "delete endpointslices",
        "patch deployments",
        "patch replicasets",
    ];
    assert!(refused.iter().all(|refused| may_be_refused.contains(&refused.as_str())), "{refused:?} {context}");
    if blind.is_empty() && case == 0 {
        let any: Vec<String> = ours
            .iter()
            .filter(|event| event.status() == Some(403) && event.namespace() == world.namespace)
            .map(|event| event.uri().to_owned())
            .collect();
        assert!(any.is_empty() && run.code == 0, "{any:?} {context}");
    }
    // What was seen and meant to go is gone, or the exit code says otherwise.
    let left: Vec<String> = world.names("deployments,replicasets,pods,services,configmaps,secrets,ingresses");
    for object in report["objects"].as_array().unwrap().iter().filter(|object| object["result"] == "gone") {
        let name = format!("/{}", object["name"].as_str().unwrap());
        let kind = object["kind"].as_str().unwrap().to_lowercase();
        assert!(!left.iter().any(|left| left.ends_with(&name) && left.starts_with(&kind)), "{left:?} {context}");
    }
    if run.code == 0 {
        let seen = |left: &&String| {
            !blind.iter().any(|blind| left.starts_with(&blind[..4])) && !left.ends_with("/kube-root-ca.crt")
        };
        let objects = report["objects"].as_array().unwrap();
        let kept = |left: &&String| {
            objects.iter().any(|object| object["action"] == "keep" && left.ends_with(object["name"].as_str().unwrap()))
        };
        let forgotten: Vec<&String> = left.iter().filter(seen).filter(|left| !kept(left)).collect();
        assert!(forgotten.is_empty() || !blind.is_empty(), "{forgotten:?} {context}");
    }
    run.code
}

/// Everything else that can be listed in a namespace, as the documented Role gives it.
fn others(taken: &[(&str, &str)]) -> Rule {
    static LIST: OnceLock<String> = OnceLock::new();
    let asked = ["api-resources", "--verbs=list,delete", "--namespaced", "-o", "name"];
    let list = LIST.get_or_init(|| plane().kubectl(&asked).ok().unwrap());
    let taken: BTreeSet<&str> = taken.iter().map(|(_, resource)| *resource).collect();
    let resources: Vec<&str> =
        list.lines().map(|line| line.split('.').next().unwrap()).filter(|name| !taken.contains(name)).collect();
    Rule::new(&["*"], &resources, &["get", "list", "watch", "delete"])
}

/// How many lists of Secrets there were; none of them with the Secrets themselves.
fn secrets_are_listed_as_metadata() -> usize {
    let mut lists = 0;
    for event in plane().audit_events().unwrap() {
        let ours = event.user_agent().starts_with("kubectl-purge/") && event.resource() == "secrets";
        if ours && event.verb() == "list" && event.status() == Some(200) {
            let answer = event.response().unwrap();
            assert_eq!(answer["kind"], "PartialObjectMetadataList", "{answer}");
            lists += 1;
        }
    }
    assert!(lists > 0);
    lists
}
