//! What does not go by itself: who is to clear it is named, nothing else waits for it, and force has its own flags.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use crate::{harness::World, running::Running};

const BALANCER: &str = "service.kubernetes.io/load-balancer-cleanup";

#[test]
fn a_service_whose_cloud_controller_is_gone_is_named_and_only_its_flag_takes_the_finalizer() {
    let world = World::new("balancer");
    world.deployment("web", "demo", 1);
    world.apply(&format!(
        "
apiVersion: v1
kind: Service
metadata: {{ name: web, labels: {{ app: demo }}, finalizers: [{BALANCER}] }}
spec: {{ selector: {{ app: demo }}, ports: [ {{ port: 80 }} ] }}
---
apiVersion: v1
kind: ConfigMap
metadata: {{ name: settings, labels: {{ app: demo }} }}
"
    ));
    world.until_running("app=demo", 1);

    let run = world.purge(&["app", "demo", "--yes", "--timeout", "4s"]).exits(4);
    run.says("Service/web").says(&format!("finalizer {BALANCER}: the cloud's service controller has not finished"));
    assert_eq!(world.names("deployments,pods,services,configmaps"), ["configmap/kube-root-ca.crt", "service/web"]);

    // A second run sees it on its way out, and does not say that nothing is there.
    world.purge(&["app", "demo", "--yes", "--timeout", "2s"]).exits(4).says("Terminating").says("1 left");

    let run = world.purge(&["app", "demo", "--yes", "--remove-finalizers", "--timeout", "20s"]).exits(0);
    let caution =
        format!("--remove-finalizers may take {BALANCER} off Service/web: the load balancer stays, and is paid for");
    run.says(&caution).complains(&format!("forced Service/web: finalizer {BALANCER} taken away"));
    assert_eq!(world.names("services"), [""; 0]);
}

#[test]
fn an_ingress_keeps_its_service_until_its_controller_has_cleaned_up() {
    let world = World::new("ingress");
    world.apply(
        "
apiVersion: v1
kind: Service
metadata: { name: web, labels: { app: demo } }
spec: { ports: [ { port: 80 } ] }
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: { name: web, labels: { app: demo }, finalizers: [ingress.demo.example/resources] }
spec: { defaultBackend: { service: { name: web, port: { number: 80 } } } }
",
    );
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // Its controller, which needs the Service.
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(300));
                let ingresses = world.get("ingresses");
                let leaving = ingresses["items"][0]["metadata"]["deletionTimestamp"].is_string();
                if leaving && !world.names("services").is_empty() {
                    let patch = r#"{"metadata":{"finalizers":null}}"#;
                    world.kubectl(&["patch", "ingress", "web", "--type=merge", "-p", patch]);
                    return;
                }
            }
        });
        let run = world.purge(&["app", "demo", "--yes", "--timeout", "30s"]);
        over.store(true, Ordering::Relaxed);
        run.exits(0);
    });
    assert_eq!(world.names("services,ingresses"), [""; 0]);
}

#[test]
fn a_pod_on_a_dead_node_is_named_with_its_node_and_forced_only_when_asked() {
    let world = World::new("dead-node");
    let node = format!("dead-{}", world.namespace);
    world.plane.add_dead_node(&node).unwrap();
    world.apply(&format!(
        "
apiVersion: apps/v1
kind: StatefulSet
metadata: {{ name: db, labels: {{ app: demo }} }}
spec:
  replicas: 1
  serviceName: db
  selector: {{ matchLabels: {{ app: demo }} }}
  template:
    metadata: {{ labels: {{ app: demo }} }}
    spec: {{ nodeName: {node}, terminationGracePeriodSeconds: 1, containers: [ {{ name: main, image: demo }} ] }}
---
apiVersion: v1
kind: ConfigMap
metadata: {{ name: settings, labels: {{ app: demo }} }}
"
    ));
    world.until("the pod", || (world.names("pods").len() == 1).then_some(()));
    // While it waits it says what for.
    let mut run = Running::start(&world, &["app", "demo", "--yes"]);
    run.until_it_says("waiting 10s for 1 pod: Pod/db-0 (deleting for 10s, its node ");
    run.signal("TERM");
    run.ends().exits(130).complains("restored StatefulSet/db: scaled back to 1");

    let run = world.purge(&["app", "demo", "--yes", "--timeout", "8s"]).exits(4);
    run.says("Pod/db-0").says(&format!("its node {node} is not ready"));
    assert_eq!(world.names("statefulsets,pods,configmaps"), ["configmap/kube-root-ca.crt", "pod/db-0"]);

    let run = world.purge(&["app", "demo", "--yes", "--force", "--timeout", "30s"]).exits(0);
    run.complains("forced Pod/db-0: taken out by force");
    assert_eq!(world.names("pods"), [""; 0]);
    let _ = world.plane.kubectl(&["delete", "node", &node]);
}

#[test]
fn force_warns_of_two_writers_to_one_volume() {
    let world = World::new("two-writers");
    world.apply(
        "
apiVersion: apps/v1
kind: StatefulSet
metadata: { name: db, labels: { app: demo } }
spec: { replicas: 0, serviceName: db, selector: { matchLabels: { app: demo } }, template: { metadata: { labels: { app: demo } }, spec: { containers: [ { name: main, image: demo } ] } } }
",
    );
    world.purge(&["app", "demo", "--dry-run", "--force"]).exits(0).says("warning: --force: if a pod of StatefulSet/db");
}

#[test]
fn pods_that_have_ended_are_deleted_and_not_waited_for() {
    let world = World::new("ended");
    world.deployment("web", "demo", 3);
    world.until_running("app=demo", 3);
    let pods = world.names("pods");
    // An evicted one of the ReplicaSet, and one that nothing owns.
    for pod in &pods[..2] {
        let failed = r#"{"status":{"phase":"Failed","reason":"Evicted"}}"#;
        world.kubectl(&["patch", pod, "--subresource=status", "--type=merge", "-p", failed]);
    }
    world.kubectl(&["patch", &pods[0], "--type=merge", "-p", r#"{"metadata":{"ownerReferences":null}}"#]);
    let run = world.purge(&["app", "demo", "--yes"]).exits(0);
    assert!(run.took < Duration::from_secs(15), "{:?}", run.took);
    assert_eq!(world.names("deployments,replicasets,pods"), [""; 0]);
}

#[test]
fn a_quota_that_others_use_too_is_released_by_what_the_application_was_charged() {
    let world = World::new("others");
    world.quota(&[("requests.cpu", "9"), ("pods", "9")]);
    world.deployment("web", "demo", 2);
    world.deployment("other", "other", 1);
    world.until_running("app=demo", 2);
    world.until_running("app=other", 1);
    world.until("the quota", || (world.used("pods") == "3").then_some(()));
    let run = world.purge(&["app", "demo", "--yes"]).exits(0);
    run.says("quota \"quota\": requests.cpu 3 → 1 (released 2 in");
    assert_eq!(world.used("pods"), "1");
}

#[test]
fn a_long_grace_period_ends_the_run_in_time_unless_a_flag_shortens_it() {
    let world = World::new("slow");
    let node = format!("slow-{}", world.namespace);
    // Nobody there: the pod stays for as long as it is given.
    world.plane.add_dead_node(&node).unwrap();
    world.apply(&format!(
        "
apiVersion: v1
kind: Pod
metadata: {{ name: slow, labels: {{ app: demo }} }}
spec: {{ nodeName: {node}, terminationGracePeriodSeconds: 600, containers: [ {{ name: main, image: demo }} ] }}
"
    ));
    let run = world.purge(&["app", "demo", "--yes", "--timeout", "3s"]).exits(4);
    run.says("grace period, ");
    assert_eq!(world.get("pod/slow")["metadata"]["deletionGracePeriodSeconds"], 600);
    let run = world.purge(&["app", "demo", "--yes", "--now", "--timeout", "4s"]).exits(4);
    run.says(&format!("its node {node} is not ready"));
    assert_eq!(world.get("pod/slow")["metadata"]["deletionGracePeriodSeconds"], 1);
    world.purge(&["app", "demo", "--yes", "--force"]).exits(0);
    let _ = world.plane.kubectl(&["delete", "node", &node]);
}

/// kubernetes/kubernetes#111725: a foreground deletion waits for a child that a finalizer holds.
#[test]
fn a_foreground_deletion_is_told_with_the_child_that_it_waits_for() {
    let world = World::new("foreground");
    world.deployment("web", "demo", 1);
    world.until_running("app=demo", 1);
    let set = world.names("replicasets")[0].clone();
    world.kubectl(&["patch", &set, "--type=merge", "-p", r#"{"metadata":{"finalizers":["demo.example/hold"]}}"#]);
    world.kubectl(&["delete", "deployment", "web", "--cascade=foreground", "--wait=false"]);
    let run = world.purge(&["app", "demo", "--yes", "--timeout", "4s"]).exits(4);
    let title = set.replace("replicaset.apps/", "ReplicaSet/");
    run.says("Deployment/web")
        .says(&format!("finalizer foregroundDeletion: waits for {title} (finalizer "))
        .says("demo.example/hold");
    world.kubectl(&["patch", &set, "--type=merge", "-p", r#"{"metadata":{"finalizers":null}}"#]);
    world.purge(&["app", "demo", "--yes"]).exits(0);
    assert_eq!(world.names("deployments,replicasets,pods"), [""; 0]);
}

#[test]
fn a_hundred_pods_are_deleted_at_once_and_none_is_made_anew() {
    let world = World::new("hundred");
    world.apply(
        &crate::harness::deployment("web", "demo", 100).replace("cpu: '1', memory: 1Gi", "cpu: 1m, memory: 1Mi"),
    );
    world.until_running("app=demo", 100);
    let run = world.purge(&["app", "demo", "--yes"]).exits(0);
    run.complains("drained 100 pods").says("102 objects gone").says("of 100 pods, the deletion of 3 was tried");
    assert_eq!(world.names("deployments,replicasets,pods"), [""; 0]);
}

/// A reader that goes away must not stop a purge that has been agreed to.
#[test]
fn a_closed_stdout_does_not_stop_the_run_half_way() {
    let world = World::new("closed");
    world.deployment("web", "demo", 1);
    world.until_running("app=demo", 1);
    let mut command = std::process::Command::new(crate::harness::PROGRAM);
    command.args(["app", "demo", "--yes", "-n", &world.namespace]).env("KUBECONFIG", world.plane.kubeconfig());
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let status =
        command.stdin(std::process::Stdio::null()).stdout(writer).stderr(std::process::Stdio::null()).status().unwrap();
    assert_eq!(status.code(), Some(0));
    assert_eq!(world.names("deployments,replicasets,pods"), [""; 0]);
}

/// derailed/k9s#3788, m-lab/k8s-support#141: a DaemonSet has no scale, and a node that is down holds its pod.
#[test]
fn a_daemonset_is_deleted_without_scaling_and_a_dead_node_holds_only_its_own_pod() {
    let world = World::new("agent");
    let node = format!("dead-agent-{}", std::process::id());
    world.plane.add_dead_node(&node).unwrap();
    world.apply("{ apiVersion: apps/v1, kind: DaemonSet, metadata: { name: agent, labels: { app: demo } }, spec: { selector: { matchLabels: { set: agent } }, template: { metadata: { labels: { set: agent } }, spec: { terminationGracePeriodSeconds: 1, containers: [ { name: main, image: demo } ] } } } }");
    world.until_running("set=agent", 3);
    let uid = world.get("daemonset/agent")["metadata"]["uid"].as_str().unwrap().to_owned();
    world.apply(&format!(
        "{{ apiVersion: v1, kind: Pod, metadata: {{ name: agent-dead, labels: {{ set: agent }}, ownerReferences: [ {{ apiVersion: apps/v1, kind: DaemonSet, name: agent, uid: {uid}, controller: true }} ] }}, spec: {{ nodeName: {node}, terminationGracePeriodSeconds: 1, containers: [ {{ name: main, image: demo }} ] }} }}"
    ));
    let run = world.purge(&["app", "demo", "--yes", "--timeout", "6s"]).exits(4);
    run.never_says("scale to 0").says(&node);
    assert_eq!(world.names("daemonsets,controllerrevisions"), [""; 0]);
    assert_eq!(world.names("pods").len(), 1);
    let pod = world.names("pods")[0].clone();
    world.kubectl(&["delete", &pod, "--force", "--grace-period=0"]);
}
