//! Between the plan and the answer: whatever somebody makes or changes meanwhile is reported, and what is new survives.

use std::sync::Mutex;

use control_plane::ControlPlane;
use fastrand::Rng;
use http::Method;
use serde_json::Value;

use crate::{
    harness::World,
    quiet::{KINDS, Quiet},
    screen::{QUESTION, Screen},
    series::Series,
};

/// Questions open at once.
const AT_ONCE: usize = 7;

/// Only what a namespace needs to be made and to go is at work there: everything else moves when the test moves it.
fn plane() -> &'static ControlPlane {
    &Quiet::shared().plane
}

const APPLICATION: &str = "
{ apiVersion: v1, kind: ConfigMap, metadata: { name: conf, labels: { app: demo } } }
---
{ apiVersion: v1, kind: Secret, metadata: { name: secret, labels: { app: demo } } }
---
{ apiVersion: v1, kind: Service, metadata: { name: web, labels: { app: demo } }, spec: { selector: { app: demo }, ports: [ { port: 80 } ] } }
---
{ apiVersion: apps/v1, kind: ReplicaSet, metadata: { name: left, labels: { app: demo } }, spec: { replicas: 0, selector: { matchLabels: { app: demo } }, template: { metadata: { labels: { app: demo } }, spec: { containers: [ { name: main, image: demo } ] } } } }
---
{ apiVersion: v1, kind: Pod, metadata: { name: left-x, labels: { app: demo } }, spec: { containers: [ { name: main, image: demo } ] } }
---
{ apiVersion: apps/v1, kind: Deployment, metadata: { name: web, labels: { app: demo } }, spec: { replicas: 0, selector: { matchLabels: { app: demo } }, template: { metadata: { labels: { app: demo } }, spec: { containers: [ { name: main, image: demo } ] } } } }
";

const BYSTANDER: &str = "{ apiVersion: v1, kind: ConfigMap, metadata: { name: bystander, labels: { app: other } } }";

/// What the application consists of, as kubectl names it.
const OBJECTS: [&str; 6] =
    ["configmap/conf", "secret/secret", "service/web", "replicaset/left", "pod/left-x", "deployment/web"];

/// What somebody does while the question is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Recreated,
    Relabelled,
    Unlabelled,
    Adopted,
    MarkedToBeKept,
    NewPod,
    NewObject,
    Finalizer,
    NamespaceMadeAnew,
    /// None of these: its contents.
    Edited,
    /// It goes by itself.
    Deleted,
    /// The ReplicaSet that owns the pod is its owner no more.
    Disowned,
    /// Somebody wants more of its pods.
    ScaledUp,
}

const CHANGES: [Change; 13] = [
    Change::Recreated,
    Change::Relabelled,
    Change::Unlabelled,
    Change::Adopted,
    Change::MarkedToBeKept,
    Change::NewPod,
    Change::NewObject,
    Change::Finalizer,
    Change::NamespaceMadeAnew,
    Change::Edited,
    Change::Deleted,
    Change::Disowned,
    Change::ScaledUp,
];

#[test]
fn what_happens_while_the_question_is_open_is_reported_and_what_is_new_survives() {
    let series = Series::new("between plan and yes", 13, 325);
    let cases = Mutex::new(series.cases());
    let done = Mutex::new(std::collections::BTreeMap::<String, usize>::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let Some(case) = cases.lock().unwrap().next() else { break };
                    let change = CHANGES[case % CHANGES.len()];
                    let code = one(change, &mut series.random(case), &format!("seed {} case {case}", series.seed));
                    *done.lock().unwrap().entry(format!("{change:?} (exit {code})")).or_default() += 1;
                }
            });
        }
    });
    let done = done.into_inner().unwrap();
    assert!(done.len() >= CHANGES.len().min(series.cases), "{done:?}");
    series.report(format!("{} changes: {done:?}", done.values().sum::<usize>()));
}

/// Where `kind/name` is.
fn path(world: &World, object: &str) -> String {
    let (kind, name) = object.split_once('/').unwrap();
    let plural = format!("{kind}s");
    let (root, ..) = KINDS.iter().find(|(_, known, _)| *known == plural).unwrap();
    format!("{root}/namespaces/{}/{plural}/{name}", world.namespace)
}

/// A kubectl for each of these takes longer than all the rest.
fn find(world: &World, object: &str) -> Option<Value> {
    match Quiet::shared().api.ask(Method::GET, &path(world, object), None) {
        Ok(found) => Some(found),
        Err(error) if error.contains("not found") => None,
        Err(error) => panic!("{error}"),
    }
}

fn merge(world: &World, object: &str, patch: &str) {
    let patch = serde_json::from_str(patch).unwrap();
    Quiet::shared().api.ask(Method::PATCH, &path(world, object), Some(&patch)).unwrap();
}

/// The uid of what has to be there.
fn uid_of(world: &World, object: &str) -> String {
    text(&find(world, object).unwrap()["metadata"]["uid"])
}

fn one(change: Change, random: &mut Rng, case: &str) -> u32 {
    let world = World::on(plane(), "yes");
    world.apply(&format!("{BYSTANDER}\n---{APPLICATION}"));
    let set = uid_of(&world, "replicaset/left");
    let owner =
        format!(r#"{{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"left","uid":"{set}","controller":true}}"#);
    merge(&world, "pod/left-x", &format!(r#"{{"metadata":{{"ownerReferences":[{owner}]}}}}"#));
    let bystander = find(&world, "configmap/bystander");
    let object = OBJECTS[random.usize(..OBJECTS.len())];
    let no_scale_down = random.bool();
    let mut arguments = vec!["app", "demo", "--timeout", "8s"];
    arguments.extend(no_scale_down.then_some("--no-scale-down"));
    let mut screen = Screen::run(&world, 160, &arguments);
    screen.until(QUESTION);
    let fresh = act(&world, change, object);
    screen.types("y\r");
    let code = screen.ends();
    let shown = screen.plain();
    let context = format!("{case}: {change:?} of {object}, exit {code}\n{shown}");

    if change != Change::NamespaceMadeAnew {
        assert_eq!(find(&world, "configmap/bystander"), bystander, "{context}");
    }
    // Everything that was made meanwhile is there, with the uid that it was made with.
    for (what, uid) in &fresh {
        let found = find(&world, what).map(|found| text(&found["metadata"]["uid"]));
        assert_eq!(found.as_ref(), Some(uid), "{what} {context}");
    }
    let left: Vec<&str> = OBJECTS.into_iter().filter(|object| find(&world, object).is_some()).collect();
    match change {
        Change::Relabelled | Change::Unlabelled | Change::Adopted | Change::MarkedToBeKept => {
            assert_eq!(code, 4, "{context}");
            assert!(shown.contains("nothing is changed"), "{context}");
            assert_eq!(left, OBJECTS, "{context}");
        }
        Change::Recreated | Change::NamespaceMadeAnew | Change::NewPod | Change::NewObject => {
            assert_eq!(code, 4, "{context}");
            let said = ["another object of this name", "Came back", "New since the plan", "has adopted it"];
            assert!(said.iter().any(|said| shown.contains(said)), "{context}");
        }
        Change::Finalizer => {
            assert_eq!(code, 4, "{context}");
            assert!(shown.contains("trust.example/hold"), "{context}");
            merge(&world, object, r#"{"metadata":{"finalizers":null}}"#);
        }
        // It is of the application all the same, and goes as agreed to.
        Change::Edited | Change::Deleted | Change::Disowned | Change::ScaledUp => {
            assert_eq!(code, 0, "{context}");
            assert!(left.is_empty(), "{left:?} {context}");
        }
    }
    let namespace = format!("/api/v1/namespaces/{}", world.namespace);
    Quiet::shared().api.ask(Method::DELETE, &namespace, None).unwrap();
    code
}

/// Makes the change; gives what is new by it, with its uid.
fn act(world: &World, change: Change, object: &str) -> Vec<(String, String)> {
    let uid = |what: &str| (what.to_owned(), uid_of(world, what));
    match change {
        Change::Recreated => {
            // No garbage collector runs here: what it owns stays.
            world.kubectl(&["delete", object, "--now"]);
            world.apply(APPLICATION);
            vec![uid(object)]
        }
        Change::Relabelled => {
            merge(world, object, r#"{"metadata":{"labels":{"app":"other"}}}"#);
            Vec::new()
        }
        Change::Unlabelled => {
            merge(world, object, r#"{"metadata":{"labels":{"app":null}}}"#);
            Vec::new()
        }
        Change::Adopted => {
            let bystander = uid_of(world, "configmap/bystander");
            let owner = format!(
                r#"{{"apiVersion":"v1","kind":"ConfigMap","name":"bystander","uid":"{bystander}","controller":true}}"#
            );
            merge(world, object, &format!(r#"{{"metadata":{{"ownerReferences":[{owner}]}}}}"#));
            Vec::new()
        }
        Change::MarkedToBeKept => {
            merge(world, object, r#"{"metadata":{"annotations":{"helm.sh/resource-policy":"keep"}}}"#);
            Vec::new()
        }
        Change::NewPod => {
            world.apply("{ apiVersion: v1, kind: Pod, metadata: { name: new, labels: { app: demo } }, spec: { containers: [ { name: main, image: demo } ] } }");
            vec![uid("pod/new")]
        }
        Change::NewObject => {
            world.apply("{ apiVersion: v1, kind: ConfigMap, metadata: { name: new, labels: { app: demo } } }");
            vec![uid("configmap/new")]
        }
        Change::Finalizer => {
            merge(world, object, r#"{"metadata":{"finalizers":["trust.example/hold"]}}"#);
            Vec::new()
        }
        Change::NamespaceMadeAnew => {
            plane().kubectl(&["delete", "namespace", &world.namespace]).ok().unwrap();
            plane().create_namespace(&world.namespace).unwrap();
            world.apply(APPLICATION);
            OBJECTS.iter().map(|object| uid(object)).collect()
        }
        Change::Edited => {
            merge(world, object, r#"{"metadata":{"annotations":{"edited":"yes"}}}"#);
            Vec::new()
        }
        Change::Deleted => {
            world.kubectl(&["delete", object, "--now"]);
            Vec::new()
        }
        Change::Disowned => {
            merge(world, "pod/left-x", r#"{"metadata":{"ownerReferences":null}}"#);
            Vec::new()
        }
        Change::ScaledUp => {
            merge(world, "deployment/web", r#"{"spec":{"replicas":3}}"#);
            Vec::new()
        }
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
