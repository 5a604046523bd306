//! What has no label of its own and is the application's by what it selects or scales: wherever a run ends, the next one
//! finds it.

use control_plane::{ControlPlane, Rule};

use crate::{
    harness::{World, deployment, reasons},
    running::Running,
};

const ALL: &str = "deployments,statefulsets,replicasets,pods,services,horizontalpodautoscalers";

fn service(name: &str, selector: &str, finalizers: &str) -> String {
    format!(
        "
---
apiVersion: v1
kind: Service
metadata: {{ name: {name}, finalizers: [{finalizers}] }}
spec: {{ selector: {{ {selector} }}, ports: [ {{ port: 80 }} ] }}
"
    )
}

fn autoscaler(finalizers: &str) -> String {
    format!(
        "
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {{ name: web, finalizers: [{finalizers}] }}
spec:
  scaleTargetRef: {{ apiVersion: apps/v1, kind: Deployment, name: web }}
  minReplicas: 1
  maxReplicas: 3
  metrics: [ {{ type: Resource, resource: {{ name: cpu, target: {{ type: Utilization, averageUtilization: 80 }} }} }} ]
"
    )
}

fn let_go(world: &World, object: &str) {
    world.kubectl(&["patch", object, "--type=merge", "-p", r#"{"metadata":{"finalizers":null}}"#]);
}

/// A world with a Deployment, and what is tied to it.
fn world(story: &str, tied: &str) -> World {
    let world = World::new(story);
    world.apply(&format!("{}{tied}", deployment("web", "demo", 1)));
    world.until_running("app=demo", 1);
    world
}

#[test]
fn what_is_tied_goes_before_the_workload_and_nothing_is_left() {
    let world = world("tied", &(service("web", "app: demo", "") + &autoscaler("")));
    let report = world.purge(&["app", "demo", "--yes", "-o", "json"]).exits(0).json();
    let names: Vec<&str> =
        report["objects"].as_array().unwrap().iter().filter_map(|object| object["kind"].as_str()).collect();
    let at = |kind: &str| names.iter().position(|name| *name == kind).unwrap();
    assert!(at("HorizontalPodAutoscaler") < at("Deployment") && at("Service") < at("Deployment"), "{names:?}");
    assert_eq!(world.names(ALL), [""; 0]);
}

#[test]
fn a_tied_service_that_does_not_go_keeps_its_workload_at_0_until_a_later_run() {
    let world = world("tied-service", &service("web", "app: demo", "demo.example/hold"));
    for _ in 0..2 {
        let run = world.purge(&["app", "demo", "--yes", "--timeout", "3s"]).exits(4);
        run.says("Service/web")
            .says("finalizer demo.example/hold")
            .says("Deployment/web")
            .says("left alone: without it, nothing shows that Service/web, which is still there, is the application's");
        assert_eq!(world.get("deployment/web")["spec"]["replicas"], 0);
        assert_eq!(world.names("pods,services,deployments"), ["deployment.apps/web", "service/web"]);
    }
    let_go(&world, "service/web");
    world.purge(&["app", "demo", "--yes"]).exits(0);
    assert_eq!(world.names(ALL), [""; 0]);
}

#[test]
fn a_tied_service_that_goes_late_takes_its_workload_along_in_the_same_run() {
    let world = world("tied-late", &service("web", "app: demo", "demo.example/hold"));
    let mut run = Running::start(&world, &["app", "demo", "--yes", "--timeout", "40s"]);
    // A quarter of 40 s without any movement, and the waves go on.
    run.until_it_says("nothing has moved for 10s");
    run.until_it_says("nothing shows that Service/web");
    let_go(&world, "service/web");
    run.ends().exits(0).never_says("Left:");
    assert_eq!(world.names(ALL), [""; 0]);
}

#[test]
fn a_tied_autoscaler_is_found_again_after_the_run_was_killed() {
    let world = world("tied-killed", &autoscaler("demo.example/hold"));
    let run = Running::start(&world, &["app", "demo", "--yes", "--timeout", "4s"]);
    // From here on until the end it waits for the autoscaler and goes through the waves.
    world.until("the autoscaler's deletion", || {
        world.get("horizontalpodautoscaler/web")["metadata"]["deletionTimestamp"].is_string().then_some(())
    });
    std::thread::sleep(std::time::Duration::from_millis(3_000));
    run.signal("KILL");
    run.ends().exits(137);
    let run = world.purge(&["app", "demo", "--yes", "--timeout", "3s"]).exits(4);
    run.says("HorizontalPodAutoscaler/web").says("nothing shows that HorizontalPodAutoscaler/web");
    let_go(&world, "horizontalpodautoscaler/web");
    world.purge(&["app", "demo", "--yes"]).exits(0);
    assert_eq!(world.names(ALL), [""; 0]);
}

#[test]
fn what_a_user_may_not_delete_is_found_by_one_who_may() {
    let world = world("tied-refused", &(service("web", "app: demo", "") + &autoscaler("")));
    let rules = [
        Rule::new(&["", "apps", "batch", "discovery.k8s.io"], &["*"], &["get", "list", "watch", "patch", "delete"]),
        Rule::new(&["autoscaling"], &["*"], &["get", "list", "watch", "patch"]),
    ];
    let user = ControlPlane::shared().user_with_role("almost", &world.namespace, &rules).unwrap();
    let run = world.purge_as(&user, &["app", "demo", "--yes", "--timeout", "5s"]).exits(4);
    run.says("HorizontalPodAutoscaler/web").says("nothing shows that HorizontalPodAutoscaler/web");
    let left = world.names("deployments,pods,services,horizontalpodautoscalers");
    assert_eq!(left, ["deployment.apps/web", "horizontalpodautoscaler.autoscaling/web"]);
    world.purge(&["app", "demo", "--yes"]).exits(0);
    assert_eq!(world.names(ALL), [""; 0]);
}

#[test]
fn a_service_of_one_pod_is_found_when_that_pod_has_gone() {
    let world = World::new("tied-pod");
    world.apply(&format!(
        "
apiVersion: apps/v1
kind: StatefulSet
metadata: {{ name: db, labels: {{ app: demo }} }}
spec:
  replicas: 1
  serviceName: db
  selector: {{ matchLabels: {{ app: demo }} }}
  template: {}
{}",
        crate::harness::template("demo"),
        service("first", "statefulset.kubernetes.io/pod-name: db-0", "demo.example/hold")
    ));
    world.until_running("app=demo", 1);
    // The pod alone says whose the Service is, and goes first of all.
    world.purge(&["app", "demo", "--yes", "--timeout", "3s"]).exits(4).says("Service/first");
    assert_eq!(world.names("pods"), [""; 0]);
    let report = world.purge(&["app", "demo", "--yes", "--timeout", "3s", "-o", "json"]).exits(4).json();
    assert_eq!(reasons(&report, "Service", "first"), ["selects only this application's pods"]);
    let_go(&world, "service/first");
    world.purge(&["app", "demo", "--yes"]).exits(0);
    assert_eq!(world.names(ALL), [""; 0]);
}
