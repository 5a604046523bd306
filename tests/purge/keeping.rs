//! What is kept stays in working order, and what others need is kept with the name of who needs it.

use control_plane::{ControlPlane, Rule};

use crate::harness::{World, planned, reasons};

fn notes(document: &serde_json::Value, kind: &str, name: &str) -> String {
    let objects = document["objects"].as_array().unwrap();
    let object = objects.iter().find(|object| object["kind"] == kind && object["name"] == name).unwrap();
    format!("{} {}", object["action"].as_str().unwrap(), object["notes"])
}

#[test]
fn what_a_kept_workload_needs_is_kept_too() {
    let world = World::new("kept-needs");
    world.apply(
        "
apiVersion: apps/v1
kind: Deployment
metadata: { name: web, labels: { app: demo }, annotations: { kubectl-purge/keep: 'true' } }
spec:
  replicas: 1
  selector: { matchLabels: { app: demo } }
  template:
    metadata: { labels: { app: demo } }
    spec: { containers: [ { name: main, image: demo, envFrom: [ { configMapRef: { name: conf } } ] } ] }
---
{ apiVersion: v1, kind: ConfigMap, metadata: { name: conf, labels: { app: demo } } }
---
{ apiVersion: v1, kind: ConfigMap, metadata: { name: unused, labels: { app: demo } } }
---
{ apiVersion: v1, kind: Service, metadata: { name: web, labels: { app: demo } }, spec: { selector: { app: demo }, ports: [ { port: 80 } ] } }
---
{ apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: { name: web, labels: { app: demo } }, spec: { defaultBackend: { service: { name: web, port: { number: 80 } } } } }
",
    );
    world.until_running("app=demo", 1);
    let report = world.purge(&["app", "demo", "--yes", "-o", "json"]).exits(0).json();
    assert_eq!(notes(&report, "ConfigMap", "conf"), r#"keep ["used by Deployment/web, which is kept"]"#);
    assert_eq!(notes(&report, "Service", "web"), r#"keep ["selects Deployment/web, which is kept"]"#);
    assert_eq!(notes(&report, "Ingress", "web"), r#"keep ["routes to Service/web, which is kept"]"#);
    assert_eq!(
        planned(&report).iter().filter(|line| line.starts_with("delete")).collect::<Vec<_>>(),
        ["delete ConfigMap/unused"]
    );
    world.until_running("app=demo", 1);
}

#[test]
fn a_child_that_another_owner_keeps_alive_does_not_keep_the_application() {
    let world = World::new("two-owners");
    world.deployment("web", "demo", 1);
    world.apply("{ apiVersion: v1, kind: ConfigMap, metadata: { name: outside } }");
    world.until_running("app=demo", 1);
    let uid = |what: &str| world.get(what)["metadata"]["uid"].as_str().unwrap().to_owned();
    world.apply(&format!(
        "{{ apiVersion: v1, kind: ConfigMap, metadata: {{ name: shared, ownerReferences: [ {{ apiVersion: apps/v1, kind: Deployment, name: web, uid: {} }}, {{ apiVersion: v1, kind: ConfigMap, name: outside, uid: {} }} ] }} }}",
        uid("deployment/web"),
        uid("configmap/outside")
    ));
    let run = world.purge(&["app", "demo", "--yes"]).exits(0);
    run.says("also owned by ConfigMap/outside");
    assert_eq!(world.names("deployments,replicasets,pods"), [""; 0]);
    // The garbage collector has had the time to take it, and spared it.
    std::thread::sleep(std::time::Duration::from_secs(2));
    assert!(world.names("configmaps").contains(&"configmap/shared".to_owned()));
}

#[test]
fn a_service_that_calls_itself_anothers_is_suspected_and_not_taken() {
    let world = World::new("anothers");
    world.deployment("web", "demo", 1);
    world.apply("{ apiVersion: v1, kind: Service, metadata: { name: front, labels: { app: frontend } }, spec: { selector: { app: demo }, ports: [ { port: 80 } ] } }");
    world.until_running("app=demo", 1);
    let run = world.purge(&["app", "demo", "--yes"]).exits(0);
    run.says("Service/front (selects only this application's pods, but is labelled app=frontend)");
    assert_eq!(world.names("services"), ["service/front"]);
}

#[test]
fn a_labelled_service_that_selects_others_too_is_kept() {
    let world = World::new("selects-others");
    world.apply(
        "
{ apiVersion: v1, kind: Service, metadata: { name: both, labels: { app: demo } }, spec: { selector: { tier: front }, ports: [ { port: 80 } ] } }
---
{ apiVersion: v1, kind: Pod, metadata: { name: other, labels: { app: other, tier: front } }, spec: { containers: [ { name: main, image: demo } ] } }
",
    );
    let report = world.purge(&["app", "demo", "--yes", "-o", "json"]).exits(0).json();
    assert_eq!(notes(&report, "Service", "both"), r#"keep ["also selects Pod/other"]"#);
}

/// The controller's kind may not be listed: whether it lives, and what else it has, is unknown.
#[test]
fn pods_whose_controller_may_not_be_seen_are_refused_with_what_to_ask_for() {
    let world = World::new("unseen-owner");
    world.deployment("web", "demo", 1);
    world.until_running("app=demo", 1);
    let rules = [
        Rule::new(&["apps"], &["deployments"], &["get", "list", "watch", "delete", "patch"]),
        Rule::new(&["apps"], &["deployments/scale"], &["get", "patch", "update"]),
        Rule::new(&[""], &["pods"], &["get", "list", "watch", "delete"]),
    ];
    let kubeconfig = ControlPlane::shared().user_with_role("no-sets", &world.namespace, &rules).unwrap();
    let run = world.purge_as(&kubeconfig, &["app", "demo", "--yes"]).exits(3);
    run.complains("controlled by ReplicaSet/web-").complains("could not be listed").complains("--allow-managed");
    world.until_running("app=demo", 1);
    // Asked for all the same, the pods are no exception.
    let report =
        world.purge_as(&kubeconfig, &["app", "demo", "--yes", "--allow-managed", "-o", "json"]).exits(0).json();
    assert!(report["objects"].as_array().unwrap().iter().all(|object| object["result"] == "gone"), "{report:#}");
}

/// Endpoints inherit the Service's labels; their controller takes them away.
#[test]
fn endpoints_of_a_labelled_service_go_with_it() {
    let world = World::new("endpoints");
    world.apply("{ apiVersion: v1, kind: Service, metadata: { name: web, labels: { app: demo } }, spec: { selector: { app: demo }, ports: [ { port: 80 } ] } }");
    world.until("the endpoints", || (world.names("endpoints,endpointslices").len() == 2).then_some(()));
    let run = world.purge(&["app", "demo", "--yes", "-o", "json"]).exits(0);
    let report = run.json();
    assert_eq!(reasons(&report, "Endpoints", "web")[0], "endpoints of Service/web");
    assert!(planned(&report).contains(&"cascade Endpoints/web".to_owned()), "{:?}", planned(&report));
    assert!(!run.stderr.contains("deleting Endpoints"), "{}", run.stderr);
    assert_eq!(world.names("services,endpoints,endpointslices"), [""; 0]);
}

/// A record comes into the plan after everything else; what keeps other things keeps it too.
#[test]
fn helms_record_stays_where_it_says_so_or_the_user_does() {
    let world = World::new("kept-record");
    let release = |name: &str, annotations: &str| {
        format!(
            "
{{ apiVersion: v1, kind: ConfigMap, metadata: {{ name: {name}, labels: {{ app: {name} }}, annotations: {{ meta.helm.sh/release-name: {name} }} }} }}
---
{{ apiVersion: v1, kind: Secret, type: helm.sh/release.v1, metadata: {{ name: sh.helm.release.v1.{name}.v1, labels: {{ owner: helm, name: {name} }}, annotations: {annotations} }} }}
"
        )
    };
    world.apply(&release("one", "{}"));
    world.apply(&release("two", "{ kubectl-purge/keep: 'true' }"));
    world.apply(&release("three", "{}"));
    let flags = ["--yes", "--allow-managed", "-o", "json"];
    let exclude = ["app", "one", "--exclude", "secret/sh.helm.release.v1.one.v1"];
    let report = world.purge(&[&exclude[..], &flags[..]].concat()).exits(0).json();
    assert_eq!(notes(&report, "Secret", "sh.helm.release.v1.one.v1"), r#"keep ["excluded (--exclude)"]"#);
    let report = world.purge(&[&["app", "two"][..], &flags[..]].concat()).exits(0).json();
    let kept = r#"keep ["annotation kubectl-purge/keep: true"]"#;
    assert_eq!(notes(&report, "Secret", "sh.helm.release.v1.two.v1"), kept);
    world.purge(&[&["app", "three"][..], &flags[..]].concat()).exits(0);
    assert_eq!(world.names("secrets"), ["secret/sh.helm.release.v1.one.v1", "secret/sh.helm.release.v1.two.v1"]);
}
